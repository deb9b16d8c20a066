"""A 64-bit number for every text of a column, eight bytes at a time; equal for equal texts, in memory and on disk."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.cores import in_parts

_CHUNK = 1 << 15  # texts: a million take 23 ms in pieces that stay in the processor's cache, 66 in pieces of 2^18
_PART = 1 << 17  # texts that are worth a thread's while
_SHORT_CHUNK = 1 << 15  # what is computed in between stays in the processor's cache
_WORD = 8
# From so many texts on it is worth looking at how long they are; of so many at a time those that differ are found.
_MANY, _BLOCK = 1 << 16, 1 << 21
_FACTOR, _FIRST, _SECOND = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_MASKS = np.array([(1 << (_WORD * count)) - 1 for count in range(_WORD + 1)], np.uint64)
_ONE_FACTOR, _ONE_FIRST, _ONE_SECOND, _LOW = int(_FACTOR), int(_FIRST), int(_SECOND), (1 << 64) - 1

Bits = npt.NDArray[np.uint64]


def text_hashes(texts: pa.Array) -> Bits:
    """A 64-bit number per text, equal for equal texts; of a null no particular one."""
    found = np.zeros(len(texts), np.uint64)

    def hash_part(begin: int) -> None:
        for start in range(begin, min(begin + _PART, len(texts)), _CHUNK):
            part = texts.slice(start, min(_CHUNK, begin + _PART - start))
            found[start : start + len(part)] = _chunk_hashes(part)

    in_parts(hash_part, range(0, len(texts), _PART))
    return found


def text_hash(text: bytes) -> int:
    """The same number for one text."""
    number = len(text) * _ONE_FACTOR & _LOW
    for at in range(0, len(text), _WORD):
        number = (number ^ int.from_bytes(text[at : at + _WORD], "little")) * _ONE_FIRST & _LOW
        number ^= number >> 29
    number = (number ^ number >> 30) * _ONE_FIRST & _LOW
    number = (number ^ number >> 27) * _ONE_SECOND & _LOW
    return number ^ number >> 31


def text_parts(texts: pa.Array) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint8]]:
    """Offsets and bytes of a text column, as they lie in memory."""
    kind = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    _, places, content = texts.buffers()
    if places is None:
        return np.zeros(1, kind), np.empty(0, np.uint8)
    offsets = np.frombuffer(places, kind)[texts.offset : texts.offset + len(texts) + 1]
    return offsets, np.empty(0, np.uint8) if content is None else np.frombuffer(content, np.uint8)


def short_texts(texts: pa.Array | pa.ChunkedArray) -> Bits | None:
    """Texts of at most eight bytes as numbers that are equal where the texts are; None if there are others, or nulls.

    A byte of zero would look like the end of a text.
    """
    if texts.null_count:
        return None
    found, done = np.empty(len(texts), np.uint64), 0
    for chunk in texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]:
        for at in range(0, len(chunk), _SHORT_CHUNK):
            offsets, used = _parts(chunk.slice(at, _SHORT_CHUNK))
            lengths = np.diff(offsets)
            if int(lengths.max()) > _WORD or (len(used) and not used.min()):
                return None
            np.bitwise_and(_words(used)[offsets[:-1]], _MASKS[lengths], out=found[done : done + len(lengths)])
            done += len(lengths)
    return found


def distinct_texts(texts: pa.ChunkedArray) -> pa.Array:
    """Each text once, in no particular order.

    Short ones are told apart as numbers, by sorting: of ten million with a million different ones in a third of the
    time that it takes to hash them.
    """
    if len(texts) < _MANY or not pa.types.is_string(texts.type):
        return pc.unique(texts)
    known: Bits = np.empty(0, np.uint64)
    for at in range(0, len(texts), _BLOCK):
        short = short_texts(texts.slice(at, _BLOCK))
        if short is None:
            return pc.unique(texts)
        known = _merged(known, short)
    return _spelled(known)


def _merged(known: Bits, more: Bits) -> Bits:
    """Both, ascending and each number once, as the known ones are; the others are sorted in place."""
    more.sort()
    both = np.concatenate([known, _once(more)])
    both.sort(kind="stable")  # two runs, so this merges them
    return _once(both)


def _once(ascending: Bits) -> Bits:
    first = np.ones(len(ascending), np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return ascending[first]


def _spelled(numbers: Bits) -> pa.Array:
    """The texts that `short_texts` has made numbers of; none of their bytes is zero."""
    letters = numbers.astype("<u8", copy=False).view(np.uint8).reshape(-1, _WORD)
    used = letters != 0
    offsets = np.zeros(len(numbers) + 1, np.int32)
    np.cumsum(np.count_nonzero(used, axis=1), out=offsets[1:])
    return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(offsets), pa.py_buffer(letters[used]))


def _chunk_hashes(texts: pa.Array) -> Bits:
    """Eight bytes of every text at a time."""
    offsets, used = _parts(texts)
    lengths = np.diff(offsets)
    hashes = lengths.astype(np.uint64) * _FACTOR
    longest = int(lengths.max(initial=0))
    if not longest:
        return mixed_bits(hashes)
    words, starts, rows = _words(used), offsets[:-1], np.flatnonzero(lengths)
    for at in range(0, longest, _WORD):
        if at:
            rows = rows[lengths[rows] > at]
        left = np.minimum(lengths[rows] - at, _WORD)
        kept = words[starts[rows] + at] & _MASKS[left]
        mixed = (hashes[rows] ^ kept) * _FIRST
        hashes[rows] = mixed ^ (mixed >> np.uint64(29))
    return mixed_bits(hashes)


def _parts(texts: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Where each text begins and the last one ends, and the bytes of all."""
    places, data = text_parts(texts)
    offsets = places.astype(np.int64)
    return offsets - offsets[0], data[offsets[0] : offsets[-1]]


def _words(used: npt.NDArray[np.uint8]) -> Bits:
    """The eight bytes from each byte on."""
    return np.ndarray((len(used) + 1,), "<u8", used.tobytes() + bytes(_WORD), strides=(1,))


def mixed_bits(values: Bits) -> Bits:
    """Numbers in which every bit depends on all bits of what they were."""
    values = (values ^ (values >> np.uint64(30))) * _FIRST
    values = (values ^ (values >> np.uint64(27))) * _SECOND
    mixed: Bits = values ^ (values >> np.uint64(31))
    return mixed
