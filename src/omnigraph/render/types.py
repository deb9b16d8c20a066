"""The picture of a schema: a box a node type, an arrow an edge type."""

from __future__ import annotations

from omnigraph.compiler.catalog.model import Catalog, NodeType
from omnigraph.render.picture import Arrow, Box, Picture


def draw_schema(catalog: Catalog) -> Picture:
    """Every node type with its properties, and every edge type between them."""
    boxes = tuple(Box(name, name, name, _lines(info)) for name, info in sorted(catalog.nodes.items()))
    arrows = tuple(Arrow(edge.from_type, edge.to_type, name) for name, edge in sorted(catalog.edges.items()))
    return Picture("schema", boxes, arrows)


def _lines(info: NodeType) -> tuple[str, ...]:
    key = frozenset(info.key or ())
    ordered = [*info.declared_key, *(name for name in sorted(info.properties) if name not in key)]
    return tuple(f"{name}: {info.properties[name]}{' @key' if name in key else ''}" for name in ordered)
