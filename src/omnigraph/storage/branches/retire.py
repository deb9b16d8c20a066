"""Retirement: a deleted branch is sealed first, loses its refs next, and gives up its files last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from omnigraph.errors import OmnigraphError, ReadSetChanged
from omnigraph.ids import now_micros
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.base.layout import MANIFEST, ref_file
from omnigraph.storage.base.ref_names import branch_of, owner_of
from omnigraph.storage.base.store import Store
from omnigraph.storage.intent.capture import branch_row_of
from omnigraph.storage.intent.control import Control
from omnigraph.storage.lance.refs import Ref, read_ref
from omnigraph.storage.lance.tables import CommitOutcome, Landed, Unknown
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.manifest import Loaded, ManifestState
from omnigraph.storage.manifest.rows import HeadRow, ManifestRow, Seal

_ATTEMPTS = 32


def seal(store: Store, ref: Ref, control: Control, *, at: int | None = None) -> dict[str, list[str]]:
    """Close a branch for publication, and say which refs of tables it showed last, by location.

    A publish and the seal rewrite the same row, so they are totally ordered. With `at`, only while the manifest is at
    that version; ReadSetChanged otherwise.
    """
    branch, outcome = branch_of(ref.name), None
    for _ in range(_ATTEMPTS):
        loaded = manifest.peek(store.root, ref.name)
        if loaded is None:
            return {}
        if _seal_of(loaded) is not None:
            return _shown(loaded, ref.name)
        state = loaded.state
        if state.identifier != ref.identifier:
            raise ReadSetChanged(f"branch_identifier:{branch}", expected=ref.identifier, actual=state.identifier)
        if at is not None and state.version != at:
            raise ReadSetChanged(f"graph_branch:{branch}", expected=at, actual=state.version)
        # After the look: a process that takes control from here on keeps the branch by rewriting the row that was read.
        control.confirm()
        hit("branch_delete.pre_seal")
        outcome = manifest.publish_rows(loaded, _seal_rows(store, state, ref, control.operation_id))
        if isinstance(outcome, Landed):
            return _shown(loaded, ref.name)
    raise _unsettled(branch, outcome)


def keep(store: Store, ref: str) -> bool:
    """Take a branch back from a delete that stopped before its seal; False when the seal was there first.

    The deleter may only have slept: rewriting the row makes a seal that is based on an earlier look fail.
    """
    outcome: CommitOutcome | None = None
    for _ in range(_ATTEMPTS):
        loaded = manifest.peek(store.root, ref)
        if loaded is None or _seal_of(loaded) is not None:
            return False
        row = branch_row_of(store, loaded.state, read_ref(store.root.manifest(), ref))
        assert row is not None
        outcome = manifest.publish_rows(loaded, [row])
        if isinstance(outcome, Landed):
            return True
    raise _unsettled(branch_of(ref), outcome)


def is_sealed(store: Store, ref: str) -> bool:
    """Whether the branch of a ref is closed; looks into its tree even when the ref is gone."""
    found = manifest.peek(store.root, ref)
    return found is not None and _seal_of(found) is not None


def forget_refs(store: Store, location: str, names: Iterable[str], control: Control) -> None:
    """Take refs of one dataset away; trees stay for a cleanup, but for a manifest's if there is one process only."""
    for name in names:
        control.require()
        store.objects.delete(f"{location}/{ref_file(name)}")
        if location == MANIFEST and store.settings.writers == "single_process":
            store.objects.delete_prefix(f"{location}/tree/{name}")


def _shown(loaded: Loaded, ref: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for entry in loaded.state.snapshot:
        if entry.ref is not None and owner_of(entry.ref) == ref:
            found.setdefault(entry.location, []).append(entry.ref)
    return found


def _seal_of(loaded: Loaded) -> Seal | None:
    row = loaded.state.branch_row
    return None if row is None else row.sealed


def _unsettled(branch: str, outcome: CommitOutcome | None) -> OmnigraphError:
    if isinstance(outcome, Unknown):
        return outcome.cause
    return ReadSetChanged(f"graph_branch:{branch}", expected="settled", actual="contended")


def _seal_rows(store: Store, state: ManifestState, ref: Ref, operation_id: str) -> list[ManifestRow]:
    row = branch_row_of(store, state, ref)
    assert row is not None
    rows: list[ManifestRow] = [replace(row, sealed=Seal(operation_id, now_micros()))]
    if state.graph_head is not None:
        commit = state.lineage.get(state.graph_head)
        rows.append(HeadRow(state.branch, state.graph_head, None if commit is None else commit.parent_commit_id))
    return rows
