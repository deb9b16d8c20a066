"""What a type-checked query knows: resolved clauses, typed columns, and everything lowering and lint ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Link, MutationOp, SortKey
from omnigraph.compiler.query import ast
from omnigraph.compiler.types import PropType

# --- variables -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NodeVar:
    """A variable that ranges over the nodes of one type."""

    type_name: str


@dataclass(frozen=True, slots=True)
class EdgeVar:
    """A variable that ranges over the edges of one type."""

    type_name: str


Variable: TypeAlias = NodeVar | EdgeVar


# --- clauses ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bind:
    """A binding or re-binding with its inline conditions."""

    var: str
    type_name: str
    conditions: tuple[ir.Condition, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A traversal; `never` when its bounds ask for hops that cannot chain."""

    link: Link
    never: bool = False


@dataclass(frozen=True, slots=True)
class Where:
    """A filter."""

    condition: ir.Condition


@dataclass(frozen=True, slots=True)
class Without:
    """A `not` block; `outer` are the variables of enclosing lists that it reads."""

    clauses: tuple[CheckedClause, ...]
    outer: tuple[str, ...]


CheckedClause: TypeAlias = Bind | Step | Where | Without


# --- bodies ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Column:
    """One result column; `alias` tells a written name from a derived one."""

    name: str
    expr: ir.Expr
    nullable: bool
    alias: str | None = None

    @property
    def is_aggregate(self) -> bool:
        """Whether the column is an aggregate, not a group key."""
        return isinstance(self.expr, ir.AggregateCall)


@dataclass(frozen=True, slots=True)
class CheckedRead:
    """A read: `not` blocks stand last in their list, order keys are resolved, a rank key is apart."""

    clauses: tuple[CheckedClause, ...]
    variables: Mapping[str, Variable]
    columns: tuple[Column, ...]
    rank: ir.RankCall | None
    keys: tuple[SortKey, ...]
    limit: ir.Const | ir.Param | None
    offset: ir.Const | ir.Param | None
    distinct: bool

    @property
    def grouped(self) -> bool:
        """Whether an aggregate turned the return into groups."""
        return any(column.is_aggregate for column in self.columns)


@dataclass(frozen=True, slots=True)
class CheckedMutation:
    """A mutation: its statements, resolved."""

    ops: tuple[MutationOp, ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A declared parameter; `default` applies when the caller omits it."""

    name: str
    type: PropType
    default: ir.Const | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """One query that fits the schema."""

    query: ast.Query
    params: tuple[Parameter, ...]
    body: CheckedRead | CheckedMutation

    @property
    def name(self) -> str:
        """The query's name."""
        return self.query.name

    @property
    def is_mutation(self) -> bool:
        """Whether the query writes."""
        return isinstance(self.body, CheckedMutation)
