"""Row equality as merges, diffs and feeds understand it: typed values, bit for bit, nulls and structure significant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def differing_rows(left: pa.Table, right: pa.Table, columns: Sequence[str]) -> np.ndarray:
    """Whether row i of one table differs from row i of the other in any of the columns."""
    differs = np.zeros(left.num_rows, bool)
    for name in columns:
        differs |= differing_values(left[name], right[name])
    return differs


def differing_values(left: pa.Array | pa.ChunkedArray, right: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Whether value i of one column differs from value i of the other; null equals only null."""
    one, other = _array(left), _array(right)
    if not one.type.equals(other.type):
        kind = _wider(one.type, other.type)
        one, other = one.cast(kind), other.cast(kind)
    here, there = _mask(one.is_valid()), _mask(other.is_valid())
    differs: np.ndarray = here != there
    both = np.flatnonzero(here & there)
    if len(both) < len(one):
        one, other = one.take(pa.array(both)), other.take(pa.array(both))
    differs[both] = _differing(one, other)
    return differs


def one_list(lists: pa.Array) -> pa.ListScalar | None:
    """The list that a column of lists of plain values has in every row; None where they differ or one is null.

    >>> one_list(pa.array([[1, 2], [1, 2]])).as_py(), one_list(pa.array([[1, 2], [2, 1]]))
    ([1, 2], None)
    """
    if not pa.types.is_list(lists.type) or pa.types.is_nested(lists.type.value_type) or lists.null_count:
        return None
    first = lists[0]
    if len(lists) == 1 or not first.equals(lists[len(lists) - 1]):
        return first if len(lists) == 1 else None
    size, items = len(first), lists.flatten()
    if (
        len(items) != size * len(lists)
        or items.null_count
        or bool(pc.any(pc.not_equal(lists.value_lengths(), size)).as_py())
    ):
        return None
    # Each item is as the one a list before it.
    repeated = not size or pc.all(pc.equal(items[size:], items[:-size])).as_py()
    return first if repeated else None


def _differing(one: pa.Array, other: pa.Array) -> np.ndarray:
    """The same for arrays without nulls at this level."""
    kind = one.type
    if pa.types.is_floating(kind):
        different: np.ndarray = _bits(one) != _bits(other)
        return different
    if pa.types.is_struct(kind):
        differs = np.zeros(len(one), bool)
        for position in range(kind.num_fields):
            differs |= differing_values(one.field(position), other.field(position))
        return differs
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _differing_lists(one, other)
    return _mask(pc.not_equal(one, other))


def _differing_lists(one: pa.Array, other: pa.Array) -> np.ndarray:
    lengths = pc.list_value_length(one).to_numpy(zero_copy_only=False)
    differs: np.ndarray = lengths != pc.list_value_length(other).to_numpy(zero_copy_only=False)
    same = np.flatnonzero(~differs)
    chosen = pa.array(same)
    elements = differing_values(one.take(chosen).flatten(), other.take(chosen).flatten())
    owners = np.repeat(same, lengths[same])
    differs[owners[elements]] = True
    return differs


def _bits(values: pa.Array) -> np.ndarray:
    numbers = values.to_numpy(zero_copy_only=False)
    canonical = np.where(np.isnan(numbers), np.array(np.nan, numbers.dtype), numbers)
    return canonical.view(f"u{canonical.dtype.itemsize}")


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type that holds the values of both; a property may have been widened between two versions of its table."""
    sides = [pa.schema([("value", kind)]) for kind in (one, other)]
    try:
        return pa.unify_schemas(sides, promote_options="permissive").field(0).type
    except pa.ArrowTypeError:
        return one


def _array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _mask(values: pa.Array) -> np.ndarray:
    mask: np.ndarray = values.to_numpy(zero_copy_only=False)
    return mask
