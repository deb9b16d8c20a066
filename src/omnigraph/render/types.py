"""The picture of a schema: a box a node type, an arrow an edge type with its properties."""

from __future__ import annotations

from omnigraph.compiler.catalog.model import Card, Catalog, EdgeType, NodeType
from omnigraph.render.labels import ordered, short
from omnigraph.render.picture import Arrow, Box, Picture


def draw_schema(catalog: Catalog, source: str | None = None) -> Picture:
    """Every node type with its properties, and every edge type; the text gives the order of their declaration."""
    boxes = tuple(Box(name, name, name, _lines(info, source)) for name, info in sorted(catalog.nodes.items()))
    return Picture("schema", boxes, tuple(_arrow(edge, source) for _, edge in sorted(catalog.edges.items())))


def _arrow(edge: EdgeType, source: str | None) -> Arrow:
    lines = tuple(short(f"{name}: {edge.properties[name]}") for name in ordered(edge, source))
    return Arrow(edge.from_type, edge.to_type, f"{edge.name}{_card(edge.card)}", lines=lines)


def _card(card: Card) -> str:
    """How many edges may leave one node, where the schema says so."""
    if card == Card():
        return ""
    return f" {card.min}..{'' if card.max is None else card.max}"


def _lines(info: NodeType, source: str | None) -> tuple[str, ...]:
    key = frozenset(info.key or ())
    return tuple(
        f"{short(f'{name}: {info.properties[name]}')}{' @key' if name in key else ''}" for name in ordered(info, source)
    )
