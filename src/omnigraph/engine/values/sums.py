"""The one summation of doubles: the same digits in whatever order the values come, here and on Spark.

Adding doubles rounds at every step, so the last digits of a plain sum depend on the order of rows, which no two engines
share. Here each value is split at a grid that depends only on the largest value and on how many there are: multiples of
the grid, and what is left at a second, finer one. Both add up without any rounding, and what remains below the second
grid is dropped, which is less than rounding would have lost. Only `+`, `-`, `*` and `max` are used, so that
`pipeline/gq/sums.py` says the same in Spark's expressions.
"""

from __future__ import annotations

from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from omnigraph.cores import in_parts

_N = TypeVar("_N", bound=np.generic)

Doubles = npt.NDArray[np.float64]
Codes = npt.NDArray[np.signedinteger]

BELOW_ONE = 1 - 2.0**-53
PHI = 2.0**52 + 1
# Beyond this the constants of the grid would overflow, and doubles are added as they come.
LARGEST = 2.0**900
SMALLEST = 2.0**-800  # below this the steps of a grid would not be numbers
_BLOCK = 1 << 15  # values
SUMMED = 1 << 20  # values that are worth a thread's while
FEW_GROUPS = 16  # looking for the rows of each group is quicker than counting by number


def group_sums(numbers: Doubles, group: Codes, count: int, sizes: npt.NDArray[np.int64] | None = None) -> Doubles:
    """The sum of the values of each group; of those that count towards `sizes`, the others being 0.

    >>> group_sums(np.array([1e16, 1.0, -1e16]), np.zeros(3, np.int64), 1).tolist()
    [1.0]
    """
    if not len(numbers):
        return np.zeros(count)
    if sizes is None:
        sizes = group_sizes(group, count)
    if count <= FEW_GROUPS:
        # Each group by itself, without looking up its grid for every value: half of the time for a million values.
        codes = group.astype(np.int8, copy=False)
        parts = (numbers if count == 1 else numbers.take(np.flatnonzero(codes == at)) for at in range(count))
        return np.array([_sum(part, size) for part, size in zip(parts, sizes.tolist(), strict=True)])
    largest = np.zeros(count)
    with np.errstate(invalid="ignore"):
        np.maximum.at(largest, group, np.abs(numbers))
    first, second = grids(largest, sizes)
    usual = largest <= LARGEST
    coarse_sums, fine_sums = np.zeros(count), np.zeros(count)
    step = max(_BLOCK, 16 * count)
    with np.errstate(invalid="ignore", over="ignore"):
        # On a grid nothing is rounded, so blocks that stay in the processor's cache add up to the same digits.
        for low in range(0, len(numbers), step):
            part, owner = numbers[low : low + step], group[low : low + step]
            high, rest = _split(part, first[owner], second[owner])
            coarse_sums += _added(high, owner, count)
            fine_sums += _added(rest, owner, count)
        sums: Doubles = coarse_sums + fine_sums
        # A group with a value that is infinite, huge or not a number.
        return sums if usual.all() else np.where(usual, sums, _added(numbers, group, count))


def running_sums(numbers: Doubles, starts: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> Doubles:
    """The sum up to each value, of groups that stand one after the other; the last one is the sum of the group.

    `sizes` says how many values of each group count, the others being 0.

    >>> running_sums(np.array([1e16, 1.0, -1e16, 0.5]), np.array([0, 3]), np.array([3, 1])).tolist()
    [1e+16, 1e+16, 1.0, 0.5]
    """
    lengths = np.diff(np.append(starts, len(numbers)))
    with np.errstate(invalid="ignore", over="ignore"):
        largest = np.maximum.reduceat(np.abs(numbers), starts)
        first, second = grids(largest, sizes)
        high, rest = _split(numbers, np.repeat(first, lengths), np.repeat(second, lengths))
        usual = (largest >= SMALLEST) & (largest <= LARGEST)
        sums = _running(high, np.where(usual, first, 0.0), starts, lengths)
        sums += _running(rest, np.where(usual, second, 0.0), starts, lengths)
        # Groups whose grids are not numbers to count by are added up one by one.
        for at in np.flatnonzero(~usual & (largest > 0)).tolist():
            own = slice(starts[at], starts[at] + lengths[at])
            huge = largest[at] > LARGEST
            sums[own] = np.cumsum(numbers[own]) if huge else np.cumsum(high[own]) + np.cumsum(rest[own])
    return sums


def _running(parts: Doubles, grid: Doubles, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> Doubles:
    """Running sums of multiples of a grid, counted in its steps; what overflows across all groups cancels."""
    step = grid / 1.5 * 2.0**-52
    counts = (parts * np.repeat(np.divide(1.0, step, out=np.zeros(len(step)), where=step > 0), lengths)).astype(
        np.int64
    )
    totals = np.cumsum(counts)
    found: Doubles = (totals - np.repeat((totals - counts)[starts], lengths)) * np.repeat(step, lengths)
    return found


def group_sizes(group: Codes, count: int, kept: npt.NDArray[np.bool_] | None = None) -> npt.NDArray[np.int64]:
    """How many rows, or of those that are kept, each of the groups 0 … count - 1 has."""
    if count == 1:
        return np.array([len(group) if kept is None else int(np.count_nonzero(kept))])
    if count > FEW_GROUPS:
        found = np.bincount(group if kept is None else group[kept], minlength=count)
        return found.astype(np.int64, copy=False)
    codes = group.astype(np.int8, copy=False)
    own = (codes == at for at in range(count))
    return np.array([int(np.count_nonzero(each if kept is None else each & kept)) for each in own])


def _sum(numbers: Doubles, size: int) -> float:
    """The same for one group."""
    if not len(numbers):
        return 0.0
    ends: list[float] = []
    with np.errstate(invalid="ignore", over="ignore"):
        in_parts(_largest, slices(numbers, SUMMED), ends.append)
        largest = np.max(ends)
        if not largest <= LARGEST:
            return float(_added(numbers, np.zeros(len(numbers), np.int64), 2)[0])
        first, second = (float(each[0]) for each in grids(np.array([largest]), np.array([size])))
        coarse_sum = fine_sum = 0.0

        def add(sums: tuple[float, float]) -> None:
            nonlocal coarse_sum, fine_sum
            coarse_sum, fine_sum = coarse_sum + sums[0], fine_sum + sums[1]

        in_parts(partial(_grid_sums, first=first, second=second), slices(numbers, SUMMED), add)
    return coarse_sum + fine_sum


def _largest(numbers: Doubles) -> float:
    """The largest absolute value; not a number if there is one that is not."""
    with np.errstate(invalid="ignore"):
        return float(np.maximum(np.max(numbers), -np.min(numbers)))


def _grid_sums(numbers: Doubles, first: float, second: float) -> tuple[float, float]:
    """The sums on both grids, where nothing is rounded: whatever the order, the digits are the same."""
    coarse_sum = fine_sum = 0.0
    for block in slices(numbers, _BLOCK):
        high, rest = _split(block, first, second)
        coarse_sum += float(high.sum())
        fine_sum += float(rest.sum())
    return coarse_sum, fine_sum


def slices(numbers: npt.NDArray[_N], size: int) -> list[npt.NDArray[_N]]:
    """An array cut into parts of so many values."""
    return [numbers[low : low + size] for low in range(0, len(numbers), size)]


def _split(part: Doubles, coarse: Doubles | float, fine: Doubles | float) -> tuple[Doubles, Doubles]:
    """Each value on the first grid, and what is left of it on the second."""
    high = part + coarse
    high -= coarse
    rest = part - high
    rest += fine
    rest -= fine
    return high, rest


def grids(largest: Doubles, sizes: npt.NDArray[np.int64]) -> tuple[Doubles, Doubles]:
    """What is added to a value and taken away again in order to round it to either grid."""
    with np.errstate(invalid="ignore", over="ignore"):
        size = 2 * _power(sizes.astype(np.float64))
        first = 1.5 * (2 * _power(largest)) * size
        return first, first * 2.0**-52 * size


def _power(values: Doubles) -> Doubles:
    """The power of two at or below each value, by arithmetic alone; 0 for 0."""
    scaled = PHI * values
    found: Doubles = np.abs(scaled - BELOW_ONE * scaled)
    return found


def _added(values: Doubles, group: Codes, count: int) -> Doubles:
    return np.bincount(group, weights=values, minlength=count).astype(np.float64)
