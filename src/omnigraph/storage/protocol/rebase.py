"""Rebasing: proof, from what a prepared write has read and writes, that nothing published since can affect it.

Tables whose published version did not move cannot. In a table that did, the rows in between decide: what this process
published itself is remembered, anything else is found out from the two versions. Where neither tells, the write counts
as affected and is prepared again; a wrong "affected" costs time, a wrong "unaffected" would lose an update.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from omnigraph.errors import HistoricalVersionReclaimed, OmnigraphError, OtherChange, StorageError
from omnigraph.storage.base.store import Store
from omnigraph.storage.intent.writeset import Footprint
from omnigraph.storage.lance.tables import open_table
from omnigraph.storage.lance.version_tree import changes_along, fresh_row_count
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.snapshot import TableEntry

# A table that was rewritten in between is not searched for rows that happen to be the same.
_MOST_FRESH_ROWS = 16_384
_SHOWN_IDS = 5


@dataclass(frozen=True, slots=True)
class Interference:
    """One table in which others have changed what a write depends on; `ids` are the rows, where it named any."""

    table_key: str
    ids: tuple[str, ...] = ()


def interference(
    store: Store, footprint: Footprint | None, then: ManifestState, now: ManifestState
) -> Interference | None:
    """The first table in which a newer state may affect what was prepared on an older one; None when none can."""
    if footprint is None or then.identifier != now.identifier or then.schema != now.schema:
        return Interference(next(iter(_moved_tables(then, now)), ""))
    for key in sorted(footprint):
        before, after, wanted = then.snapshot.entries.get(key), now.snapshot.entries.get(key), footprint[key]
        if before == after:
            continue
        if before is None or after is None or wanted is None or not _one_line(before, after):
            return Interference(key)
        changed = store.recent.between(then.effective_head, now.effective_head, key)
        if changed is None:
            changed = _changed(store, before, after)
        if changed is None or not changed.isdisjoint(wanted):
            return Interference(key, () if changed is None else tuple(sorted(changed & wanted)))
    return None


def _moved_tables(then: ManifestState, now: ManifestState) -> Iterable[str]:
    old, new = then.snapshot.entries, now.snapshot.entries
    return (key for key in sorted({*old, *new}) if old.get(key) != new.get(key))


def _one_line(before: TableEntry, after: TableEntry) -> bool:
    same = (before.location, before.ref, before.identity) == (after.location, after.ref, after.identity)
    return same and before.version < after.version


def _changed(store: Store, before: TableEntry, after: TableEntry) -> frozenset[str] | None:
    """The rows in which two published versions of one lineage differ; None when it would take long to find out."""
    address = before.address(store.root)
    try:
        old, new = open_table(address, before.version), open_table(address, after.version)
        if fresh_row_count(old, new) > _MOST_FRESH_ROWS:
            return None
        found = changes_along(old, new, ["id"])
    except (HistoricalVersionReclaimed, StorageError):
        return None
    return frozenset(found.before["id"].to_pylist()).union(found.after["id"].to_pylist())


def change_behind(store: Store, found: Interference, now: ManifestState) -> OtherChange:
    """The change that a write would have had to be computed again for, with the commit that published it."""
    commit_id = _writer_of(store, found.table_key, now) or now.effective_head
    commit = None if commit_id is None else now.lineage.get(commit_id)
    actor = None if commit is None else commit.actor_id
    return OtherChange(found.table_key, found.ids[:_SHOWN_IDS], commit_id, actor)


def _writer_of(store: Store, table_key: str, now: ManifestState) -> str | None:
    """The commit whose transaction made the published version of a table; None when only its branch's head is known."""
    entry = now.snapshot.entries.get(table_key)
    if entry is None:
        return None
    try:
        info = open_table(entry.address(store.root), entry.version).transaction()
    except OmnigraphError:
        return None
    operation = None if info is None else info.operation_id
    return operation if operation is not None and operation in now.lineage else None
