"""Integers of a small range by group: one pass counts how often each occurs, and every fold reads the counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.rowindex import EXACT

# Up to so many counters for each row; more would take longer to read than the rows.
_MOST_COUNTERS = 1
_FEWEST_ROWS = 1 << 12
# Blocks that stay in a cache while they are looked at several times.
_BLOCK = 1 << 17
# So large that a block of such numbers adds up within 64 bits.
_SAFE = 1 << 46


@dataclass(frozen=True, slots=True)
class Tally:
    """How often each number from `low` on occurs in each group."""

    low: int
    counts: npt.NDArray[np.int64]  # one row for each group, one column for each number

    @classmethod
    def of(cls, numbers: npt.NDArray[np.integer], group: Rows, count: int) -> Tally | None:
        """None where there are few rows, too many different numbers, or sums that doubles do not hold."""
        if len(numbers) < _FEWEST_ROWS or count < 2:
            return None
        low, high = int(numbers.min()), int(numbers.max())
        width = high - low + 1
        if width * count > _MOST_COUNTERS * len(numbers) or max(-low, high) * len(numbers) >= EXACT:
            return None
        places = group * width
        places += (numbers - numbers.min()).astype(np.int64, copy=False)
        return cls(low, np.bincount(places, minlength=width * count).reshape(count, width))

    @property
    def rows(self) -> Rows:
        """How many rows each group has."""
        found: Rows = self.counts.sum(axis=1)
        return found

    def sums(self) -> Rows:
        """What the numbers of each group add up to."""
        return self.counts @ (np.arange(self.counts.shape[1]) + self.low)

    def extremes(self, *, largest: bool) -> Rows:
        """The smallest or largest number of each group; of no use where a group is empty."""
        there = self.counts > 0
        place: Rows = there[:, ::-1].argmax(axis=1) if largest else there.argmax(axis=1)
        return self.low + self.counts.shape[1] - 1 - place if largest else self.low + place


def exact_sum(numbers: npt.NDArray[np.integer]) -> int | None:
    """The sum of all numbers; None where they could leave 64 bits on the way."""
    if not len(numbers):
        return 0
    if numbers.dtype.itemsize < 8:
        return int(numbers.sum(dtype=np.int64))  # fewer than 2^32 of them
    total = 0
    for begin in range(0, len(numbers), _BLOCK):
        block = numbers[begin : begin + _BLOCK]
        if not -_SAFE < _largest(block) < _SAFE:
            return None
        total += int(block.sum(dtype=np.int64))
    return total


def _largest(block: npt.NDArray[np.integer]) -> int:
    """At least the largest absolute value of some numbers, in one pass where none is negative."""
    bits = int(np.bitwise_or.reduce(block))
    return bits if bits >= 0 else max(-int(block.min()), int(block.max()))


def integers(column: pa.Array) -> npt.NDArray[np.integer] | None:
    """The numbers of a column of integers without nulls."""
    if column.null_count or not pa.types.is_integer(column.type):
        return None
    found: npt.NDArray[np.integer] = column.to_numpy(zero_copy_only=False)
    return found
