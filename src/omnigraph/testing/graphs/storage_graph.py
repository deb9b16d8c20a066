"""The smallest real graph below the compiler: two types, hand-written rows, a one-line schema language."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence

import pyarrow as pa

from omnigraph.errors import BadRequest, RowLevelCasContention
from omnigraph.ids import new_ulid, now_micros
from omnigraph.storage.base.layout import Address, Root
from omnigraph.storage.base.objects import open_objects
from omnigraph.storage.base.ref_names import new_ref
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.columns import key_field
from omnigraph.storage.lance.version_files import version_evidence
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.branch_refs import live_refs, require_ref
from omnigraph.storage.manifest.initialize import NewGraph, NewTable, initialize
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.rows import BranchRow, CommitRow, HeadRow, ManifestRow, SchemaRow, VersionRow
from omnigraph.storage.manifest.schema_files import SchemaContract, SchemaHashes
from omnigraph.storage.manifest.snapshot import TableEntry
from omnigraph.testing.graphs import row_steps

SOURCE = "node Person\nedge Knows\n"
_DOMAIN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
_PROPERTY = {"omnigraph.stable_property_id": "9"}

NODE_SCHEMA = pa.schema([key_field(), pa.field("age", pa.int64(), metadata=_PROPERTY)])
EDGE_SCHEMA = pa.schema(
    [
        key_field(),
        pa.field("src", pa.utf8(), nullable=False),
        pa.field("dst", pa.utf8(), nullable=False),
        pa.field("since", pa.int64(), metadata=_PROPERTY),
    ]
)


def new_graph(source: str = SOURCE) -> NewGraph:
    """What a compiler would hand over for a source of lines `node <Type>` and `edge <Type>`; `//` starts a comment."""
    contract = contract_of(source)
    declared = [
        NewTable(key, NODE_SCHEMA if key.startswith("node:") else EDGE_SCHEMA, type_id, type_id + 1)
        for key, type_id in _types(source)
    ]
    return NewGraph(source, contract.ir_json, contract.state, declared)


def contract_of(source: str) -> SchemaContract:
    """The three schema files for a source."""
    ir = {
        section: [
            {"name": key.removeprefix(kind), "type_id": type_id, "table_incarnation_id": type_id + 1}
            for key, type_id in _types(source)
            if key.startswith(kind)
        ]
        for section, kind in (("nodes", "node:"), ("edges", "edge:"))
    }
    ir_json = json.dumps(ir, indent=2)
    state = SchemaRow(HASHES.shape_of_source(source), HASHES.hash_of_ir(ir_json), _DOMAIN)
    return SchemaContract(source, ir_json, state)


def create_graph(root: Root, source: str = SOURCE, *, force: bool = False) -> str:
    """Initialize the graph at a root; returns its first commit."""
    return initialize(root, open_objects(root), new_graph(source), force=force)


def people(**ages: int | None) -> pa.Table:
    """Rows of node:Person, one per keyword."""
    return pa.table({"id": list(ages), "age": pa.array(ages.values(), pa.int64())}, schema=NODE_SCHEMA)


def entry_of(root: Root, table_key: str, branch: str | None = None) -> TableEntry:
    """A type's entry in the newest snapshot."""
    return manifest.load(root, branch).state.snapshot.entry(table_key)


def write_table(address: Address, rows: pa.Table, *, base: int | None = None) -> VersionRow:
    """Upsert rows on a version of a table and give the row that would publish the result under node:Person."""
    outcome = tables.commit(row_steps.stage_upsert(tables.open_table(address, base), rows))
    assert isinstance(outcome, tables.Landed), outcome
    return version_row("node:Person", address, outcome.version)


def version_row(table_key: str, address: Address, version: int) -> VersionRow:
    """The row that publishes a version of a dataset."""
    evidence = version_evidence(open_objects(address.root), address, version)
    return VersionRow(table_key, version, address.ref, tables.open_table(address, version).count_rows(), evidence)


def publish(
    root: Root,
    rows: Sequence[ManifestRow] | Callable[[ManifestState], Sequence[ManifestRow]] = (),
    *,
    branch: str | None = None,
    commit_id: str | None = None,
    actor: str | None = None,
    attempts: int = 8,
) -> ManifestState:
    """Publish rows as one graph commit on the newest head, retrying when somebody else was first."""
    for _ in range(attempts):
        loaded = manifest.load(root, branch)
        state = loaded.state
        content = rows(state) if callable(rows) else rows
        head, commit = state.effective_head, commit_id or new_ulid()
        lineage = CommitRow(commit, state.version + 1, branch, now_micros(), head, None, actor)
        batch: list[ManifestRow] = [*content, lineage, HeadRow(branch, commit, head)]
        outcome = manifest.publish_rows(loaded, batch)
        if isinstance(outcome, tables.Landed):
            return manifest.advance(loaded, batch, outcome)
        if isinstance(outcome, tables.Unknown):
            raise outcome.cause
    raise RowLevelCasContention(attempts)


def create_branch(root: Root, name: str, source: str | None = None) -> BranchRow:
    """A graph branch made by hand: the ref of the manifest and its row, without the control protocol."""
    captured = manifest.load(root, source)
    version, parent = captured.state.version, captured.handle.address.ref
    trunk = tables.open_table(root.manifest(), control=True)
    made = new_ref(name, epoch=len(live_refs(root)) + 1, parent=parent, version=version)
    tables.create_ref(trunk, made, source=parent, version=version)
    ref = require_ref(root, name)
    row = BranchRow(name, ref.identifier, source, version, now_micros())
    outcome = manifest.publish_rows(manifest.load(root, name), [row])
    assert isinstance(outcome, tables.Landed), outcome
    return row


def _types(source: str) -> list[tuple[str, int]]:
    lines = (line.split("//")[0].split() for line in source.splitlines())
    return [(f"{kind}:{name}", 10 * number) for number, (kind, name) in enumerate(filter(None, lines), start=1)]


def _hash(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _shape_of(source: str) -> str:
    try:
        return _hash("\n".join(sorted(key for key, _ in _types(source))))
    except ValueError as error:
        raise BadRequest(f"not a schema: {source!r}") from error


HASHES = SchemaHashes(_shape_of, lambda text: _hash(json.dumps(json.loads(text), separators=(",", ":"))))
