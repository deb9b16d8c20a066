"""Date and DateTime values: the text they are read from, the integers they are, the text they become."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

_EPOCH = date(1970, 1, 1).toordinal()
_DAY_MS = 86_400_000
# The Gregorian calendar repeats after 400 years, which carries datetime.date beyond its years 1 to 9999.
_CYCLE_DAYS = 146_097
_FIRST_DAY = date.min.toordinal() - _EPOCH
_LAST_DAY = date.max.toordinal() - _EPOCH
_DAYS_LIMIT = 2**31

_YEAR = r"([0-9]{4}|-[0-9]{4,7}|[+][0-9]{5,7})"  # with a sign as format_date writes years outside 0000 to 9999
_DAY = re.compile(_YEAR + r"-([0-9]{2})-([0-9]{2})")
_LOOSE_DAY = re.compile(_YEAR + r"-([0-9]{1,2})-([0-9]{1,2})|([0-9]{4})([0-9]{2})([0-9]{2})")
_TIME = re.compile(
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:Z|([+-])([0-9]{2})(?::?([0-9]{2}))?)?",
)


@dataclass(frozen=True, slots=True, order=True)
class Date:
    """A calendar day, as days since 1970-01-01."""

    days: int

    def __str__(self) -> str:
        """`YYYY-MM-DD`."""
        return format_date(self.days)


@dataclass(frozen=True, slots=True, order=True)
class DateTime:
    """An instant, as milliseconds since 1970-01-01T00:00:00Z."""

    ms: int

    def __str__(self) -> str:
        """`YYYY-MM-DDTHH:MM:SS.mmmZ`."""
        return format_datetime(self.ms)


class BadTemporal(ValueError):
    """A text is not a Date or not a DateTime, or a number lies outside what one can store; the message says why."""


def parse_date(text: str) -> Date:
    """`YYYY-MM-DD`, one-digit month or day, `YYYYMMDD`, or a full timestamp, whose UTC day it is."""
    match = _LOOSE_DAY.fullmatch(text)
    if match is None:
        if _DAY.match(text):
            return Date(parse_datetime(text).ms // _DAY_MS)
        raise BadTemporal(f"{_shown(text)} is not a date; write it as YYYY-MM-DD")
    year, month, day = match.group(1, 2, 3) if match.group(1) else match.group(4, 5, 6)
    return Date(_days(text, int(year), int(month), int(day)))


def parse_datetime(text: str) -> DateTime:
    """`YYYY-MM-DD` (midnight), then `T`, `t` or a space, `HH:MM:SS`, a fraction, and a zone; no zone is UTC."""
    day = _DAY.match(text)
    if day is None:
        raise BadTemporal(f"{_shown(text)} is not a datetime; write it as YYYY-MM-DDTHH:MM:SSZ")
    days = _days(text, int(day.group(1)), int(day.group(2)), int(day.group(3)))
    end = day.end()
    if len(text) == end:
        return DateTime(days * _DAY_MS)
    time = _TIME.fullmatch(text, end + 1)
    if time is None or text[end] not in "Tt ":
        raise BadTemporal(f"{_shown(text)} is not a datetime; after the day comes THH:MM:SS, a fraction and a zone")
    return DateTime(days * _DAY_MS + _time_ms(text, time.groups()))


def format_date(days: int) -> str:
    """`YYYY-MM-DD`; a year outside 0000 to 9999, which only a number can have brought in, carries its sign."""
    if _FIRST_DAY <= days <= _LAST_DAY:
        return date.fromordinal(days + _EPOCH).isoformat()
    cycles, rest = divmod(days + _EPOCH - 1, _CYCLE_DAYS)
    inside = date.fromordinal(rest + 1)
    year = inside.year + 400 * cycles
    shown = f"{year:04d}" if 0 <= year <= 9999 else f"{year:+05d}"
    return f"{shown}-{inside.month:02d}-{inside.day:02d}"


def format_datetime(ms: int) -> str:
    """`YYYY-MM-DDTHH:MM:SS.mmmZ`, always with three digits of fraction and `Z`."""
    days, rest = divmod(ms, _DAY_MS)
    seconds, fraction = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{format_date(days)}T{hour:02d}:{minute:02d}:{second:02d}.{fraction:03d}Z"


def _days(text: str, year: int, month: int, day: int) -> int:
    cycles, inside = divmod(year - 1, 400)
    try:
        days = date(inside + 1, month, day).toordinal() + cycles * _CYCLE_DAYS - _EPOCH
    except ValueError:
        raise BadTemporal(f"{_shown(text)} names a day that is not in the calendar") from None
    if not -_DAYS_LIMIT <= days < _DAYS_LIMIT:
        raise BadTemporal(f"{_shown(text)} is farther away than a date can be")
    return days


def _time_ms(text: str, parts: tuple[str | None, ...]) -> int:
    hour, minute, second, fraction, sign, zone_hour, zone_minute = parts
    clock = [int(part or 0) for part in (hour, minute, second, zone_hour, zone_minute)]
    if any(value > limit for value, limit in zip(clock, (23, 59, 59, 23, 59), strict=True)):
        raise BadTemporal(f"{_shown(text)} names a time that is not on the clock")
    offset = clock[3] * 60 + clock[4]
    minutes = clock[0] * 60 + clock[1] + (offset if sign == "-" else -offset)
    # Digits beyond the millisecond are cut off, never rounded.
    return minutes * 60_000 + clock[2] * 1000 + int((fraction or "")[:3].ljust(3, "0"))


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "…")
