"""Query parameters from the command line: one JSON object, wherever it comes from."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from omnigraph.cli.call import Call
from omnigraph.cli.files import read_text
from omnigraph.errors import BadRequest


def params_of(call: Call) -> dict[str, Any]:
    """`--params` or `--params-file`, then every `--param` on top."""
    return {**_document(call), **dict(map(_pair, call.many("--param")))}


def plain_or_json(text: str) -> Any:
    """A value written on the command line: JSON when it parses as such, otherwise the text itself.

    >>> plain_or_json("29"), plain_or_json('"29"'), plain_or_json("Alice")
    (29, '29', 'Alice')
    """
    try:
        return parse_json(text)
    except ValueError:
        return text


def parse_json(text: str) -> Any:
    """JSON without the literals that only JavaScript knows."""
    return json.loads(text, parse_constant=_refuse_constant)


def _document(call: Call) -> dict[str, Any]:
    path = call.text("--params-file")
    text = read_text(path) if path is not None else call.text("--params")
    if text is None:
        return {}
    try:
        found = parse_json(text)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"params must be a JSON object: {error}") from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise BadRequest("params must be a JSON object")
    return found


def _pair(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator or not name.strip():
        raise BadRequest(f"--param takes NAME=VALUE, not '{text}'")
    return name.strip().removeprefix("$"), plain_or_json(value)


def _refuse_constant(literal: str) -> NoReturn:
    raise ValueError(f"{literal} is not JSON")
