"""Values of one column in memory, with the rows they belong to, and the cache of whole columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.rowindex import RowIndex, row_ids
from omnigraph.memory.cache import CacheKind

ROW_ID = "_rowid"
_NARROW_TEXT = 1 << 31
_MANY = 1 << 12


@dataclass(frozen=True, slots=True)
class Held:
    """The values of one column for an ascending set of rows."""

    index: RowIndex
    values: pa.Array

    def take(self, rows: Rows) -> pa.Array:
        """The value of each row; every one must be present."""
        if len(rows) == 1:
            return self.values.slice(int(self.index.positions(rows)[0]), 1)
        begin = self.index.begin(rows)
        if begin == 0 and len(rows) == len(self.values):
            return self.values
        if begin is not None and not pa.types.is_nested(self.values.type):  # items of a list do not know of a slice
            return self.values.slice(begin, len(rows))
        return gathered(self.values, self.index.positions(rows))


def gathered(values: pa.Array, positions: Rows) -> pa.Array:
    """The values at these positions; NumPy gathers many plain numbers in a quarter of the time that Arrow takes."""
    kind = values.type
    plain = len(positions) >= _MANY and (pa.types.is_integer(kind) or pa.types.is_floating(kind))
    if not plain or values.null_count:
        return values.take(pa.array(positions))
    return pa.array(values.to_numpy()[positions], kind)


def _held_bytes(held: Held) -> int:
    return int(held.values.nbytes + held.index.nbytes)


COLUMNS: CacheKind[Held] = CacheKind("columns", _held_bytes, share=1 / 4)


@dataclass(frozen=True, slots=True)
class Codes:
    """Numbers of the values of a whole column, from 0 on in the order of their first rows."""

    numbers: Rows
    different: int


CODES: CacheKind[Codes] = CacheKind("codes", lambda codes: int(codes.numbers.nbytes), share=1 / 8)


def ascending(table: pa.Table) -> tuple[Rows, pa.Table]:
    """The row ids of a scanned table and its other columns, if any; both in ascending order of row id."""
    rows = row_ids(table[ROW_ID])
    table = table.drop_columns([ROW_ID])
    if len(rows) > 1 and bool((rows[1:] < rows[:-1]).any()):
        order = np.argsort(rows, kind="stable")
        return rows[order], table.take(pa.array(order))
    return rows, table


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """The column as one contiguous array; text beyond 2 GiB gets wider offsets."""
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_string(column.type) and column.nbytes >= _NARROW_TEXT:
        column = column.cast(pa.large_utf8())
    return column.combine_chunks()
