"""Traversal by look-up: the edges of the rows so far, found through the edge table's `src` and `dst` columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.held import ROW_ID, one_chunk
from omnigraph.engine.read.columns.rowindex import row_ids
from omnigraph.engine.read.topology.adjacency import Adjacency, build
from omnigraph.engine.read.topology.topology import Ends


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
