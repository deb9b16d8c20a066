"""`not { … }`, `exists { … }` and aggregates over a pattern: what the inner pipeline makes of a row."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import FOUND, AntiJoin, Mark, MatchOp
from omnigraph.compiler.types import PropType
from omnigraph.engine.read.columns.arrays import Mask
from omnigraph.engine.read.frames.frame import Frame, first_places
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import MARKED, made_key
from omnigraph.engine.read.shape.aggregate import fold
from omnigraph.engine.read.shape.order import order
from omnigraph.engine.values.arrow import arrow_type

# No variable can have this name, so it can ride along in the inner frame.
MARK = "#row"

Pipeline = Callable[[Run, Frame, tuple[MatchOp, ...], frozenset[str]], Frame]
# The same, with a flag: whether only the existence of a row for each assignment of the variables to keep matters.
Match = Callable[..., Frame]


def anti_join(run: Run, frame: Frame, op: AntiJoin, pipeline: Pipeline) -> Frame:
    """The rows that the inner pipeline cannot extend."""
    return frame.where(~_extensible(run, frame, op, pipeline)) if frame.length else frame


def mark(run: Run, frame: Frame, op: Mark, match: Match) -> Frame:
    """The rows with the answer for each."""
    if op.call is not None:
        return _folded(run, frame, op, op.call, match)
    pipeline = partial(match, exists=True)
    return frame.bind(op.var, MARKED, _extensible(run, frame, op, pipeline).astype(np.int64))


def _folded(run: Run, frame: Frame, op: Mark, call: ir.AggregateCall, match: Match) -> Frame:
    """The rows with what the aggregate makes of the solutions for each; every assignment is looked at once."""
    code, count = frame.codes(op.outer)
    inner = frame.only(op.outer).take(first_places(code, count)).bind(MARK, "", np.arange(count))
    found = match(run, inner, op.ops, op.keeps | {MARK})
    if op.ties:
        found = found.take(order(run, found, (), op.ties))
    assert isinstance(call.type, PropType)
    values = fold(run, found, call, found.rows(MARK), count).cast(arrow_type(call.type))
    numbers = run.made_columns(op.var).add({FOUND: values}, np.arange(count))
    return frame.bind(op.var, made_key(op.var), numbers[code])


def _extensible(run: Run, frame: Frame, op: AntiJoin | Mark, pipeline: Pipeline) -> Mask:
    """Run the inner pipeline once per distinct assignment of the variables it reads."""
    code, count = frame.codes(op.outer)
    inner = frame.only(op.outer).take(first_places(code, count)).bind(MARK, "", np.arange(count))
    extended = pipeline(run, inner, op.ops, frozenset({MARK}))
    matched = np.zeros(count, np.bool_)
    matched[extended.rows(MARK)] = True
    return matched[code]
