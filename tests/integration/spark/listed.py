"""Neighbour lists beside a small graph, as large edge tables have them."""

from __future__ import annotations

from unittest.mock import patch

import omnigraph as og
from omnigraph.engine.read.topology import files
from omnigraph.engine.read.topology.edge_lookup import ends_of
from omnigraph.engine.read.topology.store import topology


def keep_lists(graph: og.Graph) -> None:
    """Keep the lists of every edge type in both directions, however few edges there are."""
    view = graph.view()
    with patch.object(files, "WORTH_KEEPING", 0):
        for info in view.catalog.edges.values():
            ends = ends_of(view, info, keep=True)
            assert ends is not None
            for direction in ("out", "in"):
                files.save_lists(ends.place, direction, topology(ends).lists(direction), ends.artifact.marks)
