"""Edges by their ends: through the topology where there is one, else through the columns `src` and `dst`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.held import ROW_ID, one_chunk
from omnigraph.engine.read.columns.key_index_store import rows_with_ids
from omnigraph.engine.read.columns.rowindex import row_ids
from omnigraph.engine.read.topology.adjacency import Adjacency, build
from omnigraph.engine.read.topology.store import ready_topology
from omnigraph.engine.read.topology.topology import Ends
from omnigraph.engine.views.view import View

# Beyond this many ends, or edges at them, one scan of the column costs less than looking each of them up.
_MANY_ENDS = 16_384
_MANY_EDGES = 1 << 17


def ends_of(view: View, edge: EdgeType, *, keep: bool = False) -> Ends | None:
    """The three tables of an edge type; None where the view does not show one of them."""
    found = (edge, view.catalog.nodes[edge.from_type], view.catalog.nodes[edge.to_type])
    if any(view.find(each) is None for each in found):
        return None
    edges, tails, heads = (Entities(view, each) for each in found)
    return Ends(edges, tails, heads, keep)


def edges_at(view: View, edge: EdgeType, end: str, ids: pa.Array, columns: list[str]) -> pa.Table:
    """The edges whose `src` or `dst` is among these distinct ids of nodes."""
    rows = _through_topology(view, edge, end, ids) if len(ids) <= _MANY_ENDS else None
    table = view.table(edge)
    return table.take_ids(ids, columns, key=end) if rows is None else table.take_rows(pa.array(rows), columns)


def _through_topology(view: View, edge: EdgeType, end: str, ids: pa.Array) -> Rows | None:
    """Row ids of the edges; None without a topology, or when they are many."""
    ends = ends_of(view, edge)
    found = None if ends is None else ready_topology(ends)
    if ends is None or found is None:
        return None
    near, direction = (ends.tails, "out") if end == "src" else (ends.heads, "in")
    lists = found.lists(direction)
    rows = rows_with_ids(near, ids.to_pylist(), keep=False)
    return None if int(lists.degrees(rows).sum()) > _MANY_EDGES else np.sort(lists.expand(rows)[2])


def edges_around(ends: Ends, rows: Rows, direction: str) -> Adjacency:
    """Neighbour lists of these distinct rows, the same lists that a topology has for them."""
    parts = [_along(ends, rows)] if direction in ("out", "both") else []
    if direction in ("in", "both"):
        near, far, edges = _against(ends, rows)
        if direction == "both":
            # A self-loop was found along the edge already.
            again = near != far
            near, far, edges = near[again], far[again], edges[again]
        parts.append((near, far, edges))
    near, far, edges = (np.concatenate(column) for column in zip(*parts, strict=True))
    return build(near, far, edges)


def _along(ends: Ends, rows: Rows) -> tuple[Rows, Rows, Rows]:
    return _lookup(ends.edges, ends.tails, ends.heads, rows, near="src", far="dst")


def _against(ends: Ends, rows: Rows) -> tuple[Rows, Rows, Rows]:
    return _lookup(ends.edges, ends.heads, ends.tails, rows, near="dst", far="src")


def _lookup(
    edges: Entities, here: Entities, there: Entities, rows: Rows, *, near: str, far: str
) -> tuple[Rows, Rows, Rows]:
    """(near row, far row, edge row) of every edge whose near end is one of the rows."""
    ids = here.values("id", rows)
    found = edges.handle.take_ids(ids, [ROW_ID, near, far], key=near)
    near_rows = rows[_position(one_chunk(found[near]), ids)]
    wanted = pc.unique(found[far])
    targets = there.handle.take_ids(wanted, ["id", ROW_ID])
    edges.count_read(found)
    there.count_read(targets)
    place = pc.index_in(one_chunk(found[far]), value_set=one_chunk(targets["id"]))
    known = place.is_valid().to_numpy(zero_copy_only=False)
    far_rows = row_ids(targets[ROW_ID])[place.drop_null().to_numpy(zero_copy_only=False)]
    return near_rows[known], far_rows, row_ids(found[ROW_ID])[known]


def _position(values: pa.Array, among: pa.Array) -> Rows:
    place: Rows = pc.index_in(values, value_set=among).to_numpy(zero_copy_only=False)
    return place.astype(np.int64)
