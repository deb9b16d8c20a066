"""Resolved, typed expressions and conditions: no name is left to look up, and ill-typed trees cannot be built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from omnigraph.compiler.temporal import Date, DateTime
from omnigraph.compiler.types import PropType, union_members

BOOL = PropType("Bool")
TRUTH = PropType("Bool", nullable=True)
STRING = PropType("String")
INT64 = PropType("I64")
FLOAT64 = PropType("F64")
DATE = PropType("Date")
DATETIME = PropType("DateTime")
NULL = PropType("Null", nullable=True)

# The row a mutation predicate speaks about has no name of its own.
TARGET = ""

COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})
ARITHMETIC = frozenset({"+", "-", "*", "/", "%"})
TEXT_FUNCTIONS = frozenset({"search", "match_text", "fuzzy"})
AGGREGATES = frozenset({"count", "sum", "avg", "min", "max", "collect", "stddev", "variance"})
TEXT_TESTS = frozenset({"contains", "starts_with", "ends_with", "matches"})

# A list or vector is a tuple of scalars.
Scalar: TypeAlias = str | int | float | bool | Date | DateTime
ConstValue: TypeAlias = Scalar | tuple[Scalar, ...] | None


def is_hidden(name: str) -> bool:
    """Whether a variable was written `$_`; such names hold a character no identifier can."""
    return "#" in name


class IllTyped(ValueError):
    """A stage built an expression or operator that means nothing; a bug here, never the user's."""


@dataclass(frozen=True, slots=True)
class NodeObject:
    """The type of a whole node in a result: its id and every property that is not a Blob.

    A node of a union has `fields`: what its types share, beside the name of its own.
    """

    type_name: str
    fields: tuple[tuple[str, PropType], ...] | None = None

    def __str__(self) -> str:
        return self.type_name


ValueType: TypeAlias = PropType | NodeObject


# --- values ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Const:
    """A constant, already converted to the representation of its type."""

    value: ConstValue
    type: PropType


@dataclass(frozen=True, slots=True)
class Param:
    """A query parameter, bound at run time."""

    name: str
    type: PropType


@dataclass(frozen=True, slots=True)
class Now:
    """The instant of this execution, the same everywhere in one query."""

    @property
    def type(self) -> PropType:
        """Always DateTime."""
        return DATETIME


@dataclass(frozen=True, slots=True)
class Property:
    """A stored column of a bound entity: a declared property, `id`, or an edge's `src` and `dst`."""

    var: str
    name: str
    type: PropType


@dataclass(frozen=True, slots=True)
class Node:
    """A whole node; `properties` are the columns that make up its object, `optional` says that it may be null."""

    var: str
    type_name: str
    properties: tuple[str, ...]
    optional: bool = False
    fields: tuple[tuple[str, PropType], ...] | None = None

    @property
    def type(self) -> NodeObject:
        """The object of this node type."""
        return NodeObject(self.type_name, self.fields)


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
    """`search`, `match_text` or `fuzzy`: whether a text shares a token with the query."""

    function: str
    field: Expr
    query: Expr
    distance: Expr | None = None

    def __post_init__(self) -> None:
        require(self.function in TEXT_FUNCTIONS, f"text function {self.function!r}")
        require(_is_string(self.field) and _is_string(self.query), f"{self.function} on non-text")

    @property
    def type(self) -> PropType:
        """Always Bool."""
        return BOOL


@dataclass(frozen=True, slots=True)
class Nearest:
    """Distance of a vector property to a query; a String query is embedded first, by `model` when one is recorded."""

    var: str
    name: str
    dim: int
    metric: str
    query: Const | Param
    model: str | None = None

    @property
    def type(self) -> PropType:
        """Always F64."""
        return FLOAT64

    @property
    def embeds(self) -> bool:
        """Whether the query is text that needs an embedder."""
        return self.query.type.scalar == "String"


@dataclass(frozen=True, slots=True)
class Bm25:
    """BM25 score of a text property for a query."""

    var: str
    name: str
    query: Const | Param

    @property
    def type(self) -> PropType:
        """Always F64."""
        return FLOAT64


@dataclass(frozen=True, slots=True)
class Rrf:
    """Reciprocal rank fusion of two rankings of one variable."""

    first: Nearest | Bm25
    second: Nearest | Bm25
    k: Const | Param

    def __post_init__(self) -> None:
        require(self.first.var == self.second.var, "rrf over two variables")

    @property
    def var(self) -> str:
        """The variable both arms rank."""
        return self.first.var

    @property
    def type(self) -> PropType:
        """Always F64."""
        return FLOAT64


RankCall: TypeAlias = Nearest | Bm25 | Rrf


@dataclass(frozen=True, slots=True)
class Score:
    """The value the plan's Rank operator computed for the row."""

    @property
    def type(self) -> PropType:
        """Always F64."""
        return FLOAT64


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
class Function:
    """A call of a function of the registry, its arguments as its signature wants them."""

    name: str
    args: tuple[Expr, ...]
    type: PropType


@dataclass(frozen=True, slots=True)
class Choice:
    """The value beside the first condition that is true, else `otherwise`; nothing else is looked at."""

    conditions: tuple[Condition, ...]
    values: tuple[Expr, ...]
    otherwise: Expr
    type: PropType

    def __post_init__(self) -> None:
        require(len(self.conditions) == len(self.values) > 0, "a choice between nothing")


@dataclass(frozen=True, slots=True)
class Column:
    """A column that an earlier Project or Aggregate put out."""

    name: str
    type: ValueType


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
    """Whether two variables are one node (or, negated, two)."""

    left: Node
    right: Node
    negated: bool = False

    def __post_init__(self) -> None:
        shared = {*union_members(self.left.type_name)} & {*union_members(self.right.type_name)}
        require(bool(shared), "identity of different node types")


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
    | Choice
    | TextMatch
    | Nearest
    | Bm25
    | Rrf
    | Score
    | AggregateCall
    | Column
    | Condition
)


def as_condition(expr: Expr) -> Condition:
    """A truth value as a condition."""
    return expr if isinstance(expr, CONDITIONS) else IsTrue(expr)


def _is_string(expr: Expr) -> bool:
    kind = expr.type
    return isinstance(kind, PropType) and kind.scalar == "String" and not kind.list


def require(holds: bool, what: str) -> None:
    """Refuse a node that means nothing."""
    if not holds:
        raise IllTyped(f"ill-typed plan: {what}")


NEVER = IsTrue(Const(value=False, type=BOOL))
ALWAYS = And(())
