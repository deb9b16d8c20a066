"""Date and DateTime text: every accepted spelling, every rejected one, and the one spelling of output."""

from __future__ import annotations

import datetime as dt
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.compiler.temporal import (
    BadTemporal,
    Date,
    DateTime,
    format_date,
    format_datetime,
    parse_date,
    parse_datetime,
)

DATES = [
    ("1970-01-01", 0),
    ("1970-01-02", 1),
    ("1969-12-31", -1),
    ("2024-01-01", 19723),
    ("2024-02-29", 19782),
    ("2024-1-2", 19724),
    ("2024-01-2", 19724),
    ("2024-1-02", 19724),
    ("20240102", 19724),
    ("0001-01-01", -719162),
    ("0000-02-29", -719468 - 1),
    ("0000-01-01", -719528),
    ("+10000-01-01", 2932897),
    ("-0001-12-31", -719529),
    ("-2024-01-02", -1458778),
    ("+5881580-07-11", 2147483647),
    ("9999-12-31", 2932896),
    ("2024-01-02T00:00:00Z", 19724),
    ("2024-01-02 23:59:59.999", 19724),
    ("2024-01-02T23:00:00-02:00", 19725),
    ("2024-01-02T01:00:00+02:00", 19723),
    ("1970-01-01T00:00:00+00:01", -1),
]

NOT_DATES = [
    *("", " ", "2024", "2024-01", "24-01-02", "2024/01/02", "2024.01.02", "01-02-2024", "2024-001", "2024-W01-1"),
    *(" 2024-01-02", "2024-01-02 ", "2024-01-02\n", "+2024-01-02", "12024-01-02", "2024-1-2T00:00:00Z"),
    *("2024-00-01", "2024-13-01", "2024-01-00", "2024-01-32", "2023-02-29", "1900-02-29", "2024-04-31", "20240230"),
    *("2024-01-02T", "2024-01-02Z", "2024-01-02T00:00", "2024-01-02T25:00:00", "20240102T000000", "2024 01 02"),
    *("２０２４-01-02", "٢٠٢٤-01-02", "2024‐01‐02", "today", "null", "2024-01-02\x00", "2024-01-021"),
]

DATETIMES = [
    ("1970-01-01", 0),
    ("1970-01-01T00:00:00Z", 0),
    ("1970-01-01t00:00:00Z", 0),
    ("1970-01-01 00:00:00", 0),
    ("1970-01-01T00:00:00.1Z", 100),
    ("1970-01-01T00:00:00.12Z", 120),
    ("1970-01-01T00:00:00.123", 123),
    ("1970-01-01T00:00:00.1239999999999999999999Z", 123),
    ("1969-12-31T23:59:59.9999Z", -1),
    ("1970-01-01T00:00:00+00:00", 0),
    ("1970-01-01T00:00:00-00:00", 0),
    ("1970-01-01T02:00:00+02:00", 0),
    ("1970-01-01T02:30:00+0230", 0),
    ("1970-01-01T02:00:00+02", 0),
    ("1969-12-31T22:00:00-02", 0),
    ("1970-01-01T23:59:00+23:59", 0),
    ("2024-01-02 03:04:05+02:00", 1704157445000),
    ("2024-01-01T00:00:00Z", 1704067200000),
    ("9999-12-31T23:59:59.999Z", 253402300799999),
    ("0000-01-01T00:00:00Z", -62167219200000),
    ("+10000-01-01T00:00:00.000Z", 253402300800000),
    ("-0400-02-29T12:00:00Z", -74784859200000),
]

NOT_DATETIMES = [
    *("", "2024-01-02T", "2024-01-02 ", "2024-01-02T03", "2024-01-02T03:04", "2024-01-02T03:04Z", "2024-01-02Z"),
    *("2024-01-02T3:04:05", "2024-01-02T03:4:05", "2024-01-02T03:04:5", "2024-01-02T030405", "2024-01-02_03:04:05"),
    *("2024-01-02T03:04:05.", "2024-01-02T03:04:05.Z", "2024-01-02T03:04:05,5", "2024-01-02T03:04:05z"),
    *("2024-01-02T03:04:05 Z", "2024-01-02T03:04:05ZZ", "2024-01-02T03:04:05+2", "2024-01-02T03:04:05+02:0"),
    *("2024-01-02T03:04:05+02:", "2024-01-02T03:04:05+24:00", "2024-01-02T03:04:05+02:60", "2024-01-02T03:04:05UTC"),
    *("2024-01-02T24:00:00", "2024-01-02T23:60:00", "2024-01-02T23:59:60", "2024-02-30T00:00:00Z", "20240102"),
    *("2024-1-2", "2024-1-2T03:04:05", "1704067200000", "2024-01-02T03:04:05Z\n", " 2024-01-02T03:04:05Z"),
    *("2024-01-02  03:04:05", "2024-01-02T٠٣:04:05", "2024-01-02T03:04:05−02:00", "now"),
]


@pytest.mark.parametrize(("text", "days"), DATES)
def test_a_date_text_is_its_day(text: str, days: int) -> None:
    assert parse_date(text) == Date(days)


@pytest.mark.parametrize("text", NOT_DATES)
def test_a_text_that_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(BadTemporal):
        parse_date(text)


@pytest.mark.parametrize(("text", "ms"), DATETIMES)
def test_a_datetime_text_is_its_millisecond(text: str, ms: int) -> None:
    assert parse_datetime(text) == DateTime(ms)


@pytest.mark.parametrize("text", NOT_DATETIMES)
def test_a_text_that_is_no_datetime_is_refused(text: str) -> None:
    with pytest.raises(BadTemporal):
        parse_datetime(text)


def test_the_reason_names_what_is_wrong() -> None:
    with pytest.raises(BadTemporal, match="'2023-02-29' names a day that is not in the calendar"):
        parse_date("2023-02-29")
    with pytest.raises(BadTemporal, match="names a time that is not on the clock"):
        parse_datetime("2024-01-02T25:00:00Z")
    with pytest.raises(BadTemporal, match="…' is not a date"):
        parse_date("x" * 1_000_000)


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (1704157445000, "2024-01-02T01:04:05.000Z"),
        (-62167219200001, "-0001-12-31T23:59:59.999Z"),
        (253402300800000, "+10000-01-01T00:00:00.000Z"),
        (-(2**63), "-292275055-05-16T16:47:04.192Z"),
        (2**63 - 1, "+292278994-08-17T07:12:55.807Z"),
    ],
)
def test_a_datetime_prints_with_milliseconds_and_z(ms: int, text: str) -> None:
    assert format_datetime(ms) == str(DateTime(ms)) == text


@pytest.mark.parametrize(
    ("days", "text"),
    [(-719528, "0000-01-01"), (-719529, "-0001-12-31"), (2932897, "+10000-01-01"), (2**31 - 1, "+5881580-07-11")],
)
def test_a_year_of_more_than_four_digits_carries_its_sign(days: int, text: str) -> None:
    assert format_date(days) == str(Date(days)) == text


@given(st.integers(-719528, 2932896))
def test_a_printed_date_parses_back(days: int) -> None:
    assert parse_date(format_date(days)) == Date(days)


@given(st.integers(-62167219200000, 253402300799999))
def test_a_printed_datetime_parses_back(ms: int) -> None:
    assert parse_datetime(format_datetime(ms)) == DateTime(ms)


@given(st.datetimes(timezones=st.timezones() | st.none()))
def test_the_standard_library_agrees(moment: dt.datetime) -> None:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    offset = aware.utcoffset()
    assert offset is not None
    zone = dt.timezone(dt.timedelta(minutes=offset // dt.timedelta(minutes=1)))
    aware = aware.replace(tzinfo=zone)
    delta = aware - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    assert parse_datetime(aware.isoformat()).ms == delta // dt.timedelta(milliseconds=1)


@given(st.text(max_size=30) | st.from_regex(r"[0-9Tt: .+Z-]{0,30}"))
def test_any_other_text_is_refused_and_nothing_else_happens(text: str) -> None:
    for parse in (parse_date, parse_datetime):
        with suppress(BadTemporal):
            assert parse(text) is not None
