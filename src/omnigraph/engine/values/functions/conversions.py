"""Kernels that convert between types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.functions.conversions import FLOAT_TEXT, INTEGER_TEXT
from omnigraph.compiler.temporal import BadTemporal, format_date, format_datetime, parse_date, parse_datetime
from omnigraph.engine.values.functions.kernel import Answer, Call, Kernel, Numbers, masked, numpy_of, refused, valid
from omnigraph.engine.values.functions.moments import MOMENT_KERNELS, dates, days_of, instants, instants_of, parsed

_DAY = 86_400_000
_ISO_DAY = "(?P<Y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})"
_ISO = _ISO_DAY + r"[Tt ](?P<H>[0-9]{2}):(?P<M>[0-9]{2}):(?P<S>[0-9]{2})(?:\.(?P<L>[0-9]{3}))?Z?"


def _converted(call: Call, found: pa.Array, good: Numbers, what: str, *, tried: bool) -> Answer:
    """The values that could be converted; the others are null, or fail."""
    column = call.column(0)
    bad = ~good & column.is_valid().to_numpy(zero_copy_only=False)
    if not bad.any():
        return found
    if tried:
        return pc.if_else(pa.array(bad), pa.scalar(None, found.type), found)
    shown = column[int(np.flatnonzero(bad)[0])].as_py()
    text = shown if not isinstance(shown, str) or len(shown) <= 40 else shown[:37] + "…"
    return refused(found, bad, f"{text!r} {what}")


def _to_int(call: Call, *, tried: bool) -> Answer:
    column = call.column(0)
    if pa.types.is_string(column.type):
        spelt = numpy_of(pc.fill_null(pc.match_substring_regex(column, rf"\A{INTEGER_TEXT}\z"), False))
        trimmed = pc.utf8_ltrim(pc.utf8_trim_whitespace(pc.if_else(pa.array(spelt), column, "0")), characters="+")
        numbers, fits = _integers(trimmed)
        found = masked(numbers, valid([column]), pa.int64())
        return _converted(call, found, spelt & fits, "is not a whole number of 64 bits", tried=tried)
    if pa.types.is_floating(column.type):
        values = numpy_of(column.cast(pa.float64()), 0.0)
        fits = (values >= -(2.0**63)) & (values < 2.0**63)
        found = masked(np.where(fits, values, 0.0).astype(np.int64), valid([column]), pa.int64())
        return _converted(call, found, fits, "does not fit into 64 bits", tried=tried)
    if pa.types.is_uint64(column.type):
        values = numpy_of(column)
        fits = values <= np.uint64(2**63 - 1)
        found = masked(np.where(fits, values, 0).astype(np.int64), valid([column]), pa.int64())
        return _converted(call, found, fits, "does not fit into 64 bits", tried=tried)
    return column.cast(pa.int64())


def _integers(texts: pa.Array) -> tuple[Numbers, Numbers]:
    try:
        return numpy_of(texts.cast(pa.int64())), np.ones(len(texts), np.bool_)
    except pa.ArrowInvalid:
        exact = [0 if text is None else int(text) for text in texts.to_pylist()]
        fits = np.array([-(2**63) <= value < 2**63 for value in exact], np.bool_)
        return np.array([value if fit else 0 for value, fit in zip(exact, fits, strict=True)], np.int64), fits


def _to_float(call: Call, *, tried: bool) -> Answer:
    column = call.column(0)
    if not pa.types.is_string(column.type):
        return column.cast(pa.float64(), safe=False)
    spelt = numpy_of(pc.fill_null(pc.match_substring_regex(column, rf"\A{FLOAT_TEXT}\z"), False))
    trimmed = pc.utf8_ltrim(pc.utf8_trim_whitespace(pc.if_else(pa.array(spelt), column, "0")), characters="+")
    try:
        values = numpy_of(trimmed.cast(pa.float64()), 0.0)
    except pa.ArrowInvalid:
        values = np.array([0.0 if text is None else float(text) for text in trimmed.to_pylist()])
    good = spelt & np.isfinite(values)
    return _converted(call, masked(values, valid([column]), pa.float64()), good, "is not a number", tried=tried)


def _to_bool(call: Call, *, tried: bool) -> Answer:
    column = call.column(0)
    good = numpy_of(pc.fill_null(pc.is_in(column, value_set=pa.array(["true", "false"])), False))
    return _converted(call, pc.equal(column, "true"), good, "is neither 'true' nor 'false'", tried=tried)


def _to_date(call: Call, *, tried: bool) -> Answer:
    column = call.column(0)
    if not pa.types.is_string(column.type):
        return MOMENT_KERNELS["date"](call)
    ms, good = parsed(column, _ISO_DAY)
    days = ms // _DAY
    _parse_rest(column, days, good, lambda text: parse_date(text).days)
    return _converted(call, dates(np.where(good, days, 0), valid([column])), good, "is not a date", tried=tried)


def _to_datetime(call: Call, *, tried: bool) -> Answer:
    column = call.column(0)
    if not pa.types.is_string(column.type):
        return MOMENT_KERNELS["datetime"](call)
    ms, good = parsed(column, _ISO)
    _parse_rest(column, ms, good, lambda text: parse_datetime(text).ms)
    return _converted(call, instants(np.where(good, ms, 0), valid([column])), good, "is not a datetime", tried=tried)


def _parse_rest(column: pa.Array, values: Numbers, good: Numbers, parse: Callable[[str], int]) -> None:
    """Rarer spellings, each different one once."""
    rest = np.flatnonzero(~good & column.is_valid().to_numpy(zero_copy_only=False))
    if not len(rest):
        return
    encoded = column.take(pa.array(rest)).dictionary_encode()
    found: list[int | None] = []
    for text in encoded.dictionary.to_pylist():
        try:
            found.append(parse(text))
        except BadTemporal:
            found.append(None)
    place = encoded.indices.to_numpy(zero_copy_only=False)
    good[rest] = np.array([each is not None for each in found])[place]
    values[rest] = np.array([each or 0 for each in found], np.int64)[place]


def _to_string(call: Call) -> pa.Array:
    column = call.column(0)
    kind = column.type
    if pa.types.is_string(kind):
        return column
    if pa.types.is_date32(kind):
        return _formatted(column, days_of(column), "%Y-%m-%d", format_date)
    if pa.types.is_date64(kind):
        return _formatted(column, instants_of(column), "%Y-%m-%dT%H:%M:%S.%LZ", format_datetime)
    if pa.types.is_floating(kind):
        texts = numpy_of(column.cast(pa.float64()), 0.0).astype(np.dtypes.StringDType())
        return pa.array(texts.tolist(), pa.utf8(), mask=column.is_null().to_numpy(zero_copy_only=False))
    return column.cast(pa.utf8())


def _formatted(column: pa.Array, values: Numbers, pattern: str, rare: Callable[[int], str]) -> pa.Array:
    from omnigraph.engine.values.fixed import Fixed

    days = days_of(column)
    if ((days < -719_528) | (days > 2_932_896)).any():  # beyond the years 0 to 9999
        texts: list[Any] = [rare(value) for value in values.tolist()]
        return pa.array(texts, pa.utf8(), mask=column.is_null().to_numpy(zero_copy_only=False))
    call = Call((column, Fixed(pattern)), (column.type, pa.utf8()), len(column), pa.utf8())
    found = MOMENT_KERNELS["format_date"](call)
    assert isinstance(found, pa.Array)
    return found


def _pair(name: str, kernel: Callable[..., Answer]) -> dict[str, Kernel]:
    return {name: lambda call: kernel(call, tried=False), f"try_{name}": lambda call: kernel(call, tried=True)}


CONVERSION_KERNELS: dict[str, Kernel] = {
    **_pair("to_int", _to_int),
    **_pair("to_float", _to_float),
    **_pair("to_bool", _to_bool),
    **_pair("to_date", _to_date),
    **_pair("to_datetime", _to_datetime),
    "to_string": _to_string,
}
