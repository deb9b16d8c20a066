"""Grouping: rows with equal keys become one row, its aggregates computed over integer group numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.checkpoints import checkpoint
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Aggregate
from omnigraph.compiler.ir.ranges import can_fail
from omnigraph.engine.read.columns.arrays import Mask, Rows, countable
from omnigraph.engine.read.columns.pieces import in_order, taken
from omnigraph.engine.read.columns.rowindex import added, distinct, distinct_rows
from omnigraph.engine.read.frames.frame import Frame, combine, first_places, numpy_of
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.shape.numbering import Numbered, number_expr, per_entity
from omnigraph.engine.read.shape.order import dense_ranks
from omnigraph.engine.read.shape.project import output_columns
from omnigraph.engine.read.shape.tally import Integers, Tally, exact_sum
from omnigraph.engine.values.arrow import arrow_type
from omnigraph.engine.values.flags import present
from omnigraph.engine.values.sums import group_sizes, group_sums

Numbers = npt.NDArray[Any]
Fold = Callable[[pa.Array, Rows, int], pa.Array]
Tallies = dict[ir.Expr, tuple[pa.DataType, Tally | None]]
_TALLIED = frozenset({"min", "max", "sum", "avg"})

_NONE: Rows = np.zeros(0, np.int64)
_MANY = 4  # with one row of so many or more, all rows are looked at


def aggregate(run: Run, frame: Frame, op: Aggregate) -> Frame:
    """One row per group, in the order of first rows; without keys there is one group, also over no rows."""
    group, count = _groups(run, frame, op)
    if op.is_keyed:
        first = first_places(group, count)
        by_first = in_order(first)
        if bool((by_first[1:] < by_first[:-1]).any()):
            place = np.empty(count, np.int64)
            place[by_first] = np.arange(count)
            group = place[group]
        keyed = frame.plain().take(first[by_first])
    else:
        keyed = Frame(count)
    outputs: dict[str, pa.Array] = dict(output_columns(run, keyed, op.keys))
    tallies: Tallies = {}
    for column in op.columns:
        if isinstance(column.expr, ir.AggregateCall):
            checkpoint()
            found = _from_tally(run, frame, column.expr, (group, count), tallies)
            outputs[column.name] = fold(run, frame, column.expr, group, count) if found is None else found
    return replace(keyed, outputs={column.name: outputs[column.name] for column in op.columns})


def _groups(run: Run, frame: Frame, op: Aggregate) -> Numbered:
    if not op.is_keyed:
        return np.broadcast_to(np.int64(0), frame.length), 1
    # Without entities the keys alone number the rows, and no array of zeros need be made for them.
    group, count = frame.codes(op.entities) if frame.length and op.entities else (_NONE, min(frame.length, 1))
    for key in op.keys:
        group, count = combine(group, count, *number_expr(run, frame, key.expr))
    return group, count


def _from_tally(run: Run, frame: Frame, call: ir.AggregateCall, groups: Numbered, tallies: Tallies) -> pa.Array | None:
    """An aggregate of integers of a small range, counted once for all aggregates of the same values."""
    if call.function not in _TALLIED or call.arg is None or call.where is not None:
        return None
    if isinstance(call.arg, ir.Node) or groups[1] < 2:
        return None
    if call.arg not in tallies:
        column = _argument(run, frame, call.arg)
        numbers = Integers.of(column)
        tallies[call.arg] = column.type, None if numbers is None else Tally.of(numbers, *groups, frame.times)
    kind, tally = tallies[call.arg]
    if tally is None:
        return None
    if call.function in ("min", "max"):
        found = tally.extremes(largest=call.function == "max")
        stored = pa.int32() if pa.types.is_date32(kind) else pa.int64()
        return pa.array(found, mask=tally.rows == 0).cast(stored).cast(kind)
    if call.distinct:
        tally = tally.different()
    rows, sums = tally.rows, tally.sums().astype(np.float64)
    if call.function == "avg":
        sums /= np.maximum(rows, 1)
    return pa.array(sums, mask=rows == 0)


def fold(run: Run, frame: Frame, call: ir.AggregateCall, group: Rows, count: int) -> pa.Array:
    """One aggregate over rows whose groups are numbered."""
    if frame.times is not None:
        countable(frame.times)
    if call.where is not None:
        kept = run.kept(frame, call.where)
        if frame.times is None and _is_plain(call) and int(np.count_nonzero(kept)) * _MANY >= len(kept):
            # Looking at a whole column is quicker than gathering most of it row by row.
            return _fold_some(run, frame, call, kept, (group, count))
        frame, group = frame.where(kept), group[kept]
    if call.arg is None:
        counts = group_sizes(group, count) if frame.times is None else added(group, frame.times, count)
        return pa.array(counts)
    if isinstance(call.arg, ir.Node) and not call.distinct:
        there = frame.rows(call.arg.var) >= 0
        return pa.array(added(group[there], _times(frame, there), count))
    if call.function == "collect":
        return _collect(run, frame, call, group, count)
    if call.distinct and call.function == "count":
        return _count_distinct(run, frame, call.arg, group, count)
    if call.function in ("min", "max"):
        return _extreme(run, frame, call, group, count)
    if call.distinct:
        frame, group = _different(run, frame, call.arg, group)
    column = _argument(run, frame, call.arg)
    if frame.times is not None:
        return _fold_times(column, group, frame.times, count, call.function)
    if not column.null_count and call.function != "count":
        return _FOLDS[call.function](column, group, count)
    there = present(column)
    if call.function == "count":
        return pa.array(group_sizes(group, count, there))
    return _without(column, there, group, count, call.function)


def _fold_times(column: pa.Array, group: Rows, times: Rows, count: int, function: str) -> pa.Array:
    """The same where rows stand for several."""
    if column.null_count:
        there = present(column)
        column, group, times = column.filter(pa.array(there)), group[there], times[there]
    if function == "count":
        return pa.array(added(group, times, count))
    return _repeated_sums(column, group, times, count, average=function == "avg")


def _fold_some(run: Run, frame: Frame, call: ir.AggregateCall, kept: Mask, groups: Numbered) -> pa.Array:
    group, count = groups
    if call.arg is None:
        return pa.array(group_sizes(group, count, kept))
    column = _argument(run, frame, call.arg)
    there = kept & present(column) if column.null_count else kept
    return _without(column, there, group, count, call.function)


def _without(column: pa.Array, kept: Mask, group: Rows, count: int, function: str) -> pa.Array:
    """The fold of some of the values."""
    if function in ("sum", "avg"):
        # Nothing added is quicker than cutting values out.
        sums = _group_sums(_zeroed(column, kept), group, count, counts := group_sizes(group, count, kept))
        return _mean(sums, counts) if function == "avg" else pc.if_else(pa.array(counts > 0), pa.array(sums), None)
    if count == 1:
        return _FOLDS[function](column.filter(pa.array(kept)), group[kept], count)
    # The others go to a group of their own.
    return _FOLDS[function](column.fill_null(0), np.where(kept, group, count), count + 1).slice(0, count)


def _zeroed(column: pa.Array, kept: Mask) -> Numbers:
    """The numbers of a column, 0 where they do not count."""
    numbers: Numbers = column.fill_null(0).to_numpy(zero_copy_only=False)
    if column.null_count == len(kept) - np.count_nonzero(kept):
        return numbers
    if numbers.dtype.kind in "iu":
        return np.multiply(numbers, kept, dtype=numbers.dtype)
    return np.where(kept, numbers, numbers.dtype.type(0))


def _is_plain(call: ir.AggregateCall) -> bool:
    """Whether values of rows that do not count cannot fail, and nothing but the values is needed."""
    if call.arg is None:
        return True
    values = call.function in _FOLDS and not call.distinct and not isinstance(call.arg, ir.Node)
    return values and not can_fail(call.arg)


def _times(frame: Frame, kept: Mask) -> Rows | None:
    return None if frame.times is None else frame.times[kept]


def _repeated_sums(column: pa.Array, group: Rows, times: Rows, count: int, *, average: bool) -> pa.Array:
    """Sums or means of integers that each occur so many times; exact before they are rounded once."""
    numbers = column.to_numpy(zero_copy_only=False)
    counts = added(group, times, count)
    largest = max(abs(int(numbers.min())), abs(int(numbers.max()))) if len(numbers) else 0
    if largest * int(counts.sum()) < 1 << 53:
        sums = np.bincount(group, weights=numbers.astype(np.int64) * times, minlength=count)
    else:
        totals = np.zeros(count, object)
        np.add.at(totals, group, numbers.astype(object) * times.astype(object))
        sums = totals.astype(np.float64)
    if average:
        sums = np.divide(sums, counts, out=np.zeros(count), where=counts > 0)
    return pc.if_else(pa.array(counts > 0), pa.array(sums), None)


def _argument(run: Run, frame: Frame, expr: ir.Expr) -> pa.Array:
    kind = expr.type
    assert not isinstance(kind, ir.NodeObject)
    return run.evaluator(frame).column(expr, pa.null() if kind == ir.NULL else arrow_type(kind))


def _count_distinct(run: Run, frame: Frame, expr: ir.Expr, group: Rows, count: int) -> pa.Array:
    if isinstance(expr, ir.Node) and count == 1:
        rows = distinct_rows(frame.rows(expr.var))
        return pa.array([len(rows) - int(rows.searchsorted(0))])  # only unbound rows have negative row ids
    values, different = number_expr(run, frame, expr)
    there = frame.rows(expr.var) >= 0 if isinstance(expr, ir.Node) else present(_argument(run, frame, expr))
    values, group = values[there], group[there]
    pairs = distinct_rows(group * max(different, 1) + values)
    return pa.array(np.bincount(pairs // max(different, 1), minlength=count).astype(np.int64))


def _different(run: Run, frame: Frame, expr: ir.Expr, group: Rows) -> tuple[Frame, Rows]:
    """The first row of each value in each group."""
    values, different = number_expr(run, frame, expr)
    kept = _first_of_each(group * max(different, 1) + values)
    return frame.take(kept), group[kept]


def _first_of_each(keys: Rows) -> Rows:
    """The first place of every value, ascending."""
    found, place = distinct(keys)
    return np.sort(first_places(place, len(found)))


def _collect(run: Run, frame: Frame, call: ir.AggregateCall, group: Rows, count: int) -> pa.Array:
    """The values of each group in the order of its rows, without null; a group without values has an empty list."""
    assert call.arg is not None
    column = _argument(run, frame, call.arg)
    picked = np.flatnonzero(present(column))
    if call.key is not None:
        ranks, _ = per_entity(run, frame, call.key, lambda values: dense_ranks(values, descending=call.descending))
        picked = taken(picked, in_order(taken(ranks, picked)))
    if call.distinct and len(picked):
        values, different = number_expr(run, frame, call.arg)
        picked = picked[_first_of_each(group[picked] * max(different, 1) + values[picked])]
    picked = taken(picked, in_order(taken(group, picked)))
    sizes = np.bincount(group[picked], minlength=count)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), column.take(pa.array(picked)))


def _sum(values: pa.Array, group: Rows, count: int) -> pa.Array:
    counts = group_sizes(group, count)
    sums = _group_sums(numpy_of(values), group, count, counts)
    return pc.if_else(pa.array(counts > 0), pa.array(sums), None)


def _average(values: pa.Array, group: Rows, count: int) -> pa.Array:
    counts = group_sizes(group, count)
    return _mean(_group_sums(numpy_of(values), group, count, counts), counts)


def _mean(sums: npt.NDArray[np.float64], counts: Rows) -> pa.Array:
    means = np.divide(sums, counts, out=np.zeros(len(sums)), where=counts > 0)
    return pc.if_else(pa.array(counts > 0), pa.array(means), None)


def _variance(values: pa.Array, group: Rows, count: int) -> pa.Array:
    """Of a sample, from the distances to the mean of the group; both sums have the same digits on Spark."""
    numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    counts = group_sizes(group, count)
    with np.errstate(invalid="ignore", over="ignore"):
        means = _group_sums(numpy_of(values), group, count, counts) / np.maximum(counts, 1)
        distances = numbers - means[group]
        found = group_sums(distances * distances, group, count, counts) / np.maximum(counts - 1, 1)
    return pc.if_else(pa.array(counts > 1), pa.array(found), None)


def _group_sums(numbers: Numbers, group: Rows, count: int, sizes: Rows) -> npt.NDArray[np.float64]:
    if numbers.dtype.kind in "iu" and len(numbers):
        # Integers add up exactly and are rounded once.
        if count == 1 and (total := exact_sum(numbers)) is not None:
            return np.array([float(total)])
        largest = max(abs(int(numbers.min())), abs(int(numbers.max())))
        if count == 1 and largest * len(numbers) < 1 << 63:
            return np.array([float(int(numbers.sum(dtype=np.int64)))])
        if largest * len(numbers) < 1 << 53:  # also exact as doubles, and quicker
            return np.bincount(group, weights=numbers, minlength=count).astype(np.float64)
        if largest * len(numbers) < 1 << 63:
            return _integer_sums(numbers.astype(np.int64), group, count).astype(np.float64)
        # A total that could leave 64 bits is put together from the sums of both halves.
        halves = (_integer_sums(part.astype(np.int64), group, count) for part in (numbers >> 32, numbers & 0xFFFFFFFF))
        high, low = (half.astype(object) for half in halves)
        totals: npt.NDArray[np.float64] = (high * (1 << 32) + low).astype(np.float64)
        return totals
    return group_sums(numbers.astype(np.float64, copy=False), group, count, sizes)


def _integer_sums(numbers: npt.NDArray[np.int64], group: Rows, count: int) -> npt.NDArray[np.int64]:
    sums = np.zeros(count, np.int64)
    np.add.at(sums, group, numbers)
    return sums


def _extreme(run: Run, frame: Frame, call: ir.AggregateCall, group: Rows, count: int) -> pa.Array:
    """The row whose value ranks first among the group's non-null values holds the answer."""
    assert call.arg is not None
    largest = call.function == "max"
    column = _argument(run, frame, call.arg)
    if pa.types.is_integer(column.type) or pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        return _extreme_number(column, group, count, largest=largest)
    ranks, _ = per_entity(run, frame, call.arg, lambda values: dense_ranks(values, descending=largest))
    rows = np.flatnonzero(present(column))
    best = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(best, group[rows], ranks[rows])
    winners = rows[ranks[rows] == best[group[rows]]]
    holder = np.full(count, -1, np.int64)
    holder[group[winners]] = winners
    indices = pa.array(holder, mask=holder < 0)
    return column.take(indices)


def _extreme_number(column: pa.Array, group: Rows, count: int, *, largest: bool) -> pa.Array:
    """The same for what is an integer underneath, without ranking it."""
    kind = column.type
    if not pa.types.is_integer(kind):
        column = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    if column.null_count:
        column, group = column.drop_null(), group[present(column)]
    numbers = column.to_numpy(zero_copy_only=False)
    bounds = np.iinfo(numbers.dtype)
    best = np.full(count, bounds.min if largest else bounds.max, numbers.dtype)
    (np.maximum if largest else np.minimum).at(best, group, numbers)
    empty = group_sizes(group, count) == 0
    return pa.array(best, mask=empty).cast(kind)


_FOLDS: Mapping[str, Fold] = {
    "sum": _sum,
    "avg": _average,
    "variance": _variance,
    "stddev": lambda values, group, count: pc.sqrt(_variance(values, group, count)),
}
