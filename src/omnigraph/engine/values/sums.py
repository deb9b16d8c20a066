"""The one summation of doubles: the same digits in whatever order the values come, here and on Spark.

Adding doubles rounds at every step, so the last digits of a plain sum depend on the order of rows, which no two engines
share. Here each value is split at a grid that depends only on the largest value and on how many there are: multiples of
the grid, and what is left at a second, finer one. Both add up without any rounding, and what remains below the second
grid is dropped, which is less than rounding would have lost. Only `+`, `-`, `*` and `max` are used, so that
`pipeline/gq/sums.py` says the same in Spark's expressions.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]

BELOW_ONE = 1 - 2.0**-53
PHI = 2.0**52 + 1
# Beyond this the constants of the grid would overflow, and doubles are added as they come.
LARGEST = 2.0**900
_BLOCK = 1 << 15  # values


def group_sums(numbers: Doubles, group: npt.NDArray[np.int64], count: int) -> Doubles:
    """The sum of the values of each group.

    >>> group_sums(np.array([1e16, 1.0, -1e16]), np.zeros(3, np.int64), 1).tolist()
    [1.0]
    """
    if not len(numbers):
        return np.zeros(count)
    if count == 1:
        sizes, largest = np.array([len(numbers)]), np.array([np.max(np.abs(numbers))])
    else:
        sizes, largest = np.bincount(group, minlength=count), np.zeros(count)
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
            coarse, fine = (first, second) if count == 1 else (first[owner], second[owner])
            high = part + coarse
            high -= coarse
            rest = part - high
            rest += fine
            rest -= fine
            coarse_sums += _added(high, owner, count)
            fine_sums += _added(rest, owner, count)
        sums: Doubles = coarse_sums + fine_sums
        # A group with a value that is infinite, huge or not a number.
        return sums if usual.all() else np.where(usual, sums, _added(numbers, group, count))


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


def _added(values: Doubles, group: npt.NDArray[np.int64], count: int) -> Doubles:
    if count == 1:
        return np.array([values.sum()])
    return np.bincount(group, weights=values, minlength=count).astype(np.float64)
