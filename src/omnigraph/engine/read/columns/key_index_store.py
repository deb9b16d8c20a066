"""The key indexes of this process: held in memory, mapped from disk, brought up to date, or built."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from omnigraph.engine.read.columns.arrays import Mask, Rows
from omnigraph.engine.read.columns.artifacts import Artifact, ArtifactKind, Kept, Place, least_rows
from omnigraph.engine.read.columns.costs import add_cost, cost_kind, cost_of, due, search_kind
from omnigraph.engine.read.columns.entities import SMALL_TABLE, Entities
from omnigraph.engine.read.columns.held import ROW_ID, one_chunk
from omnigraph.engine.read.columns.key_index import KEY_ARRAYS, KeyIndex, KeyPart
from omnigraph.engine.read.columns.rowindex import distinct_rows, row_ids
from omnigraph.engine.read.columns.table_mark import CREATED
from omnigraph.memory.cache import CacheKind
from omnigraph.storage.lance.handle import in_list

# Below this many rows building takes less time than looking for files.
_WORTH_KEEPING = 100_000
_BUILD_SECONDS_PER_ROW = 5e-7
_MOST_LATER = 0.05

KEYS: CacheKind[KeyIndex] = CacheKind("key indexes", lambda index: index.nbytes, share=1 / 4)
_SPENT = cost_kind("ids looked up")
_SEARCHES = search_kind("searches for key indexes")
_KIND = ArtifactKind(KEYS, directory="keys", format=2, kept=2)


def rows_with_ids(table: Entities, ids: Sequence[str], *, keep: bool) -> Rows:
    """Ascending row ids of the nodes with these ids: through the index when there is one, else by asking storage."""
    index = key_index(table, keep=keep)
    if index is not None:
        return index.find(ids)
    begin = time.perf_counter()
    found = table.handle.scan([ROW_ID], in_list("id", ids)) if len(ids) else None
    if found is None:
        return np.empty(0, np.int64)
    table.count_read(found)
    rows = distinct_rows(row_ids(found[ROW_ID]))
    add_cost(table.memory.cache(_SPENT), table.version_key, time.perf_counter() - begin)
    return rows


def key_index(table: Entities, *, keep: bool) -> KeyIndex | None:
    """The index of this exact version if it is in memory, or once asking storage has cost as much as building it."""
    keys = table.memory.cache(KEYS)
    held = keys.get(table.version_key)
    if held is not None or table.row_count <= SMALL_TABLE:
        return held
    if due(table.memory.cache(_SEARCHES), table.version_key):
        found = _kept(table) or _brought_up_to_date(table)
        if found is not None:
            keys.put(table.version_key, found)
            return found
    spent = cost_of(table.memory.cache(_SPENT), table.version_key).seconds
    if spent > table.row_count * _BUILD_SECONDS_PER_ROW:
        return keys.get_or_build(table.version_key, lambda: build_keys(table, keep=keep))
    return None


def keep_keys(table: Entities, build: Callable[[Entities], KeyIndex] | None = None) -> None:
    """Index the ids of a table that is large enough, for every process that comes later; `build` says how."""
    if table.row_count < _least(table) or kept_keys(key_artifact(table).place) is not None:
        return
    older = _brought_up_to_date(table)
    # One of a version with the same rows, such as that before an index was built, is as good.
    if older is None or older.later is not None or older.alive is not None:
        table.memory.cache(KEYS).put(table.version_key, (build or build_keys)(table))


def keep_exactly(table: Entities) -> None:
    """Index the ids of exactly this version of a large table, for tasks that look for it beside the graph.

    What an earlier version with the same rows has is written again: without it each of them would make its own.
    """
    artifact = key_artifact(table)
    if table.row_count < _least(table) or kept_keys(artifact.place) is not None:
        return
    older = _brought_up_to_date(table)
    if older is not None and older.later is None and older.alive is None:
        artifact.save(older.base.arrays())
    else:
        table.memory.cache(KEYS).put(table.version_key, build_keys(table))


def remember_keys(table: Entities, nodes: pa.Table, *, keep: bool) -> None:
    """Index the ids that somebody else has just read; `nodes` is the whole table as `id` and row id."""
    if table.row_count > SMALL_TABLE:
        table.memory.cache(KEYS).get_or_build(table.version_key, lambda: _indexed(table, nodes, keep=keep))


def build_keys(table: Entities, *, keep: bool = True) -> KeyIndex:
    """Index all ids at once, and keep that beside the graph if it may be."""
    return _indexed(table, table.handle.scan(["id", ROW_ID]), keep=keep)


def _indexed(table: Entities, nodes: pa.Table, *, keep: bool) -> KeyIndex:
    part = KeyPart.of(one_chunk(nodes["id"]), row_ids(nodes[ROW_ID]))
    artifact = key_artifact(table)
    artifact.remember()
    if keep and len(part) >= _least(table):
        artifact.save(part.arrays())
    return KeyIndex(part)


def _brought_up_to_date(table: Entities) -> KeyIndex | None:
    """An older index with the ids that came since, unless they are so many that building anew is as good."""
    for (mark,), older in key_artifact(table).older(lambda place, kept: _decoded(kept)):
        part = older.base
        later = table.handle.scan(["id", ROW_ID], f"{CREATED} > {mark.version}")
        if later.num_rows > _MOST_LATER * len(part):
            return None
        added = KeyPart.of(one_chunk(later["id"]), row_ids(later[ROW_ID])) if later.num_rows else None
        gone = mark.rows + later.num_rows != table.handle.count_rows()
        return KeyIndex(part, added, _alive(table) if gone else None)
    return None


def _alive(table: Entities) -> Mask:
    rows = table.all_rows()
    flags = np.zeros(int(rows[-1]) + 1 if len(rows) else 0, np.bool_)
    flags[rows] = True
    return flags


# --- on disk -----------------------------------------------------------------------------------------


def key_artifact(table: Entities) -> Artifact[KeyIndex]:
    """The index of this exact version."""
    return Artifact(_KIND, (table,))


def _least(table: Entities) -> int:
    return least_rows(table.root, _WORTH_KEEPING)


def _kept(table: Entities) -> KeyIndex | None:
    if table.row_count < _least(table):
        return None
    found = kept_keys(key_artifact(table).place)
    if found is None:
        return None
    key_artifact(table).remember()
    return KeyIndex(found)


def kept_keys(place: Place) -> KeyPart | None:
    """The index that lies at a place, mapped."""
    kept = place.load()
    found = None if kept is None else _decoded(kept)
    return None if found is None else found.base


def _decoded(kept: Kept) -> KeyIndex | None:
    """What was kept; None when it is not what it should be."""
    if set(kept.arrays) != set(KEY_ARRAYS):
        return None
    part = KeyPart(*(kept.arrays[name] for name in KEY_ARRAYS))
    if not len(part.hashes) == len(part.rows) == len(part.offsets) - 1 or int(part.offsets[-1]) != len(part.data):
        return None
    return KeyIndex(part)
