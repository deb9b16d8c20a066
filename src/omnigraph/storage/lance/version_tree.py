"""Versions of one dataset as a tree: where two of them part, and what changed along a straight line between two.

A ref continues the version numbers of the lineage it was forked from, and rows keep their id and their last update
across the fork. So a descendant says by itself which rows are newer than an ancestor, and only data files that the
ancestor does not have need to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.storage.lance.fragments import path_of
from omnigraph.storage.lance.handle import ID_CHUNK, TableHandle
from omnigraph.storage.lance.refs import Ref
from omnigraph.storage.lance.rows.deletions import deleted_offsets

ROW_ID = "_rowid"
ROW_ADDRESS = "_rowaddr"
UPDATED = "_row_last_updated_at_version"

_MARKED_IDS = 1 << 28
_OFFSET_BITS = 32

Point = tuple[str | None, int]
"""One version of a dataset: its ref and its number."""


def common_ancestor(refs: Mapping[str, Ref], one: Point, other: Point) -> Point | None:
    """The newest version that both versions continue; None when a ref on the way is unknown."""
    others = dict(_line(refs, other))
    for ref, version in _line(refs, one):
        if ref in others:
            return ref, min(version, others[ref])
    return None


def _line(refs: Mapping[str, Ref], point: Point) -> Iterator[Point]:
    """The version itself, then the version each ref on the way to main was forked from."""
    ref, version = point
    yield ref, version
    while ref is not None and ref in refs:
        parent = refs[ref]
        ref, version = parent.parent, min(parent.parent_version, version)
        yield ref, version


@dataclass(frozen=True, slots=True)
class LineChanges:
    """Rows that a descendant wrote after its ancestor, and the ancestor's rows that it replaced or removed.

    `rows_before` and `rows_after` say under which row ids: columns `id` and `_rowid`.
    """

    before: pa.Table
    after: pa.Table
    rows_before: pa.Table
    rows_after: pa.Table


def fresh_row_count(old: TableHandle, new: TableHandle) -> int:
    """An upper bound of the rows that `changes_along` would read: those in data files that only `new` has."""
    return sum(fragment.count_rows() for fragment in _fresh(old, new))


def changes_along(old: TableHandle, new: TableHandle, columns: Sequence[str]) -> LineChanges:
    """What happened between a version and one of its descendants; rows written again with equal values are included."""
    after = _written(old, new, columns)
    before = _left_behind(old, new, [*columns, UPDATED, ROW_ID])
    sides = before, after
    numbered = (pa.table({"id": side["id"], ROW_ID: side[ROW_ID]}) for side in sides)
    return LineChanges(*(side.drop_columns([ROW_ID]) for side in sides), *numbered)


def _written(old: TableHandle, new: TableHandle, columns: Sequence[str]) -> pa.Table:
    fresh = _fresh(old, new)
    wanted = [*columns, UPDATED, ROW_ID]
    if not fresh:
        return new.scan(wanted, limit=0, blobs="cells")
    return new.scan(wanted, f"{UPDATED} > {old.version}", blobs="cells", fragments=fresh)


def _left_behind(old: TableHandle, new: TableHandle, columns: list[str]) -> pa.Table:
    """The rows of `old` that `new` has replaced or removed."""
    now = {files_of(fragment): fragment for fragment in new.dataset.get_fragments()}
    addresses, lost = [np.zeros(0, np.int64)], []
    for fragment in old.dataset.get_fragments():
        successor = now.get(files_of(fragment))
        # Along a straight line deletions only grow, so an equal number of them means the same ones.
        if successor is not None and successor.num_deletions == fragment.num_deletions:
            continue
        gone = None if successor is None else newly_deleted(old, fragment, new, successor)
        if gone is None:
            lost.append(fragment)
        else:
            addresses.append(gone + (fragment.fragment_id << _OFFSET_BITS))
    parts = [_taken(old, ROW_ADDRESS, np.concatenate(addresses), columns)]
    if lost:
        parts.append(_taken(old, ROW_ID, _not_moved(old, new, lost), columns))
    return pa.concat_tables(parts)


def newly_deleted(old: TableHandle, before: Any, new: TableHandle, after: Any) -> np.ndarray | None:
    """The places of rows that a fragment has lost since; None where only a scan can tell."""
    then, now = deleted_offsets(old, before), deleted_offsets(new, after)
    if then is None or now is None:
        return None
    return np.setdiff1d(now, then, assume_unique=True)


def _not_moved(old: TableHandle, new: TableHandle, lost: list[Any]) -> np.ndarray:
    """Row ids of fragments that `new` shows otherwise, without the rows that were only carried to other files."""
    before = _row_ids(old, lost)
    files = {files_of(fragment) for fragment in lost}
    rewritten = [*_fresh(old, new), *(each for each in new.dataset.get_fragments() if files_of(each) in files)]
    return _missing(before, _row_ids(new, rewritten, f"{UPDATED} <= {old.version}"))


def _missing(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """The distinct ids of one array that the other does not have."""
    highest = int(max(before.max(initial=0), after.max(initial=0)))
    if highest > _MARKED_IDS:
        return np.setdiff1d(before, after, assume_unique=True)
    marks = np.zeros(highest + 1, bool)  # row ids are handed out one after the other, so the marks are dense
    marks[after] = True
    missing: np.ndarray = before[~marks[before]]
    return missing


def _row_ids(table: TableHandle, fragments: list[Any], filter: str | None = None) -> np.ndarray:
    if not fragments:
        return np.zeros(0, np.uint64)
    ids: np.ndarray = table.scan([ROW_ID], filter, fragments=fragments)[ROW_ID].to_numpy()
    return ids


def _taken(table: TableHandle, by: str, numbers: np.ndarray, columns: list[str]) -> pa.Table:
    # A filter on the row id finds the rows from the fragments' own descriptions; a take by row id would first build an
    # index of all row ids of the version, which on a large table takes longer than everything else here.
    parts = [
        table.scan(columns, f"{by} IN ({','.join(map(str, numbers[start : start + ID_CHUNK]))})", blobs="cells")
        for start in range(0, len(numbers), ID_CHUNK)
    ]
    return pa.concat_tables(parts) if parts else table.scan(columns, limit=0, blobs="cells")


def _fresh(old: TableHandle, new: TableHandle) -> list[Any]:
    known = {files_of(fragment) for fragment in old.dataset.get_fragments()}
    return [fragment for fragment in new.dataset.get_fragments() if files_of(fragment) not in known]


def files_of(fragment: Any) -> tuple[str, ...]:
    """Names of data files are random, so equal names mean equal content on every ref."""
    return tuple(sorted(path_of(file) for file in fragment.metadata.files))
