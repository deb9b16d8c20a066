"""Accepted schemas of one graph, read once per hash: what the manifest accepts decides which one applies."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable

from omnigraph.compiler.catalog import codec
from omnigraph.compiler.catalog.accepted import Accepted, decode_accepted, draft_of
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.diagnostics import ParseError
from omnigraph.errors import Conflict, Corrupt, HistoricalVersionReclaimed, NotFound, RecoveryRequired
from omnigraph.storage.base.store import Store
from omnigraph.storage.intent import sidecar
from omnigraph.storage.lance.version_files import has_version_file
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.rows import SchemaRow
from omnigraph.storage.manifest.schema_archive import find_schema
from omnigraph.storage.manifest.schema_files import SOURCE, SchemaContract, SchemaHashes, resolve_schema
from omnigraph.storage.manifest.snapshot import TableEntry

_READ_ATTEMPTS = 8


def _shape_of_source(text: str) -> str:
    try:
        return codec.shape_hash(draft_of(text, name=SOURCE).shape)
    except ParseError as error:
        span = error.diagnostic.span
        if span is None or span.end < len(text):
            raise
        message = f"{SOURCE} is damaged: it ends after {len(text)} characters, in the middle of a declaration"
        raise Corrupt(f"{message}; restore it from a backup") from error


HASHES = SchemaHashes(
    shape_of_source=_shape_of_source,
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
        """The schema that a manifest state accepts, of now or of then; files are read only when it is a new one."""
        row = state.schema
        if row is None:
            raise Conflict("the manifest names no accepted schema; its graph_schema row is missing")
        known = self.known(row)
        return known if known is not None else self._read(row, state)

    def known(self, row: SchemaRow) -> Accepted | None:
        """The schema of a row of the manifest, if it was read before."""
        with self._lock:
            return self._known.get(row.schema_ir_hash)

    def newest(self, state: ManifestState) -> Accepted:
        """The same for the newest state of a branch; from now on a first look trusts it."""
        accepted = self.of(state)
        with self._lock:
            self._latest = accepted
        return accepted

    def forget(self, hashes: Iterable[str]) -> None:
        """Let go of schemas that a cleanup removed, so that this handle knows no more than another one."""
        with self._lock:
            for each in hashes:
                self._known.pop(each, None)

    def adopt(self, contract: SchemaContract) -> Accepted:
        """Remember a contract that opening the graph, or changing its schema, has verified."""
        accepted = self._remember(contract.state, decode_accepted(contract.ir_json, contract.source))
        with self._lock:
            self._latest = accepted
        return accepted

    def _remember(self, row: SchemaRow, accepted: Accepted) -> Accepted:
        with self._lock:
            return self._known.setdefault(row.schema_ir_hash, accepted)

    def _read(self, row: SchemaRow, state: ManifestState) -> Accepted:
        kept = find_schema(self._store.objects, row.schema_ir_hash)
        if kept is not None:
            return self._verified(kept, row)
        for attempt in range(_READ_ATTEMPTS):
            try:
                contract = resolve_schema(
                    self._store.objects, row, promote=False, pending_apply=lambda: pending_schema_apply(self._store)
                )
                accepted = decode_accepted(contract.ir_json, contract.source)
                if accepted.ir_hash == row.schema_ir_hash:
                    return self._remember(row, accepted)
            except (Conflict, NotFound, RecoveryRequired):
                # A promotion replaces three files one after the other; a reader in between looks again.
                if attempt == _READ_ATTEMPTS - 1:
                    self._refuse_old(row, state)
                    raise
        raise Conflict("the schema files kept changing while they were read; try again")

    def _refuse_old(self, row: SchemaRow, state: ManifestState) -> None:
        """Raise when a schema that is no longer the accepted one is asked for and was not kept."""
        if manifest.load(self._store.root).state.schema == row:
            return
        # Cleanup removes a schema once nothing is left that is read with it.
        gone = next(iter(state.snapshot), None)
        if gone is not None and not any(self._is_there(entry) for entry in state.snapshot):
            raise HistoricalVersionReclaimed(gone.version, table=gone.table_key)
        raise NotFound(
            f"the schema {row.schema_ir_hash} of this moment is not kept, so it cannot be read; it was replaced by a "
            "release that kept only the newest one, or its file was lost: restore it from a backup"
        )

    def _is_there(self, entry: TableEntry) -> bool:
        return has_version_file(self._store.objects, entry.address(self._store.root), entry.version)

    def _verified(self, kept: SchemaContract, row: SchemaRow) -> Accepted:
        damaged = Corrupt(f"the kept schema {row.schema_ir_hash} was changed; restore its file from a backup")
        try:
            accepted = decode_accepted(kept.ir_json, kept.source)
        except Conflict as error:
            raise damaged from error
        if kept.state != row or accepted.ir_hash != row.schema_ir_hash:
            raise damaged
        return self._remember(row, accepted)


def pending_schema_apply(store: Store) -> str | None:
    """The operation id of a change of main's schema whose sidecar exists."""
    for operation_id in sidecar.pending(store.objects):
        intent = sidecar.load(store.objects, operation_id)
        if intent is not None and intent.changes_schema and intent.branch is None:
            return operation_id
    return None
