"""Amounts of bytes as people write and read them: a number of bytes, or a number with a unit."""

from __future__ import annotations

import re
from decimal import Decimal

from omnigraph.errors import BadRequest

_UNITS = {
    "": 1, "b": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}  # fmt: skip
_SHOWN_UNITS = ("B", "kB", "MB", "GB", "TB")
_SIZE = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[a-z]*)")


def parse_bytes(given: int | str, *, name: str) -> int:
    """The number of bytes; `name` is what the error calls the setting.

    >>> parse_bytes("2GiB", name="memory")
    2147483648
    """
    if isinstance(given, str):
        found = _SIZE.fullmatch(given.strip().lower())
        if found is None or found["unit"] not in _UNITS:
            raise BadRequest(f"{name} must be a number of bytes or a size such as 512MiB or 2GiB, not '{given}'")
        return int(Decimal(found["number"]) * _UNITS[found["unit"]])
    if isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise BadRequest(f"{name} must be a number of bytes or a size such as 512MiB or 2GiB, not {given!r}")
    return given


def size_text(amount: int) -> str:
    """A number of bytes as people read it.

    >>> size_text(999), size_text(1_234_567)
    ('999 B', '1.2 MB')
    """
    value, unit = float(amount), 0
    while value >= 1000 and unit < len(_SHOWN_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{amount} B" if unit == 0 else f"{value:.1f} {_SHOWN_UNITS[unit]}"
