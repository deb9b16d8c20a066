"""`not { … }`: keep the rows that the inner pipeline cannot extend."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from omnigraph.compiler.ir.ops import AntiJoin, MatchOp
from omnigraph.engine.read.frames.frame import Frame, first_places
from omnigraph.engine.read.frames.run import Run

# No variable can have this name, so it can ride along in the inner frame.
MARK = "#row"

Pipeline = Callable[[Run, Frame, tuple[MatchOp, ...], frozenset[str]], Frame]


def anti_join(run: Run, frame: Frame, op: AntiJoin, pipeline: Pipeline) -> Frame:
    """Run the inner pipeline once per distinct assignment of the variables it reads."""
    if not frame.length:
        return frame
    code, count = frame.codes(op.outer)
    inner = frame.only(op.outer).take(first_places(code, count)).bind(MARK, "", np.arange(count))
    extended = pipeline(run, inner, op.ops, frozenset({MARK}))
    matched = np.zeros(count, np.bool_)
    matched[extended.rows(MARK)] = True
    return frame.where(~matched[code])
