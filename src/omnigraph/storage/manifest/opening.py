"""Opening a graph: stamp first, then recovery (read-write only), then the schema contract the manifest accepts."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from omnigraph.errors import Conflict, NotFound, RecoveryRequired, StorageError
from omnigraph.storage.base.layout import RECOVERY_DIR, Root
from omnigraph.storage.base.objects import Objects, prove_create_if_absent
from omnigraph.storage.base.store import Store
from omnigraph.storage.lance import tables
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.manifest import Loaded
from omnigraph.storage.manifest.rows import SchemaRow
from omnigraph.storage.manifest.schema_files import SchemaContract, SchemaHashes, resolve_schema, verify_contract

_RACE_ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class Opened:
    """A graph bound to main: the state it was opened at and the schema that this state accepts."""

    store: Store
    loaded: Loaded
    contract: SchemaContract
    read_only: bool


def open_read_write(store: Store, hashes: SchemaHashes, sweep: Callable[[], object]) -> Opened:
    """Open for writing; `sweep` finishes or undoes what interrupted writers left, under gates of its own."""
    _load_main(store.root)
    prove_create_if_absent(store.objects)
    sweep()
    with store.gates.schema.exclusive():
        return _bind(store, hashes, read_only=False)


def open_read_only(store: Store, hashes: SchemaHashes) -> Opened:
    """Open without a single write; interrupted operations stay as they are, and stay invisible."""
    with store.gates.schema.shared():
        return _bind(store, hashes, read_only=True)


def _bind(store: Store, hashes: SchemaHashes, *, read_only: bool) -> Opened:
    loaded = _load_main(store.root)
    for _ in range(_RACE_ATTEMPTS):
        try:
            contract = _accepted_contract(store.objects, loaded, hashes, promote=not read_only)
            return Opened(store, loaded, contract, read_only)
        except (Conflict, NotFound, RecoveryRequired):
            # A schema change in another process moves the manifest and the files one after the other.
            fresh = _load_main(store.root)
            if fresh.state.schema == loaded.state.schema:
                raise
            loaded = fresh
    raise Conflict("the schema kept changing while the graph was being opened; try again")


def _load_main(root: Root) -> Loaded:
    try:
        return manifest.load(root)
    except StorageError as error:
        # A manifest that is there but lacks a file is damage; saying "create it" would invite worse.
        if error.kind == "NotFound" and not tables.dataset_exists(root.manifest()):
            raise NotFound(f"'{root.uri}' is not a graph; create it with init") from error
        raise


def _accepted_contract(objects: Objects, loaded: Loaded, hashes: SchemaHashes, *, promote: bool) -> SchemaContract:
    accepted: SchemaRow | None = loaded.state.schema
    if accepted is None:
        raise Conflict("the manifest names no accepted schema; its graph_schema row is missing")
    contract = resolve_schema(objects, accepted, promote=promote, pending_apply=lambda: _pending_schema_apply(objects))
    verify_contract(contract, accepted, loaded.state.snapshot, hashes)
    return contract


def _pending_schema_apply(objects: Objects) -> str | None:
    """The operation of a change of main's schema that has a sidecar; unreadable sidecars are the sweep's business."""
    for name in sorted(objects.list_dir(RECOVERY_DIR)):
        text = objects.read_if_exists(f"{RECOVERY_DIR}/{name}") if name.endswith(".json") else None
        try:
            intent = json.loads(text or "null")
        except ValueError:
            continue
        if isinstance(intent, dict) and intent.get("branch") is None and _changes_schema(intent):
            return name.removesuffix(".json")
    return None


def _changes_schema(intent: dict[str, Any]) -> bool:
    delta = intent.get("manifest_delta")
    brings_one = isinstance(delta, dict) and delta.get("target_schema") is not None
    return intent.get("writer_kind") == "SchemaApply" or brings_one
