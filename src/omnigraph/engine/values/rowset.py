"""Set operations on columns: codes for equal tuples, repeated rows, last row per id."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.storage.lance.id_columns import ascend

_CODE_LIMIT = 2**62


def one_array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column as one array."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def tuple_codes(columns: Sequence[pa.ChunkedArray | pa.Array]) -> np.ndarray:
    """One number per row, equal exactly for equal tuples of values; -1 where any of them is null."""
    codes = np.zeros(len(columns[0]), np.int64)
    size = 1
    missing = np.zeros(len(codes), bool)
    for column in columns:
        encoded = _comparable(one_array(column)).dictionary_encode()
        numbers = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        missing |= numbers < 0
        width = max(len(encoded.dictionary), 1)
        if size * width > _CODE_LIMIT:
            distinct, codes = np.unique(codes, return_inverse=True)
            size = len(distinct)
        codes = codes * width + np.maximum(numbers, 0)
        size *= width
    codes[missing] = -1
    return codes


def repeats(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose code (not -1) occurred in an earlier row, and for each the first row that has it."""
    order = np.argsort(codes, kind="stable")
    ranked = codes[order]
    starts = np.flatnonzero(np.diff(ranked, prepend=np.int64(-2)) != 0)
    firsts = order[np.repeat(starts, np.diff(np.append(starts, len(ranked))))]
    again = (order != firsts) & (ranked >= 0)
    return order[again], firsts[again]


def last_positions(ids: pa.Array) -> np.ndarray:
    """The position of the last occurrence of each id, ascending."""
    if ascend(ids):
        return np.arange(len(ids))
    codes = ids.dictionary_encode()
    if len(codes.dictionary) == len(ids):
        return np.arange(len(ids))
    last = np.zeros(len(codes.dictionary), np.int64)
    last[codes.indices.to_numpy(zero_copy_only=False)] = np.arange(len(ids))
    return np.sort(last)


def smallest(ids: pa.Array, positions: np.ndarray, limit: int | None) -> list[int]:
    """The positions ordered by id (then by position), at most `limit` of them."""
    if not len(positions):
        return []
    order = pc.sort_indices(ids.take(pa.array(positions))).to_numpy()
    return [int(position) for position in positions[order[:limit]]]


def _comparable(values: pa.Array) -> pa.Array:
    # Both zeros are one value; adding a positive zero turns the negative one into it.
    return pc.add(values, pa.scalar(0.0, values.type)) if pa.types.is_floating(values.type) else values
