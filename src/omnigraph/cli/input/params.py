"""Query parameters from the command line: one JSON object, wherever it comes from."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeAlias

from omnigraph.cli.call import Call
from omnigraph.cli.input.files import read_text
from omnigraph.errors import BadRequest

Texts: TypeAlias = Mapping[str, bool]
"""The parameters of a query whose values are JSON strings → whether they also take null."""


def params_of(call: Call, texts: Callable[[], Texts] | None = None) -> dict[str, Any]:
    """`--params` or `--params-file`, then every `--param` on top.

    What the query declares as text is taken as text; `texts` is asked only when a value could be something else.
    """
    given = dict(map(_pair, call.many("--param")))
    values = {name: plain_or_json(text) for name, text in given.items()}
    if texts is not None and not all(isinstance(value, str) for value in values.values()):
        for name, nullable in texts().items():
            if name in values and not isinstance(values[name], str) and not (nullable and values[name] is None):
                values[name] = given[name]
    return {**_document(call), **values}


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


def _pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name.strip():
        raise BadRequest(f"--param takes NAME=VALUE, not '{text}'")
    return name.strip().removeprefix("$"), value


def _refuse_constant(literal: str) -> NoReturn:
    raise ValueError(f"{literal} is not JSON")
