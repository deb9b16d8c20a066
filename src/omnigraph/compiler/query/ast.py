"""A query file as written: queries, clauses and statements, with the places they stand at.

Expressions are in `ast_expression`; they are names of this module as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from omnigraph.compiler.query.ast_expression import (
    Agg,
    Alias,
    And,
    Binary,
    Call,
    Case,
    Compare,
    Exists,
    Expr,
    In,
    IsNull,
    ListLiteral,
    Literal,
    Literals,
    Member,
    Not,
    Now,
    Or,
    Prop,
    Range,
    Record,
    Test,
    Unary,
    Var,
    When,
    Window,
    WindowKey,
    no_span,
)
from omnigraph.compiler.source import Span
from omnigraph.compiler.types import PropType

__all__ = [
    "Agg",
    "Alias",
    "Alternative",
    "And",
    "Assign",
    "Binary",
    "Binding",
    "Call",
    "Case",
    "Clause",
    "Compare",
    "Delete",
    "DeleteVar",
    "EitherBlock",
    "Exists",
    "Expr",
    "Filter",
    "ForEach",
    "In",
    "Insert",
    "IsNull",
    "Item",
    "ListLiteral",
    "Literal",
    "Literals",
    "Member",
    "Not",
    "NotBlock",
    "Now",
    "OptionalBlock",
    "Or",
    "Param",
    "Prop",
    "PropMatch",
    "Query",
    "QueryFile",
    "Range",
    "Record",
    "Read",
    "Sort",
    "Stage",
    "Statement",
    "Test",
    "Traversal",
    "Unary",
    "Unwind",
    "Update",
    "UpdateVar",
    "Var",
    "When",
    "Window",
    "WindowKey",
]

# --- match clauses ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PropMatch:
    """`name: value` inside a binding's braces."""

    name: str
    value: Expr
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Binding:
    """`$v: Type { p: value, … }`; alternatives stay joined in the name: `Hut|Lake`."""

    var: str
    type_name: str
    matches: tuple[PropMatch, ...] = ()
    span: Span = field(default_factory=no_span, compare=False)
    type_span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Along:
    """`along $e from $m to $n by cost { condition … }`: what each step of a traversal has to satisfy, and costs."""

    edge: str | None
    source: str | None = None
    target: str | None = None
    cost: Expr | None = None
    conditions: tuple[Expr, ...] = ()
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Traversal:
    """`[shortest $p:] $l [$e:] edge{m,n} $r [along …]`; `hops` is None when not written, `(m, None)` for `{m,}`.

    `{m}` is `(m, m)`. Alternatives stay joined in the name: `path|guards`. `path_kind` is "shortest", "all shortest",
    "cheapest" or "simple"; `path_count` says how many paths, a Literal int or a Var.
    """

    left: str
    edge: str
    right: str
    undirected: bool = False
    edge_var: str | None = None
    hops: tuple[int, int | None] | None = None
    span: Span = field(default_factory=no_span, compare=False)
    edge_span: Span = field(default_factory=no_span, compare=False)
    hops_span: Span = field(default_factory=no_span, compare=False)
    left_span: Span = field(default_factory=no_span, compare=False)
    right_span: Span = field(default_factory=no_span, compare=False)
    path_var: str | None = None
    path_kind: str = "shortest"
    path_count: Literal | Var | None = None
    along: Along | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition standing as a clause."""

    condition: Expr
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class NotBlock:
    """`not { … }`."""

    clauses: tuple[Clause, ...]
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class OptionalBlock:
    """`optional { … }`."""

    clauses: tuple[Clause, ...]
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Unwind:
    """`unwind list as name`."""

    expr: Expr
    name: str
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of the patterns of `either`."""

    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class EitherBlock:
    """`either { … } or { … }`, two alternatives or more."""

    alternatives: tuple[Alternative, ...]
    span: Span = field(default_factory=no_span, compare=False)


Clause: TypeAlias = Binding | Traversal | Filter | NotBlock | OptionalBlock | EitherBlock | Unwind


# --- reads -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Item:
    """One column of `return`."""

    expr: Expr
    alias: str | None = None
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Sort:
    """One key of `order`; `direction` is None when not written."""

    expr: Expr
    direction: str | None = None
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Stage:
    """`match … with … having … order … limit …`: what the read after it goes on from; `per` belongs to the limit."""

    clauses: tuple[Clause, ...]
    items: tuple[Item, ...]
    order: tuple[Sort, ...] = ()
    limit: Literal | Var | None = None
    offset: Literal | Var | None = None
    distinct: bool = False
    having: tuple[Expr, ...] = ()
    per: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Read:
    """`match … return … having … order … limit …`; limit and offset are a Literal int or a Var.

    `more` are the reads after `union`, or `union all`; then order, limit and offset belong to the whole. A read that
    goes on from `stages` may have no clauses of its own. `per` says for what the limit holds one by one.
    """

    clauses: tuple[Clause, ...]
    items: tuple[Item, ...]
    order: tuple[Sort, ...] = ()
    limit: Literal | Var | None = None
    offset: Literal | Var | None = None
    distinct: bool = False
    having: tuple[Expr, ...] = ()
    more: tuple[Read, ...] = ()
    union_all: bool = False
    stages: tuple[Stage, ...] = ()
    per: tuple[Expr, ...] = ()


# --- mutations -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assign:
    """`name: value`; in an update a bare name inside the value is a property of the row as it was."""

    name: str
    value: Expr
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Insert:
    """`insert Type { … }`."""

    type_name: str
    assigns: tuple[Assign, ...]
    span: Span = field(default_factory=no_span, compare=False)
    type_span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Update:
    """`update Type set { … } where …`; property names in the predicate are Alias nodes."""

    type_name: str
    assigns: tuple[Assign, ...]
    where: Expr
    span: Span = field(default_factory=no_span, compare=False)
    type_span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Delete:
    """`delete Type where …`."""

    type_name: str
    where: Expr
    span: Span = field(default_factory=no_span, compare=False)
    type_span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class UpdateVar:
    """`update $v set { … }` after a match."""

    var: str
    assigns: tuple[Assign, ...]
    span: Span = field(default_factory=no_span, compare=False)
    var_span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class DeleteVar:
    """`delete $v` after a match."""

    var: str
    span: Span = field(default_factory=no_span, compare=False)
    var_span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class ForEach:
    """`match { … }` and the one statement it drives."""

    clauses: tuple[Clause, ...]
    statement: Insert | UpdateVar | DeleteVar
    span: Span = field(default_factory=no_span, compare=False)


Statement: TypeAlias = Insert | Update | Delete | ForEach


# --- queries ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Param:
    """`$name: Type = default`; the type may be an enum (extension)."""

    name: str
    type: PropType
    default: Expr | None = None
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Query:
    """One named query: a read or a list of statements."""

    name: str
    params: tuple[Param, ...]
    body: Read | tuple[Statement, ...]
    description: str | None = None
    instruction: str | None = None
    span: Span = field(default_factory=no_span, compare=False)
    name_span: Span = field(default_factory=no_span, compare=False)

    @property
    def is_mutation(self) -> bool:
        """Whether the body writes."""
        return not isinstance(self.body, Read)


@dataclass(frozen=True, slots=True)
class QueryFile:
    """All queries of one text, in file order."""

    queries: tuple[Query, ...]
