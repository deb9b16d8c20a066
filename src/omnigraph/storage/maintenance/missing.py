"""What a missing file of a table version means: damage, or that a cleanup removed what is not needed any more."""

from __future__ import annotations

from omnigraph.errors import BranchNotFound, Corrupt, HistoricalVersionReclaimed, OmnigraphError
from omnigraph.storage.base.layout import normalize_branch
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches.branches import list_branches
from omnigraph.storage.branches.tags import list_tags
from omnigraph.storage.intent.capture import control_is_held
from omnigraph.storage.lance.refs import read_ref
from omnigraph.storage.lance.version_files import has_version_file
from omnigraph.storage.maintenance.checksum_ledger import removed_versions
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.snapshot import Snapshot, TableEntry


def explain_missing(store: Store, entry: TableEntry, error: OmnigraphError) -> OmnigraphError:
    """Corrupt when the version has to be whole, HistoricalVersionReclaimed when cleanup was free to remove it."""
    if _is_kept(store, entry) or not _may_be_gone(store, entry):
        found = "its version file is missing" if isinstance(error, HistoricalVersionReclaimed) else error.message
        return Corrupt(
            f"{entry.address(store.root).uri}: version {entry.version} of '{entry.table_key}' is damaged: {found}; "
            "restore the file from a backup"
        )
    return HistoricalVersionReclaimed(entry.version, table=entry.table_key)


def _is_kept(store: Store, entry: TableEntry) -> bool:
    """Whether a live branch or a tag pins the version; cleanup never removes such a one."""
    for name in list_branches(store):
        try:
            if _pins(manifest.load(store.root, normalize_branch(name)).state.snapshot, entry):
                return True
        except BranchNotFound:
            continue  # deleted while we were looking
    for tag in list_tags(store):
        try:
            state = manifest.load_commit(store.root, tag.branch, tag.manifest_version, tag.graph_commit_id)
            if _pins(state.snapshot, entry):
                return True
        except BranchNotFound:
            continue
    return False


def _pins(snapshot: Snapshot, entry: TableEntry) -> bool:
    place = entry.location, entry.ref, entry.version
    return any((pinned.location, pinned.ref, pinned.version) == place for pinned in snapshot)


def was_reclaimed(store: Store, entry: TableEntry) -> bool:
    """Whether a version whose file is not there was removed on purpose, as far as can be known.

    Releases that noted no checksum of version files recorded no removals either; on object stores there is none.
    """
    if entry.evidence.crc32 is None:
        return True
    address = entry.address(store.root)
    if address.ref is not None and read_ref(address.trunk, address.ref) is None:
        return True  # with its branch
    return entry.version in removed_versions(store.objects, address)


def _may_be_gone(store: Store, entry: TableEntry) -> bool:
    """Whether the version was removed, or may be on its way: lance removes data files before the version file."""
    control = manifest.load(store.root).state.control
    if control is not None and control.holder is not None and control_is_held(store, control.holder):
        return True
    return was_reclaimed(store, entry) and not has_version_file(store.objects, entry.address(store.root), entry.version)
