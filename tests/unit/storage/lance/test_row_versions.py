"""Versions of rows as runs are those of the rows, however they are cut and joined."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.storage.lance.row_versions import RowVersions

VERSIONS = st.lists(st.integers(1, 3), max_size=12)


def _rows(found: RowVersions) -> list[int]:
    return np.repeat(found.versions, found.lengths).tolist()


def _of(rows: list[int]) -> RowVersions:
    return RowVersions.of(np.array(rows, np.uint64))


@given(VERSIONS, VERSIONS)
def test_rows_come_back_from_runs(some: list[int], more: list[int]) -> None:
    found = _of(some)
    assert _rows(found) == some
    assert len(found) == len(some)
    assert len(found.lengths) == sum(left != right for left, right in zip([0, *some], some, strict=False))
    assert _rows(RowVersions.joined([found, _of(more)])) == [*some, *more]
    assert _rows(RowVersions.joined([])) == []


@given(VERSIONS, st.lists(st.integers(0, 5), max_size=6))
def test_a_cut_has_the_rows_of_its_place(rows: list[int], sizes: list[int]) -> None:
    start = 0
    for size, cut in zip(sizes, _of(rows).split(sizes), strict=True):
        assert _rows(cut) == rows[start : start + size]
        assert 0 not in cut.lengths.tolist()
        assert _rows(cut.filled(size, 9)) == [*rows[start : start + size], *[9] * (size - len(cut))]
        start += size
