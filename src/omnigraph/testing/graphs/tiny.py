"""A graph small enough for protocol tests: three hand-made tables, no schema compiler involved."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa

from omnigraph.errors import StorageError
from omnigraph.ids import new_ulid, now_micros
from omnigraph.settings import DEFAULTS, Settings
from omnigraph.storage.base.layout import Root, normalize_root, table_location
from omnigraph.storage.base.store import Store, store_for
from omnigraph.storage.intent import sidecar
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.intent.writeset import Delete, KnownUpdate, StrictInsert, TableWrite, Upsert, WriteSet
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.columns import key_field
from omnigraph.storage.lance.tables import Landed
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.rows import CommitRow, ControlRow, HeadRow, ManifestRow, SchemaRow, TableRow
from omnigraph.storage.manifest.schema_files import SOURCE
from omnigraph.storage.manifest.snapshot import TableIdentity
from omnigraph.storage.protocol.commit import Committed, Prepare, commit
from omnigraph.storage.protocol.recovery import version_row

A, B, K = "node:A", "node:B", "edge:K"
TABLES = (A, B, K)
NODE_SCHEMA = pa.schema([key_field(), pa.field("op", pa.utf8()), pa.field("value", pa.int64())])
# Processes in tests are killed and known to be dead, so no lease needs to run out, however slow the machine is.
LONG_LEASES = Settings(lease_ttl_ms=600_000, lease_skew_ms=0, writer_wait_ms=60_000)


def create_tiny(root: Root | str | os.PathLike[str], settings: Settings = DEFAULTS) -> Store:
    """A new graph with empty tables A, B and K; the manifest's first commit is its genesis."""
    store = store_for(root, settings)
    store.objects.write(SOURCE, "node A\nnode B\nedge K\n")  # an object store makes the bucket with its first object
    genesis, rows = new_ulid(), list[ManifestRow]()
    for number, key in enumerate(TABLES, start=1):
        address = store.root.table(table_location(key))
        outcome = tables.commit(tables.stage_create(address, NODE_SCHEMA))
        if not isinstance(outcome, Landed):
            raise StorageError(f"{address.uri} could not be created: {outcome}")
        rows.append(TableRow(key, address.location, TableIdentity(number, number)))
        rows.append(version_row(store, key, outcome.handle))
    rows.append(CommitRow(genesis, 1, None, now_micros()))
    rows.append(HeadRow(None, genesis))
    rows.append(SchemaRow("sha256:shape", "sha256:ir", new_ulid()))
    rows.append(ControlRow())
    outcome = tables.commit(manifest.stage_genesis(store.root, rows))
    if not isinstance(outcome, Landed):
        raise StorageError(f"{store.root.uri} could not be created: {outcome}")
    return store


def open_tiny(root: Root | str | os.PathLike[str], settings: Settings = DEFAULTS) -> Store:
    """The store of a graph made by `create_tiny`, without any recovery."""
    return store_for(root if isinstance(root, Root) else normalize_root(root), settings)


def rows_of(ids: Iterable[str], *, op: str = "", value: int = 0) -> pa.Table:
    """Rows for any of the three tables."""
    names = list(ids)
    return pa.table([names, [op] * len(names), pa.array([value] * len(names), pa.int64())], schema=NODE_SCHEMA)


def inserting(ids: Sequence[str], *keys: str, op: str = "", value: int = 0, actor: str | None = None) -> Prepare:
    """A prepare step that strictly inserts the same ids into each table."""
    return _preparing(keys, StrictInsert(rows_of(ids, op=op, value=value)), actor=actor)


def upserting(ids: Sequence[str], *keys: str, op: str = "", value: int = 0, actor: str | None = None) -> Prepare:
    """A prepare step that upserts the same ids into each table."""
    return _preparing(keys, Upsert(rows_of(ids, op=op, value=value)), actor=actor)


def updating(ids: Sequence[str], *keys: str, op: str = "", value: int = 0, actor: str | None = None) -> Prepare:
    """A prepare step that replaces existing rows."""
    return _preparing(keys, KnownUpdate(rows_of(ids, op=op, value=value)), actor=actor)


def deleting(ids: Sequence[str], *keys: str, actor: str | None = None) -> Prepare:
    """A prepare step that deletes the same ids from each table."""
    return _preparing(keys, Delete(pa.array(ids, pa.utf8())), actor=actor)


def write(store: Store, prepare: Prepare, branch: str | None = None) -> Committed:
    """Run one prepared write through the protocol."""
    return commit(store, branch, prepare)


def end_lease(store: Store) -> None:
    """Make the claims of the operations that are pending look as old as if their writers had been silent for ever."""
    for operation_id in sidecar.pending(store.objects):
        found = sidecar.load(store.objects, operation_id)
        if found is not None:
            sidecar.renew(store.objects, sidecar.with_lease(found, replace(found.lease, heartbeat_at=0)))


def end_control(store: Store) -> None:
    """The same for the claim on graph control."""
    while True:
        loaded = manifest.load(store.root)
        row = loaded.state.control
        assert row is not None
        assert row.holder is not None, "control is free"
        old = replace(row, epoch=row.epoch + 1, holder=replace(row.holder, heartbeat_at=0))
        if isinstance(manifest.publish_rows(loaded, [old]), Landed):
            return


def contents(store: Store, key: str, branch: str | None = None) -> dict[str, tuple[str, int]]:
    """id → (op, value) of a table as published; a duplicate id is an error."""
    entry = manifest.load(store.root, branch).state.snapshot.entry(key)
    found = tables.open_table(entry.address(store.root), entry.version).scan().to_pylist()
    if len({row["id"] for row in found}) != len(found):
        raise AssertionError(f"{key} holds a duplicate id")
    return {row["id"]: (row["op"], row["value"]) for row in found}


def _preparing(
    keys: tuple[str, ...],
    step: StrictInsert | Upsert | KnownUpdate | Delete,
    *,
    actor: str | None,
) -> Prepare:
    def prepare(_txn: Txn) -> WriteSet:
        touched = tuple(TableWrite(key, (step,)) for key in keys or TABLES)
        return WriteSet(writer_kind="Mutation", tables=touched, actor_id=actor, reads={})

    return prepare
