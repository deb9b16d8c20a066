"""Bounded reachability: which nodes lie m to n hops away, by breadth-first search from many starts at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from omnigraph.compiler.ir.link import OPEN_HOPS
from omnigraph.engine.read.columns.arrays import Mask, Rows
from omnigraph.engine.read.columns.rowindex import distinct_rows
from omnigraph.engine.read.frames.budget import Budget
from omnigraph.engine.read.match.visited import LONGEST_MARKS, marks
from omnigraph.engine.read.topology.adjacency import Adjacency, gathered

# One search works on as many starts as keep its visited map within this many flags.
_BITMAP_FLAGS = 1 << 26
_LONGEST_BITMAP = 1 << 28
_SORTED_BLOCK = 1 << 16
_ROW_STRIDE = 1 << 44
_LARGEST_KEY = 1 << 62
_MOST_CHAINED = 24  # hops, each of which is a number for every start
_NO_ROWS = np.empty(0, np.int64)


class Neighbours(Protocol):
    """Where one step leads; the topology of a whole table, or look-ups for the rows asked about."""

    @property
    def span(self) -> int | None:
        """Row ids that steps lead to are below this; None when that is unknown."""

    def around(self, rows: Rows) -> Adjacency:
        """Lists that are complete for at least these (ascending, distinct) rows."""


def reach(
    graph: Neighbours,
    starts: Rows,
    low: int,
    high: int,
    *,
    backward: bool,
    budget: Budget,
    stride: int = _ROW_STRIDE,
) -> Adjacency:
    """For each start the nodes `low` to `high` hops away, as neighbour lists without edges.

    A node counts at its shortest distance only, and a start never reaches itself by a cycle. A self-loop is one more
    hop on the node that ends the path: that is the reached node, or the start when the search runs `backward`. No row
    id is as large as `stride`. With a lower bound of 0 each start is among what it reaches.
    """
    starts = distinct_rows(starts)
    space = Space.of(graph, starts, stride)
    if len(starts) == 1 and space.span is not None and space.span <= LONGEST_MARKS:
        return _reach_from_one(graph, starts, (low, high), space.span, backward=backward, budget=budget)
    counts, nodes = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    total = 0
    for begin in range(0, len(starts), space.width):
        block = starts[begin : begin + space.width]
        found = _search(graph, block, (low, high), space, backward=backward, budget=budget)
        total += sum(len(node) for _, node in found)
        budget.admit(total, row_bytes=16)
        keys = np.concatenate([np.empty(0, np.int64), *(space.packed(origin, node) for origin, node in found)])
        origin, node = space.unpacked(distinct_rows(keys))
        counts.append(np.bincount(origin, minlength=len(block)))
        nodes.append(node)
    reached = np.concatenate(nodes)
    return gathered([starts], [np.concatenate(counts)], reached, np.zeros(len(reached), np.int64)).knowing_simple()


def returning(
    graph: Neighbours, starts: Rows, low: int, high: int, *, budget: Budget, stride: int = _ROW_STRIDE
) -> Rows:
    """Those of the starts whose shortest way back to themselves has `low` to `high` hops, ascending."""
    starts = distinct_rows(starts)
    space = Space.of(graph, starts, stride)
    found = [np.empty(0, np.int64)]
    for begin in range(0, len(starts), space.width):
        block = starts[begin : begin + space.width]
        found.append(block[_first_returns(graph, block, (low, high), space, budget)])
    return np.concatenate(found)


def _first_returns(graph: Neighbours, block: Rows, hops: tuple[int, int], space: Space, budget: Budget) -> Mask:
    low, high = hops
    # Not even the starts have been seen, so that each is met like any other node.
    visited = space.visited(len(block))
    origin, node = np.arange(len(block)), block
    open_, within = np.ones(len(block), np.bool_), np.zeros(len(block), np.bool_)
    for depth in range(1, high + 1):
        if not len(node):
            break
        budget.check()
        if high >= OPEN_HOPS:
            budget.admit_hops(depth)
        at, neighbour = graph.around(distinct_rows(node)).simple.step(node)
        budget.admit(len(at), row_bytes=24)
        origin, node = visited.fresh(origin[at], neighbour)
        back = origin[node == block[origin]]
        open_[back] = False
        within[back] = depth >= low
        kept = open_[origin]  # a walk that has returned does not go on
        origin, node = origin[kept], node[kept]
    return within


def _reach_from_one(
    graph: Neighbours, start: Rows, hops: tuple[int, int], span: int, *, backward: bool, budget: Budget
) -> Adjacency:
    """The same from a single start, which is what most queries ask for: nothing has to be told apart by start."""
    low, high = hops
    found: list[Rows] = [start] if low == 0 else []
    total, start_loops = 0, False
    with marks(span, budget.memory) as met:
        node = met.fresh(start)
        for depth in range(high):
            if not len(node):
                break
            budget.check()
            if high >= OPEN_HOPS:
                budget.admit_hops(depth + 1)
            lists = graph.around(node).simple
            at, neighbour = lists.step(node)
            budget.admit(len(at), row_bytes=24)
            looping = neighbour == node[at]
            if depth == 0:
                start_loops = bool(looping.any())
            if low <= depth + 1:
                ends_on_loop = (node if start_loops else node[:0]) if backward else neighbour[looping]
                found.append(ends_on_loop)
            node = met.fresh(neighbour)
            if low <= depth + 1:
                found.append(node)
                total += len(node) + len(ends_on_loop)
                budget.admit(total, row_bytes=16)
            if depth + 1 < high:
                node = np.sort(node)
    nodes = distinct_rows(np.concatenate(found)) if found else np.empty(0, np.int64)
    offsets = np.array([0, len(nodes)])
    return Adjacency(offsets, nodes, np.zeros(len(nodes), np.int64), int(start[0])).knowing_simple()


@dataclass(frozen=True, slots=True)
class Space:
    """The numbers a search can meet: below `span` if that is known, else below `stride`."""

    span: int | None
    stride: int

    @classmethod
    def of(cls, graph: Neighbours, starts: Rows, stride: int = _ROW_STRIDE) -> Space:
        """For a search from these ascending starts."""
        return cls(_span(graph, starts), stride)

    @property
    def width(self) -> int:
        """How many starts one search may have."""
        if self.span is not None:
            return max(1, _BITMAP_FLAGS // self.span)
        return max(1, min(_SORTED_BLOCK, _LARGEST_KEY >> self.bits))

    @property
    def bits(self) -> int:
        """As many as a node needs beside its start in one number."""
        return ((self.stride if self.span is None else self.span) - 1).bit_length()

    def packed(self, origin: Rows, node: Rows) -> Rows:
        """Pairs of a start, by its position, and a node as numbers that sort alike."""
        return (origin << self.bits) | node

    def unpacked(self, keys: Rows) -> tuple[Rows, Rows]:
        """The pairs again."""
        return keys >> self.bits, keys & ((1 << self.bits) - 1)

    def visited(self, starts: int) -> Visited:
        """What a search has seen: nothing yet."""
        return _Chains(starts, self) if self.span is None else _Bitmap(starts, self.span)


def _span(graph: Neighbours, starts: Rows) -> int | None:
    """One more than the largest row id a search can meet, if a map of flags that long is acceptable."""
    known = graph.span
    if known is None or not len(starts):
        return None
    span = max(known, int(starts[-1]) + 1)
    return span if span <= _LONGEST_BITMAP else None


def _search(
    graph: Neighbours, block: Rows, hops: tuple[int, int], space: Space, *, backward: bool, budget: Budget
) -> list[tuple[Rows, Rows]]:
    """(position in block, node) pairs; a pair may come twice, once as a path and once through a self-loop."""
    low, high = hops
    visited = space.visited(len(block))
    origin, node = np.arange(len(block)), block
    visited.fresh(origin, node)
    start_loops = np.zeros(len(block), np.bool_)
    found: list[tuple[Rows, Rows]] = [(origin, node)] if low == 0 else []
    for depth in range(high):
        if not len(node):
            break
        budget.check()
        if high >= OPEN_HOPS:
            budget.admit_hops(depth + 1)
        lists = graph.around(distinct_rows(node)).simple
        at, neighbour = lists.step(node)
        budget.admit(len(at), row_bytes=24)
        if depth == 0:
            start_loops[at[neighbour == block[at]]] = True
        if low <= depth + 1:
            found.append(_looped(origin, node, at, neighbour, start_loops, backward=backward))
        origin, node = visited.fresh(origin[at], neighbour)
        if low <= depth + 1:
            found.append((origin, node))
    return found


def _looped(
    origin: Rows, node: Rows, at: Rows, neighbour: Rows, start_loops: Mask, *, backward: bool
) -> tuple[Rows, Rows]:
    """The pairs of this depth whose path ends with one more hop around a self-loop."""
    if backward:
        kept = start_loops[origin]
        return origin[kept], node[kept]
    looping = at[neighbour == node[at]]
    return origin[looping], node[looping]


class Visited(Protocol):
    """The (start, node) pairs a search has met."""

    def fresh(self, origin: Rows, node: Rows) -> tuple[Rows, Rows]:
        """Those of the pairs that are new, each once and in ascending order; they are old from now on."""


class _Bitmap:
    """Visited flags for every (start, node) pair."""

    def __init__(self, starts: int, span: int) -> None:
        self._span = span
        self._flags = np.zeros(starts * span, np.bool_)

    def fresh(self, origin: Rows, node: Rows) -> tuple[Rows, Rows]:
        alone = len(self._flags) == self._span
        keys = node if alone else origin * self._span + node
        keys = keys[~self._flags[keys]]
        if len(keys) * 16 > len(self._flags):
            seen = self._flags.copy()
            self._flags[keys] = True
            keys = np.flatnonzero(self._flags & ~seen)
        else:
            keys = distinct_rows(keys)
            self._flags[keys] = True
        return (np.zeros(len(keys), np.int64), keys) if alone else np.divmod(keys, self._span)


class _Chains:
    """Visited pairs while every start has led to one node a hop at most, as along replies: that node for each hop.

    A pair is compared with those of its own start, which takes a tenth of the time of keeping all of them in order.
    From the first hop on at which a start leads to several nodes, or after many hops, they are kept in order.
    """

    def __init__(self, starts: int, space: Space) -> None:
        self._starts, self._space = starts, space
        self._hops: list[Rows] = []
        self._others: _SortedSet | None = None

    def fresh(self, origin: Rows, node: Rows) -> tuple[Rows, Rows]:
        if self._others is None and (len(self._hops) == _MOST_CHAINED or not bool((origin[1:] > origin[:-1]).all())):
            self._others = _SortedSet(self._space)
            known = [np.flatnonzero(each >= 0) for each in self._hops]
            pairs = [np.concatenate([_NO_ROWS, *each]) for each in (known, map(np.take, self._hops, known))]
            self._others.fresh(*pairs)
            self._hops.clear()
        if self._others is not None:
            return self._others.fresh(origin, node)
        for each in self._hops:
            new = each[origin] != node
            if not new.all():
                origin, node = origin[new], node[new]
        reached = np.full(self._starts, -1)
        reached[origin] = node
        self._hops.append(reached)
        return origin, node


class _SortedSet:
    """Visited pairs as one ascending array of packed keys, for searches whose node space is not known."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._keys = np.empty(0, np.int64)

    def fresh(self, origin: Rows, node: Rows) -> tuple[Rows, Rows]:
        keys = distinct_rows(self._space.packed(origin, node))
        if len(self._keys):
            place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            keys = keys[self._keys[place] != keys]
        self._keys = np.sort(np.concatenate([self._keys, keys]))
        return self._space.unpacked(keys)
