"""The picture of an entity's surroundings: what can be reached from it in a few hops, in both directions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from omnigraph.compiler.catalog.model import Catalog, EdgeType
from omnigraph.compiler.diagnostics import did_you_mean
from omnigraph.errors import NotFound
from omnigraph.render.picture import Arrow, Box, Picture

_SHOWN_LINES = 4
_SHOWN_TEXT = 32


class Readable(Protocol):
    """What a graph, or its past, offers to be drawn."""

    def query(self, source: str, name: str | None = None, params: dict[str, Any] | None = None) -> Any: ...

    def get(self, type_name: str, entity_id: str) -> dict[str, Any] | None: ...


def draw_neighbourhood(
    graph: Readable, catalog: Catalog, type_name: str, entity_id: str, *, depth: int, limit: int
) -> Picture:
    """Everything within `depth` hops of an entity, at most `limit` boxes; NotFound when it does not exist."""
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
    boxes = tuple(box_of(graph, kind, name) for kind, name in seen)
    return Picture(f"{type_name} {entity_id}", boxes, tuple(arrows), cut)


def hops(
    graph: Readable,
    catalog: Catalog,
    frontier: list[tuple[str, str]],
    *,
    within: frozenset[tuple[str, str]] | None = None,
) -> Iterator[tuple[Arrow, tuple[str, str]]]:
    """Each edge that touches the frontier, with its far end; with `within`, only edges that end there."""
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
                for source, target in _pairs(graph, edge, "a", ids):
                    yield _arrow(edge, source, target), (edge.to_type, target)
            if edge.to_type == kind:
                for source, target in _pairs(graph, edge, "b", ids):
                    yield _arrow(edge, source, target), (edge.from_type, source)


def _pairs(graph: Readable, edge: EdgeType, near: str, ids: list[str]) -> list[tuple[str, str]]:
    step = edge.name[0].lower() + edge.name[1:]
    source = (
        f"query hop($ids: [String]) {{ match {{ $a: {edge.from_type} $b: {edge.to_type} $a {step} $b"
        f" ${near}.id in $ids }}"
        " return { $a.id as source, $b.id as target } order { source, target } }"
    )
    table = graph.query(source, None, {"ids": ids}).to_arrow()
    return list(zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True))


def _arrow(edge: EdgeType, source: str, target: str) -> Arrow:
    return Arrow(_key(edge.from_type, source), _key(edge.to_type, target), edge.name)


def box_of(graph: Readable, kind: str, name: str) -> Box:
    """An entity with its first plain properties."""
    found = graph.get(kind, name) or {}
    shown = [f"{key}: {_short(value)}" for key, value in found.items() if key != "id" and _plain(value)]
    return Box(_key(kind, name), name, kind, tuple(shown[:_SHOWN_LINES]))


def _key(kind: str, name: str) -> str:
    return f"{kind}/{name}"


def _plain(value: Any) -> bool:
    """Vectors and nulls say nothing to a reader of a picture."""
    return value is not None and not isinstance(value, (list, bytes, dict))


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN_TEXT else text[: _SHOWN_TEXT - 1] + "…"
