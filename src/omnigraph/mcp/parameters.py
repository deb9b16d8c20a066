"""Parameters of a stored query as JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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


def input_schema(params: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The object that a tool takes; what may be null may be left out.

    >>> input_schema([{"name": "n", "kind": "int", "nullable": False}])["required"]
    ['n']
    """
    required = [each["name"] for each in params if not each["nullable"] and not each.get("has_default")]
    return {
        "type": "object",
        "properties": {each["name"]: _property(each) for each in params},
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
