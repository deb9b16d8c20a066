"""The compiled schema: what every later stage asks about types, properties and constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from omnigraph.compiler.types import PropType
from omnigraph.display import Displayed


def _empty() -> Mapping[str, PropType]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Annotation:
    """An annotation as kept in the catalog: name, value text, keyword arguments."""

    name: str
    value: str | None = None
    kwargs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Range:
    """`@range(property, min..max)`, inclusive."""

    property: str
    min: float | int | None
    max: float | int | None


@dataclass(frozen=True, slots=True)
class Check:
    """`@check(property, "pattern")`, an unanchored RE2 search."""

    property: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Embed:
    """`@embed(source, model=…)` on a vector property."""

    source: str
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Card:
    """Outgoing edges per source node."""

    min: int = 0
    max: int | None = None


@dataclass(frozen=True)
class TypeInfo:
    """What node and edge types share. `properties` is in name order."""

    name: str
    properties: Mapping[str, PropType] = field(default_factory=_empty)
    unique: tuple[tuple[str, ...], ...] = ()
    indices: tuple[tuple[str, ...], ...] = ()
    annotations: tuple[Annotation, ...] = ()
    property_annotations: Mapping[str, tuple[Annotation, ...]] = field(default_factory=dict)
    defaults: Mapping[str, str | int | float | bool] = field(default_factory=dict)  # required properties only
    # Stable identity; 0 until the schema is accepted into a graph.
    type_id: int = 0
    incarnation_id: int = 0
    property_ids: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def languages(self) -> Mapping[str, str]:
        """Text properties whose words are of another language than English."""
        return {
            name: each.value
            for name, found in self.property_annotations.items()
            for each in found
            if each.name == "language" and each.value is not None
        }

    @cached_property
    def blobs(self) -> frozenset[str]:
        """Names of Blob properties."""
        return frozenset(name for name, kind in self.properties.items() if kind.scalar == "Blob")


@dataclass(frozen=True)
class NodeType(TypeInfo):
    """One node type. `key` is in ascending stable property id, `declared_key` as the schema text has it."""

    implements: tuple[str, ...] = ()
    key: tuple[str, ...] | None = None
    declared_key: tuple[str, ...] = ()
    ranges: tuple[Range, ...] = ()
    checks: tuple[Check, ...] = ()
    embeds: Mapping[str, Embed] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)  # vector property → "l2" | "cosine" | "dot"

    @property
    def table_key(self) -> str:
        """`node:<name>`."""
        return f"node:{self.name}"


@dataclass(frozen=True)
class EdgeType(TypeInfo):
    """One edge type; endpoints are node type names."""

    from_type: str = ""
    to_type: str = ""
    card: Card = Card()

    @property
    def excludes_parallels(self) -> bool:
        """Whether the schema rules out a second edge between the same two nodes."""
        return self.card.max == 1 or any(set(columns) <= {"src", "dst"} for columns in self.unique)

    @property
    def table_key(self) -> str:
        """`edge:<name>`."""
        return f"edge:{self.name}"


@dataclass(frozen=True)
class InterfaceType:
    """A property contract; it has no table."""

    name: str
    properties: Mapping[str, PropType]
    type_id: int = 0
    property_ids: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Catalog(Displayed):
    """Every type of one schema, by name; `ir_hash` is "" until it is accepted into a graph."""

    nodes: Mapping[str, NodeType]
    edges: Mapping[str, EdgeType]
    interfaces: Mapping[str, InterfaceType]
    shape_hash: str = ""
    ir_hash: str = ""

    @cached_property
    def edge_index(self) -> Mapping[str, str]:
        """Lower-cased edge name → declared name."""
        return {name.lower(): name for name in self.edges}

    def edge(self, name: str) -> EdgeType | None:
        """Look an edge up without regard to case."""
        declared = self.edge_index.get(name.lower())
        return self.edges[declared] if declared is not None else None

    @cached_property
    def incident_edges(self) -> Mapping[str, tuple[EdgeType, ...]]:
        """Node type name → edge types that start or end there, by name."""
        found: dict[str, list[EdgeType]] = {name: [] for name in self.nodes}
        for edge in self.edges.values():
            for endpoint in sorted({edge.from_type, edge.to_type}):
                found[endpoint].append(edge)
        return {name: tuple(edges) for name, edges in found.items()}
