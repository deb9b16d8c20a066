"""Small words for JSON Schema, so that the tables of the document read like the specification."""

from __future__ import annotations

from typing import Any

Shape = dict[str, Any]

TEXT: Shape = {"type": "string"}
FLAG: Shape = {"type": "boolean"}
COUNT: Shape = {"type": "integer", "format": "int64", "minimum": 0}
U64: Shape = {"type": "integer", "format": "int64", "minimum": 0}
I64: Shape = {"type": "integer", "format": "int64"}
ANY_OBJECT: Shape = {"type": "object", "additionalProperties": True}


def ref(name: str) -> Shape:
    """Another component."""
    return {"$ref": f"#/components/schemas/{name}"}


def listed(item: Shape) -> Shape:
    """An array."""
    return {"type": "array", "items": item}


def one_of(*values: str) -> Shape:
    """One word of several."""
    return {"type": "string", "enum": list(values)}


def or_null(shape: Shape) -> Shape:
    """The shape, or null."""
    if set(shape) == {"type"}:
        return {"type": [shape["type"], "null"]}
    return {"oneOf": [shape, {"type": "null"}]}


def record(description: str, /, optional: tuple[str, ...] = (), **members: Shape) -> Shape:
    """An object; every member is required unless it is named as optional. A trailing underscore is dropped."""
    named = {name.rstrip("_"): shape for name, shape in members.items()}
    required = [name for name in named if name not in optional]
    found: Shape = {"type": "object", "description": description, "properties": named}
    return {**found, "required": required} if required else found
