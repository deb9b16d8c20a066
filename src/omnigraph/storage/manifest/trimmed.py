"""States of the manifest at versions that are no longer kept, read from the next one that is.

Rows of the manifest are only ever added, and each remembers the version that added it. The few rows that change in
place are heads, which the commits determine, bookkeeping of live operations, and the schema with its registrations:
of those, the last version before every change is kept. So no version in between is needed to know what it said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import Corrupt, HistoricalVersionReclaimed, StorageError
from omnigraph.memory.cache import CacheKind
from omnigraph.storage.base.layout import Address
from omnigraph.storage.base.objects import client_of
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.refs import Identifier
from omnigraph.storage.lance.tables import TableHandle
from omnigraph.storage.lance.version_files import listed_versions
from omnigraph.storage.manifest.decode import ManifestState, decode_state
from omnigraph.storage.manifest.row_codec import encode_rows
from omnigraph.storage.manifest.rows import HEAD_PREFIX, HeadRow
from omnigraph.storage.manifest.scan import (
    CREATED_AT,
    KEY_COLUMNS,
    ROW_COLUMNS,
    Scan,
    commits_of,
    damaged_manifest,
    naming_damage,
)

_CHANGED_AT = "_row_last_updated_at_version"
_ACCEPTED = ("table", "graph_schema")
_FEW = 8  # one row in so many is fetched rather than found by a scan of all
_KEYS = ("object_id", "object_type", "table_version", "table_branch", CREATED_AT, _CHANGED_AT)
_WHOLE = (*ROW_COLUMNS, CREATED_AT, _CHANGED_AT)

RowsAt = Callable[[pa.Array], pa.Table]


class _Kept:
    """A version that is still there: when each of its rows was made, and of the rows as much as is asked for."""

    def __init__(self, handle: TableHandle) -> None:
        # On an object store every further look is a round trip, which costs more than the bytes it saves.
        whole = None if handle.address.root.is_local else handle.scan(_WHOLE)
        self.handle = handle
        self._created = (handle.scan([CREATED_AT]) if whole is None else whole)[CREATED_AT]
        self._keys: pa.Table | None = None
        self._whole = whole

    @property
    def nbytes(self) -> int:
        return int(self._created.nbytes) * len(_KEYS) if self._whole is None else int(self._whole.nbytes)

    def until(self, version: int) -> tuple[pa.Table, RowsAt]:
        """What decides of the rows that were there at an earlier version, and how to get some of them whole."""
        there = pc.indices_nonzero(pc.less_equal(self._created, version))
        if self._whole is not None or (self._keys is None and len(there) * _FEW <= len(self._created)):
            rows = self.handle.take_positions(there, _WHOLE) if self._whole is None else self._whole.take(there)
            return rows.select(list(_KEYS)), rows.select(list(ROW_COLUMNS)).take
        keys = self._keys
        if keys is None:
            keys = self._keys = self.handle.scan(list(_KEYS))
        return keys.take(there), lambda positions: self.handle.take_positions(there.take(positions), ROW_COLUMNS)


_KEPT: CacheKind[_Kept] = CacheKind("manifests of the past", lambda kept: kept.nbytes, share=1 / 8, entries=2)


def rebuild_state(address: Address, branch: str | None, version: int, identifier: Identifier) -> ManifestState:
    """What a version said that was let go; HistoricalVersionReclaimed when nothing can tell any more.

    Data goes before the files of versions, so one whose trimming was interrupted may be there without it, or be gone
    since it was found. A later one knows as much, up to the newest, of which nothing is ever trimmed.
    """
    lost: StorageError | None = None
    for later in _later_versions(address, version):
        try:
            kept = _keys_of(address, later)
        except HistoricalVersionReclaimed:
            continue
        except StorageError as error:
            lost = _missing(error)
            continue
        try:
            with naming_damage(kept.handle):
                return _rebuilt(kept, branch, version, identifier)
        except StorageError as error:
            lost = _missing(error)
    if lost is not None:
        raise damaged_manifest(lost.message) from lost
    raise HistoricalVersionReclaimed(version, table=address.location)


def _missing(error: StorageError) -> StorageError:
    """The error if it says that a file is not there."""
    if error.kind != "NotFound":
        raise error
    return error


def _rebuilt(kept: _Kept, branch: str | None, version: int, identifier: Identifier) -> ManifestState:
    keys, whole = kept.until(version)
    changed = pc.greater(keys[_CHANGED_AT], version)
    if pc.any(pc.and_(changed, pc.is_in(keys["object_type"], value_set=pa.array(_ACCEPTED)))).as_py():
        raise HistoricalVersionReclaimed(version, table=kept.handle.address.location)
    moved = pc.and_(changed, pc.equal(keys["object_type"], "graph_head"))
    heads = encode_rows(_old_heads(keys, keys.filter(moved)["object_id"].to_pylist())).select(list(ROW_COLUMNS))
    staying = pc.indices_nonzero(pc.invert(moved))

    def rows_at(positions: pa.Array) -> pa.Table:
        found = whole(staying.take(positions))
        return pa.concat_tables([found, heads.cast(found.schema)])

    scan = Scan(
        keys.take(staying).select(list(KEY_COLUMNS)),
        rows_at,
        lambda: commits_of(kept.handle, until=version),
        lambda commit_id: commits_of(kept.handle, until=version, only=commit_id),
    )
    return decode_state(scan, branch=branch, version=version, identifier=identifier)


def schema_boundaries(newest: TableHandle, versions: list[int]) -> set[int]:
    """Those of the existing versions that alone know a schema: the last one before each change of it."""
    found: set[int] = set()
    at: TableHandle = newest
    while (changed := _last_change(at)) is not None:
        before = max((version for version in versions if version < changed), default=None)
        if before is None:
            break
        found.add(before)
        at = tables.open_table(newest.address, before, control=True)
    return found


def _later_versions(address: Address, version: int) -> Iterator[int]:
    """The versions that are there after one that was let go, the first ones first; each found by one listing."""
    passed: int | None = version
    while passed is not None:
        present = listed_versions(client_of(address.root), address)
        if version == max(present, default=version):
            raise Corrupt(f"{address.uri}: a file of the newest version {version} is missing; restore it from a backup")
        passed = min((number for number in present if number > passed), default=None)
        if passed is not None:
            yield passed


def _keys_of(address: Address, version: int) -> _Kept:
    """What decides of a version, remembered: a walk through history asks for many states from the same one."""
    handle = tables.open_table(address, version, control=True)
    key = (handle.address.uri, handle.version, handle.stamp)
    with naming_damage(handle):
        return handle.address.root.memory.cache(_KEPT).get_or_build(key, lambda: _Kept(handle))


def _last_change(manifest: TableHandle) -> int | None:
    """The version that last changed a row of the schema in place."""
    kinds = ", ".join(f"'{kind}'" for kind in _ACCEPTED)
    rows = manifest.scan([_CHANGED_AT], f"object_type IN ({kinds}) AND {_CHANGED_AT} > {CREATED_AT}")
    found: int | None = pc.max(rows[_CHANGED_AT]).as_py()
    return found


def _old_heads(keys: pa.Table, moved: list[str]) -> list[HeadRow]:
    """What heads that have moved on since were at the version that the rows are of."""
    commits = keys.filter(pc.equal(keys["object_type"], "graph_commit")) if moved else keys.slice(0, 0)
    names = [text.removeprefix(HEAD_PREFIX) for text in moved]
    return [head for name in names if (head := _head_of(commits, None if name == "main" else name)) is not None]


def _head_of(commits: pa.Table, branch: str | None) -> HeadRow | None:
    own = commits.filter(
        pc.is_null(commits["table_branch"]) if branch is None else pc.equal(commits["table_branch"], branch)
    )
    if not own.num_rows:
        return None
    # Of commits that were published together the last one has the greatest id: their writer mints them in order.
    newest = own.filter(pc.equal(own[CREATED_AT], pc.max(own[CREATED_AT])))
    return HeadRow(branch, pc.max(newest["object_id"]).as_py())
