"""Statistics of a column say what a look at all of its values would, within what they promise."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.read.columns.value_statistics import ValueStatistics

NUMBERS = st.lists(st.none() | st.integers(-50, 50), max_size=60)
TEXTS = st.lists(st.none() | st.sampled_from(["", "a", "b", "ä", "abc"]), max_size=30)


def known(values: pa.Array) -> ValueStatistics:
    found = ValueStatistics.of(values)
    assert found is not None
    return found


@given(NUMBERS, NUMBERS)
def test_two_parts_add_up_to_the_whole(one: list[int | None], other: list[int | None]) -> None:
    parts = [known(pa.array(part, pa.int64())) for part in (one, other)]
    found, values = parts[0].plus(parts[1]), [value for value in (*one, *other) if value is not None]
    assert (found.rows, found.nulls) == (len(one) + len(other), len(one) + len(other) - len(values))
    assert found.distinct == max(len(set(values)), 1)
    assert float(found.counts.sum()) == len(values)
    if values:
        assert found.below(min(values)) == 0.0
        assert found.below(max(values) + 1) == pytest.approx(len(values) / found.rows)


@given(TEXTS)
def test_texts_have_a_number_of_values_and_no_order(values: list[str | None]) -> None:
    found = known(pa.array(values, pa.utf8()))
    assert found.distinct == max(len({value for value in values if value is not None}), 1)
    assert found.below(1.0) is None
    assert found.nulls == values.count(None)


@pytest.mark.parametrize(("rows", "different"), [(5_000, 5_000), (300_000, 40_000), (300_000, 7)])
def test_many_values_are_counted_within_a_tenth(rows: int, different: int) -> None:
    values = np.random.default_rng(5).integers(0, different, rows) * 37 + 5
    found, exact = known(pa.array(values)), len(np.unique(values))
    assert exact * 0.9 <= found.distinct <= exact * 1.1
    parts = [known(pa.array(part)) for part in np.array_split(values, 3)]
    assert parts[0].plus(parts[1]).plus(parts[2]).distinct == found.distinct


def test_the_share_below_a_value_follows_the_values_however_they_are_spread() -> None:
    values = np.random.default_rng(5).pareto(1.5, 20_000)
    found = known(pa.array(values))
    for limit in (0.01, 0.5, 1.0, 4.0, 30.0):
        assert found.below(limit) == pytest.approx(float((values < limit).mean()), abs=0.02)


def test_a_histogram_of_many_values_comes_from_some_of_them_but_has_the_ends_of_all() -> None:
    values = np.tile(np.arange(64.0), 4_096)  # a pattern that taking one in so many would not see
    values[777], values[888] = -1e6, 1e6
    found = known(pa.array(values))
    assert (found.bounds[0], found.bounds[-1]) == (-1e6, 1e6)
    assert float(found.counts.sum()) == pytest.approx(len(values))
    for limit in (8.0, 32.0, 48.0):
        assert found.below(limit) == pytest.approx(limit / 64, abs=0.03)


def test_lists_have_no_statistics_and_flags_have_two_values() -> None:
    assert ValueStatistics.of(pa.array([[1], [2]])) is None
    assert known(pa.array([True, False, None, True])).distinct == 2.0
