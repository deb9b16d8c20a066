"""Folds of counted integers and sums in blocks agree with Python's integers."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.read.shape import tally
from omnigraph.engine.read.shape.tally import Tally, exact_sum

KINDS = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}


@st.composite
def columns(draw: st.DrawFn) -> tuple[str, list[int]]:
    kind = draw(st.sampled_from(sorted(KINDS)))
    low, high = KINDS[kind]
    start = draw(st.sampled_from([low, high, 0]) | st.integers(low, high))
    near = st.integers(max(low, start - 9), min(high, start + 9))
    return kind, draw(st.lists(near | st.integers(low, high), min_size=1, max_size=12))


@given(columns(), st.integers(2, 4), st.randoms(use_true_random=False))
def test_a_tally_knows_count_sum_and_extremes_of_each_group(column: tuple[str, list[int]], count: int, random) -> None:
    kind, values = column
    groups = [random.randrange(count) for _ in values]
    with patch.object(tally, "_FEWEST_ROWS", 0), patch.object(tally, "_MOST_COUNTERS", 1 << 10):
        made = Tally.of(np.array(values, kind), np.array(groups), count)
    if made is None:
        wide = max(values) - min(values) + 1
        assert wide * count > len(values) << 10 or max(map(abs, values)) * len(values) >= 1 << 53
        return
    members = [[value for value, group in zip(values, groups, strict=True) if group == each] for each in range(count)]
    assert made.rows.tolist() == [len(each) for each in members]
    assert made.sums().tolist() == [sum(each) for each in members]
    for largest, best in ((True, max), (False, min)):
        found = made.extremes(largest=largest).tolist()
        assert [value for value, each in zip(found, members, strict=True) if each] == [
            best(each) for each in members if each
        ]


@given(columns(), st.integers(1, 5))
def test_a_sum_in_blocks_is_exact_or_not_given(column: tuple[str, list[int]], block: int) -> None:
    kind, values = column
    with patch.object(tally, "_BLOCK", block):
        found = exact_sum(np.array(values, kind))
    assert found == sum(values) or (found is None and max(map(abs, values)) >= tally._SAFE)


@pytest.mark.parametrize("values", [[], [-5, 3]])
def test_a_sum_of_few_numbers(values: list[int]) -> None:
    assert exact_sum(np.array(values, np.int64)) == sum(values)
