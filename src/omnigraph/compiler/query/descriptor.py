"""What a query touches and returns, as lint, catalogs of stored queries and policies show it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from omnigraph.compiler.ir import ops
from omnigraph.compiler.ir.expr import ValueType
from omnigraph.compiler.query.checked import (
    Bind,
    Checked,
    CheckedClause,
    CheckedMutation,
    Column,
    Step,
    Without,
)
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
}


@dataclass(frozen=True, slots=True)
class Touched:
    """A node or edge type that a query reads or writes."""

    kind: str
    type_name: str

    def to_json(self) -> dict[str, str]:
        """The shape of the contract."""
        return {"kind": self.kind, "type_name": self.type_name}


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
        return Operation(checked.body.columns, _ordered(_read_by(checked.body.clauses)), ())
    writes = [touched for op in checked.body.ops for touched in _written_by(op)]
    endpoints = [
        Touched("node", type_name)
        for op in checked.body.ops
        if isinstance(op, ops.InsertEdge)
        for type_name in (op.source_type, op.target_type)
    ]
    return Operation((), _ordered([*writes, *endpoints]), _ordered(writes))


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


def _read_by(clauses: tuple[CheckedClause, ...]) -> Iterator[Touched]:
    for clause in clauses:
        match clause:
            case Bind(_, type_name):
                yield Touched("node", type_name)
            case Step(link):
                yield Touched("edge", link.edge)
                yield Touched("node", link.tail_type)
                yield Touched("node", link.head_type)
            case Without(inner):
                yield from _read_by(inner)
            case _:
                pass


def _written_by(op: ops.MutationOp) -> Iterator[Touched]:
    match op:
        case ops.InsertNode(type_name) | ops.UpdateNode(type_name):
            yield Touched("node", type_name)
        case ops.InsertEdge(type_name) | ops.UpdateEdge(type_name) | ops.DeleteEdge(type_name):
            yield Touched("edge", type_name)
        case ops.DeleteNode(type_name, _, cascades):
            yield Touched("node", type_name)
            for cascade in cascades:
                yield Touched("edge", cascade.edge)


def _ordered(touched: Iterable[Touched]) -> tuple[Touched, ...]:
    return tuple(sorted(set(touched), key=lambda found: (found.kind != "node", found.type_name)))
