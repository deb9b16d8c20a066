"""A hop whose target is also linked to another node of the row: the smaller of two neighbour lists is gone through.

Triangles and other cycles are found this way without making a row for every way of two hops, of which a few nodes with
many neighbours have most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from omnigraph.checkpoints import checkpoint
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.ops import AntiJoin, Expand, ExpandTest, MatchOp
from omnigraph.cores import in_parts
from omnigraph.engine.read.columns.arrays import Mask, Rows, flatten, spread
from omnigraph.engine.read.columns.pieces import in_order
from omnigraph.engine.read.columns.rowindex import distinct, distinct_rows
from omnigraph.engine.read.frames.frame import Frame, concatenate
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.match.expand import are_linked, linked_lists, ranges
from omnigraph.engine.read.topology.adjacency import Adjacency
from omnigraph.engine.read.topology.membership import TESTS, Marked, connected, enough_tests, grouped, is_worth_marking

# A list that is so many times as long, and by as many entries longer, is gone through rather than rows sorted anew.
_SPARED, _WORTH_SORTING = 4, 16
# Rows that are looked at together, and what the arrays about one of them take.
_PART, _ROW_BYTES = 1 << 18, 160
_End: TypeAlias = tuple[str, Adjacency]  # a variable and the lists around its nodes
_Walked: TypeAlias = tuple[Adjacency, Rows, Rows]  # lists, and where those begin and end that are gone through


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
    closing = _Closing(hop, live, ((hop.source, lists), (other, others)), run.budget.require_room)
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
    room: Callable[[int, int], None]  # raises where so many rows, of so many bytes, are too many

    def linked(self, frame: Frame) -> tuple[int, Frame]:
        """How many rows the hop stands for, and those whose target is linked to the other node."""
        (source, lists), (other, others) = self.ends
        entries, other_entries = lists.bounds(frame.rows(source)), others.bounds(frame.rows(other))
        degrees, other_degrees = entries[1] - entries[0], other_entries[1] - other_entries[0]
        hop_rows = int(degrees.sum() if frame.times is None else np.dot(degrees, frame.times))
        # Nodes that rows come in the order of are asked, unless asking the others spares enough tests.
        if _ascend(frame.rows(other)):
            fewer = degrees <= _SPARED * (other_degrees + _WORTH_SORTING)
        else:
            fewer = _SPARED * (degrees + _WORTH_SORTING) < other_degrees
        found = list(self._asked(frame, fewer, self.ends, entries))
        found += self._asked(frame, ~fewer, self.ends[::-1], other_entries)
        return hop_rows, concatenate(found)

    def _asked(self, frame: Frame, some: Mask, ends: tuple[_End, _End], bounds: tuple[Rows, Rows]) -> Iterator[Frame]:
        """For some rows, go through the lists of one end, which lie within `bounds`, and ask those of the other."""
        (_, lists), (end, others) = ends
        picked = np.flatnonzero(some)
        frame, begin, stop = frame.take(picked), bounds[0].take(picked), bounds[1].take(picked)
        tests = int((stop - begin).sum())
        if not tests:
            yield self._extended(frame.only(self.live), np.empty(0, np.int64), np.empty(0, np.int64))
            return
        nodes, place = distinct(frame.rows(end))
        if is_worth_marking(others, nodes, tests):
            yield from self._marked(frame, (lists, begin, stop), Marked(others, nodes), place)
        else:
            yield from self._searched(frame, (lists, begin, stop), end, others)

    def _marked(self, frame: Frame, walked: _Walked, asked: Marked, place: Rows) -> Iterator[Frame]:
        """Lists are gone through in the order in which they lie in memory."""
        lists, begin, stop = walked
        order = in_order(begin)
        begin, stop, place = begin.take(order), stop.take(order), place.take(order)
        kept, signs, total = frame.only(self.live), asked.signs(place), 0
        held: list[tuple[Rows, npt.NDArray[Any]]] = []
        for low, high in ranges(stop - begin, TESTS):
            checkpoint()
            counts = stop[low:high] - begin[low:high]
            targets = lists.neighbours_at(flatten(begin[low:high], stop[low:high]))
            likely = asked.likely(np.repeat(signs[low:high], counts), targets)
            held.append((np.searchsorted(np.cumsum(counts), likely, side="right") + low, targets.take(likely)))
            if high < len(begin) and sum(len(owner) for owner, _ in held) < TESTS:
                continue
            owner, targets = (np.concatenate(each) for each in zip(*held, strict=True))
            linked = np.flatnonzero(asked.confirmed(place.take(owner), targets))
            total += len(linked)
            self.room(total, 8 * (len(kept.bound) + 1))
            yield self._extended(kept, order.take(owner.take(linked)), targets.take(linked).astype(np.int64))
            held = []

    def _searched(self, frame: Frame, walked: _Walked, end: str, others: Adjacency) -> Iterator[Frame]:
        """Rows in the order of the nodes that are asked, a few of them at a time: their lists are long."""
        lists, begin, stop = walked
        if not _ascend(frame.rows(end)):
            order = in_order(frame.rows(end))
            frame, begin, stop = frame.take(order), begin.take(order), stop.take(order)
        kept, total = frame.only(self.live), 0
        nodes, place = grouped(frame.rows(end))
        for low, high in ranges(stop - begin, enough_tests(others, nodes)):
            checkpoint()
            owner, entry = spread(begin[low:high], stop[low:high])
            targets = lists.neighbours_at(entry)
            first, last = int(place[low]), int(place[high - 1])
            linked = connected(others, nodes[first : last + 1], place[low:high][owner] - first, targets)
            yield self._extended(kept, owner[linked] + low, targets[linked].astype(np.int64))
            total += int(np.count_nonzero(linked))
            self.room(total, 8 * (len(kept.bound) + 1))

    def _extended(self, frame: Frame, owner: Rows, nodes: Rows) -> Frame:
        wider, target = frame.take(owner), self.hop.target
        return wider.bind(target, f"node:{self.hop.target_type}", nodes) if target in self.live else wider


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
