"""Patterns between two nodes of each row: what leads away from one of them is followed once, however many rows it has.

A pipeline that expands from `a` and tests in the end whether it arrived at `b` would follow the same steps from `a`
again for each `b`. Where many rows share their `a`, the steps are followed once, the last one is taken instead of
tested, and what arrives is joined with the rows. LDBC's bi15 and bi19 ask so for every pair of friends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from omnigraph.compiler.ir.ops import Expand, ExpandTest, MatchOp
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.rowindex import RowIndex, distinct, distinct_rows
from omnigraph.engine.read.frames.frame import Bound, Frame
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.match.expand import linked_lists
from omnigraph.engine.read.match.negation import MARK

Follow = Callable[[Frame, tuple[MatchOp, ...], frozenset[str]], Frame]

_SHARED = 4  # rows for each different node, at least, so that it pays


@dataclass(frozen=True, slots=True)
class Meeting:
    """Steps that lead away from `start`, the last of which is to arrive at `end`; operators that come after them."""

    start: str
    end: str
    steps: tuple[Expand, ...]
    last: Expand
    rest: tuple[MatchOp, ...]

    @property
    def followed(self) -> frozenset[str]:
        """The variables that the steps bind, and the number of the row."""
        return frozenset({MARK, *(var for step in self.steps for var in _bound(step))})


def meeting(rows: Frame, ops: tuple[MatchOp, ...]) -> Meeting | None:
    """The beginning of a pipeline about two nodes of each numbered row; None where it is of another shape."""
    if len(rows.bound) != 3 or MARK not in rows.bound or not ops or not isinstance(ops[0], Expand):
        return None
    start = ops[0].source
    if start == MARK or start not in rows.bound:
        return None
    (end,) = rows.bound.keys() - {MARK, start}
    steps: list[Expand] = []
    reached: set[str] = set()
    for place, op in enumerate(ops):
        if isinstance(op, Expand) and (op.source == start or op.source in reached) and op.target != end:
            steps.append(op)
            reached |= set(_bound(op))
        elif isinstance(op, ExpandTest) and end in (op.link.tail, op.link.head):
            one_hop = op.link.min_hops == op.link.max_hops == 1 and op.link.edge_var is None
            near = op.link.other(end)
            if one_hop and near in reached:
                return Meeting(start, end, tuple(steps), Expand(op.link, near), ops[place + 1 :])
            return None
        else:
            return None
    return None


def joined(run: Run, rows: Frame, met: Meeting, follow: Follow) -> Frame | None:
    """The rows with what the steps found for each; None where that would be no less work than one by one."""
    starts, start_of = distinct(rows.rows(met.start))
    key = rows.bound[met.start].table_key
    if len(starts) * _SHARED > rows.length or rows.bound[met.end].table_key != f"node:{met.last.target_type}":
        return None
    ends = RowIndex(distinct_rows(rows.rows(met.end)))
    pairs = start_of * len(ends) + ends.positions(rows.rows(met.end))
    order = np.argsort(pairs)
    pairs = pairs[order]
    if bool((pairs[1:] == pairs[:-1]).any()):
        return None
    few = Frame(len(starts), {met.start: Bound(key, starts)}).bind(MARK, "", np.arange(len(starts)))
    found = follow(few, met.steps, met.followed)
    if not found.length or _arrivals(run, found, met) > found.length * rows.length // len(starts):
        return None
    found = follow(found, (met.last,), met.followed | {met.end})
    found = found.where(ends.contains(found.rows(met.end)))
    arrived = found.rows(MARK) * len(ends) + ends.positions(found.rows(met.end))
    at = np.minimum(np.searchsorted(pairs, arrived), len(pairs) - 1)
    found, number = found.where(hit := pairs[at] == arrived), order[at[hit]]
    return found.bind(MARK, "", rows.rows(MARK)[number]).bind(met.start, key, rows.rows(met.start)[number])


def _arrivals(run: Run, found: Frame, met: Meeting) -> int:
    """How many rows the last step makes."""
    near, place = distinct(found.rows(met.last.source))
    link = met.last.link
    degrees: Rows = linked_lists(run, link, near, backward=met.last.source == link.head).degrees(near)
    return int(degrees[place].sum())


def _bound(step: Expand) -> tuple[str, ...]:
    return (step.target,) if step.link.edge_var is None else (step.target, step.link.edge_var)
