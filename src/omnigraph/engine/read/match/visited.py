"""Which nodes a search has met: one number per node, kept between searches so that none has to begin with a blank map.

A map of flags must be cleared for every search, which costs more than a small search itself on a large graph. Here a
search counts as met whatever has a greater number than there was when it began.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.memory.budget import MemoryBudget
from omnigraph.memory.cache import CacheKind

# Longer ones would hold on to too much memory.
LONGEST_MARKS = 1 << 24
_GREATEST = int(np.iinfo(np.int32).max)


class Marks:
    """The nodes below `span` that one search has met."""

    __slots__ = ("_floor", "_next", "_numbers")

    def __init__(self, span: int) -> None:
        self._numbers: npt.NDArray[np.int32] = np.zeros(span, np.int32)
        self._next = self._floor = 1

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        return int(self._numbers.nbytes)

    def begin(self) -> None:
        """Nothing has been met."""
        self._floor = self._next

    def fresh(self, nodes: Rows) -> Rows:
        """Those of the nodes that are new, each once and in no particular order; they are old from now on."""
        new: Rows = nodes[self._numbers[nodes] < self._floor]
        if self._next + len(new) > _GREATEST:
            self._numbers[:] = self._numbers >= self._floor
            self._floor, self._next = 1, 2
        numbers = np.arange(self._next, self._next + len(new), dtype=np.int32)
        self._next += len(new)
        # Of several numbers written to one node the last one stays, and only its owner finds it again.
        self._numbers[new] = numbers
        found: Rows = new[self._numbers[new] == numbers]
        return found


_MARKS: CacheKind[Marks] = CacheKind("marks of searches", lambda marks: marks.nbytes, share=1 / 16, entries=4)


@contextmanager
def marks(span: int, memory: MemoryBudget) -> Iterator[Marks]:
    """Marks for one search over nodes below `span`, used by one search at a time."""
    kept = memory.cache(_MARKS)
    held = kept.take(span) or Marks(span)
    held.begin()
    yield held
    # A search that failed leaves them to be forgotten.
    kept.put(span, held)
