"""Date and DateTime text by column: the common spellings in Arrow, anything else left to the per-value rules."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.temporal import parse_datetime

_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_STAMP = (
    r"^(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ](?P<clock>(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])"
    r"(?:\.(?P<fraction>[0-9]+))?(?P<zone>Z|[+-][0-9]{2}(?::?[0-9]{2})?)?$"
)
_EPOCH_CLOCK = "1970-01-01T00:00:00"


def dates_from_text(text: pa.Array) -> pa.Array | None:
    """Epoch days as date32 when every text is a plain `YYYY-MM-DD`, else None."""
    if not pc.all(pc.match_substring_regex(text, _DAY), min_count=0).as_py():
        return None
    try:
        return text.cast(pa.date32())
    except pa.ArrowInvalid:  # a day that is not in the calendar; the per-value rules find it
        return None


def datetimes_from_text(text: pa.Array) -> pa.Array | None:
    """Epoch milliseconds as date64 when every text is a full timestamp, else None."""
    parts = pc.extract_regex(text, _STAMP)
    if parts.null_count != text.null_count:
        return None
    day, clock, fraction, zone = parts.flatten()
    try:
        seconds = pc.binary_join_element_wise(day, clock, " ").cast(pa.timestamp("s")).cast(pa.int64())
        offsets = _zone_offsets(zone)
    except ValueError:  # no such day, or no such zone
        return None
    millis = pc.utf8_slice_codeunits(pc.utf8_rpad(fraction, 3, "0"), 0, 3).cast(pa.int64())
    total = pc.subtract(pc.add(pc.multiply(seconds, 1000), millis), offsets)
    return total.cast(pa.date64())


def _zone_offsets(zones: pa.Array) -> pa.Array:
    """Milliseconds east of UTC per row; each distinct zone is read once, by the one parser."""
    encoded = zones.dictionary_encode()
    offsets = [-parse_datetime(_EPOCH_CLOCK + zone).ms for zone in encoded.dictionary.to_pylist()]
    return pa.array(offsets, pa.int64()).take(encoded.indices)
