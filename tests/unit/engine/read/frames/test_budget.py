"""What one query may use: time, rows, bytes, and the flag that cancels it."""

from __future__ import annotations

import threading

import pytest

from omnigraph.engine.read.frames.budget import Budget, Limits, limits_from
from omnigraph.errors import BadRequest, QueryCancelled, ResourceLimitExceeded
from omnigraph.memory.budget import MemoryBudget, Process


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


def test_time_that_was_spent_before_counts() -> None:
    budget = Budget(Limits(seconds=1.0), clock=lambda: 12.0, started=10.5)
    with pytest.raises(ResourceLimitExceeded, match="actual 1500"):
        budget.check()
