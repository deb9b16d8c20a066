"""The schema side of a change and of its recovery: staged files, the schema lock and graph control."""

from __future__ import annotations

from omnigraph.storage.base.layout import MANIFEST, SCHEMA_LOCK_REF, ref_file
from omnigraph.storage.base.store import Store
from omnigraph.storage.intent import control
from omnigraph.storage.intent.capture import control_is_held
from omnigraph.storage.intent.sidecar import Sidecar
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.refs import read_ref
from omnigraph.storage.manifest import manifest, schema_files
from omnigraph.storage.manifest.schema_archive import find_schema


def lock(store: Store) -> None:
    """Put the schema lock up; called under graph control, so a lock that is there already has no owner."""
    drop_lock(store)
    trunk = tables.open_table(store.root.manifest(), control=True)
    tables.create_ref(trunk, SCHEMA_LOCK_REF, source=None, version=trunk.version)


def drop_lock(store: Store) -> None:
    """Take the schema lock down; called under graph control."""
    store.objects.delete(f"{MANIFEST}/{ref_file(SCHEMA_LOCK_REF)}")
    store.objects.delete_prefix(f"{MANIFEST}/tree/{SCHEMA_LOCK_REF}")


def clear_stale_lock(store: Store) -> None:
    """Remove the lock, and release the control, of a schema change that died before it left a sidecar."""
    if read_ref(store.root.manifest(), SCHEMA_LOCK_REF) is None:
        return
    row = manifest.load(store.root).state.control
    if row is not None and row.holder is not None and control_is_held(store, row.holder):
        return
    with control.hold_control(store, "schema_apply"):
        drop_lock(store)


def can_roll_forward(store: Store, intent: Sidecar) -> bool:
    """Whether the target schema of an operation is completely stored; true for operations without one."""
    target = intent.delta.target_schema
    if target is None:
        return True
    if intent.branch is not None:
        return find_schema(store.objects, target.schema_ir_hash) is not None
    return schema_files.staged_hash(store.objects) == target.schema_ir_hash


def after_publish(store: Store, intent: Sidecar) -> None:
    """Make the published schema's files live, then let other control operations in."""
    if not intent.changes_schema:
        return
    if _is_staged(store, intent):
        schema_files.promote_staging(store.objects)
    unlock(store, intent.operation_id)


def after_rollback(store: Store, intent: Sidecar) -> None:
    """Forget the target schema, then let other control operations in."""
    if not intent.changes_schema:
        return
    if _is_staged(store, intent):
        schema_files.drop_staging(store.objects)
    unlock(store, intent.operation_id)


def _is_staged(store: Store, intent: Sidecar) -> bool:
    """Whether the staged files are those of this operation; they are main's, other branches have none."""
    target = intent.delta.target_schema
    if target is None or intent.branch is not None:
        return False
    return schema_files.staged_hash(store.objects) == target.schema_ir_hash


def unlock(store: Store, operation_id: str) -> None:
    """Remove the schema lock and release control, unless another operation has taken control meanwhile."""
    if not control.holds(store, operation_id):
        return
    drop_lock(store)
    control.release(store, operation_id)
