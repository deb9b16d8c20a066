"""What a query touches and returns, as lint, catalogs of stored queries and policies show it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from omnigraph.compiler.ir import write_ops
from omnigraph.compiler.ir.expr import ValueType
from omnigraph.compiler.query.checked import Checked, CheckedMutation, Column, Driven
from omnigraph.compiler.query.touched import Touched, reads_of, writes_of
from omnigraph.compiler.types import PropType

_KINDS = {
    "String": "string",
    "Bool": "bool",
    "I32": "int",
    "U32": "int",
    "I64": "bigint",
    "U64": "bigint",
    "F32": "float",
    "F64": "float",
    "Date": "date",
    "DateTime": "datetime",
    "Blob": "blob",
    "Node": "object",
    "Record": "object",
}


@dataclass(frozen=True, slots=True)
class Operation:
    """The descriptor of one query; `result` is empty for a mutation."""

    result: tuple[Column, ...]
    reads: tuple[Touched, ...]
    writes: tuple[Touched, ...]

    def to_json(self) -> dict[str, Any]:
        """The shape of the contract."""
        return {
            "result": [describe_column(column) for column in self.result],
            "reads": [touched.to_json() for touched in self.reads],
            "writes": [touched.to_json() for touched in self.writes],
        }


def describe(checked: Checked) -> Operation:
    """The descriptor of a checked query."""
    if not isinstance(checked.body, CheckedMutation):
        return Operation(checked.body.columns, _ordered(reads_of(checked.body.every_clause)), ())
    writes = [touched for op in checked.body.ops for touched in writes_of(op)]
    endpoints = [
        Touched("node", type_name)
        for op in checked.body.ops
        if isinstance(op, write_ops.InsertEdge)
        for type_name in (op.source_type, op.target_type)
    ]
    matched = [
        touched for each in checked.body.statements if isinstance(each, Driven) for touched in reads_of(each.clauses)
    ]
    return Operation((), _ordered([*writes, *endpoints, *matched]), _ordered(writes))


def describe_column(column: Column) -> dict[str, Any]:
    """Name, kind and nullability of a result column, under the key its rows carry."""
    described: dict[str, Any] = {"name": column.name, **describe_type(column.expr.type)}
    described["nullable"] = column.nullable
    return described


def describe_type(kind: ValueType) -> dict[str, Any]:
    """Kind of a value, with the kind of its items or its dimension where it has one."""
    if not isinstance(kind, PropType):
        return {"kind": "object"}
    if kind.dim is not None:
        return {"kind": "vector", "vector_dim": kind.dim}
    if kind.list:
        return {"kind": "list", "item_kind": _KINDS[kind.scalar]}
    return {"kind": _KINDS[kind.scalar]}


def _ordered(touched: Iterable[Touched]) -> tuple[Touched, ...]:
    return tuple(sorted(set(touched), key=lambda found: (found.kind != "node", found.type_name)))
