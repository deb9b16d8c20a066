"""Whether nodes are neighbours, asked many times over: entries are found through small tables that caches hold.

A binary search reads memory about ten times for a test, and most tests fail. A table has eight or more slots for an
entry, so one read settles nine tests of ten, and the entry in the slot nearly all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from omnigraph.engine.read.columns.arrays import Mask, Rows, spread
from omnigraph.engine.read.columns.pieces import in_order
from omnigraph.engine.read.topology.adjacency import Adjacency

# Fewer tests are searched for, which takes less than making tables.
_MANY_TESTS = 1 << 14
# Slots for each entry, as a power of two; and those of the largest table, which may fill up.
_SLOTS, _MOST_SLOTS = 3, 24
# Entries in a table, about: it stays in the cache of a core.
_ENTRIES = 1 << 13
# Tests that are worth making at a time: arrays of so many stay there as well. A long list is read for more of them.
TESTS, _MOST_TESTS = 1 << 16, 1 << 22
# Odd numbers without a pattern: multiplied by them, numbers that lie side by side are spread over a table.
_SPREAD, _SPREAD_NODES = np.uint32(2_654_435_769), np.uint32(2_246_822_519)
_BITS = 32
# Flags of so many entries stay in the cache of a core beside the tests, or in the one that cores share.
_FEWEST_MARKED, _MOST_MARKED = 1 << 14, 1 << 21
# Further odd numbers: each looks at another flag of the same entry.
_LOOKS = tuple(np.uint32(number) for number in (1, 3_266_489_917, 668_265_263))


def are_neighbours(lists: Adjacency, rows: Rows, targets: Rows) -> Mask:
    """Whether each of `rows` has the target beside it as a neighbour."""
    if len(rows) < _MANY_TESTS:
        return lists.searched(*lists.bounds(rows), targets)
    if bool((rows[1:] >= rows[:-1]).all()):
        return connected(lists, *grouped(rows), targets)
    order = in_order(rows)
    found = np.empty(len(rows), np.bool_)
    found[order] = are_neighbours(lists, rows[order], targets[order])
    return found


def grouped(rows: Rows) -> tuple[Rows, Rows]:
    """(the different ones of ascending rows, position of each row among them)."""
    first = np.ones(len(rows), np.bool_)
    np.not_equal(rows[1:], rows[:-1], out=first[1:])
    return rows[first], np.cumsum(first) - 1


def enough_tests(lists: Adjacency, nodes: Rows) -> int:
    """How many tests to make at a time about some nodes."""
    longest = int(lists.degrees(nodes).max()) if len(nodes) else 0
    return min(max(4 * longest, TESTS), _MOST_TESTS)


def connected(lists: Adjacency, nodes: Rows, place: Rows, targets: npt.NDArray[Any]) -> Mask:
    """Whether each target is a neighbour of `nodes[place]` beside it; places ascend."""
    start, stop = lists.bounds(nodes)
    if len(targets) < _MANY_TESTS:
        return lists.searched(start[place], stop[place], targets)
    found = np.zeros(len(targets), np.bool_)
    unsure: list[Rows] = []
    for low, high in _blocks(stop - start):
        first, last = (int(each) for each in np.searchsorted(place, (low, high)))
        if first < last:
            table = _Table(lists, start[low:high], stop[low:high])
            hits, open_tests = table.find(place[first:last] - low, targets[first:last])
            found[hits + first] = True
            unsure.append(open_tests + first)
    rest = np.concatenate(unsure)
    found[rest] = lists.searched(start[place[rest]], stop[place[rest]], targets[rest])
    return found


def _blocks(degrees: Rows) -> Iterator[tuple[int, int]]:
    """Ranges of nodes that have about as many entries as a table."""
    grown = np.cumsum(degrees)
    cuts = np.searchsorted(grown, np.arange(_ENTRIES, int(grown[-1]), _ENTRIES))
    return pairwise(np.unique(np.concatenate([[0], cuts, [len(degrees)]])).tolist())


class _Table:
    """The entries of some lists by node and neighbour; a slot has the number of one, negative where it has several."""

    def __init__(self, lists: Adjacency, start: Rows, stop: Rows) -> None:
        self._owner, entry = spread(start, stop)
        self._neighbour = lists.neighbours_at(entry)
        bits = min(len(entry).bit_length() + _SLOTS, _MOST_SLOTS)
        self._shift = np.uint32(_BITS - bits)
        self._numbers = np.zeros(1 << bits, np.int32)
        slots = self._slots(self._owner, self._neighbour)
        numbers = np.arange(1, len(slots) + 1, dtype=np.int32)
        self._numbers[slots] = numbers
        shared = slots[self._numbers[slots] != numbers]
        self._numbers[shared] = -np.abs(self._numbers[shared])

    def find(self, place: Rows, targets: npt.NDArray[Any]) -> tuple[Rows, Rows]:
        """Which targets are neighbours of the node at the place beside them; and of which it is not known."""
        number = self._numbers[self._slots(place, targets)]
        likely = np.flatnonzero(number)
        number = number[likely]
        entry = np.abs(number) - 1
        equal = (self._neighbour[entry] == targets[likely]) & (self._owner[entry] == place[likely])
        return likely[equal], likely[(number < 0) & ~equal]

    def _slots(self, owner: Rows, neighbour: npt.NDArray[Any]) -> Rows:
        mixed = owner.astype(np.uint32)
        mixed *= _SPREAD_NODES
        mixed += neighbour.astype(np.uint32)
        mixed *= _SPREAD
        mixed >>= self._shift
        return mixed.astype(np.int64)


def is_worth_marking(lists: Adjacency, nodes: Rows, tests: int) -> bool:
    """Whether the entries around some nodes are few enough to be marked before so many tests."""
    entries = int(lists.degrees(nodes).sum())
    return tests >= _FEWEST_MARKED and entries <= min(2 * tests, _MOST_MARKED)


class Marked:
    """The entries around some nodes as flags, of which each entry sets several: asked about any of the nodes at a time.

    A test that finds one of its flags unset is settled, which takes a few nanoseconds; a hundred that fail leave two.
    """

    def __init__(self, lists: Adjacency, nodes: Rows) -> None:
        self._lists = lists
        self._start, self._stop = lists.bounds(nodes)
        owner, entry = spread(self._start, self._stop)
        self._shift = np.uint32(_BITS - min(len(entry).bit_length() + _SLOTS, _MOST_SLOTS))
        self._flags = np.zeros(1 << (_BITS - int(self._shift)), np.bool_)
        mixed = _mixed(self.signs(owner), lists.neighbours_at(entry))
        for look in _LOOKS:
            self._flags[(mixed * look) >> self._shift] = True

    def signs(self, place: Rows) -> npt.NDArray[np.uint32]:
        """What tells nodes, given by their places, apart in a test."""
        return place.astype(np.uint32) * _SPREAD_NODES

    def likely(self, signs: npt.NDArray[np.uint32], targets: npt.NDArray[Any]) -> Rows:
        """Which targets seem to be neighbours of the node whose sign is beside them; no others are."""
        mixed = _mixed(signs, targets)
        found: Rows = np.flatnonzero(self._flags.take(mixed >> self._shift))
        for look in _LOOKS[1:]:
            found = found.compress(self._flags.take((mixed.take(found) * look) >> self._shift))
        return found

    def confirmed(self, place: Rows, targets: npt.NDArray[Any]) -> Mask:
        """Whether targets are neighbours of the nodes at the places beside them."""
        return self._lists.searched(self._start.take(place), self._stop.take(place), targets)


def _mixed(signs: npt.NDArray[np.uint32], targets: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
    mixed = targets.astype(np.uint32)
    mixed *= _SPREAD
    mixed += signs
    return mixed
