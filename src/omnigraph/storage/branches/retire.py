"""Retirement: a deleted branch is sealed first, loses its refs next, and gives up its files last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from omnigraph.errors import OmnigraphError, ReadSetChanged
from omnigraph.ids import now_micros
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.base.layout import MANIFEST, ref_file
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches.forks import owned_refs
from omnigraph.storage.intent.capture import branch_row_of
from omnigraph.storage.intent.control import Control
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.refs import Identifier
from omnigraph.storage.lance.tables import CommitOutcome, Landed, Unknown
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.manifest import Loaded, ManifestState
from omnigraph.storage.manifest.rows import HeadRow, ManifestRow, Seal

_ATTEMPTS = 32


def seal(store: Store, branch: str, identifier: Identifier, control: Control) -> None:
    """Close a branch for publication: a publish and the seal rewrite the same row, so they are totally ordered."""
    outcome: CommitOutcome | None = None
    for _ in range(_ATTEMPTS):
        loaded = manifest.peek(store.root, branch)
        if loaded is None or _seal_of(loaded) is not None:
            return
        state = loaded.state
        if state.identifier != identifier:
            raise ReadSetChanged(f"branch_identifier:{branch}", expected=identifier, actual=state.identifier)
        # After the look: a process that takes control from here on keeps the branch by rewriting the row that was read.
        control.confirm()
        hit("branch_delete.pre_seal")
        outcome = manifest.publish_rows(loaded, _seal_rows(store, state, control.operation_id))
        if isinstance(outcome, Landed):
            return
    raise _unsettled(branch, outcome)


def keep(store: Store, branch: str) -> bool:
    """Take a branch back from a delete that stopped before its seal; False when the seal was there first.

    The deleter may only have slept: rewriting the row makes a seal that is based on an earlier look fail.
    """
    outcome: CommitOutcome | None = None
    for _ in range(_ATTEMPTS):
        loaded = manifest.peek(store.root, branch)
        if loaded is None or _seal_of(loaded) is not None:
            return False
        row = branch_row_of(store, loaded.state)
        assert row is not None
        outcome = manifest.publish_rows(loaded, [row])
        if isinstance(outcome, Landed):
            return True
    raise _unsettled(branch, outcome)


def is_sealed(store: Store, branch: str) -> bool:
    """Whether a branch is closed; looks into its tree even when its ref is gone."""
    found = manifest.peek(store.root, branch)
    return found is not None and _seal_of(found) is not None


def forget_refs(store: Store, location: str, names: Iterable[str], control: Control) -> None:
    """Take refs of one dataset away; their trees stay until the grace is over, unless this is the only process."""
    for name in names:
        control.require()
        store.objects.delete(f"{location}/{ref_file(name)}")
        if store.settings.topology == "single_process":
            _delete_tree(store, location, name)


def reclaim(store: Store, branch: str, control: Control) -> None:
    """Delete what a retired branch, or a create that died halfway, left on disk."""
    locations = [MANIFEST, *sorted({row.location for row in manifest.load(store.root).state.registrations.values()})]
    for location in locations:
        for name in _trees(store, location, branch):
            control.require()
            _delete_tree(store, location, name)


def _trees(store: Store, location: str, branch: str) -> list[str]:
    """Trees of a branch without a ref, newest suffix first."""
    if not store.objects.exists(f"{location}/tree/{branch}"):
        return []
    live = tables.list_refs(tables.open_table(store.root.table(location), control=True))
    names = [branch] if location == MANIFEST else [branch, *_suffixed(store, location, branch)]
    return [name for name in names if name not in live]


def _suffixed(store: Store, location: str, branch: str) -> list[str]:
    found: list[str] = []
    while store.objects.exists(f"{location}/tree/{branch}--{len(found) + 2}"):
        found.append(f"{branch}--{len(found) + 2}")
    return owned_refs(branch, found)


def _delete_tree(store: Store, location: str, name: str) -> None:
    refs = tables.list_refs(tables.open_table(store.root.table(location), control=True))
    # A fork's older files live in its parent's tree.
    if not any(ref.parent == name for ref in refs.values()):
        store.objects.delete_prefix(f"{location}/tree/{name}")


def _seal_of(loaded: Loaded) -> Seal | None:
    row = loaded.state.branch_row
    return None if row is None else row.sealed


def _unsettled(branch: str, outcome: CommitOutcome | None) -> OmnigraphError:
    if isinstance(outcome, Unknown):
        return outcome.cause
    return ReadSetChanged(f"graph_branch:{branch}", expected="settled", actual="contended")


def _seal_rows(store: Store, state: ManifestState, operation_id: str) -> list[ManifestRow]:
    row = branch_row_of(store, state)
    assert row is not None
    rows: list[ManifestRow] = [replace(row, sealed=Seal(operation_id, now_micros()))]
    if state.graph_head is not None:
        commit = state.lineage.get(state.graph_head)
        rows.append(HeadRow(state.branch, state.graph_head, None if commit is None else commit.parent_commit_id))
    return rows
