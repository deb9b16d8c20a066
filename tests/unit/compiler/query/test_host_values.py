"""Parameters as Python programs have them: dates, bytes, NumPy and Arrow values."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.errors import ParameterError

SCHEMA = """
node Thing {
  name: String @key
  day: Date?
  at: DateTime?
  share: F64?
  count: I64?
  near: Vector(2)?
  file: Blob?
  sizes: [I64]?
}
"""
KINDS = {
    "day": "Date",
    "at": "DateTime",
    "share": "F64",
    "count": "I64",
    "near": "Vector(2)",
    "file": "Blob",
    "sizes": "[I64]",
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    return og.init(tmp_path_factory.mktemp("parameters") / "g", SCHEMA)


@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [
        pytest.param("day", date(2024, 5, 1), "2024-05-01", id="date"),
        pytest.param("at", datetime(2024, 5, 1, 12, tzinfo=UTC), "2024-05-01T12:00:00.000Z", id="datetime"),
        pytest.param("at", datetime(2024, 5, 1, 12), "2024-05-01T12:00:00.000Z", id="a-naive-one-is-utc"),
        pytest.param(
            "at",
            datetime(2024, 5, 1, 12, tzinfo=timezone(timedelta(hours=2))),
            "2024-05-01T10:00:00.000Z",
            id="another-zone",
        ),
        pytest.param("share", np.float32(1.5), 1.5, id="numpy-float"),
        pytest.param("count", np.int64(7), 7, id="numpy-integer"),
        pytest.param("count", pa.scalar(7), 7, id="arrow-scalar"),
        pytest.param("near", np.array([1, 2], dtype="f4"), [1.0, 2.0], id="numpy-vector"),
        pytest.param("sizes", np.arange(3), [0, 1, 2], id="numpy-list"),
        pytest.param("sizes", (1, np.int8(2)), [1, 2], id="tuple"),
        pytest.param("file", b"AB", "base64:QUI=", id="bytes"),
    ],
)
def test_a_python_value_is_stored_as_what_it_means(graph: og.Graph, name: str, value: Any, stored: Any) -> None:
    text = f"query put($n: String, $v: {KINDS[name]}) {{ insert Thing {{ name: $n, {name}: $v }} }}"
    key = f"{name}-{graph.commits.head()}"
    graph.mutate(text, params={"n": key, "v": value})
    found = graph.get("Thing", key)
    assert found is not None
    assert found[name] == stored


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        pytest.param("Date", object(), "not a value of type object", id="anything"),
        pytest.param("String", b"x", "not a value of type bytes", id="bytes-are-no-text"),
        pytest.param("I64", np.float64(1.5), "not a fractional number", id="numpy-fraction"),
        pytest.param("Bool", np.int8(1), "not an integer", id="numpy-integer-is-no-bool"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(graph: og.Graph, kind: str, value: Any, said: str) -> None:
    text = f"query q($v: {kind}) {{ match {{ $t: Thing }} return {{ $t.name }} }}"
    with pytest.raises(ParameterError, match="parameter 'v'") as refused:
        graph.query(text, params={"v": value})
    assert said in refused.value.message
