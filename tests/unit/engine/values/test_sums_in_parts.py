"""Sums in parts: the same bits whatever the number of threads, the size of a part and the order of the values."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.cores import spread_over
from omnigraph.engine.read.shape import tally
from omnigraph.engine.read.shape.tally import exact_sum
from omnigraph.engine.values import sums
from omnigraph.engine.values.sums import group_sums


@pytest.fixture(scope="module", autouse=True)
def small_parts() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (sums, tally):
            patch.setattr(module, "SUMMED", 16)
        yield


def bits(numbers: list[float], threads: int) -> bytes:
    with spread_over(threads):
        found = group_sums(np.array(numbers), np.zeros(len(numbers), np.int64), 1)
    return struct.pack("<d", found[0])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)
        | st.sampled_from([1e16, -1e16, 1.0, 1e-300, 5e-324, -0.0]),
        min_size=1,
        max_size=400,
    ),
    st.randoms(use_true_random=False),
)
def test_doubles_add_up_to_the_same_bits(numbers: list[float], random: object) -> None:
    alone = bits(numbers, 1)
    assert bits(numbers, 2) == alone
    assert bits(numbers, 4) == alone
    # Where values overflow the grid they are added as they come, in one piece.
    if max(map(abs, numbers)) <= sums.LARGEST:
        assert bits(sorted(numbers), 4) == alone


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -float("inf"), 1e308])
def test_a_value_off_the_grid_in_any_part_is_seen(odd: float) -> None:
    for place in (0, 100, 399):
        numbers = [0.5] * 400
        numbers[place] = odd
        assert bits(numbers, 1) == bits(numbers, 4)
        assert not np.isfinite(struct.unpack("<d", bits(numbers, 4))[0]) or odd == 1e308


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_whole_numbers_add_up_exactly(kind: type[np.integer]) -> None:
    numbers = np.random.default_rng(5).integers(-(1 << 30), 1 << 30, 5_000).astype(kind)
    for threads in (1, 2, 4):
        with spread_over(threads):
            assert exact_sum(numbers) == sum(numbers.tolist())


@pytest.mark.parametrize("place", [0, 3_000, 4_999])
def test_a_part_whose_sum_could_leave_64_bits_is_told(place: int) -> None:
    numbers = np.ones(5_000, np.int64)
    numbers[place] = 1 << 62
    for threads in (1, 2, 4):
        with spread_over(threads):
            assert exact_sum(numbers) is None
