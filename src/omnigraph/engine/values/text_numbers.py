"""Numbering texts of which most differ: by their hashes, on all cores, instead of looking each one up in a table.

A table of a million texts does not fit into the processor's caches, and every look-up waits for memory: 60 to 130 ms.
Hashes of eight bytes at a time and a sort of numbers read memory in order: 35 ms of a processor. Where texts repeat,
the table is small and quicker.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.engine.values.text_hashes import Bits, text_hashes

_FEWEST = 1 << 14
_SAMPLE = 1 << 12
_REPEATED = 8  # one text of so many may occur before

Numbers = npt.NDArray[np.int64]


class TextNumbers(NamedTuple):
    """The number of each text, equal for equal texts, and one place where each number stands."""

    numbers: Numbers
    places: Numbers


def text_numbers(texts: pa.Array) -> TextNumbers | None:
    """Texts without nulls by numbers from 0 on; None where there are few of them, or many that occur before."""
    if len(texts) < _FEWEST or texts.null_count or not _mostly_differ(texts):
        return None
    hashes = text_hashes(texts)
    places, repeated = _by_hash(hashes)
    if len(repeated) > len(texts) // _REPEATED or not _are_equal(texts, places[repeated - 1], places[repeated]):
        return None
    if not len(repeated):
        everything = np.arange(len(texts))
        return TextNumbers(everything, everything)
    new = np.ones(len(texts), np.bool_)
    new[repeated] = False
    numbers = np.empty(len(texts), np.int64)
    numbers[places] = np.cumsum(new) - 1
    return TextNumbers(numbers, places[new])


def _by_hash(hashes: Bits) -> tuple[Numbers, Numbers]:
    """(places in the order of some hashes, where in that order the hash before is the same)."""
    bits = np.uint64((len(hashes) - 1).bit_length())
    low = (np.uint64(1) << bits) - np.uint64(1)
    # Sorting numbers takes a third of the time of sorting places by them, so a place takes the low bits of its hash.
    ordered = hashes & ~low
    ordered |= np.arange(len(hashes), dtype=np.uint64)
    ordered.sort()
    places = (ordered & low).astype(np.int64)
    ordered >>= bits
    repeated = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
    if len(repeated):
        alike = np.union1d(repeated, repeated - 1)
        places[alike] = places[alike][np.lexsort((hashes[places[alike]], ordered[alike]))]
        repeated = repeated[hashes[places[repeated]] == hashes[places[repeated - 1]]]
    return places, repeated


def _mostly_differ(texts: pa.Array) -> bool:
    """Whether texts from all over the column do; neighbours may be alike by chance."""
    count = min(_SAMPLE, len(texts))
    picked = np.linspace(0, len(texts) - 1, count).astype(np.int64)
    return len(texts.take(pa.array(picked)).unique()) >= count - count // _REPEATED


def _are_equal(texts: pa.Array, some: Numbers, others: Numbers) -> bool:
    """Whether texts with equal hashes are equal; hashes of different texts may meet by chance, or on purpose."""
    return bool(texts.take(pa.array(some)).equals(texts.take(pa.array(others))))
