"""Bases of a version: the directories of other lineages that it shows files of, found below the root it was opened at.

Lance writes bases into version files as absolute paths. A graph that was moved, copied or mounted elsewhere would look
for its own files in the former place, so these paths are never followed: a base names a table of this graph and a ref
of it, and both are below the root. No file is rewritten for this; versions committed later have the right paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from omnigraph.errors import Corrupt
from omnigraph.storage.base.layout import Address, is_table_location
from omnigraph.storage.lance.wire import pb_field

_BASE_PATHS = 18  # in lance's Manifest message
_BASE_ID, _BASE_PATH = 1, 4  # in its BasePath message
_FIXED_BYTES = {1: 8, 5: 4}


def misplaced(address: Address, dataset: Any) -> dict[int, str]:
    """The bases of an open dataset that are not where its version says, by number, with the path where they are."""
    stored = dataset._ds.base_paths()
    places = {number: _place(address, str(base.path), base.name) for number, base in stored.items()}
    return {number: place for number, place in places.items() if place != stored[number].path}


def relocated(manifest: bytes, places: Mapping[int, str]) -> bytes:
    """A serialized lance manifest whose bases of these numbers are at other places."""
    return b"".join(
        pb_field(_BASE_PATHS, _moved(value, places)) if field == _BASE_PATHS else raw
        for field, value, raw in _fields(manifest)
    )


def _place(address: Address, stored: str, ref: str | None) -> str:
    """Where a base is: the same table and ref below this root."""
    inside = "" if ref is None else f"/tree/{ref}"
    # A ref shows files of its own table; only a table that took the place of a former one was made from another.
    another = "/".join(stored.removesuffix(inside).rsplit("/", 2)[1:])
    for location in (address.location, another):
        if stored.endswith(f"/{location}{inside}") and (location == address.location or is_table_location(location)):
            return f"{address.root.uri}/{location}{inside}"
    raise Corrupt(f"{address.uri}: a version refers to files in '{stored}', which is not a table of this graph")


def _moved(base: bytes, places: Mapping[int, str]) -> bytes:
    number = next((int.from_bytes(value) for field, value, _ in _fields(base) if field == _BASE_ID), 0)
    place = places.get(number)
    if place is None:
        return base
    kept = b"".join(raw for field, _, raw in _fields(base) if field != _BASE_PATH)
    return kept + pb_field(_BASE_PATH, place.encode())


def _fields(message: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Number, value and whole encoding of each field of a protobuf message; a number's value as big-endian bytes."""
    at = 0
    while at < len(message):
        start = at
        key, at = _varint(message, at)
        match key & 7:
            case 0:  # varint
                number, at = _varint(message, at)
                value = number.to_bytes(10)
            case 2:  # length-delimited
                size, at = _varint(message, at)
                value, at = message[at : at + size], at + size
            case kind if kind in _FIXED_BYTES:
                value, at = message[at : at + _FIXED_BYTES[kind]], at + _FIXED_BYTES[kind]
            case kind:
                raise Corrupt(f"a version file has a field of the unknown wire type {kind}")
        yield key >> 3, value, message[start:at]


def _varint(message: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = message[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at
