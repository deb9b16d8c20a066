"""Accepted schemas of one graph, read once per hash: what the manifest accepts decides which one applies."""

from __future__ import annotations

import json
import threading

from omnigraph.compiler.catalog import codec
from omnigraph.compiler.catalog.accepted import Accepted, decode_accepted, draft_of
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.errors import Conflict, NotFound, RecoveryRequired
from omnigraph.storage.base.store import Store
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.rows import SchemaRow
from omnigraph.storage.manifest.schema_files import SchemaContract, SchemaHashes, resolve_schema
from omnigraph.storage.protocol import sidecar

_READ_ATTEMPTS = 8

HASHES = SchemaHashes(
    shape_of_source=lambda text: codec.shape_hash(draft_of(text, name="_schema.pg").shape),
    hash_of_ir=lambda text: codec.ir_hash(json.loads(text)),
)


class Schemas:
    """The schemas this handle has met; a schema never changes under its hash."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: dict[str, Accepted] = {}
        self._latest: Accepted | None = None

    @property
    def latest(self) -> Catalog:
        """The catalog met last; it may be behind the graph, so only a first look may trust it."""
        assert self._latest is not None, "opening a graph adopts its schema"
        return self._latest.catalog

    def of(self, state: ManifestState) -> Accepted:
        """The schema that a manifest state accepts; the files are read only when it is a new one."""
        row = state.schema
        if row is None:
            raise Conflict("the manifest names no accepted schema; its graph_schema row is missing")
        with self._lock:
            known = self._known.get(row.schema_ir_hash)
        return known if known is not None else self._read(row)

    def adopt(self, contract: SchemaContract) -> Accepted:
        """Remember a contract that opening the graph has verified."""
        accepted = decode_accepted(contract.ir_json, contract.source)
        with self._lock:
            self._latest = self._known.setdefault(contract.state.schema_ir_hash, accepted)
            return self._latest

    def _read(self, row: SchemaRow) -> Accepted:
        for attempt in range(_READ_ATTEMPTS):
            try:
                contract = resolve_schema(
                    self._store.objects, row, promote=False, pending_apply=lambda: pending_schema_apply(self._store)
                )
                accepted = decode_accepted(contract.ir_json, contract.source)
                if accepted.ir_hash == row.schema_ir_hash:
                    return self.adopt(contract)
            except (Conflict, NotFound, RecoveryRequired):
                # A promotion replaces three files one after the other; a reader in between looks again.
                if attempt == _READ_ATTEMPTS - 1:
                    raise
        raise Conflict("the schema files kept changing while they were read; try again")


def pending_schema_apply(store: Store) -> str | None:
    """The operation id of a schema change whose sidecar exists."""
    for operation_id in sidecar.pending(store.objects):
        intent = sidecar.load(store.objects, operation_id)
        if intent is not None and intent.writer_kind == "SchemaApply":
            return operation_id
    return None
