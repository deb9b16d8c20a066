"""The manifest dataset: load the state of a branch fresh, publish rows into it, keep it small.

`load` always asks storage which version is newest; only the decoding of an exact version is remembered, because
the content of an exact version never changes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from omnigraph.errors import BranchNotFound, Corrupt, HistoricalVersionReclaimed, StorageError
from omnigraph.memory.cache import CacheKind
from omnigraph.storage.base.layout import Address, Root
from omnigraph.storage.base.ref_names import branch_of
from omnigraph.storage.base.watching import Watch
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.refs import Identifier, Ref, read_ref
from omnigraph.storage.lance.tables import CommitOutcome, Landed, Staged, TableHandle
from omnigraph.storage.manifest.branch_refs import known_ref, require_ref
from omnigraph.storage.manifest.decode import Decision, ManifestState, decode_state, fold, state_within
from omnigraph.storage.manifest.row_codec import encode_rows
from omnigraph.storage.manifest.rows import MANIFEST_SCHEMA, ManifestRow
from omnigraph.storage.manifest.scan import naming_damage, scan_manifest
from omnigraph.storage.manifest.stamp import check_stamp
from omnigraph.storage.manifest.tips import forget_tip, known_tip, note_tip, open_tip, watch_of
from omnigraph.storage.manifest.trimmed import rebuild_state

__all__ = [
    "Decision", "Loaded", "ManifestState", "advance", "carry_over", "compact_manifest", "compaction_due",
    "decode_state", "fold", "inherit", "load", "load_commit", "load_kept", "load_known", "load_version", "newest",
    "peek", "publish_rows", "refresh", "stage_genesis",
]  # fmt: skip

_log = logging.getLogger("omnigraph.storage")

_BYTES_PER_COMMIT = 256  # what a commit takes once its lineage has been read
_BYTES_PER_TABLE = 1 << 10
_TRIMMED_ATTEMPTS = 8
_COMPACT_AT_FRAGMENTS = 16


@dataclass(frozen=True, slots=True)
class Loaded:
    """A manifest branch at one version: the dataset to publish on and what it says."""

    handle: TableHandle
    state: ManifestState


def load(root: Root, branch: str | None = None, *, allow_sealed: bool = False) -> Loaded:
    """The newest state of a branch, read fresh; BranchNotFound when it is gone or sealed.

    `allow_sealed` is for the one who deletes the branch and has to finish.
    """
    for remaining in reversed(range(_TRIMMED_ATTEMPTS)):
        handle, identifier = _open_newest(root, branch)
        known = root.memory.cache(_LOADED).get((handle.address.uri, branch))
        if known is not None and known.handle is handle and known.state.identifier == identifier:
            loaded = known
            break
        check_stamp(handle.schema, root.uri)
        try:
            loaded = Loaded(handle, _state_of(handle, branch, identifier))
            root.memory.cache(_LOADED).put((handle.address.uri, branch), loaded)
            break
        except StorageError as error:
            # A cleanup lets go of every version but the newest, and it need not be ours any more when it does.
            if error.kind != "NotFound":
                raise
            if not remaining:
                raise Corrupt(
                    f"{error.message}; the newest manifest needs this file, restore it from a backup"
                ) from error
    _check_incarnation(loaded.state, allow_sealed=allow_sealed)
    return loaded


def load_known(root: Root, branch: str | None = None) -> ManifestState | None:
    """The newest state of a branch on a disk if it is the one that was loaded last; None when only `load` can tell.

    It takes some microseconds, whatever others have published.
    """
    ref = known_ref(root, branch) if branch is not None and root.is_local else None
    if branch is not None and ref is None:
        return None
    address = root.manifest(None if ref is None else ref.name)
    known = root.memory.cache(_LOADED).get((address.uri, branch))
    if known is None or known_tip(address) is not known.handle:
        return None
    if known.state.identifier != (() if ref is None else ref.identifier):
        return None
    _check_incarnation(known.state, allow_sealed=False)
    return known.state


def watch_of_main(root: Root, state: ManifestState) -> Watch | None:
    """What shows that a state of main is still the newest; None where only `load` can tell."""
    if state.branch is not None or not root.is_local:
        return None
    known = root.memory.cache(_LOADED).get((root.manifest().uri, None))
    return watch_of(known.handle) if known is not None and known.state is state else None


def refresh(loaded: Loaded) -> Loaded:
    """The same when its branch is still at that version and incarnation, else the newest state; for use within seconds.

    A probe costs much less than a load: a version file holds the row ids and versions of the whole dataset.
    """
    address, state = loaded.handle.address, loaded.state
    if loaded.handle.latest_version() != state.version:
        return load(address.root, state.branch)
    if address.ref is not None:
        ref = read_ref(address.trunk, address.ref)
        if ref is None or ref.identifier != state.identifier:
            return load(address.root, state.branch)
    return loaded


def peek(root: Root, name: str) -> Loaded | None:
    """The newest state in the tree of a ref, be it sealed or without that ref; None when there is no readable tree."""
    ref = read_ref(root.manifest(), name)
    try:
        handle = tables.open_table(root.manifest(name), control=True)
    except StorageError as error:
        if error.kind == "NotFound":
            return None
        raise
    return Loaded(handle, _state_of(handle, branch_of(name), ref.identifier if ref is not None else ()))


def load_version(root: Root, branch: str | None, version: int) -> ManifestState:
    """The state of one older version; versions below a branch's fork are found on its parent."""
    address, identifier = _lineage_at(root, branch, version)
    name = None if address.ref is None else branch_of(address.ref)
    states, key = root.memory.cache(_STATES), (address.uri, name, identifier, version, f"rebuilt in {_domain(root)}")
    rebuilt = states.get(key)
    if rebuilt is None:
        try:
            return _state_at(address, name, version, identifier)
        except (HistoricalVersionReclaimed, StorageError) as error:
            # Let go, or about to be: its data goes before its own file.
            if isinstance(error, StorageError) and error.kind != "NotFound":
                raise
        rebuilt = rebuild_state(address, name, version, identifier)
        states.put(key, rebuilt)
    return rebuilt


def load_commit(root: Root, branch: str | None, version: int, commit_id: str) -> ManifestState:
    """The state right after a commit of a version; of commits that were published together each has its own.

    Where no such commit is, the state of the version: its head says so.
    """
    state = load_version(root, branch, version)
    if state.graph_head == commit_id:
        return state
    found = state.lineage.get(commit_id)
    if found is None or found.within is None or found.manifest_version != version:
        return state
    return state_within(state, found)


def load_kept(root: Root, branch: str | None, version: int) -> Loaded:
    """An older version of a branch whose file is still there, to fork from; HistoricalVersionReclaimed otherwise."""
    address, identifier = _lineage_at(root, branch, version)
    handle = tables.open_table(address, version, control=True)
    return Loaded(handle, _state_of(handle, None if address.ref is None else branch_of(address.ref), identifier))


def newest(root: Root, branch: str | None = None) -> tuple[int, Identifier]:
    """The newest version of a branch's manifest and its incarnation: the probe before a warm read."""
    handle, identifier = _open_newest(root, branch)
    return handle.version, identifier


def publish_rows(loaded: Loaded, rows: Sequence[ManifestRow]) -> CommitOutcome:
    """Insert or update rows by object_id in one step; Refused means that another writer touched the same ids first."""
    forget_tip(loaded.handle.address)
    return tables.merge_rows(loaded.handle, encode_rows(rows), key="object_id")


def advance(
    loaded: Loaded, rows: Iterable[ManifestRow], landed: Landed, expected: ManifestState | None = None
) -> ManifestState:
    """The state that a publish produced: folded when nothing else landed in between, rescanned otherwise.

    `expected` is what the rows leave behind, where that was worked out before.
    """
    state = loaded.state
    if landed.exact:
        known = expected is not None and expected.version == landed.version
        folded = expected if known and expected is not None else fold(state, rows, landed.version)
        _remember(landed.handle, folded)
        return folded
    return _state_of(landed.handle, state.branch, state.identifier)


def stage_genesis(root: Root, rows: Sequence[ManifestRow]) -> Staged:
    """The creation of the manifest dataset with its first rows and its stamp, as one commit."""
    return tables.stage_create(root.manifest(), MANIFEST_SCHEMA, encode_rows(rows))


def compaction_due(handle: TableHandle) -> bool:
    """Whether the manifest has enough fragments that rewriting them pays; costs nothing."""
    return handle.fragment_count() >= _COMPACT_AT_FRAGMENTS


def compact_manifest(address: Address, *, state: ManifestState | None = None, whole: bool = False) -> bool:
    """Merge the manifest's small fragments in place; False when a concurrent publish won, which is harmless.

    `state` is what the newest version was known to say; it then needs no decoding again after the compaction. `whole`
    also rewrites what is too large to be rewritten often.
    """
    handle = tables.open_table(address, control=True)
    forget_tip(address)
    try:
        compacted = tables.compact(handle, tiered=not whole)
        if state is not None and state.version == handle.version:
            carry_over(state, compacted)
    except StorageError as error:
        _log.debug("the manifest was not compacted: %s", error)
        return False
    return True


def inherit(captured: Loaded, ref: Ref) -> None:
    """Remember what a branch says that was forked from a captured state just now: the same, under another name."""
    branch, state = branch_of(ref.name), captured.state
    handle = open_tip(captured.handle.address.on(ref.name))
    if handle.version == state.version == ref.parent_version:
        snapshot = replace(state.snapshot, branch=branch)
        same = replace(state, branch=branch, identifier=ref.identifier, branch_row=None, snapshot=snapshot)
        _remember(handle, same)


def carry_over(state: ManifestState, compacted: TableHandle) -> None:
    """Remember that a later version says the same, if only maintenance separates the two."""
    for version in range(state.version + 1, compacted.version + 1):
        info = compacted.transaction(version)
        if info is None or not tables.preserves_content(compacted.address, info):
            return  # another writer published in between
    snapshot = replace(state.snapshot, manifest_version=compacted.version)
    same = replace(state, version=compacted.version, snapshot=snapshot)
    _remember(compacted, same)


def _open_newest(root: Root, branch: str | None) -> tuple[TableHandle, Identifier]:
    if branch is None:
        return open_tip(root.manifest()), ()
    ref = require_ref(root, branch)
    return open_tip(root.manifest(ref.name)), ref.identifier


def _lineage_at(root: Root, branch: str | None, version: int) -> tuple[Address, Identifier]:
    """The manifest that holds a version of a branch: its own, or that of an ancestor before its fork."""
    ref = None if branch is None else require_ref(root, branch)
    while ref is not None and version < ref.parent_version:
        if ref.parent is None:
            ref = None
            break
        parent = read_ref(root.manifest(), ref.parent)
        if parent is None:
            raise BranchNotFound(branch_of(ref.parent))
        ref = parent
    return (root.manifest(), ()) if ref is None else (root.manifest(ref.name), ref.identifier)


def _state_at(address: Address, branch: str | None, version: int, identifier: Identifier) -> ManifestState:
    """The state of a version that is still there; HistoricalVersionReclaimed when it was trimmed."""
    handle = tables.open_table(address, version, control=True)
    check_stamp(handle.schema, address.root.uri)
    try:
        return _state_of(handle, branch, identifier)
    except StorageError as error:
        if error.kind != "NotFound":
            raise
        raise HistoricalVersionReclaimed(version, table=address.location) from error  # trimmed since it was opened


def _domain(root: Root) -> str:
    """What distinguishes a graph from another one that was made later at the same path."""
    schema = load(root).state.schema
    return "" if schema is None else schema.schema_identity_domain


def _state_of(handle: TableHandle, branch: str | None, identifier: Identifier) -> ManifestState:
    states, key = handle.address.root.memory.cache(_STATES), _key(handle, branch, identifier)
    state = states.get(key)
    if state is None:
        with naming_damage(handle):
            scan = scan_manifest(handle)
            state = decode_state(scan, branch=branch, version=handle.version, identifier=identifier)
        states.put(key, state)
    return state


def _check_incarnation(state: ManifestState, *, allow_sealed: bool) -> None:
    row = state.branch_row
    if row is None or state.branch is None:
        return
    if row.sealed is not None and not allow_sealed:
        raise BranchNotFound(state.branch)
    if row.identifier != state.identifier:
        raise Corrupt(f"branch manifest incarnation mismatch on '{state.branch}'")


# --- decoded versions ----------------------------------------------------------------------------

_StateKey = tuple[str, str | None, Identifier, int, str]


def _state_bytes(state: ManifestState) -> int:
    # Folded states share most of their memory; counting it for each of them only evicts a little early.
    tables = len(state.registrations) + len(state.published)
    return tables * _BYTES_PER_TABLE + len(state.lineage) * _BYTES_PER_COMMIT + int(state.aborts.nbytes)


# What was loaded last, for as long as its manifest stays the newest: asked before every read.
_LOADED: CacheKind[Loaded] = CacheKind("newest states", lambda loaded: 1 << 10, entries=64, refers=True)
_STATES: CacheKind[ManifestState] = CacheKind("manifests", _state_bytes, share=1 / 8, largest=1.0, entries=64)


def _key(handle: TableHandle, branch: str | None, identifier: Identifier) -> _StateKey:
    # The stamp distinguishes a graph from one that was deleted and created again at the same path.
    return handle.address.uri, branch, identifier, handle.version, handle.stamp


def _remember(handle: TableHandle, state: ManifestState) -> None:
    """What a version says that this process has made; eight writers at once would all open it to be told the same."""
    memory = handle.address.root.memory
    memory.cache(_STATES).put(_key(handle, state.branch, state.identifier), state)
    memory.cache(_LOADED).put((handle.address.uri, state.branch), Loaded(handle, state))
    note_tip(handle)
