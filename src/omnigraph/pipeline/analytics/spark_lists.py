"""Edges that tasks take from the neighbour lists beside the graph: nothing of them passes through Spark.

Looking up both ends of every edge by text takes Spark longer than any round of an algorithm; large edge tables keep
lists of row ids that say the same. Every task maps them, wherever it runs, and works on the entries of a range of
nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.topology.adjacency import Adjacency
from omnigraph.pipeline.spark.lists import MappedLists

# Entries that go to Spark as rows of one task.
SLICE = 1 << 20


@dataclass(frozen=True, slots=True)
class KeptLists:
    """The lists of one edge type, and what makes a row id at either end the number of a node."""

    lists: MappedLists
    tails: int
    heads: int

    def batches(self, at: int, *, edges: bool = False) -> Iterator[pa.RecordBatch]:
        """One slice of the edges as rows: the numbers of both ends, and the row id of the edge or a weight of 1."""
        lists = self.lists.along()
        entries, owners = lists.entries(at * SLICE, (at + 1) * SLICE)
        targets = lists.neighbours_at(entries).astype(np.int64)
        last = lists.edges_at(entries).astype(np.int64) if edges else np.ones(len(entries))
        columns = {"s": owners + self.tails, "t": targets + self.heads, "e" if edges else "w": last}
        yield pa.RecordBatch.from_pydict({name: pa.array(column) for name, column in columns.items()})


@dataclass(frozen=True, slots=True)
class Range:
    """The nodes of one task, by number: from `first` to `last`."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class ListedEdges:
    """Edges of some types as a walker sees them who follows them (`out`), goes against them (`in`) or does both."""

    lists: tuple[KeptLists, ...]
    direction: str = "out"

    def ranges(self, numbers: Rows, tasks: int) -> list[Range]:
        """As many ranges of nodes as there are tasks, with about equally many edges each."""
        edges = np.ones(len(numbers), np.int64)
        for kept in self.lists:
            for lists, shift in ((kept.lists.along(), kept.tails), (kept.lists.against(), kept.heads)):
                rows, degrees = lists.linked()
                edges[np.searchsorted(numbers, rows + shift)] += degrees
        ends = np.cumsum(edges)
        cuts = np.searchsorted(ends, np.linspace(0, int(ends[-1]), tasks + 1)[1:-1])
        starts = np.unique(np.concatenate([[0], cuts]))
        stops = np.append(starts[1:], len(numbers))
        return [Range(int(numbers[a]), int(numbers[b - 1])) for a, b in zip(starts, stops, strict=True) if a < b]

    def entries(self, mine: Range) -> tuple[Rows, Rows]:
        """Sources and targets of the edges of a range, by number: all edges that begin there, if both ways are walked;
        else those that the lists along the edges have there."""
        parts: list[tuple[Rows, Rows]] = []
        for kept in self.lists:
            near, far = _within(kept.lists.along(), mine, kept.tails, kept.heads)
            parts.append((far, near) if self.direction == "in" else (near, far))
            if self.direction == "both":
                parts.append(_within(kept.lists.against(), mine, kept.heads, kept.tails))
        return _joined([part[0] for part in parts]), _joined([part[1] for part in parts])


def _within(lists: Adjacency, mine: Range, own: int, others: int) -> tuple[Rows, Rows]:
    owners, neighbours = lists.within(mine.first - own, mine.last - own + 1)
    return owners + own, neighbours + others


def _joined(parts: Sequence[npt.NDArray[np.int64]]) -> Rows:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


# --- inside a task ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Positions:
    """Where the numbers of nodes stand among all of them: by subtraction where no row id is missing, else by search."""

    starts: tuple[tuple[int, int, int], ...]  # first number, last number, position of the first
    numbers: Rows | None

    @classmethod
    def of(cls, numbers: Rows) -> Positions:
        """The positions of ascending numbers."""
        cuts = np.flatnonzero(np.diff(numbers) != 1) + 1
        if len(cuts) >= _MOST_STARTS:
            return cls((), numbers)
        firsts, lasts = np.concatenate([[0], cuts]), np.append(cuts, len(numbers)) - 1
        return cls(tuple((int(numbers[a]), int(numbers[b]), int(a)) for a, b in zip(firsts, lasts, strict=True)), None)

    def at(self, wanted: Rows) -> npt.NDArray[np.int32]:
        """The positions of some numbers."""
        if self.numbers is not None:
            return np.searchsorted(self.numbers, wanted).astype(np.int32)
        found = np.empty(len(wanted), np.int32)
        for first, last, start in self.starts:
            mine = slice(None) if len(self.starts) == 1 else (wanted >= first) & (wanted <= last)
            found[mine] = wanted[mine] - (first - start)
        return found


# A process of Spark works on several rounds of an algorithm, and ends when it has been idle for a minute.
_HELD: dict[tuple[str, Range], tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]] = {}
_MOST_STARTS = 16
_MOST_HELD = 64 << 20  # entries


def held_entries(
    name: str, edges: ListedEdges, mine: Range, positions: Positions
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """The entries of a range by position; what another algorithm held goes."""
    found = _HELD.get((name, mine))
    if found is None:
        for key in [key for key in _HELD if key[0] != name]:
            del _HELD[key]
        sources, targets = edges.entries(mine)
        found = positions.at(sources), positions.at(targets)
        if sum(len(each[0]) for each in _HELD.values()) + len(sources) <= _MOST_HELD:
            _HELD[name, mine] = found
    return found
