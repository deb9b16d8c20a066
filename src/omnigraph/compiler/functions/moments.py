"""Functions of dates and instants; everything is UTC."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from omnigraph.compiler.functions.calendar import (
    DATE_RANGE,
    DATETIME_RANGE,
    DAY,
    MILLISECONDS,
    MONTHS,
    UNITS,
    civil,
    day_number,
    days_in_month,
    iso_week,
    weekday,
)
from omnigraph.compiler.functions.model import Failure, define
from omnigraph.compiler.temporal import Date, DateTime

Moment: TypeAlias = Date | DateTime

DAY_UNITS = ("year", "quarter", "month", "week", "day")
PARSERS = ("parse_date", "try_parse_date")
DIRECTIVES = {"Y": 4, "m": 2, "d": 2, "H": 2, "M": 2, "S": 2, "L": 3, "j": 3}
BEYOND = "a date or instant outside the range that can be stored"
_PART = re.compile(r"%(.)|([^%]+)", re.DOTALL)
_DURATION = re.compile(
    r"(-)?P(?:([0-9]+)Y)?(?:([0-9]+)M)?(?:([0-9]+)W)?(?:([0-9]+)D)?"
    r"(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:\.([0-9]{1,3})[0-9]*)?S)?)?"
)


def parse_duration(text: str) -> tuple[int, int] | None:
    """Months and milliseconds of an ISO 8601 duration such as `P1Y2M3DT4H5M6S`; None if it is not one."""
    found = _DURATION.fullmatch(text)
    if found is None or text.removeprefix("-") in ("P", "PT") or text.endswith("T"):
        return None
    years, months, weeks, days, hours, minutes, seconds = (int(found.group(at) or 0) for at in range(2, 9))
    fraction = int((found.group(9) or "").ljust(3, "0"))
    clock = ((hours * 60 + minutes) * 60 + seconds) * 1000 + fraction
    sign = -1 if found.group(1) else 1
    return sign * (12 * years + months), sign * ((7 * weeks + days) * DAY + clock)


def format_parts(pattern: str) -> list[str] | None:
    """A pattern as literal texts and directives (`%Y`); None if it holds an unknown one."""
    parts: list[str] = []
    end = 0
    for found in _PART.finditer(pattern):
        if found.start() != end or (found.group(1) and found.group(1) not in (*DIRECTIVES, "%")):
            return None
        parts.append("%%" if found.group(1) == "%" else found.group())
        end = found.end()
    return parts if end == len(pattern) else None


def repeated_directive(pattern: str) -> str | None:
    """A directive that stands in a pattern more than once, if there is one."""
    parts = [part for part in format_parts(pattern) or () if part[0] == "%" and part != "%%"]
    return next((part for part in parts if parts.count(part) > 1), None)


def day_of(moment: Moment) -> int:
    """The day number of a moment."""
    return moment.days if isinstance(moment, Date) else moment.ms // DAY


def _clock(moment: Moment) -> int:
    return 0 if isinstance(moment, Date) else moment.ms % DAY


def _like(moment: Moment, day: int, clock: int) -> Moment:
    low, high = DATE_RANGE if isinstance(moment, Date) else DATETIME_RANGE
    value = day if isinstance(moment, Date) else day * DAY + clock
    if not low <= value <= high:
        raise Failure(BEYOND)
    return Date(value) if isinstance(moment, Date) else DateTime(value)


def shift(moment: Moment, months: int, ms: int) -> Moment:
    """The moment so many months and then milliseconds later; the day is cut to the length of the month."""
    day, clock = day_of(moment), _clock(moment)
    if months:
        year, month, at = civil(day)
        year, month = divmod(year * 12 + month - 1 + months, 12)
        day = day_number(year, month + 1, min(at, days_in_month(year, month + 1)))
    days, clock = divmod(clock + ms, DAY)
    return _like(moment, day + days, clock)


def _add(moment: Moment, count: int, unit: str) -> Moment:
    if unit in MONTHS:
        return shift(moment, count * MONTHS[unit], 0)
    return shift(moment, 0, count * (7 * DAY if unit == "week" else MILLISECONDS[unit]))


def _index(moment: Moment, unit: str) -> int:
    """Which one, counted from a fixed beginning."""
    if unit in MONTHS:
        year, month, _ = civil(day_of(moment))
        return (year * 12 + month - 1) // MONTHS[unit]
    if unit == "week":
        return (day_of(moment) + 3) // 7
    return (day_of(moment) * DAY + _clock(moment)) // MILLISECONDS[unit]


def _trunc(moment: Moment, unit: str) -> Moment:
    index = _index(moment, unit)
    if unit in MONTHS:
        year, month = divmod(index * MONTHS[unit], 12)
        return _like(moment, day_number(year, month + 1, 1), 0)
    if unit == "week":
        return _like(moment, index * 7 - 3, 0)
    return _like(moment, *divmod(index * MILLISECONDS[unit], DAY))


def _format(moment: Moment, pattern: str) -> str:
    year, month, day = civil(day_of(moment))
    clock = _clock(moment)
    values = {
        "%Y": year,
        "%m": month,
        "%d": day,
        "%H": clock // 3_600_000,
        "%M": clock // 60_000 % 60,
        "%S": clock // 1000 % 60,
        "%L": clock % 1000,
        "%j": day_of(moment) - day_number(year, 1, 1) + 1,
    }
    parts = format_parts(pattern)
    assert parts is not None
    return "".join(
        "%" if part == "%%" else f"{values[part]:0{DIRECTIVES[part[1]]}d}" if part in values else part for part in parts
    )


def parse_moment(text: str, pattern: str) -> DateTime | None:
    """The instant a text spells in a pattern; None where it does not."""
    found = re.fullmatch(parse_expression(pattern), text, re.ASCII)
    if found is None:
        return None
    parts = {name: int(value) for name, value in found.groupdict().items()}
    year, month, day = parts.get("Y", 1970), parts.get("m", 1), parts.get("d", 1)
    if "j" in parts:
        counted = civil(day_number(year, 1, 1) + parts["j"] - 1)
        if counted != (year, parts.get("m", counted[1]), parts.get("d", counted[2])):
            return None  # the year has no such day, or month and day name another one
        _, month, day = counted
    clock = [parts.get(name, 0) for name in "HMSL"]
    if not (1 <= month <= 12 and 1 <= day <= days_in_month(year, month)):
        return None
    if clock[0] > 23 or clock[1] > 59 or clock[2] > 59:
        return None
    ms = ((clock[0] * 60 + clock[1]) * 60 + clock[2]) * 1000 + clock[3]
    return DateTime(day_number(year, month, day) * DAY + ms)


def parse_expression(pattern: str) -> str:
    """The regular expression of a pattern, in the syntax that Python and RE2 share."""
    parts = format_parts(pattern)
    assert parts is not None
    return "".join(
        "%" if part == "%%" else f"(?P<{part[1]}>[0-9]{{{DIRECTIVES[part[1]]}}})" if part[0] == "%" else re.escape(part)
        for part in parts
    )


def _part(name: str, summary: str, answer: str, compute: Callable[[Moment], int]) -> Any:
    example = f'{name}(datetime("2026-08-15T14:30:05.250Z"))'
    return define("Dates and times", f"{name}(moment: Moment) -> I64", summary, example, answer, compute)


def _moment(signature: str, summary: str, example: str, answer: str, compute: Any, **more: Any) -> Any:
    return define("Dates and times", signature, summary, example, answer, compute, **more)


def _parsed(text: str, pattern: str) -> DateTime:
    found = parse_moment(text, pattern)
    if found is None:
        raise Failure(f"{text[:40]!r} is not written as {pattern!r}")
    return found


MOMENT_FUNCTIONS = (
    _part("year", "The year.", "2026", lambda moment: civil(day_of(moment))[0]),
    _part("quarter", "The quarter, 1 to 4.", "3", lambda moment: (civil(day_of(moment))[1] + 2) // 3),
    _part("month", "The month, 1 to 12.", "8", lambda moment: civil(day_of(moment))[1]),
    _part("week", "The week of ISO 8601, 1 to 53.", "33", lambda moment: iso_week(day_of(moment))),
    _part("day", "The day of the month.", "15", lambda moment: civil(day_of(moment))[2]),
    _part("weekday", "1 for Monday to 7 for Sunday.", "6", lambda moment: weekday(day_of(moment))),
    _part(
        "day_of_year",
        "The day of the year, from 1.",
        "227",
        lambda moment: day_of(moment) - day_number(civil(day_of(moment))[0], 1, 1) + 1,
    ),
    _part("hour", "The hour, 0 to 23.", "14", lambda moment: _clock(moment) // 3_600_000),
    _part("minute", "The minute.", "30", lambda moment: _clock(moment) // 60_000 % 60),
    _part("second", "The second.", "5", lambda moment: _clock(moment) // 1000 % 60),
    _part("millisecond", "The millisecond.", "250", lambda moment: _clock(moment) % 1000),
    _part(
        "epoch_ms",
        "Milliseconds since 1970-01-01T00:00:00Z.",
        "1786804205250",
        lambda moment: day_of(moment) * DAY + _clock(moment),
    ),
    _moment(
        "date(moment: Moment) -> Date",
        'The day of an instant. `date("2026-08-15")` is a constant.',
        'date(datetime("2026-08-15T14:30:00Z"))',
        '"2026-08-15"',
        lambda moment: Date(day_of(moment)),
        fails=True,
    ),
    _moment(
        "datetime(moment: Moment) -> DateTime",
        'Midnight of a day. `datetime("2026-08-15T14:30:00Z")` is a constant.',
        'datetime(date("2026-08-15"))',
        '"2026-08-15T00:00:00.000Z"',
        lambda moment: DateTime(day_of(moment) * DAY + _clock(moment)),
    ),
    _moment(
        "date_trunc(moment: Moment, unit: Word) -> Moment",
        "The beginning of the year, quarter, month, week (Monday), day, hour, minute or second.",
        'date_trunc(date("2026-08-15"), "month")',
        '"2026-08-01"',
        _trunc,
        words=UNITS,
        fails=True,
    ),
    _moment(
        "date_add(moment: Moment, count: Integer, unit: Word) -> Moment",
        "So many units later; a day that the month does not have becomes its last. A Date takes days and longer units.",
        'date_add(date("2026-01-31"), 1, "month")',
        '"2026-02-28"',
        _add,
        words=UNITS,
        fails=True,
    ),
    _moment(
        "date_diff(from: Moment, to: Moment, unit: Word) -> I64",
        "How many boundaries of the unit lie between two moments; below 0 if `to` is earlier.",
        'date_diff(date("2026-01-31"), date("2026-03-01"), "month")',
        "2",
        lambda start, end, unit: _index(end, unit) - _index(start, unit),
        words=UNITS,
    ),
    _moment(
        "format_date(moment: Moment, pattern: Format) -> String",
        "As a text: %Y %m %d %H %M %S %L (millisecond) %j (day of the year) %%.",
        'format_date(date("2026-08-15"), "%d.%m.%Y")',
        '"15.08.2026"',
        _format,
    ),
    _moment(
        "parse_date(text: String, pattern: Format) -> DateTime",
        "The instant a text spells, in the notation of `format_date`; any other text fails the query.",
        'parse_date("15.08.2026 14:30", "%d.%m.%Y %H:%M")',
        '"2026-08-15T14:30:00.000Z"',
        _parsed,
        fails=True,
    ),
    _moment(
        "try_parse_date(text: String, pattern: Format) -> DateTime?",
        "The same with null for any other text.",
        'try_parse_date("soon", "%d.%m.%Y") is null',
        "true",
        parse_moment,
    ),
)
