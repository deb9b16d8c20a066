"""A schema change killed at each step of its commit is finished or undone as a whole: tables, manifest, files, lock."""

from __future__ import annotations

import signal

import pyarrow as pa
import pytest

from omnigraph.ids import new_ulid
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.layout import MANIFEST, SCHEMA_LOCK_REF, table_location
from omnigraph.storage.base.store import Store, store_for
from omnigraph.storage.intent import control, sidecar
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.intent.writeset import Create, ManifestDelta, Overwrite, TableWrite, WriteSet
from omnigraph.storage.lance import tables
from omnigraph.storage.manifest import manifest, schema_files
from omnigraph.storage.manifest.branch_refs import live_refs
from omnigraph.storage.manifest.rows import SchemaRow, TableRow
from omnigraph.storage.manifest.schema_files import SchemaContract
from omnigraph.storage.manifest.snapshot import TableIdentity
from omnigraph.storage.protocol import audit, recovery
from omnigraph.storage.protocol.attempt import Hooks
from omnigraph.storage.protocol.commit import commit
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.crash.processes import children
from omnigraph.testing.graphs.tiny import LONG_LEASES, NODE_SCHEMA, A, B, contents, inserting, write

NEW = "node:New"
TARGET = SchemaRow("sha256:shape2", "sha256:ir2", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
WIDER = NODE_SCHEMA.append(pa.field("extra", pa.utf8()))


def _change(root: str, spec: str) -> None:
    store, operation = store_for(root, LONG_LEASES), new_ulid()
    with failpoints.armed(spec), control.hold_control(store, "schema_apply", operation_id=operation):
        tables.create_ref(tables.open_table(store.root.manifest()), SCHEMA_LOCK_REF, source=None, version=1)

        def stage_files() -> None:
            failpoints.hit("schema_apply.before_staging_write")
            schema_files.write_staging(store.objects, SchemaContract("node New", '{"ir": 2}', TARGET))
            failpoints.hit("schema_apply.after_staging_write")

        def promote() -> None:
            failpoints.hit("schema_apply.after_publish")
            schema_files.promote_staging(store.objects)

        hooks = Hooks(operation_id=operation, before_publish=stage_files, after_publish=promote)
        commit(store, None, lambda txn: _write_set(store, txn), hooks=hooks)


def _write_set(store: Store, txn: Txn) -> WriteSet:
    entry = txn.snapshot.entry(A)
    old = tables.open_table(entry.address(store.root), entry.version).scan()
    widened = old.append_column(WIDER.field("extra"), pa.nulls(old.num_rows, pa.utf8())).cast(WIDER)
    location = table_location(NEW)
    return WriteSet(
        writer_kind="SchemaApply",
        tables=(
            TableWrite(A, (Overwrite(widened),)),
            TableWrite(NEW, (Create(NODE_SCHEMA),), location=location, expected=0),
        ),
        delta=ManifestDelta(registrations=(TableRow(NEW, location, TableIdentity(9, 9)),), target_schema=TARGET),
        actor_id="act-ana",
    )


def change(store: Store, spec: str = "") -> int | None:
    process = children().Process(target=_change, args=(store.root.uri, spec))
    process.start()
    process.join(60)
    return process.exitcode


def assert_changed(store: Store) -> None:
    state = manifest.load(store.root).state
    assert state.schema == TARGET
    assert set(contents(store, A)) == {"seed"}
    assert contents(store, NEW) == {}
    entry = state.snapshot.entry(A)
    assert "extra" in tables.open_table(entry.address(store.root), entry.version).schema.names
    assert schema_files.read_contract(store.objects).source == "node New"


def assert_unchanged(store: Store) -> None:
    state = manifest.load(store.root).state
    assert state.schema is not None
    assert state.schema.schema_ir_hash == "sha256:ir"
    assert NEW not in state.snapshot.entries
    entry = state.snapshot.entry(A)
    newest = tables.open_table(entry.address(store.root))
    assert (newest.version, "extra" in newest.schema.names) == (entry.version, False)


def assert_at_rest(store: Store) -> None:
    state = manifest.load(store.root).state
    assert state.control is not None
    assert state.control.holder is None
    assert SCHEMA_LOCK_REF not in live_refs(store.root)
    assert not store.objects.exists(f"{MANIFEST}/tree/{SCHEMA_LOCK_REF}")
    assert schema_files.staged_hash(store.objects) is None
    assert sidecar.pending(store.objects) == []
    assert violations(store) == []


def test_an_undisturbed_change_is_one_commit(store: Store) -> None:
    before = len(manifest.load(store.root).state.lineage)
    assert change(store) == 0
    assert_changed(store)
    assert len(manifest.load(store.root).state.lineage) == before + 1
    assert manifest.load(store.root).state.control.holder is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "point",
    ["mutation.post_sidecar_pre_fork", "mutation.post_table_commit", "schema_apply.before_staging_write"],
)
def test_a_change_killed_before_its_files_are_staged_is_undone(store: Store, point: str) -> None:
    assert change(store, f"{point}=kill@1") == -signal.SIGKILL
    assert [outcome.kind for outcome in recovery.sweep(store)] == ["RolledBack"]
    assert_unchanged(store)
    assert_at_rest(store)
    write(store, inserting(["later"], A, B))
    assert change(store, "mutation.post_effects_pre_publish=sleep:0.01") == 0


@pytest.mark.parametrize(
    "point",
    [
        "schema_apply.after_staging_write",
        "publish.ack_lost",
        "schema_apply.after_publish",
        "schema_apply.mid_promotion",
    ],
)
def test_a_change_killed_after_its_files_are_staged_is_finished(store: Store, point: str) -> None:
    assert change(store, f"{point}=kill@1") == -signal.SIGKILL
    assert [outcome.kind for outcome in recovery.sweep(store)] == ["RolledForward"]
    assert_changed(store)
    assert_at_rest(store)
    (record,) = audit.records(store.root)
    assert (record.writer_kind, record.actor) == ("SchemaApply", "act-ana")
    write(store, inserting(["later"], B, NEW))


def test_a_writer_resolves_a_dead_schema_change_before_it_writes(store: Store) -> None:
    assert change(store, "schema_apply.after_staging_write=kill") == -signal.SIGKILL
    write(store, inserting(["later"], B))
    assert_changed(store)
    assert_at_rest(store)
