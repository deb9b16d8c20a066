"""The node and edge types that a query reads or writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from omnigraph.compiler.ir import write_ops
from omnigraph.compiler.query.checked import (
    Bind,
    CheckedClause,
    EitherMatch,
    ExistsMatch,
    NotMatch,
    OptionalMatch,
    Step,
)
from omnigraph.compiler.types import union_members


@dataclass(frozen=True, slots=True)
class Touched:
    """A node or edge type that a query reads or writes."""

    kind: str
    type_name: str

    def to_json(self) -> dict[str, str]:
        """The shape of the contract."""
        return {"kind": self.kind, "type_name": self.type_name}


def reads_of(clauses: tuple[CheckedClause, ...]) -> Iterator[Touched]:
    """What clauses read, those of blocks included; a union reads all of its types."""
    for clause in clauses:
        match clause:
            case Bind(_, type_name, _, kind):
                yield from _all(kind, type_name)
            case Step(link, marks=marks):
                yield from reads_of(marks)
                yield from _all("edge", link.edge)
                yield from _all("node", link.tail_type)
                yield from _all("node", link.head_type)
                for way in link.ways:
                    yield Touched("node", way.from_type)
                    yield Touched("node", way.to_type)
            case NotMatch(inner) | OptionalMatch(inner) | ExistsMatch(inner):
                yield from reads_of(inner)
            case EitherMatch(alternatives):
                for each in alternatives:
                    yield from reads_of(each.clauses)
            case _:
                pass


def writes_of(op: write_ops.PlainWrite) -> Iterator[Touched]:
    """What a statement writes, cascades included."""
    match op:
        case write_ops.InsertNode(type_name) | write_ops.UpdateNode(type_name):
            yield Touched("node", type_name)
        case write_ops.InsertEdge(type_name) | write_ops.UpdateEdge(type_name) | write_ops.DeleteEdge(type_name):
            yield Touched("edge", type_name)
        case write_ops.DeleteNode(type_name, _, cascades):
            yield Touched("node", type_name)
            for cascade in cascades:
                yield Touched("edge", cascade.edge)


def _all(kind: str, type_name: str) -> Iterator[Touched]:
    return (Touched(kind, name) for name in union_members(type_name))
