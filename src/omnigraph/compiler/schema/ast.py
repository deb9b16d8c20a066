"""The schema as written: declarations with the places they stand at."""

from __future__ import annotations

from dataclasses import dataclass, field

from omnigraph.compiler.source import NOWHERE, Span
from omnigraph.compiler.types import PropType

# Spans never take part in comparison: two texts with the same meaning have equal trees.


@dataclass(frozen=True, slots=True)
class TypeRef:
    """The name of another declaration, where it is mentioned."""

    name: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Annotation:
    """`@name`, `@name(value)`, `@name(value, k=v)`; values are kept as text."""

    name: str
    value: str | None = None
    # How the value was spelled decides how it prints again: "string", "number", "word" or "bool".
    value_kind: str = "string"
    kwargs: tuple[tuple[str, str, str], ...] = ()  # (name, value text, value kind)
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Bounds:
    """`lo..hi` with either side open; the texts as written."""

    low: str | None
    high: str | None


@dataclass(frozen=True, slots=True)
class ConstraintArg:
    """One argument of a body constraint: a property name, a literal, or bounds."""

    value: str | Bounds
    kind: str  # "name", "string", "number", "bool", "bounds"
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Constraint:
    """`@key(a, b)` and its siblings in a body."""

    name: str
    args: tuple[ConstraintArg, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Property:
    """`name: Type @annotation…`."""

    name: str
    type: PropType
    annotations: tuple[Annotation, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)
    type_span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Interface:
    """`interface Name { … }`."""

    name: str
    properties: tuple[Property, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Node:
    """`node Name @annotation… implements A, B { … }`."""

    name: str
    annotations: tuple[Annotation, ...]
    implements: tuple[TypeRef, ...] = ()
    properties: tuple[Property, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Cardinality:
    """How many outgoing edges a source may have; no maximum when `max` is None."""

    min: int = 0
    max: int | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """`edge Name: From -> To @card(m..n) @annotation… { … }`."""

    name: str
    from_type: TypeRef
    to_type: TypeRef
    cardinality: Cardinality | None
    annotations: tuple[Annotation, ...]
    properties: tuple[Property, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Schema:
    """One schema file."""

    declarations: tuple[Interface | Node | Edge, ...]
