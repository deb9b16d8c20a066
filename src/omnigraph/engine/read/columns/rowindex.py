"""Sets of row ids: which are distinct, and at which position of an ascending array each one stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from omnigraph.engine.read.columns.arrays import Mask, Rows
from omnigraph.engine.read.columns.pieces import PIECE, numbered, pieces, sorted_distinct

# A table of flags this many times longer than the input is still faster than sorting it, while caches hold it; a
# larger one may be so many times longer: 16 M rows scattered over 400 M places take 8 s, sorted 1.7 s.
_DENSE_FACTOR, _CACHED_PLACES, _LARGE_FACTOR = 128, 1 << 20, 4
# Where a variable ranges over several types, a row id has the number of its type above this many bits.
TYPE_SHIFT = 40
ROW_MASK = (1 << TYPE_SHIFT) - 1
_MANY_TYPES = 1 << 10
_PACKED_BITS = 62
# Doubles count exactly up to here.
EXACT = 1 << 53


class RowIndex:
    """Ascending distinct row ids; consecutive ones find their position by subtraction."""

    __slots__ = ("_consecutive", "_first", "_last", "rows")

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._first, self._last = (int(rows[0]), int(rows[-1])) if len(rows) else (0, -1)
        self._consecutive = bool(len(rows)) and self._last - self._first + 1 == len(rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        return int(self.rows.nbytes)

    def positions(self, rows: Rows) -> Rows:
        """The position of each row; every one must be present."""
        return rows - self._first if self._consecutive else np.searchsorted(self.rows, rows)

    def contains(self, rows: Rows) -> Mask:
        """Which of the rows are present."""
        if not len(self.rows):
            return np.zeros(len(rows), np.bool_)
        if self._consecutive:
            inside: Mask = (rows >= self._first) & (rows <= self._last)
            return inside
        place = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        present: Mask = self.rows[place] == rows
        return present

    def is_array(self, rows: Rows) -> bool:
        """Whether these are all of them because it is the same array."""
        return rows is self.rows

    def covers(self, rows: Rows) -> bool:
        """Whether every one of the rows is present."""
        if not len(rows) or self.is_array(rows):
            return True
        if self._consecutive:
            if len(rows) == 1:
                return self._first <= int(rows[0]) <= self._last
            return bool(rows.min() >= self._first and rows.max() <= self._last)
        return bool(self.contains(rows).all())

    def place(self, row: int) -> int | None:
        """The position of one row; None when it is not present."""
        if not self._first <= row <= self._last:
            return None
        if self._consecutive:
            return row - self._first
        at = int(self.rows.searchsorted(row))
        return at if int(self.rows[at]) == row else None

    def begin(self, rows: Rows) -> int | None:
        """The position of the first of the rows, which are present, where the others follow it one by one."""
        if self.is_array(rows) or not len(rows):
            return 0
        first, last = (int(each) for each in self.positions(rows[[0, -1]]))
        if last - first != len(rows) - 1:
            return None
        # Between two of the positions are no others than theirs, so ascending ones have them all.
        return first if bool((rows[1:] > rows[:-1]).all()) else None

    def is_like(self, other: RowIndex) -> bool:
        """Whether both contain the same rows."""
        if self._consecutive and other._consecutive:
            return (self._first, self._last) == (other._first, other._last)
        return self is other or self.equals(other.rows)

    def equals(self, rows: Rows) -> bool:
        """Whether these are all of them, in order."""
        return rows is self.rows or (len(rows) == len(self.rows) and np.array_equal(rows, self.rows))


class RowSpan(RowIndex):
    """The same for all row ids from one to another, which need not have been seen."""

    __slots__ = ()

    def __init__(self, first: int, end: int) -> None:
        self._first, self._last, self._consecutive = first, end - 1, True

    @property
    def rows(self) -> Rows:  # type: ignore[override]
        return np.arange(self._first, self._last + 1)

    def __len__(self) -> int:
        return self._last + 1 - self._first

    @property
    def nbytes(self) -> int:
        return 0

    def is_array(self, rows: Rows) -> bool:
        return False  # there is no array

    def equals(self, rows: Rows) -> bool:
        return len(rows) == len(self) and np.array_equal(rows, self.rows)


def distinct(rows: Rows) -> tuple[Rows, Rows]:
    """(ascending distinct rows, position of each row among them); rows that are so already come back themselves."""
    if _ascend(rows):
        return rows, np.arange(len(rows))
    low, width = _extent(rows)
    if not _is_dense(width, len(rows)):
        if (gaps := _TypeGaps.of(rows, width)) is None:
            return numbered(rows)
        found, place = distinct(gaps.closed(rows))
        return gaps.opened(found), place
    found = _flagged(rows, low, width)
    place = np.empty(width, np.int64)  # only the slots of these rows are ever written or read
    place[found - low] = np.arange(len(found))
    if len(rows) <= PIECE:
        return found, place[rows - low]
    whole = np.empty(len(rows), np.int64)
    for begin, end in pieces(len(rows)):
        whole[begin:end] = place[rows[begin:end] - low]
    return found, whole


def distinct_rows(rows: Rows) -> Rows:
    """Ascending distinct rows, for those who do not ask where each one went."""
    if _ascend(rows):
        return rows
    low, width = _extent(rows)
    if _is_dense(width, len(rows)):
        return _flagged(rows, low, width)
    gaps = _TypeGaps.of(rows, width)
    return sorted_distinct(rows) if gaps is None else gaps.opened(distinct_rows(gaps.closed(rows)))


@dataclass(frozen=True, slots=True)
class Packed:
    """Several columns as one number a row, in the order of the columns."""

    codes: Rows
    lows: tuple[int, ...]
    bits: tuple[int, ...]

    def columns(self, codes: Rows) -> list[Rows]:
        """The columns of some of the numbers."""
        found = []
        for low, width in zip(reversed(self.lows), reversed(self.bits), strict=True):
            found.append((codes & ((1 << width) - 1)) + low)
            codes = codes >> width
        return found[::-1]


def pack(columns: Sequence[Rows]) -> Packed | None:
    """Columns of at least one row in one number each; None where they have too many bits together.

    Such numbers are sorted in a third of the time that it takes to number each column and then the pairs.
    """
    extents = [_extent(column) for column in columns]
    bits = tuple((width - 1).bit_length() for _, width in extents)
    if sum(bits) > _PACKED_BITS:
        return None
    codes = columns[0] - extents[0][0]
    for column, (low, _), width in zip(columns[1:], extents[1:], bits[1:], strict=True):
        codes <<= width
        codes |= column - low
    return Packed(codes, tuple(low for low, _ in extents), bits)


class _TypeGaps:
    """Row ids of several types, which leave wide gaps between the types, as numbers without the gaps."""

    def __init__(self, types: Rows, width: int) -> None:
        self._types = types  # ascending
        self._first = np.zeros(int(types[-1]) + 1, np.int64)  # by type, the number of its row 0
        self._first[types] = np.arange(len(types)) * width
        self._width = width

    @classmethod
    def of(cls, rows: Rows, width: int) -> _TypeGaps | None:
        """None where the rows are of one type, or spread too thin inside the types as well."""
        if not 1 << TYPE_SHIFT < width <= _MANY_TYPES << TYPE_SHIFT or int(rows.min()) < 0:
            return None  # larger numbers are pairs of rows, not row ids
        types = np.flatnonzero(np.bincount(rows >> TYPE_SHIFT))
        longest = int((rows & ROW_MASK).max()) + 1
        if not _is_dense(longest * len(types), len(rows)):
            return None
        return cls(types, longest)

    def closed(self, rows: Rows) -> Rows:
        """The numbers of some rows; they ascend as the rows do."""
        numbers: Rows = self._first[rows >> TYPE_SHIFT]
        numbers += rows & ROW_MASK
        return numbers

    def opened(self, numbers: Rows) -> Rows:
        """The rows that some numbers stand for."""
        types, row = np.divmod(numbers, self._width)
        return (self._types[types] << TYPE_SHIFT) | row


def _ascend(rows: Rows) -> bool:
    return len(rows) < 2 or bool((rows[1:] > rows[:-1]).all())


def _extent(rows: Rows) -> tuple[int, int]:
    low, high = int(rows.min()), int(rows.max())
    return low, high - low + 1


def _is_dense(width: int, length: int) -> bool:
    return width <= _LARGE_FACTOR * length or (width <= _DENSE_FACTOR * length and width <= _CACHED_PLACES)


def _flagged(rows: Rows, low: int, width: int) -> Rows:
    present = np.zeros(width, np.bool_)
    for begin, end in pieces(len(rows)):
        present[rows[begin:end] - low] = True
    return np.flatnonzero(present) + low


def fold(rows: Rows, times: Rows | None) -> tuple[Rows, Rows]:
    """(ascending distinct rows, how many rows each stands for)."""
    found, place = distinct(rows)
    return found, added(place, times, len(found))


def added(group: Rows, times: Rows | None, count: int) -> Rows:
    """How many rows each of the groups 0 … count - 1 has, where every row stands for so many."""
    if count == 1:
        return np.array([len(group) if times is None else int(times.sum())])
    if times is None:
        return np.bincount(group, minlength=count).astype(np.int64, copy=False)
    if float(times.sum(dtype=np.float64)) < EXACT:
        return np.bincount(group, weights=times, minlength=count).astype(np.int64)
    sums = np.zeros(count, np.int64)
    np.add.at(sums, group, times)
    return sums


def row_ids(column: pa.ChunkedArray | pa.Array) -> Rows:
    """A `_rowid` column as signed integers."""
    values: Rows = column.to_numpy() if isinstance(column, pa.ChunkedArray) else column.to_numpy(zero_copy_only=False)
    return values.astype(np.int64, copy=False)
