"""Row sets: what they contain and where, whether listed or spanned."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.read.columns.rowindex import RowIndex, RowSpan, distinct, distinct_rows

ROWS = st.lists(st.integers(0, 12) | st.integers(1 << 40, (1 << 40) + 3), max_size=20)


@given(ROWS)
def test_distinct_rows_are_ascending_and_point_back(rows: list[int]) -> None:
    found, inverse = distinct(np.array(rows, np.int64))
    assert found.tolist() == sorted(set(rows))
    assert found[inverse].tolist() == rows


def test_rows_of_several_types_are_told_apart_as_they_are() -> None:
    rng = np.random.default_rng(5)
    types = np.array([0, 3, 9])
    for parts in (types, types[:1], np.array([3, 5_000]), np.array([-1, 3])):
        rows = (rng.choice(parts, 4_000) << 40) + rng.integers(0, 2_000, 4_000)
        expected, place = np.unique(rows, return_inverse=True)
        found, inverse = distinct(rows)
        assert (found.tolist(), inverse.tolist()) == (expected.tolist(), place.tolist())
        assert distinct_rows(rows).tolist() == expected.tolist()


@given(ROWS, ROWS)
def test_a_row_index_knows_what_it_holds_and_where(held: list[int], asked: list[int]) -> None:
    index = RowIndex(np.unique(np.array(held, np.int64)))
    wanted = np.array(asked, np.int64)
    assert index.contains(wanted).tolist() == [row in held for row in asked]
    assert index.covers(wanted) == set(asked).issubset(held)
    present = np.array([row for row in asked if row in held], np.int64)
    assert index.rows[index.positions(present)].tolist() == present.tolist()


@given(st.integers(0, 5), st.integers(1, 8), st.lists(st.integers(0, 14), max_size=9))
def test_a_span_of_rows_is_like_an_index_of_them(first: int, count: int, asked: list[int]) -> None:
    span, index = RowSpan(first, first + count), RowIndex(np.arange(first, first + count))
    for wanted in (np.array(asked, np.int64), index.rows, index.rows[::-1]):
        assert len(span) == len(index)
        assert span.covers(wanted) == index.covers(wanted)
        assert span.equals(wanted) == index.equals(wanted)
        assert span.contains(wanted).tolist() == index.contains(wanted).tolist()
        assert span.positions(wanted).tolist() == (wanted - first).tolist()


@given(ROWS, st.integers(0, 20), st.integers(1, 20), st.booleans())
def test_rows_that_follow_each_other_are_a_slice(held: list[int], low: int, size: int, turned: bool) -> None:
    index = RowIndex(np.unique(np.array(held, np.int64)))
    rows = index.rows[low : low + size]
    rows = rows[::-1].copy() if turned else rows.copy()
    found = index.begin(rows)
    if turned and len(rows) > 1:
        assert found is None
    else:
        assert found == (low if len(rows) else 0)
    if len(rows) > 2:
        assert index.begin(np.delete(rows, 1)) is None
        assert index.begin(np.repeat(rows[:2], [1, len(rows) - 1])) is None or len(rows) == 2
