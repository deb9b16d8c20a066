"""Neighbour lists against the edges; which edge leads where is looked up in the lists along them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.topology.adjacency import Adjacency

# Once a share of one in so many was asked for, all are worked out: a search takes forty times as long as reading one.
_WORTH_ALL = 32
# Beyond so many entries nothing is worked out in memory: such lists are stored with their edges.
_MOST_ENTRIES = 1 << 25


class Against(Adjacency):
    """Lists in which no edges are parallel: an entry is one of the lists `along` the edges with its ends exchanged."""

    def __init__(self, offsets: Rows, neighbours: npt.NDArray[Any], keys: Rows | int, along: Adjacency) -> None:
        super().__init__(offsets, neighbours, np.empty(0, np.int32), keys)
        self._along = along
        self._all: npt.NDArray[Any] | None = None
        self._asked = 0

    @staticmethod
    def suits(lists: Adjacency) -> bool:
        """Whether lists can do without their edges."""
        return lists.is_simple and len(lists) <= _MOST_ENTRIES and lists.last_owner < 1 << 32

    @property
    def nbytes(self) -> int:
        return self._along.nbytes  # with the edges, which may be worked out later

    @property
    def edges(self) -> npt.NDArray[Any]:
        if self._all is None:
            self._all = self._worked_out()
        return self._all

    def edges_at(self, entries: Rows) -> npt.NDArray[Any]:
        self._asked += len(entries)
        if self._all is not None or self._asked * _WORTH_ALL > len(self):
            return super().edges_at(entries)
        heads, tails = self.owners_of(entries), self.neighbours_at(entries)
        return self._along.edges_at(self._along.places(tails.astype(np.int64), heads))

    def _worked_out(self) -> npt.NDArray[Any]:
        """Both lists sort the same pairs; sorted by target first, those along the edges are in the order of these."""
        packed = self._along.neighbours.astype(np.uint64) << np.uint64(32)
        packed |= np.arange(len(packed), dtype=np.uint64)
        packed.sort()
        packed &= np.uint64((1 << 32) - 1)
        found: npt.NDArray[Any] = self._along.edges[packed.view(np.int64)]
        return found
