"""Property and parameter types, shared by the schema and the query language."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

UNION = "|"
NUMERIC = frozenset({"I32", "I64", "U32", "U64", "F32", "F64"})
ENGLISH = "english"  # what the words of a text are of unless its property says otherwise
INTEGER = frozenset({"I32", "I64", "U32", "U64"})
FLOATING = frozenset({"F32", "F64"})
BASE_SCALARS = ("String", "Blob", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime")
INTEGER_RANGE: dict[str, tuple[int, int]] = {
    "I32": (-(2**31), 2**31 - 1),
    "I64": (-(2**63), 2**63 - 1),
    "U32": (0, 2**32 - 1),
    "U64": (0, 2**64 - 1),
}
MAX_VECTOR_DIM = 2**31 - 1
# What other systems call our types, in lower case.
_ELSEWHERE = {
    **dict.fromkeys(("int", "integer", "number"), "I32 or I64"),
    **dict.fromkeys(("long", "bigint", "int64"), "I64"),
    **dict.fromkeys(("float", "double", "decimal", "real"), "F64"),
    **dict.fromkeys(("text", "str", "varchar", "char", "uuid", "json"), "String"),
    **dict.fromkeys(("timestamp", "timestamptz", "time", "instant"), "DateTime"),
    **dict.fromkeys(("bytes", "binary", "bytea"), "Blob"),
    **dict.fromkeys(("list", "array", "set"), "[T], such as [String]"),
}
# What a type can become without losing a value: every value of the first is exactly one of the second.
_WIDER: dict[str, frozenset[str]] = {
    "I32": frozenset({"I64", "F64"}),
    "U32": frozenset({"U64", "I64", "F64"}),
    "F32": frozenset({"F64"}),
    "Date": frozenset({"DateTime"}),
}


@dataclass(frozen=True, slots=True)
class PropType:
    """A scalar, list, enum or vector type; `scalar` is a base name or "Vector".

    Results may also have objects: `scalar` is then "Node" (an edge, too) or "Record", and `members` says what is in it.
    """

    scalar: str
    list: bool = False
    nullable: bool = False
    enum: tuple[str, ...] | None = None
    dim: int | None = None
    members: tuple[tuple[str, PropType], ...] | None = None

    @property
    def is_vector(self) -> bool:
        """Whether this is Vector(n)."""
        return self.dim is not None

    @property
    def is_numeric(self) -> bool:
        """Whether this is a numeric scalar (not a list)."""
        return not self.list and self.scalar in NUMERIC

    @property
    def is_plain_scalar(self) -> bool:
        """Whether this is one value: neither list, vector, blob nor object."""
        return not self.list and self.dim is None and self.scalar != "Blob" and self.members is None

    def with_nullable(self, nullable: bool) -> PropType:
        """The same type with another nullability."""
        return PropType(self.scalar, self.list, nullable, self.enum, self.dim, self.members)

    @property
    def item(self) -> PropType:
        """The type of the items of this list."""
        return PropType(self.scalar, enum=self.enum, members=self.members)

    @property
    def listed(self) -> PropType:
        """The type of a list of such values."""
        return PropType(self.scalar, list=True, enum=self.enum, members=self.members)

    def __str__(self) -> str:
        """The name used in messages: `enum(a, b)?`, `[I32]`, `Vector(3)?`."""
        if self.enum is not None:
            text = f"enum({', '.join(self.enum)})"
        elif self.dim is not None:
            text = f"Vector({self.dim})"
        elif self.scalar == "Record":
            text = f"{{{', '.join(f'{name}: {kind}' for name, kind in self.members or ())}}}"
        else:
            text = self.scalar
        if self.list:
            text = f"[{text}]"
        return text + "?" if self.nullable else text


def compatible(left: PropType, right: PropType) -> bool:
    """Whether two types may be compared or assigned: equal scalars or both numeric, same list-ness."""
    if left.list != right.list or left.dim != right.dim or left.members != right.members:
        return False
    return left.scalar == right.scalar or (left.scalar in NUMERIC and right.scalar in NUMERIC)


def widens(before: PropType, after: PropType) -> bool:
    """Whether every value of one type is a value of another, wider one; what may be null may still be null."""
    if before.list != after.list or (before.nullable and not after.nullable):
        return False
    plain = all(kind.enum is None and kind.dim is None for kind in (before, after))
    return plain and after.scalar in _WIDER.get(before.scalar, frozenset())


def union_name(names: Iterable[str]) -> str:
    """The one name of a union of node or edge types; a single type is called by its own."""
    return UNION.join(sorted(set(names)))


def union_members(name: str) -> tuple[str, ...]:
    """The types a name stands for; no declared type has the separator in its name."""
    return tuple(name.split(UNION)) if name else ()


def type_elsewhere(name: str) -> str | None:
    """Help for a type name that another system would know."""
    ours = _ELSEWHERE.get(name.lower())
    return f"the type is called {ours} here" if ours is not None else None
