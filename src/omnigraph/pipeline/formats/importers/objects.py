"""NetworkX and igraph objects: attributes become columns, one of them may name the type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import BadRequest
from omnigraph.pipeline.formats.importers.bundle import (
    Bundle,
    Links,
    Nodes,
    attribute,
    attributes,
    bundle,
    column,
    columns_of,
    with_labels,
)

_NODE, _EDGE = "Node", "Edge"


def read_networkx(graph: Any, type_attribute: str = "type") -> Bundle:
    """Nodes are identified by what they are, as text; an undirected edge keeps the direction in which it is listed."""
    if not hasattr(graph, "nodes") or not hasattr(graph, "edges"):
        raise BadRequest(f"cannot import an object of type {type(graph).__name__}; give a NetworkX graph")
    found = list(graph.nodes(data=True))
    ids = pa.array([str(node) for node, _ in found], pa.utf8())
    if pc.count_distinct(ids).as_py() != len(ids):
        raise BadRequest("two nodes of the graph have the same text, so they would be one; relabel them first")
    links = list(graph.edges(data=True))
    ends = [pa.array([str(edge[at]) for edge in links], pa.utf8()) for at in (0, 1)]
    notes = [] if graph.is_directed() else ["the graph is undirected; each edge is stored once, as it was listed"]
    nodes = _labelled([data for _, data in found], type_attribute, _NODE, {"id": ids})
    return _assembled(nodes, _labelled([edge[2] for edge in links], type_attribute, _EDGE, _ended(*ends)), notes)


def read_igraph(graph: Any, type_attribute: str = "type") -> Bundle:
    """Vertices are identified by `name` where all have one, else by their number."""
    if not hasattr(graph, "vs") or not hasattr(graph, "get_edgelist"):
        raise BadRequest(f"cannot import an object of type {type(graph).__name__}; give an igraph graph")
    named = "name" in graph.vs.attributes()
    names = graph.vs["name"] if named else range(graph.vcount())
    ids = pa.array([str(name) for name in names], pa.utf8())
    if pc.count_distinct(ids).as_py() != len(ids):
        raise BadRequest("two vertices have the same name, so they would be one; rename them first")
    ends = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2)
    notes = [] if graph.is_directed() else ["the graph is undirected; each edge is stored once, as it was listed"]
    vertices = {attribute(name): column(graph.vs[name]) for name in graph.vs.attributes() if name != "name"}
    edges = {attribute(name): column(graph.es[name]) for name in graph.es.attributes()}
    linked = _ended(ids.take(pa.array(ends[:, 0])), ids.take(pa.array(ends[:, 1])))
    return _assembled(
        _split({"id": ids, **vertices}, type_attribute, _NODE),
        _split({**linked, **edges}, type_attribute, _EDGE),
        notes,
    )


def _ended(tails: pa.Array, heads: pa.Array) -> dict[str, pa.Array]:
    return {"from": tails, "to": heads}


def _labelled(
    rows: Sequence[Mapping[str, Any]], naming: str, default: str, fixed: Mapping[str, pa.Array]
) -> dict[str, pa.Table]:
    """Rows by type; what has no type of its own is called by the default."""
    return _split({**fixed, **columns_of([attributes(row) for row in rows])}, naming, default)


def _split(columns: Mapping[str, pa.Array], naming: str, default: str) -> dict[str, pa.Table]:
    table, label = pa.table(dict(columns)), attribute(naming)
    if label not in table.column_names or not pa.types.is_string(table[label].type):
        return {default: table} if table.num_rows else {}
    labels = pc.fill_null(table[label], default)
    rows = table.drop_columns([label])
    return {label: rows.filter(pc.equal(labels, label)) for label in pc.unique(labels).to_pylist()}


def _assembled(nodes: Mapping[str, pa.Table], links: Mapping[str, pa.Table], notes: Sequence[str]) -> Bundle:
    known = pa.concat_tables(
        [pa.table({"id": rows["id"], "label": pa.repeat(label, rows.num_rows)}) for label, rows in nodes.items()]
        or [pa.table({"id": pa.array([], pa.utf8()), "label": pa.array([], pa.utf8())})]
    )
    return bundle(
        [Nodes(label, rows) for label, rows in nodes.items()],
        [Links(label, with_labels(rows, known)) for label, rows in links.items()],
        notes,
    )
