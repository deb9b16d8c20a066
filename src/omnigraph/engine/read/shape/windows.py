"""Windows: values of rows among the rows of their groups, computed over rows that are sorted by group and order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import SortKey, WindowColumns
from omnigraph.engine.read.columns.arrays import Mask, Rows
from omnigraph.engine.read.columns.pieces import in_order, taken
from omnigraph.engine.read.frames.frame import Frame, numpy_of
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import made_key
from omnigraph.engine.read.shape.order import dense_ranks, order
from omnigraph.engine.read.shape.per_group import group_numbers
from omnigraph.engine.values.arrow import arrow_type
from omnigraph.engine.values.sums import running_sums

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Rows by group, then by order: `rows` are their positions, `first` and `last` the bounds of each one's group."""

    rows: Rows
    first: Rows
    last: Rows
    changed: Mask  # whether the keys differ from those of the row before

    @property
    def place(self) -> Rows:
        return np.arange(len(self.rows)) - self.first


def windows(run: Run, frame: Frame, op: WindowColumns) -> Frame:
    """The frame with one more variable, whose properties are the windows."""
    known: dict[tuple[object, object], _Sorted] = {}
    columns: dict[str, pa.Array] = {}
    for output in op.columns:
        call = output.expr
        assert isinstance(call, ir.WindowCall)
        if not frame.length:
            columns[output.name] = pa.array([], arrow_type(call.type))
            continue
        run.budget.check()
        spec = (call.per, call.keys)
        if spec not in known:
            known[spec] = _sorted(run, frame, call, op.ties)
        columns[output.name] = _values(run, frame, call, known[spec])
    numbers = run.made_columns(op.var).add(columns, np.arange(frame.length))
    return frame.bind(op.var, made_key(op.var), numbers)


def _sorted(run: Run, frame: Frame, call: ir.WindowCall, ties: tuple[str, ...]) -> _Sorted:
    run.budget.admit(frame.length, row_bytes=40)
    group, _ = group_numbers(run, frame, call.per)
    positions = order(run, frame, [SortKey(key.expr, key.descending) for key in call.keys], ties)
    rows = taken(positions, in_order(taken(group, positions)))
    ordered, alike = group[rows], group_numbers(run, frame, [key.expr for key in call.keys])[0][rows]
    begins = np.concatenate([np.ones(1, np.bool_), ordered[1:] != ordered[:-1]])
    starts = np.flatnonzero(begins)
    sizes = np.diff(np.append(starts, len(rows)))
    changed = begins | np.concatenate([np.ones(1, np.bool_), alike[1:] != alike[:-1]])
    return _Sorted(rows, np.repeat(starts, sizes), np.repeat(starts + sizes - 1, sizes), changed)


def _values(run: Run, frame: Frame, call: ir.WindowCall, given: _Sorted) -> pa.Array:
    match call.function:
        case "row_number":
            return _spread(given, pa.array(given.place + 1))
        case "rank":
            at = np.maximum.accumulate(np.where(given.changed, np.arange(len(given.rows)), 0))
            return _spread(given, pa.array(at - given.first + 1))
        case "dense_rank":
            steps = np.cumsum(given.changed)
            return _spread(given, pa.array(steps - steps[given.first] + 1))
    column = None if call.arg is None else _argument(run, frame, call.arg).take(pa.array(given.rows))
    if call.function in ("lag", "lead"):
        assert column is not None
        step = -call.offset if call.function == "lag" else call.offset
        source = np.arange(len(given.rows)) + step
        there = (source >= given.first) & (source <= given.last)
        return _spread(given, column.take(pa.array(np.where(there, source, 0), mask=~there)))
    present = np.ones(len(given.rows), np.bool_) if column is None else numpy_of(column.is_valid())
    if call.where is not None:
        present &= run.kept(frame, call.where)[given.rows]
    return _spread(given, _folded(call, column, present, given))


def _folded(call: ir.WindowCall, column: pa.Array | None, present: Mask, given: _Sorted) -> pa.Array:
    """An aggregate up to each row, or without an order over its whole group."""
    counts = _running_sums(present.astype(np.int64), given)
    if call.function == "count":
        return pa.array(_at(counts, call, given))
    assert column is not None
    some = _at(counts, call, given) > 0
    if call.function in ("min", "max"):
        return _extremes(call, column, present, given, some)
    sums = _at(_sums(column, present, given), call, given)
    if call.function == "avg":
        sums = sums / np.maximum(_at(counts, call, given), 1)
    return pa.array(sums, mask=~some)


def _at(values: npt.NDArray[np.int64] | Floats, call: ir.WindowCall, given: _Sorted) -> npt.NDArray[np.int64] | Floats:
    return values if call.keys else values[given.last]


def _extremes(call: ir.WindowCall, column: pa.Array, present: Mask, given: _Sorted, some: Mask) -> pa.Array:
    """By ranks, moved apart from group to group so that one pass over all rows never crosses a group."""
    ranks, count = dense_ranks(column, descending=call.function == "max")
    group = np.cumsum(given.place == 0) - 1
    apart = np.where(present, ranks, count) - group * (count + 1)
    best = _at(np.minimum.accumulate(apart), call, given) + group * (count + 1)
    holder = np.zeros(count + 1, np.int64)
    holder[ranks[::-1]] = np.arange(len(ranks) - 1, -1, -1)
    return column.take(pa.array(holder[best], mask=~some))


def _sums(column: pa.Array, present: Mask, given: _Sorted) -> Floats:
    """Integers add up exactly and are rounded once; doubles have the digits of `engine/values/sums.py`."""
    numbers = np.where(present, numpy_of(column.fill_null(0)), 0)
    if numbers.dtype.kind not in "iu":
        starts = np.flatnonzero(given.place == 0)
        sizes = np.add.reduceat(present.astype(np.int64), starts)
        return running_sums(numbers.astype(np.float64), starts, sizes)
    # In two halves, of which no sum overflows.
    if numbers.dtype != np.uint64:
        numbers = numbers.astype(np.int64, copy=False)
    low = _running_sums((numbers & 0xFFFFFFFF).astype(np.int64), given)
    high = _running_sums((numbers >> 32).astype(np.int64), given) + (low >> 32)
    return high * 2.0**32 + (low & 0xFFFFFFFF)


def _running_sums(numbers: npt.NDArray[np.int64], given: _Sorted) -> npt.NDArray[np.int64]:
    totals = np.cumsum(numbers)
    return totals - (totals - numbers)[given.first]


def _argument(run: Run, frame: Frame, expr: ir.Expr) -> pa.Array:
    kind = expr.type
    assert not isinstance(kind, ir.NodeObject)
    return run.evaluator(frame).column(expr, arrow_type(kind))


def _spread(given: _Sorted, values: pa.Array) -> pa.Array:
    """Values in the order of the sorted rows, put to the rows they belong to."""
    place = np.empty(len(given.rows), np.int64)
    place[given.rows] = np.arange(len(given.rows))
    return values.take(pa.array(place))
