"""Patterns between two nodes of each row: what leads away from one of them is followed once, however many rows it has.

A pipeline that expands from `a` and tests in the end whether it arrived at `b` would follow the same steps from `a`
again for each `b`. Where many rows share their `a`, the steps are followed once, the last one is taken instead of
tested, and what arrives is joined with the rows. LDBC's bi15 and bi19 ask so for every pair of friends.

Where many rows share their `b` instead, and fewer neighbours lie there, the steps are followed backward from `b`: bi8
and bi16 ask about every person and one tag.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from omnigraph.compiler.ir.ops import Expand, ExpandTest, MatchOp
from omnigraph.compiler.types import union_members
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
    met = _from_fewer(run, rows, met)
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
    if not found.length:
        return found.bind(met.end, rows.bound[met.end].table_key, found.rows(MARK)).bind(
            met.start, key, found.rows(MARK)
        )
    if _arrivals(run, found, met) > found.length * rows.length // len(starts):
        return None
    found = follow(found, (met.last,), met.followed | {met.end})
    found = found.where(ends.contains(found.rows(met.end)))
    arrived = found.rows(MARK) * len(ends) + ends.positions(found.rows(met.end))
    at = np.minimum(np.searchsorted(pairs, arrived), len(pairs) - 1)
    found, number = found.where(hit := pairs[at] == arrived), order[at[hit]]
    return found.bind(MARK, "", rows.rows(MARK)[number]).bind(met.start, key, rows.rows(met.start)[number])


def _from_fewer(run: Run, rows: Frame, met: Meeting) -> Meeting:
    """The same steps from the other end, where many rows share few nodes there and fewer neighbours are looked at."""
    starts, ends = (distinct_rows(rows.rows(var)) for var in (met.start, met.end))
    if len(ends) * _SHARED > rows.length or len(ends) * _SHARED > len(starts):
        return met
    turned = _turned(met)
    if turned is None or not all(
        _is_of(rows, var, step) for var, step in ((met.start, turned.last), (met.end, met.last))
    ):
        return met
    first = turned.steps[0]
    lists = linked_lists(run, first.link, ends, backward=met.end == first.link.head)
    return turned if int(lists.degrees(ends).sum()) * _SHARED <= len(starts) * _mean_degree(run, met.steps[0]) else met


def _turned(met: Meeting) -> Meeting | None:
    """The chain of steps backward: each node keeps its conditions, each link those of its edge."""
    links = [*met.steps, met.last]
    nodes = [met.start, *(step.target for step in met.steps)]
    if [step.source for step in links] != nodes or met.steps[0].link.edge_var is not None:
        return None
    if not all(step.link.is_single and step.link.along is None for step in links):
        return None
    back = [
        replace(after, source=after.target, predicates=step.predicates, columns=step.columns)
        for step, after in pairwise(links)
    ]
    last = replace(met.steps[0], source=met.steps[0].target, predicates=(), columns=())
    return Meeting(met.end, met.start, tuple(reversed(back)), last, met.rest)


def _is_of(rows: Frame, var: str, step: Expand) -> bool:
    return rows.bound[var].table_key == f"node:{step.target_type}"


def _mean_degree(run: Run, step: Expand) -> float:
    """Neighbours for each node of the types that a step leads away from."""
    names = union_members(step.link.edge)
    edges = sum(run.entities(f"edge:{name}").row_count for name in names if run.exists(f"edge:{name}"))
    types = [f"node:{name}" for name in union_members(step.link.type_of(step.source))]
    nodes = sum(run.entities(each).row_count for each in types if run.exists(each))
    return edges * (2 if step.link.undirected else 1) / max(nodes, 1)


def _arrivals(run: Run, found: Frame, met: Meeting) -> int:
    """How many rows the last step makes."""
    near, place = distinct(found.rows(met.last.source))
    link = met.last.link
    degrees: Rows = linked_lists(run, link, near, backward=met.last.source == link.head).degrees(near)
    return int(degrees[place].sum())


def _bound(step: Expand) -> tuple[str, ...]:
    return (step.target,) if step.link.edge_var is None else (step.target, step.link.edge_var)
