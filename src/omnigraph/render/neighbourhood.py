"""The picture of an entity's surroundings: what can be reached from it in a few hops, in both directions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from omnigraph.compiler.catalog.model import Catalog, EdgeType
from omnigraph.compiler.diagnostics import did_you_mean
from omnigraph.errors import NotFound
from omnigraph.render.labels import Labels
from omnigraph.render.picture import Arrow, Picture


class Readable(Protocol):
    """What a graph, or its past, offers to be drawn."""

    def query(self, source: str, name: str | None = None, params: dict[str, Any] | None = None) -> Any: ...

    def get(self, type_name: str, entity_id: str) -> dict[str, Any] | None: ...


def draw_neighbourhood(
    graph: Readable, labels: Labels, type_name: str, entity_id: str, *, depth: int, limit: int
) -> Picture:
    """Everything within `depth` hops of an entity, at most `limit` boxes; NotFound when it does not exist."""
    catalog = labels.catalog
    if type_name not in catalog.nodes:
        near = did_you_mean(type_name, catalog.nodes)
        raise NotFound(f"the schema has no node type '{type_name}'{f'; {near}' if near else ''}")
    if graph.get(type_name, entity_id) is None:
        raise NotFound(f"{type_name} '{entity_id}' not found")
    seen: dict[tuple[str, str], None] = {(type_name, entity_id): None}
    arrows: dict[Arrow, None] = {}
    frontier, cut = [(type_name, entity_id)], False
    for _ in range(depth):
        reached: dict[tuple[str, str], None] = {}
        for arrow, end in hops(graph, catalog, frontier):
            if end not in seen and end not in reached:
                if len(seen) + len(reached) >= limit:
                    cut = True
                    continue
                reached[end] = None
            arrows[arrow] = None
        seen.update(reached)
        frontier = list(reached)
    boxes = labels.boxes(graph, seen)
    return Picture(f"{type_name} {boxes[0].title}", boxes, tuple(arrows), cut)


def hops(
    graph: Readable,
    catalog: Catalog,
    frontier: list[tuple[str, str]],
    *,
    within: frozenset[tuple[str, str]] | None = None,
) -> Iterator[tuple[Arrow, tuple[str, str]]]:
    """The edges that touch the frontier, with their far end; with `within`, only edges that end there."""
    for arrow, end in _touching(graph, catalog, frontier):
        if within is None or end in within:
            yield arrow, end


def _touching(
    graph: Readable, catalog: Catalog, frontier: list[tuple[str, str]]
) -> Iterator[tuple[Arrow, tuple[str, str]]]:
    for kind in dict.fromkeys(kind for kind, _ in frontier):
        ids = [name for each, name in frontier if each == kind]
        for edge in catalog.incident_edges[kind]:
            if edge.from_type == kind:
                for arrow, _, target in _arrows(graph, edge, "a", ids):
                    yield arrow, (edge.to_type, target)
            if edge.to_type == kind:
                for arrow, source, _ in _arrows(graph, edge, "b", ids):
                    yield arrow, (edge.from_type, source)


def _arrows(graph: Readable, edge: EdgeType, near: str, ids: list[str]) -> list[tuple[Arrow, str, str]]:
    """One arrow for all edges of a type between two nodes, which it counts."""
    step = edge.name[0].lower() + edge.name[1:]
    source = (
        f"query hop($ids: [String]) {{ match {{ $a: {edge.from_type} $b: {edge.to_type} $a $e:{step} $b"
        f" ${near}.id in $ids }}"
        " return { $a.id as source, $b.id as target, count($e) as edges } order { source, target } }"
    )
    found = graph.query(source, None, {"ids": ids}).to_arrow().to_pylist()
    return [
        (
            Arrow(f"{edge.from_type}/{row['source']}", f"{edge.to_type}/{row['target']}", edge.name, row["edges"]),
            row["source"],
            row["target"],
        )
        for row in found
    ]
