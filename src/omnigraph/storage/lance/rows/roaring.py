"""Roaring bitmaps of the portable format: deletion vectors that lance writes, and sets of rows that it is handed."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

_NONE = np.zeros(0, np.int64)
_WITH_RUNS, _WITHOUT_RUNS = 12_347, 12_346
_FEW_CONTAINERS = 4
_ARRAY_CONTAINER = 4_096
_CONTAINER_BITS = 16
_BITMAP_BYTES = (1 << _CONTAINER_BITS) // 8
_BITMAP_BITS = 32


def row_mask(rows: np.ndarray) -> bytes:
    """A set of row ids, which ascend, as lance takes it: a bitmap for each value of their upper 32 bits.

    Written here because lance's own way takes a list of Python numbers: 100,000 rows 5 ms, so 0.3 ms.
    """
    parts = []
    for key, values in _split(rows, _BITMAP_BITS):
        bitmap = roaring_bitmap(values)
        parts += [struct.pack("<II", key, len(bitmap)), bitmap]
    return b"".join([struct.pack("<I", len(parts) // 2), *parts])


def roaring_bitmap(values: np.ndarray) -> bytes:
    """Numbers of 32 bits, which ascend, as a bitmap without runs."""
    heads, contents = [], []
    for key, low in _split(values, _CONTAINER_BITS):
        heads.append((key, len(low) - 1))
        if len(low) <= _ARRAY_CONTAINER:
            contents.append(low.astype("<u2").tobytes())
        else:
            bits = np.zeros(1 << _CONTAINER_BITS, np.bool_)
            bits[low] = True
            contents.append(np.packbits(bits, bitorder="little").tobytes())
    head = struct.pack("<II", _WITHOUT_RUNS, len(heads)) + np.array(heads, "<u2").tobytes()
    starts = np.cumsum([len(head) + 4 * len(heads), *map(len, contents)])[:-1]
    return b"".join([head, starts.astype("<u4").tobytes(), *contents])


def _split(values: np.ndarray, bits: int) -> Iterator[tuple[int, np.ndarray]]:
    """The ascending numbers by what is above some of their bits: that, and the bits."""
    keys, mask = values >> bits, (1 << bits) - 1
    starts = np.flatnonzero(keys[1:] != keys[:-1]) + 1
    for start, end in pairwise([0, *starts.tolist(), len(values)] if len(values) else []):
        yield int(keys[start]), values[start:end] & mask


def roaring_values(content: bytes) -> np.ndarray:
    """The numbers in a 32-bit roaring bitmap of the portable format, ascending."""
    cookie = int(np.frombuffer(content, "<u4", 1)[0])
    runs: np.ndarray = np.zeros(0, bool)
    if cookie & 0xFFFF == _WITH_RUNS:
        count, at = (cookie >> 16) + 1, 4
        flags = np.frombuffer(content, np.uint8, (count + 7) // 8, at)
        runs, at = np.unpackbits(flags, bitorder="little")[:count].astype(bool), at + len(flags)
    elif cookie == _WITHOUT_RUNS:
        count, at = int(np.frombuffer(content, "<u4", 1, 4)[0]), 8
        runs = np.zeros(count, bool)
    else:
        raise ValueError(f"not a roaring bitmap: cookie {cookie}")
    heads = np.frombuffer(content, "<u2", 2 * count, at).reshape(count, 2).astype(np.int64)
    at += 4 * count
    if cookie == _WITHOUT_RUNS or count >= _FEW_CONTAINERS:
        at += 4 * count  # where each container starts; they follow one another anyway
    found = []
    for (key, last), is_run in zip(heads.tolist(), runs.tolist(), strict=True):
        values, at = _container(content, at, last + 1, is_run=is_run)
        found.append(values + (key << 16))
    return np.concatenate([_NONE, *found])


def _container(content: bytes, at: int, size: int, *, is_run: bool) -> tuple[np.ndarray, int]:
    if is_run:
        count = int(np.frombuffer(content, "<u2", 1, at)[0])
        pairs = np.frombuffer(content, "<u2", 2 * count, at + 2).reshape(count, 2).astype(np.int64)
        spans = [np.arange(start, start + more + 1) for start, more in pairs.tolist()]
        return np.concatenate([_NONE, *spans]), at + 2 + 4 * count
    if size <= _ARRAY_CONTAINER:
        return np.frombuffer(content, "<u2", size, at).astype(np.int64), at + 2 * size
    bits = np.frombuffer(content, np.uint8, _BITMAP_BYTES, at)
    return np.flatnonzero(np.unpackbits(bits, bitorder="little")), at + _BITMAP_BYTES
