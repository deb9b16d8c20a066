"""Kernels of lists and vectors: items lie in one column, with the list that each belongs to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.functions.lists import MOST_ITEMS
from omnigraph.engine.values.functions.kernel import Answer, Call, Kernel, Numbers, masked, numpy_of, refused, valid


def _sizes(lists: pa.Array) -> Numbers:
    return numpy_of(pc.list_value_length(lists)).astype(np.int64)


def _parts(lists: pa.Array) -> tuple[pa.Array, Numbers, Numbers]:
    """Items, the list of each, and where the items of each list begin."""
    sizes = np.where(lists.is_valid().to_numpy(zero_copy_only=False), _sizes(lists), 0)
    owners = np.repeat(np.arange(len(lists)), sizes)
    return pc.list_flatten(lists), owners, np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])[:-1]


def _lists(items: pa.Array, sizes: Numbers, known: pa.Array) -> pa.Array:
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]).astype(np.int32)
    made = pa.ListArray.from_arrays(pa.array(offsets), items)
    return pc.if_else(known, made, pa.scalar(None, made.type)) if known.false_count else made


def _list(call: Call) -> pa.Array:
    columns = [column.cast(call.kind.value_type) for column in call.columns()]
    known = valid(columns)
    there = np.ones(call.length, np.bool_) if known is None else known
    rows, width = np.flatnonzero(there), len(columns)
    index = (rows[:, None] + np.arange(width) * call.length).ravel()
    return _lists(pa.concat_arrays(columns).take(pa.array(index)), there * width, pa.array(there))


def _size(call: Call) -> pa.Array:
    return pc.list_value_length(call.column(0)).cast(pa.int64())


def _element(call: Call) -> pa.Array:
    lists, places = call.column(0), call.column(1)
    items, _, starts = _parts(lists)
    sizes, at = _sizes(lists), numpy_of(places)
    there = (at < sizes) & (at >= -sizes)
    known = valid([lists, places])
    there = there if known is None else there & known
    index = starts + np.where(at < 0, at + sizes, at)
    return items.take(pa.array(np.where(there, index, 0), mask=~there))


def _slice(call: Call) -> pa.Array:
    columns = call.columns()
    lists = columns[0]
    items, _, starts = _parts(lists)
    sizes = np.where(lists.is_valid().to_numpy(zero_copy_only=False), _sizes(lists), 0)
    bounds = [np.clip(np.where(at < 0, at + sizes, at), 0, sizes) for at in (numpy_of(each) for each in columns[1:])]
    first, last = bounds[0], bounds[1] if len(bounds) > 1 else sizes
    lengths = np.maximum(last - first, 0)
    known = valid(columns)
    lengths = lengths if known is None else np.where(known, lengths, 0)
    index = np.repeat(starts + first - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
    there = np.ones(call.length, np.bool_) if known is None else known
    return _lists(items.take(pa.array(index)), lengths, pa.array(there))


def _range(call: Call) -> Answer:
    columns = call.columns()
    first, last = (numpy_of(column) for column in columns[:2])
    step = numpy_of(columns[2]) if len(columns) > 2 else np.ones(call.length, np.int64)
    known = valid(columns)
    there = np.ones(call.length, np.bool_) if known is None else known
    if any(len(each) and max(abs(int(each.min())), abs(int(each.max()))) >= 1 << 62 for each in (first, last, step)):
        first, last, step = (each.astype(object) for each in (first, last, step))  # differences beyond 64 bits
    counts = np.maximum((last - first) // np.where(step == 0, 1, step) + 1, 0)
    bad = there & ((step == 0) | (counts > MOST_ITEMS))
    why = "the step of a range is not 0" if (there & (step == 0)).any() else f"a range has at most {MOST_ITEMS} items"
    sizes = np.where(there & ~bad, counts, 0).astype(np.int64)
    place = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    items = (np.repeat(first, sizes) + place * np.repeat(step, sizes)).astype(np.int64)
    return refused(_lists(pa.array(items, pa.int64()), sizes, pa.array(there)), bad, why)


def _sum(call: Call) -> Answer:
    lists = call.column(0)
    items, owners, _ = _parts(lists)
    known = valid([lists])
    if pa.types.is_floating(call.kind):
        with np.errstate(over="ignore"):
            totals = np.bincount(owners, weights=numpy_of(items.cast(pa.float64())), minlength=call.length)
        finite = np.isfinite(totals)
        return masked(totals, finite if known is None else known & finite, pa.float64())
    numbers = numpy_of(items if pa.types.is_uint64(items.type) else items.cast(pa.int64()))
    high, low = np.zeros(call.length, np.int64), np.zeros(call.length, np.int64)
    np.add.at(high, owners, (numbers >> 32).astype(np.int64))
    np.add.at(low, owners, (numbers & 0xFFFFFFFF).astype(np.int64))
    high, low = high + (low >> 32), low & 0xFFFFFFFF
    bad = (high >= 1 << 31) | (high < -(1 << 31))
    found = (np.where(bad, 0, high) << 32) + low
    return refused(masked(found, known, pa.int64()), bad, "integer overflow: integers are 64 bits wide and signed")


def _ranks(items: pa.Array) -> Numbers:
    """Numbers in the order of items, equal for equal ones."""
    if pa.types.is_boolean(items.type):
        items = items.cast(pa.int8())
    return numpy_of(pc.rank(items, sort_keys="ascending", tiebreaker="dense")).astype(np.int64)


def _extreme(*, largest: bool) -> Kernel:
    def kernel(call: Call) -> pa.Array:
        lists = call.column(0)
        items, owners, _ = _parts(lists)
        ranks = _ranks(items) if len(items) else np.empty(0, np.int64)
        order = np.lexsort((-ranks if largest else ranks, owners))
        holder = np.full(call.length, -1, np.int64)
        first, place = np.unique(owners[order], return_index=True)
        holder[first] = order[place]
        return items.take(pa.array(np.maximum(holder, 0), mask=holder < 0))

    return kernel


def _sort(call: Call) -> pa.Array:
    lists = call.column(0)
    items, owners, _ = _parts(lists)
    order = np.lexsort((_ranks(items) if len(items) else np.empty(0, np.int64), owners))
    return _lists(items.take(pa.array(order)), np.bincount(owners, minlength=call.length), lists.is_valid())


def _distinct(call: Call) -> pa.Array:
    lists = call.column(0)
    items, owners, _ = _parts(lists)
    ranks = _ranks(items) if len(items) else np.empty(0, np.int64)
    _, first = np.unique(owners * (len(items) + 1) + ranks, return_index=True)
    kept = np.sort(first)
    return _lists(items.take(pa.array(kept)), np.bincount(owners[kept], minlength=call.length), lists.is_valid())


def _mode(call: Call) -> pa.Array:
    items, owners, _ = _parts(call.column(0))
    ranks = _ranks(items) if len(items) else np.empty(0, np.int64)
    _, first, times = np.unique(owners * (len(items) + 1) + ranks, return_index=True, return_counts=True)
    order = np.lexsort((first, -times, owners[first]))
    holder = np.full(call.length, -1, np.int64)
    lists, place = np.unique(owners[first][order], return_index=True)
    holder[lists] = first[order][place]
    return items.take(pa.array(np.maximum(holder, 0), mask=holder < 0))


def _percentile(call: Call) -> Answer:
    lists, shares = call.column(0), call.column(1)
    items, owners, starts = _parts(lists)
    values, share = numpy_of(items.cast(pa.float64(), safe=False), 0.0), numpy_of(shares, 0.0)
    values = values[np.lexsort((values, owners))]
    sizes = np.bincount(owners, minlength=call.length)
    known = valid([lists, shares])
    bad = ~((share >= 0) & (share <= 1))
    bad = bad if known is None else bad & known
    there = (sizes > 0) & ~bad
    place = np.where(there, share * np.maximum(sizes - 1, 0), 0.0)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(sizes - 1, 0))
    padded = np.append(values, 0.0)
    low, high = padded[np.where(there, starts + below, -1)], padded[np.where(there, starts + above, -1)]
    found = masked(low + (high - low) * (place - below), there if known is None else there & known, pa.float64())
    return refused(found, bad, "the share of a percentile lies between 0 and 1")


def _join(call: Call) -> pa.Array:
    return pc.binary_join(call.column(0), call.column(1))


# --- vectors -----------------------------------------------------------------------------------


def _vectors(compute: Callable[[Numbers, Numbers, Callable[[Numbers], Numbers]], Numbers]) -> Kernel:
    """A function of two vectors; null where their lengths differ, and where the result is not finite."""

    def kernel(call: Call) -> pa.Array:
        left, right = (_plain_lists(column) for column in call.columns())
        there = pc.fill_null(pc.equal(pc.list_value_length(left), pc.list_value_length(right)), False)
        rows = np.flatnonzero(numpy_of(there))
        left, right = left.filter(there), right.filter(there)
        owners = np.repeat(np.arange(len(rows)), _sizes(left))

        def total(values: Numbers) -> Numbers:
            return np.bincount(owners, weights=values, minlength=len(rows))

        sides = [numpy_of(pc.list_flatten(each).cast(pa.float64(), safe=False), 0.0) for each in (left, right)]
        with np.errstate(all="ignore"):
            answers = compute(sides[0], sides[1], total)
        found, known = np.zeros(call.length), np.zeros(call.length, np.bool_)
        found[rows], known[rows] = answers, np.isfinite(answers)
        return masked(found, known, pa.float64())

    return kernel


def _plain_lists(column: pa.Array) -> pa.Array:
    kind = column.type
    return column.cast(pa.list_(kind.value_type)) if pa.types.is_fixed_size_list(kind) else column


LIST_KERNELS: dict[str, Kernel] = {
    "list": _list,
    "size": _size,
    "element": _element,
    "slice": _slice,
    "range": _range,
    "list_sum": _sum,
    "list_min": _extreme(largest=False),
    "list_max": _extreme(largest=True),
    "list_sort": _sort,
    "list_distinct": _distinct,
    "list_mode": _mode,
    "list_percentile": _percentile,
    "join": _join,
    "cosine": _vectors(lambda a, b, total: total(a * b) / (np.sqrt(total(a * a)) * np.sqrt(total(b * b)))),
    "dot": _vectors(lambda a, b, total: total(a * b)),
    "l2": _vectors(lambda a, b, total: np.sqrt(total((a - b) ** 2))),
}
