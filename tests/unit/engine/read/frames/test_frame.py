"""Frames of assignments: of equal ones one is kept."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.read.frames.frame import Frame, first_places


@given(st.lists(st.tuples(st.integers(-1, 2), st.integers(0, 2)), max_size=12), st.sampled_from([1, 1 << 40]))
def test_unique_keeps_one_of_equal_assignments(pairs: list[tuple[int, int]], apart: int) -> None:
    wide = [(left * apart, right * apart) for left, right in pairs]  # numbers that fit into 64 bits together, or not
    left, right = (np.array([pair[side] for pair in wide], np.int64) for side in (0, 1))
    frame = Frame(len(pairs)).bind("a", "node:A", left).bind("b", "node:B", right)
    found = frame.unique()
    kept = list(zip(found.rows("a").tolist(), found.rows("b").tolist(), strict=True))
    assert sorted(kept) == sorted(set(wide))
    assert len(kept) == found.length
    if frame.ascends:
        assert wide == sorted(set(wide))
    elif apart == 1 and pairs:
        assert wide != sorted(set(wide))


def test_first_places_are_the_first_of_each_number() -> None:
    assert first_places(np.array([2, 0, 2, 1, 0]), 3).tolist() == [1, 3, 0]


def test_first_places_are_the_first_however_late_a_number_stands() -> None:
    early = np.arange(10_000) % 3
    assert first_places(early, 3).tolist() == [0, 1, 2]
    late = np.where(np.arange(10_000) == 9_000, 2, early % 2)
    assert first_places(late, 3).tolist() == [0, 1, 9_000]
