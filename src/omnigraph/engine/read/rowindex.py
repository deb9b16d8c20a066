"""Sets of row ids: which are distinct, and at which position of an ascending array each one stands."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omnigraph.engine.read.adjacency import Mask, Rows

# A table of flags this many times longer than the input is still faster than sorting it.
_DENSE_FACTOR = 8
_DENSE_FACTOR_ALONE = 256


class RowIndex:
    """Ascending distinct row ids; consecutive ones find their position by subtraction."""

    __slots__ = ("_consecutive", "rows")

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._consecutive = bool(len(rows)) and int(rows[-1]) - int(rows[0]) + 1 == len(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def positions(self, rows: Rows) -> Rows:
        """The position of each row; every one must be present."""
        return rows - self.rows[0] if self._consecutive else np.searchsorted(self.rows, rows)

    def contains(self, rows: Rows) -> Mask:
        """Which of the rows are present."""
        if not len(self.rows):
            return np.zeros(len(rows), np.bool_)
        if self._consecutive:
            inside: Mask = (rows >= self.rows[0]) & (rows <= self.rows[-1])
            return inside
        place = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        present: Mask = self.rows[place] == rows
        return present

    def covers(self, rows: Rows) -> bool:
        """Whether every one of the rows is present."""
        if not len(rows):
            return True
        if self._consecutive:
            return bool(rows.min() >= self.rows[0] and rows.max() <= self.rows[-1])
        return bool(self.contains(rows).all())


def distinct(rows: Rows) -> tuple[Rows, Rows]:
    """(ascending distinct rows, position of each row among them); rows that are so already come back themselves."""
    if len(rows) < 2 or bool((rows[1:] > rows[:-1]).all()):
        return rows, np.arange(len(rows))
    if bool((rows[1:] > rows[:-1]).all()):
        return rows, np.arange(len(rows))
    low, high = int(rows.min()), int(rows.max())
    width = high - low + 1
    if width > _DENSE_FACTOR * len(rows):
        found, inverse = np.unique(rows, return_inverse=True)
        return found, inverse.reshape(-1)
    present = np.zeros(width, np.bool_)
    present[rows - low] = True
    place = np.cumsum(present) - 1
    return np.flatnonzero(present) + low, place[rows - low]


def distinct_rows(rows: Rows) -> Rows:
    """Ascending distinct rows, for those who do not ask where each one went."""
    if len(rows) < 2 or bool((rows[1:] > rows[:-1]).all()):
        return rows
    low, high = int(rows.min()), int(rows.max())
    width = high - low + 1
    if width > _DENSE_FACTOR_ALONE * len(rows):
        return np.unique(rows)
    present = np.zeros(width, np.bool_)
    present[rows - low] = True
    return np.flatnonzero(present) + low


def row_ids(column: pa.ChunkedArray | pa.Array) -> Rows:
    """A `_rowid` column as signed integers."""
    values: Rows = column.to_numpy() if isinstance(column, pa.ChunkedArray) else column.to_numpy(zero_copy_only=False)
    return values.astype(np.int64, copy=False)
