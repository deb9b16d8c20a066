"""`optional { … }`: every row stays, extended by what the inner pipeline finds, or by null where it finds nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from omnigraph.compiler.ir.ops import LeftJoin, MatchOp, ShortestPath, pipelines
from omnigraph.engine.read.columns.arrays import spread
from omnigraph.engine.read.columns.pieces import in_order
from omnigraph.engine.read.frames.frame import Bound, Frame, first_places
from omnigraph.engine.read.frames.paths import path_types
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import OPTIONAL
from omnigraph.engine.read.match.negation import MARK, Pipeline

MISSING = -1


def left_join(run: Run, frame: Frame, op: LeftJoin, pipeline: Pipeline, live: frozenset[str]) -> Frame:
    """Run the inner pipeline once per distinct assignment of the variables it reads, and spread what it found."""
    if not frame.length:
        return frame
    for path in _paths(op.ops):
        # Where nothing is found, nulls still have a type.
        run.path_kinds[path.var] = path_types(path, run.view.catalog)
    wanted = [var for var in op.binds if var in live]
    code, count = frame.codes(op.outer)
    inner = frame.only(op.outer).take(first_places(code, count)).bind(MARK, "", np.arange(count))
    found = pipeline(run, inner, op.ops, frozenset({MARK, *wanted}))
    found = found.take(in_order(found.rows(MARK)))
    hits = np.bincount(found.rows(MARK), minlength=count)
    # Behind what was found stands one row of nulls, which every assignment without a solution points to.
    start = np.where(hits > 0, np.cumsum(hits) - hits, found.length)
    stop = np.where(hits > 0, np.cumsum(hits), found.length + 1)
    run.budget.admit(int((stop - start)[code].sum()), row_bytes=8 * (len(frame.bound) + len(wanted)))
    owner, entry = spread(start[code], stop[code])
    wider = frame.take(owner)
    for var in wanted:
        rows = np.append(found.rows(var), MISSING)
        wider = wider.bind(var, optional_key(found.bound[var].table_key), rows[entry])
    return wider


def _paths(ops: tuple[MatchOp, ...]) -> Iterator[ShortestPath]:
    for op in ops:
        if isinstance(op, ShortestPath):
            yield op
        for inner in pipelines(op):
            yield from _paths(inner)


def optional_key(table_key: str) -> str:
    """The key of a variable that may be null."""
    return OPTIONAL + table_key.removeprefix(OPTIONAL)


def present(frame: Frame, variables: Iterable[str]) -> Frame:
    """The rows in which these variables are not null; from there on they are not optional."""
    optional = [var for var in variables if frame.bound[var].table_key.startswith(OPTIONAL)]
    if not optional:
        return frame
    keep = np.ones(frame.length, np.bool_)
    for var in optional:
        keep &= frame.rows(var) >= 0
    kept = frame.where(keep)
    plain = {var: Bound(kept.bound[var].table_key.removeprefix(OPTIONAL), kept.rows(var)) for var in optional}
    return replace(kept, bound={**kept.bound, **plain})
