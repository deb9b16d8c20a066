"""Runs a read plan on a pinned view, operator by operator."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import (
    Aggregate,
    AntiJoin,
    Distinct,
    Either,
    Expand,
    ExpandTest,
    Filter,
    Having,
    LeftJoin,
    Limit,
    Mark,
    MatchOp,
    NodeScan,
    Project,
    Rank,
    ShapingOp,
    ShortestPath,
    Sort,
    Union,
    Unwind,
    WindowColumns,
)
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.compiler.ir.plan import Stage as StageOp
from omnigraph.engine.read.frames.frame import START, Bound, Frame, combine, concatenate, first_places
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import made_key
from omnigraph.engine.read.match.between import joined, meeting
from omnigraph.engine.read.match.blocks import blocks
from omnigraph.engine.read.match.counting import MANY, count_expand, count_scan, count_unlinked
from omnigraph.engine.read.match.either import either
from omnigraph.engine.read.match.expand import expand, expand_test
from omnigraph.engine.read.match.intersect import closes, expand_closing, linked_rows
from omnigraph.engine.read.match.leading import leading_edges, leading_starts
from omnigraph.engine.read.match.negation import anti_join, mark
from omnigraph.engine.read.match.optional import left_join, present
from omnigraph.engine.read.match.scan import scan
from omnigraph.engine.read.plan.outline import Outline, Stage, binds, outline, stages
from omnigraph.engine.read.shape.aggregate import aggregate
from omnigraph.engine.read.shape.in_blocks import read_in_blocks
from omnigraph.engine.read.shape.numbering import number
from omnigraph.engine.read.shape.order import order
from omnigraph.engine.read.shape.per_group import limit_per
from omnigraph.engine.read.shape.project import project, result_table, united_columns

# Without an order of its own, an answer of up to so many rows comes in the order of ids (decision 0053).
IN_ORDER = 1 << 16


def execute(run: Run, plan: ReadPlan, known: Outline | None = None) -> pa.Table:
    """The result rows of a plan, with the promised columns even when there are none."""
    frame = _read(run, plan, outline(plan) if known is None else known)
    run.budget.admit_result(frame.length)
    return result_table(run, frame, plan.columns)


def _read(run: Run, plan: ReadPlan, known: Outline) -> Frame:
    frame = START
    if plan.source is not None and known.source is not None:
        frame = _staged(run, plan.source, known.source)
    steps = known.stages
    if (edges := leading_edges(plan)) is not None:
        with run.profile.measure(edges.scan) as step:
            few = leading_starts(run, edges)
            step.rows = 0 if few is None else few.length
        frame, steps = (frame, steps) if few is None else (few, steps[1:])
    in_blocks = read_in_blocks(run, plan, IN_ORDER if known.any_order else None)
    if in_blocks is None and not plan.parts:
        frame = _matched(run, frame, steps, exists=known.exists, counts=known.counts)
    frame, left = (frame, plan.result) if in_blocks is None else in_blocks
    for op in left:
        run.budget.check()
        if known.any_order and isinstance(op, Sort) and frame.length > IN_ORDER:
            continue
        with run.profile.measure(op) as step:
            frame = _united(run, plan, known, op) if isinstance(op, Union) else _shape(run, frame, op)
            step.rows = frame.length
    return frame


def _staged(run: Run, stage: StageOp, known: Outline) -> Frame:
    """The rows of a stage: what it keeps stays bound, its columns are those of a variable of their own."""
    found = _read(run, stage.plan, known)
    with run.profile.measure(stage) as step:
        step.rows = found.length
        numbers = run.made_columns(stage.var).add(found.outputs, np.arange(found.length))
        kept = {var: found.bound[var] for var in stage.keeps}
        return Frame(found.length, {**kept, stage.var: Bound(made_key(stage.var), numbers)})


def _united(run: Run, plan: ReadPlan, known: Outline, op: Union) -> Frame:
    """The rows of every part, in columns of the types that they share."""
    frames = [_read(run, part, each) for part, each in zip(plan.parts, known.parts, strict=True)]
    run.budget.admit(sum(frame.length for frame in frames), row_bytes=8 * len(plan.columns))
    united = Frame(sum(frame.length for frame in frames), outputs=united_columns(run, frames, plan.columns))
    return _distinct(united) if op.distinct else united


def match(run: Run, frame: Frame, ops: tuple[MatchOp, ...], keep: frozenset[str], *, exists: bool = False) -> Frame:
    """Extend or drop rows operator by operator; at least the variables in `keep` are bound in the end.

    What no later operator reads is forgotten. With `exists` only the existence of a row for each assignment of `keep`
    matters, so equal rows collapse as well.
    """
    frame = frame.plain()
    met = meeting(frame, ops) if frame.length else None
    if met is not None:
        found = joined(
            run, frame, met, lambda rows, steps, kept: _matched(run, rows, stages(steps, kept), exists=exists)
        )
        if found is not None:
            return _matched(run, found, stages(met.rest, keep), exists=exists)
    return _matched(run, frame, stages(ops, keep), exists=exists)


def _matched(run: Run, frame: Frame, steps: tuple[Stage, ...], *, exists: bool, counts: bool = False) -> Frame:
    closed: Stage | None = None
    for place, stage in enumerate(steps):
        if not frame.length:
            return _unmatched(frame, steps[place:])
        run.budget.check()
        if stage is closed:
            with run.profile.measure(stage.op) as step:
                step.rows = frame.count + (step.rows if counts else 0)
            continue
        following = None if exists or place + 1 == len(steps) else steps[place + 1]
        if following is not None and closes(frame, stage.op, following.op):
            closed = following
            with run.profile.measure(stage.op) as step:
                hop_rows, frame = _closed(run, frame, stage, closed, counts=counts)
                step.rows = hop_rows + (step.rows if counts else 0)
            continue
        if counts and following is not None and (rest := _unlinked(run, frame, stage, following)) is not None:
            closed, frame = following, rest
            continue
        if counts and (parts := blocks(run, frame, [each.op for each in steps[place:]], stage.live)):
            return _in_blocks(run, frame, steps[place:], parts)
        with run.profile.measure(stage.op) as step:
            forgets = not (stage.live >= stage.binds and stage.live >= frame.bound.keys())
            if counts:
                frame = _counted(run, frame, stage)
                step.rows += frame.count  # of all ranges
                continue
            frame = _step(run, frame, stage.op, stage.live, exists=exists).only(stage.live)
            if exists and forgets:
                frame = frame.unique()
            step.rows = frame.length
    return frame


def _in_blocks(run: Run, frame: Frame, steps: tuple[Stage, ...], parts: list[tuple[int, int]]) -> Frame:
    """The rest of a match for one range of rows after the other, so that only one of them grows at a time."""
    found: list[Frame] = []
    for low, high in parts:
        found.append(_matched(run, frame.between(low, high), steps, exists=False, counts=True))
        run.budget.admit(sum(each.length for each in found), row_bytes=8 * (len(found[-1].bound) + 1))
    return concatenate(found).folded()


def _unlinked(run: Run, frame: Frame, stage: Stage, following: Stage) -> Frame | None:
    """A hop and a `not` about its target in one step, where rows are only counted from then on."""
    if not isinstance(stage.op, Expand) or not isinstance(following.op, AntiJoin) or following.live:
        return None
    if frame.count >= MANY:
        return None
    with run.profile.measure(stage.op) as step:
        found = count_unlinked(run, present(frame, (stage.op.source,)), stage.op, following.op)
        if found is None:
            return None
        hop_rows, rest = found
        step.rows += hop_rows
        return rest


def _closed(run: Run, frame: Frame, stage: Stage, test: Stage, *, counts: bool) -> tuple[int, Frame]:
    """A hop and the test of its target in one step; and how many rows the hop by itself stands for."""
    assert isinstance(stage.op, Expand)
    assert isinstance(test.op, ExpandTest)
    hop_rows, found = expand_closing(run, frame, stage.op, test.op, test.live)
    return hop_rows, found.folded() if counts else found


def _counted(run: Run, frame: Frame, stage: Stage) -> Frame:
    """The same where equal rows are carried on as one with their number."""
    op, live = stage.op, stage.live
    found = None
    if frame.count < MANY:  # beyond that numbers could get too large, and rows have a limit
        if isinstance(op, Expand):
            found = count_expand(run, present(frame, (op.source,)), op, live)
        elif isinstance(op, NodeScan):
            found = count_scan(run, frame, op, live)
    if found is None:
        found = _step(run, frame, op, live, exists=False).only(live)
        forgets = not (live >= stage.binds and live >= frame.bound.keys())
        found = found.folded() if forgets else found
    return found


def _step(run: Run, frame: Frame, op: MatchOp, live: frozenset[str], *, exists: bool) -> Frame:
    match op:
        case NodeScan():
            return scan(run, frame, op, live, exists=exists)
        case Expand(source=source):
            return expand(run, present(frame, (source,)), op, live, exists=exists)
        case ExpandTest(link):
            return expand_test(run, present(frame, (link.tail, link.head)), op)
        case Filter(condition):
            return frame.where(run.kept(frame, condition))
        case Mark():
            return mark(run, frame, op, match)
        case Either():
            return either(run, frame, op, partial(match, exists=True))
        case Unwind():
            from omnigraph.engine.read.match.unwind import unwind  # few queries take lists apart

            return unwind(run, frame, op)
        case AntiJoin() if (linked := linked_rows(run, frame, op)) is not None:
            return frame.where(~linked)
        case AntiJoin():
            return anti_join(run, frame, op, partial(match, exists=True))
        case LeftJoin():
            return left_join(run, frame, op, partial(match, exists=exists), live)
        case ShortestPath(link):
            from omnigraph.engine.read.match.shortest import shortest_paths  # few queries ask for paths

            return shortest_paths(run, present(frame, (link.tail, link.head)), op)


def _shape(run: Run, frame: Frame, op: ShapingOp) -> Frame:
    match op:
        case Rank():
            from omnigraph.engine.read.search.ranking import rank  # a traversal is answered without the search code

            return rank(run, present(frame, (op.call.var,)) if frame.length else frame, op)
        case Sort(keys, ties, fetch):
            wanted = run.fetch_count(fetch)
            in_order = frame.length == 1 and wanted != 0
            return frame if in_order else frame.take(order(run, frame, keys, ties, wanted))
        case WindowColumns():
            from omnigraph.engine.read.shape.windows import windows  # few queries have them

            return windows(run, frame, op)
        case Project():
            return project(run, frame, op)
        case Aggregate():
            return aggregate(run, frame, op)
        case Having(condition):
            return frame.where(run.kept(frame, condition))
        case Distinct(entities):
            return _distinct(frame, entities)
        case Limit(limit, offset, ()):
            return _limit(run, frame, limit, offset)
        case Limit():
            return limit_per(run, frame, op)


def _distinct(frame: Frame, entities: tuple[str, ...] = ()) -> Frame:
    if not frame.outputs and frame.bound.keys() <= set(entities) and frame.ascends:
        return frame
    code, count = frame.codes(entities)
    for column in frame.outputs.values():
        code, count = combine(code, count, *number(column))
    return frame.take(np.sort(first_places(code, count if frame.length else 0)))


def _limit(run: Run, frame: Frame, limit: ir.Const | ir.Param | None, offset: ir.Const | ir.Param | None) -> Frame:
    begin = run.row_number(offset, "offset") or 0
    most = run.row_number(limit, "limit")
    end = frame.length if most is None else min(frame.length, begin + most)
    if begin == 0 and end == frame.length:
        return frame
    return frame.take(np.arange(min(begin, frame.length), max(end, min(begin, frame.length))))


def _unmatched(frame: Frame, steps: tuple[Stage, ...]) -> Frame:
    """No row is left: bind what the remaining operators would have bound, without looking at any table."""
    tables = {var: key for stage in steps for var, key in binds(stage.op).items()}
    nothing = np.empty(0, np.int64)
    return replace(frame, bound={**frame.bound, **{var: Bound(key, nothing) for var, key in tables.items()}})
