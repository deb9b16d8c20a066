"""Integers of a small range by group: one pass counts how often each occurs, and every fold reads the counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.checkpoints import checkpoint
from omnigraph.cores import in_parts
from omnigraph.engine.read.columns.arrays import Mask, Rows
from omnigraph.engine.read.columns.rowindex import EXACT
from omnigraph.engine.values.flags import present
from omnigraph.engine.values.sums import SUMMED, slices

# Up to so many counters for each row; more would take longer to read than the rows.
_MOST_COUNTERS = 1
_LARGEST = (1 << 31) - 1
_FEWEST_ROWS = 1 << 12
# Blocks that stay in a cache while they are looked at several times.
_BLOCK = 1 << 17
_TALLIED = 1 << 16
# So large that a block of such numbers adds up within 64 bits.
_SAFE = 1 << 46


@dataclass(frozen=True, slots=True)
class Integers:
    """A column of what is an integer underneath; places without a value have any number."""

    numbers: npt.NDArray[np.integer]
    low: int
    high: int
    there: Mask | None  # which have a value; None: all of them

    @classmethod
    def of(cls, column: pa.Array) -> Integers | None:
        """None for another type, and for a column without any value."""
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_date(kind)) or column.null_count == len(column):
            return None
        there = present(column) if column.null_count else None
        stored = column.view(pa.int32() if kind.bit_width == 32 else pa.int64()) if pa.types.is_date(kind) else column
        # The buffer as it is: filling in what is null would copy it.
        values = pa.Array.from_buffers(stored.type, len(stored), [None, stored.buffers()[1]], offset=stored.offset)
        numbers: npt.NDArray[np.integer] = values.to_numpy()
        if there is None:
            return cls(numbers, int(numbers.min()), int(numbers.max()), None)
        ends = pc.min_max(stored)
        return cls(numbers, ends["min"].as_py(), ends["max"].as_py(), there)


@dataclass(frozen=True, slots=True)
class Tally:
    """How often each number from `low` on occurs in each group."""

    low: int
    counts: npt.NDArray[np.int64]  # one row for each group, one column for each number

    @classmethod
    def of(cls, column: Integers, group: Rows, count: int, times: Rows | None = None) -> Tally | None:
        """Of rows that each stand for themselves or for so many.

        None where there are few rows, too many different numbers, or sums that doubles do not hold.
        """
        numbers, width = column.numbers, column.high - column.low + 1
        counters, rows = width * count, len(numbers) if times is None else float(times.sum(dtype=np.float64))
        if len(numbers) < _FEWEST_ROWS or count < 2 or counters > min(_MOST_COUNTERS * len(numbers), _LARGEST):
            return None
        if max(-column.low, column.high, 1) * rows >= EXACT:
            return None
        low, factor = numbers.dtype.type(column.low), np.int32(width)
        counts = np.zeros(counters, np.int64)
        # Blocks stay in a cache: a million rows take 2.5 ms, all at once 9.
        step = max(_TALLIED, 4 * counters)
        for begin in range(0, len(numbers), step):
            part = slice(begin, begin + step)
            places = group[part].astype(np.int32)
            places *= factor
            places += (numbers[part] - low).astype(np.int32, copy=False)
            weights = None if times is None else times[part]
            if column.there is not None:
                there = column.there[part]
                places, weights = places[there], None if weights is None else weights[there]
            # Sums of weights are doubles, which hold them exactly.
            counts += np.bincount(places, weights, minlength=counters).astype(np.int64, copy=False)
            checkpoint()
        return cls(column.low, counts.reshape(count, width))

    @property
    def rows(self) -> Rows:
        """How many rows each group has."""
        found: Rows = self.counts.sum(axis=1)
        return found

    def sums(self) -> Rows:
        """What the numbers of each group add up to."""
        return self.counts @ (np.arange(self.counts.shape[1]) + self.low)

    def different(self) -> Tally:
        """The same with each number of a group once."""
        return Tally(self.low, (self.counts > 0).astype(np.int64))

    def extremes(self, *, largest: bool) -> Rows:
        """The smallest or largest number of each group; of no use where a group is empty."""
        there = self.counts > 0
        place: Rows = there[:, ::-1].argmax(axis=1) if largest else there.argmax(axis=1)
        return self.low + self.counts.shape[1] - 1 - place if largest else self.low + place


def exact_sum(numbers: npt.NDArray[np.integer]) -> int | None:
    """The sum of all numbers; None where they could leave 64 bits on the way."""
    found: list[int | None] = []
    in_parts(_part_sum, slices(numbers, SUMMED), found.append)
    return None if None in found else sum(part for part in found if part is not None)


def _part_sum(numbers: npt.NDArray[np.integer]) -> int | None:
    if numbers.dtype.itemsize < 8:
        return int(numbers.sum(dtype=np.int64))  # fewer than 2^32 of them
    total = 0
    for block in slices(numbers, _BLOCK):
        if not -_SAFE < _largest(block) < _SAFE:
            return None
        total += int(block.sum(dtype=np.int64))
    return total


def _largest(block: npt.NDArray[np.integer]) -> int:
    """At least the largest absolute value of some numbers, in one pass where none is negative."""
    bits = int(np.bitwise_or.reduce(block))
    return bits if bits >= 0 else max(-int(block.min()), int(block.max()))
