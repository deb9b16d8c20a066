"""Spreading rows over numbered partitions by a hash of some columns, so that equal values always meet in one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from omnigraph.engine.intake.columns.identity import canonical_text

_CHUNK = 1 << 18
_WORD = 8
_FACTOR, _FIRST, _SECOND = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def partition_numbers(columns: Sequence[pa.Array], partitions: int) -> np.ndarray:
    """The partition of each row; -1 where any of the columns is null."""
    present = np.ones(len(columns[0]), bool)
    mixed = np.zeros(len(present), np.uint64)
    for column in columns:
        present &= column.is_valid().to_numpy(zero_copy_only=False)
        mixed = _mixed(mixed * np.uint64(31) + text_hashes(canonical_text(column)))
    numbers = (mixed % np.uint64(partitions)).astype(np.int64)
    numbers[~present] = -1
    return numbers


def partitions_for(rows: int, most: int, limit: int = 1 << 10) -> int:
    """How many partitions leave about `most` rows in each: a power of two, so that different estimates agree often.

    >>> partitions_for(100, 100), partitions_for(101, 100), partitions_for(900, 100)
    (1, 2, 16)
    """
    return int(min(limit, 1 << max(0, -(-rows // max(most, 1)) - 1).bit_length()))


def text_hashes(texts: pa.Array) -> np.ndarray:
    """A 64-bit number per text, equal for equal texts; of a null no particular one."""
    found = np.zeros(len(texts), np.uint64)
    for start in range(0, len(texts), _CHUNK):
        part = texts.slice(start, _CHUNK)
        found[start : start + len(part)] = _chunk_hashes(part)
    return found


def _chunk_hashes(texts: pa.Array) -> np.ndarray:
    """Eight bytes of every text at a time."""
    kind = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    _, places, content = texts.buffers()
    offsets = np.frombuffer(places, kind)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    lengths = np.diff(offsets)
    hashes = lengths.astype(np.uint64) * _FACTOR
    longest = int(lengths.max(initial=0))
    if not longest:
        return _mixed(hashes)
    used = np.frombuffer(content, np.uint8)[offsets[0] : offsets[-1]]
    words = np.ndarray((len(used) + 1,), "<u8", used.tobytes() + bytes(_WORD), strides=(1,))
    starts = offsets[:-1] - offsets[0]
    rows = np.flatnonzero(lengths)
    for at in range(0, longest, _WORD):
        if at:
            rows = rows[lengths[rows] > at]
        left = np.minimum(lengths[rows] - at, _WORD)
        kept = words[starts[rows] + at] & _MASKS[left]
        mixed = (hashes[rows] ^ kept) * _FIRST
        hashes[rows] = mixed ^ (mixed >> np.uint64(29))
    return _mixed(hashes)


def _mixed(values: np.ndarray) -> np.ndarray:
    values = (values ^ (values >> np.uint64(30))) * _FIRST
    values = (values ^ (values >> np.uint64(27))) * _SECOND
    mixed: np.ndarray = values ^ (values >> np.uint64(31))
    return mixed


_MASKS = np.array([(1 << (_WORD * count)) - 1 for count in range(_WORD + 1)], np.uint64)
