"""Ranks of values, with null first ascending and last descending."""

from __future__ import annotations

import pyarrow as pa
import pytest

from omnigraph.engine.read.shape.order import dense_ranks

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
