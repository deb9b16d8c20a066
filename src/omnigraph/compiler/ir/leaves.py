"""The parts that expressions are made of and that contain no expression: types, constants, columns, rankings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from omnigraph.compiler.temporal import Date, DateTime
from omnigraph.compiler.types import ENGLISH, PropType

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
# Which texts each of them finds: those with any word of the query, with all of them, with the phrase, …
TEXT_FUNCTIONS = {
    "search": "any",
    "match_text": "any",
    "fuzzy": "any",
    "search_all": "all",
    "search_phrase": "phrase",
    "search_prefix": "prefix",
}
SNIPPET = "snippet"
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
    """The type of a whole node in a result: its id and every property that is not a Blob; of an edge, its ends too.

    A node of a union has `fields`: what its types share, beside the name of its own.
    """

    type_name: str
    fields: tuple[tuple[str, PropType], ...] | None = None
    kind: str = "node"

    def __str__(self) -> str:
        return self.type_name


ValueType: TypeAlias = PropType | NodeObject


def require(holds: bool, what: str) -> None:
    """Refuse a node that means nothing."""
    if not holds:
        raise IllTyped(f"ill-typed plan: {what}")


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
    """A whole node or edge; `properties` are the columns of its object, `optional` says that it may be null."""

    var: str
    type_name: str
    properties: tuple[str, ...]
    optional: bool = False
    fields: tuple[tuple[str, PropType], ...] | None = None
    kind: str = "node"

    @property
    def type(self) -> NodeObject:
        """The object of this type."""
        return NodeObject(self.type_name, self.fields, self.kind)


@dataclass(frozen=True, slots=True)
class Nearest:
    """Distance of a vector property to a query; a String query is embedded first, by `model` when one is recorded.

    `probes` is how many partitions of a vector index are searched, where it has more than one.
    """

    var: str
    name: str
    dim: int
    metric: str
    query: Const | Param
    model: str | None = None
    probes: Const | Param | None = None

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
    language: str = ENGLISH

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
class Column:
    """A column that an earlier Project or Aggregate put out."""

    name: str
    type: ValueType
