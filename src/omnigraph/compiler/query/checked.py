"""What a type-checked query knows: resolved clauses, typed columns, and everything lowering and lint ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.ops import ShortestPath, SortKey
from omnigraph.compiler.ir.walk import expressions, variables
from omnigraph.compiler.ir.write_ops import PlainWrite
from omnigraph.compiler.query import ast
from omnigraph.compiler.types import PropType

# --- variables -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NodeVar:
    """A variable that ranges over the nodes of one type, or of a union; `optional` when it may be null.

    `interface` is the interface it was bound to, if any: then only what the interface declares can be read.
    """

    type_name: str
    interface: str | None = None
    optional: bool = False


@dataclass(frozen=True, slots=True)
class EdgeVar:
    """A variable that ranges over the edges of one type, or of a union; `scanned` until a traversal gives it ends."""

    type_name: str
    optional: bool = False
    scanned: bool = False


@dataclass(frozen=True, slots=True)
class PathVar:
    """A path over nodes and edges of these types; `several` when a pair of ends may have more than one."""

    optional: bool = False
    nodes: str = ""
    edges: str = ""
    has_cost: bool = False
    several: bool = False

    @property
    def type_name(self) -> str:
        """What messages call it."""
        return "a path"


@dataclass(frozen=True, slots=True)
class RowVar:
    """A row that a query made itself, of an earlier stage or of a list: its name is hidden, its columns have names."""

    optional: bool = False

    @property
    def type_name(self) -> str:
        """What messages call it."""
        return "a row"


Variable: TypeAlias = NodeVar | EdgeVar | PathVar | RowVar


# --- clauses ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bind:
    """A binding or re-binding with its inline conditions."""

    var: str
    type_name: str
    conditions: tuple[ir.Condition, ...]
    kind: str = "node"


@dataclass(frozen=True, slots=True)
class Step:
    """A traversal; `never` when its bounds ask for hops that cannot chain, `path` is what it binds its paths by.

    `marks` are the patterns that the conditions and the cost of its steps ask about.
    """

    link: Link
    never: bool = False
    path: ShortestPath | None = None
    marks: tuple[ExistsMatch, ...] = ()

    @property
    def path_var(self) -> str | None:
        """The variable of its path."""
        return None if self.path is None else self.path.var


@dataclass(frozen=True, slots=True)
class Where:
    """A filter."""

    condition: ir.Condition


@dataclass(frozen=True, slots=True)
class NotMatch:
    """A `not` block; `outer` are the variables of enclosing lists that it reads."""

    clauses: tuple[CheckedClause, ...]
    outer: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OptionalMatch:
    """An `optional` block: `outer` are the variables it reads, `binds` those that are null where it has no solution."""

    clauses: tuple[CheckedClause, ...]
    outer: tuple[str, ...]
    binds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExistsMatch:
    """A pattern inside an expression: `var` is what its answer is read from.

    Without a call the answer is whether there is a solution; with one, what that makes of the solutions, taken in the
    order of `ties`.
    """

    clauses: tuple[CheckedClause, ...]
    outer: tuple[str, ...]
    var: str
    call: ir.AggregateCall | None = None
    ties: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckedAlternative:
    """One of the patterns of `either`."""

    clauses: tuple[CheckedClause, ...]


@dataclass(frozen=True, slots=True)
class EitherMatch:
    """An `either` block: `binds` are the variables that every alternative binds, the others stay inside."""

    alternatives: tuple[CheckedAlternative, ...]
    outer: tuple[str, ...]
    binds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnwindMatch:
    """One row for each item of a list, read as a property of `var`."""

    expr: ir.Expr
    var: str


CheckedClause: TypeAlias = Bind | Step | Where | NotMatch | OptionalMatch | ExistsMatch | EitherMatch | UnwindMatch


# --- bodies ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Column:
    """One result column; `alias` distinguishes a written name from a derived one."""

    name: str
    expr: ir.Expr
    nullable: bool
    alias: str | None = None

    @property
    def is_aggregate(self) -> bool:
        """Whether the column is computed from aggregates."""
        return any(isinstance(part, ir.AggregateCall) for part in expressions(self.expr))

    @property
    def is_key(self) -> bool:
        """Whether rows that differ in it fall into different groups; a constant is the same for all of them."""
        return not self.is_aggregate and (isinstance(self.expr, ir.Param) or bool(variables(self.expr)))


@dataclass(frozen=True, slots=True)
class CheckedRead:
    """A read: blocks stand last in their list, `not` after `optional`; order keys are resolved, a rank key is apart.

    A union has `parts` instead of clauses; its columns, keys and limits speak about their rows, and `distinct` tells
    `union` from `union all`. One that goes on from a stage has it as its `source`. With `per`, the limit holds for each
    of those values by itself.
    """

    clauses: tuple[CheckedClause, ...]
    variables: Mapping[str, Variable]
    columns: tuple[Column, ...]
    rank: ir.RankCall | None
    keys: tuple[SortKey, ...]
    limit: ir.Const | ir.Param | None
    offset: ir.Const | ir.Param | None
    distinct: bool
    having: tuple[ir.Condition, ...] = ()
    parts: tuple[CheckedRead, ...] = ()
    source: CheckedStage | None = None
    per: tuple[ir.Expr, ...] = ()
    window_var: str = ""

    @property
    def reads(self) -> tuple[CheckedRead, ...]:
        """The read itself with those it goes on from, or those of a union's parts."""
        if self.parts:
            return tuple(read for part in self.parts for read in part.reads)
        return (self,) if self.source is None else (*self.source.read.reads, self)

    @property
    def every_clause(self) -> tuple[CheckedClause, ...]:
        """The clauses of all reads."""
        return tuple(clause for read in self.reads for clause in read.clauses)

    @property
    def grouped(self) -> bool:
        """Whether an aggregate turned the return into groups."""
        return any(column.is_aggregate for column in self.columns)


@dataclass(frozen=True, slots=True)
class CheckedStage:
    """A read whose rows another one goes on from: `keeps` stay bound, the other columns are properties of `var`."""

    read: CheckedRead
    var: str
    keeps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Driven:
    """A write for each distinct assignment of the variables it reads; `var` is what it updates or deletes."""

    clauses: tuple[CheckedClause, ...]
    write: PlainWrite
    var: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedMutation:
    """A mutation: its statements, resolved."""

    statements: tuple[PlainWrite | Driven, ...]

    @property
    def ops(self) -> tuple[PlainWrite, ...]:
        """What is written, whatever drives it."""
        return tuple(each.write if isinstance(each, Driven) else each for each in self.statements)


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
