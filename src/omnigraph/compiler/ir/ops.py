"""The operators of a read: a pipeline over frames of bindings, then the shape of the result.

A pipeline starts from one empty row. Each match operator adds bindings or drops rows; the result is a set of
assignments, so nothing here ever yields the same assignment twice. AntiJoin, LeftJoin, Mark and Either run pipelines of
their own on the outer row. A type name may stand for a union of types, `Hut|Lake`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from omnigraph.compiler.ir.expr import (
    AggregateCall,
    Condition,
    Const,
    Expr,
    IllTyped,
    Nearest,
    Param,
    RankCall,
    require,
)
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.walk import variables

# --- match -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NodeScan:
    """Bind a variable to every node, or edge, of a type; it multiplies the rows so far, or joins where `joins` says."""

    var: str
    type_name: str
    predicates: tuple[Condition, ...] = ()
    joins: tuple[Condition, ...] = ()
    columns: tuple[str, ...] = ()
    kind: str = "node"

    def __post_init__(self) -> None:
        require_only(self.predicates, self.var)

    @property
    def table_key(self) -> str:
        """The table, or the union of tables, that is scanned."""
        return f"{self.kind}:{self.type_name}"


@dataclass(frozen=True, slots=True)
class Expand:
    """Bind the end of a link that is not bound yet: one row per distinct neighbour, or per edge if edges are bound."""

    link: Link
    source: str
    predicates: tuple[Condition, ...] = ()
    edge_predicates: tuple[Condition, ...] = ()
    columns: tuple[str, ...] = ()
    edge_columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require(self.source in (self.link.tail, self.link.head), f"expand from ${self.source}")
        require(self.link.tail != self.link.head, "expand onto the same variable")
        require_only(self.predicates, self.target)
        require_only(self.edge_predicates, self.link.edge_var)

    @property
    def target(self) -> str:
        """The variable this binds."""
        return self.link.other(self.source)

    @property
    def target_type(self) -> str:
        """Its node type."""
        return self.link.type_of(self.target)

    @property
    def direction(self) -> str:
        """`out` along the edge, `in` against it, `both` when undirected."""
        if self.link.undirected:
            return "both"
        return "out" if self.source == self.link.tail else "in"


@dataclass(frozen=True, slots=True)
class ExpandTest:
    """Keep rows whose two bound ends are linked; with an edge binding, one row per connecting edge."""

    link: Link
    edge_predicates: tuple[Condition, ...] = ()
    edge_columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_only(self.edge_predicates, self.link.edge_var)


@dataclass(frozen=True, slots=True)
class Filter:
    """Keep rows for which the condition is true; a `late` one stands behind everything else of its pipeline."""

    condition: Condition
    late: bool = False


@dataclass(frozen=True, slots=True)
class AntiJoin:
    """Keep rows that the inner pipeline, started on them, cannot extend; `outer` are the variables it reads."""

    ops: tuple[MatchOp, ...]
    outer: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LeftJoin:
    """Extend each row by the inner pipeline, or once by null where that finds nothing; `binds` are its variables."""

    ops: tuple[MatchOp, ...]
    outer: tuple[str, ...]
    binds: tuple[str, ...]


# What a Mark answers is read as this property of its variable.
FOUND = "found"


@dataclass(frozen=True, slots=True)
class Mark:
    """Bind a value to `var`: whether the inner pipeline, started on the row, finds anything.

    With a call it is what that aggregate makes of what is found, taken in the order of `ties`.
    """

    ops: tuple[MatchOp, ...]
    outer: tuple[str, ...]
    var: str
    call: AggregateCall | None = None
    ties: tuple[str, ...] = ()

    @property
    def keeps(self) -> frozenset[str]:
        """The variables that the call reads of what is found."""
        return frozenset(self.ties) if self.call is None else frozenset(self.ties) | variables(self.call)


# What an Unwind puts out is read as this property of its variable.
ITEM = "item"


@dataclass(frozen=True, slots=True)
class Unwind:
    """Extend each row by each item of a list, in order; a row whose list is empty or null goes."""

    expr: Expr
    var: str


@dataclass(frozen=True, slots=True)
class Branch:
    """One of the pipelines of an Either."""

    ops: tuple[MatchOp, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """Extend each row by what any of the branches finds for it; `binds` are the variables that all of them bind.

    What two branches find is found once.
    """

    branches: tuple[Branch, ...]
    outer: tuple[str, ...]
    binds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShortestPath:
    """Bind paths of a link whose two ends are bound; `columns` are what is read of them.

    `kind` is "shortest" (one for each pair, which is known to be linked), "all shortest", "cheapest" (by `cost`, an
    expression over the variables of a step) or "simple"; with `count`, the first so many that meet no node twice.
    """

    link: Link
    var: str
    columns: tuple[str, ...] = ()
    kind: str = "shortest"
    count: Const | Param | None = None
    cost: Expr | None = None

    @property
    def adds_rows(self) -> bool:
        """Whether a pair of ends may have several paths, or none."""
        return self.kind != "shortest" or self.count is not None


MatchOp: TypeAlias = (
    NodeScan | Expand | ExpandTest | Filter | AntiJoin | LeftJoin | Mark | Either | Unwind | ShortestPath
)


def pipelines(op: MatchOp) -> tuple[tuple[MatchOp, ...], ...]:
    """The pipelines that an operator runs inside."""
    if isinstance(op, AntiJoin | LeftJoin | Mark):
        return (op.ops,)
    return tuple(branch.ops for branch in op.branches) if isinstance(op, Either) else ()


# --- results ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fetch:
    """How many leading rows are asked for in the end: limit plus offset."""

    limit: Const | Param
    offset: Const | Param | None = None


@dataclass(frozen=True, slots=True)
class Rank:
    """Score the ranked variable over the rows so far and drop rows without a score.

    `arm` bounds what a nearest arm contributes to a fusion. `fetch`, if set, says that only so many of the best rows
    matter; rows that tie with the last of them stay, because the Sort that follows decides between those.
    """

    call: RankCall
    arm: Fetch | None = None
    fetch: Fetch | None = None

    @property
    def ascending(self) -> bool:
        """Whether a smaller score is better."""
        return isinstance(self.call, Nearest)


@dataclass(frozen=True, slots=True)
class SortKey:
    """One key; null is smallest, strings compare by bytes, a node by its id."""

    expr: Expr
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Sort:
    """Stable sort by the keys, then by the ids of the `ties` variables in turn."""

    keys: tuple[SortKey, ...]
    ties: tuple[str, ...] = ()
    fetch: Fetch | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """One named result column."""

    name: str
    expr: Expr


@dataclass(frozen=True, slots=True)
class Project:
    """Compute the result columns; keeps order and duplicates."""

    columns: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class WindowColumns:
    """Bind the values of windows over all rows as properties of `var`; `ties` complete the order of rows."""

    var: str
    columns: tuple[Output, ...]
    ties: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Group by the columns that are not aggregates, and by `entities`; groups come in the order of their first row."""

    columns: tuple[Output, ...]
    entities: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require(any(isinstance(column.expr, AggregateCall) for column in self.columns), "grouping without an aggregate")

    @property
    def is_keyed(self) -> bool:
        """Whether there is a group key; without one there is one group, also over no rows."""
        return bool(self.keys or self.entities)

    @property
    def keys(self) -> tuple[Output, ...]:
        """The columns to group by."""
        return tuple(column for column in self.columns if not isinstance(column.expr, AggregateCall))


@dataclass(frozen=True, slots=True)
class Having:
    """Keep result rows for which the condition on their columns is true."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class Distinct:
    """Keep the first of equal result rows; rows with different `entities` are not equal."""

    entities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limit:
    """Skip `offset` rows, then keep at most `limit`; with `per`, among the rows that are equal in these values."""

    limit: Const | Param | None
    offset: Const | Param | None = None
    per: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Union:
    """The result rows of several plans, one after the other; of equal rows the first if `distinct`."""

    distinct: bool


ShapingOp: TypeAlias = WindowColumns | Rank | Sort | Project | Aggregate | Having | Distinct | Limit
ResultOp: TypeAlias = Union | ShapingOp


def require_only(conditions: tuple[Condition, ...], var: str | None) -> None:
    """Refuse conditions that read another variable than `var`; IllTyped names them."""
    for condition in conditions:
        reads = variables(condition)
        if not reads <= {var}:
            raise IllTyped(f"ill-typed plan: predicate of ${var} reads {sorted(reads)}")
