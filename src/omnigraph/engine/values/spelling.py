"""Text forms of Arrow values, by column: JSON strings, floats (JSON and positional), dates and timestamps."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.temporal import format_date, format_datetime

# JSON escapes exactly these; everything else, DEL and non-ASCII included, stands for itself.
_NEEDS_ESCAPE = r'["\\\x00-\x1f]'
_FLOAT_AS_IS = r"^-?[0-9]+\.[0-9]+$"
_FLOAT_WHOLE = r"^-?[0-9]+$"


def json_strings(values: pa.Array) -> pa.Array:
    """Each string as a JSON string literal with non-ASCII kept; nulls stay null."""
    quoted = pc.binary_join_element_wise('"', values, '"', "")
    return _respell(quoted, values, pc.match_substring_regex(values, _NEEDS_ESCAPE), _json_string)


def json_floats(values: pa.Array) -> pa.Array:
    """Each finite float, widened to double, in the shortest spelling that reads back equal; nulls stay null."""
    doubles = values.cast(pa.float64())
    text = doubles.cast(pa.utf8())
    whole = pc.match_substring_regex(text, _FLOAT_WHOLE)
    text = pc.if_else(whole, pc.binary_join_element_wise(text, ".0", ""), text)
    # Below 1e-4 and in exponent form Arrow and Python spell differently; the latter is what json.dumps writes.
    tiny = pc.and_(pc.less(pc.abs(doubles), 1e-4), pc.not_equal(doubles, 0.0))
    odd = pc.or_(tiny, pc.invert(pc.match_substring_regex(text, _FLOAT_AS_IS)))
    return _respell(text, doubles, odd, float.__repr__)


def positional_floats(values: pa.Array) -> pa.Array:
    """Each finite float in its shortest digits at its own width, no exponent, no trailing `.0`, one zero."""
    width = values.type.to_pandas_dtype()
    text = values.cast(pa.utf8())
    text = pc.if_else(pc.equal(values, 0), "0", text)
    return _respell(text, values, pc.match_substring(text, "e"), lambda value: _positional(width(value)))


def iso_dates(days: pa.Array) -> pa.Array:
    """Epoch days as `YYYY-MM-DD`; nulls stay null."""
    text = days.cast(pa.int32()).cast(pa.date32()).cast(pa.utf8())
    return _respell(text, days.cast(pa.int32()), _out_of_range(text), format_date)


def iso_timestamps(milliseconds: pa.Array) -> pa.Array:
    """Epoch milliseconds as `YYYY-MM-DDTHH:MM:SS.mmmZ`; nulls stay null."""
    numbers = milliseconds.cast(pa.int64())
    text = pc.replace_substring(numbers.cast(pa.timestamp("ms")).cast(pa.utf8()), " ", "T")
    text = pc.binary_join_element_wise(text, "Z", "")
    return _respell(text, numbers, _out_of_range(text), format_datetime)


def _respell(text: pa.Array, values: pa.Array, odd: pa.Array, spell: Callable[..., str]) -> pa.Array:
    """Replace the text of the few odd values by what `spell` says."""
    if not pc.any(odd).as_py():
        return text
    fixed = pa.array([spell(value) for value in values.filter(odd).to_pylist()], text.type)
    return pc.replace_with_mask(text, odd, fixed)


def _json_string(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _positional(value: np.floating) -> str:
    return np.format_float_positional(value, unique=True, trim="-")


def _out_of_range(text: pa.Array) -> pa.Array:
    # Arrow prints years beyond its calendar as "<value out of range: …>" and years before 0 with a sign.
    return pc.invert(pc.match_substring_regex(text, r"^[0-9]{4}-"))
