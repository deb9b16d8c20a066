"""Rows of one version that give way: compressed sets, which tasks make and a commit reads one fragment at a time.

A set has a bit for each row of a fragment up to its last one, packed and compressed: at most an eighth of a byte for
each row that the fragment holds, and next to nothing where rows lie together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from omnigraph.storage.lance.handle import TableHandle

FRAGMENT = "fragment"
_OFFSET_BITS = 32
_OFFSET_MASK = np.uint64((1 << _OFFSET_BITS) - 1)
_CODEC = "zstd"
# `size` is that of the packed bits before they are compressed.
_SETS = pa.schema([(FRAGMENT, pa.uint32()), ("size", pa.uint32()), ("bits", pa.binary())])

Offsets = tuple[int, np.ndarray]
"""A fragment, and rows of it by their place in it, ascending."""


def by_fragment(addresses: np.ndarray) -> Iterator[Offsets]:
    """The rows at some addresses, fragment by fragment."""
    ordered = np.sort(addresses)
    owners = ordered >> np.uint64(_OFFSET_BITS)
    starts = np.flatnonzero(np.diff(owners, prepend=owners[:1] + np.uint64(1)))
    for start, end in pairwise([*starts.tolist(), len(ordered)]):
        yield int(owners[start]), (ordered[start:end] & _OFFSET_MASK).astype(np.int64)


def row_sets(addresses: np.ndarray) -> pa.Table:
    """The rows at some addresses as a set for each fragment."""
    return _table((number, _bits(offsets)) for number, offsets in by_fragment(addresses))


def united(tables: Iterable[pa.Table]) -> pa.Table:
    """One set for each fragment, from several tables of sets."""
    found: dict[int, np.ndarray] = {}
    for table in tables:
        for number, bits in _unpacked(table):
            longer, other = sorted((found.get(number, bits), bits), key=len, reverse=True)
            joined = longer.copy()
            joined[: len(other)] |= other
            found[number] = joined
    return _table(sorted(found.items()))


class Withdrawal(Protocol):
    """Rows of a version that give way, however they are known."""

    @property
    def count(self) -> int:
        """How many rows that are."""
        ...

    def withdrawn(self) -> tuple[list[Any], list[int]]:
        """The descriptions of fragments without these rows, and the ids of fragments that have none left."""
        ...


@dataclass(frozen=True, slots=True)
class RowSets:
    """Rows of a version that give way, as tables of sets that together name a fragment once; they are read once."""

    base: TableHandle
    tables: Iterable[pa.Table] = field(repr=False)
    count: int

    def withdrawn(self) -> tuple[list[Any], list[int]]:
        """The descriptions of fragments without these rows, and the ids of fragments that have none left."""
        sets = (each for table in self.tables for each in _unpacked(table))
        return withdraw(self.base, ((number, np.flatnonzero(np.unpackbits(bits))) for number, bits in sets))


def withdraw(base: TableHandle, rows: Iterable[Offsets]) -> tuple[list[Any], list[int]]:
    """The descriptions of fragments without some rows, and the ids of fragments that have none left.

    Lance takes the places of one fragment's rows as a list, so those are in memory at a time, and not those of all.
    """
    shrunk, emptied = [], []
    for number, offsets in rows:
        fragment = base.dataset.get_fragment(number)
        whole = len(offsets) == fragment.count_rows()
        described = None if whole else fragment.delete_rows(offsets.tolist())
        if described is None:
            emptied.append(number)
        else:
            shrunk.append(described)
    return shrunk, emptied


def _bits(offsets: np.ndarray) -> np.ndarray:
    marked = np.zeros(int(offsets[-1]) + 1, np.uint8)
    marked[offsets] = 1
    return np.packbits(marked)


def _table(sets: Iterable[tuple[int, np.ndarray]]) -> pa.Table:
    rows = [(number, len(bits), pa.compress(bits, codec=_CODEC, asbytes=True)) for number, bits in sets]
    return pa.table([list(column) for column in zip(*rows, strict=True)] or [[], [], []], schema=_SETS)


def _unpacked(table: pa.Table) -> Iterator[tuple[int, np.ndarray]]:
    for number, size, bits in zip(*(table[name] for name in _SETS.names), strict=True):
        packed = pa.decompress(bits.as_buffer(), decompressed_size=size.as_py(), codec=_CODEC, asbytes=True)
        yield number.as_py(), np.frombuffer(packed, np.uint8)
