"""Spreading texts over buckets, so that a check of a large set runs as several checks of small ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from omnigraph.engine.intake.identity import canonical_text

_CHUNK = 1 << 18
_PLACES = 64
# Fixed, so that every worker puts a text into the same bucket.
_WEIGHTS = np.random.default_rng(20_240_229).integers(0, 2**63, _PLACES, np.uint64) | np.uint64(1)


def bucket_mask(columns: Sequence[pa.Array], bucket: int, buckets: int) -> np.ndarray:
    """Which rows belong to a bucket; rows with a null in any column belong to none."""
    keep = np.ones(len(columns[0]), bool)
    mixed = np.zeros(len(keep), np.uint64)
    for column in columns:
        keep &= column.is_valid().to_numpy(zero_copy_only=False)
        mixed = _mixed(mixed * np.uint64(31) + text_hashes(canonical_text(column)))
    keep &= (mixed % np.uint64(buckets)).astype(np.int64) == bucket
    return keep


def text_hashes(texts: pa.Array) -> np.ndarray:
    """A 64-bit number per text, equal for equal texts; 0 for null."""
    found = np.zeros(len(texts), np.uint64)
    for start in range(0, len(texts), _CHUNK):
        part = texts.slice(start, _CHUNK)
        found[start : start + len(part)] = _chunk_hashes(part)
    return found


def _chunk_hashes(texts: pa.Array) -> np.ndarray:
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    lengths = np.diff(offsets)
    sums = np.zeros(len(texts), np.uint64)
    filled = np.flatnonzero(lengths)
    if len(filled):
        data = np.frombuffer(texts.buffers()[2], np.uint8)[offsets[0] : offsets[-1]].astype(np.uint64)
        inside = np.arange(len(data)) - np.repeat(offsets[:-1] - offsets[0], lengths)
        weighted = (data + np.uint64(1)) * _WEIGHTS[inside % _PLACES] * (inside // _PLACES + 1).astype(np.uint64)
        sums[filled] = np.add.reduceat(weighted, offsets[:-1][filled] - offsets[0])
    return _mixed(sums + lengths.astype(np.uint64))


def _mixed(values: np.ndarray) -> np.ndarray:
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = values ^ (values >> np.uint64(31))
    return mixed
