"""Neighbour lists over row ids: for each node its neighbours in ascending order, with the edges that lead there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from omnigraph.engine.read.columns.arrays import Mask, Rows, flatten, narrow_type, spread
from omnigraph.engine.read.columns.rowindex import EXACT, distinct_rows, fold
from omnigraph.engine.read.topology.sorting import Column, sort_entries

# Beyond this many empty slots per stored edge the direct index costs more memory than a binary search costs time.
_MAX_SPARSITY = 8
_DIRECT_SLOTS = 1 << 20
# Larger arrays that come and go with every query are cleared page by page by the system each time: a query that reaches
# 270,000 entries from 1,000 nodes took a quarter longer for it.
_BLOCK = 1 << 15
# Entries that are counted at a time, or as many as there are nodes: NumPy makes them wide first, and those of a large
# graph would not fit into memory.
_COUNTED_BLOCK = 1 << 22
# Parallel edges of fewer entries are looked for at once; of more only when reads have asked for an eighth of them,
# because that takes a fifth of a second for ten million entries, and the first read of a graph would wait for it.
_MANY_ENTRIES = 1 << 18
_SHARE_LOOKED_AT = 8
_LEAST_SHARE = 512  # a read counts as so much of all entries at least: one in sixty may wait
# For fewer rows it is not worth checking whether they are all rows.
_MANY_ROWS = 1 << 10


class Adjacency:
    """Compressed neighbour lists; lists are sorted by (neighbour, edge), so parallel edges lie side by side.

    A row id finds its list by subtraction (`keys` is None) or, when row ids are spread thin, by a search in `keys`.
    """

    in_one_piece: ClassVar[bool] = True  # entries are numbered as they lie
    _looked_at = 0  # how many entries reads have had reduced for themselves

    def __init__(self, offsets: Rows, neighbours: npt.NDArray[Any], edges: npt.NDArray[Any], keys: Rows | int) -> None:
        self._offsets = offsets
        self._neighbours = neighbours
        self._edges = edges
        self._keys = keys

    def __len__(self) -> int:
        return len(self.neighbours)

    @property
    def offsets(self) -> Rows:
        """Where each list begins, and where the last one ends."""
        return self._offsets

    @property
    def neighbours(self) -> npt.NDArray[Any]:
        """The neighbour of each entry."""
        return self._neighbours

    @property
    def edges(self) -> npt.NDArray[Any]:
        """The edge of each entry."""
        return self._edges

    @property
    def keys(self) -> Rows | int:
        """The row ids that have lists, or the first of them when the others follow without a gap."""
        return self._keys

    @property
    def nbytes(self) -> int:
        keys = 0 if isinstance(self.keys, int) else self.keys.nbytes
        return int(self.offsets.nbytes + self.neighbours.nbytes + self.edges.nbytes + keys)

    def expand(self, rows: Rows) -> tuple[Rows, Rows, Rows]:
        """(position in `rows`, neighbour, edge) of every entry in the lists of `rows`."""
        start, stop = self.bounds(rows)
        if self._is_everything(rows, stop - start):
            return np.repeat(np.arange(len(rows)), stop - start), _wide(self.neighbours), _wide(self.edges)
        owner, entry = spread(start, stop)
        return owner, _wide(self.neighbours_at(entry)), _wide(self.edges_at(entry))

    def step(self, rows: Rows) -> tuple[Rows, Rows]:
        """(position in `rows`, neighbour) of every entry, for those who do not ask which edge leads there."""
        start, stop = self.bounds(rows)
        if self._is_everything(rows, stop - start):
            return np.repeat(np.arange(len(rows)), stop - start), _wide(self.neighbours)
        owner, entry = spread(start, stop)
        return owner, _wide(self.neighbours_at(entry))

    def _is_everything(self, rows: Rows, counts: Rows) -> bool:
        """Whether the entries of these rows are all entries, as they lie."""
        if len(rows) < _MANY_ROWS or not self.in_one_piece or int(counts.sum()) != len(self._neighbours):
            return False
        return bool((rows[1:] > rows[:-1]).all())

    def reached(self, rows: Rows) -> Rows:
        """The neighbour of every entry, for those who do not ask whose it is either."""
        return _wide(self.neighbours_at(flatten(*self.bounds(rows))))

    def around(self, row: int) -> Rows:
        """The neighbours of one node, in ascending order."""
        if not self.in_one_piece or not isinstance(self._keys, int):
            return self.reached(np.array([row]))
        slot = row - self._keys
        if not 0 <= slot < len(self._offsets) - 1:
            return np.empty(0, np.int64)
        return _wide(self._neighbours[int(self._offsets[slot]) : int(self._offsets[slot + 1])])

    def reached_once(self, rows: Rows) -> Rows:
        """The same, each neighbour once and ascending; in blocks, so that no array is as long as all entries."""
        start, stop = self.bounds(rows)
        total = int((stop - start).sum())
        if total <= _BLOCK or self.last_neighbour > _MAX_SPARSITY * total:
            return distinct_rows(_wide(self.neighbours_at(flatten(start, stop))))
        met = np.zeros(self.last_neighbour + 1, np.bool_)
        for low, high in _row_blocks(stop - start, _BLOCK):
            met[self.neighbours_at(flatten(start[low:high], stop[low:high]))] = True
        return np.flatnonzero(met)

    def counted(self, rows: Rows, times: Rows | None) -> tuple[Rows, Rows]:
        """(ascending neighbours, how many entries of the ascending `rows` lead there), entries counted `times` over."""
        start, stop = self.bounds(rows)
        counts = stop - start
        total = int(counts.sum())
        exact = times is None or float(np.multiply(times, counts, dtype=np.float64).sum()) < EXACT
        if not exact or self.last_neighbour > max(_DIRECT_SLOTS, _MAX_SPARSITY * total):
            weights = None if times is None else np.repeat(times, counts)
            return fold(_wide(self.neighbours_at(flatten(start, stop))), weights)
        whole = self._is_everything(rows, counts)
        found: npt.NDArray[Any] = np.zeros(0, np.int64)
        ways = None if times is None else times.astype(np.float64)  # exact, and not copied for each block
        for low, high in _row_blocks(counts, max(_COUNTED_BLOCK, self.last_neighbour)):
            if whole:
                met = self.neighbours[int(start[low]) : int(stop[high - 1])]
            else:
                met = self.neighbours_at(flatten(start[low:high], stop[low:high]))
            weights = None if ways is None else np.repeat(ways[low:high], counts[low:high])
            some = np.bincount(met, weights=weights, minlength=len(found))
            found = some if not len(found) else _sum_of(found, some)
        reached = np.flatnonzero(found)
        return reached, found[reached].astype(np.int64)

    def neighbours_at(self, entries: Rows) -> npt.NDArray[Any]:
        """The neighbours of some entries, numbered as `bounds` does."""
        found: npt.NDArray[Any] = self.neighbours.take(entries)  # lets other threads run, which an index does not
        return found

    def edges_at(self, entries: Rows) -> npt.NDArray[Any]:
        """The edges of some entries."""
        found: npt.NDArray[Any] = self.edges.take(entries)
        return found

    @property
    def numbered(self) -> int:
        """One more than the largest number of an entry."""
        return len(self)

    def entries(self, first: int, stop: int) -> tuple[Rows, Rows]:
        """The entries numbered from `first` to before `stop`, and the row that each belongs to."""
        found = np.arange(first, min(stop, len(self)))
        return found, self.owners_of(found)

    def within(self, low: int, high: int) -> tuple[Rows, Rows]:
        """(row, neighbour) of every entry of the rows from `low` to before `high`."""
        slots = len(self.offsets) - 1
        if isinstance(self.keys, int):
            first, last = (min(max(row - self.keys, 0), slots) for row in (low, high))
            owned = np.arange(first, last) + self.keys
        else:
            first, last = (int(at) for at in np.searchsorted(self.keys, [low, high]))
            owned = self.keys[first:last]
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        return np.repeat(owned, np.diff(self.offsets[first : last + 1])), _wide(self.neighbours[begin:end])

    def linked(self) -> tuple[Rows, Rows]:
        """The ascending rows that have entries, and how many."""
        degrees = np.diff(self.offsets)
        slots = np.flatnonzero(degrees)
        return slots + self.keys if isinstance(self.keys, int) else self.keys[slots], degrees[slots]

    def searched(self, start: Rows, stop: Rows, targets: Rows) -> Mask:
        """Whether each target is among the entries of the range beside it."""
        if not self.numbered:
            return np.zeros(len(targets), np.bool_)
        place = self._search(start, stop, targets, after=False)
        found: Mask = self.neighbours_at(np.minimum(place, self.numbered - 1)) == targets
        return found & (place < stop)

    def places(self, rows: Rows, targets: Rows) -> Rows:
        """The first entry from each of `rows` to the target beside it, which is one of its neighbours."""
        return self._search(*self.bounds(rows), targets, after=False)

    def edges_between(self, rows: Rows, targets: Rows) -> tuple[Rows, Rows]:
        """(position, edge) of every edge from each of `rows` to the target beside it."""
        start, stop = self.bounds(rows)
        first = self._search(start, stop, targets, after=False)
        owner, entry = spread(first, self._search(first, stop, targets, after=True))
        return owner, _wide(self.edges_at(entry))

    def bounds(self, rows: Rows) -> tuple[Rows, Rows]:
        """Where the list of each row begins and ends; unknown rows have empty lists."""
        slots = len(self.offsets) - 1
        if rows is self.keys:
            return self.offsets[:-1], self.offsets[1:]
        if isinstance(self.keys, int):
            slot = rows - self.keys
            if len(slot) and int(slot.min()) >= 0 and int(slot.max()) < slots:
                return self.offsets[slot], self.offsets[1:][slot]
            known = (slot >= 0) & (slot < slots)
        else:
            slot = np.searchsorted(self.keys, rows)
            known = slot < slots
            known &= self.keys[np.where(known, slot, 0)] == rows
        if not known.all():
            slot = np.where(known, slot, 0)
            return self.offsets.take(slot) * known, self.offsets.take(slot + 1) * known
        return self.offsets.take(slot), self.offsets.take(slot + 1)

    def degrees(self, rows: Rows) -> Rows:
        """How many entries each row has."""
        start, stop = self.bounds(rows)
        return stop - start

    @property
    def last_owner(self) -> int:
        """The largest row id that can have a list."""
        return self.keys + len(self.offsets) - 2 if isinstance(self.keys, int) else int(self.keys[-1])

    @cached_property
    def last_neighbour(self) -> int:
        """The largest row id that is a neighbour; -1 when there is none."""
        return int(self.neighbours.max()) if len(self) else -1

    @cached_property
    def last_edge(self) -> int:
        """The largest row id of an edge; -1 when there is none."""
        return int(self.edges.max()) if len(self) else -1

    @cached_property
    def owners(self) -> Rows:
        """The row id that each entry belongs to."""
        slots = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        return slots + self.keys if isinstance(self.keys, int) else self.keys[slots]

    def owners_of(self, entries: Rows) -> Rows:
        """The row ids that some entries belong to."""
        slots = np.searchsorted(self.offsets, entries, side="right") - 1
        return slots + self.keys if isinstance(self.keys, int) else self.keys[slots]

    @property
    def facts(self) -> tuple[int, int, int]:
        """What only a look at every entry can tell: whether no edges are parallel, and the last row ids."""
        return int(self.is_simple), self.last_neighbour, self.last_edge

    def knowing(self, facts: Iterable[int]) -> Adjacency:
        """Itself, spared the look: `facts` were true of the same lists before."""
        simple, last_neighbour, last_edge = (int(fact) for fact in facts)
        self.__dict__.update(last_neighbour=last_neighbour, last_edge=last_edge)
        return self.knowing_simple() if simple else self

    def knowing_simple(self) -> Adjacency:
        """Itself, spared the look for parallel edges: there are none."""
        self.__dict__["_reduced"] = None
        return self

    @cached_property
    def is_simple(self) -> bool:
        """Whether no edges are parallel; entries are looked at until there are some."""
        if "_reduced" in self.__dict__:
            return self._reduced is None
        for low in range(1, len(self), _COUNTED_BLOCK):
            high = min(low + _COUNTED_BLOCK, len(self))
            equal = np.flatnonzero(self.neighbours[low:high] == self.neighbours[low - 1 : high - 1]) + low
            begins = self.offsets[np.searchsorted(self.offsets, equal)] == equal  # there another list begins
            if not begins.all():
                return False
        return True

    @property
    def simple(self) -> Adjacency:
        """The same neighbours with parallel edges reduced to one entry."""
        return self if self._reduced is None else self._reduced

    @property
    def known_simple(self) -> Adjacency | None:
        """The same, unless many entries would have to be looked at first."""
        return self.simple if "_reduced" in self.__dict__ or self.numbered < _MANY_ENTRIES else None

    def simple_from(self, rows: Rows) -> Adjacency:
        """The same, complete for these ascending distinct rows only while few have been asked for."""
        known = self.known_simple
        if known is not None:
            return known
        start, stop = self.bounds(rows)
        total = int((stop - start).sum())
        self._looked_at += max(total, self.numbered // _LEAST_SHARE)
        if self._looked_at > self.numbered // _SHARE_LOOKED_AT:
            return self.simple
        if not total:
            return self
        owner, entry = spread(start, stop)
        neighbours = self.neighbours_at(entry)
        first = np.ones(total, np.bool_)
        first[1:] = (neighbours[1:] != neighbours[:-1]) | (owner[1:] != owner[:-1])
        counts = np.bincount(owner[first], minlength=len(rows))
        return Adjacency(_offsets(counts), neighbours[first], self.edges_at(entry[first]), rows)

    @cached_property
    def _reduced(self) -> Adjacency | None:
        """None instead of itself: large lists should not wait for the garbage collector."""
        if self.is_simple:
            return None
        first = np.ones(len(self), np.bool_)
        np.not_equal(self.neighbours[1:], self.neighbours[:-1], out=first[1:])
        first[self.offsets[:-1][self.offsets[:-1] < len(self)]] = True
        kept = np.concatenate([np.zeros(1, np.int64), np.cumsum(first)])
        return Adjacency(kept[self.offsets], self.neighbours[first], self.edges[first], self.keys)

    @cached_property
    def loops(self) -> Rows:
        """Ascending row ids of the nodes that are their own neighbour; meaningless between two node types."""
        return distinct_rows(self.owners[self.neighbours == self.owners])

    def _search(self, low: Rows, high: Rows, targets: Rows, *, after: bool) -> Rows:
        """Binary search in every list at once: where the target begins, or where it ends."""
        unsettled = low < high
        while unsettled.any():
            middle = (low + high) >> 1
            seen = self.neighbours_at(np.where(unsettled, middle, 0))
            right = unsettled & ((seen <= targets) if after else (seen < targets))
            low = np.where(right, middle + 1, low)
            high = np.where(unsettled & ~right, middle, high)
            unsettled = low < high
        return low


def _row_blocks(counts: Rows, entries: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows with about as many entries each; a row with more has a range of its own."""
    grown = np.cumsum(counts)
    first = done = 0
    while first < len(counts):
        last = max(int(np.searchsorted(grown, done + entries, side="right")), first + 1)
        yield first, last
        first, done = last, int(grown[last - 1])


def _sum_of(found: npt.NDArray[Any], more: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Both added up; the second is at least as long."""
    more[: len(found)] += found
    return more


def build(sources: Column, neighbours: Column, edges: Column, *, settled: bool = False) -> Adjacency:
    """Neighbour lists from one entry per (source, neighbour, edge), in any order.

    `settled` says that parallel edges come in ascending order already; then input that is mostly sorted costs little.
    """
    if not len(sources):
        empty = np.empty(0, np.int64)
        return Adjacency(np.zeros(2, np.int64), empty, empty, 0)
    sources, neighbours, edges = sort_entries(sources, neighbours, edges, settled=settled)
    low, high = int(sources[0]), int(sources[-1])
    if _is_dense(low, high, len(sources)):
        counts = np.bincount(sources - low, minlength=high - low + 1)
        return Adjacency(_offsets(counts), narrow(neighbours), narrow(edges), low)
    keys, counts = np.unique(sources, return_counts=True)
    return Adjacency(_offsets(counts), narrow(neighbours), narrow(edges), keys.astype(np.int64))


def gathered(
    keys: Sequence[Rows], counts: Sequence[Rows], neighbours: npt.NDArray[Any], edges: npt.NDArray[Any]
) -> Adjacency:
    """Lists that are sorted already: which rows have some, ascending, and how many entries each; as `build` makes them.

    `neighbours` and `edges` are used as they are, and may be mapped from disk.
    """
    if not len(neighbours):
        return Adjacency(np.zeros(2, np.int64), neighbours, edges, 0)
    low, high = int(keys[0][0]), int(keys[-1][-1])
    if not _is_dense(low, high, len(neighbours)):
        whole = keys[0] if len(keys) == 1 else np.concatenate(keys)
        return Adjacency(_offsets(np.concatenate(counts)), neighbours, edges, whole)
    slots = np.zeros(high - low + 1, np.int64)
    for rows, times in zip(keys, counts, strict=True):
        slots[rows - low] = times
    return Adjacency(_offsets(slots), neighbours, edges, low)


def woven(rows: Rows, parts: Sequence[tuple[Rows, Rows, Rows]]) -> Adjacency:
    """Lists of ascending rows from parts that are lists themselves: (position in `rows`, neighbour, edge) in order.

    What two parts have of one row is in the order of the parts, so nothing has to be sorted.
    """
    parts = [part for part in parts if len(part[0])]
    if len(parts) == 1:
        ((at, neighbours, edges),) = parts
        return gathered([rows], [np.bincount(at, minlength=len(rows))], neighbours, edges)
    counts = [np.bincount(at, minlength=len(rows)) for at, _, _ in parts]
    whole: Rows = np.zeros(len(rows), np.int64)
    for count in counts:
        whole += count
    begin = np.cumsum(whole) - whole
    neighbours, edges = (np.empty(int(whole.sum()), np.int64) for _ in range(2))
    for (at, near, edge), count in zip(parts, counts, strict=True):
        place = np.repeat(begin - (np.cumsum(count) - count), count)
        place += np.arange(len(at))
        neighbours[place], edges[place] = near, edge
        begin += count
    return gathered([rows], [whole], neighbours, edges)


def _is_dense(low: int, high: int, entries: int) -> bool:
    """Whether a slot for every row id costs less than a search."""
    return high - low + 1 <= max(_DIRECT_SLOTS, _MAX_SPARSITY * entries)


def _offsets(counts: Rows) -> Rows:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def narrow(values: Column) -> npt.NDArray[Any]:
    """Row ids in as few bytes as the largest of them needs."""
    return values.astype(narrow_type(int(values.max())), copy=False) if len(values) else values


def _wide(values: npt.NDArray[Any]) -> Rows:
    return values.astype(np.int64, copy=False)
