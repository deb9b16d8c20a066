"""The checked schema in canonical form: what is hashed, stored and compared, with or without identity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from omnigraph.compiler.catalog.model import Annotation, Card, Check, Range
from omnigraph.compiler.lexer import quote
from omnigraph.compiler.types import PropType

Kind = Literal["interface", "node", "edge"]
KINDS: tuple[Kind, ...] = ("interface", "node", "edge")
# Property annotations that are constraints in short form; on nodes and edges they are stored as constraints only.
MARKS = ("key", "unique", "index")


@dataclass(frozen=True, slots=True)
class Key:
    """`@key(a, b)`, columns as declared."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unique:
    """`@unique(a, b)`, columns sorted."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Index:
    """`@index(a, b)`, columns sorted."""

    columns: tuple[str, ...]


Constraint = Key | Unique | Index | Range | Check


@dataclass(frozen=True, slots=True)
class PropertyShape:
    """One effective property; `property_id` is 0 until the schema is accepted."""

    name: str
    type: PropType
    annotations: tuple[Annotation, ...] = ()
    property_id: int = 0


@dataclass(frozen=True, slots=True)
class InterfaceShape:
    """An interface with its contract."""

    name: str
    properties: tuple[PropertyShape, ...] = ()
    type_id: int = 0


@dataclass(frozen=True, slots=True)
class NodeShape:
    """A node type with its interfaces expanded."""

    name: str
    annotations: tuple[Annotation, ...] = ()
    implements: tuple[str, ...] = ()
    properties: tuple[PropertyShape, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    type_id: int = 0
    incarnation_id: int = 0


@dataclass(frozen=True, slots=True)
class EdgeShape:
    """An edge type; endpoints are node type names."""

    name: str
    from_type: str
    to_type: str
    card: Card
    annotations: tuple[Annotation, ...] = ()
    properties: tuple[PropertyShape, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    type_id: int = 0
    incarnation_id: int = 0


TypeShape = InterfaceShape | NodeShape | EdgeShape


@dataclass(frozen=True, slots=True)
class SchemaShape:
    """Every type, each kind sorted by name."""

    interfaces: tuple[InterfaceShape, ...] = ()
    nodes: tuple[NodeShape, ...] = ()
    edges: tuple[EdgeShape, ...] = ()

    def of_kind(self, kind: Kind) -> tuple[TypeShape, ...]:
        """The types of one kind."""
        match kind:
            case "interface":
                return self.interfaces
            case "node":
                return self.nodes
            case "edge":
                return self.edges

    def types(self) -> Iterator[tuple[Kind, TypeShape]]:
        """Every type with its kind: interfaces, nodes, edges."""
        for kind in KINDS:
            for shape in self.of_kind(kind):
                yield kind, shape


def columns_of(constraint: Constraint) -> tuple[str, ...]:
    """The columns that a constraint reads."""
    return (constraint.property,) if isinstance(constraint, Range | Check) else constraint.columns


def canonical_constraints(constraints: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """Without repetition, in the order of their texts."""
    return tuple(sorted(set(constraints), key=constraint_text))


def canonical_annotations(annotations: Iterable[Annotation]) -> tuple[Annotation, ...]:
    """In the order of name, value and arguments."""
    return tuple(
        sorted(annotations, key=lambda each: (each.name, each.value is not None, each.value or "", each.kwargs))
    )


def constraint_text(constraint: Constraint) -> str:
    """`@range(alt, 0..9)` as one would write it in a body."""
    match constraint:
        case Range(name, low, high):
            return f"@range({name}, {'' if low is None else low}..{'' if high is None else high})"
        case Check(name, pattern):
            return f"@check({name}, {quote(pattern)})"
        case Key() | Unique() | Index():
            return f"@{type(constraint).__name__.lower()}({', '.join(constraint.columns)})"


def annotation_text(annotation: Annotation) -> str:
    """`@name("value", k="v")`; values are text, so they print as strings."""
    if annotation.value is None:
        return f"@{annotation.name}"
    arguments = [quote(annotation.value), *(f"{name}={quote(value)}" for name, value in annotation.kwargs)]
    return f"@{annotation.name}({', '.join(arguments)})"
