"""Work inside groups of rows: the leading rows of each, in the order that the rows have."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Limit
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.pieces import in_order
from omnigraph.engine.read.frames.frame import Frame, combine
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.shape.numbering import Numbered, number_expr


def limit_per(run: Run, frame: Frame, op: Limit) -> Frame:
    """The rows of a frame that are among the first of their group, after those that are skipped."""
    if not frame.length:
        return frame
    group, _ = group_numbers(run, frame, op.per)
    place = places_in_groups(group)
    begin, most = run.row_number(op.offset, "offset") or 0, run.row_number(op.limit, "limit")
    kept = place >= begin
    if most is not None:
        kept &= place < begin + most
    return frame.where(kept)


def group_numbers(run: Run, frame: Frame, keys: Iterable[ir.Expr]) -> Numbered:
    """A number per row, equal where all keys are; without keys all rows are one group."""
    group, count = np.zeros(frame.length, np.int64), 1
    for key in keys:
        group, count = combine(group, count, *number_expr(run, frame, key))
    return group, count


def places_in_groups(group: Rows) -> Rows:
    """How many rows of the same group come before each row."""
    order = in_order(group)
    ordered = group[order]
    first = np.flatnonzero(np.concatenate([np.ones(1, np.bool_), ordered[1:] != ordered[:-1]]))
    place = np.empty(len(group), np.int64)
    place[order] = np.arange(len(group)) - np.repeat(first, np.diff(np.append(first, len(group))))
    return place
