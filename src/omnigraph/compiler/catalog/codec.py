"""Canonical shape ↔ JSON: the stored schema IR, its hashes, and the state file."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from omnigraph.compiler.catalog.model import Annotation, Check, Range
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
from omnigraph.compiler.types import PropType

IR_VERSION = 2
STATE_FORMAT_VERSION = 2
IDENTITY_VERSION = 2


def encode_ir(shape: SchemaShape, *, domain: str, next_id: int) -> dict[str, Any]:
    """The identity-bearing IR as JSON values, keys in their stored order."""
    return {
        "ir_version": IR_VERSION,
        "schema_identity_domain": domain,
        "next_identity_id": next_id,
        **_types(shape, identity=True),
    }


def ir_hash(ir: dict[str, Any]) -> str:
    """The hash of an encoded IR."""
    return _sha256(compact(ir))


def shape_hash(shape: SchemaShape) -> str:
    """The hash of a shape without identity: what re-parsing the source yields."""
    return _sha256(compact({"ir_version": IR_VERSION, **_types(shape, identity=False)}))


def encode_state(*, shape_hash: str, ir_hash: str, domain: str) -> dict[str, Any]:
    """The content of the state file."""
    return {
        "format_version": STATE_FORMAT_VERSION,
        "schema_shape_hash": shape_hash,
        "schema_ir_hash": ir_hash,
        "schema_identity_version": IDENTITY_VERSION,
        "schema_identity_domain": domain,
    }


def compact(value: Any) -> str:
    """JSON without whitespace, the form that is hashed."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def pretty(value: Any) -> str:
    """JSON for files that people open."""
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def encode_annotation(annotation: Annotation) -> dict[str, Any]:
    """`{name, value, kwargs?}`."""
    encoded: dict[str, Any] = {"name": annotation.name, "value": annotation.value}
    if annotation.kwargs:
        encoded["kwargs"] = dict(annotation.kwargs)
    return encoded


def _types(shape: SchemaShape, *, identity: bool) -> dict[str, Any]:
    return {
        "interfaces": [_interface(each, identity) for each in shape.interfaces],
        "nodes": [_node(each, identity) for each in shape.nodes],
        "edges": [_edge(each, identity) for each in shape.edges],
    }


def _interface(shape: InterfaceShape, identity: bool) -> dict[str, Any]:
    ids = {"type_id": shape.type_id} if identity else {}
    return {"name": shape.name, **ids, "properties": [_property(each, identity) for each in shape.properties]}


def _node(shape: NodeShape, identity: bool) -> dict[str, Any]:
    return {
        "name": shape.name,
        **_table_ids(shape, identity),
        "annotations": [encode_annotation(each) for each in shape.annotations],
        "implements": list(shape.implements),
        "properties": [_property(each, identity) for each in shape.properties],
        "constraints": [_constraint(each) for each in shape.constraints],
    }


def _edge(shape: EdgeShape, identity: bool) -> dict[str, Any]:
    return {
        "name": shape.name,
        **_table_ids(shape, identity),
        "from_type": shape.from_type,
        "to_type": shape.to_type,
        "cardinality": {"min": shape.card.min, "max": shape.card.max},
        "annotations": [encode_annotation(each) for each in shape.annotations],
        "properties": [_property(each, identity) for each in shape.properties],
        "constraints": [_constraint(each) for each in shape.constraints],
    }


def _table_ids(shape: NodeShape | EdgeShape, identity: bool) -> dict[str, int]:
    return {"type_id": shape.type_id, "table_incarnation_id": shape.incarnation_id} if identity else {}


def _property(shape: PropertyShape, identity: bool) -> dict[str, Any]:
    return {
        "name": shape.name,
        **({"property_id": shape.property_id} if identity else {}),
        "prop_type": _prop_type(shape.type),
        "annotations": [encode_annotation(each) for each in shape.annotations],
    }


def _prop_type(kind: PropType) -> dict[str, Any]:
    return {
        "scalar": f"Vector({kind.dim})" if kind.dim is not None else kind.scalar,
        "nullable": kind.nullable,
        "list": kind.list,
        "enum_values": list(kind.enum) if kind.enum is not None else None,
    }


def _constraint(constraint: Constraint) -> dict[str, Any]:
    match constraint:
        case Key(columns):
            return {"kind": "key", "columns": list(columns)}
        case Unique(columns):
            return {"kind": "unique", "columns": list(columns)}
        case Index(columns):
            return {"kind": "index", "columns": list(columns)}
        case Range(name, low, high):
            return {"kind": "range", "property": name, "min": low, "max": high}
        case Check(name, pattern):
            return {"kind": "check", "property": name, "pattern": pattern}


def _sha256(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
