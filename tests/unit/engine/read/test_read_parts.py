"""The small parts of the executor: budgets, caches, row sets, vectors, order and results."""

from __future__ import annotations

import threading

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.read.columns.rowindex import RowIndex, RowSpan, distinct
from omnigraph.engine.read.frames.budget import Budget, Limits, limits_from
from omnigraph.engine.read.frames.frame import Frame, first_places
from omnigraph.engine.read.search.distances import distances
from omnigraph.engine.read.shape.numbering import number
from omnigraph.engine.read.shape.order import dense_ranks
from omnigraph.errors import BadRequest, QueryCancelled, ResourceLimitExceeded
from omnigraph.memory.budget import MemoryBudget, Process

ROWS = st.lists(st.integers(0, 12) | st.integers(1 << 40, (1 << 40) + 3), max_size=20)


@given(ROWS)
def test_distinct_rows_are_ascending_and_point_back(rows: list[int]) -> None:
    found, inverse = distinct(np.array(rows, np.int64))
    assert found.tolist() == sorted(set(rows))
    assert found[inverse].tolist() == rows


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


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=12))
def test_unique_keeps_the_first_of_equal_assignments(pairs: list[tuple[int, int]]) -> None:
    left, right = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    frame = Frame(len(pairs)).bind("a", "node:A", left).bind("b", "node:B", right).unique()
    assert list(zip(frame.rows("a").tolist(), frame.rows("b").tolist(), strict=True)) == list(dict.fromkeys(pairs))


def test_first_places_are_the_first_of_each_number() -> None:
    assert first_places(np.array([2, 0, 2, 1, 0]), 3).tolist() == [1, 3, 0]


VALUES = [
    pytest.param(pa.array([3, None, -1, 3]), [2, 0, 1, 2], [0, 2, 1, 0], id="integers"),
    pytest.param(pa.array(["b", "", None, "ä", "B"]), [3, 1, 0, 4, 2], [1, 3, 4, 0, 2], id="text by bytes"),
    pytest.param(pa.array([True, None, False]), [2, 0, 1], [0, 2, 1], id="booleans"),
    pytest.param(pa.array([0.0, -0.0, None, -1.5]), [2, 2, 0, 1], [0, 0, 2, 1], id="one zero"),
    pytest.param(pa.array([1, 0], pa.date32()), [1, 0], [0, 1], id="dates"),
    pytest.param(pa.array([1, 0], pa.int64()).view(pa.date64()), [1, 0], [0, 1], id="instants"),
    pytest.param(pa.nulls(2), [0, 0], [0, 0], id="nothing"),
]


@pytest.mark.parametrize(("column", "up", "down"), VALUES)
def test_ranks_put_null_first_ascending_and_last_descending(column: pa.Array, up: list[int], down: list[int]) -> None:
    assert dense_ranks(column)[0].tolist() == up
    assert dense_ranks(column, descending=True)[0].tolist() == down


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", None, "a", ""]),
        pa.array([[1], None, [1], []], pa.list_(pa.int32())),
        pa.array([[1.0, 2.0], None, [1.0, 2.0], [2.0, 1.0]], pa.list_(pa.float32(), 2)),
        pa.array([0.0, None, -0.0, 1.0]),
    ],
)
def test_equal_values_get_equal_numbers_and_null_is_a_value(column: pa.Array) -> None:
    numbers, count = number(column)
    first, second, third, last = numbers.tolist()
    assert first == third
    assert len({first, second, last}) == count == 3


@pytest.mark.parametrize(
    ("metric", "expected"), [("l2", [5.0, 0.0, None]), ("cosine", [1.0, 0.0, None]), ("dot", [1.0, -24.0, None])]
)
def test_distances_follow_the_metric_and_skip_missing_vectors(metric: str, expected: list[float | None]) -> None:
    column = pa.array([[9.0, 9.0], [0.0, 0.0], [3.0, 4.0], None], pa.list_(pa.float32(), 2)).slice(1)
    found = distances(column, [3, 4], metric)
    assert [None if np.isnan(value) else value for value in found.tolist()] == expected


def test_a_query_vector_is_rounded_like_the_stored_ones() -> None:
    column = pa.array([[0.1]], pa.list_(pa.float32(), 1))
    assert distances(column, [0.1], "l2").tolist() == [0.0]


def test_a_budget_counts_time_rows_and_bytes() -> None:
    now = [0.0]
    budget = Budget(Limits(seconds=1.0, rows=10, bytes=100, result_rows=2), clock=lambda: now[0])
    budget.admit(10, row_bytes=10)
    budget.admit_result(2)
    with pytest.raises(ResourceLimitExceeded, match="query_intermediate_rows: actual 11, limit 10"):
        budget.admit(11, row_bytes=1)
    with pytest.raises(ResourceLimitExceeded, match="query_bytes"):
        budget.admit(10, row_bytes=11)
    with pytest.raises(ResourceLimitExceeded, match="query_rows"):
        budget.admit_result(3)
    now[0] = 1.5
    with pytest.raises(ResourceLimitExceeded, match="query_time_ms: actual 1500, limit 1000"):
        budget.check()


@pytest.mark.parametrize(("kept", "allowed"), [(0, 256 << 20), (1 << 30, 512 << 20), (32 << 30, 8 << 30)])
def test_an_intermediate_result_may_take_half_of_what_the_graph_keeps(kept: int, allowed: int) -> None:
    budget = Budget(Limits(rows=None), memory=MemoryBudget(kept, process=Process(lambda: 64 << 30)))
    budget.admit(allowed // 8)
    with pytest.raises(ResourceLimitExceeded, match=f"query_bytes: actual {allowed + 8}, limit {allowed}"):
        budget.admit(allowed // 8 + 1)


def test_a_set_flag_stops_the_query() -> None:
    flag = threading.Event()
    budget = Budget(cancel=flag)
    budget.check()
    flag.set()
    with pytest.raises(QueryCancelled):
        budget.check()


def test_limits_come_from_the_environment() -> None:
    found = limits_from({"OMNIGRAPH_QUERY_TIMEOUT_MS": "1500", "OMNIGRAPH_QUERY_MAX_ROWS": "0"})
    assert (found.seconds, found.rows) == (1.5, None)
    assert limits_from({}) == Limits()
    assert [limits_from({"OMNIGRAPH_QUERY_MAX_BYTES": text}).bytes for text in ("7", "0", "")] == [7, None, "auto"]
    with pytest.raises(BadRequest, match="OMNIGRAPH_QUERY_MAX_BYTES must be a whole number, not 'many'"):
        limits_from({"OMNIGRAPH_QUERY_MAX_BYTES": "many"})
