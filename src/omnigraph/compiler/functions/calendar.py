"""The proleptic Gregorian calendar by day numbers, without the limits of Python's dates."""

from __future__ import annotations

DAY = 86_400_000
# Days and milliseconds that can be stored.
DATE_RANGE = (-(2**31), 2**31 - 1)
DATETIME_RANGE = (-(2**63), 2**63 - 1)
UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond")
MILLISECONDS = {"day": DAY, "hour": 3_600_000, "minute": 60_000, "second": 1_000, "millisecond": 1}
MONTHS = {"year": 12, "quarter": 3, "month": 1}
_CYCLE = 146_097
_TO_EPOCH = 719_468  # days from 0000-03-01 to 1970-01-01


def civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a day number."""
    cycle, day = divmod(days + _TO_EPOCH, _CYCLE)
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    month = month + 3 if month < 10 else month - 9
    return 400 * cycle + year + (month <= 2), month, day + 1


def day_number(year: int, month: int, day: int) -> int:
    """The day number of a date; months beyond 12 are the caller's to carry over."""
    year -= month <= 2
    cycle, rest = divmod(year, 400)
    shifted = month - 3 if month > 2 else month + 9
    of_year = (153 * shifted + 2) // 5 + day - 1
    return cycle * _CYCLE + rest * 365 + rest // 4 - rest // 100 + of_year - _TO_EPOCH


def days_in_month(year: int, month: int) -> int:
    """How many days a month has."""
    following = (year + 1, 1) if month == 12 else (year, month + 1)
    return day_number(*following, 1) - day_number(year, month, 1)


def weekday(days: int) -> int:
    """1 for Monday to 7 for Sunday."""
    return (days + 3) % 7 + 1


def iso_week(days: int) -> int:
    """The week of ISO 8601: the one that holds the Thursday."""
    thursday = days - weekday(days) + 4
    return (thursday - day_number(civil(thursday)[0], 1, 1)) // 7 + 1
