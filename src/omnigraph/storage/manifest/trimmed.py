"""States of the manifest at versions that are no longer kept, read from the next one that is.

Rows of the manifest are only ever added, and each remembers the version that added it. The few rows that change in
place are heads, which the commits determine, bookkeeping of live operations, and the schema with its registrations:
of those, the last version before every change is kept. So no version in between is needed to know what it said.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import Corrupt, HistoricalVersionReclaimed, StorageError
from omnigraph.memory.cache import CacheKind
from omnigraph.storage.base.layout import Address
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.reclaim import existing_versions
from omnigraph.storage.lance.refs import Identifier
from omnigraph.storage.lance.tables import TableHandle
from omnigraph.storage.manifest.decode import ManifestState, decode_state
from omnigraph.storage.manifest.row_codec import encode_rows
from omnigraph.storage.manifest.rows import HEAD_PREFIX, HeadRow
from omnigraph.storage.manifest.scan import CREATED_AT, SCAN_COLUMNS

_CHANGED_AT = "_row_last_updated_at_version"
_ACCEPTED = ("table", "graph_schema")
_TRIMMED_ATTEMPTS = 8

_SCANS: CacheKind[pa.Table] = CacheKind("manifests of the past", lambda rows: int(rows.nbytes), share=1 / 8, entries=2)


def rebuild_state(address: Address, branch: str | None, version: int, identifier: Identifier) -> ManifestState:
    """What a version said that was let go; HistoricalVersionReclaimed when nothing can tell any more."""
    known = _known_after(address, version)
    rows = known.filter(pc.less_equal(known[CREATED_AT], version))
    changed = rows.filter(pc.greater(rows[_CHANGED_AT], version))
    if pc.any(pc.is_in(changed["object_type"], value_set=pa.array(_ACCEPTED))).as_py():
        raise HistoricalVersionReclaimed(version, table=address.location)
    return decode_state(_with_old_heads(rows, version), branch=branch, version=version, identifier=identifier)


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


def _known_after(address: Address, version: int) -> pa.Table:
    """The rows of the first version after one that was let go."""
    for remaining in reversed(range(_TRIMMED_ATTEMPTS)):
        newest = tables.open_table(address, control=True)
        later = next((number for number in existing_versions(newest) if number > version), None)
        if newest.version == version:
            raise Corrupt(f"{address.uri}: a file of the newest version {version} is missing; restore it from a backup")
        if later is None:
            break
        try:
            return _rows_of(tables.open_table(address, later, control=True))
        except (HistoricalVersionReclaimed, StorageError) as error:
            # Trimmed as well since it was found; a still later one knows as much.
            if not remaining or (isinstance(error, StorageError) and error.kind != "NotFound"):
                raise
    raise HistoricalVersionReclaimed(version, table=address.location)


def _rows_of(kept: TableHandle) -> pa.Table:
    """Every row of a version, remembered: a walk through history asks for many states from the same one."""
    scans = kept.address.root.memory.cache(_SCANS)
    return scans.get_or_build(
        (kept.address.uri, kept.version, kept.stamp), lambda: kept.scan([*SCAN_COLUMNS, _CHANGED_AT])
    )


def _last_change(manifest: TableHandle) -> int | None:
    """The version that last changed a row of the schema in place."""
    kinds = ", ".join(f"'{kind}'" for kind in _ACCEPTED)
    rows = manifest.scan([_CHANGED_AT], f"object_type IN ({kinds}) AND {_CHANGED_AT} > {CREATED_AT}")
    found: int | None = pc.max(rows[_CHANGED_AT]).as_py()
    return found


def _with_old_heads(rows: pa.Table, version: int) -> pa.Table:
    """Heads that have moved on since replaced by what they were; the rest of the columns as a scan has them."""
    moved = pc.and_(pc.equal(rows["object_type"], "graph_head"), pc.greater(rows[_CHANGED_AT], version))
    if not pc.any(moved).as_py():
        return rows.select(list(SCAN_COLUMNS))
    names = [text.removeprefix(HEAD_PREFIX) for text in rows.filter(moved)["object_id"].to_pylist()]
    commits = rows.filter(pc.equal(rows["object_type"], "graph_commit"))
    heads = [head for name in names if (head := _head_of(commits, None if name == "main" else name)) is not None]
    kept = rows.filter(pc.invert(moved)).select(list(SCAN_COLUMNS))
    encoded = encode_rows(heads)
    created: Any = pa.array([version] * encoded.num_rows, pa.uint64())
    added = encoded.append_column(CREATED_AT, created).select(list(SCAN_COLUMNS))
    return pa.concat_tables([kept, added.cast(kept.schema)])


def _head_of(commits: pa.Table, branch: str | None) -> HeadRow | None:
    own = commits.filter(
        pc.is_null(commits["table_branch"]) if branch is None else pc.equal(commits["table_branch"], branch)
    )
    if not own.num_rows:
        return None
    at = pc.index(own[CREATED_AT], pc.max(own[CREATED_AT])).as_py()
    return HeadRow(branch, own["object_id"][at].as_py())
