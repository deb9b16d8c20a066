"""Large JSON bodies in bounded steps: an object of strings and short values, so that other threads get their turn.

The decoder of the standard library keeps the interpreter to itself until it is done, which for 32 MiB of small values
is most of a second. A body that large is one long string in an object, so that is all that is read here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

_STEP = 256 << 10
_SHORT = 64 << 10
_BLANK = re.compile(rb"[ \t\r\n]*+")
# As much of a string as fits, without an escape or a pair of surrogates that is cut in two.
_INSIDE = re.compile(
    rb'(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u(?![dD][89abAB])[0-9a-fA-F]{4}|'
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})++"
)
_VALUE = re.compile(rb"[^,}\"]++")


def long_object(data: bytes, decode: Callable[[bytes], Any]) -> dict[str, Any]:
    """The members of a large object; ValueError with the reason when it is not one. `decode` reads short values."""
    at = _expect(data, _skip(data, 0), b"{")
    found: dict[str, Any] = {}
    at = _skip(data, at)
    while data[at : at + 1] != b"}":
        name, at = _string(data, at)
        if name in found:
            raise ValueError(f"member '{name[:64]}' occurs twice")
        at = _skip(data, _expect(data, _skip(data, at), b":"))
        found[name], at = _string(data, at) if data[at : at + 1] == b'"' else _short(data, at, decode)
        at = _skip(data, at)
        if data[at : at + 1] == b",":
            at = _skip(data, at + 1)
        elif data[at : at + 1] != b"}":
            raise ValueError(f"',' or '}}' expected at byte {at}")
    if _skip(data, at + 1) != len(data):
        raise ValueError(f"nothing may follow the object, at byte {at + 1}")
    return found


def _string(data: bytes, at: int) -> tuple[str, int]:
    at = _expect(data, at, b'"')
    pieces: list[str] = []
    while data[at : at + 1] != b'"':
        match = _INSIDE.match(data, at, at + _STEP)
        if match is None:
            raise ValueError(f"not a string at byte {at}: a bad escape, a control character or half a surrogate pair")
        end = _whole(data, match.end())
        pieces.append(json.loads(b'"' + data[at:end] + b'"'))
        at = end
    return "".join(pieces), at + 1


def _whole(data: bytes, end: int) -> int:
    """The end of a step, moved back to where a character begins."""
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end -= 1
    return end


def _short(data: bytes, at: int, decode: Callable[[bytes], Any]) -> tuple[Any, int]:
    match = _VALUE.match(data, at, at + _SHORT)
    if match is None or data[at] in b"[{":
        raise ValueError(f"a body of this size is an object of strings; something else is at byte {at}")
    return decode(match.group()), match.end()


def _expect(data: bytes, at: int, mark: bytes) -> int:
    if data[at : at + 1] != mark:
        raise ValueError(f"'{mark.decode()}' expected at byte {at}")
    return at + 1


def _skip(data: bytes, at: int) -> int:
    match = _BLANK.match(data, at)
    return at if match is None else match.end()
