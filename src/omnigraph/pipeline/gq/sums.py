"""The summation of `engine/values/sums.py` in Spark's expressions; a test holds the two together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Window
from pyspark.sql import functions as F

from omnigraph.engine.values.sums import BELOW_ONE, LARGEST, PHI


@dataclass(frozen=True, slots=True)
class Stats:
    """The columns with the largest absolute value of a row's group, and with how many values the group has."""

    largest: str
    size: str


def with_stats(frame: Any, value: Any, keys: Sequence[str], stats: Stats) -> Any:
    """The frame with what the grids of a group depend on; groups are looked at twice, because grids come first."""
    largest, size = F.max(F.abs(value)), F.count(value)
    if keys:
        window = Window.partitionBy(*map(F.col, keys))
        return frame.withColumn(stats.largest, largest.over(window)).withColumn(stats.size, size.over(window))
    return frame.crossJoin(F.broadcast(frame.agg(largest.alias(stats.largest), size.alias(stats.size))))


def total(value: Any, stats: Stats) -> Any:
    """The sum of a group as an aggregate; null for a group without values."""
    largest, size = F.col(stats.largest), F.col(stats.size)
    high, low = _split(value, largest, size)
    usual = F.max(F.abs(value)) <= F.lit(LARGEST)
    return F.when(usual, F.sum(high) + F.sum(low)).otherwise(F.sum(value))


def total_of_distinct(value: Any) -> tuple[Any, Any]:
    """The sum of the distinct values of a group, and how many there are."""
    values = F.collect_set(value + F.lit(0.0))
    size, largest = F.size(values), F.array_max(F.transform(values, F.abs))

    def added(part: int) -> Any:
        return F.aggregate(values, F.lit(0.0), lambda sofar, each: sofar + _split(each, largest, size)[part])

    plain = F.aggregate(values, F.lit(0.0), lambda sofar, each: sofar + each)
    return F.when(size > 0, F.when(largest <= F.lit(LARGEST), added(0) + added(1)).otherwise(plain)), size


def _split(value: Any, largest: Any, size: Any) -> tuple[Any, Any]:
    """A value as a multiple of the first grid and one of the second."""
    twice = F.lit(2.0) * _power(size.cast("double"))
    first = F.lit(1.5) * (F.lit(2.0) * _power(largest)) * twice
    second = first * F.lit(2.0**-52) * twice
    high = (value + first) - first
    return high, ((value - high) + second) - second


def _power(value: Any) -> Any:
    scaled = F.lit(PHI) * value
    return F.abs(scaled - F.lit(BELOW_ONE) * scaled)
