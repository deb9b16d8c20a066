"""Arrow columns as JSON: styles, nested types, and text that agrees with values."""

from __future__ import annotations

import json
import math
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.engine.values.json_values import (
    IMAGE,
    JS_SAFE,
    NATIVE,
    Style,
    json_objects,
    json_rows,
    json_texts,
    json_values,
)
from omnigraph.errors import Corrupt

SAFE = 2**53 - 1
COLUMNS: list[tuple[pa.Array, Style, list[Any]]] = [
    (pa.array(["a", 'q"', None, "é"]), NATIVE, ["a", 'q"', None, "é"]),
    (pa.array([True, None]), NATIVE, [True, None]),
    (pa.array([SAFE + 1, -SAFE - 1, 1], pa.int64()), NATIVE, [SAFE + 1, -SAFE - 1, 1]),
    (pa.array([SAFE + 1, -SAFE - 1, SAFE, None], pa.int64()), JS_SAFE, [str(SAFE + 1), str(-SAFE - 1), SAFE, None]),
    (pa.array([2**64 - 1, 1], pa.uint64()), JS_SAFE, [str(2**64 - 1), 1]),
    (pa.array([0.1], pa.float32()), NATIVE, [0.10000000149011612]),
    (pa.array([math.nan, math.inf, -math.inf, 1.5, None]), NATIVE, ["NaN", "Infinity", "-Infinity", 1.5, None]),
    (pa.array([19723, None], pa.date32()), NATIVE, ["2024-01-01", None]),
    (pa.array([19723, None], pa.date32()), IMAGE, [19723, None]),
    (pa.array([1704157445001], pa.date64()), NATIVE, ["2024-01-02T01:04:05.001Z"]),
    (pa.array([1704157445001], pa.date64()), IMAGE, [1704157445001]),
    (pa.array([1704157445001], pa.timestamp("ms", "UTC")), NATIVE, ["2024-01-02T01:04:05.001Z"]),
    (pa.array([1704157445001], pa.timestamp("ms", "UTC")), IMAGE, [1704157445001]),
    (pa.array([[1, 2], [], None, [None]], pa.list_(pa.int64())), NATIVE, [[1, 2], [], None, [None]]),
    (pa.array([["2024-01-01"]], pa.list_(pa.utf8())), NATIVE, [["2024-01-01"]]),
    (pa.array([[1, math.nan], None], pa.list_(pa.float32(), 2)), NATIVE, [[1.0, None], None]),
    (pa.array([[math.inf]], pa.list_(pa.float64())), NATIVE, [["Infinity"]]),
    (pa.array([b"Hello", b"", None], pa.large_binary()), IMAGE, ["base64:SGVsbG8=", "base64:", None]),
    (pa.array([{"a": 1, "b": "x"}, None]), NATIVE, [{"a": 1, "b": "x"}, None]),
    (pa.nulls(2), NATIVE, [None, None]),
    (pa.array(["x"], pa.large_utf8()), NATIVE, ["x"]),
    (pa.array(["x", "x"]).dictionary_encode(), NATIVE, ["x", "x"]),
    (pa.array([], pa.list_(pa.int32())), NATIVE, []),
]


@pytest.mark.parametrize(
    ("column", "style", "expected"), COLUMNS, ids=lambda v: str(v.type) if isinstance(v, pa.Array) else ""
)
def test_text_and_values_say_the_same(column: pa.Array, style: Style, expected: list[Any]) -> None:
    assert json_values(column, style) == expected
    assert [json.loads(text) for text in json_texts(column, style).to_pylist()] == expected


@pytest.mark.parametrize(
    ("column", "style", "expected"), COLUMNS, ids=lambda v: str(v.type) if isinstance(v, pa.Array) else ""
)
def test_a_slice_renders_like_the_rows_it_shows(column: pa.Array, style: Style, expected: list[Any]) -> None:
    assert json_values(column.slice(1), style) == expected[1:]


def test_images_refuse_numbers_that_json_does_not_have() -> None:
    with pytest.raises(Corrupt, match="not finite"):
        json_texts(pa.array([math.nan]), IMAGE)


def test_rows_keep_column_order_and_survive_chunks() -> None:
    table = pa.concat_tables([pa.table({"b": [1], "a": ["x"]}), pa.table({"b": [2], "a": ["y"]})])
    assert [list(row.items()) for row in json_rows(table)] == [[("b", 1), ("a", "x")], [("b", 2), ("a", "y")]]
    assert json_objects(table).to_pylist() == ['{"b":1,"a":"x"}', '{"b":2,"a":"y"}']


def test_no_rows_are_no_rows() -> None:
    assert json_rows(pa.table({"a": pa.array([], pa.int64())})) == []
    assert json_objects(pa.table({"a": pa.array([], pa.int64())})).to_pylist() == []
