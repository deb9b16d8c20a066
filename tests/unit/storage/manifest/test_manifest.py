"""Loading manifest state: fresh tips, remembered versions, branches and their incarnations."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.errors import BranchNotFound, Corrupt, HistoricalVersionReclaimed
from omnigraph.ids import new_ulid, now_micros
from omnigraph.storage.base.layout import Root
from omnigraph.storage.base.store import store_for
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.evidence import VersionEvidence
from omnigraph.storage.lance.tables import TableHandle
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.branch_refs import address_of, require_ref
from omnigraph.storage.manifest.commits import GraphCommit, Lineage
from omnigraph.storage.manifest.decode import decode_state, fold
from omnigraph.storage.manifest.row_codec import encode_rows, parse_control, parse_schema, parse_table, parse_version
from omnigraph.storage.manifest.rows import (
    AbortRow,
    BranchRow,
    CommitRow,
    ControlHolder,
    ControlRow,
    HeadRow,
    ManifestRow,
    SchemaRow,
    Seal,
    TableRow,
    TombstoneRow,
    VersionRow,
)
from omnigraph.storage.manifest.scan import COMMIT_COLUMNS, SCAN_COLUMNS
from omnigraph.storage.manifest.snapshot import TableIdentity
from omnigraph.testing.graphs.storage_graph import create_branch, create_graph, entry_of, people, publish, write_table

PERSON = "node:Person"
EVIDENCE = VersionEvidence("/g/_versions/1.manifest", None, '"tag"', None)
HOLDER = ControlHolder("01J00000000000000000000000", "branch_delete", "host/1/x", 3, 1_000, 900_000, "feature")

EVERY_KIND: list[ManifestRow] = [
    TableRow(PERSON, "nodes/x", TableIdentity(1, 2), "node:Human"),
    VersionRow(PERSON, 7, "review/x", 12, EVIDENCE),
    TombstoneRow(PERSON, 3),
    CommitRow("01J00000000000000000000001", 9, "review/x", 5, "01J00000000000000000000002", "01J3", "act-ü"),
    HeadRow("review/x", "01J00000000000000000000001", "01J00000000000000000000002"),
    AbortRow("01J00000000000000000000009", "review/x", "Load", "recovery", "reason", 77, "01J00000000000000000000010"),
    SchemaRow("sha256:a", "sha256:b", "01J00000000000000000000011"),
    ControlRow(4, HOLDER, {"old": 12}),
    BranchRow("review/x", ((1, "u1"), (3, "u2")), None, 3, 88, Seal("01J00000000000000000000012", 99)),
]


@pytest.fixture
def root(tmp_path: Path) -> Root:
    created = store_for(tmp_path / "g").root
    create_graph(created)
    return created


def scanned(rows: list[ManifestRow], created: int = 9) -> pa.Table:
    table = encode_rows(rows)
    versions = pa.array([created] * table.num_rows, pa.uint64())
    return table.append_column("_row_created_at_version", versions).select(list(SCAN_COLUMNS))


# --- rows --------------------------------------------------------------------------------------------


def test_every_row_kind_survives_encoding() -> None:
    state = decode_state(scanned(EVERY_KIND), branch="review/x", version=9, identifier=())
    table, version, tombstone, commit, head, abort, schema, control, branch = EVERY_KIND
    assert isinstance(commit, CommitRow)
    assert isinstance(abort, AbortRow)
    assert state.registrations == {PERSON: table}
    assert state.published == {PERSON: version}
    assert state.tombstones == {PERSON: 3}
    assert state.heads == {"review/x": "01J00000000000000000000001"}
    assert (state.schema, state.control, state.branch_row) == (schema, control, branch)
    assert state.abort_row(abort.operation_id) == abort
    assert state.abort_row("unknown") is None
    found = state.lineage.get(commit.commit_id)
    assert found is not None
    assert (found.manifest_branch, found.merged_parent_commit_id, found.actor_id) == ("review/x", "01J3", "act-ü")
    assert state.decision(commit.commit_id) == "published"
    assert state.decision(abort.operation_id) == "aborted"
    assert state.decision("unknown") is None
    assert (tombstone.object_id, head.object_id) == (
        "node:Person$tombstone$00000000000000000003",
        "graph_head:review/x",
    )


def test_absent_optional_values_are_omitted_from_the_metadata() -> None:
    bare = [
        TableRow(PERSON, "n", TableIdentity(1, 1)),
        CommitRow("c", 1, None, 5),
        HeadRow(None, "c"),
        ControlRow(),
        AbortRow("a", None, "Load", "writer", "r", 1),
        BranchRow("b", (), None, 1, 2),
    ]
    assert encode_rows(bare)["metadata"].to_pylist() == [
        '{"stable_table_id":1,"table_incarnation_id":1}',
        '{"created_at":5}',
        '{"head_commit_id":"c"}',
        '{"epoch":0,"holder":null}',
        '{"writer_kind":"Load","aborted_by":"writer","reason":"r","aborted_at":1}',
        '{"identifier":[],"parent_branch":null,"parent_version":1,"created_at":2}',
    ]


def test_a_table_row_without_metadata_gets_a_synthetic_identity() -> None:
    assert parse_table(PERSON, "nodes/x", None).identity.table_incarnation_id == 1
    assert parse_table(PERSON, "nodes/x", None).identity == parse_table(PERSON, "nodes/y", None).identity


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"manifest_path": 3}', "null", '{"manifest_path":"p","manifest_size":"1"}']
)
def test_malformed_metadata_fails_closed(text: str) -> None:
    with pytest.raises(Corrupt, match="malformed metadata"):
        parse_version(PERSON, 1, None, 0, text)


@pytest.mark.parametrize(
    "damage",
    [
        lambda: parse_table(PERSON, "x", '{"stable_table_id":0,"table_incarnation_id":1}'),
        lambda: parse_table(PERSON, "x", '{"stable_table_id":true,"table_incarnation_id":1}'),
        lambda: parse_control('{"epoch":1,"holder":{}}'),
        lambda: parse_control('{"holder":null}'),
        lambda: parse_schema("{}"),
    ],
)
def test_damaged_control_values_fail_closed(damage: object) -> None:
    assert callable(damage)
    with pytest.raises(Corrupt):
        damage()


def test_unknown_metadata_keys_are_ignored() -> None:
    assert parse_control('{"epoch":3,"holder":null,"new":[1]}') == ControlRow(3)


def test_two_visible_tables_with_one_identity_are_refused() -> None:
    rows = [
        row
        for key in ("node:A", "node:B")
        for row in (TableRow(key, key, TableIdentity(5, 6)), VersionRow(key, 1, None, 0, EVIDENCE))
    ]
    with pytest.raises(Corrupt, match="'node:A' and 'node:B' share one identity"):
        decode_state(scanned(rows), branch=None, version=1, identifier=())
    hidden = [*rows, TombstoneRow("node:A", 1)]
    assert list(decode_state(scanned(hidden), branch=None, version=1, identifier=()).snapshot.entries) == ["node:B"]


def test_a_head_row_without_a_branch_is_refused() -> None:
    rows = scanned([HeadRow(None, "c")])
    damaged = rows.set_column(0, "object_id", pa.array(["graph_head:"]))
    with pytest.raises(Corrupt, match="names no branch"):
        decode_state(damaged, branch=None, version=1, identifier=())


def test_a_version_row_whose_id_lies_is_refused() -> None:
    rows = scanned([TableRow(PERSON, "n", TableIdentity(1, 1)), VersionRow(PERSON, 4, None, 0, EVIDENCE)])
    damaged = rows.set_column(0, "object_id", pa.array([PERSON, f"{PERSON}$00000000000000000005"]))
    with pytest.raises(Corrupt, match=r"at 4 has the object_id .*05'"):
        decode_state(damaged, branch=None, version=1, identifier=())


def test_folding_refuses_to_go_back() -> None:
    rows: list[ManifestRow] = [TableRow(PERSON, "n", TableIdentity(1, 1)), VersionRow(PERSON, 4, None, 0, EVIDENCE)]
    state = decode_state(scanned(rows), branch=None, version=1, identifier=())
    with pytest.raises(Corrupt, match="go back from 4 to 3"):
        fold(state, [VersionRow(PERSON, 3, None, 0, EVIDENCE)], 2)
    assert fold(state, [rows[1]], 2).snapshot.entry(PERSON).version == 4


# --- lineage -----------------------------------------------------------------------------------------


def lineage(*commits: tuple[str, int, int, str | None]) -> Lineage:
    rows: list[ManifestRow] = [CommitRow(name, 0, None, at, parent) for name, _, at, parent in commits]
    table = encode_rows(rows).append_column("v", pa.array([version for _, version, _, _ in commits], pa.uint64()))
    names = ["commit_id", "manifest_version", "branch", "metadata"]
    return Lineage(table.select(["object_id", "v", "table_branch", "metadata"]).rename_columns(names))


def ids(commits: list[GraphCommit]) -> list[str]:
    return [commit.graph_commit_id for commit in commits]


def test_commits_are_ordered_by_version_then_time_then_id() -> None:
    commits = lineage(("b", 2, 5, "a"), ("a", 1, 9, None), ("d", 3, 1, "b"), ("c", 3, 1, "b"), ("e", 3, 0, "b"))
    assert ids(list(commits.newest_first())) == ["d", "c", "e", "b", "a"]
    assert ids(list(commits.newest_first(2))) == ["d", "c"]
    latest = commits.latest()
    assert latest is not None
    assert latest.graph_commit_id == "d"
    assert lineage().latest() is None


def test_the_first_parent_chain_ends_where_knowledge_ends() -> None:
    commits = lineage(("a", 1, 1, "from-elsewhere"), ("b", 2, 2, "a"), ("c", 3, 3, "b"))
    assert ids(list(commits.first_parents("c"))) == ["c", "b", "a"]
    assert list(commits.first_parents("unknown")) == []
    assert "b" in commits
    assert "unknown" not in commits


def test_extending_a_lineage_many_times_keeps_few_chunks() -> None:
    commits = lineage(("c0", 1, 1, None))
    for number in range(1, 2_000):  # more than Python calls may be nested
        more = lineage((f"c{number}", number + 1, number, f"c{number - 1}")).table
        commits = commits.extended(1, lambda more=more: more)
    assert len(commits) == 2_000
    assert commits.table["commit_id"].num_chunks <= 65
    assert ids(list(commits.newest_first(2))) == ["c1999", "c1998"]
    assert len(list(commits.first_parents("c1999"))) == 2_000


# --- loading -----------------------------------------------------------------------------------------


def test_an_unchanged_manifest_is_decoded_once(root: Root) -> None:
    first = manifest.load(root).state
    assert manifest.load(root).state is first
    folded = publish(root)
    assert manifest.load(root).state is folded


def test_a_graph_recreated_at_the_same_path_is_not_mistaken_for_the_old_one(root: Root) -> None:
    old = manifest.load(root).state
    shutil.rmtree(root.uri)
    genesis = create_graph(root)
    fresh = manifest.load(root).state
    assert (old.version, fresh.version) == (1, 1)
    assert fresh.graph_head == genesis != old.graph_head


def test_the_cache_of_decoded_versions_is_bounded(root: Root) -> None:
    for _ in range(70):
        publish(root)
    assert len(root.memory.cache(manifest._STATES)) == manifest._STATES.entries == 64


def test_a_fresh_branch_has_no_head_row_but_an_effective_head(root: Root) -> None:
    main = publish(root)
    create_branch(root, "feature")
    state = manifest.load(root, "feature").state
    assert state.graph_head is None
    assert state.effective_head == main.graph_head
    assert state.heads == {"main": main.graph_head}
    after = publish(root, branch="feature")
    assert after.graph_head is not None
    found = after.lineage.get(after.graph_head)
    assert found is not None
    assert (found.manifest_branch, found.parent_commit_id) == ("feature", main.graph_head)
    assert manifest.load(root).state.graph_head == main.graph_head


def test_older_versions_resolve_on_the_parent_below_the_fork(root: Root) -> None:
    address = entry_of(root, PERSON).address(root)
    publish(root, [write_table(address, people(a=1))])
    publish(root, [write_table(address, people(b=1))])
    create_branch(root, "one")
    publish(root, branch="one")
    create_branch(root, "two", source="one")
    newest = manifest.load(root, "two").state
    assert newest.snapshot.entry(PERSON).row_count == 2
    assert manifest.load_version(root, "two", 2).snapshot.entry(PERSON).row_count == 1
    assert manifest.load_version(root, "two", 1).snapshot.entry(PERSON).row_count == 0
    assert manifest.load_version(root, "two", newest.version).branch == "two"
    assert manifest.load_version(root, None, 2).branch is None
    with pytest.raises(HistoricalVersionReclaimed):
        manifest.load_version(root, None, 99)
    with pytest.raises(BranchNotFound):
        manifest.load_version(root, "nope", 1)


def test_an_unknown_branch_is_not_found(root: Root) -> None:
    with pytest.raises(BranchNotFound):
        manifest.load(root, "nope")
    with pytest.raises(BranchNotFound):
        manifest.newest(root, "nope")


def test_a_sealed_branch_is_not_found(root: Root) -> None:
    row = create_branch(root, "feature")
    sealed = replace(row, sealed=Seal(new_ulid(), now_micros()))
    assert isinstance(manifest.publish_rows(manifest.load(root, "feature"), [sealed]), tables.Landed)
    with pytest.raises(BranchNotFound):
        manifest.load(root, "feature")
    loaded = manifest.load(root, "feature", allow_sealed=True)
    assert loaded.state.branch_row == sealed


def test_a_branch_manifest_of_another_incarnation_is_refused(root: Root) -> None:
    row = create_branch(root, "feature")
    foreign = replace(row, identifier=((1, "somebody-else"),))
    assert isinstance(manifest.publish_rows(manifest.load(root, "feature"), [foreign]), tables.Landed)
    with pytest.raises(Corrupt, match="branch manifest incarnation mismatch"):
        manifest.load(root, "feature")


def test_a_recreated_branch_is_another_incarnation(root: Root) -> None:
    create_branch(root, "feature")
    first = manifest.newest(root, "feature")
    tables.delete_ref(tables.open_table(root.manifest(), control=True), require_ref(root, "feature").name)
    create_branch(root, "feature")
    second = manifest.newest(root, "feature")
    assert first[0] == second[0]
    assert first[1] != second[1]


def test_compacting_a_branch_manifest_keeps_its_state(root: Root) -> None:
    create_branch(root, "feature")
    for _ in range(20):
        publish(root, branch="feature")
    before = manifest.load(root, "feature").state
    assert manifest.compaction_due(manifest.load(root, "feature").handle)
    assert manifest.compact_manifest(address_of(root, "feature"))
    root.memory.clear()
    after = manifest.load(root, "feature")
    assert not manifest.compaction_due(after.handle)
    assert list(after.state.lineage.newest_first()) == list(before.lineage.newest_first())
    publish(root, branch="feature")
    assert len(manifest.load(root, "feature").state.lineage) == len(before.lineage) + 1


def test_a_publish_prepared_before_a_compaction_still_lands_or_is_refused_cleanly(root: Root) -> None:
    for _ in range(5):
        publish(root)
    stale = manifest.load(root)
    manifest.compact_manifest(root.manifest())
    commit, head = new_ulid(), stale.state.effective_head
    batch = [CommitRow(commit, stale.state.version + 1, None, now_micros(), head), HeadRow(None, commit, head)]
    outcome = manifest.publish_rows(stale, batch)
    root.memory.clear()
    state = manifest.load(root).state
    if isinstance(outcome, tables.Landed):
        assert not outcome.exact
        assert state.graph_head == commit
    else:
        assert isinstance(outcome, tables.Refused)
        assert commit not in state.lineage


def test_opening_reads_no_metadata_of_old_commits_until_somebody_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = store_for(tmp_path / "g").root
    create_graph(root)
    for _ in range(3):
        publish(root)
    scanned: list[list[str]] = []
    scan = TableHandle.scan

    def recording(handle: TableHandle, columns: Any = None, *args: Any, **options: Any) -> pa.Table:
        scanned.append(list(columns or ()))
        return scan(handle, columns, *args, **options)

    monkeypatch.setattr(TableHandle, "scan", recording)
    root.memory.clear()
    lazy = manifest.load(root).state
    assert lazy.effective_head is not None
    assert (len(lazy.lineage), ["metadata" in columns for columns in scanned]) == (4, [False])
    whole = decode_state(
        scan(manifest.load(root).handle, SCAN_COLUMNS), branch=None, version=lazy.version, identifier=()
    )
    assert list(lazy.lineage.newest_first()) == list(whole.lineage.newest_first())
    assert (lazy.snapshot, lazy.heads, lazy.control) == (whole.snapshot, whole.heads, whole.control)
    assert [columns for columns in scanned if "metadata" in columns] == [list(COMMIT_COLUMNS)]
