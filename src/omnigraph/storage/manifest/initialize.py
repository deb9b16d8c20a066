"""Creating a graph: one owner, one commit point, and an answer even when an acknowledgement is lost."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.errors import (
    AlreadyInitialized,
    Conflict,
    InitializationClaimed,
    InitializationCommitted,
    InitializationIndeterminate,
    OmnigraphError,
    StorageError,
)
from omnigraph.ids import new_ulid, now_micros
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.base.layout import INIT_CLAIM, MANIFEST, TABLE_DIRS, Root, is_table_location, table_location
from omnigraph.storage.base.objects import Objects, prove_create_if_absent
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.version_files import version_evidence
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.note import Note
from omnigraph.storage.manifest.rows import CommitRow, ControlRow, HeadRow, ManifestRow, SchemaRow, TableRow, VersionRow
from omnigraph.storage.manifest.schema_files import FILES, SOURCE, STAGING, state_text, verify_tables
from omnigraph.storage.manifest.snapshot import TableIdentity
from omnigraph.storage.manifest.stamp import check_stamp

_log = logging.getLogger("omnigraph.storage")


@dataclass(frozen=True, slots=True)
class NewTable:
    """One type of a graph to be: its key, its Arrow schema and its identity."""

    table_key: str
    schema: pa.Schema
    stable_table_id: int
    table_incarnation_id: int

    @property
    def identity(self) -> TableIdentity:
        return TableIdentity(self.stable_table_id, self.table_incarnation_id)


@dataclass(frozen=True, slots=True)
class NewGraph:
    """Everything the compiler decided about a graph before the first byte is written."""

    source: str
    ir_json: str
    state: SchemaRow
    tables: Sequence[NewTable]


# What operating systems put into directories that are empty to their users.
_EMPTY_ENOUGH = frozenset({"lost+found", ".DS_Store"})


def initialize(
    root: Root,
    objects: Objects,
    graph: NewGraph,
    *,
    force: bool = False,
    actor_id: str | None = None,
    message: str | None = None,
) -> str:
    """Create the graph and return the id of its first commit; an existing graph, or anything else, is never touched.

    `force` accepts schema files that an earlier attempt left behind, but never an existing manifest.
    """
    _preflight(root, objects, force=force)
    prove_create_if_absent(objects)
    claim = json.dumps({"version": 1, "attempt_id": new_ulid()}, separators=(",", ":"))
    if not objects.write_if_absent(INIT_CLAIM, claim):
        raise InitializationClaimed(root.uri)
    locations = _write_schema(root, objects, graph, force=force)
    genesis = new_ulid()
    first = CommitRow(genesis, 1, None, now_micros(), actor_id=actor_id, note=Note("init", message))
    try:
        _create_datasets(root, objects, graph, locations, first)
    except Exception as error:
        _require_ours(root, genesis, error)
    _finish(root, objects, graph)
    return genesis


def _preflight(root: Root, objects: Objects, *, force: bool) -> None:
    names = (MANIFEST,) if force else (MANIFEST, *FILES)
    if any(objects.exists(name) for name in names):
        raise AlreadyInitialized(root.uri)
    foreign = sorted(_foreign(objects))
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise Conflict(
            f"'{root.uri}' is not empty: it contains '{foreign[0]}'{more}, which no graph has; "
            "create the graph in a new or empty directory"
        )


def _foreign(objects: Objects) -> Iterator[str]:
    """What lies in the root and cannot be from an earlier attempt to create a graph there."""
    for name in objects.list_entries(""):
        if name in TABLE_DIRS:
            places = (f"{name}/{inner}" for inner in objects.list_entries(name))
            yield from (place for place in places if not is_table_location(place))
        elif not (name.startswith("__") or name in _EMPTY_ENOUGH or name.removesuffix(STAGING) in FILES):
            yield name


def _write_schema(root: Root, objects: Objects, graph: NewGraph, *, force: bool) -> dict[str, str]:
    """Write the three files under the claim; on any failure remove what this attempt wrote, then the claim."""
    written: list[str] = []
    try:
        _preflight(root, objects, force=force)
        locations = _free_locations(objects, graph.tables)
        for name, text in zip(FILES, (graph.source, graph.ir_json, state_text(graph.state)), strict=True):
            if name == SOURCE and not force:
                if not objects.write_if_absent(name, text):
                    raise AlreadyInitialized(root.uri)
                written.append(name)
                hit("init.after_schema_pg_written")
                continue
            written.append(name)
            objects.write(name, text)
        hit("init.after_schema_contract_written")
        return locations
    except BaseException:
        _withdraw(objects, written)
        raise


def _withdraw(objects: Objects, written: list[str]) -> None:
    try:
        for name in written:
            hit("init.schema_cleanup_delete")
            objects.delete(name)
        objects.delete(INIT_CLAIM)
    except OmnigraphError as error:
        # A file that may still exist must stay claimed, or the next attempt would trust it.
        _log.warning("initialization could not be withdrawn completely, the claim stays: %s", error)


def _free_locations(objects: Objects, new_tables: Sequence[NewTable]) -> dict[str, str]:
    locations: dict[str, str] = {}
    taken: dict[str, str] = {}
    for table in new_tables:
        location = table_location(table.table_key, taken=taken, incarnation=table.table_incarnation_id)
        locations[table.table_key], taken[location] = location, table.table_key
        if objects.exists(location):
            raise Conflict(f"'{location}' is left from an interrupted initialization; delete it, then try again")
    return locations


def _create_datasets(
    root: Root, objects: Objects, graph: NewGraph, locations: dict[str, str], first: CommitRow
) -> None:
    rows: list[ManifestRow] = []
    for table in graph.tables:
        address = root.table(locations[table.table_key])
        _create(tables.stage_create(address, table.schema))
        hit("init.table_create_ack_lost")
        evidence = version_evidence(objects, address, 1)
        rows.append(TableRow(table.table_key, address.location, table.identity))
        rows.append(VersionRow(table.table_key, 1, None, 0, evidence))
    rows += [first, HeadRow(None, first.commit_id), graph.state, ControlRow()]
    _create(manifest.stage_genesis(root, rows))
    hit("init.manifest_create_ack_lost")


def _create(staged: tables.Staged) -> None:
    match tables.commit(staged):
        case tables.Landed(exact=True):
            return
        case tables.Unknown(cause):
            raise cause
        case outcome:
            raise StorageError(f"{staged.address.uri}: creation was refused ({outcome})", kind="Precondition")


def _require_ours(root: Root, genesis: str, error: Exception) -> None:
    """After a failure of unknown outcome: return when the manifest is provably this attempt's, raise otherwise."""
    try:
        hit("init.manifest_create_probe")
        handle = tables.open_table(root.manifest(), control=True)
        check_stamp(handle.schema, root.uri)
        state = manifest.load(root).state
        ids = state.lineage.table["commit_id"].to_pylist()
        ours = handle.version == 1 and ids == [genesis] and dict(state.heads) == {"main": genesis}
        probe = "the manifest belongs to another initialization"
    except OmnigraphError as failure:
        ours, probe = False, str(failure)
    if not ours:
        raise InitializationIndeterminate(root.uri, error, probe) from error


def _finish(root: Root, objects: Objects, graph: NewGraph) -> None:
    try:
        hit("init.post_manifest_create")
        verify_tables(graph.ir_json, manifest.load(root).state.snapshot)
    except Exception as error:
        raise InitializationCommitted(root.uri, error) from error
    try:
        objects.delete(INIT_CLAIM)
    except OmnigraphError as error:
        _log.warning("'%s' is initialized, but its claim could not be deleted: %s", root.uri, error)
