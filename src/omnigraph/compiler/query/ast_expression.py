"""The expressions of a query file as written, with the places they stand at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, overload

from omnigraph.compiler.source import NOWHERE, Span

if TYPE_CHECKING:
    from omnigraph.compiler.query.ast import Clause


def no_span() -> Span:
    return NOWHERE


# Spans never take part in comparison.


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant. `kind`: "string", "int", "float", "bool", "date", "datetime", "null"."""

    value: str | int | float | bool | None
    kind: str
    span: Span = field(default_factory=no_span, compare=False)


_KINDS = {str: "string", int: "int", float: "float"}
_SPELT = re.compile(r'"(?:[^"\\]++|\\[\s\S])*+"|-?[0-9.]+')


class Literals(Sequence[Literal]):
    """The items of a long list of numbers, or of strings: values, of which literals are made when they are looked at.

    `text` is what they were read from, without comments, and begins at `start` of its source.
    """

    __slots__ = ("_spans", "_start", "_text", "values")

    def __init__(self, values: tuple[str, ...] | tuple[int | float, ...], text: str, start: int) -> None:
        self.values = values
        self._text, self._start = text, start
        self._spans: list[tuple[int, int]] | None = None

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, at: int) -> Literal: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Literal, ...]: ...
    def __getitem__(self, at: int | slice) -> Literal | tuple[Literal, ...]:
        if isinstance(at, slice):
            return tuple(self[each] for each in range(*at.indices(len(self))))
        if self._spans is None:
            self._spans = [found.span() for found in _SPELT.finditer(self._text)]
        value, (start, end) = self.values[at], self._spans[at]
        return Literal(value, _KINDS[type(value)], Span(self._start + start, self._start + end))

    def __iter__(self) -> Iterator[Literal]:
        return (self[at] for at in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, tuple | Literals) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """`[a, b]`."""

    items: tuple[Expr, ...] | Literals
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Member:
    """`name: value` of a record."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Record:
    """`{ name: value, … }`, which stands inside `collect`, `first` and `last`."""

    members: tuple[Member, ...]
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Var:
    """`$name`: a node, an edge or a parameter; `_` is anonymous."""

    name: str
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Prop:
    """`$var.name`."""

    var: str
    name: str
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Alias:
    """A bare name: a column of `return`, or a property inside a mutation predicate."""

    name: str
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Now:
    """`now()`."""

    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the registry, or `nearest`, `search`, `fuzzy`, `match_text`, `bm25`, `rrf`."""

    name: str
    args: tuple[Expr, ...]
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Agg:
    """`name([distinct] arg [, more] [match { … }] [where condition] [order key [desc]])`; no `arg` for `count(*)`.

    With a pattern of its own it is a value of each row: what it makes of the solutions that go with the row.
    """

    name: str
    arg: Expr | None
    distinct: bool = False
    span: Span = field(default_factory=no_span, compare=False)
    more: tuple[Expr, ...] = ()
    where: Expr | None = None
    key: Expr | None = None
    descending: bool = False
    clauses: tuple[Clause, ...] = ()


@dataclass(frozen=True, slots=True)
class Unary:
    """`-x`."""

    op: str
    operand: Expr
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic: `+ - * / %`."""

    op: str
    left: Expr
    right: Expr
    span: Span = field(default_factory=no_span, compare=False)


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
    span: Span = field(default_factory=no_span, compare=False)


# A condition is an expression whose value is a truth value.


@dataclass(frozen=True, slots=True)
class Compare:
    """`left op right`; op is = != < <= > >= or one of the words that test texts, such as `contains`."""

    op: str
    left: Expr
    right: Expr
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Range:
    """`low op operand op high`, such as `1 <= $x.n < 9`."""

    low: Expr
    low_op: str
    operand: Expr
    high_op: str
    high: Expr
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class In:
    """`left in right`, `left not in right`."""

    left: Expr
    right: Expr
    negated: bool = False
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class IsNull:
    """`operand is null`, `operand is not null`."""

    operand: Expr
    negated: bool = False
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Not:
    """`not operand`. (The negation of a pattern is NotBlock.)"""

    operand: Expr
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class And:
    """All parts hold."""

    parts: tuple[Expr, ...]
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part holds."""

    parts: tuple[Expr, ...]
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class WindowKey:
    """One key of the order inside a window."""

    expr: Expr
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """`name(args [where condition] [per key, … | per *] [order key [desc], …])`: a value of each row in its group."""

    name: str
    args: tuple[Expr, ...]
    per: tuple[Expr, ...] = ()
    order: tuple[WindowKey, ...] = ()
    where: Expr | None = None
    distinct: bool = False
    span: Span = field(default_factory=no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Exists:
    """`exists { … }`: whether the pattern has a solution that goes with the row."""

    clauses: tuple[Clause, ...]
    span: Span = field(default_factory=no_span, compare=False)


Test: TypeAlias = Compare | Range | In | IsNull | Not | And | Or
Expr: TypeAlias = (
    Literal
    | ListLiteral
    | Record
    | Var
    | Prop
    | Alias
    | Now
    | Call
    | Agg
    | Unary
    | Binary
    | Case
    | Exists
    | Window
    | Test
)
