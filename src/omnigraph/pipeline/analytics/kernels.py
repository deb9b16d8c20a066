"""The algorithms over integer node numbers, as array operations; a node is a position in 0 … count-1."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from omnigraph.engine.read.columns.arrays import Rows, spread
from omnigraph.engine.read.columns.rowindex import distinct, distinct_rows

Floats = npt.NDArray[np.float64]

# Wedges looked at together while triangles are counted; bounds the memory.
_WEDGES = 1 << 22
# Which edges components look at, one in so many, round by round; the last round sees them all.
_SAMPLES = (16, 4, 1)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Edges as two arrays of positions, and a weight each unless all weigh the same."""

    count: int
    sources: Rows
    targets: Rows
    weights: Floats | None = None

    def turned(self, direction: str) -> Pairs:
        """The edges as a walker sees them who follows them (`out`), goes against them (`in`) or does both."""
        if direction == "out":
            return self
        if direction == "in":
            return Pairs(self.count, self.targets, self.sources, self.weights)
        weights = None if self.weights is None else np.concatenate([self.weights, self.weights])
        near = np.concatenate([self.sources, self.targets])
        return Pairs(self.count, near, np.concatenate([self.targets, self.sources]), weights)


@dataclass(frozen=True, slots=True)
class Teleport:
    """How PageRank walks: the chance to follow an edge, and when the ranks count as settled."""

    damping: float = 0.85
    tolerance: float = 1e-8
    iterations: int = 100


def pagerank(pairs: Pairs, walk: Teleport) -> tuple[Floats, int]:
    """The share of time a walker spends at each node, and how many rounds it took to settle.

    A walker at a node without edges to follow jumps anywhere, like one that is bored.
    """
    count = pairs.count
    if not count:
        return np.zeros(0), 0
    leaving = np.bincount(pairs.sources, weights=pairs.weights, minlength=count).astype(np.float64)
    stuck = leaving == 0
    leaving[stuck] = 1.0
    ranks: Floats = np.full(count, 1.0 / count)
    for done in range(1, walk.iterations + 1):
        carried = (ranks / leaving)[pairs.sources]
        if pairs.weights is not None:
            carried *= pairs.weights
        arriving = np.bincount(pairs.targets, weights=carried, minlength=count)
        lost = float(ranks[stuck].sum())
        after: Floats = np.asarray((1 - walk.damping) / count + walk.damping * (arriving + lost / count), np.float64)
        moved = float(np.abs(after - ranks).sum())
        ranks = after
        if moved < walk.tolerance:
            return ranks, done
    return ranks, walk.iterations


def components(pairs: Pairs) -> Rows:
    """For each node the smallest node that it is connected with, regardless of direction."""
    # A sample of the edges joins most of what belongs together; then most of the others have nothing left to do.
    return joined(np.arange(pairs.count), ((pairs.sources[::step], pairs.targets[::step]) for step in _SAMPLES))


def joined(parent: Rows, pairs: Iterable[tuple[Rows, Rows]]) -> Rows:
    """For each node the smallest of those that pairs of arrays connect it with; `parent` is used for it."""
    for one, other in pairs:
        _join(parent, one, other)
    return parent


def _join(parent: Rows, one: Rows, other: Rows) -> None:
    while True:
        one, other = parent[one], parent[other]
        apart = one != other
        if not apart.any():
            return
        one, other = one[apart], other[apart]
        # Roots only ever point to smaller roots, so no cycle can arise; the smallest offer wins.
        np.minimum.at(parent, np.maximum(one, other), np.minimum(one, other))
        _flatten(parent)


def _flatten(parent: Rows) -> None:
    while True:
        above = parent[parent]
        if np.array_equal(above, parent):
            return
        parent[:] = above


def label_propagation(pairs: Pairs, iterations: int) -> tuple[Rows, int]:
    """Labels after at most so many rounds: each node takes the label most of its neighbours and itself have.

    All nodes move at once, every edge is a vote both ways, and the smallest of equally frequent labels wins, so the
    answer does not depend on any order.
    """
    count = pairs.count
    labels = np.arange(count)
    everyone = np.arange(count)
    near = np.concatenate([pairs.sources, pairs.targets, everyone])
    far = np.concatenate([pairs.targets, pairs.sources, everyone])
    for done in range(1, iterations + 1):
        after = winners(near * count + labels[far], count)
        if np.array_equal(after, labels):
            return labels, done
        labels = after
    return labels, iterations


def winners(votes: Rows, count: int) -> Rows:
    """The winning label of each node; a vote is node × count + label."""
    if not count:
        return votes
    votes = np.sort(votes)
    first = np.flatnonzero(np.concatenate([[True], votes[1:] != votes[:-1]]))
    tallies = np.diff(np.append(first, len(votes)))
    node, label = np.divmod(votes[first], count)
    # More votes win; among equals the smaller label does.
    strength = tallies * count + (count - 1 - label)
    starts = np.flatnonzero(np.concatenate([[True], node[1:] != node[:-1]]))
    best: Rows = np.maximum.reduceat(strength, starts)
    return count - 1 - best % count


def dense(values: Rows) -> Rows:
    """Values replaced by their place among the distinct ones."""
    found: Rows = np.unique(values, return_inverse=True)[1].astype(np.int64)
    return found


def triangles(pairs: Pairs) -> Rows:
    """How many triangles each node is a corner of; direction, loops and parallel edges do not matter."""
    count = pairs.count
    found = np.zeros(count, np.int64)
    keys, place = _upward(pairs)
    if not len(keys):
        return found
    low, high = np.divmod(keys, count)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(low, minlength=count))])
    # Every triangle a<b<c is found once, at its edge (a, b): c follows b, and must follow a too.
    starts, stops = offsets[high], offsets[high + 1]
    ends = np.cumsum(stops - starts)
    begin = 0
    while begin < len(keys):
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + _WEDGES, side="right")))
        edge, entry = spread(starts[begin:end], stops[begin:end])
        near, middle, far = low[begin + edge], high[begin + edge], high[entry]
        wanted = near * count + far
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        closed = keys[at] == wanted
        for corner in (near, middle, far):
            found += np.bincount(corner[closed], minlength=count)
        begin = end
    return found[place]


def _upward(pairs: Pairs) -> tuple[Rows, Rows]:
    """Simple edges as sorted keys low × count + high between nodes renumbered by degree; and the new numbers.

    From rare to frequent nodes a list of neighbours is short even where a hub has millions.
    """
    count = pairs.count
    degrees = np.bincount(pairs.sources, minlength=count) + np.bincount(pairs.targets, minlength=count)
    place = np.empty(count, np.int64)
    place[np.argsort(degrees, kind="stable")] = np.arange(count)
    one, other = place[pairs.sources], place[pairs.targets]
    apart = one != other
    one, other = one[apart], other[apart]
    return distinct_rows(np.minimum(one, other) * count + np.maximum(one, other)), place


def degrees(pairs: Pairs, direction: str) -> Rows:
    """Edges that leave (`out`), arrive (`in`) or either; a loop does both."""
    found = np.zeros(pairs.count, np.int64)
    if direction != "in":
        found += np.bincount(pairs.sources, minlength=pairs.count)
    if direction != "out":
        found += np.bincount(pairs.targets, minlength=pairs.count)
    return found


def distances(pairs: Pairs, start: Rows, depth: int | None) -> Rows:
    """The fewest edges from any of the start nodes; -1 where none leads, or only beyond `depth`."""
    order = np.argsort(pairs.sources, kind="stable")
    neighbours = pairs.targets[order]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(pairs.sources, minlength=pairs.count))])
    found = np.full(pairs.count, -1, np.int64)
    frontier, _ = distinct(start)
    found[frontier] = 0
    steps = 0
    while len(frontier) and (depth is None or steps < depth):
        steps += 1
        _, entry = spread(offsets[frontier], offsets[frontier + 1])
        reached = neighbours[entry]
        frontier, _ = distinct(reached[found[reached] < 0])
        found[frontier] = steps
    return found
