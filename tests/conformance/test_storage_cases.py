"""The numbered cases of the storage specification that hold below the compiler and the engine."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from omnigraph.errors import (
    AlreadyInitialized,
    BadRequest,
    Conflict,
    Corrupt,
    FormatRefused,
    HistoricalVersionReclaimed,
    InitializationClaimed,
    InitializationCommitted,
    InitializationIndeterminate,
    NotFound,
    OmnigraphError,
    RecoveryRequired,
    StorageError,
)
from omnigraph.ids import is_ulid, new_ulid, now_micros
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.layout import INIT_CLAIM, MANIFEST, RECOVERY_DIR, Root, normalize_root, table_location
from omnigraph.storage.base.objects import Objects, open_objects
from omnigraph.storage.base.store import store_for
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.evidence import VersionEvidence
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.decode import decode_state
from omnigraph.storage.manifest.manifest import Loaded, ManifestState
from omnigraph.storage.manifest.opening import Opened, open_read_only, open_read_write
from omnigraph.storage.manifest.row_codec import encode_rows
from omnigraph.storage.manifest.rows import (
    MANIFEST_SCHEMA,
    AbortRow,
    CommitRow,
    HeadRow,
    ManifestRow,
    TableRow,
    TombstoneRow,
    VersionRow,
)
from omnigraph.storage.manifest.scan import SCAN_COLUMNS
from omnigraph.storage.manifest.schema_files import FILES, IR, SOURCE, STAGING, STATE, promote_staging, write_staging
from omnigraph.storage.manifest.snapshot import TableIdentity
from omnigraph.storage.manifest.stamp import STAMP_KEY
from omnigraph.storage.protocol import audit, recovery
from omnigraph.testing.graphs import row_steps, storage_graph
from omnigraph.testing.graphs.storage_graph import (
    HASHES,
    contract_of,
    create_branch,
    create_graph,
    entry_of,
    people,
    publish,
    version_row,
    write_table,
)

PERSON, KNOWS = "node:Person", "edge:Knows"
EVIDENCE = VersionEvidence("/g/_versions/1.manifest", 100)


def case(number: str) -> pytest.MarkDecorator:
    """Puts the number of a case of the specification into the test's id."""
    return pytest.mark.parametrize("case", [pytest.param(number, id=number)])


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return normalize_root(tmp_path / "g")


@pytest.fixture
def graph(root: Root) -> Root:
    create_graph(root)
    return root


def raw_manifest(root: Root) -> list[dict[str, object]]:
    return list(lance.dataset(root.child(MANIFEST)).to_table().to_pylist())


def write_open(root: Root) -> Opened:
    store = store_for(root)
    return open_read_write(store, HASHES, lambda: recovery.sweep(store))


def read_open(root: Root) -> Opened:
    return open_read_only(store_for(root), HASHES)


def files_below(directory: str | Path) -> dict[str, bytes]:
    return {str(p.relative_to(directory)): p.read_bytes() for p in Path(directory).rglob("*") if p.is_file()}


def scan_of(rows: Sequence[ManifestRow]) -> pa.Table:
    table = encode_rows(rows)
    created = pa.array([1] * table.num_rows, pa.uint64())
    return table.append_column("_row_created_at_version", created).select(list(SCAN_COLUMNS))


def decoded(table: pa.Table) -> ManifestState:
    return decode_state(table, branch=None, version=9, identifier=())


def assert_same_state(folded: ManifestState, scanned: ManifestState) -> None:
    for name in ("branch", "version", "identifier", "registrations", "published", "tombstones", "heads"):
        assert getattr(folded, name) == getattr(scanned, name), name
    for name in ("schema", "control", "branch_row", "snapshot", "effective_head"):
        assert getattr(folded, name) == getattr(scanned, name), name
    assert list(folded.lineage.newest_first()) == list(scanned.lineage.newest_first())
    assert sorted(folded.aborts["object_id"].to_pylist()) == sorted(scanned.aborts["object_id"].to_pylist())


def rescan(root: Root, branch: str | None = None) -> ManifestState:
    root.memory.clear()
    return manifest.load(root, branch).state


# --- layout and genesis ------------------------------------------------------------------------------


@case("S1")
def test_init_lays_out_directories_by_hashed_type_names(case: str, graph: Root) -> None:
    names = set(os.listdir(graph.uri))
    assert names == {MANIFEST, "nodes", "edges", *FILES}
    assert os.listdir(graph.child("nodes")) == ["40d76f1f51639ec0"]
    assert os.listdir(graph.child("edges")) == ["602a25a3bd0b455b"]
    assert lance.dataset(graph.child(MANIFEST)).version == 1


@case("S2")
def test_the_first_manifest_holds_one_row_set_per_type_and_the_four_graph_rows(case: str, graph: Root) -> None:
    rows = raw_manifest(graph)
    assert Counter(row["object_type"] for row in rows) == {
        "table": 2, "table_version": 2, "graph_commit": 1, "graph_head": 1, "graph_schema": 1, "graph_control": 1,
    }  # fmt: skip
    assert all(row["base_objects"] is None for row in rows)
    versions = [row for row in rows if row["object_type"] == "table_version"]
    assert [(row["table_version"], row["row_count"], row["table_branch"]) for row in versions] == [(1, 0, None)] * 2


@case("S3")
def test_the_manifest_schema_is_the_specified_one(case: str, graph: Root) -> None:
    schema = lance.dataset(graph.child(MANIFEST)).schema
    assert [(f.name, str(f.type), f.nullable) for f in schema] == [
        ("object_id", "string", False),
        ("object_type", "string", False),
        ("location", "string", True),
        ("metadata", "string", True),
        ("base_objects", "list<item: string>", True),
        ("table_key", "string", False),
        ("table_version", "uint64", True),
        ("table_branch", "string", True),
        ("row_count", "uint64", True),
    ]
    assert schema.field("object_id").metadata[b"lance-schema:unenforced-primary-key"] == b"true"
    assert schema.metadata[STAMP_KEY.encode()] == b"4"


@case("S4")
@pytest.mark.parametrize("location", [MANIFEST, "nodes/40d76f1f51639ec0", "edges/602a25a3bd0b455b"])
def test_every_dataset_has_stable_row_ids_and_an_annotated_key(case: str, graph: Root, location: str) -> None:
    dataset = lance.dataset(graph.child(location))
    assert dataset.has_stable_row_ids
    assert dataset.data_storage_version == "2.2"
    assert "_row_created_at_version" in dataset.to_table(columns=["_row_created_at_version"]).column_names
    key = dataset.schema.field(0)
    assert (key.name, key.nullable) == ("object_id" if location == MANIFEST else "id", False)
    assert key.metadata[b"lance-schema:unenforced-primary-key"] == b"true"


@case("S5")
def test_the_genesis_commit_has_no_parent_and_the_head_names_it(case: str, root: Root) -> None:
    genesis = create_graph(root)
    rows = {row["object_id"]: row for row in raw_manifest(root)}
    assert is_ulid(genesis)
    assert rows[genesis]["table_version"] == 1
    assert set(json.loads(str(rows[genesis]["metadata"]))) == {"created_at", "kind"}  # the kind by decision 0032
    assert json.loads(str(rows["graph_head:main"]["metadata"])) == {"head_commit_id": genesis}


@case("S6")
def test_one_insert_adds_a_version_and_a_commit_and_moves_the_head_in_place(case: str, root: Root) -> None:
    genesis = create_graph(root)
    row = write_table(entry_of(root, PERSON).address(root), people(ana=1))
    state = publish(root, [row])
    rows = raw_manifest(root)
    added = [r for r in rows if r["object_id"] == f"{PERSON}$00000000000000000002"]
    assert [(r["table_version"], r["row_count"]) for r in added] == [(2, 1)]
    assert len(rows) == 8 + 2
    commit = state.lineage.get(state.graph_head or "")
    assert commit is not None
    assert (commit.parent_commit_id, commit.manifest_version, state.version) == (genesis, 2, 2)


# --- publishing and folding --------------------------------------------------------------------------


def mixed_publishes(root: Root) -> Iterator[ManifestState]:
    """Twenty folded states: inserts, a rename, a drop, a re-registration, aborts and work handed to a branch."""
    address = entry_of(root, PERSON).address(root)
    for number in range(8):
        yield publish(root, [write_table(address, people(**{f"p{number}": number}))])
    person = entry_of(root, PERSON)
    renamed = TableRow("node:Human", person.location, person.identity, PERSON)
    moved = VersionRow("node:Human", person.version, person.ref, person.row_count, person.evidence)
    yield publish(root, [TombstoneRow(PERSON, person.version), renamed, moved])
    knows = entry_of(root, KNOWS)
    yield publish(root, [TombstoneRow(KNOWS, knows.version)])
    fresh = TableRow(KNOWS, knows.location, TableIdentity(77, 78))
    edges = tables.commit(tables.stage_overwrite(tables.open_table(knows.address(root)), storage_graph.EDGE_SCHEMA))
    assert isinstance(edges, tables.Landed)
    yield publish(root, [fresh, version_row(KNOWS, knows.address(root), edges.version)])
    abort = AbortRow(new_ulid(), None, "Mutation", "writer", "test", now_micros())
    loaded = manifest.load(root)
    outcome = manifest.publish_rows(loaded, [abort])
    assert isinstance(outcome, tables.Landed)
    yield manifest.advance(loaded, [abort], outcome)
    create_branch(root, "feature")
    human = entry_of(root, "node:Human", "feature")
    trunk = tables.open_table(human.address(root))
    tables.create_ref(trunk, "feature", source=None, version=human.version)
    forked = human.address(root).on("feature")
    for number in range(7):
        row = write_table(forked, people(**{f"f{number}": number}))
        yield publish(root, [replace(row, table_key="node:Human")], branch="feature")
    yield publish(root)


@case("S7")
def test_folding_published_rows_equals_a_rescan(case: str, graph: Root) -> None:
    states = 0
    for folded in mixed_publishes(graph):
        assert_same_state(folded, rescan(graph, folded.branch))
        states += 1
    assert states == 20
    assert list(rescan(graph).snapshot.entries) == [KNOWS, "node:Human"]
    assert rescan(graph, "feature").snapshot.entry("node:Human").ref == "feature"


def two_publishers(root: Root) -> tuple[tables.CommitOutcome, tables.CommitOutcome]:
    one, two = manifest.load(root), manifest.load(root)
    row = CommitRow("01J00000000000000000000000", 2, None, now_micros())
    return manifest.publish_rows(one, [row]), manifest.publish_rows(two, [replace(row, actor_id="other")])


@case("S8")
def test_of_two_publishers_of_one_id_exactly_one_lands(case: str, graph: Root) -> None:
    first, second = two_publishers(graph)
    assert isinstance(first, tables.Landed)
    assert isinstance(second, tables.Refused)
    assert "01J00000000000000000000000" in rescan(graph).lineage


@case("S9")
def test_without_the_key_annotation_the_duplicate_lands_and_decoding_refuses_it(case: str, root: Root) -> None:
    plain = pa.schema([f.with_metadata(None) for f in MANIFEST_SCHEMA], metadata=MANIFEST_SCHEMA.metadata)
    genesis = [CommitRow(new_ulid(), 1, None, now_micros())]
    created = tables.commit(tables.stage_create(root.manifest(), plain, encode_rows(genesis).cast(plain)))
    assert isinstance(created, tables.Landed)
    first, second = two_publishers(root)
    assert isinstance(first, tables.Landed)
    assert isinstance(second, tables.Landed)
    with pytest.raises(Corrupt, match="duplicate object_id '01J00000000000000000000000'"):
        list(rescan(root).lineage.newest_first())


@case("S10")
def test_manifest_rows_cannot_be_staged_for_a_two_phase_commit(case: str, graph: Root) -> None:
    loaded = manifest.load(graph)
    rows = encode_rows([CommitRow(new_ulid(), 2, None, now_micros())])
    for stage in (row_steps.stage_upsert, row_steps.stage_update):
        with pytest.raises(StorageError):
            stage(loaded.handle, rows)


# --- reconstruction ----------------------------------------------------------------------------------

REGISTERED = TableRow(PERSON, "nodes/40d76f1f51639ec0", TableIdentity(1, 2))


def published(version: int) -> VersionRow:
    return VersionRow(PERSON, version, None, 0, EVIDENCE)


@case("S11")
def test_a_tombstone_hides_every_version_up_to_itself(case: str) -> None:
    state = decoded(scan_of([REGISTERED, published(5), published(7), TombstoneRow(PERSON, 7)]))
    assert dict(state.snapshot.entries) == {}
    assert state.current_version(PERSON) == 7


@case("S12")
def test_a_version_above_the_tombstone_is_visible(case: str) -> None:
    state = decoded(scan_of([REGISTERED, published(7), TombstoneRow(PERSON, 7), published(8)]))
    assert state.snapshot.entry(PERSON).version == 8
    assert state.current_version(PERSON) == 8
    assert state.current_version("node:Never") == 0


@case("S13")
def test_a_re_added_type_starts_empty_in_the_same_place_above_its_tombstone(case: str, graph: Root) -> None:
    address = entry_of(graph, PERSON).address(graph)
    publish(graph, [write_table(address, people(ana=1))])
    before = entry_of(graph, PERSON)
    publish(graph, [TombstoneRow(PERSON, before.version)])
    outcome = tables.commit(tables.stage_overwrite(tables.open_table(address), storage_graph.NODE_SCHEMA))
    assert isinstance(outcome, tables.Landed)
    row = TableRow(PERSON, before.location, TableIdentity(50, 51))
    publish(graph, [row, version_row(PERSON, address, outcome.version)])
    after = entry_of(graph, PERSON)
    assert after.location == before.location
    assert after.version > before.version
    assert after.identity.table_incarnation_id != before.identity.table_incarnation_id
    assert tables.open_table(after.address(graph), after.version).count_rows() == 0
    assert tables.open_table(before.address(graph), before.version).count_rows() == 1


def rename_person(root: Root) -> None:
    entry = entry_of(root, PERSON)
    moved = VersionRow("node:Human", entry.version, entry.ref, entry.row_count, entry.evidence)
    row = TableRow("node:Human", entry.location, entry.identity, PERSON)
    publish(root, [TombstoneRow(PERSON, entry.version), row, moved])


@case("S14")
def test_a_renamed_type_keeps_its_place_its_rows_and_its_identity(case: str, graph: Root) -> None:
    publish(graph, [write_table(entry_of(graph, PERSON).address(graph), people(ana=1, bo=2))])
    before = entry_of(graph, PERSON)
    rename_person(graph)
    snapshot = rescan(graph).snapshot
    assert snapshot.entry("node:Human") == replace(before, table_key="node:Human")
    assert snapshot.find(before.identity) == snapshot.entry("node:Human")
    with pytest.raises(NotFound, match="does not exist at this snapshot"):
        snapshot.entry(PERSON)


@case("S15")
def test_a_new_type_under_a_renamed_ones_name_gets_a_directory_of_its_own(case: str, graph: Root) -> None:
    rename_person(graph)
    taken = {entry.location: entry.table_key for entry in manifest.load(graph).state.snapshot}
    location = table_location(PERSON, taken=taken, incarnation=61)
    assert location == "nodes/40d76f1f51639ec0-000000000000003d"
    address = graph.table(location)
    assert isinstance(tables.commit(tables.stage_create(address, storage_graph.NODE_SCHEMA)), tables.Landed)
    publish(graph, [TableRow(PERSON, location, TableIdentity(60, 61)), write_table(address, people(new=1))])
    snapshot = rescan(graph).snapshot
    assert {entry.table_key: entry.location for entry in snapshot} == {
        KNOWS: "edges/602a25a3bd0b455b",
        "node:Human": "nodes/40d76f1f51639ec0",
        PERSON: location,
    }


@case("S16")
def test_rows_of_unknown_types_are_skipped(case: str) -> None:
    rows = scan_of([REGISTERED, published(1), AbortRow(new_ulid(), None, "Load", "writer", "x", 1)])
    types = pa.array(["table", "table_version", "from_the_future"])
    state = decoded(rows.set_column(rows.column_names.index("object_type"), "object_type", types))
    assert list(state.snapshot.entries) == [PERSON]
    assert state.aborts.num_rows == 0


@case("S17")
@pytest.mark.parametrize("column", ["metadata", "table_version", "row_count"])
def test_a_version_row_without_a_required_value_is_refused(case: str, column: str) -> None:
    rows = scan_of([REGISTERED, published(1)])
    values = rows[column].to_pylist()
    values[1] = None
    damaged = rows.set_column(rows.column_names.index(column), column, pa.array(values, rows.schema.field(column).type))
    with pytest.raises(Corrupt, match=f"table_version row has no {column}"):
        decoded(damaged)


@case("S18")
@pytest.mark.parametrize("row", [published(1), TombstoneRow(PERSON, 1)], ids=["version", "tombstone"])
def test_rows_of_an_unregistered_key_are_refused(case: str, row: ManifestRow) -> None:
    with pytest.raises(Corrupt, match="unregistered table 'node:Person'"):
        decoded(scan_of([row]))


# --- stamp -------------------------------------------------------------------------------------------


def restamp(root: Root, **metadata: str) -> None:
    renamed = {key.replace("__", ":"): value for key, value in metadata.items()}
    lance.dataset(root.child(MANIFEST)).update_schema_metadata(renamed, replace=True)


@pytest.mark.parametrize(
    ("stamp", "message"),
    [
        pytest.param("3", "older release.*export it with that release, then init and load here", id="S19"),
        pytest.param("5", "newer release.*upgrade omnigraph before opening this graph", id="S20"),
        pytest.param(None, "no internal-schema stamp.*Restore the graph from a backup", id="S21-missing"),
        pytest.param("x", "unreadable format stamp 'x'", id="S21-unparsable"),
    ],
)
def test_a_foreign_stamp_is_refused_before_anything_else_is_read(graph: Root, stamp: str | None, message: str) -> None:
    restamp(graph, **({} if stamp is None else {"omnigraph__internal_schema_version": stamp}))
    os.mkdir(graph.child(RECOVERY_DIR))
    Path(graph.child(f"{RECOVERY_DIR}/{new_ulid()}.json")).write_text("not json")
    before = files_below(graph.uri)
    for opener in (write_open, read_open):
        with pytest.raises(FormatRefused, match=message):
            opener(graph)
    assert files_below(graph.uri) == before


@case("S22")
def test_a_branch_carries_the_stamp_of_main(case: str, graph: Root) -> None:
    create_branch(graph, "feature")
    stamps = {manifest.load(graph, name).handle.schema.metadata[STAMP_KEY.encode()] for name in (None, "feature")}
    assert stamps == {b"4"}


# --- init --------------------------------------------------------------------------------------------

RACER = """
import sys
from omnigraph.errors import OmnigraphError
from omnigraph.storage.base.layout import normalize_root
from omnigraph.testing.graphs.storage_graph import create_graph
sys.stdin.readline()
try:
    create_graph(normalize_root(sys.argv[1]), force=sys.argv[2] == "force")
    print("created")
except OmnigraphError as error:
    print(type(error).__name__)
"""


@case("S23")
def test_of_eight_processes_that_init_one_root_exactly_one_succeeds(case: str, root: Root) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, root.uri, "force" if number % 4 == 3 else "strict"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(8)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    results = Counter(racer.communicate(timeout=300)[0].strip() for racer in racers)
    assert results.pop("created") == 1
    assert set(results) <= {"InitializationClaimed", "AlreadyInitialized"}
    assert read_open(root).loaded.state.version == 1
    assert not Path(root.child(INIT_CLAIM)).exists()


@case("S24")
@pytest.mark.parametrize("force", [False, True], ids=["strict", "force"])
def test_init_never_touches_an_existing_graph(case: str, graph: Root, force: bool) -> None:
    before = files_below(graph.uri)
    with pytest.raises(AlreadyInitialized):
        create_graph(graph, force=force)
    assert files_below(graph.uri) == before


@case("S25")
def test_force_replaces_orphan_schema_files(case: str, root: Root) -> None:
    os.mkdir(root.uri)
    for name in FILES:
        Path(root.child(name)).write_text("left behind")
    with pytest.raises(AlreadyInitialized):
        create_graph(root)
    create_graph(root, force=True)
    assert write_open(root).contract.source == storage_graph.SOURCE


@case("S26")
@pytest.mark.parametrize("hook", ["init.after_schema_pg_written", "init.after_schema_contract_written"])
def test_a_failure_before_the_datasets_removes_schema_files_and_claim(case: str, root: Root, hook: str) -> None:
    with failpoints.armed(f"{hook}=raise"), pytest.raises(StorageError, match=hook):
        create_graph(root)
    assert files_below(root.uri) == {}
    create_graph(root)
    assert read_open(root).loaded.state.version == 1


def test_a_withdrawal_that_cannot_delete_keeps_the_claim(root: Root) -> None:
    spec = "init.after_schema_contract_written=raise;init.schema_cleanup_delete=raise"
    with failpoints.armed(spec), pytest.raises(StorageError, match="after_schema_contract_written"):
        create_graph(root)
    assert set(files_below(root.uri)) == {*FILES, INIT_CLAIM}
    with pytest.raises(AlreadyInitialized):
        create_graph(root)
    with pytest.raises(InitializationClaimed):
        create_graph(root, force=True)


@case("S27")
def test_a_lost_acknowledgement_of_a_table_is_indeterminate(case: str, root: Root) -> None:
    with failpoints.armed("init.table_create_ack_lost=raise"), pytest.raises(InitializationIndeterminate) as caught:
        create_graph(root)
    assert "init.table_create_ack_lost" in str(caught.value.source)
    assert {*FILES, INIT_CLAIM} <= set(os.listdir(root.uri))
    with pytest.raises(InitializationClaimed):
        create_graph(root, force=True)


@case("S28")
def test_a_lost_acknowledgement_of_the_manifest_is_resolved_by_the_probe(case: str, root: Root) -> None:
    with failpoints.armed("init.manifest_create_ack_lost=raise"):
        genesis = create_graph(root)
    assert read_open(root).loaded.state.graph_head == genesis
    assert not Path(root.child(INIT_CLAIM)).exists()


@case("S28")
def test_a_probe_that_fails_too_is_indeterminate(case: str, root: Root) -> None:
    spec = "init.manifest_create_ack_lost=raise;init.manifest_create_probe=raise"
    with failpoints.armed(spec), pytest.raises(InitializationIndeterminate, match="manifest_create_probe"):
        create_graph(root)
    assert Path(root.child(INIT_CLAIM)).exists()


@case("S29")
def test_a_failure_after_the_commit_point_says_that_the_graph_exists(case: str, root: Root) -> None:
    with failpoints.armed("init.post_manifest_create=raise"), pytest.raises(InitializationCommitted):
        create_graph(root)
    assert write_open(root).loaded.state.version == 1


def test_tables_left_by_an_interrupted_init_are_named(root: Root) -> None:
    with failpoints.armed("init.table_create_ack_lost=raise"), pytest.raises(InitializationIndeterminate):
        create_graph(root)
    for name in (*FILES, INIT_CLAIM):
        os.unlink(root.child(name))
    with pytest.raises(Conflict, match="nodes/40d76f1f51639ec0' is left from an interrupted initialization"):
        create_graph(root)
    assert set(os.listdir(root.uri)) == {"nodes"}
    shutil.rmtree(root.child("nodes"))
    create_graph(root)


# --- open --------------------------------------------------------------------------------------------


@case("S30")
def test_a_read_only_open_writes_nothing_and_leaves_sidecars_alone(case: str, graph: Root) -> None:
    os.mkdir(graph.child(RECOVERY_DIR))
    Path(graph.child(f"{RECOVERY_DIR}/{new_ulid()}.json")).write_text("{}")
    for folder, _, _ in os.walk(graph.uri):
        os.chmod(folder, 0o555)
    before = files_below(graph.uri)
    try:
        opened = read_open(graph)
        entry = opened.loaded.state.snapshot.entry(PERSON)
        assert tables.open_table(entry.address(graph), entry.version).count_rows() == 0
        assert files_below(graph.uri) == before
    finally:
        for folder, _, _ in os.walk(graph.uri):
            os.chmod(folder, 0o755)


@case("S31")
def test_a_corrupt_sidecar_fails_the_read_write_open_and_stays(case: str, graph: Root) -> None:
    os.mkdir(graph.child(RECOVERY_DIR))
    sidecar = Path(graph.child(f"{RECOVERY_DIR}/{new_ulid()}.json"))
    sidecar.write_text("{ not json")
    with pytest.raises(Corrupt):
        write_open(graph)
    assert sidecar.read_text() == "{ not json"
    assert read_open(graph).read_only


@case("S32")
def test_a_missing_schema_source_asks_for_a_restore(case: str, graph: Root) -> None:
    os.unlink(graph.child(SOURCE))
    for opener in (write_open, read_open):
        with pytest.raises(NotFound, match=r"restore _schema\.pg, _schema\.ir\.json, __schema_state\.json"):
            opener(graph)


@case("S33")
def test_a_comment_in_the_schema_source_is_harmless(case: str, graph: Root) -> None:
    Path(graph.child(SOURCE)).write_text("// people\n" + storage_graph.SOURCE)
    assert write_open(graph).contract.source.startswith("// people")


@case("S34")
@pytest.mark.parametrize("text", ["node Person\nedge Knows\nnode Pet\n", "gibberish\n"], ids=["other", "unparsable"])
def test_a_changed_meaning_of_the_schema_source_is_a_conflict(case: str, graph: Root, text: str) -> None:
    Path(graph.child(SOURCE)).write_text(text)
    with pytest.raises(Conflict, match=r"_schema\.pg was changed"):
        write_open(graph)


@case("S35")
@pytest.mark.parametrize("name", [IR, STATE])
@pytest.mark.parametrize("damage", ["edited", "garbage", "deleted"])
def test_a_changed_ir_or_state_is_a_conflict(case: str, graph: Root, name: str, damage: str) -> None:
    path = Path(graph.child(name))
    text = path.read_text()
    if damage == "deleted":
        path.unlink()
    else:
        path.write_text(text.replace("1", "7", 1) if damage == "edited" else "{")
    for opener in (write_open, read_open):
        with pytest.raises(Conflict):
            opener(graph)


NEXT_SOURCE = storage_graph.SOURCE + "node Pet\n"


def publish_next_schema(root: Root, *, promoted: int = 0) -> None:
    """A schema change that died after its publish, with 0–3 of its files promoted."""
    contract = contract_of(NEXT_SOURCE)
    write_staging(open_objects(root), contract)
    address = root.table(table_location("node:Pet"))
    tables.commit(tables.stage_create(address, storage_graph.NODE_SCHEMA))
    row = TableRow("node:Pet", address.location, TableIdentity(30, 31))
    publish(root, [row, version_row("node:Pet", address, 1), contract.state])
    if promoted:
        with failpoints.armed(f"schema_apply.mid_promotion=raise@{promoted}"), pytest.raises(StorageError):
            promote_staging(open_objects(root))


@case("S36")
@pytest.mark.parametrize("promoted", [0, 1, 2, 3])
def test_a_read_only_open_serves_the_published_schema_from_staging(case: str, graph: Root, promoted: int) -> None:
    publish_next_schema(graph, promoted=promoted)
    before = files_below(graph.uri)
    opened = read_open(graph)
    assert opened.contract.source == NEXT_SOURCE
    assert "node:Pet" in opened.loaded.state.snapshot.entries
    assert files_below(graph.uri) == before


@case("S37")
@pytest.mark.parametrize("promoted", [0, 1, 2, 3])
def test_a_read_write_open_promotes_the_published_schema(case: str, graph: Root, promoted: int) -> None:
    publish_next_schema(graph, promoted=promoted)
    opened = write_open(graph)
    assert opened.contract == contract_of(NEXT_SOURCE)
    assert not any(Path(graph.child(name + STAGING)).exists() for name in FILES)


@case("S38")
def test_leftover_staging_is_deleted_by_a_read_write_open_only(case: str, graph: Root) -> None:
    write_staging(open_objects(graph), contract_of(NEXT_SOURCE))
    assert read_open(graph).contract.source == storage_graph.SOURCE
    assert Path(graph.child(SOURCE + STAGING)).exists()
    assert write_open(graph).contract.source == storage_graph.SOURCE
    assert not any(Path(graph.child(name + STAGING)).exists() for name in FILES)


def test_staging_of_a_schema_change_in_progress_is_left_alone(graph: Root) -> None:
    write_staging(open_objects(graph), contract_of(NEXT_SOURCE))
    os.mkdir(graph.child(RECOVERY_DIR))
    Path(graph.child(f"{RECOVERY_DIR}/{new_ulid()}.json")).write_text('{"writer_kind": "SchemaApply"}')
    open_read_write(store_for(graph), HASHES, lambda: None)
    assert Path(graph.child(SOURCE + STAGING)).exists()


def test_an_accepted_schema_that_no_file_holds_needs_recovery(graph: Root) -> None:
    publish(graph, [contract_of(NEXT_SOURCE).state])
    with pytest.raises(Conflict, match="schema files do not match the manifest"):
        read_open(graph)
    os.mkdir(graph.child(RECOVERY_DIR))
    operation = new_ulid()
    Path(graph.child(f"{RECOVERY_DIR}/{operation}.json")).write_text('{"writer_kind": "SchemaApply"}')
    with pytest.raises(RecoveryRequired, match=operation):
        read_open(graph)


@case("S39")
def test_every_spelling_of_a_root_shares_one_gate_registry(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "g").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "g")
    monkeypatch.chdir(tmp_path)
    spellings = ["./g", "g/", str(tmp_path / "g"), f"file://{tmp_path}/g", "other/../g", str(tmp_path / "link")]
    stores = [store_for(spelling) for spelling in spellings]  # gates live as long as a store has them
    assert len({id(store.gates) for store in stores}) == 1
    assert store_for("h").gates is not stores[0].gates


@case("S40")
def test_s3_settings_reach_lance_and_the_object_adapter(case: str) -> None:
    environment = {
        "AWS_REGION": "eu-x",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_SESSION_TOKEN": "token",
        "AWS_ENDPOINT_URL": "http://ignored:1",
        "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9",
        "AWS_S3_FORCE_PATH_STYLE": "true",
        "AWS_ALLOW_HTTP": "true",
    }
    root = normalize_root("s3://bucket/a//b/", env=environment)
    assert root.uri == "s3://bucket/a/b"
    assert root.storage_options == {
        "aws_region": "eu-x",
        "aws_access_key_id": "key",
        "aws_secret_access_key": "secret",
        "aws_session_token": "token",
        "aws_endpoint": "http://127.0.0.1:9",
        "aws_virtual_hosted_style_request": "false",
        "allow_http": "true",
    }
    store = open_objects(root)._store  # type: ignore[attr-defined]
    assert store.prefix == "a/b"
    assert store.config["bucket"] == "bucket"
    assert (store.config["endpoint"], store.config["region"]) == ("http://127.0.0.1:9", "eu-x")


@case("S41")
def test_a_file_system_without_hard_links_is_refused_for_writing_only(
    case: str, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(source: str, target: str) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    with monkeypatch.context() as patched:
        patched.setattr(os, "link", no_links)
        with pytest.raises(StorageError, match="Operation not permitted"):
            create_graph(root)
    assert not Path(root.uri).exists()
    create_graph(root)
    before = files_below(root.uri)
    with monkeypatch.context() as patched:
        patched.setattr(os, "link", no_links)
        with pytest.raises(StorageError, match="Operation not permitted"):
            write_open(root)
        assert read_open(root).read_only
    assert files_below(root.uri) == before


@case("S42")
def test_a_pinned_version_without_its_file_was_reclaimed(case: str, graph: Root) -> None:
    address = entry_of(graph, PERSON).address(graph)
    publish(graph, [write_table(address, people(ana=1))])
    entry = entry_of(graph, PERSON)
    os.unlink(graph.child(entry.evidence.manifest_path))
    with pytest.raises(HistoricalVersionReclaimed) as caught:
        tables.open_table(entry.address(graph), entry.version)
    assert caught.value.version == entry.version
    shutil.rmtree(address.uri)
    with pytest.raises(HistoricalVersionReclaimed):
        tables.open_table(entry.address(graph), 1)
    with pytest.raises(StorageError) as missing:
        tables.open_table(entry.address(graph))
    assert missing.value.kind == "NotFound"


@case("S43")
def test_a_branch_with_a_slash_forks_tables_below_its_path(case: str, graph: Root) -> None:
    publish(graph, [write_table(entry_of(graph, PERSON).address(graph), people(ana=1))])
    create_branch(graph, "review/x")
    entry = entry_of(graph, PERSON, "review/x")
    tables.create_ref(tables.open_table(entry.address(graph)), "review/x", source=None, version=entry.version)
    address = entry.address(graph).on("review/x")
    publish(graph, [write_table(address, people(bo=2))], branch="review/x")
    forked = entry_of(graph, PERSON, "review/x")
    assert (forked.ref, forked.version, forked.row_count) == ("review/x", entry.version + 1, 2)
    assert forked.address(graph).uri.endswith("/nodes/40d76f1f51639ec0/tree/review/x")
    made = re.compile(r"review%2Fx--b[0-9]+\.0\.[0-9]+\.json")  # decision 0031: a ref of its own per incarnation
    assert any(made.fullmatch(file.name) for file in Path(graph.child(f"{MANIFEST}/_refs/branches")).iterdir())
    assert Path(graph.child(f"{entry.location}/_refs/branches/review%2Fx.json")).exists()
    assert tables.open_table(forked.address(graph), forked.version).scan(["id"])["id"].to_pylist() == ["ana", "bo"]
    assert entry_of(graph, PERSON).row_count == 1


# --- lineage, audit, warm reads ----------------------------------------------------------------------


@case("S44")
def test_compacting_the_manifest_changes_neither_lineage_nor_snapshots(case: str, graph: Root) -> None:
    address = entry_of(graph, PERSON).address(graph)
    for number in range(20):
        publish(graph, [write_table(address, people(**{f"p{number}": number}))])
    before = rescan(graph)
    commits = list(before.lineage.newest_first())
    snapshots = [manifest.load_version(graph, None, commit.manifest_version).snapshot for commit in commits]
    assert manifest.compaction_due(manifest.load(graph).handle)
    assert manifest.compact_manifest(graph.manifest())
    assert not manifest.compaction_due(manifest.load(graph).handle)
    after = rescan(graph)
    assert after.version > before.version
    assert list(after.lineage.newest_first()) == commits
    assert dict(after.snapshot.entries) == dict(before.snapshot.entries)
    graph.memory.clear()
    assert [manifest.load_version(graph, None, commit.manifest_version).snapshot for commit in commits] == snapshots
    publish(graph, [write_table(address, people(last=1))])
    assert rescan(graph).snapshot.entry(PERSON).row_count == 21


@case("S45")
def test_a_rebased_commit_reports_the_version_that_really_introduced_it(case: str, graph: Root) -> None:
    stale = manifest.load(graph)
    fence = [AbortRow(new_ulid(), None, "Load", "recovery", "test", now_micros())]
    assert isinstance(manifest.publish_rows(manifest.load(graph), fence), tables.Landed)
    head, commit = stale.state.effective_head, new_ulid()
    row = write_table(entry_of(graph, PERSON).address(graph), people(ana=1))
    batch = [row, CommitRow(commit, stale.state.version + 1, None, now_micros(), head), HeadRow(None, commit, head)]
    outcome = manifest.publish_rows(stale, batch)
    assert isinstance(outcome, tables.Landed)
    assert (outcome.version, outcome.exact) == (3, False)
    recorded = {r["object_id"]: r["table_version"] for r in raw_manifest(graph)}[commit]
    state = manifest.advance(stale, batch, outcome)
    found = state.lineage.get(commit)
    assert found is not None
    assert (recorded, found.manifest_version) == (2, 3)
    assert_same_state(state, rescan(graph))
    assert manifest.load_version(graph, None, 3).snapshot.entry(PERSON).row_count == 1


@case("S46")
def test_two_recoverers_of_one_operation_leave_one_audit_row(case: str, graph: Root) -> None:
    operation, commit = new_ulid(), new_ulid()
    ready = threading.Barrier(2)
    failures: list[BaseException] = []

    def record() -> None:
        try:
            ready.wait()
            outcomes = [audit.TableRecovery(PERSON, 3, 2)]
            audit.record(
                graph, graph_commit_id=commit, kind="RolledBack", actor="act-a", operation_id=operation,
                writer_kind="Mutation", outcomes=outcomes,
            )  # fmt: skip
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=record) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    record_again = audit.records(graph)
    assert failures == []
    assert [(r.operation_id, r.graph_commit_id, r.kind) for r in record_again] == [(operation, commit, "RolledBack")]
    assert record_again[0].outcomes == (audit.TableRecovery(PERSON, 3, 2),)


WRITER = """
import sys
from omnigraph.storage.base.layout import normalize_root
from omnigraph.testing.graphs.storage_graph import entry_of, people, publish, write_table
root = normalize_root(sys.argv[1])
publish(root, [write_table(entry_of(root, "node:Person").address(root), people(ana=1))])
"""


@case("S48")
def test_a_warm_reader_notices_a_commit_of_another_process(case: str, graph: Root) -> None:
    before = manifest.load(graph)
    assert manifest.newest(graph) == (before.state.version, ())
    subprocess.run([sys.executable, "-c", WRITER, graph.uri], check=True, timeout=300)
    assert manifest.newest(graph) == (before.state.version + 1, ())
    assert before.handle.latest_version() == before.state.version + 1
    after: Loaded = manifest.load(graph)
    assert after.state.snapshot.entry(PERSON).row_count == 1
    assert before.state.snapshot.entry(PERSON).row_count == 0


def test_roots_that_are_no_storage_are_refused() -> None:
    for uri in ("http://host/g", "https://host/g", "ftp://host/g", "", "s3:///x", "az:///x", "s3://b/../c"):
        with pytest.raises(BadRequest):
            normalize_root(uri)


def test_opening_a_directory_that_is_no_graph_says_so(root: Root) -> None:
    with pytest.raises(NotFound, match="is not a graph"):
        read_open(root)
    assert not Path(root.uri).exists()


def test_the_objects_protocol_raises_only_our_errors(graph: Root) -> None:
    objects: Objects = open_objects(graph)
    with pytest.raises(OmnigraphError):
        objects.read("nodes")
