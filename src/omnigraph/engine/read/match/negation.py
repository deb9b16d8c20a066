"""`not { … }` and `exists { … }`: whether the inner pipeline can extend a row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from omnigraph.compiler.ir.ops import AntiJoin, Mark, MatchOp
from omnigraph.engine.read.columns.arrays import Mask
from omnigraph.engine.read.frames.frame import Frame, first_places
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import MARKED

# No variable can have this name, so it can ride along in the inner frame.
MARK = "#row"

Pipeline = Callable[[Run, Frame, tuple[MatchOp, ...], frozenset[str]], Frame]


def anti_join(run: Run, frame: Frame, op: AntiJoin, pipeline: Pipeline) -> Frame:
    """The rows that the inner pipeline cannot extend."""
    return frame.where(~_extensible(run, frame, op, pipeline)) if frame.length else frame


def mark(run: Run, frame: Frame, op: Mark, pipeline: Pipeline) -> Frame:
    """The rows with the answer for each."""
    return frame.bind(op.var, MARKED, _extensible(run, frame, op, pipeline).astype(np.int64))


def _extensible(run: Run, frame: Frame, op: AntiJoin | Mark, pipeline: Pipeline) -> Mask:
    """Run the inner pipeline once per distinct assignment of the variables it reads."""
    code, count = frame.codes(op.outer)
    inner = frame.only(op.outer).take(first_places(code, count)).bind(MARK, "", np.arange(count))
    extended = pipeline(run, inner, op.ops, frozenset({MARK}))
    matched = np.zeros(count, np.bool_)
    matched[extended.rows(MARK)] = True
    return matched[code]
