"""Typed columns from JSON and from Arrow: what fits, what does not, and that both ways agree."""

from __future__ import annotations

import base64
import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.compiler.types import INTEGER_RANGE, PropType
from omnigraph.engine.intake.columns.json_value import Rejected, storage_value
from omnigraph.engine.intake.columns.property_columns import column_from_arrow, column_from_json
from omnigraph.engine.values.arrow import arrow_type
from omnigraph.engine.values.json_values import IMAGE, json_values

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "String": TEXT,
    "Bool": st.booleans(),
    "F64": st.floats(allow_nan=False, allow_infinity=False),
    "F32": st.floats(allow_nan=False, allow_infinity=False, width=32),
    "Date": st.integers(*INTEGER_RANGE["I32"]),
    "DateTime": st.integers(*INTEGER_RANGE["I64"]),
    **{name: st.integers(*bounds) | st.sampled_from(bounds) for name, bounds in INTEGER_RANGE.items()},
}
BLOBS = st.binary(max_size=8).map(lambda data: "base64:" + base64.b64encode(data).decode())


def kinds_and_values() -> st.SearchStrategy[tuple[PropType, list[Any]]]:
    """A nullable type with a column of valid JSON values."""
    options: list[st.SearchStrategy[tuple[PropType, list[Any]]]] = []
    for name, values in SCALARS.items():
        options.append(_columns(PropType(name, nullable=True), values))
        options.append(_columns(PropType(name, list=True, nullable=True), st.lists(values, max_size=3)))
    options.append(_columns(PropType("Blob", nullable=True), BLOBS))
    options.append(_columns(PropType("Vector", nullable=True, dim=3), st.lists(SCALARS["F32"], min_size=3, max_size=3)))
    return st.one_of(options)


def _columns(kind: PropType, values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[PropType, list[Any]]]:
    return st.lists(st.none() | values, max_size=6).map(lambda column: (kind, column))


@given(kinds_and_values())
def test_values_survive_json_to_arrow_to_export_json_and_back(case: tuple[PropType, list[Any]]) -> None:
    kind, values = case
    column, offences = column_from_json("p", kind, values)
    assert offences == []
    assert column.type == arrow_type(kind)
    exported = json.loads(json.dumps(json_values(column, IMAGE)))
    again, offences = column_from_json("p", kind, exported)
    assert offences == []
    assert again.equals(column)
    assert json_values(again, IMAGE) == exported


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    TEXT,
    st.sampled_from(["2024-01-02", "2024-02-30", "2024-01-02T03:04:05Z", "2024-1-2", "base64:AA==", "base64:A"]),
    st.lists(st.none() | st.booleans() | st.integers(-5, 2**40) | st.floats() | TEXT, max_size=3),
    st.dictionaries(TEXT, st.integers(), max_size=1),
)
KINDS = [
    *(PropType(name, nullable=True) for name in (*SCALARS, "Blob")),
    *(PropType(name, list=True, nullable=True) for name in SCALARS),
    PropType("Vector", nullable=True, dim=2),
]


@given(st.sampled_from(KINDS), st.lists(ANYTHING, max_size=5))
def test_a_column_accepts_and_refuses_exactly_what_each_value_alone_does(kind: PropType, values: list[Any]) -> None:
    column, offences = column_from_json("p", kind, values)
    refused = {offence.row: (offence.code, offence.message) for offence in offences}
    for row, value in enumerate(values):
        try:
            storage_value("p", kind, value)
            expected = None
        except Rejected as error:
            expected = (error.code, error.message)
        assert refused.get(row) == expected
        if expected is not None:
            assert not column[row].is_valid
        else:
            alone, _ = column_from_json("p", kind, [value])
            assert alone.equals(column.slice(row, 1))


@pytest.mark.parametrize(
    ("kind", "value", "code", "text"),
    [
        (PropType("I32"), 3.0, "W002", "strict property 'p' expects I32, got number 3.0"),
        (PropType("I32"), True, "W002", "got boolean true"),
        (PropType("I32"), 2**31, "W003", "exceeds Int32 range"),
        (PropType("U32"), -1, "W003", "exceeds UInt32 range"),
        (PropType("I64"), 2**63, "W003", "exceeds Int64 range"),
        (PropType("U64"), 2**64, "W003", "exceeds UInt64 range"),
        (PropType("F32"), 3.5e38, "W004", "exceeds Float32 range"),
        (PropType("F64"), 10**400, "W004", "exceeds Float64 range"),
        (PropType("F64"), float("nan"), "W004", "exceeds Float64 range"),
        (PropType("Date"), "2024-02-30", "W002", "strict property 'p' expects Date"),
        (PropType("Date"), 2**31, "W003", "exceeds Int32 range"),
        (PropType("DateTime"), "noon", "W002", "strict property 'p' expects DateTime"),
        (PropType("String", list=True), ["a", None], "W002", "strict property 'p' expects [String], item 1 is null"),
        (PropType("I32", list=True), [2**31], "W003", "exceeds Int32 range"),
        (PropType("Vector", dim=2), "x", "W002", "expects Vector(2)"),
        (PropType("Vector", dim=2), [1], "W005", "expects 2 dimensions, got 1"),
        (PropType("Vector", dim=2), [1, "x"], "W005", "elements must be numeric"),
        (PropType("Vector", dim=2), [1, True], "W005", "elements must be numeric"),
        (PropType("Vector", dim=2), [1, 1e39], "W004", "Float32 range"),
        (PropType("Blob"), "base64:AB==", "W002", "invalid base64 blob data"),
        (PropType("Blob"), "base64:AA=", "W002", "invalid base64 blob data"),
        (PropType("Blob"), "file:///etc/passwd", "W002", "external blob URI 'file:///etc/passwd' is not allowed"),
        (PropType("Blob"), 7, "W002", "expects Blob, got number 7"),
        (PropType("String"), "\ud800", "W002", "not valid Unicode"),
    ],
)
def test_a_refused_value_has_its_code_and_token(kind: PropType, value: Any, code: str, text: str) -> None:
    column, [offence] = column_from_json("p", kind, [None, value])
    assert (offence.row, offence.code) == (1, code)
    assert text in offence.message
    assert column.null_count == 2


def test_f32_rounds_to_nearest_up_to_the_last_value_that_does() -> None:
    largest = 3.4028235677973362e38  # just below half way to the next power of two
    column, offences = column_from_json("p", PropType("F32"), [largest, 0.1, 16777217])
    assert offences == []
    assert column.to_pylist() == [3.4028234663852886e38, 0.10000000149011612, 16777216.0]
    _, [offence] = column_from_json("p", PropType("F32"), [3.4028235677973366e38])
    assert offence.code == "W004"


@pytest.mark.parametrize(
    ("kind", "column", "expected"),
    [
        (PropType("I32"), pa.array([1, None], pa.int8()), [1, None]),
        (PropType("U64"), pa.array([2**63], pa.uint64()), [2**63]),
        (PropType("U64"), pa.array([Decimal(2**64 - 1), None], pa.decimal128(20, 0)), [2**64 - 1, None]),
        (PropType("I64"), pa.array([Decimal(-(2**63))], pa.decimal128(20, 0)), [-(2**63)]),
        (PropType("F64"), pa.array([Decimal("1.10"), None]), [1.1, None]),
        (PropType("F64", list=True), pa.array([[Decimal("0.30")]]), [[0.3]]),
        (PropType("U64", list=True), pa.array([[Decimal(2**63)]], pa.list_(pa.decimal128(20, 0))), [[2**63]]),
        (PropType("F64"), pa.array([1, 2], pa.int64()), [1.0, 2.0]),
        (PropType("F64"), pa.array([0.5], pa.float16()), [0.5]),
        (PropType("String"), pa.array(["a", "a"]).dictionary_encode(), ["a", "a"]),
        (PropType("String"), pa.array(["a"], pa.large_utf8()), ["a"]),
        (PropType("String"), pa.array(["a"], pa.string_view()), ["a"]),
        (PropType("Date"), pa.array([date(1970, 1, 2)]), [1]),
        (PropType("Date"), pa.array([datetime(1970, 1, 2, 23, 59)], pa.timestamp("us")), [1]),
        (PropType("Date"), pa.array([datetime(1969, 12, 31, 23, 59)], pa.timestamp("ns")), [-1]),
        (PropType("DateTime"), pa.array([date(1970, 1, 2)]), [86_400_000]),
        (PropType("DateTime"), pa.array([1_999], pa.timestamp("us")), [1]),
        (PropType("DateTime"), pa.array([-1], pa.timestamp("us")), [-1]),
        (
            PropType("DateTime"),
            pa.array(
                [datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))], pa.timestamp("ms", "Europe/Paris")
            ),
            [0],
        ),
        (PropType("DateTime"), pa.array([datetime(1970, 1, 1, tzinfo=UTC)], pa.timestamp("s", "UTC")), [0]),
        (PropType("Vector", dim=2), pa.array([[1, 2], None], pa.list_(pa.int64())), [[1.0, 2.0], None]),
        (PropType("Vector", dim=2), pa.array([[1, 2]], pa.list_(pa.float32(), 2)), [[1.0, 2.0]]),
        (PropType("String", list=True), pa.array([["a"], []], pa.large_list(pa.large_utf8())), [["a"], []]),
        (PropType("Date", list=True), pa.array([[date(1970, 1, 2)], None]), [[1], None]),
        (PropType("Blob"), pa.array([b"x", None], pa.binary()), ["base64:eA==", None]),
        (PropType("Blob"), pa.array([b"xy"], pa.binary(2)), ["base64:eHk="]),
        (PropType("Bool"), pa.nulls(2), [None, None]),
    ],
    ids=str,
)
def test_arrow_columns_of_fitting_types_are_taken(kind: PropType, column: pa.Array, expected: list[Any]) -> None:
    typed, offences = column_from_arrow("p", kind, column)
    assert offences == []
    assert typed.type == arrow_type(kind)
    assert json_values(typed, IMAGE) == expected


@pytest.mark.parametrize(
    ("kind", "column", "code"),
    [
        (PropType("I32"), pa.array([1.0]), "W002"),
        (PropType("I32"), pa.array([2**31]), "W003"),
        (PropType("String"), pa.array([1]), "W002"),
        (PropType("Bool"), pa.array([1]), "W002"),
        (PropType("F64"), pa.array([float("inf")]), "W004"),
        (PropType("I64"), pa.array([Decimal("1.5")]), "W002"),
        (PropType("U64"), pa.array([Decimal(-1)], pa.decimal128(20, 0)), "W003"),
        (PropType("U32"), pa.array([Decimal(2**32)], pa.decimal128(20, 0)), "W003"),
        (PropType("I64"), pa.array([Decimal(1)], pa.decimal128(20, 2)), "W002"),
        (PropType("I64"), pa.array([datetime(2024, 1, 1)]), "W002"),
        (PropType("String"), pa.array([b"x"]), "W002"),
        (PropType("Vector", dim=2), pa.array([[1.0, None]]), "W005"),
        (PropType("Vector", dim=2), pa.array([[1.0, float("nan")]]), "W004"),
    ],
    ids=str,
)
def test_arrow_columns_of_other_types_are_refused_row_by_row(kind: PropType, column: pa.Array, code: str) -> None:
    typed, [offence] = column_from_arrow("p", kind, column)
    assert (offence.row, offence.code) == (0, code)
    assert typed.null_count == 1


def test_decimals_that_no_one_integer_type_holds_are_looked_at_one_by_one() -> None:
    column = pa.array([Decimal(7), Decimal(-1), Decimal(2**64 - 1)], pa.decimal128(20, 0))
    typed, offences = column_from_arrow("p", PropType("U64", nullable=True), column)
    assert typed.to_pylist() == [7, None, 2**64 - 1]
    assert [(offence.row, offence.code) for offence in offences] == [(1, "W003")]


STAMPS = st.builds(
    lambda stamp, separator, fraction, zone: stamp.strftime(f"%Y-%m-%d{separator}%H:%M:%S").zfill(19) + fraction + zone,
    st.datetimes(min_value=datetime(1000, 1, 1)),
    st.sampled_from("Tt "),
    st.sampled_from(["", ".1", ".12", ".123", ".1239", ".000000001"]),
    st.sampled_from(["", "Z", "+02:00", "-0330", "+14", "-00:00", "+23:59"]),
)


@given(st.lists(st.none() | STAMPS, min_size=1))
def test_timestamps_read_by_column_equal_timestamps_read_one_by_one(texts: list[str | None]) -> None:
    kind = PropType("DateTime", nullable=True)
    column, offences = column_from_json("p", kind, texts)
    assert offences == []
    assert column.cast(pa.int64()).to_pylist() == [storage_value("p", kind, text) for text in texts]
