"""Neighbour lists as arrays beside the graph, so that a fresh process maps them instead of building them."""

from __future__ import annotations

import numpy as np

from omnigraph.engine.read.columns.artifacts import Kept, Marks, Place, least_rows
from omnigraph.engine.read.topology.adjacency import Adjacency
from omnigraph.engine.read.topology.against import Against

# Below this many edges building takes less time than looking for files.
WORTH_KEEPING = 100_000
KEPT_PER_TABLE = 4
_PARTS = ("offsets", "neighbours", "keys", "facts")
_EDGES = "edges"
_FACTS = 3


def load_lists(place: Place, direction: str, along: Adjacency | None = None) -> Adjacency | None:
    """The lists that were kept, or None when they are absent or not what they should be.

    `along` are those along the edges, if they are known; without them they are loaded when they are needed.
    """
    kept = place.load(direction)
    if kept is None or _EDGES in kept.arrays:
        return None if kept is None else decoded_lists(kept)
    along = along or load_lists(place, "out")
    return None if along is None or direction != "in" else _against(kept, along)


def decoded_lists(kept: Kept) -> Adjacency | None:
    """The lists in arrays that were kept; None when those are not what they should be."""
    if set(kept.arrays) != {*_PARTS, _EDGES} or len(kept.arrays[_EDGES]) != len(kept.arrays["neighbours"]):
        return None
    offsets, neighbours, keys, facts = (kept.arrays[part] for part in _PARTS)
    if not _is_whole(kept):
        return None
    return Adjacency(offsets, neighbours, kept.arrays[_EDGES], keys if keys.ndim else int(keys)).knowing(facts)


def _against(kept: Kept, along: Adjacency) -> Adjacency | None:
    """Lists whose edges were left out."""
    if set(kept.arrays) != {*_PARTS} or not _is_whole(kept) or len(kept.arrays["neighbours"]) != len(along):
        return None
    offsets, neighbours, keys, facts = (kept.arrays[part] for part in _PARTS)
    return Against(offsets, neighbours, keys if keys.ndim else int(keys), along).knowing(facts)


def _is_whole(kept: Kept) -> bool:
    offsets, neighbours, keys, facts = (kept.arrays[part] for part in _PARTS)
    if len(offsets) < 2 or int(offsets[-1]) != len(neighbours) or len(facts) != _FACTS:
        return False
    return not keys.ndim or len(keys) == len(offsets) - 1


def save_lists(place: Place, direction: str, lists: Adjacency, marks: Marks) -> None:
    """Keep lists that are large enough to be worth it; against the edges without what the lists along them tell."""
    if len(lists) < least_rows(place.root, WORTH_KEEPING):
        return
    arrays = {
        "offsets": lists.offsets,
        "neighbours": lists.neighbours,
        "keys": np.asarray(lists.keys),
        "facts": np.array(lists.facts, np.int64),
    }
    if direction != "in" or not Against.suits(lists):
        arrays[_EDGES] = lists.edges
    place.save(arrays, marks, kept=KEPT_PER_TABLE, part=direction)
