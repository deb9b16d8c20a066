"""The schema side of recovery: staged files, the schema lock and graph control of an interrupted schema change."""

from __future__ import annotations

from omnigraph.storage import control, schema_files
from omnigraph.storage.layout import MANIFEST, SCHEMA_LOCK_REF, ref_file
from omnigraph.storage.sidecar import Sidecar
from omnigraph.storage.store import Store


def can_roll_forward(store: Store, intent: Sidecar) -> bool:
    """Whether the target schema of an operation is completely staged; true for operations without one."""
    target = intent.delta.target_schema
    return target is None or schema_files.staged_hash(store.objects) == target.schema_ir_hash


def after_publish(store: Store, intent: Sidecar) -> None:
    """Make the published schema's files live, then let other control operations in."""
    if intent.writer_kind != "SchemaApply":
        return
    target = intent.delta.target_schema
    if target is not None and schema_files.staged_hash(store.objects) == target.schema_ir_hash:
        schema_files.promote_staging(store.objects)
    unlock(store, intent.operation_id)


def after_rollback(store: Store, intent: Sidecar) -> None:
    """Forget the target schema, then let other control operations in."""
    if intent.writer_kind != "SchemaApply":
        return
    target = intent.delta.target_schema
    if target is not None and schema_files.staged_hash(store.objects) == target.schema_ir_hash:
        schema_files.drop_staging(store.objects)
    unlock(store, intent.operation_id)


def unlock(store: Store, operation_id: str) -> None:
    """Remove the schema lock and release control, unless another operation has taken control meanwhile."""
    if not control.holds(store, operation_id):
        return
    store.objects.delete(f"{MANIFEST}/{ref_file(SCHEMA_LOCK_REF)}")
    store.objects.delete_prefix(f"{MANIFEST}/tree/{SCHEMA_LOCK_REF}")
    control.release(store, operation_id)
