"""Stored IR and state JSON → values; anything unexpected in them is reported by its path, never guessed around."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from omnigraph.compiler.catalog.codec import IDENTITY_VERSION, IR_VERSION, STATE_FORMAT_VERSION
from omnigraph.compiler.catalog.model import Annotation, Card, Check, Range
from omnigraph.compiler.catalog.shape import (
    Constraint,
    EdgeShape,
    Index,
    InterfaceShape,
    Key,
    NodeShape,
    PropertyShape,
    SchemaShape,
    Unique,
)
from omnigraph.compiler.types import BASE_SCALARS, PropType
from omnigraph.errors import Corrupt
from omnigraph.ids import is_ulid

_VECTOR = re.compile(r"Vector\(([1-9][0-9]{0,9})\)")
_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class StoredIr:
    """A decoded IR: the shape with identity, its domain and the next free id."""

    shape: SchemaShape
    domain: str
    next_id: int


def decode_ir(text: str | bytes) -> StoredIr:
    """The value of `_schema.ir.json`, or Corrupt with the path of what is wrong."""
    top = _object(_json(text, "schema IR"), "IR", ("ir_version", "schema_identity_domain", "next_identity_id", *_LISTS))
    if top["ir_version"] != IR_VERSION:
        _fail("IR.ir_version", f"is {top['ir_version']!r}; this release reads {IR_VERSION}")
    shape = SchemaShape(
        _list(top["interfaces"], "IR.interfaces", _interface),
        _list(top["nodes"], "IR.nodes", _node),
        _list(top["edges"], "IR.edges", _edge),
    )
    next_id = _id(top["next_identity_id"], "IR.next_identity_id")
    _check_identity(shape, next_id)
    return StoredIr(shape, _domain(top["schema_identity_domain"], "IR.schema_identity_domain"), next_id)


def decode_state(text: str | bytes) -> dict[str, Any]:
    """The value of `__schema_state.json`, or Corrupt with the path of what is wrong."""
    keys = (
        "format_version",
        "schema_shape_hash",
        "schema_ir_hash",
        "schema_identity_version",
        "schema_identity_domain",
    )
    state = _object(_json(text, "schema state"), "state", keys)
    for name, wanted in (("format_version", STATE_FORMAT_VERSION), ("schema_identity_version", IDENTITY_VERSION)):
        if state[name] != wanted:
            _fail(f"state.{name}", f"is {state[name]!r}; this release reads {wanted}")
    for name in ("schema_shape_hash", "schema_ir_hash"):
        if not _HASH.fullmatch(_text(state[name], f"state.{name}")):
            _fail(f"state.{name}", "is not a sha256 hash")
    _domain(state["schema_identity_domain"], "state.schema_identity_domain")
    return state


_LISTS = ("interfaces", "nodes", "edges")


def _json(text: str | bytes, what: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    except (ValueError, RecursionError) as problem:
        raise Corrupt(f"the stored {what} is not valid JSON: {problem}") from None


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object repeats a member")
    return found


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


# --- types ---


def _interface(value: Any, path: str) -> InterfaceShape:
    top = _object(value, path, ("name", "type_id", "properties"))
    properties = _list(top["properties"], f"{path}.properties", _property)
    return InterfaceShape(_text(top["name"], f"{path}.name"), properties, _id(top["type_id"], f"{path}.type_id"))


def _node(value: Any, path: str) -> NodeShape:
    keys = ("name", "type_id", "table_incarnation_id", "annotations", "implements", "properties", "constraints")
    top = _object(value, path, keys)
    return NodeShape(
        name=_text(top["name"], f"{path}.name"),
        annotations=_list(top["annotations"], f"{path}.annotations", _annotation),
        implements=_list(top["implements"], f"{path}.implements", _text),
        properties=_list(top["properties"], f"{path}.properties", _property),
        constraints=_list(top["constraints"], f"{path}.constraints", _constraint),
        type_id=_id(top["type_id"], f"{path}.type_id"),
        incarnation_id=_id(top["table_incarnation_id"], f"{path}.table_incarnation_id"),
    )


def _edge(value: Any, path: str) -> EdgeShape:
    ends = ("from_type", "to_type", "cardinality")
    keys = ("name", "type_id", "table_incarnation_id", *ends, "annotations", "properties", "constraints")
    top = _object(value, path, keys)
    return EdgeShape(
        name=_text(top["name"], f"{path}.name"),
        from_type=_text(top["from_type"], f"{path}.from_type"),
        to_type=_text(top["to_type"], f"{path}.to_type"),
        card=_card(top["cardinality"], f"{path}.cardinality"),
        annotations=_list(top["annotations"], f"{path}.annotations", _annotation),
        properties=_list(top["properties"], f"{path}.properties", _property),
        constraints=_list(top["constraints"], f"{path}.constraints", _constraint),
        type_id=_id(top["type_id"], f"{path}.type_id"),
        incarnation_id=_id(top["table_incarnation_id"], f"{path}.table_incarnation_id"),
    )


def _card(value: Any, path: str) -> Card:
    top = _object(value, path, ("min", "max"))
    high = None if top["max"] is None else _int(top["max"], f"{path}.max")
    return Card(_int(top["min"], f"{path}.min"), high)


def _property(value: Any, path: str) -> PropertyShape:
    top = _object(value, path, ("name", "property_id", "prop_type", "annotations"))
    return PropertyShape(
        _text(top["name"], f"{path}.name"),
        _prop_type(top["prop_type"], f"{path}.prop_type"),
        _list(top["annotations"], f"{path}.annotations", _annotation),
        _id(top["property_id"], f"{path}.property_id"),
    )


def _prop_type(value: Any, path: str) -> PropType:
    top = _object(value, path, ("scalar", "nullable", "list", "enum_values"))
    scalar = _text(top["scalar"], f"{path}.scalar")
    flags = (_bool(top["list"], f"{path}.list"), _bool(top["nullable"], f"{path}.nullable"))
    values = None if top["enum_values"] is None else _list(top["enum_values"], f"{path}.enum_values", _text)
    vector = _VECTOR.fullmatch(scalar)
    if vector is not None:
        return PropType("Vector", *flags, values, int(vector.group(1)))
    if scalar not in BASE_SCALARS:
        _fail(f"{path}.scalar", f"is {scalar!r}, which is not a type")
    return PropType(scalar, *flags, values)


def _annotation(value: Any, path: str) -> Annotation:
    top = _object(value, path, ("name", "value"), optional="kwargs")
    text = None if top["value"] is None else _text(top["value"], f"{path}.value")
    kwargs = top.get("kwargs", {})
    if not isinstance(kwargs, dict):
        _fail(f"{path}.kwargs", "is not an object")
    pairs = tuple((name, _text(each, f"{path}.kwargs.{name}")) for name, each in kwargs.items())
    return Annotation(_text(top["name"], f"{path}.name"), text, pairs)


def _constraint(value: Any, path: str) -> Constraint:
    kind = value.get("kind") if isinstance(value, dict) else None
    match kind:
        case "key":
            return Key(_columns(value, path))
        case "unique":
            return Unique(_columns(value, path))
        case "index":
            return Index(_columns(value, path))
        case "range":
            top = _object(value, path, ("kind", "property", "min", "max"))
            bounds = (_bound(top["min"], f"{path}.min"), _bound(top["max"], f"{path}.max"))
            return Range(_text(top["property"], f"{path}.property"), *bounds)
        case "check":
            top = _object(value, path, ("kind", "property", "pattern"))
            return Check(_text(top["property"], f"{path}.property"), _text(top["pattern"], f"{path}.pattern"))
        case _:
            return _fail(f"{path}.kind", f"is {kind!r}, which is not a constraint")


def _columns(value: Any, path: str) -> tuple[str, ...]:
    return _list(_object(value, path, ("kind", "columns"))["columns"], f"{path}.columns", _text)


def _check_identity(shape: SchemaShape, next_id: int) -> None:
    seen: set[int] = set()
    for kind, each in shape.types():
        ids = [each.type_id, *(prop.property_id for prop in each.properties)]
        if not isinstance(each, InterfaceShape):
            ids.append(each.incarnation_id)
        for identity in ids:
            if identity in seen or identity >= next_id:
                problem = "is used twice" if identity in seen else f"is not below next_identity_id {next_id}"
                _fail(f"{kind}:{each.name}", f"identity {identity} {problem}")
            seen.add(identity)


# --- plain values ---


def _object(value: Any, path: str, keys: tuple[str, ...], optional: str | None = None) -> dict[str, Any]:
    if not isinstance(value, dict):
        _fail(path, "is not an object")
    for key in keys:
        if key not in value:
            _fail(path, f"lacks '{key}'")
    for key in value:
        if key not in keys and key != optional:
            _fail(path, f"has unknown member '{key}'")
    return value


def _list(value: Any, path: str, item: Callable[[Any, str], _Item]) -> tuple[_Item, ...]:
    if not isinstance(value, list):
        _fail(path, "is not an array")
    return tuple(item(each, f"{path}[{at}]") for at, each in enumerate(value))


def _text(value: Any, path: str) -> str:
    return value if isinstance(value, str) else _fail(path, "is not a string")


def _bool(value: Any, path: str) -> bool:
    return value if isinstance(value, bool) else _fail(path, "is not a boolean")


def _int(value: Any, path: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        _fail(path, "is not an unsigned integer")
    return value


def _id(value: Any, path: str) -> int:
    return _int(value, path) or _fail(path, "is 0; identities start at 1")


def _bound(value: Any, path: str) -> int | float | None:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    return _fail(path, "is not a number")


def _domain(value: Any, path: str) -> str:
    return value if isinstance(value, str) and is_ulid(value) else _fail(path, "is not a ULID")


def _fail(path: str, problem: str) -> NoReturn:
    raise Corrupt(f"the stored schema is damaged: {path} {problem}")
