"""`either { … } or { … }`: every row is extended by what any of the inner pipelines finds for it, each thing once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from omnigraph.compiler.ir.ops import Either
from omnigraph.engine.read.columns.arrays import spread
from omnigraph.engine.read.columns.pieces import in_order
from omnigraph.engine.read.frames.frame import Bound, Frame, concatenate, first_places
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import OPTIONAL
from omnigraph.engine.read.match.negation import MARK, Pipeline
from omnigraph.engine.read.match.optional import optional_key


def either(run: Run, frame: Frame, op: Either, pipeline: Pipeline) -> Frame:
    """Run the pipelines once per distinct assignment of the variables they read, and spread what they found."""
    code, count = frame.codes(op.outer)
    inner = frame.only(op.outer).take(first_places(code, count)).bind(MARK, "", np.arange(count))
    kept = frozenset({MARK, *op.binds})
    parts = [pipeline(run, inner, branch.ops, kept).only(kept) for branch in op.branches]
    keys = {var: shared_key([part.bound[var].table_key for part in parts]) for var in op.binds}
    found = concatenate([replace(part, bound={var: part.bound[var] for var in (MARK, *op.binds)}) for part in parts])
    found = found.unique()
    found = found.take(in_order(found.rows(MARK)))
    stop = np.cumsum(np.bincount(found.rows(MARK), minlength=count))
    start = np.concatenate([np.zeros(1, np.int64), stop[:-1]])
    run.budget.admit(int((stop - start)[code].sum()), row_bytes=8 * (len(frame.bound) + len(op.binds)))
    owner, entry = spread(start[code], stop[code])
    wider = frame.take(owner)
    bound = {var: Bound(keys[var], found.rows(var)[entry]) for var in op.binds}
    return replace(wider, bound={**wider.bound, **bound})


def shared_key(keys: Sequence[str]) -> str:
    """The table key of a variable that several pipelines bind: it may be null if it may be so in one of them."""
    return optional_key(keys[0]) if any(key.startswith(OPTIONAL) for key in keys) else keys[0]
