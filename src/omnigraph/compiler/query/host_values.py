"""Python values as the JSON that a parameter takes: dates, bytes, and what array libraries hand out."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

_PLAIN = frozenset({type(None), bool, int, float, str})


def json_params(params: Mapping[str, Any] | None) -> Any:
    """Parameters fit to be sent as JSON; what is not a mapping is refused by the one it is sent to."""
    if not isinstance(params, Mapping):
        return json_value(params)
    return {name: json_value(value) for name, value in params.items()}


def json_value(value: Any) -> Any:
    """One value; what JSON has is returned as it is, and so is what nothing is known about.

    >>> json_value(date(2024, 5, 1)), json_value((1, b"AB"))
    ('2024-05-01', [1, 'base64:QUI='])
    """
    match value:
        case None | bool() | int() | float() | str() if type(value).__module__ == "builtins":
            return value
        case datetime():
            return (value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)).isoformat() + "Z"
        case date():
            return value.isoformat()
        case bytes() | bytearray() | memoryview():
            return f"base64:{b64encode(value).decode()}"
        case list() | tuple():
            plain = _PLAIN.issuperset(map(type, value))  # a thousand keys or a vector need no second look at each
            return list(value) if plain else [json_value(item) for item in value]
    # NumPy scalars and arrays have `tolist`, Arrow scalars `as_py`; neither package is needed to ask.
    for name in ("tolist", "as_py"):
        unpack = getattr(value, name, None)
        if callable(unpack):
            return json_value(unpack())
    return value
