"""The order of neighbour lists: entries by source, then neighbour, then edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from omnigraph.engine.read.columns.arrays import Rows, narrow_type

# Fewer entries are sorted as they are; sources are sorted in at most so many groups, two to the power of.
_FEW_ENTRIES = 1 << 10
_GROUP_BITS = 12
# Entries that are packed at a time: what is computed in between stays in the processor's cache.
_BLOCK = 1 << 15

Column: TypeAlias = npt.NDArray[np.signedinteger]
Columns: TypeAlias = tuple[Column, Column, Column]


def sort_entries(sources: Column, neighbours: Column, edges: Column, *, settled: bool) -> Columns:
    """The entries by source, then neighbour, then edge; each column in as few bytes as its numbers need.

    Three numbers in one of 64 bits are sorted in a fifteenth of the time that it takes to sort their positions (10
    million random entries: 0.1 s instead of 1.7 s of processor time).
    """
    if len(sources) < _FEW_ENTRIES:
        return _sorted_columns(sources, neighbours, edges, settled=settled)
    ranges = [_range(column) for column in (sources, neighbours, edges)]
    source_bits, *bits = (int(high - low).bit_length() for low, high in ranges)
    spare = 64 - sum(bits)
    if source_bits - spare > _GROUP_BITS:
        return _sorted_columns(sources, neighbours, edges, settled=settled)
    if source_bits <= spare:
        return _sorted_packed((sources, neighbours, edges), ranges)
    # Too many bits for one number: by groups of sources, each of which has few enough.
    groups = ((sources - ranges[0][0]) >> spare).astype(np.uint16)
    order = np.argsort(groups, kind="stable")  # short numbers are sorted by their digits
    sources, neighbours, edges = sources[order], neighbours[order], edges[order]
    cuts = np.cumsum(np.bincount(groups))[:-1]
    parts = zip(*(np.split(column, cuts) for column in (sources, neighbours, edges)), strict=True)
    sorted_parts = [_sorted_packed(part, [_range(part[0]), *ranges[1:]]) for part in parts if len(part[0])]
    first, second, third = (np.concatenate(column) for column in zip(*sorted_parts, strict=True))
    return first, second, third


def _range(column: Column) -> tuple[int, int]:
    return int(column.min()), int(column.max())


def _sorted_packed(columns: Sequence[Column], ranges: Sequence[tuple[int, int]]) -> Columns:
    """Entries whose three ranges of values fit into 64 bits together."""
    count = len(columns[0])
    packed = np.empty(count, np.uint64)
    widths = [np.uint64((high - low).bit_length()) for low, high in ranges]
    for at in range(0, count, _BLOCK):
        block = np.zeros(min(_BLOCK, count - at), np.uint64)
        for column, (low, _), width in zip(columns, ranges, widths, strict=True):
            block <<= width
            block |= np.subtract(column[at : at + _BLOCK], low, dtype=np.int64).view(np.uint64)
        packed[at : at + _BLOCK] = block
    packed.sort()
    sources, neighbours, edges = (np.empty(count, narrow_type(high)) for _, high in ranges)
    for at in range(0, count, _BLOCK):
        block = packed[at : at + _BLOCK]
        for column, (low, _), width in zip(
            (edges, neighbours, sources), reversed(ranges), reversed(widths), strict=True
        ):
            mine = (block & ((np.uint64(1) << width) - np.uint64(1))).view(np.int64)
            mine += low
            column[at : at + _BLOCK] = mine
            block >>= width
    return sources, neighbours, edges


def _sorted_columns(sources: Column, neighbours: Column, edges: Column, *, settled: bool) -> Columns:
    wide = [column.astype(np.int64, copy=False) for column in (sources, neighbours, edges)]
    order = _sorted_order(*wide, settled=settled)
    first, second, third = (column[order] for column in wide)
    return first, second, third


def _sorted_order(major: Rows, minor: Rows, last: Rows, *, settled: bool) -> Rows:
    """Positions that sort by major, then minor, then last."""
    width = int(minor.max()) + 1
    if (int(major.max()) + 1) * width >= 1 << 62:
        return np.lexsort((last, minor, major))
    packed = major * width + minor
    if settled or not bool((last[1:] < last[:-1]).any()):
        return np.argsort(packed, kind="stable")
    order = np.argsort(last, kind="stable")
    return order[np.argsort(packed[order], kind="stable")]
