"""Long array work in pieces: between two of them a query looks whether it may go on.

NumPy does a whole array in one call, and nothing can stop it before its end. A piece takes tens of milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from omnigraph.checkpoints import checkpoint
from omnigraph.engine.read.columns.arrays import Mask, Rows

_N = TypeVar("_N", bound=np.integer)

PIECE = 1 << 21  # rows of integers
VALUES = 1 << 18  # rows of values of any type
_FEW_SORTED = 1 << 10  # beyond these, sorting numbers takes a fifth of the time of sorting positions
_SORTED_BITS = 63


def pieces(length: int, size: int = PIECE) -> Iterator[tuple[int, int]]:
    """Ranges that cover 0 … length, with a checkpoint after each but the last."""
    for low in range(0, length, size):
        high = min(low + size, length)
        yield low, high
        if high < length:
            checkpoint()


def taken(values: Rows, positions: Rows) -> Rows:
    """The values at these positions; `take`, unlike an index, lets other threads run meanwhile."""
    if len(positions) <= PIECE:
        return values.take(positions)
    found = np.empty(len(positions), values.dtype)
    for low, high in pieces(len(positions)):
        found[low:high] = values.take(positions[low:high])
    return found


def sorted_distinct(rows: npt.NDArray[_N]) -> npt.NDArray[_N]:
    """Ascending distinct values, by sorting: `np.unique` hashes whole numbers, 23 times slower for three million."""
    runs = [_distinct_run(np.sort(rows[low:high])) for low, high in pieces(len(rows))]
    return _merged(runs) if runs else rows


def numbered(rows: Rows) -> tuple[Rows, Rows]:
    """(ascending distinct values, position of each row among them), by sorting."""
    runs: list[Rows] = []
    places: list[npt.NDArray[np.int32]] = []
    for low, high in pieces(len(rows)):
        piece = rows[low:high]
        order = np.argsort(piece)
        ordered = piece[order]
        first = _firsts(ordered)
        place = np.empty(len(piece), np.int32)
        place[order] = np.cumsum(first, dtype=np.int32) - 1
        runs.append(ordered[first])
        places.append(place)
    if len(runs) == 1:
        return runs[0], places[0].astype(np.int64)
    found = _merged(list(runs))
    whole = np.empty(len(rows), np.int64)
    for number, (low, high) in enumerate(pieces(len(rows))):
        whole[low:high] = np.searchsorted(found, runs[number])[places[number]]
    return found, whole


def in_order(code: Rows) -> Rows:
    """Positions by ascending code, equal ones as they come."""
    bits = max(len(code) - 1, 1).bit_length()
    least = int(code.min()) if len(code) > _FEW_SORTED else 0
    if len(code) <= _FEW_SORTED or int(code.max()) - least >= 1 << (_SORTED_BITS - bits):
        return np.argsort(code, kind="stable")
    # With the position in its low bits a code is distinct, so a sort that is not stable, and much faster, will do.
    runs = [np.sort(_placed(code[low:high], least, bits, low)) for low, high in pieces(len(code))]
    ordered = _merged(runs)
    mask = (1 << bits) - 1
    for low, high in pieces(len(ordered)):
        ordered[low:high] &= mask
    return ordered


def _placed(code: Rows, least: int, bits: int, begin: int) -> Rows:
    """Codes with their positions, which begin with `begin`, in the low bits."""
    found = code.astype(np.int64)
    found -= least
    found <<= bits
    found |= np.arange(begin, begin + len(code))
    return found


def _merged(runs: list[npt.NDArray[_N]]) -> npt.NDArray[_N]:
    """Ascending runs of distinct values as one; two at a time, since a sort of two runs is a merge."""
    while len(runs) > 1:
        following = []
        for at in range(0, len(runs), 2):
            pair = runs[at : at + 2]
            if len(pair) == 2:
                checkpoint()
                pair = [_distinct_run(np.sort(np.concatenate(pair), kind="stable"))]
            following += pair
        runs = following
    return runs[0]


def _distinct_run(ordered: npt.NDArray[_N]) -> npt.NDArray[_N]:
    first = _firsts(ordered)
    return ordered if first.all() else ordered[first]


def _firsts(ordered: npt.NDArray[_N]) -> Mask:
    """Which values differ from the one before."""
    first: Mask = np.empty(len(ordered), np.bool_)
    first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first
