"""An offline provider: the same text always gives the same vector, and shared words bring vectors closer."""

from __future__ import annotations

import hashlib
import math
import re
import struct
import unicodedata

_VERSION = b"omnigraph-mock/1\0"
_WORD = re.compile(r"[^\W_]+")
_TEXT_WEIGHT = 0.05


def mock_vector(text: str, dim: int) -> list[float]:
    """A unit vector for text, stable across versions of this package."""
    total = [0.0] * dim
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        total = [a + b for a, b in zip(total, _stream(b"token", word, dim), strict=True)]
    mixed = [a + _TEXT_WEIGHT * b for a, b in zip(_unit(total), _stream(b"text", text, dim), strict=True)]
    return [_float32(value) for value in _unit(mixed)]


def _stream(tag: bytes, text: str, dim: int) -> list[float]:
    prefix, body = _VERSION + tag + b"\0", text.encode()
    values: list[float] = []
    counter = 0
    while len(values) < dim:
        digest = hashlib.sha256(prefix + struct.pack("<Q", counter) + body).digest()
        values.extend(value / 2**31 - 1 for value in struct.unpack("<8I", digest))
        counter += 1
    return _unit(values[:dim])


def _unit(values: list[float]) -> list[float]:
    norm = math.sqrt(math.fsum(value * value for value in values))
    return [value / norm for value in values] if norm > 0 else values


def _float32(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])
