"""Frames of assignments: the first of equal ones is kept."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.read.frames.frame import Frame, first_places


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=12))
def test_unique_keeps_the_first_of_equal_assignments(pairs: list[tuple[int, int]]) -> None:
    left, right = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    frame = Frame(len(pairs)).bind("a", "node:A", left).bind("b", "node:B", right).unique()
    assert list(zip(frame.rows("a").tolist(), frame.rows("b").tolist(), strict=True)) == list(dict.fromkeys(pairs))


def test_first_places_are_the_first_of_each_number() -> None:
    assert first_places(np.array([2, 0, 2, 1, 0]), 3).tolist() == [1, 3, 0]


def test_first_places_are_the_first_however_late_a_number_stands() -> None:
    early = np.arange(10_000) % 3
    assert first_places(early, 3).tolist() == [0, 1, 2]
    late = np.where(np.arange(10_000) == 9_000, 2, early % 2)
    assert first_places(late, 3).tolist() == [0, 1, 9_000]
