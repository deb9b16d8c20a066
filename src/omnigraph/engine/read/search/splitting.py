"""Folded texts taken apart into words: runs of letters and digits.

Texts of ASCII, which most are once accents are gone, are split by looking at all of their bytes at once, others by a
regular expression over each of them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.read.columns.arrays import Mask

_SEPARATORS = r"[^\p{L}\p{N}]+"


def split(texts: pa.Array) -> pa.ListArray:
    """The words of every text as a list; there may be empty ones among them."""
    plain = pc.string_is_ascii(texts).to_numpy(zero_copy_only=False)
    if not plain.any() or not pa.types.is_string(texts.type):
        return pc.split_pattern_regex(texts, _SEPARATORS)
    if plain.all():
        return _split_ascii(texts)
    others = pc.split_pattern_regex(texts.filter(pa.array(~plain)), _SEPARATORS)
    order = np.empty(len(texts), np.int64)
    order[np.concatenate([np.flatnonzero(plain), np.flatnonzero(~plain)])] = np.arange(len(texts))
    return pa.concat_arrays([_split_ascii(texts.filter(pa.array(plain))), others]).take(pa.array(order))


def _split_ascii(texts: pa.StringArray) -> pa.ListArray:
    _, bounds, data = texts.buffers()
    ends = np.frombuffer(bounds, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    letters = np.frombuffer(b"" if data is None else data, np.uint8)[ends[0] : ends[-1]]
    # Bytes below the first one come out above the last one; capital letters are folded by now.
    inside: Mask = letters - np.uint8(ord("a")) < 26
    inside |= letters - np.uint8(ord("0")) < 10
    # A word begins where the byte before is not of a word, or of another text; it ends likewise.
    first = (ends[1:-1] - ends[0])[(ends[1:-1] > ends[0]) & (ends[1:-1] < ends[-1])]
    begins, closes = inside.copy(), inside.copy()
    begins[1:] &= ~inside[:-1]
    closes[:-1] &= ~inside[1:]
    begins[first], closes[first - 1] = inside[first], inside[first - 1]
    starts = np.flatnonzero(begins)
    lengths = np.flatnonzero(closes) + 1 - starts
    offsets = np.concatenate([np.zeros(1, np.int32), np.cumsum(lengths, dtype=np.int32)])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(letters[inside])]
    words = pa.Array.from_buffers(pa.utf8(), len(starts), buffers)
    return pa.ListArray.from_arrays(pa.array(np.searchsorted(starts, ends - ends[0]).astype(np.int32)), words)
