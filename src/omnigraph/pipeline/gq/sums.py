"""The summation of `engine/values/sums.py` in Spark's expressions; a test holds the two together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Window
from pyspark.sql import functions as F

from omnigraph.engine.values.sums import BELOW_ONE, LARGEST, PHI

WHOLE = "decimal(20,0)"  # any integer of 64 bits, signed or not
_OFTEN = "decimal(12,0)"  # how often a row counts


@dataclass(frozen=True, slots=True)
class Stats:
    """The columns with the largest absolute value of a row's group, and with how many values the group has."""

    largest: str
    size: str


def with_stats(frame: Any, value: Any, keys: Sequence[str], stats: Stats) -> Any:
    """The frame with what the grids of a group depend on; groups are looked at twice, because grids come first."""
    if keys:
        return with_window_stats(frame, value, Window.partitionBy(*map(F.col, keys)), stats)
    largest, size = F.max(F.abs(value)), F.count(value)
    return frame.crossJoin(F.broadcast(frame.agg(largest.alias(stats.largest), size.alias(stats.size))))


def with_window_stats(frame: Any, value: Any, window: Any, stats: Stats) -> Any:
    """The same for the groups of a window."""
    largest, size = F.max(F.abs(value)), F.count(value)
    return frame.withColumn(stats.largest, largest.over(window)).withColumn(stats.size, size.over(window))


def total(value: Any, stats: Stats, over: Callable[[Any], Any] = lambda found: found) -> Any:
    """The sum of a group as an aggregate, or beside each of its rows; null for a group without values."""
    largest, size = F.col(stats.largest), F.col(stats.size)
    high, low = _split(value, largest, size)
    usual = over(F.max(F.abs(value))) <= F.lit(LARGEST)
    return F.when(usual, over(F.sum(high)) + over(F.sum(low))).otherwise(over(F.sum(value)))


def running_total(value: Any, stats: Stats, over: Callable[[Any], Any]) -> Any:
    """The sum of the rows of a group that a window sees; null where it sees no value."""
    high, low = _split(value, F.col(stats.largest), F.col(stats.size))
    usual = F.col(stats.largest) <= F.lit(LARGEST)
    return F.when(usual, over(F.sum(high)) + over(F.sum(low))).otherwise(over(F.sum(value)))


def exact_total(value: Any, over: Callable[[Any], Any] = lambda found: found, *, times: Any = None) -> Any:
    """The sum of integers, rounded once; each counts as often as `times` says."""
    exact = value.cast(WHOLE)
    return over(F.sum(exact if times is None else exact * times.cast(_OFTEN))).cast("double")


def with_squares(frame: Any, value: Any, keys: Sequence[str], sums: Any, name: str) -> Any:
    """The frame with the squared distance of each value to the mean of its group.

    `sums` makes the sum of the group: an aggregate, or a column by a function that spreads aggregates over its rows.
    """
    if keys:
        window = Window.partitionBy(*map(F.col, keys))
        mean = sums(lambda found: found.over(window)) / F.count(value).over(window)
        return frame.withColumn(name, _square(value - mean))
    mean = frame.agg((sums(lambda found: found) / F.count(value)).alias(name))
    return frame.crossJoin(F.broadcast(mean)).withColumn(name, _square(value - F.col(name)))


def total_of_distinct(value: Any) -> tuple[Any, Any]:
    """The sum of the distinct values of a group, and how many there are."""
    values = _distinct(value)
    return _total_of(values), F.size(values)


def variance_of_distinct(value: Any, *, integers: bool) -> Any:
    """Of the distinct values of a group as a sample; null for fewer than two."""
    counted = F.sum_distinct(value.cast(WHOLE)).cast("double") if integers else None

    def spread(values: Any) -> Any:
        size = F.size(values)
        mean = (_total_of(values) if counted is None else counted) / size
        squares = _let(mean, lambda middle: F.transform(values, lambda each: _square(each - middle)))
        return F.when(size > 1, _total_of(squares) / (size - 1))

    return _let(_distinct(value.cast("double")), spread)


def _distinct(value: Any) -> Any:
    return F.collect_set(value + F.lit(0.0))  # -0.0 and 0.0 are one number


def _total_of(values: Any) -> Any:
    """The sum of an array."""

    def added(given: Any) -> Any:
        values, size, largest = given["values"], given["size"], given["largest"]

        def part(at: int) -> Any:
            return F.aggregate(values, F.lit(0.0), lambda sofar, each: sofar + _split(each, largest, size)[at])

        plain = F.aggregate(values, F.lit(0.0), lambda sofar, each: sofar + each)
        return F.when(size > 0, F.when(largest <= F.lit(LARGEST), part(0) + part(1)).otherwise(plain))

    def known(values: Any) -> Any:
        largest = F.array_max(F.transform(values, F.abs))
        return _let(F.struct(values.alias("values"), F.size(values).alias("size"), largest.alias("largest")), added)

    return _let(values, known)


def _let(value: Any, then: Callable[[Any], Any]) -> Any:
    """What follows from a value that is computed once: inside a function of arrays Spark would do it for each item."""
    return F.element_at(F.transform(F.array(value), then), 1)


def _square(value: Any) -> Any:
    return value * value


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
