"""A hop whose target is also linked to another node of the row: the smaller of two neighbour lists is gone through.

Triangles and other cycles are found this way without making a row for every way of two hops, of which a few nodes with
many neighbours have most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from omnigraph.checkpoints import checkpoint
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.ops import AntiJoin, Expand, ExpandTest, MatchOp
from omnigraph.cores import in_parts
from omnigraph.engine.read.columns.arrays import Mask, Rows, spread
from omnigraph.engine.read.columns.pieces import in_order
from omnigraph.engine.read.columns.rowindex import distinct_rows
from omnigraph.engine.read.frames.frame import Frame, concatenate
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.match.expand import are_linked, linked_lists, ranges
from omnigraph.engine.read.topology.adjacency import Adjacency
from omnigraph.engine.read.topology.membership import connected, enough_tests, grouped

# Sorting a row takes as long as so many tests.
_WORTH_SORTING = 16
# Rows that are looked at together, and what the arrays about one of them take.
_PART, _ROW_BYTES = 1 << 20, 160
_End: TypeAlias = tuple[str, Adjacency]  # a variable and the lists around its nodes


def closes(frame: Frame, first: MatchOp, second: MatchOp) -> bool:
    """Whether the first operator is a hop whose target the second one ties to another bound node."""
    match first, second:
        case Expand(link, source, (), ()) as hop, ExpandTest(test, ()):
            if hop.target not in (test.tail, test.head) or not (_is_plain(link) and _is_plain(test)):
                return False
            ends = (source, test.other(hop.target))
            return all(var in frame.bound and frame.bound[var].table_key.startswith("node:") for var in ends)
        case _:
            return False


def _is_plain(link: Link) -> bool:
    single = link.is_single and not link.is_cycle
    return single and link.edge_var is None and not link.ways and link.along is None


def expand_closing(run: Run, frame: Frame, hop: Expand, test: ExpandTest, live: frozenset[str]) -> tuple[int, Frame]:
    """One row per neighbour of the source that is linked to the other node as well; and how many there are."""
    other = test.link.other(hop.target)
    near, far = distinct_rows(frame.rows(hop.source)), distinct_rows(frame.rows(other))
    lists = linked_lists(run, hop.link, near, backward=hop.source == hop.link.head)
    others = linked_lists(run, test.link, far, backward=other == test.link.head)
    closing = _Closing(hop, live, ((hop.source, lists), (other, others)))
    found: list[Frame] = []
    hop_rows = total = 0

    def take(linked: tuple[int, Frame]) -> None:
        nonlocal hop_rows, total
        hop_rows, total = hop_rows + linked[0], total + linked[1].length
        run.budget.admit(total, row_bytes=8 * (len(linked[1].bound) + 1))
        found.append(linked[1])

    parts = [frame.between(low, min(low + _PART, frame.length)) for low in range(0, frame.length, _PART)]
    in_parts(closing.linked, parts, take, held=min(_PART, frame.length) * _ROW_BYTES)
    return hop_rows, concatenate(found)


@dataclass(frozen=True, slots=True)
class _Closing:
    """A hop and the test of its target: what both look up, for parts of a frame."""

    hop: Expand
    live: frozenset[str]
    ends: tuple[_End, _End]

    def linked(self, frame: Frame) -> tuple[int, Frame]:
        """How many rows the hop stands for, and those whose target is linked to the other node."""
        (source, lists), (other, others) = self.ends
        degrees, other_degrees = lists.degrees(frame.rows(source)), others.degrees(frame.rows(other))
        hop_rows = int(degrees.sum() if frame.times is None else np.dot(degrees, frame.times))
        # Rows that come in the order of the other node are sorted anew only where that spares enough tests.
        fewer = degrees <= other_degrees + (_WORTH_SORTING if _ascend(frame.rows(other)) else 0)
        found: list[Frame] = []
        for some, way in ((fewer, self.ends), (~fewer, self.ends[::-1])):
            found += self._asked(frame.where(some), way)
        return hop_rows, concatenate(found)

    def _asked(self, frame: Frame, ends: tuple[_End, _End]) -> Iterator[Frame]:
        """Go through the lists of one end, and ask those of the other."""
        (start, lists), (end, others) = ends
        if not _ascend(frame.rows(end)):
            frame = frame.take(in_order(frame.rows(end)))  # many questions about one node are answered together
        begin, stop = lists.bounds(frame.rows(start))
        growth = stop - begin
        kept = frame.only(self.live)
        if not int(growth.sum()):
            yield self._extended(kept, np.empty(0, np.int64), np.empty(0, np.int64))
            return
        nodes, place = grouped(frame.rows(end))
        for low, high in ranges(growth, enough_tests(others, nodes)):
            checkpoint()
            owner, entry = spread(begin[low:high], stop[low:high])
            targets = lists.neighbours_at(entry)
            first, last = int(place[low]), int(place[high - 1])
            linked = connected(others, nodes[first : last + 1], place[low:high][owner] - first, targets)
            yield self._extended(kept, owner[linked] + low, targets[linked].astype(np.int64))

    def _extended(self, frame: Frame, owner: Rows, nodes: Rows) -> Frame:
        wider = frame.take(owner)
        return (
            wider.bind(self.hop.target, f"node:{self.hop.target_type}", nodes)
            if self.hop.target in self.live
            else wider
        )


def _ascend(rows: Rows) -> bool:
    return bool((rows[1:] >= rows[:-1]).all())


def linked_rows(run: Run, frame: Frame, op: AntiJoin) -> Mask | None:
    """The rows that a `not { … }` drops, where it looks for nothing but an edge between two bound nodes.

    None where it looks for more. Asking for every row costs less than telling the pairs apart first.
    """
    match op.ops:
        case (ExpandTest(link, ()),) if _is_plain(link):
            ends = (link.tail, link.head)
            if all(var in frame.bound and frame.bound[var].table_key.startswith("node:") for var in ends):
                return are_linked(run, frame, link)
    return None
