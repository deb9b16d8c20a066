"""Which nodes a search has met: one number per node, kept between searches so that none has to begin with a blank map.

A map of flags must be cleared for every search, which costs more than a small search itself on a large graph. Here a
search counts as met whatever has a greater number than there was when it began.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from omnigraph.engine.read.columns.arrays import Rows

# Longer ones would hold on to too much memory.
LONGEST_MARKS = 1 << 24
_KEPT = 4
_GREATEST = int(np.iinfo(np.int32).max)


class Marks:
    """The nodes below `span` that one search has met."""

    __slots__ = ("_floor", "_next", "_numbers")

    def __init__(self, span: int) -> None:
        self._numbers: npt.NDArray[np.int32] = np.zeros(span, np.int32)
        self._next = self._floor = 1

    @property
    def span(self) -> int:
        """Nodes are below this."""
        return len(self._numbers)

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


_pool: list[Marks] = []
_lock = threading.Lock()


@contextmanager
def marks(span: int) -> Iterator[Marks]:
    """Marks for one search over nodes below `span`, used by one search at a time."""
    with _lock:
        fitting = next((place for place, kept in enumerate(_pool) if kept.span >= span), None)
        held = None if fitting is None else _pool.pop(fitting)
    held = Marks(span) if held is None else held
    held.begin()
    yield held
    # A search that failed leaves them to be forgotten.
    with _lock:
        _pool.append(held)
        del _pool[: max(0, len(_pool) - _KEPT)]
