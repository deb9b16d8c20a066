"""Who moved a branch: what a refused writer is told about the commit that came first."""

from __future__ import annotations

from omnigraph.errors import OmnigraphError, OtherChange
from omnigraph.storage.base.store import Store
from omnigraph.storage.lance.tables import open_table
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.protocol.rebase import Interference

_SHOWN_IDS = 5


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
