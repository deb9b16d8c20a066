"""Counting rows instead of making them: hops and scans after which only the number of rows is needed.

A frame whose rows stand for several (`Frame.times`) takes the sum over all ways to a node in one pass over neighbour
lists, and a node that is not needed later is a factor.
"""

from __future__ import annotations

import numpy as np

from omnigraph.compiler.ir.ops import AntiJoin, Expand, ExpandTest, NodeScan
from omnigraph.engine.read.columns.arrays import Rows, countable
from omnigraph.engine.read.columns.rowindex import added, distinct, fold
from omnigraph.engine.read.frames.frame import START, Bound, Frame
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import is_union
from omnigraph.engine.read.match.expand import linked_lists, named_target, neighbours
from omnigraph.engine.read.match.intersect import closes, expand_closing
from omnigraph.engine.read.match.joins import join_counts
from omnigraph.engine.read.match.scan import matching_nodes

# A frame that stands for as many rows goes on row by row, which the limits of a query stop; numbers stay exact.
MANY = 1 << 52


def count_expand(run: Run, frame: Frame, op: Expand, live: frozenset[str]) -> Frame | None:
    """The rows after a hop of which at most the target is needed; None where more is."""
    kept = live & frame.bound.keys()
    if op.link.edge_var in live or (op.target in live and kept):
        return None
    if (known := named_target(run, frame, op)) is not None:
        return known.only(live).folded()
    starts, place = distinct(frame.rows(op.source))
    lists = linked_lists(run, op.link, starts, backward=op.source == op.link.head)
    if op.predicates or op.edge_predicates:
        run.budget.admit(int(lists.degrees(starts).sum()), row_bytes=24)
        found = neighbours(run, op, lists, starts, live)
        owner, nodes = found.at, found.nodes
        if op.target not in live:
            return _times(frame, np.bincount(owner, minlength=len(starts)).astype(np.int64)[place], live)
        ways = _start_times(frame, starts, place)[owner]
        countable(ways)
        return _reached(op, *fold(nodes, ways))
    degrees = lists.degrees(starts)
    if op.target not in live:
        return _times(frame, degrees[place], live)
    if not int(degrees.sum()):
        return _reached(op, np.empty(0, np.int64), np.empty(0, np.int64))
    times = _start_times(frame, starts, place)
    countable(times, degrees)
    return _reached(op, *lists.counted(starts, None if bool((times == 1).all()) else times))


def count_unlinked(run: Run, frame: Frame, hop: Expand, op: AntiJoin) -> tuple[int, Frame] | None:
    """How many rows a hop yields, and those that a `not { … }` leaves of them, where only their number is needed.

    All rows are counted; those whose ends are linked, few in most graphs, are found by the smaller of two neighbour
    lists and taken off. None where the `not` looks for more than one edge.
    """
    match op.ops:
        case (ExpandTest() as test,) if closes(frame, hop, test):
            every = count_expand(run, frame, hop, frozenset())
            if every is None:
                return None
            left = every.count - expand_closing(run, frame, hop, test, frozenset())[1].count
            return every.count, Frame(1).repeated(np.array([left]))
    return None


def count_scan(run: Run, frame: Frame, op: NodeScan, live: frozenset[str]) -> Frame | None:
    """The rows after a scan whose nodes are not needed; None where they are, or where conditions distinguish them."""
    if op.var in live:
        return None
    if not op.joins:
        return _times(frame, np.full(frame.length, _how_many(run, op)), live)
    if frame is START:
        return None
    counts = join_counts(run, frame, op, matching_nodes(run, op))
    return None if counts is None else _times(frame, counts, live)


def _how_many(run: Run, op: NodeScan) -> int:
    if not op.predicates and not is_union(op.table_key):
        return run.entities(op.table_key).row_count
    return len(matching_nodes(run, op))


def _start_times(frame: Frame, starts: Rows, place: Rows) -> Rows:
    """How many rows each distinct start stands for."""
    if len(starts) == frame.length:  # distinct and ascending already, or in another order
        times = np.empty(len(starts), np.int64)
        times[place] = 1 if frame.times is None else frame.times
        return times
    return added(place, frame.times, len(starts))


def _times(frame: Frame, counts: Rows, live: frozenset[str]) -> Frame:
    return frame.only(live).repeated(counts).folded()


def _reached(op: Expand, rows: Rows, times: Rows) -> Frame:
    return Frame(len(rows), {op.target: Bound(f"node:{op.target_type}", rows)}, times=times)
