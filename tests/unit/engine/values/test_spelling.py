"""Vectorised text forms agree with the plain ones, value by value."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.compiler.temporal import format_date, format_datetime
from omnigraph.engine.values.spelling import iso_dates, iso_timestamps, json_floats, json_strings, positional_floats

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
FLOATS32 = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]))))
def test_json_strings_are_what_json_dumps_writes(values: list[str | None]) -> None:
    expected = [None if v is None else json.dumps(v, ensure_ascii=False) for v in values]
    assert json_strings(pa.array(values, pa.utf8())).to_pylist() == expected


@given(st.lists(st.none() | FLOATS | st.integers(-(2**53), 2**53).map(float)))
def test_json_floats_are_what_json_dumps_writes(values: list[float | None]) -> None:
    expected = [None if v is None else json.dumps(v) for v in values]
    assert json_floats(pa.array(values, pa.float64())).to_pylist() == expected


@given(st.lists(FLOATS32))
def test_positional_floats_read_back_equal_at_their_width(values: list[float]) -> None:
    texts = positional_floats(pa.array(values, pa.float32())).to_pylist()
    for text, value in zip(texts, values, strict=True):
        assert "e" not in text
        assert not text.endswith(".0")
        assert np.float32(text) == np.float32(value)
        assert text == ("0" if value == 0 else np.format_float_positional(np.float32(value), unique=True, trim="-"))


@given(st.lists(FLOATS))
def test_positional_doubles_are_shortest(values: list[float]) -> None:
    texts = positional_floats(pa.array(values, pa.float64())).to_pylist()
    expected = ["0" if v == 0 else np.format_float_positional(v, unique=True, trim="-") for v in values]
    assert texts == expected
    assert [float(text) for text in texts] == [math.fabs(v) if v == 0 else v for v in values]


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (0.1, "0.1"), (1e-7, "0.0000001"), (1e21, "1" + "0" * 21), (-0.0, "0"), (0.0, "0"), (-2.5, "-2.5")],
)
def test_positional_floats_have_no_exponent_and_one_zero(value: float, text: str) -> None:
    assert positional_floats(pa.array([value])).to_pylist() == [text]


@given(st.lists(st.none() | st.integers(-(2**31), 2**31 - 1)))
def test_dates_are_spelled_as_the_compiler_spells_them(days: list[int | None]) -> None:
    column = pa.array(days, pa.int32()).cast(pa.date32())
    assert iso_dates(column).to_pylist() == [None if d is None else format_date(d) for d in days]


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-(10**14), 10**14)))
def test_timestamps_are_spelled_as_the_compiler_spells_them(millis: list[int | None]) -> None:
    column = pa.array(millis, pa.int64()).cast(pa.date64())
    assert iso_timestamps(column).to_pylist() == [None if m is None else format_datetime(m) for m in millis]
