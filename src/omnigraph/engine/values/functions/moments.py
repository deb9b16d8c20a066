"""Kernels of dates and instants, by day numbers and milliseconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.functions.calendar import DATE_RANGE, DAY, MILLISECONDS, MONTHS
from omnigraph.compiler.functions.moments import BEYOND, DIRECTIVES, format_parts, parse_expression
from omnigraph.engine.values.functions.kernel import Answer, Call, Kernel, Numbers, masked, numpy_of, refused, valid

_CYCLE = 146_097
_TO_EPOCH = 719_468
# Beyond this, adding to milliseconds could wrap around.
_SAFE = 1 << 62
# Days around the epoch for which Arrow's kernels are right; their years have 16 bits.
_NEAR = 3_000_000


def days_of(column: pa.Array) -> Numbers:
    """Day numbers of a column of dates or instants."""
    if pa.types.is_date32(column.type):
        return numpy_of(column.cast(pa.int32())).astype(np.int64)
    return instants_of(column) // DAY


def instants_of(column: pa.Array) -> Numbers:
    """Milliseconds since the epoch."""
    if pa.types.is_date32(column.type):
        return days_of(column) * DAY
    return numpy_of(column.view(pa.int64()))


def civil(days: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Years, months and days of day numbers."""
    cycle, day = np.divmod(days + _TO_EPOCH, _CYCLE)
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day = day - (365 * year + year // 4 - year // 100)
    month = (5 * day + 2) // 153
    day = day - (153 * month + 2) // 5 + 1
    month = np.where(month < 10, month + 3, month - 9)
    return 400 * cycle + year + (month <= 2), month, day


def day_numbers(year: Numbers, month: Numbers, day: Numbers | int) -> Numbers:
    """Day numbers of dates."""
    year = year - (month <= 2)
    cycle, rest = np.divmod(year, 400)
    of_year = (153 * np.where(month > 2, month - 3, month + 9) + 2) // 5 + day - 1
    found: Numbers = cycle * _CYCLE + rest * 365 + rest // 4 - rest // 100 + of_year - _TO_EPOCH
    return found


def dates(days: Numbers, known: Numbers | None) -> pa.Array:
    """Day numbers as a column."""
    return masked(days.astype(np.int32), known, pa.int32()).cast(pa.date32())


def instants(ms: Numbers, known: Numbers | None) -> pa.Array:
    """Milliseconds as a column."""
    return masked(ms, known, pa.int64()).view(pa.date64())


def _part(compute: Callable[[pa.Array], Numbers], ready: Callable[[pa.Array], pa.Array] | None = None) -> Kernel:
    """A part of moments; `ready` is Arrow's kernel for the years that it knows."""

    def kernel(call: Call) -> pa.Array:
        column = call.column(0)
        if ready is not None and _is_near(column):
            plain = column if pa.types.is_date32(column.type) else column.view(pa.timestamp("ms"))
            return ready(plain).cast(pa.int64())
        return masked(compute(column).astype(np.int64), valid([column]), pa.int64())

    return kernel


def _is_near(column: pa.Array) -> bool:
    """Whether all moments lie in years of four digits, or nearly."""
    if pa.types.is_date32(column.type):
        span = pc.min_max(column.cast(pa.int32()))
        return _within(span, _NEAR)
    return _within(pc.min_max(column.view(pa.int64())), _NEAR * DAY)


def _within(span: pa.Scalar, bound: int) -> bool:
    low, high = span["min"].as_py(), span["max"].as_py()
    return low is None or (low >= -bound and high <= bound)


def _clock(column: pa.Array) -> Numbers:
    return instants_of(column) % DAY


def _week(column: pa.Array) -> Numbers:
    days = days_of(column)
    thursday = days - (days + 3) % 7 + 3
    found: Numbers = (thursday - day_numbers(civil(thursday)[0], np.int64(1), 1)) // 7 + 1  # type: ignore[arg-type]
    return found


def _day_of_year(column: pa.Array) -> Numbers:
    days = days_of(column)
    found: Numbers = days - day_numbers(civil(days)[0], np.int64(1), 1) + 1  # type: ignore[arg-type]
    return found


def _index(column: pa.Array, unit: str) -> Numbers:
    """Which one, counted from a fixed beginning."""
    if unit in MONTHS:
        year, month, _ = civil(days_of(column))
        return (year * 12 + month - 1) // MONTHS[unit]
    if unit == "week":
        return (days_of(column) + 3) // 7
    return instants_of(column) // MILLISECONDS[unit]


def _trunc(call: Call) -> Answer:
    column, unit = call.column(0), call.constant(1)
    index, known = _index(column, unit), valid([column])
    if unit in MONTHS:
        year, month = np.divmod(index * MONTHS[unit], 12)
        return _like(column, day_numbers(year, month + 1, 1), np.int64(0), known)
    if unit == "week":
        return _like(column, index * 7 - 3, np.int64(0), known)
    return _like(column, *np.divmod(index * MILLISECONDS[unit], DAY), known)


def _add(call: Call) -> Answer:
    column, counts, unit = call.column(0), call.column(1), call.constant(2)
    count, known = numpy_of(counts), valid([column, counts])
    days, clock = days_of(column), np.int64(0) if pa.types.is_date32(column.type) else _clock(column)
    if unit in MONTHS:
        far = np.abs(count.astype(np.float64)) > 1e11
        year, month, day = civil(days)
        year, month = np.divmod(year * 12 + month - 1 + np.where(far, 0, count) * MONTHS[unit], 12)
        month = month + 1
        following = day_numbers(year + (month == 12), np.where(month == 12, 1, month + 1), 1)
        first = day_numbers(year, month, 1)
        return _like(column, first + np.minimum(day, following - first) - 1, clock, known, far)
    size = 7 * DAY if unit == "week" else MILLISECONDS[unit]
    far = np.abs(count.astype(np.float64)) * size > _SAFE
    more, clock = np.divmod(clock + np.where(far, 0, count) * size, DAY)
    return _like(column, days + more, clock, known, far)


def _like(column: pa.Array, days: Numbers, clock: Any, known: Numbers | None, far: Numbers | None = None) -> Answer:
    """Days and milliseconds of the day as a column of the same type; a failure where they do not fit."""
    beyond = np.zeros(len(column), np.bool_) if far is None else far.copy()
    if pa.types.is_date32(column.type):
        beyond |= (days < DATE_RANGE[0]) | (days > DATE_RANGE[1])
        found = dates(np.where(beyond, 0, days), known)
    else:
        wide = days.astype(np.float64) * DAY
        beyond |= np.abs(wide) >= 2.0**63 - DAY
        found = instants(np.where(beyond, 0, days) * DAY + clock, known)
    return refused(found, beyond if known is None else beyond & known, BEYOND)


def _difference(call: Call) -> pa.Array:
    start, end, unit = call.column(0), call.column(1), call.constant(2)
    return masked(_index(end, unit) - _index(start, unit), valid([start, end]), pa.int64())


def _date(call: Call) -> Answer:
    column = call.column(0)
    if pa.types.is_date32(column.type):
        return column
    days, known = days_of(column), valid([column])
    beyond = (days < DATE_RANGE[0]) | (days > DATE_RANGE[1])
    return refused(dates(np.where(beyond, 0, days), known), beyond, BEYOND)


def _datetime(call: Call) -> pa.Array:
    column = call.column(0)
    return instants(instants_of(column), valid([column])) if pa.types.is_date32(column.type) else column


def _format(call: Call) -> pa.Array:
    column, parts = call.column(0), format_parts(call.constant(1))
    days = days_of(column)
    year, month, day = civil(days)
    clock = np.zeros(len(column), np.int64) if pa.types.is_date32(column.type) else _clock(column)
    values: dict[str, Callable[[], Numbers]] = {
        "%Y": lambda: year,
        "%m": lambda: month,
        "%d": lambda: day,
        "%H": lambda: clock // 3_600_000,
        "%M": lambda: clock // 60_000 % 60,
        "%S": lambda: clock // 1000 % 60,
        "%L": lambda: clock % 1000,
        "%j": lambda: _day_of_year(column),
    }
    texts = [_digits(values[part](), DIRECTIVES[part[1]]) if part in values else _literal(part) for part in parts or ()]
    joined = pc.binary_join_element_wise(*texts, "") if texts else pa.scalar("")
    if isinstance(joined, pa.Scalar):
        joined = pa.repeat(joined, call.length)
    return pc.if_else(column.is_valid(), joined, pa.scalar(None, pa.utf8()))


def _literal(part: str) -> pa.Scalar:
    return pa.scalar("%" if part == "%%" else part)


def _digits(values: Numbers, width: int) -> pa.Array:
    if width == 4 and (values < 0).any():
        return pa.array([f"{value:04d}" for value in values.tolist()])
    return pc.utf8_lpad(pa.array(values.astype(np.int64)).cast(pa.utf8()), width=width, padding="0")


def parsed(texts: pa.Array, expression: str) -> tuple[Numbers, Numbers]:
    """Milliseconds that texts spell by a pattern of named groups, and which of them do."""
    found = pc.extract_regex(texts, pattern=rf"\A(?:{expression})\z")
    names = [field.name for field in found.type]
    there = found.is_valid().to_numpy(zero_copy_only=False)
    parts: dict[str, Numbers] = {}
    for at, name in enumerate(names):
        digits = pc.fill_null(found.field(at), "0")
        parts[name] = numpy_of(pc.if_else(pc.equal(digits, ""), "0", digits).cast(pa.int64()))
    zero = np.zeros(len(texts), np.int64)
    year, month, day = parts.get("Y", zero + 1970), parts.get("m", zero + 1), parts.get("d", zero + 1)
    if "j" in parts:
        counted, month, day = civil(day_numbers(year, zero + 1, 1) + parts["j"] - 1)
        # Not where the year has no such day, or month and day name another one.
        there &= (counted == year) & (parts.get("m", month) == month) & (parts.get("d", day) == day)
    hour, minute, second, rest = (parts.get(name, zero) for name in "HMSL")
    real = there & (month >= 1) & (month <= 12) & (day >= 1) & (hour < 24) & (minute < 60) & (second < 60)
    month = np.where(real, month, 1)
    first = day_numbers(year, month, 1)
    following = day_numbers(year + (month == 12), np.where(month == 12, 1, month + 1), 1)
    real &= day <= following - first
    return (first + day - 1) * DAY + ((hour * 60 + minute) * 60 + second) * 1000 + rest, real


def _parse(call: Call, *, tried: bool) -> Answer:
    texts, pattern = call.column(0), call.constant(1)
    if not any(part[0] == "%" and part != "%%" for part in format_parts(pattern) or ()):
        ms, real = np.zeros(call.length, np.int64), numpy_of(pc.fill_null(pc.equal(texts, pattern), False))
    else:
        ms, real = parsed(texts, parse_expression(pattern))
    found = instants(np.where(real, ms, 0), real)
    bad = ~real & texts.is_valid().to_numpy(zero_copy_only=False)
    if tried or not bad.any():
        return found
    shown = repr(texts[int(np.flatnonzero(bad)[0])].as_py()[:40])
    return refused(found, bad, f"{shown} is not written as {pattern!r}")


MOMENT_KERNELS: dict[str, Kernel] = {
    "year": _part(lambda column: civil(days_of(column))[0], pc.year),
    "quarter": _part(lambda column: (civil(days_of(column))[1] + 2) // 3, pc.quarter),
    "month": _part(lambda column: civil(days_of(column))[1], pc.month),
    "week": _part(_week, pc.iso_week),
    "day": _part(lambda column: civil(days_of(column))[2], pc.day),
    "weekday": _part(lambda column: (days_of(column) + 3) % 7 + 1),
    "day_of_year": _part(_day_of_year),
    "hour": _part(lambda column: _clock(column) // 3_600_000),
    "minute": _part(lambda column: _clock(column) // 60_000 % 60),
    "second": _part(lambda column: _clock(column) // 1000 % 60),
    "millisecond": _part(lambda column: _clock(column) % 1000),
    "epoch_ms": _part(instants_of),
    "date": _date,
    "datetime": _datetime,
    "date_trunc": _trunc,
    "date_add": _add,
    "date_diff": _difference,
    "format_date": _format,
    "parse_date": lambda call: _parse(call, tried=False),
    "try_parse_date": lambda call: _parse(call, tried=True),
}
