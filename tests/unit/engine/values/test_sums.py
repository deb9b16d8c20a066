"""The summation of doubles: exact to the last digit where it can be, and the same in any order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.values.sums import FEW_GROUPS, LARGEST, group_sizes, group_sums, running_sums

VALUES = st.floats(-1e200, 1e200, allow_subnormal=True)


@given(st.lists(VALUES, min_size=1, max_size=200), st.randoms(use_true_random=False))
def test_the_order_of_values_does_not_matter(values: list[float], order: object) -> None:
    mixed = list(values)
    order.shuffle(mixed)  # type: ignore[attr-defined]
    sums = [group_sums(np.array(each), np.zeros(len(each), np.int64), 1)[0] for each in (values, mixed)]
    assert sums[0] == sums[1]
    grouped = group_sums(np.array([*values, 1e300]), np.array([*[0] * len(values), 1]), 2)
    assert grouped[0] == sums[0], "other groups do not matter either"


@pytest.mark.parametrize("count", [1, 2, 3, 1_000, 100_000])
def test_a_sum_of_like_magnitudes_is_the_nearest_double(count: int) -> None:
    rng = np.random.default_rng(count)
    values = rng.standard_normal(count) * 10.0 ** rng.integers(-6, 6, count)
    assert group_sums(values, np.zeros(count, np.int64), 1)[0] == math.fsum(values)


def test_values_that_are_infinite_huge_or_no_numbers_are_added_as_they_come() -> None:
    values = np.array([math.inf, 1.0, math.nan, LARGEST * 2, LARGEST * 2, 0.1, 0.2, 0.3])
    found = group_sums(values, np.array([0, 0, 1, 2, 2, 3, 3, 3]), 5)
    assert found[0] == math.inf
    assert math.isnan(found[1])
    assert found[2:].tolist() == [LARGEST * 4, math.fsum([0.1, 0.2, 0.3]), 0.0]
    assert group_sums(np.zeros(0), np.zeros(0, np.int64), 2).tolist() == [0.0, 0.0]


def test_few_groups_and_many_give_the_same_digits() -> None:
    rng = np.random.default_rng(5)
    numbers, group = rng.normal(0, 1e6, 5_000) ** 3, rng.integers(0, 3, 5_000)
    numbers[7] = LARGEST * 4
    few = group_sums(numbers, group, 3)
    assert few.tolist() == group_sums(numbers, group, FEW_GROUPS + 1)[:3].tolist()
    assert group_sizes(group, 3).tolist() == group_sizes(group, FEW_GROUPS + 1)[:3].tolist()


def test_what_is_not_kept_counts_neither_as_a_value_nor_as_a_row() -> None:
    rng = np.random.default_rng(6)
    numbers, group, kept = rng.normal(0, 1, 999), rng.integers(0, 4, 999), rng.random(999) < 0.4
    for count in (4, FEW_GROUPS + 1):
        sizes = group_sizes(group, count, kept)
        assert sizes.tolist() == np.bincount(group[kept], minlength=count).tolist()
        found = group_sums(np.where(kept, numbers, 0.0), group, count, sizes)
        assert found.tolist() == group_sums(numbers[kept], group[kept], count).tolist()


@given(st.lists(st.lists(VALUES, min_size=1, max_size=30), min_size=1, max_size=6))
def test_a_running_sum_is_the_sum_of_what_it_has_seen_and_ends_in_the_sum_of_its_group(
    groups: list[list[float]],
) -> None:
    sizes = np.array([len(each) for each in groups])
    starts = np.cumsum(sizes) - sizes
    found = running_sums(np.array([value for each in groups for value in each]), starts, sizes)
    for start, each in zip(starts.tolist(), groups, strict=True):
        own = found[start : start + len(each)]
        assert own[-1] == group_sums(np.array(each), np.zeros(len(each), np.int64), 1)[0]
        largest = max(map(abs, each))
        for count in range(1, len(each) + 1):
            assert math.isclose(own[count - 1], math.fsum(each[:count]), rel_tol=1e-15, abs_tol=largest * 1e-15)


def test_running_sums_of_large_groups_have_the_digits_of_any_order() -> None:
    rng = np.random.default_rng(7)
    values = rng.standard_normal(20_000) * 10.0 ** rng.integers(-9, 9, 20_000)
    starts, sizes = np.array([0, 5_000, 5_001]), np.array([5_000, 1, 14_999])
    found = running_sums(values, starts, sizes)
    for at in (4_999, 5_000, 12_345, 19_999):
        start = int(starts[np.searchsorted(starts, at, side="right") - 1])
        assert found[at] == math.fsum(values[start : at + 1])


@pytest.mark.parametrize("scale", [LARGEST * 4, 2.0**-1000, 5e-324, 0.0])
def test_running_sums_of_huge_and_tiny_values(scale: float) -> None:
    values = np.array([1.0, 2.0, -3.0, 4.0]) * scale
    found = running_sums(values, np.array([0, 3]), np.array([3, 1]))
    assert found.tolist() == (np.array([1.0, 3.0, 0.0, 4.0]) * scale).tolist()
