"""Recovery: finish or undo what an interrupted writer left, from its sidecar alone.

Every step can be repeated and raced: the decision row, the fixed id of the rollback commit and the keyed audit row
make any number of recoverers, each dying anywhere, converge on one outcome.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from omnigraph.errors import (
    BranchNotFound,
    Conflict,
    ExpectedVersionMismatch,
    OperationAborted,
    ReadSetChanged,
    RecoveryRequired,
    RowLevelCasContention,
)
from omnigraph.ids import now_micros
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches.branches import finish_deletes
from omnigraph.storage.intent import sidecar
from omnigraph.storage.intent.publication import Publication
from omnigraph.storage.intent.sidecar import Sidecar
from omnigraph.storage.intent.tally import counts_of
from omnigraph.storage.lance.tables import TableHandle, open_table
from omnigraph.storage.lance.version_files import version_evidence
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.note import Note
from omnigraph.storage.manifest.rows import VersionRow
from omnigraph.storage.protocol import audit, fence, schema_recovery
from omnigraph.storage.protocol.audit import RecoveryKind, TableRecovery
from omnigraph.storage.protocol.classify import TableOutcome, classify
from omnigraph.storage.protocol.fence import Abort
from omnigraph.storage.protocol.publish import publish

RECOVERY_ACTOR = "omnigraph:recovery"
_PUBLISH_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Recovered:
    """One resolved operation."""

    operation_id: str
    kind: RecoveryKind


def sweep(store: Store, *, eager_restore: bool = True) -> list[Recovered]:
    """Resolve every sidecar whose owner is gone; live ones are left alone, never waited for.

    Opening a graph for writing sweeps eagerly, so that afterwards every table's newest version is the published one;
    a writer on its way only decides, and leaves buried versions to the next writer of that table.
    """
    done = [
        recover(store, operation_id, eager_restore=eager_restore) for operation_id in sidecar.pending(store.objects)
    ]
    if eager_restore:
        finish_deletes(store)
        schema_recovery.clear_stale_lock(store)
    return [outcome for outcome in done if outcome is not None]


def recover(store: Store, operation_id: str, *, eager_restore: bool = False, gated: bool = True) -> Recovered | None:
    """Resolve one operation; None when its sidecar has gone or its owner lives.

    `gated=False` is for callers that hold gates themselves: taking more of them there could form a cycle.
    """
    failpoints.hit("recovery.post_list_pre_read")
    intent = _abandoned(store, operation_id)
    if intent is None:
        return None
    if not gated:
        return _recover(store, intent, eager_restore=eager_restore)
    refs = [(table.table_key, intent.branch) for table in intent.tables]
    with store.gates.hold([intent.branch], refs, exclusive_schema=intent.changes_schema):
        intent = _abandoned(store, operation_id)
        return None if intent is None else _recover(store, intent, eager_restore=eager_restore)


def publication_of(intent: Sidecar, versions: tuple[VersionRow, ...]) -> Publication:
    """The commit an armed operation is going to be, whichever process publishes it.

    Tables are planned under the keys that are published now; a renamed type's new version goes to its new key.
    """
    note = replace(intent.note, counts={**intent.note.counts, **counts_of(intent.tallies, versions)})
    renamed = {rename.source: rename.target for rename in intent.delta.renames}
    versions = tuple(replace(row, table_key=renamed.get(row.table_key, row.table_key)) for row in versions)
    return Publication(
        branch=intent.branch,
        commit_id=intent.commit_id,
        created_at=intent.created_at,
        token=intent.authority,
        expected={plan.table_key: plan.expected_version for plan in intent.tables},
        versions=versions,
        delta=intent.delta,
        actor_id=intent.actor_id,
        merged_parent=intent.merged_parent_commit_id,
        note=note,
        replayed_by=None if intent.replayed_commit_id is None else intent.operation_id,
    )


def version_row(store: Store, table_key: str, handle: TableHandle) -> VersionRow:
    """The row that publishes exactly the version of this handle."""
    evidence = version_evidence(store.objects, handle.address, handle.version)
    return VersionRow(table_key, handle.version, handle.address.ref, handle.count_rows(), evidence)


def _abandoned(store: Store, operation_id: str) -> Sidecar | None:
    intent = sidecar.load(store.objects, operation_id)
    if intent is None:
        sidecar.remove_lost(store.objects, operation_id)
    if intent is None or sidecar.is_live(intent, skew_ms=store.settings.lease_skew_ms):
        return None
    return intent


def _recover(store: Store, intent: Sidecar, *, eager_restore: bool) -> Recovered:
    try:
        state = manifest.load(store.root, intent.branch).state
    except BranchNotFound:
        return _discard_orphan(store, intent)
    if state.identifier != intent.authority.branch_identifier:
        return _discard_orphan(store, intent)  # its branch was deleted, and another one has the name now
    decision = state.decision(intent.operation_id)
    if decision == "published":
        return _finish_forward(store, intent)
    tables = classify(store, intent)
    failpoints.hit("recovery.post_classify")
    if decision is None and _rolled_forward(store, intent, tables):
        decision = "published"
    if decision is None:
        reason = "the writer was interrupted before its operation was complete"
        abort = Abort(intent.writer_kind, "recovery", reason, intent.rollback_commit_id)
        decision = fence.settle(store, intent.branch, intent.operation_id, abort)
        failpoints.hit("recovery.post_marker")
    if decision == "published":
        return _finish_forward(store, intent)
    try:
        return _roll_back(store, intent, tables, eager_restore=eager_restore)
    except BranchNotFound:
        return _discard_orphan(store, intent)  # deleted since it was looked at


def _rolled_forward(store: Store, intent: Sidecar, tables: list[TableOutcome]) -> bool:
    """Publish the operation as its writer would have; False when it is incomplete or no longer fits."""
    if not (tables or intent.writer_kind == "SchemaApply" or not intent.delta.is_empty):
        return False  # a pause for maintenance: there was nothing to publish
    if not all(table.complete for table in tables) or not schema_recovery.can_roll_forward(store, intent):
        return False
    versions = [version_row(store, table.plan.table_key, _pinned(table)) for table in tables]
    failpoints.hit("recovery.before_roll_forward_publish")
    try:
        publication = publication_of(intent, tuple(versions))
        publish(store, replace(publication, note=replace(publication.note, recovered_by=RECOVERY_ACTOR)))
    except (ReadSetChanged, ExpectedVersionMismatch, OperationAborted, RowLevelCasContention, BranchNotFound):
        return False
    return True


def _pinned(table: TableOutcome) -> TableHandle:
    return open_table(table.address, table.plan.post_commit_pin)


def _finish_forward(store: Store, intent: Sidecar) -> Recovered:
    schema_recovery.after_publish(store, intent)
    outcomes = [TableRecovery(plan.table_key, plan.expected_version, plan.post_commit_pin) for plan in intent.tables]
    return _conclude(store, intent, "RolledForward", intent.commit_id, outcomes)


def _roll_back(store: Store, intent: Sidecar, tables: list[TableOutcome], *, eager_restore: bool) -> Recovered:
    outcomes = [
        TableRecovery(table.plan.table_key, table.newest.version, table.plan.expected_version)
        for table in tables
        if table.newest is not None and table.touched
    ]
    if intent.replayed_commit_id is None:
        restored = [_restored(store, intent, table) for table in tables] if eager_restore else []
        _publish_rollback(store, intent, [row for row in restored if row is not None])
    # A commit on top would part the two clones, and what was interrupted could not be repeated: the next writer buries.
    failpoints.hit("recovery.post_rollback_publish")
    schema_recovery.after_rollback(store, intent)
    return _conclude(store, intent, "RolledBack", intent.rollback_commit_id, outcomes)


@dataclass(frozen=True, slots=True)
class _Restored:
    """A table brought back to its published content at a newer version, and the version that content came from."""

    pin: int
    row: VersionRow


def _restored(store: Store, intent: Sidecar, table: TableOutcome) -> _Restored | None:
    """Bring a table's newest version back to its published content, to be published in turn."""
    if table.newest is None or table.plan.create:
        return None
    state = manifest.load(store.root, intent.branch).state
    entry = state.snapshot.entries.get(table.plan.table_key)
    owned = entry is not None and (entry.location, entry.ref) == (table.address.location, table.address.ref)
    pin = entry.version if entry is not None and owned else _fork_point(table)
    if pin is None:
        return None
    try:
        handle = fence.base(
            store,
            state,
            table.address,
            pin,
            operation_id=intent.rollback_commit_id,
            recover=lambda other: _recover_nested(store, other),
        )
    except (RecoveryRequired, Conflict, ReadSetChanged):
        return None  # another writer is active there, or the drift is not ours: the next writer deals with it
    failpoints.hit("recovery.post_table_restore")
    if not owned or handle.version == pin:
        return None
    return _Restored(pin, version_row(store, table.plan.table_key, handle))


def _fork_point(table: TableOutcome) -> int | None:
    return None if table.plan.fork is None else table.plan.fork.source_version


def _recover_nested(store: Store, operation_id: str) -> None:
    recover(store, operation_id, gated=False)


def _publish_rollback(store: Store, intent: Sidecar, restored: list[_Restored]) -> None:
    """The recovery commit; published even when nothing moved, so that history and audit can be joined."""
    publication = Publication(
        branch=intent.branch,
        commit_id=intent.rollback_commit_id,
        created_at=now_micros(),
        token=None,
        identifier=intent.authority.branch_identifier if intent.branch is not None else None,
        actor_id=RECOVERY_ACTOR,
        note=Note("recovery", f"rolled back the interrupted {intent.note.kind or 'write'} {intent.operation_id}"),
    )
    for _ in range(_PUBLISH_ROUNDS):
        state = manifest.load(store.root, intent.branch).state
        # A version that was published meanwhile has overtaken the restored one; its table is left out.
        kept = [item for item in restored if state.current_version(item.row.table_key) == item.pin]
        expected = {item.row.table_key: item.pin for item in kept}
        try:
            publish(store, replace(publication, versions=tuple(item.row for item in kept), expected=expected))
            return
        except (ExpectedVersionMismatch, RowLevelCasContention):
            continue
    raise RecoveryRequired(intent.operation_id, "the manifest stayed contended while the rollback was being recorded")


def _discard_orphan(store: Store, intent: Sidecar) -> Recovered:
    _publish_rollback(store, replace(intent, branch=None), [])
    return _conclude(store, intent, "OrphanedBranchDiscarded", intent.rollback_commit_id, [])


def _conclude(
    store: Store, intent: Sidecar, kind: RecoveryKind, commit_id: str, outcomes: list[TableRecovery]
) -> Recovered:
    failpoints.hit("recovery.record_audit")
    audit.record(
        store.root,
        graph_commit_id=commit_id,
        kind=kind,
        actor=intent.actor_id,
        operation_id=intent.operation_id,
        writer_kind=intent.writer_kind,
        outcomes=outcomes,
    )
    sidecar.remove(store.objects, intent.operation_id)
    return Recovered(intent.operation_id, kind)
