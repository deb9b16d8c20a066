"""Neighbour lists in which a few rows have other lists than before; everything else stays where it was."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from omnigraph.engine.read.columns.arrays import Mask, Rows
from omnigraph.engine.read.topology.adjacency import Adjacency, build


class Overlay(Adjacency):
    """`patch` holds the whole new lists of the ascending `changed` rows; the lists of all others are those of `base`.

    Entries of the patch are numbered after those of the base, so that a range of numbers never crosses between them.
    """

    in_one_piece = False

    def __init__(self, base: Adjacency, changed: Rows, patch: Adjacency) -> None:
        self.base = base
        self.changed = changed
        self.patch = patch

    def __len__(self) -> int:
        return len(self.base) - int(self.base.degrees(self.changed).sum()) + len(self.patch)

    @property
    def nbytes(self) -> int:
        return self.base.nbytes + self.patch.nbytes + self.changed.nbytes

    @property
    def numbered(self) -> int:
        return self.base.numbered + self.patch.numbered

    def entries(self, first: int, stop: int) -> tuple[Rows, Rows]:
        limit = self.base.numbered
        here, owners = self.base.entries(first, min(stop, limit))
        new, late = self.patch.entries(max(first - limit, 0), max(stop - limit, 0))
        found = self._joined((owners, here), (late, new + limit))
        return found[1], found[0]

    def within(self, low: int, high: int) -> tuple[Rows, Rows]:
        return self._joined(self.base.within(low, high), self.patch.within(low, high))

    def linked(self) -> tuple[Rows, Rows]:
        rows, degrees = self._joined(self.base.linked(), self.patch.linked())
        order = np.argsort(rows)
        return rows[order], degrees[order]

    def bounds(self, rows: Rows) -> tuple[Rows, Rows]:
        start, stop = self.base.bounds(rows)
        here = self._is_changed(rows)
        if here.any():
            start, stop = start.copy(), stop.copy()
            first, last = self.patch.bounds(rows[here])
            start[here], stop[here] = first + self.base.numbered, last + self.base.numbered
        return start, stop

    def neighbours_at(self, entries: Rows) -> npt.NDArray[Any]:
        return self._gather(entries, "neighbours_at")

    def edges_at(self, entries: Rows) -> npt.NDArray[Any]:
        return self._gather(entries, "edges_at")

    @property
    def last_owner(self) -> int:
        return max(self.base.last_owner, self.patch.last_owner)

    @cached_property
    def last_neighbour(self) -> int:
        return max(self.base.last_neighbour, self.patch.last_neighbour)

    @cached_property
    def last_edge(self) -> int:
        return max(self.base.last_edge, self.patch.last_edge)

    @cached_property
    def is_simple(self) -> bool:
        return self.base.is_simple and self.patch.is_simple

    @cached_property
    def _reduced(self) -> Adjacency | None:
        base, patch = self.base.simple, self.patch.simple
        return None if base is self.base and patch is self.patch else Overlay(base, self.changed, patch)

    # --- as if it were in one piece --------------------------------------------------------------

    @cached_property
    def whole(self) -> Adjacency:
        """The same lists without an overlay."""
        kept = ~self._is_changed(self.base.owners)
        parts = (
            (self.base.owners[kept], self.patch.owners),
            (self.base.neighbours[kept], self.patch.neighbours),
            (self.base.edges[kept], self.patch.edges),
        )
        return build(*(np.concatenate([older.astype(np.int64), newer]) for older, newer in parts))

    @property
    def offsets(self) -> Rows:
        return self.whole.offsets

    @property
    def neighbours(self) -> npt.NDArray[Any]:
        return self.whole.neighbours

    @property
    def edges(self) -> npt.NDArray[Any]:
        return self.whole.edges

    @property
    def keys(self) -> Rows | int:
        return self.whole.keys

    @cached_property
    def owners(self) -> Rows:
        return self.whole.owners

    def _joined(self, older: tuple[Rows, Rows], newer: tuple[Rows, Rows]) -> tuple[Rows, Rows]:
        """What the base says of the rows that have not changed, then what the patch says."""
        kept = ~self._is_changed(older[0])
        return np.concatenate([older[0][kept], newer[0]]), np.concatenate([older[1][kept], newer[1]])

    def _is_changed(self, rows: Rows) -> Mask:
        if not len(self.changed):
            return np.zeros(len(rows), np.bool_)
        place = np.minimum(np.searchsorted(self.changed, rows), len(self.changed) - 1)
        found: Mask = self.changed[place] == rows
        return found

    def _gather(self, entries: Rows, what: str) -> npt.NDArray[Any]:
        limit = self.base.numbered
        later = entries >= limit
        if not later.any():
            found: npt.NDArray[Any] = getattr(self.base, what)(entries)
            return found
        values = np.empty(len(entries), np.int64)
        values[~later] = getattr(self.base, what)(entries[~later])
        values[later] = getattr(self.patch, what)(entries[later] - limit)
        return values
