"""Identifiers: ULIDs, hashes of names, and the clock they are minted from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from omnigraph import host

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_FNV_OFFSET = 0xCBF29CE484222325
_FNV_PRIME = 0x100000001B3
_MASK64 = 0xFFFFFFFFFFFFFFFF


_planned: ContextVar[list[int] | None] = ContextVar("planned_ulids", default=None)


def new_ulid() -> str:
    """One fresh 26-character ULID."""
    return _encode_ulid(host.current().reserve_ulids(1))


def new_ulids(count: int) -> list[str]:
    """`count` fresh ULIDs in ascending order."""
    first = host.current().reserve_ulids(count)
    return [_encode_ulid(first + step) for step in range(count)]


def ulid_after(text: str) -> str:
    """A ULID a little greater than another one, whatever the clock says; other processes get other ones."""
    return _encode_ulid(ulid_number(text) + 1 + host.random_number(5))


def ulid_number(text: str) -> int:
    """The 128-bit value of a ULID."""
    value = 0
    for character in text:
        value = value << 5 | _CROCKFORD.index(character)
    return value


def reserve_ulids(count: int) -> int:
    """The first of `count` consecutive 128-bit ULID values; for callers that spell them by the column."""
    planned = _planned.get()
    if planned is None:
        return host.current().reserve_ulids(count)
    first, planned[0] = planned[0], planned[0] + count
    return first


@contextmanager
def minting_from(first: int) -> Iterator[None]:
    """Reservations inside the block are consecutive from `first`, so that repeating the work gives the same ids."""
    token = _planned.set([first])
    try:
        yield
    finally:
        _planned.reset(token)


def is_ulid(text: str) -> bool:
    """Whether text is an upper-case 26-character ULID."""
    return len(text) == 26 and may_begin_ulid(text)


def may_begin_ulid(text: str) -> bool:
    """Whether text could be the first characters of an upper-case ULID."""
    return 0 < len(text) <= 26 and text[0] in "01234567" and all(c in _CROCKFORD for c in text)


def now_micros() -> int:
    """Microseconds since the Unix epoch, UTC."""
    return host.time_ns() // 1_000


def fnv1a64(text: str) -> int:
    """FNV-1a over the UTF-8 bytes of text.

    >>> f"{fnv1a64('Person'):016x}"
    '40d76f1f51639ec0'
    """
    value = _FNV_OFFSET
    for byte in text.encode():
        value = ((value ^ byte) * _FNV_PRIME) & _MASK64
    return value


def _encode_ulid(value: int) -> str:
    return "".join(_CROCKFORD[(value >> shift) & 31] for shift in range(125, -1, -5))
