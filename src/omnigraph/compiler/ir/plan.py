"""Plans: what a checked query compiles to, a read or a mutation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from omnigraph.compiler.ir.expr import ValueType
from omnigraph.compiler.ir.ops import MatchOp, ResultOp
from omnigraph.compiler.ir.write_ops import MutationOp


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """Name, type and nullability of a result column, known before any row is."""

    name: str
    type: ValueType
    nullable: bool


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """Match, then shape the result; a union takes the rows of its `parts` instead, by the first result operator.

    The match starts from the rows of `source`, if there is one.
    """

    match: tuple[MatchOp, ...]
    result: tuple[ResultOp, ...]
    columns: tuple[ResultColumn, ...]
    parts: tuple[ReadPlan, ...] = ()
    source: Stage | None = None

    @property
    def bound(self) -> frozenset[str]:
        """The variables that the match finds bound."""
        return frozenset() if self.source is None else frozenset({self.source.var, *self.source.keeps})


@dataclass(frozen=True, slots=True)
class Stage:
    """A plan that another one goes on from: `keeps` stay bound, its result columns become properties of `var`."""

    plan: ReadPlan
    var: str
    keeps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MutationPlan:
    """Writes in statement order; all take effect, or none."""

    ops: tuple[MutationOp, ...]


Plan: TypeAlias = ReadPlan | MutationPlan
