"""What is known about the values of a column without reading it: how many differ, how many are null, how they spread.

Statistics of some rows and statistics of others add up to those of both, so that a new version of a table needs those
of its new rows only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.read.columns.pieces import sorted_distinct
from omnigraph.engine.values.text_hashes import Bits, mixed_bits, text_hashes

# The smallest hashes tell how many there are within 1 / sqrt of their number: 3 %.
_HASHES = 1 << 10
_BUCKETS = 64
# So many of the numbers make the buckets: sorting and counting all of them took most of the time.
_SAMPLED = 1 << 14
_EVERY_HASH = float(1 << 64)


@dataclass(frozen=True, slots=True)
class ValueStatistics:
    """Of some rows of one column; `bounds` and `counts` are a histogram of what has an order among numbers."""

    rows: int
    nulls: int
    hashes: Bits  # ascending
    bounds: npt.NDArray[np.float64]
    counts: npt.NDArray[np.float64]

    @classmethod
    def of(cls, column: pa.Array) -> ValueStatistics | None:
        """None for values that are not compared as wholes: lists, records, vectors, blobs."""
        kind = column.type
        if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_null(kind):
            return None
        present = column.drop_null() if column.null_count else column
        numbers = _numbers(present)
        bounds = counts = np.empty(0)
        if numbers is not None and len(finite := numbers[np.isfinite(numbers)]):
            bounds, counts = _histogram(finite)
        return cls(len(column), column.null_count, _smallest(_hashes(present, numbers)), bounds, counts)

    def plus(self, other: ValueStatistics) -> ValueStatistics:
        """Of the rows of both; the buckets stay those of the first, but for its ends."""
        hashes = _smallest(np.concatenate([self.hashes, other.hashes]))
        bounds, counts = (self.bounds, self.counts) if len(self.bounds) else (other.bounds, other.counts)
        if len(self.bounds) and len(other.bounds):
            bounds = self.bounds.copy()
            bounds[0], bounds[-1] = min(bounds[0], other.bounds[0]), max(bounds[-1], other.bounds[-1])
            middles = (other.bounds[1:] + other.bounds[:-1]) / 2 if len(other.bounds) > 1 else other.bounds
            counts = self.counts + _in_buckets(middles, bounds, other.counts)
        return ValueStatistics(self.rows + other.rows, self.nulls + other.nulls, hashes, bounds, counts)

    @property
    def distinct(self) -> float:
        """About how many different values there are; exact for few."""
        if len(self.hashes) < _HASHES:
            return float(max(len(self.hashes), 1))
        return min((_HASHES - 1) * _EVERY_HASH / (float(self.hashes[-1]) + 1), float(self.rows))

    @property
    def null_share(self) -> float:
        """The share of rows without a value."""
        return self.nulls / self.rows if self.rows else 0.0

    @property
    def equal_share(self) -> float:
        """The share of rows that have one value, taken over all values."""
        return (1.0 - self.null_share) / self.distinct

    def below(self, value: float) -> float | None:
        """The share of rows whose value is less; None where values have no order among numbers."""
        if not len(self.bounds):
            return None
        if len(self.bounds) == 1:
            return (1.0 - self.null_share) * float(value > self.bounds[0])
        ends = np.concatenate([[0.0], np.cumsum(self.counts)])
        share = float(np.interp(value, self.bounds, ends / max(ends[-1], 1.0), left=0.0, right=1.0))
        return (1.0 - self.null_share) * share


def _histogram(finite: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Buckets from the smallest number to the largest with about as many numbers each, and how many that are."""
    seen = finite
    if len(finite) > _SAMPLED:
        # Places at random, but the same every time: numbers may come in patterns.
        seen = finite[np.random.default_rng(_SAMPLED).integers(0, len(finite), _SAMPLED)]
    found = np.quantile(np.sort(seen), np.linspace(0, 1, _BUCKETS + 1))
    found[0], found[-1] = finite.min(), finite.max()
    bounds = np.unique(found)
    return bounds, _in_buckets(seen, bounds) * (len(finite) / len(seen))


def _numbers(present: pa.Array) -> npt.NDArray[np.float64] | None:
    kind = present.type
    if pa.types.is_date32(kind):
        present = present.cast(pa.int32())
    elif pa.types.is_date64(kind) or pa.types.is_timestamp(kind):
        present = present.cast(pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    numbers: npt.NDArray[np.float64] = present.to_numpy(zero_copy_only=False).astype(np.float64)
    return numbers


def _hashes(present: pa.Array, numbers: npt.NDArray[np.float64] | None) -> Bits:
    if numbers is None:
        return text_hashes(present if pa.types.is_string(present.type) else pc.cast(present, pa.utf8()))
    return mixed_bits((numbers + 0.0).view(np.uint64))  # one zero


def _smallest(hashes: Bits) -> Bits:
    """The smallest different hashes, ascending."""
    limit = hashes
    if len(hashes) > 64 * _HASHES:
        # Few of many are small enough; a limit that keeps too few is raised until it keeps all.
        for shift in range(int(len(hashes) // (16 * _HASHES)).bit_length(), -1, -1):
            limit = hashes[hashes <= np.uint64(int(_EVERY_HASH) - 1 >> shift)]
            if len(sorted_distinct(limit)) >= _HASHES:
                break
    return sorted_distinct(limit)[:_HASHES]


def _in_buckets(
    values: npt.NDArray[Any], bounds: npt.NDArray[np.float64], weights: npt.NDArray[Any] | None = None
) -> npt.NDArray[np.float64]:
    """How many values lie between each two bounds; all of them where there is one bound."""
    if len(bounds) < 2:
        return np.array([float(len(values)) if weights is None else float(weights.sum())])
    place = np.clip(np.searchsorted(bounds, values, side="right") - 1, 0, len(bounds) - 2)
    return np.bincount(place, weights=weights, minlength=len(bounds) - 1).astype(np.float64)
