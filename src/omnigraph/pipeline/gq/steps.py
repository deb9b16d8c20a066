"""One hop over mapped neighbour lists, inside a task: row ids in, row ids out.

Lists are sorted, so that parallel edges lie side by side and a pair that was there before is known without a set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from omnigraph.engine.read.columns.arrays import Mask, Rows
from omnigraph.engine.read.topology.adjacency import Adjacency
from omnigraph.pipeline.spark.lists import MappedLists

# Entries that are looked at together.
SLICE = 1 << 20


@dataclass(frozen=True, slots=True)
class Hop:
    """A step along the edges (`out`), against them (`in`) or either way (`both`), to neighbours or by each edge."""

    lists: MappedLists
    direction: str
    each_edge: bool

    def turned(self) -> Hop:
        """The same step seen from where it leads to."""
        return replace(self, direction={"out": "in", "in": "out"}.get(self.direction, self.direction))

    def opened(self) -> OpenHop:
        """The same with its lists mapped."""
        found = [self.lists.along()] if self.direction in ("out", "both") else []
        found += [self.lists.against()] if self.direction in ("in", "both") else []
        return OpenHop(tuple(found), each_edge=self.each_edge)


@dataclass(frozen=True, slots=True)
class Taken:
    """Steps that were taken: from which of the given rows, from which node, to which, by which edge if that counts."""

    owner: Rows
    near: Rows
    far: Rows
    edge: Rows | None


class OpenHop:
    """The lists of a hop, one after the other: what the first one has told, the second does not tell again."""

    def __init__(self, ways: tuple[Adjacency, ...], *, each_edge: bool) -> None:
        self.ways = ways
        self.each_edge = each_edge

    @property
    def shares(self) -> int:
        """In how many shares all steps are taken."""
        return sum(_slices(lists) for lists in self.ways)

    def share(self, number: int) -> Taken:
        """One share of all steps; the owner is the node."""
        way = 0
        while number >= _slices(self.ways[way]):
            number -= _slices(self.ways[way])
            way += 1
        lists = self.ways[way]
        entries, near = lists.entries(number * SLICE, (number + 1) * SLICE)
        return self._taken(way, near, near, entries, lists.bounds(near)[0])

    def steps(self, rows: Rows) -> Iterator[Taken]:
        """The steps from some nodes, of which some may be the same, in pieces."""
        for way, lists in enumerate(self.ways):
            start, stop = lists.bounds(rows)
            counts = stop - start
            ends = np.cumsum(counts)
            for low in range(0, int(ends[-1]) if len(ends) else 0, SLICE):
                places = np.arange(low, min(low + SLICE, int(ends[-1])))
                owner = np.searchsorted(ends, places, side="right")
                entries = start[owner] + places - (ends - counts)[owner]
                yield self._taken(way, owner, rows[owner], entries, start[owner])

    def linked(self, near: Rows, far: Rows) -> Mask:
        """Which of the pairs a step joins."""
        found = np.zeros(len(near), np.bool_)
        for lists in self.ways:
            found |= lists.searched(*lists.bounds(near), far)
        return found

    def edges(self, near: Rows, far: Rows) -> Iterator[tuple[Rows, Rows]]:
        """(position, edge) of every edge that joins a pair."""
        for way, lists in enumerate(self.ways):
            owner, edge = lists.edges_between(near, far)
            # A self-loop is one edge at one node, not two.
            again = near[owner] != far[owner] if way else np.ones(len(owner), np.bool_)
            yield owner[again], edge[again]

    def _taken(self, way: int, owner: Rows, near: Rows, entries: Rows, start: Rows) -> Taken:
        lists = self.ways[way]
        far = _wide(lists.neighbours_at(entries))
        if self.each_edge:
            kept = near != far if way else None
        else:
            kept = (entries == start) | (lists.neighbours_at(np.maximum(entries - 1, 0)) != far)
            if way:
                kept &= ~self.ways[0].searched(*self.ways[0].bounds(near), far)
        if kept is not None and not kept.all():
            owner, near, far, entries = owner[kept], near[kept], far[kept], entries[kept]
        return Taken(owner, near, far, _wide(lists.edges_at(entries)) if self.each_edge else None)


def _slices(lists: Adjacency) -> int:
    return -(-lists.numbered // SLICE)


def _wide(values: npt.NDArray[np.integer]) -> Rows:
    return values.astype(np.int64, copy=False)
