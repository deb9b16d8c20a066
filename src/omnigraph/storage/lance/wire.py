"""Fields of protocol buffers, of which Lance's version files, row ids and versions of rows consist."""

from __future__ import annotations


def pb_field(number: int, value: int | bytes) -> bytes:
    """One field: a number, or bytes that may be fields themselves."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
