"""Runs a read plan on a pinned view, operator by operator."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.ops import (
    Aggregate,
    AntiJoin,
    Distinct,
    Expand,
    ExpandTest,
    Filter,
    Having,
    LeftJoin,
    Limit,
    MatchOp,
    NodeScan,
    Project,
    Rank,
    ReadPlan,
    ResultOp,
    ShortestPath,
    Sort,
)
from omnigraph.compiler.ir.walk import variables
from omnigraph.engine.read.aggregate import aggregate
from omnigraph.engine.read.expand import expand, expand_test
from omnigraph.engine.read.frame import START, Bound, Frame, combine, first_places, numpy_of
from omnigraph.engine.read.multiplicity import ignores_repeats
from omnigraph.engine.read.negation import anti_join
from omnigraph.engine.read.numbering import number
from omnigraph.engine.read.optional import left_join, optional_key, present
from omnigraph.engine.read.order import order
from omnigraph.engine.read.project import project, result_table
from omnigraph.engine.read.run import Run
from omnigraph.engine.read.scan import scan
from omnigraph.engine.read.search import rank
from omnigraph.engine.read.shortest import shortest_paths
from omnigraph.engine.read.unions import PATH


def execute(run: Run, plan: ReadPlan) -> pa.Table:
    """The result rows of a plan, with the promised columns even when there are none."""
    frame = match(run, START, plan.match, _shown(plan), exists=ignores_repeats(plan))
    for op in plan.result:
        run.budget.check()
        with run.profile.measure(op) as step:
            frame = _shape(run, frame, op)
            step.rows = frame.length
    run.budget.admit_result(frame.length)
    return result_table(run, frame, plan.columns)


def match(run: Run, frame: Frame, ops: tuple[MatchOp, ...], keep: frozenset[str], *, exists: bool = False) -> Frame:
    """Extend or drop rows operator by operator; at least the variables in `keep` are bound in the end.

    What no later operator reads is forgotten. With `exists` only the existence of a row for each assignment of `keep`
    matters, so equal rows collapse as well.
    """
    for place, op in enumerate(ops):
        if not frame.length:
            return _unmatched(frame, ops[place:])
        run.budget.check()
        live = keep.union(*(_reads(later) for later in ops[place + 1 :]))
        with run.profile.measure(op) as step:
            forgets = not live.issuperset({*_binds(op), *frame.bound})
            frame = _step(run, frame, op, live, exists=exists).only(live)
            if exists and forgets:
                frame = frame.unique()
            step.rows = frame.length
    return frame


def _step(run: Run, frame: Frame, op: MatchOp, live: frozenset[str], *, exists: bool) -> Frame:
    match op:
        case NodeScan():
            return scan(run, frame, op, live, exists=exists)
        case Expand(source=source):
            return expand(run, present(frame, (source,)), op, live)
        case ExpandTest(link):
            return expand_test(run, present(frame, (link.tail, link.head)), op)
        case Filter(condition):
            return frame.where(numpy_of(run.evaluator(frame).keep(condition)))
        case AntiJoin():
            return anti_join(run, frame, op, partial(match, exists=True))
        case LeftJoin():
            return left_join(run, frame, op, partial(match, exists=exists), live)
        case ShortestPath(link):
            return shortest_paths(run, present(frame, (link.tail, link.head)), op)


def _shape(run: Run, frame: Frame, op: ResultOp) -> Frame:
    match op:
        case Rank():
            return rank(run, present(frame, (op.call.var,)) if frame.length else frame, op)
        case Sort(keys, ties, fetch):
            return frame.take(order(run, frame, keys, ties, run.fetch_count(fetch)))
        case Project():
            return project(run, frame, op)
        case Aggregate():
            return aggregate(run, frame, op)
        case Having(condition):
            return frame.where(numpy_of(run.evaluator(frame).keep(condition)))
        case Distinct():
            return _distinct(frame)
        case Limit(limit, offset):
            return _limit(run, frame, limit, offset)


def _distinct(frame: Frame) -> Frame:
    code, count = np.zeros(frame.length, np.int64), 1
    for column in frame.outputs.values():
        code, count = combine(code, count, *number(column))
    return frame.take(np.sort(first_places(code, count if frame.length else 0)))


def _limit(run: Run, frame: Frame, limit: ir.Const | ir.Param | None, offset: ir.Const | ir.Param | None) -> Frame:
    begin = run.row_number(offset, "offset") or 0
    most = run.row_number(limit, "limit")
    end = frame.length if most is None else min(frame.length, begin + most)
    return frame.take(np.arange(min(begin, frame.length), max(end, min(begin, frame.length))))


def _shown(plan: ReadPlan) -> frozenset[str]:
    """The variables that shaping the result needs."""
    ties = (op.ties for op in plan.result if isinstance(op, Sort))
    return frozenset(chain(*(variables(op) for op in plan.result), *ties))


def _reads(op: MatchOp) -> frozenset[str]:
    """The variables an operator needs to find in the frame."""
    match op:
        case NodeScan(joins=joins):
            return frozenset().union(*(variables(condition) for condition in joins)) - {op.var}
        case Expand(source=source):
            return frozenset({source})
        case ExpandTest(link):
            return frozenset({link.tail, link.head})
        case Filter(condition):
            return variables(condition)
        case AntiJoin(outer=outer) | LeftJoin(outer=outer):
            return frozenset(outer)
        case ShortestPath(link):
            return frozenset({link.tail, link.head})


def _binds(op: MatchOp) -> dict[str, str]:
    """The variables an operator adds to the frame, with the table of each."""
    match op:
        case NodeScan(var, type_name):
            return {var: f"node:{type_name}"}
        case Expand(link):
            return {op.target: f"node:{op.target_type}", **_bound_edge(link)}
        case ExpandTest(link):
            return _bound_edge(link)
        case LeftJoin(ops, _, binds):
            inner = {var: key for each in ops for var, key in _binds(each).items()}
            return {var: optional_key(inner[var]) for var in binds}
        case ShortestPath(var=var):
            return {var: f"{PATH}{var}"}
        case _:
            return {}


def _bound_edge(link: Link) -> dict[str, str]:
    return {} if link.edge_var is None else {link.edge_var: f"edge:{link.edge}"}


def _unmatched(frame: Frame, ops: tuple[MatchOp, ...]) -> Frame:
    """No row is left: bind what the remaining operators would have bound, without looking at any table."""
    tables = {var: key for op in ops for var, key in _binds(op).items()}
    nothing = np.empty(0, np.int64)
    return replace(frame, bound={**frame.bound, **{var: Bound(key, nothing) for var, key in tables.items()}})
