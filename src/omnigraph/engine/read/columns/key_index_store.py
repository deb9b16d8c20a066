"""The key indexes of this process: held in memory, mapped from disk, brought up to date, or built."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Hashable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from omnigraph.engine.read.columns.arrays import Mask, Rows
from omnigraph.engine.read.columns.costs import add_cost, cost_kind, cost_of, due, search_kind
from omnigraph.engine.read.columns.entities import ROW_ID, SMALL_TABLE, Entities, one_chunk
from omnigraph.engine.read.columns.key_index import KeyIndex, KeyPart
from omnigraph.engine.read.columns.rowindex import row_ids
from omnigraph.engine.read.columns.table_mark import CREATED, Mark, marks_text, parse_marks
from omnigraph.engine.views.view import View
from omnigraph.memory.cache import CacheKind
from omnigraph.storage.base.derived import drop_arrays, load_arrays, names_under, save_arrays
from omnigraph.storage.base.layout import Root
from omnigraph.storage.lance.handle import in_list

# Below this many rows building takes less time than looking for files.
_WORTH_KEEPING = 100_000
_KEPT_PER_TABLE = 2
_BUILD_SECONDS_PER_ROW = 5e-7
_MOST_LATER = 0.05
_FORMAT = 1
_PARTS = ("hashes", "rows", "offsets", "data")

KEYS: CacheKind[KeyIndex] = CacheKind("key indexes", lambda index: index.nbytes, share=1 / 4)
_SPENT = cost_kind("ids looked up")
_SEARCHES = search_kind("searches for key indexes")
# For each table lineage the version that was indexed last, to start the next index from.
_NEWEST: CacheKind[tuple[Hashable, Mark]] = CacheKind("newest key indexes", lambda known: 1_024, entries=1_024)


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
    rows = np.unique(row_ids(found[ROW_ID]))
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
        return keys.get_or_build(table.version_key, lambda: _built(table, keep=keep))
    return None


def keep_keys(view: View, only: Collection[str] | None = None) -> None:
    """Index the ids of the large node tables, or of some of them, for every process that comes later."""
    for info in view.catalog.nodes.values():
        if view.find(info) is None or (only is not None and info.table_key not in only):
            continue
        table = Entities(view, info)
        if table.row_count >= _WORTH_KEEPING and load_arrays(table.root, keys_name(table)) is None:
            table.memory.cache(KEYS).put(table.version_key, _built(table, keep=True))


def remember_keys(table: Entities, nodes: pa.Table, *, keep: bool) -> None:
    """Index the ids that somebody else has just read; `nodes` is the whole table as `id` and row id."""
    if table.row_count > SMALL_TABLE:
        table.memory.cache(KEYS).get_or_build(table.version_key, lambda: _indexed(table, nodes, keep=keep))


def _built(table: Entities, *, keep: bool) -> KeyIndex:
    return _indexed(table, table.handle.scan(["id", ROW_ID]), keep=keep)


def _indexed(table: Entities, nodes: pa.Table, *, keep: bool) -> KeyIndex:
    part = KeyPart.of(one_chunk(nodes["id"]), row_ids(nodes[ROW_ID]))
    mark = Mark.of(table)
    table.memory.cache(_NEWEST).put(table.lineage_key, (table.version_key, mark))
    if keep and len(part) >= _WORTH_KEEPING:
        _keep(table, mark, part)
    return KeyIndex(part)


# --- older ones --------------------------------------------------------------------------------------


def _brought_up_to_date(table: Entities) -> KeyIndex | None:
    """An older index with the ids that came since, unless they are so many that building anew is as good."""
    for mark, part in _older(table):
        if mark.precedes(table):
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


def _older(table: Entities) -> Iterator[tuple[Mark, KeyPart]]:
    known = table.memory.cache(_NEWEST).get(table.lineage_key)
    held = None if known is None else table.memory.cache(KEYS).get(known[0])
    if known is not None and held is not None:
        yield known[1], held.base
    for name in reversed(names_under(table.root, _prefix(table))):
        found = _load(table.root, name)
        if found is not None:
            yield found


# --- on disk -----------------------------------------------------------------------------------------


def _kept(table: Entities) -> KeyIndex | None:
    if table.row_count < _WORTH_KEEPING:
        return None
    found = _load(table.root, keys_name(table))
    if found is None:
        return None
    mark, part = found
    table.memory.cache(_NEWEST).put(table.lineage_key, (table.version_key, mark))
    return KeyIndex(part)


def kept_keys(root: Root, name: str) -> KeyPart | None:
    """The index that is kept under a name, mapped."""
    found = _load(root, name)
    return None if found is None else found[1]


def _load(root: Root, name: str) -> tuple[Mark, KeyPart] | None:
    """What was kept, or None when it is absent or not what it should be."""
    found = load_arrays(root, name)
    if found is None or set(found) != {*_PARTS, "origin"}:
        return None
    hashes, rows, offsets, data = (found[part] for part in _PARTS)
    marks = parse_marks(found["origin"].tobytes().decode(errors="replace"), 1)
    if marks is None or not len(hashes) == len(rows) == len(offsets) - 1 or int(offsets[-1]) != len(data):
        return None
    return marks[0], KeyPart(hashes, rows, offsets, data)


def _keep(table: Entities, mark: Mark, part: KeyPart) -> None:
    arrays = {name: getattr(part, name) for name in _PARTS}
    arrays["origin"] = np.frombuffer(marks_text([mark]).encode(), np.uint8)
    save_arrays(table.root, keys_name(table), arrays)
    for name in names_under(table.root, _prefix(table))[:-_KEPT_PER_TABLE]:
        drop_arrays(table.root, name)


def _prefix(table: Entities) -> str:
    return f"keys/{table.entry.location.replace('/', '-')}"


def keys_name(table: Entities) -> str:
    """Under which name the index of this exact version is kept."""
    digest = hashlib.sha256(repr((_FORMAT, table.content_key)).encode()).hexdigest()[:32]
    return f"{_prefix(table)}/{digest}"
