"""A query file as written: queries, clauses, expressions and statements, with the places they stand at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from omnigraph.compiler.source import NOWHERE, Span
from omnigraph.compiler.types import PropType


def _span() -> Span:
    return NOWHERE


# --- expressions -----------------------------------------------------------------------------
# Spans never take part in comparison.


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant. `kind`: "string", "int", "float", "bool", "date", "datetime", "null"."""

    value: str | int | float | bool | None
    kind: str
    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """`[a, b]`."""

    items: tuple[Expr, ...]
    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class Var:
    """`$name`: a node, an edge or a parameter; `_` is anonymous."""

    name: str
    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class Prop:
    """`$var.name`."""

    var: str
    name: str
    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class Alias:
    """A bare name: a column of `return`, or a property inside a mutation predicate."""

    name: str
    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class Now:
    """`now()`."""

    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the registry, or `nearest`, `search`, `fuzzy`, `match_text`, `bm25`, `rrf`."""

    name: str
    args: tuple[Expr, ...]
    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class Agg:
    """`name([distinct] arg [, more] [where condition] [order key [desc]])`; `arg` is None for `count(*)`."""

    name: str
    arg: Expr | None
    distinct: bool = False
    span: Span = field(default_factory=_span, compare=False)
    more: tuple[Expr, ...] = ()
    where: Expr | None = None
    key: Expr | None = None
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Unary:
    """`-x`."""

    op: str
    operand: Expr
    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic: `+ - * / %`."""

    op: str
    left: Expr
    right: Expr
    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class When:
    """`when condition then value`."""

    condition: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class Case:
    """`case when … then … else … end`; without `else` it is null where no condition holds."""

    branches: tuple[When, ...]
    otherwise: Expr | None = None
    span: Span = field(default_factory=_span, compare=False)


# A condition is an expression whose value is a truth value.


@dataclass(frozen=True, slots=True)
class Compare:
    """`left op right`; op is = != < <= > >= or one of the words that test texts, such as `contains`."""

    op: str
    left: Expr
    right: Expr
    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class Range:
    """`low op operand op high`, such as `1 <= $x.n < 9`."""

    low: Expr
    low_op: str
    operand: Expr
    high_op: str
    high: Expr
    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class In:
    """`left in right`, `left not in right`."""

    left: Expr
    right: Expr
    negated: bool = False
    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class IsNull:
    """`operand is null`, `operand is not null`."""

    operand: Expr
    negated: bool = False
    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class Not:
    """`not operand`. (The negation of a pattern is NotBlock.)"""

    operand: Expr
    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class And:
    """All parts hold."""

    parts: tuple[Expr, ...]
    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part holds."""

    parts: tuple[Expr, ...]
    span: Span = field(default_factory=_span, compare=False)


Test: TypeAlias = Compare | Range | In | IsNull | Not | And | Or
Expr: TypeAlias = Literal | ListLiteral | Var | Prop | Alias | Now | Call | Agg | Unary | Binary | Case | Test


# --- match clauses ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PropMatch:
    """`name: value` inside a binding's braces."""

    name: str
    value: Expr
    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class Binding:
    """`$v: Type { p: value, … }`; alternatives stay joined in the name: `Hut|Lake`."""

    var: str
    type_name: str
    matches: tuple[PropMatch, ...] = ()
    span: Span = field(default_factory=_span, compare=False)
    type_span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class Traversal:
    """`[shortest $p:] $l [$e:] edge{m,n} $r`; `hops` is None when not written, `(m, None)` for `{m,}`.

    Alternatives stay joined in the name: `path|guards`.
    """

    left: str
    edge: str
    right: str
    undirected: bool = False
    edge_var: str | None = None
    hops: tuple[int, int | None] | None = None
    span: Span = field(default_factory=_span, compare=False)
    edge_span: Span = field(default_factory=_span, compare=False)
    hops_span: Span = field(default_factory=_span, compare=False)
    left_span: Span = field(default_factory=_span, compare=False)
    right_span: Span = field(default_factory=_span, compare=False)
    path_var: str | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition standing as a clause."""

    condition: Expr
    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class NotBlock:
    """`not { … }`."""

    clauses: tuple[Clause, ...]
    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class OptionalBlock:
    """`optional { … }`."""

    clauses: tuple[Clause, ...]
    span: Span = field(default_factory=_span, compare=False)


Clause: TypeAlias = Binding | Traversal | Filter | NotBlock | OptionalBlock


# --- reads -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Item:
    """One column of `return`."""

    expr: Expr
    alias: str | None = None
    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class Sort:
    """One key of `order`; `direction` is None when not written."""

    expr: Expr
    direction: str | None = None
    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class Read:
    """`match … return … having … order … limit …`; limit and offset are a Literal int or a Var."""

    clauses: tuple[Clause, ...]
    items: tuple[Item, ...]
    order: tuple[Sort, ...] = ()
    limit: Literal | Var | None = None
    offset: Literal | Var | None = None
    distinct: bool = False
    having: tuple[Expr, ...] = ()


# --- mutations -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assign:
    """`name: value`; in an update a bare name inside the value is a property of the row as it was."""

    name: str
    value: Expr
    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class Insert:
    """`insert Type { … }`."""

    type_name: str
    assigns: tuple[Assign, ...]
    span: Span = field(default_factory=_span, compare=False)
    type_span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class Update:
    """`update Type set { … } where …`; property names in the predicate are Alias nodes."""

    type_name: str
    assigns: tuple[Assign, ...]
    where: Expr
    span: Span = field(default_factory=_span, compare=False)
    type_span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class Delete:
    """`delete Type where …`."""

    type_name: str
    where: Expr
    span: Span = field(default_factory=_span, compare=False)
    type_span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class UpdateVar:
    """`update $v set { … }` after a match."""

    var: str
    assigns: tuple[Assign, ...]
    span: Span = field(default_factory=_span, compare=False)
    var_span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class DeleteVar:
    """`delete $v` after a match."""

    var: str
    span: Span = field(default_factory=_span, compare=False)
    var_span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class ForEach:
    """`match { … }` and the one statement it drives."""

    clauses: tuple[Clause, ...]
    statement: Insert | UpdateVar | DeleteVar
    span: Span = field(default_factory=_span, compare=False)


Statement: TypeAlias = Insert | Update | Delete | ForEach


# --- queries ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Param:
    """`$name: Type = default`; the type may be an enum (extension)."""

    name: str
    type: PropType
    default: Expr | None = None
    span: Span = field(default_factory=_span, compare=False)


@dataclass(frozen=True, slots=True)
class Query:
    """One named query: a read or a list of statements."""

    name: str
    params: tuple[Param, ...]
    body: Read | tuple[Statement, ...]
    description: str | None = None
    instruction: str | None = None
    span: Span = field(default_factory=_span, compare=False)
    name_span: Span = field(default_factory=_span, compare=False)

    @property
    def is_mutation(self) -> bool:
        """Whether the body writes."""
        return not isinstance(self.body, Read)


@dataclass(frozen=True, slots=True)
class QueryFile:
    """All queries of one text, in file order."""

    queries: tuple[Query, ...]
