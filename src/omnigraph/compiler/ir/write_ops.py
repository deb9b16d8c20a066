"""The operators of a mutation: writes in statement order, and writes for each row of a match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from omnigraph.compiler.ir.expr import TARGET, Condition, Expr
from omnigraph.compiler.ir.ops import MatchOp, Output, require_only
from omnigraph.compiler.types import PropType


@dataclass(frozen=True, slots=True)
class Value:
    """What is stored in one property; conversion to `type` happens, and may fail, at run time."""

    property: str
    type: PropType
    expr: Expr


@dataclass(frozen=True, slots=True)
class InsertNode:
    """Insert one node, or replace the one with the same key."""

    type_name: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class InsertEdge:
    """Insert one edge between two node ids."""

    type_name: str
    source_type: str
    target_type: str
    source: Expr
    target: Expr
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class UpdateNode:
    """Set properties of every matching node."""

    type_name: str
    values: tuple[Value, ...]
    predicate: Condition

    def __post_init__(self) -> None:
        require_only((self.predicate,), TARGET)


@dataclass(frozen=True, slots=True)
class UpdateEdge:
    """Set properties of every matching edge; endpoints stay."""

    type_name: str
    values: tuple[Value, ...]
    predicate: Condition

    def __post_init__(self) -> None:
        require_only((self.predicate,), TARGET)


@dataclass(frozen=True, slots=True)
class Cascade:
    """An edge type that loses the edges of deleted nodes, and at which ends they may stand."""

    edge: str
    at_source: bool
    at_target: bool


@dataclass(frozen=True, slots=True)
class DeleteNode:
    """Delete every matching node and the edges that touch it."""

    type_name: str
    predicate: Condition
    cascades: tuple[Cascade, ...]

    def __post_init__(self) -> None:
        require_only((self.predicate,), TARGET)


@dataclass(frozen=True, slots=True)
class DeleteEdge:
    """Delete every matching edge."""

    type_name: str
    predicate: Condition

    def __post_init__(self) -> None:
        require_only((self.predicate,), TARGET)


PlainWrite: TypeAlias = InsertNode | InsertEdge | UpdateNode | UpdateEdge | DeleteNode | DeleteEdge


@dataclass(frozen=True, slots=True)
class ForEach:
    """Do a write once for each distinct assignment of the variables it reads; `var` is what it updates or deletes."""

    match: tuple[MatchOp, ...]
    write: PlainWrite
    var: str | None = None


MutationOp: TypeAlias = PlainWrite | ForEach


def written_outputs(write: PlainWrite) -> tuple[Output, ...]:
    """The values of a write as columns: properties by their names, endpoints as `from` and `to`."""
    match write:
        case InsertNode(values=values) | UpdateNode(values=values) | UpdateEdge(values=values):
            return tuple(Output(value.property, value.expr) for value in values)
        case InsertEdge(values=values):
            ends = (Output("from", write.source), Output("to", write.target))
            return (*ends, *(Output(value.property, value.expr) for value in values))
        case _:
            return ()
