"""Neighbour lists as arrays beside the graph, so that a fresh process maps them instead of building them."""

from __future__ import annotations

import numpy as np

from omnigraph.engine.read.columns.artifacts import Kept, Marks, Place, least_rows
from omnigraph.engine.read.topology.adjacency import Adjacency

# Below this many edges building takes less time than looking for files.
WORTH_KEEPING = 100_000
KEPT_PER_TABLE = 4
_PARTS = ("offsets", "neighbours", "edges", "keys", "facts")
_FACTS = 3


def load_lists(place: Place, direction: str) -> Adjacency | None:
    """The lists that were kept, or None when they are absent or not what they should be."""
    kept = place.load(direction)
    return None if kept is None else decoded_lists(kept)


def decoded_lists(kept: Kept) -> Adjacency | None:
    """The lists in arrays that were kept; None when those are not what they should be."""
    if set(kept.arrays) != set(_PARTS):
        return None
    offsets, neighbours, edges, keys, facts = (kept.arrays[part] for part in _PARTS)
    whole = len(offsets) >= 2 and int(offsets[-1]) == len(neighbours) == len(edges)
    if not whole or (keys.ndim and len(keys) != len(offsets) - 1) or len(facts) != _FACTS:
        return None
    return Adjacency(offsets, neighbours, edges, keys if keys.ndim else int(keys)).knowing(facts)


def save_lists(place: Place, direction: str, lists: Adjacency, marks: Marks) -> None:
    """Keep lists that are large enough to be worth it."""
    if len(lists) < least_rows(place.root, WORTH_KEEPING):
        return
    arrays = {
        "offsets": lists.offsets,
        "neighbours": lists.neighbours,
        "edges": lists.edges,
        "keys": np.asarray(lists.keys),
        "facts": np.array(lists.facts, np.int64),
    }
    place.save(arrays, marks, kept=KEPT_PER_TABLE, part=direction)
