"""`unwind list as name`: every row once for each item of a list."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.ir.ops import ITEM, Unwind
from omnigraph.compiler.types import PropType
from omnigraph.engine.read.frames.frame import Frame
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import made_key
from omnigraph.engine.values.arrow import arrow_type


def unwind(run: Run, frame: Frame, op: Unwind) -> Frame:
    """The rows with their items; one whose list is empty or null has none."""
    assert isinstance(op.expr.type, PropType)
    lists = run.evaluator(frame).column(op.expr, arrow_type(op.expr.type))
    owners = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    run.budget.admit(len(owners), row_bytes=8 * (len(frame.bound) + 2))
    first = np.flatnonzero(np.concatenate([np.ones(min(len(owners), 1), np.bool_), owners[1:] != owners[:-1]]))
    starts = np.repeat(first, np.diff(np.append(first, len(owners))))
    items = pc.list_flatten(lists)
    numbers = run.made_columns(op.var).add({ITEM: _one(items)}, np.arange(len(owners)) - starts)
    return frame.take(owners).bind(op.var, made_key(op.var), numbers)


def _one(items: pa.Array | pa.ChunkedArray) -> pa.Array:
    return items.combine_chunks() if isinstance(items, pa.ChunkedArray) else items
