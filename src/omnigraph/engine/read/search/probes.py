"""How many partitions of a vector index a search looks through: measured on a sample of its vectors, kept beside it.

What finds nearly every neighbour depends on the data: of a million vectors around a thousand centres two of 122
partitions have the nearest ten of most of them, without any structure more than half of the partitions are needed. So
some stored vectors are taken for questions, and it is looked up in which partitions their neighbours lie. Fewer
candidates have their nearest further away among all rows, which is why that is asked by depth.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.engine.read.columns.artifacts import Place
from omnigraph.engine.read.columns.costs import due, search_kind
from omnigraph.engine.read.columns.coverage import index_on
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.held import one_chunk
from omnigraph.engine.read.search.distances import matrix_of
from omnigraph.engine.read.search.vector_index import INDEX_TYPE, partitions
from omnigraph.engine.views.view import View
from omnigraph.memory.cache import CacheKind
from omnigraph.storage.lance.tables import IndexInfo

# A search is to find 95 of a hundred. Stored vectors find more of each other than questions that only lie near them
# would, few questions err by one or two of a hundred, and the codes of the index lose some: in the sample it has to be
# 99. The nearest partition alone is never enough for what lies at its border, and a second one costs little.
_SHARE = 0.99
_FEWEST = 2
_QUESTIONS = 512
_SAMPLE = 1 << 15
_DEEPEST = 1 << 8
# So many questions, and so many vectors, at a time: each product wakes a thread for every core, so few of them.
_AT_ONCE = 32
_BLOCK = 1 << 13
_KEPT = 64

Vectors = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]
AnyArray = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Probes:
    """For the nearest so many of all rows, ascending, how many of the partitions are searched."""

    depths: Numbers
    counts: Numbers
    partitions: int

    def at(self, depth: int) -> int | None:
        """How many for the nearest `depth` rows; None beyond what was measured."""
        place = int(np.searchsorted(self.depths, depth))
        return None if place == len(self.depths) else int(self.counts[place])


_HELD: CacheKind[Probes] = CacheKind("partitions to search", lambda found: 1_024, entries=1_024)
_SEARCHES = search_kind("looks for partitions to search")


def known_probes(entities: Entities, index: IndexInfo) -> Probes | None:
    """What was measured of an index that has partitions, when it was built; segments that extend it follow that."""
    if partitions(index.rows) == 1:
        return None
    held = entities.memory.cache(_HELD)
    for segment in index.segment_ids:
        found = held.get(segment)
        if found is None and due(entities.memory.cache(_SEARCHES), segment):
            found = _decoded(_place(entities, segment))
            if found is not None:
                held.put(segment, found)
        if found is not None:
            return found
    return None


def keep_probes(view: View, only: Collection[str] | None = None) -> None:
    """Measure what is not known yet about the vector indexes of node tables, or of some of them."""
    for info in view.catalog.nodes.values():
        if view.find(info) is None or view.masks(info) or (only is not None and info.table_key not in only):
            continue
        for name in info.metrics:
            entities = Entities(view, info)
            index = index_on(entities, name, INDEX_TYPE)
            if index is not None and known_probes(entities, index) is None:
                measure_probes(entities, name, index, info.metrics[name], keep=True)


def measure_probes(entities: Entities, name: str, index: IndexInfo, metric: str, *, keep: bool) -> None:
    """Measure an index by a sample of the vectors, and keep what was found; one without partitions needs none."""
    if partitions(index.rows) == 1 or len(index.segment_ids) != 1:
        return  # segments that were built side by side have partitions of their own
    centres = entities.handle.partition_centres(index.name)
    random = np.random.default_rng(0)
    places = np.sort(random.choice(entities.row_count, min(_SAMPLE, entities.row_count), replace=False))
    sample = _comparable(_values(entities, name, pa.array(places)), metric)
    if len(sample) < 2 or centres is None:
        return
    found = measured(sample, matrix_of(centres), metric, entities.row_count * len(sample) / len(places), random)
    (segment,) = index.segment_ids
    entities.memory.cache(_HELD).put(segment, found)
    if keep:
        arrays = {"depths": found.depths, "counts": found.counts, "partitions": np.array([found.partitions])}
        _place(entities, segment).save(arrays, (), kept=_KEPT)


def measured(sample: Vectors, centres: Vectors, metric: str, rows: float, random: np.random.Generator) -> Probes:
    """In how many of the partitions nearest to a vector its neighbours lie; the sample stands for so many rows."""
    asked = np.sort(random.choice(len(sample), min(_QUESTIONS, len(sample)), replace=False))
    deepest = min(_DEEPEST, len(sample) - 1)
    levels = [1 << step for step in range(deepest.bit_length())]
    found = np.zeros((len(levels), len(centres)))
    lies = np.concatenate([_to_centres(each, centres).argmin(axis=1) for each in _blocks(sample)])
    squares = np.einsum("ij,ij->i", sample, sample) if metric == "l2" else 0
    for some in _blocks(asked, _AT_ONCE):
        far = squares - 2 * (sample[some] @ sample.T)
        far[np.arange(len(some)), some] = np.inf  # a question does not find itself
        near = np.argpartition(far, deepest - 1, axis=1)[:, :deepest]
        order = np.argsort(np.take_along_axis(far, near, axis=1), axis=1)
        near = np.take_along_axis(near, order, axis=1)
        # For each question the place of every partition in the order in which it would be searched.
        places = np.argsort(np.argsort(_to_centres(sample[some], centres), axis=1), axis=1)
        places = np.take_along_axis(places, lies[near], axis=1)
        for level, first in enumerate(levels):
            found[level] += np.bincount(places[:, :first].reshape(-1), minlength=len(centres)) / first
    reached = np.cumsum(found, axis=1) / len(asked)
    counts = np.maximum.accumulate(np.maximum((reached < _SHARE).sum(axis=1) + 1, _FEWEST))
    depths = np.ceil(np.array(levels) * (rows / len(sample))).astype(np.int64)
    return Probes(depths, np.minimum(counts, len(centres)).astype(np.int64), len(centres))


def _blocks(values: AnyArray, size: int = _BLOCK) -> Iterator[AnyArray]:
    for begin in range(0, len(values), size):
        yield values[begin : begin + size]


def _to_centres(vectors: Vectors, centres: Vectors) -> Vectors:
    # Lance orders partitions by this under every metric: centres have length one for dot products.
    far: Vectors = np.einsum("ij,ij->i", centres, centres) - 2 * (vectors @ centres.T)
    return far


def _comparable(vectors: pa.Array, metric: str) -> Vectors:
    """The vectors there are; for cosine with length one, without those that have no direction."""
    matrix = matrix_of(vectors)
    if vectors.null_count:
        matrix = matrix[vectors.is_valid().to_numpy(zero_copy_only=False)]
    if metric != "cosine":
        return matrix
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    has_direction = lengths[:, 0] > 0
    directions: Vectors = matrix[has_direction] / lengths[has_direction]
    return directions


def _values(entities: Entities, name: str, places: pa.Array) -> pa.Array:
    held = entities.held_whole(name)
    return one_chunk(entities.handle.take_positions(places, [name])[name]) if held is None else held.values.take(places)


def _place(entities: Entities, segment: str) -> Place:
    return Place(entities.root, f"probes/{entities.entry.location.replace('/', '-')}", segment)


def _decoded(place: Place) -> Probes | None:
    kept = place.load()
    arrays = {} if kept is None else kept.arrays
    if {*arrays} != {"depths", "counts", "partitions"}:
        return None
    depths, counts, parts = (np.array(arrays[part]) for part in ("depths", "counts", "partitions"))
    if not len(depths) or len(depths) != len(counts) or parts.shape != (1,):
        return None
    return Probes(depths, counts, int(parts[0]))
