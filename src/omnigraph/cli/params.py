"""Query parameters from the command line: one JSON object, wherever it comes from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn

from omnigraph.cli.call import Call
from omnigraph.cli.files import read_text
from omnigraph.errors import BadRequest

if TYPE_CHECKING:
    from omnigraph.compiler.query.ast import Query
    from omnigraph.compiler.types import PropType

# Types whose values are written as JSON strings, so that a bare 7 or true can only be meant as text.
_TEXTS = frozenset({"String", "Blob", "Date", "DateTime"})


def params_of(call: Call, query: Query | None = None) -> dict[str, Any]:
    """`--params` or `--params-file`, then every `--param` on top; what `query` declares as text is taken as text."""
    given = dict(map(_pair, call.many("--param")))
    declared = {} if query is None else {param.name: param.type for param in query.params}
    values = {name: _value(text, declared.get(name)) for name, text in given.items()}
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


def _value(text: str, declared: PropType | None) -> Any:
    """A value on the command line: JSON or plain text, and never a number where the query wants text."""
    value = plain_or_json(text)
    if declared is None or declared.list or declared.scalar not in _TEXTS:
        return value
    return value if isinstance(value, str) or (value is None and declared.nullable) else text


def _pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name.strip():
        raise BadRequest(f"--param takes NAME=VALUE, not '{text}'")
    return name.strip().removeprefix("$"), value


def _refuse_constant(literal: str) -> NoReturn:
    raise ValueError(f"{literal} is not JSON")
