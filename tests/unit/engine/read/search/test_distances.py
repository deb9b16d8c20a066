"""Distances of vectors, by metric and with the precision of what is stored."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.engine.read.search.distances import distances


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
