"""Dates and instants in formats such as %d/%m/%Y, by column: a format becomes a pattern, its parts an ISO text."""

from __future__ import annotations

import re
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import BadRequest

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_PARTS = {
    "Y": r"(?P<Y>[0-9]{4})",
    "y": r"(?P<y>[0-9]{2})",
    "m": r"(?P<m>[0-9]{1,2})",
    "d": r"(?P<d>[0-9]{1,2})",
    "H": r"(?P<H>[0-9]{1,2})",
    "I": r"(?P<I>[0-9]{1,2})",
    "M": r"(?P<M>[0-9]{2})",
    "S": r"(?P<S>[0-9]{2})",
    "f": r"(?P<f>[0-9]{1,9})",
    "p": r"(?P<p>[AaPp]\.?[Mm]\.?)",
    "b": r"(?P<b>[A-Za-z]{3})[a-z]*\.?",
    "B": r"(?P<b>[A-Za-z]{3})[a-z]*\.?",
    "%": "%",
}
_PACKED = {"Ymd": r"(?P<Y>[0-9]{4})(?P<m>[0-9]{2})(?P<d>[0-9]{2})"}


def instants(texts: pa.Array, form: str) -> pa.Array | None:
    """Timestamps of texts in one format; None when one of them is not a day or time in that format."""
    parts = pc.extract_regex(texts, _pattern(form))
    if parts.null_count != texts.null_count:
        return None
    found = dict(zip((each.name for each in parts.type), parts.flatten(), strict=True))
    year = found["Y"] if "Y" in found else _century(found["y"])
    month = pc.utf8_lpad(found["m"], 2, "0") if "m" in found else _month(found["b"])
    day = pc.utf8_lpad(found["d"], 2, "0") if "d" in found else pc.if_else(pc.is_valid(texts), "01", None)
    clock = pc.binary_join_element_wise(
        _hour(found, texts), _or_zero(found, "M", texts), _or_zero(found, "S", texts), ":"
    )
    stamp = pc.binary_join_element_wise(pc.binary_join_element_wise(year, month, day, "-"), clock, " ")
    try:
        seconds = stamp.cast(pa.timestamp("s"))
    except pa.ArrowInvalid:  # the thirtieth of February, or 25 o'clock
        return None
    if "f" not in found:
        return seconds.cast(pa.timestamp("ms"))
    millis = pc.utf8_slice_codeunits(pc.utf8_rpad(found["f"], 3, "0"), 0, 3).cast(pa.int64())
    return pc.add(seconds.cast(pa.timestamp("ms")).cast(pa.int64()), millis).cast(pa.timestamp("ms"))


def check_format(form: str) -> None:
    """BadRequest unless this is a format that can be read."""
    _pattern(form)


@lru_cache(64)
def _pattern(form: str) -> str:
    if form == "%Y%m%d":
        return f"^{_PACKED['Ymd']}$"
    pieces: list[str] = []
    for sign, literal in re.findall(r"%(.)|([^%]+)", form):
        if sign and sign not in _PARTS:
            known = ", ".join(f"%{part}" for part in _PARTS)
            raise BadRequest(f"'%{sign}' in the date format '{form}' is unknown (known: {known})")
        pieces.append(_PARTS[sign] if sign else re.escape(literal).replace("\\ ", " "))
    text = "".join(pieces)
    if ("<Y>" in text) == ("<y>" in text) or ("<m>" in text) == ("<b>" in text):
        raise BadRequest(f"the date format '{form}' needs a year (%Y or %y) and a month (%m, %b or %B), each once")
    try:
        re.compile(text)
    except re.error as error:
        raise BadRequest(f"the date format '{form}' cannot be used: {error}") from error
    return f"^{text}$"


def _century(years: pa.Array) -> pa.Array:
    """Two digits as POSIX reads them: from 69 on the last century."""
    early = pc.less(years.cast(pa.int64()), 69)
    return pc.binary_join_element_wise(pc.if_else(early, "20", "19"), years, "")


def _month(names: pa.Array) -> pa.Array:
    numbers = pc.index_in(pc.utf8_lower(names), value_set=pa.array(_MONTHS))
    # A word that is not a month becomes a month that does not exist, so that the cast refuses it.
    numbers = pc.if_else(pc.is_valid(names), pc.fill_null(pc.add(numbers, 1), 99), None)
    return pc.utf8_lpad(numbers.cast(pa.utf8()), 2, "0")


def _hour(found: dict[str, pa.Array], texts: pa.Array) -> pa.Array:
    if "I" not in found:
        return _or_zero(found, "H", texts)
    hours = found["I"].cast(pa.int64())
    if "p" in found:
        late = pc.equal(pc.utf8_slice_codeunits(pc.utf8_lower(found["p"]), 0, 1), "p")
        hours = pc.add(pc.if_else(pc.equal(hours, 12), 0, hours), pc.if_else(late, 12, 0))
    return pc.utf8_lpad(hours.cast(pa.utf8()), 2, "0")


def _or_zero(found: dict[str, pa.Array], name: str, texts: pa.Array) -> pa.Array:
    if name in found:
        return pc.utf8_lpad(found[name], 2, "0")
    return pc.if_else(pc.is_valid(texts), "00", None)
