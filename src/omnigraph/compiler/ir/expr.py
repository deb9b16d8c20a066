"""Resolved, typed expressions and conditions: no name is left to look up, and ill-typed trees cannot be built.

The parts without operands, and the names of operators and functions, are in `leaves`; they are names of this module
as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from omnigraph.compiler.ir.leaves import (
    AGGREGATES,
    ARITHMETIC,
    BOOL,
    COMPARISONS,
    DATE,
    DATETIME,
    FLOAT64,
    INT64,
    NULL,
    SNIPPET,
    STRING,
    TARGET,
    TEXT_FUNCTIONS,
    TEXT_TESTS,
    TRUTH,
    Bm25,
    Column,
    Const,
    ConstValue,
    IllTyped,
    Nearest,
    Node,
    NodeObject,
    Now,
    Param,
    Property,
    RankCall,
    Rrf,
    Scalar,
    Score,
    ValueType,
    is_hidden,
    require,
)
from omnigraph.compiler.types import ENGLISH, PropType, union_members

__all__ = [
    "AGGREGATES",
    "ALWAYS",
    "ARITHMETIC",
    "BOOL",
    "COMPARISONS",
    "CONDITIONS",
    "DATE",
    "DATETIME",
    "FLOAT64",
    "INT64",
    "NEVER",
    "NULL",
    "STRING",
    "TARGET",
    "SNIPPET",
    "TEXT_FUNCTIONS",
    "TEXT_TESTS",
    "TRUTH",
    "AggregateCall",
    "And",
    "Arithmetic",
    "Bm25",
    "Choice",
    "Column",
    "Compare",
    "Condition",
    "Const",
    "ConstValue",
    "Expr",
    "Function",
    "IllTyped",
    "In",
    "IsNull",
    "IsTrue",
    "Member",
    "Nearest",
    "Node",
    "NodeObject",
    "Not",
    "NotTrue",
    "Now",
    "Or",
    "Param",
    "Possibly",
    "Property",
    "RankCall",
    "Record",
    "Rrf",
    "SameNode",
    "Scalar",
    "Score",
    "TextMatch",
    "TextTest",
    "ValueType",
    "WindowCall",
    "WindowKey",
    "as_condition",
    "is_hidden",
    "require",
]


# --- values ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left op right` on numbers; null in, null out, and so is division by zero."""

    op: str
    left: Expr
    right: Expr
    type: PropType

    def __post_init__(self) -> None:
        require(self.op in ARITHMETIC, f"arithmetic operator {self.op!r}")
        for side in (self.left, self.right):
            require(isinstance(side.type, PropType) and side.type.is_numeric, f"{self.op} on {side.type}")


@dataclass(frozen=True, slots=True)
class TextMatch:
    """Whether a text fits a query, in one of several ways, or its `snippet`: the part that does.

    `distance` is the edit distance of `fuzzy`, or how many words a snippet has.
    """

    function: str
    field: Expr
    query: Expr
    distance: Expr | None = None
    language: str = ENGLISH

    def __post_init__(self) -> None:
        require(self.function in (*TEXT_FUNCTIONS, SNIPPET), f"text function {self.function!r}")
        require(_is_string(self.field) and _is_string(self.query), f"{self.function} on non-text")

    @property
    def type(self) -> PropType:
        """Bool; a snippet is a text."""
        return STRING.with_nullable(True) if self.function == SNIPPET else BOOL


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """`count(*)` has no argument; `distinct` looks at different values only.

    Only rows for which `where` is true count. What is collected goes by `key`, then by the order of rows.
    """

    function: str
    arg: Expr | None
    distinct: bool
    type: ValueType
    where: Condition | None = None
    key: Expr | None = None
    descending: bool = False

    def __post_init__(self) -> None:
        require(self.function in AGGREGATES, f"aggregate {self.function!r}")
        require(self.arg is not None or self.function == "count", f"{self.function} without an argument")


@dataclass(frozen=True, slots=True)
class WindowKey:
    """One key of the order inside a window."""

    expr: Expr
    descending: bool = False


@dataclass(frozen=True, slots=True)
class WindowCall:
    """A value of each row among those that are equal in `per`: by `keys`, then by the order of rows.

    An aggregate is taken over the whole group, with keys up to the row; `offset` is how far `lag` and `lead` look.
    """

    function: str
    arg: Expr | None
    per: tuple[Expr, ...]
    keys: tuple[WindowKey, ...]
    type: PropType
    where: Condition | None = None
    offset: int = 1


@dataclass(frozen=True, slots=True)
class Function:
    """A call of a function of the registry, its arguments as its signature wants them."""

    name: str
    args: tuple[Expr, ...]
    type: PropType


@dataclass(frozen=True, slots=True)
class Member:
    """One value of a record, under its name."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Record:
    """Values under names; `node` is what they are the parts of, if it is one, and without it there is no record."""

    members: tuple[Member, ...]
    type: PropType
    node: Node | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """The value beside the first condition that is true, else `otherwise`; nothing else is looked at."""

    conditions: tuple[Condition, ...]
    values: tuple[Expr, ...]
    otherwise: Expr
    type: PropType

    def __post_init__(self) -> None:
        require(len(self.conditions) == len(self.values) > 0, "a choice between nothing")


# --- conditions ------------------------------------------------------------------------------
# Three-valued: any null operand makes a condition unknown, and only true keeps a row. A condition is a value, too.


class _Truth:
    """What all conditions share."""

    __slots__ = ()

    @property
    def type(self) -> PropType:
        """True, false or null."""
        return TRUTH


@dataclass(frozen=True, slots=True)
class Compare(_Truth):
    """`left op right` on two scalars; numbers compare by mathematical value."""

    op: str
    left: Expr
    right: Expr

    def __post_init__(self) -> None:
        require(self.op in COMPARISONS, f"comparison {self.op!r}")
        for side in (self.left, self.right):
            require(isinstance(side.type, PropType) and side.type.is_plain_scalar, f"{self.op} on {side.type}")


@dataclass(frozen=True, slots=True)
class SameNode(_Truth):
    """Whether two variables are one node, or one edge (or, negated, two)."""

    left: Node
    right: Node
    negated: bool = False

    def __post_init__(self) -> None:
        shared = {*union_members(self.left.type_name)} & {*union_members(self.right.type_name)}
        require(bool(shared) and self.left.kind == self.right.kind, "identity of different types")


@dataclass(frozen=True, slots=True)
class TextTest(_Truth):
    """`contains` (substring), `starts_with`, `ends_with`, exact and case-sensitive, or `matches` (an RE2 search)."""

    op: str
    left: Expr
    right: Expr

    def __post_init__(self) -> None:
        require(self.op in TEXT_TESTS, f"text test {self.op!r}")
        require(_is_string(self.left) and _is_string(self.right), f"{self.op} on non-text")


@dataclass(frozen=True, slots=True)
class In(_Truth):
    """Whether a scalar is an item of a list; also what `list contains item` means."""

    value: Expr
    options: Expr
    negated: bool = False

    def __post_init__(self) -> None:
        require(
            isinstance(self.options.type, PropType) and self.options.type.list, f"membership in {self.options.type}"
        )


@dataclass(frozen=True, slots=True)
class IsNull(_Truth):
    """A null test; never unknown."""

    operand: Expr
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsTrue(_Truth):
    """A boolean value standing as a condition."""

    operand: Expr

    def __post_init__(self) -> None:
        require(self.operand.type == BOOL or self.operand.type == BOOL.with_nullable(True), "truth of a non-boolean")


@dataclass(frozen=True, slots=True)
class And(_Truth):
    """Every part holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or(_Truth):
    """Some part holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not(_Truth):
    """True where the part is false; unknown stays unknown."""

    part: Condition


@dataclass(frozen=True, slots=True)
class NotTrue(_Truth):
    """The part is false or unknown; what a `not` block of mere filters comes to."""

    part: Condition


@dataclass(frozen=True, slots=True)
class Possibly(_Truth):
    """The part is true, or a value that it needs cannot be computed; who keeps such a row asks again when it counts."""

    part: Condition


Condition: TypeAlias = Compare | SameNode | TextTest | In | IsNull | IsTrue | And | Or | Not | NotTrue | Possibly
CONDITIONS = (Compare, SameNode, TextTest, In, IsNull, IsTrue, And, Or, Not, NotTrue, Possibly)

Expr: TypeAlias = (
    Const
    | Param
    | Now
    | Property
    | Node
    | Arithmetic
    | Function
    | Record
    | Choice
    | TextMatch
    | Nearest
    | Bm25
    | Rrf
    | Score
    | AggregateCall
    | WindowCall
    | Column
    | Condition
)


def as_condition(expr: Expr) -> Condition:
    """A truth value as a condition."""
    return expr if isinstance(expr, CONDITIONS) else IsTrue(expr)


def _is_string(expr: Expr) -> bool:
    kind = expr.type
    return isinstance(kind, PropType) and kind.scalar == "String" and not kind.list


NEVER = IsTrue(Const(value=False, type=BOOL))
ALWAYS = And(())
