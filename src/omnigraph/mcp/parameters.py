"""Parameters of a stored query as JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omnigraph.compiler.diagnostics import did_you_mean
from omnigraph.errors import BadRequest

_SCALARS: Mapping[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "bigint": {"type": ["integer", "string"], "description": "a whole number of up to 64 bits, or its decimal digits"},
    "float": {"type": "number"},
    "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"},
    "blob": {"type": "string", "description": "base64:… or an allowed URI"},
}


# No parameter of a query can have this name: it is not an identifier.
MESSAGE = "commit-message"
_MESSAGE_SCHEMA = {"type": "string", "description": "why this is changed; kept with the commit"}


def split_message(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """The parameters of a mutation, and the message of its commit."""
    params = dict(arguments)
    message = params.pop(MESSAGE, None)
    if message is not None and not isinstance(message, str):
        raise BadRequest(f"'{MESSAGE}' is a text")
    return params, message


def refuse_unknown(name: str, arguments: Mapping[str, Any], entry: Mapping[str, Any]) -> None:
    """Refuse arguments that the tool of a stored query does not take: a misspelt one would silently do nothing."""
    taken = [each["name"] for each in entry["params"]] + ([MESSAGE] if entry["mutation"] else [])
    for given in arguments:
        if given not in taken:
            near = did_you_mean(given, taken)
            raise BadRequest(f"'{name}' takes no argument '{given}'{f'; {near}' if near else ''}")


def input_schema(params: Sequence[Mapping[str, Any]], *, writes: bool = False) -> dict[str, Any]:
    """The object that a tool takes; what may be null may be left out. One that `writes` also takes a message.

    >>> input_schema([{"name": "n", "kind": "int", "nullable": False}])["required"]
    ['n']
    """
    required = [each["name"] for each in params if not each["nullable"] and not each.get("has_default")]
    return {
        "type": "object",
        "properties": {
            **{each["name"]: _property(each) for each in params},
            **({MESSAGE: _MESSAGE_SCHEMA} if writes else {}),
        },
        "required": required,
        "additionalProperties": False,
    }


def _property(param: Mapping[str, Any]) -> dict[str, Any]:
    found = _of_kind(param)
    if not param["nullable"]:
        return found
    kinds = found["type"] if isinstance(found["type"], list) else [found["type"]]
    return {**found, "type": [*kinds, "null"]}


def _of_kind(param: Mapping[str, Any]) -> dict[str, Any]:
    match param["kind"]:
        case "vector":
            size = param["vector_dim"]
            return {"type": "array", "items": {"type": "number"}, "minItems": size, "maxItems": size}
        case "list":
            return {"type": "array", "items": dict(_SCALARS[param["item_kind"]])}
        case kind:
            return dict(_SCALARS[kind])
