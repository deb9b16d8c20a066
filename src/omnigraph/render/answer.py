"""The picture of a query's answer: the whole nodes it returns, and every edge between them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.query.checked import CheckedRead
from omnigraph.compiler.source import Source
from omnigraph.errors import BadRequest
from omnigraph.render.labels import Labels
from omnigraph.render.neighbourhood import Readable, hops
from omnigraph.render.picture import Picture


def draw_answer(
    graph: Readable, labels: Labels, source: str | Path, name: str | None, params: Mapping[str, Any], *, limit: int
) -> Picture:
    """The nodes of the first rows, at most `limit`; BadRequest when the query returns no whole node."""
    text = source.read_text(encoding="utf-8") if isinstance(source, Path) else source
    kinds = node_columns(text, labels.catalog, name)
    return draw_rows(graph, labels, kinds, graph.query(text, name, dict(params)), limit=limit, title=name)


def draw_rows(
    graph: Readable, labels: Labels, kinds: Mapping[str, str], result: Any, *, limit: int, title: str | None = None
) -> Picture:
    """The nodes in some columns of a result, each column with the type of its nodes, and every edge between them."""
    seen: dict[tuple[str, str], None] = {}
    for row in result.to_arrow().select(list(kinds)).to_pylist():
        seen.update({(kinds[column], node["id"]): None for column, node in row.items() if node is not None})
        if len(seen) > limit:
            break
    chosen = list(seen)[:limit]
    arrows = {arrow: None for arrow, _ in hops(graph, labels.catalog, chosen, within=frozenset(chosen))}
    return Picture(title or "answer", labels.boxes(graph, chosen), tuple(arrows), len(seen) > limit)


def node_columns(text: Source | str, catalog: Catalog, name: str | None) -> dict[str, str]:
    """Column name → node type, for the columns that hold whole nodes."""
    body = compile_query(text, catalog, name, mutation=False).checked.body
    assert isinstance(body, CheckedRead)
    kinds = {each.name: each.expr.type for each in body.columns}
    whole = {name: kind for name, kind in kinds.items() if isinstance(kind, ir.NodeObject)}
    found = {name: kind.type_name for name, kind in whole.items() if kind.kind == "node"}
    if not found:
        raise BadRequest(
            "the query returns no whole node to draw; return a variable, as in: return { $person, $friend }"
        )
    return found
