"""Durations as people write them: `7d`, `12h`."""

from __future__ import annotations

import os
import re
from datetime import timedelta

from omnigraph.errors import BadRequest
from omnigraph.settings import Settings

HISTORY = "OMNIGRAPH_HISTORY"

_DURATION = re.compile(r"([0-9]+)([A-Za-z]*)")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_LONGEST_SECONDS = 86_400 * 365 * 1_000


def parse_duration(text: str | int | timedelta) -> timedelta:
    """`7d`, `12h`, `30m`, `90s`, `2w`, or seconds.

    >>> parse_duration("7d").days
    7
    """
    if isinstance(text, timedelta):
        return text
    found = _DURATION.fullmatch(str(text))
    if found is None:
        raise BadRequest(f"invalid duration '{text}'; write a number and one of s, m, h, d, w")
    number, unit = found.groups()
    if unit not in _UNITS:
        raise BadRequest(f"unknown duration unit '{unit}' in '{text}'; use one of s, m, h, d, w")
    seconds = int(number[:20]) * _UNITS[unit]
    if len(number) > 20 or seconds > _LONGEST_SECONDS:
        raise BadRequest(f"invalid duration '{text}': longer than a thousand years")
    return timedelta(seconds=seconds)


def history_age(settings: Settings) -> timedelta | None:
    """How long history is kept, by the settings or the environment; None keeps all of it."""
    text = settings.history if settings.history is not None else os.environ.get(HISTORY, "").strip()
    return parse_duration(text) if text else None
