"""Indexes, optimize, repair and cleanup through the SDK: operations cases ops-1 to ops-27."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import pytest

import omnigraph as og
from omnigraph.errors import BadRequest, Conflict, HistoricalVersionReclaimed, RecoveryRequired
from omnigraph.settings import Settings
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.ref_names import branch_of
from omnigraph.storage.intent import sidecar
from omnigraph.storage.intent.control import hold_control
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.reclaim import existing_versions
from omnigraph.storage.lance.tables import TableHandle
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.snapshot import TableEntry
from omnigraph.testing.crash.graph_child import GraphChild
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.naive.observe import image_of

SETTINGS = Settings(lease_ttl_ms=600_000, lease_skew_ms=0, writer_wait_ms=60_000, retire_grace_ms=0, mark_wait_ms=0)
SCHEMA = """
node Person { name: String @key  age: I32? }
node Company { name: String @key }
edge Knows: Person -> Person { since: Date? }
edge WorksAt: Person -> Company
"""
RECORDS = b"""{"type":"Person","data":{"name":"Alice","age":30}}
{"type":"Person","data":{"name":"Bob","age":25}}
{"type":"Person","data":{"name":"Charlie","age":35}}
{"type":"Person","data":{"name":"Diana","age":28}}
{"type":"Company","data":{"name":"Acme"}}
{"type":"Company","data":{"name":"Globex"}}
{"edge":"Knows","from":"Alice","to":"Bob","data":{"id":"k1"}}
{"edge":"Knows","from":"Alice","to":"Charlie","data":{"id":"k2"}}
{"edge":"Knows","from":"Bob","to":"Diana","data":{"id":"k3"}}
{"edge":"WorksAt","from":"Alice","to":"Acme","data":{"id":"w1"}}
{"edge":"WorksAt","from":"Bob","to":"Globex","data":{"id":"w2"}}
"""
KEYS = ["edge:Knows", "edge:WorksAt", "node:Company", "node:Person"]
PERSON = "node:Person"


def case(*numbers: str) -> pytest.MarkDecorator:
    """Puts the number of a specification case into the id of its test."""
    return pytest.mark.parametrize("case", [pytest.param(f"ops-{number}", id=f"ops-{number}") for number in numbers])


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "g.omni", SCHEMA, settings=SETTINGS)
    made.load(RECORDS, mode="overwrite")
    return made


def state_of(graph: og.Graph, branch: str | None = None) -> manifest.ManifestState:
    return manifest.load(graph._core.store.root, branch).state


def entry(graph: og.Graph, key: str = PERSON) -> TableEntry:
    return state_of(graph).snapshot.entry(key)


def newest(graph: og.Graph, key: str = PERSON) -> TableHandle:
    return tables.open_table(entry(graph, key).address(graph._core.store.root), control=True)


def raw(graph: og.Graph, key: str = PERSON) -> Any:
    """The dataset behind a type, as a program that knows nothing of graphs would open it."""
    return lance.dataset(entry(graph, key).address(graph._core.store.root).uri)


def add(graph: og.Graph, *names: str, branch: str | None = None) -> None:
    for name in names:
        text = "query q($name: String) { insert Person { name: $name, age: 1 } }"
        graph.mutate(text, params={"name": name}, branch=branch)


def stats(graph: og.Graph) -> dict[str, Any]:
    return {each.type_key: each for each in graph.optimize()}


def coverage(graph: og.Graph) -> dict[tuple[str, str, str], float]:
    return {(each.type_key, each.column, each.index_type): each.coverage for each in graph.indexes() if each.rows}


# --- optimize and indexes ---------------------------------------------------------------------------------


@case("1")
def test_an_empty_graph_has_nothing_to_optimize(tmp_path: Path, case: str) -> None:
    graph = og.init(tmp_path / "g.omni", SCHEMA)
    found = graph.optimize()
    assert [each.type_key for each in found] == [*KEYS, "__manifest"]
    assert {(each.fragments_removed, each.fragments_added, each.committed) for each in found} == {(0, 0, False)}


@case("2")
def test_a_second_optimize_does_nothing(graph: og.Graph, case: str) -> None:
    add(graph, *(f"p{number}" for number in range(6)))
    assert any(each.committed for each in graph.optimize())
    commits, version = graph.commits.list(maintenance=True), state_of(graph).version
    assert {(e.fragments_removed, e.fragments_added, e.committed) for e in graph.optimize()} == {(0, 0, False)}
    assert (graph.commits.list(maintenance=True), state_of(graph).version) == (commits, version)


@case("3")
def test_optimize_is_one_commit_and_compacts_the_manifest(graph: og.Graph, case: str) -> None:
    add(graph, *(f"p{number}" for number in range(20)))
    before = graph.commits.list(maintenance=True)
    found = graph.optimize()
    assert found[-1].type_key == "__manifest"
    assert found[-1].committed
    assert found[-1].fragments_removed > 0
    after = graph.commits.list(maintenance=True)
    assert after[1:] == before
    assert after[0].actor_id is None
    assert sidecar.pending(graph._core.store.objects) == []
    assert violations(graph._core.store) == []


@case("4")
def test_optimize_changes_no_row_and_writes_go_on(graph: og.Graph, case: str) -> None:
    add(graph, *(f"p{number}" for number in range(6)))
    before = image_of(graph.view())
    graph.optimize()
    assert image_of(graph.view()) == before
    assert newest(graph).fragment_count() == 1
    add(graph, "later")
    graph.mutate('query q() { update Person set { age: 31 } where name = "Alice" }')
    graph.mutate('query q() { delete Person where name = "Diana" }')
    assert graph.get("Person", "Alice") == {"id": "Alice", "name": "Alice", "age": 31}
    assert graph.get("Person", "Diana") is None
    assert graph.get("Knows", "k3") is None
    assert violations(graph._core.store) == []


@case("5")
def test_an_index_declared_later_is_built_by_optimize(graph: og.Graph, case: str) -> None:
    graph.schema.apply(SCHEMA.replace("age: I32?", "age: I32? @index"))
    assert coverage(graph)[PERSON, "age", "BTREE"] == 0
    graph.optimize()
    assert coverage(graph)[PERSON, "age", "BTREE"] == 1


@case("6")
def test_a_renamed_type_has_its_indexes(graph: og.Graph, case: str) -> None:
    graph.optimize()
    renamed = SCHEMA.replace("node Person", 'node Human @rename_from("Person")').replace(": Person", ": Human")
    graph.schema.apply(renamed.replace("-> Person", "-> Human").replace("age: I32?", "age: I32? @index"))
    graph.optimize()
    found = {key: share for key, share in coverage(graph).items() if key[0] == "node:Human"}
    assert found == {
        ("node:Human", "id", "BTREE"): 1,
        ("node:Human", "name", "BTREE"): 1,
        ("node:Human", "name", "INVERTED"): 1,
        ("node:Human", "age", "BTREE"): 1,
    }


@case("7")
@pytest.mark.parametrize("added", [1, 40])
def test_new_rows_are_covered_by_the_next_optimize(graph: og.Graph, case: str, added: int) -> None:
    add(graph, *(f"p{number}" for number in range(8)))
    graph.optimize()
    records = [f'{{"type":"Person","data":{{"name":"n{number}","age":{number}}}}}' for number in range(added)]
    graph.load(records)
    assert coverage(graph)[PERSON, "id", "BTREE"] < 1
    before = image_of(graph.view())
    assert stats(graph)[PERSON].committed
    assert set(coverage(graph).values()) == {1}
    assert image_of(graph.view()) == before
    assert graph.get("Person", "n0") == {"id": "n0", "name": "n0", "age": 0}


DOC = 'node Doc { slug: String @key  n: I64 @index  embedding: Vector(8)? @index @metric("cosine") }'
UNTRAINED = "property has no non-null vectors to train on yet"


@pytest.fixture
def docs(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "d.omni", DOC, settings=SETTINGS)
    made.load(b'{"type":"Doc","data":{"slug":"a","n":1}}\n{"type":"Doc","data":{"slug":"b","n":2}}')
    return made


@case("8")
def test_missing_indexes_are_built_in_one_version_and_one_commit(docs: og.Graph, case: str) -> None:
    at, version = entry(docs, "node:Doc"), state_of(docs).version
    pending = docs.ensure_indices()
    assert [(each.type_key, each.property, each.reason) for each in pending] == [("node:Doc", "embedding", UNTRAINED)]
    assert entry(docs, "node:Doc").version == at.version + 1 == newest(docs, "node:Doc").version
    assert state_of(docs).version == version + 1
    assert {(each.column, each.index_type, each.coverage, each.pending) for each in docs.indexes()} == {
        ("id", "BTREE", 1, None),
        ("slug", "BTREE", 1, None),
        ("slug", "INVERTED", 1, None),
        ("n", "BTREE", 1, None),
        ("embedding", "IVF_SQ", 0, UNTRAINED),
    }
    commits = docs.commits.list(maintenance=True)
    assert docs.ensure_indices() == pending
    assert docs.commits.list(maintenance=True) == commits
    assert violations(docs._core.store) == []


@case("9")
def test_vectors_that_arrive_later_are_indexed(docs: og.Graph, case: str) -> None:
    docs.ensure_indices()
    assert stats(docs)["node:Doc"].pending_indexes[0].reason == UNTRAINED
    docs.load([f'{{"type":"Doc","data":{{"slug":"v{n}","n":{n},"embedding":{[n + 1.0] * 8}}}}}' for n in range(3)])
    assert stats(docs)["node:Doc"].pending_indexes == ()
    assert coverage(docs)["node:Doc", "embedding", "IVF_SQ"] == 1
    assert not stats(docs)["node:Doc"].committed


def test_rows_without_vectors_do_not_keep_optimize_busy(docs: og.Graph) -> None:
    docs.load([f'{{"type":"Doc","data":{{"slug":"v{n}","n":{n},"embedding":{[n + 1.0] * 8}}}}}' for n in range(60)])
    docs.optimize()
    docs.load(b'{"type":"Doc","data":{"slug":"plain","n":9}}')
    docs.optimize()
    assert not any(each.committed for each in docs.optimize())


@case("10")
def test_blobs_survive_compaction(tmp_path: Path, case: str) -> None:
    graph = og.init(tmp_path / "b.omni", "node Pic { name: String @key  data: Blob? }", settings=SETTINGS)
    for name, data in (
        ("null", "null"),
        ("empty", '"base64:"'),
        ("hello", '"base64:SGVsbG8="'),
        ("two", '"base64:AAE="'),
    ):
        graph.load(f'{{"type":"Pic","data":{{"name":"{name}","data":{data}}}}}'.encode())
    before = image_of(graph.view())
    found = stats(graph)["node:Pic"]
    assert (found.skipped, found.fragments_removed, found.fragments_added) == (None, 4, 1)
    assert image_of(graph.view()) == before


@case("11")
def test_a_drifted_table_is_skipped_and_the_others_are_not(graph: og.Graph, case: str) -> None:
    add(graph, "p1", "p2")
    published = entry(graph).version
    raw(graph).optimize.compact_files()
    head = newest(graph).version
    found = stats(graph)
    assert (found[PERSON].skipped, found[PERSON].committed) == ("drift_needs_repair", False)
    assert (found[PERSON].published_dataset_version, found[PERSON].lance_head_version) == (published, head)
    assert (entry(graph).version, newest(graph).version) == (published, head)
    assert found["node:Company"].committed
    assert found["node:Company"].skipped is None


def test_our_own_light_compaction_is_no_drift(tmp_path: Path) -> None:
    settings = Settings(table_compact_fragments=3, writer_wait_ms=2_000)
    graph = og.init(tmp_path / "g.omni", SCHEMA, settings=settings)
    add(graph, "p1", "p2", "p3")
    assert newest(graph).version > entry(graph).version
    assert {each.classification for each in graph.repair().datasets} == {"no_drift"}
    assert stats(graph)[PERSON].skipped is None
    assert graph.cleanup(keep=1, confirm=True).datasets[-1].error is None


@case("12")
@pytest.mark.parametrize(
    "verb",
    [
        pytest.param(lambda graph: graph.optimize(), id="optimize"),
        pytest.param(lambda graph: graph.repair(), id="repair"),
        pytest.param(lambda graph: graph.cleanup(keep=1, confirm=True), id="cleanup"),
    ],
)
def test_an_unresolved_operation_refuses_maintenance(
    graph: og.Graph, case: str, verb: Callable[[og.Graph], Any]
) -> None:
    spec = "mutation.post_table_commit=kill"
    child = GraphChild(Path(graph.uri), SETTINGS, spec, "load", '{"type":"Person","data":{"name":"Zoe"}}')
    assert child.finish().exit_code == -signal.SIGKILL
    before, head = state_of(graph).version, newest(graph).version
    with pytest.raises(RecoveryRequired, match="clean recovery state"):
        verb(graph)
    assert (state_of(graph).version, newest(graph).version) == (before, head)
    verb(og.open(graph.uri, settings=SETTINGS))


# --- repair -----------------------------------------------------------------------------------------------


@case("13")
def test_a_clean_graph_needs_no_repair(graph: og.Graph, case: str) -> None:
    report = graph.repair()
    assert [each.type_key for each in report.datasets] == KEYS
    assert {(each.classification, each.action) for each in report.datasets} == {("no_drift", "no_op")}
    assert report.graph_manifest_version is None
    assert report.to_json()["datasets"][0]["operations"] == ()


@case("14")
def test_compaction_drift_is_previewed_and_healed(graph: og.Graph, case: str) -> None:
    add(graph, "p1", "p2")
    published = entry(graph).version
    raw(graph).optimize.compact_files()
    head, version = newest(graph).version, state_of(graph).version
    preview = graph.repair().datasets[-1]
    assert (preview.classification, preview.action) == ("verified_maintenance", "preview")
    assert preview.operations == ("ReserveFragments", "Rewrite")
    assert (state_of(graph).version, entry(graph).version) == (version, published)
    report = graph.repair(confirm=True)
    assert report.datasets[-1].action == "healed"
    assert report.graph_manifest_version == state_of(graph).version
    assert entry(graph).version == head
    assert graph.commits.list(maintenance=True)[0].actor_id == "omnigraph:repair"
    assert graph.repair().datasets[-1].classification == "no_drift"


@case("15")
def test_foreign_deletes_are_refused(graph: og.Graph, case: str) -> None:
    published = entry(graph).version
    raw(graph).delete("id = 'Diana'")
    report = graph.repair(confirm=True)
    assert (report.datasets[-1].classification, report.datasets[-1].action) == ("suspicious", "refused")
    assert report.datasets[-1].operations == ("Delete",)
    assert [each.type_key for each in report.refused] == [PERSON]
    assert (entry(graph).version, report.graph_manifest_version) == (published, None)
    assert graph.get("Person", "Diana") is not None


@case("16")
def test_foreign_deletes_can_be_forced(graph: og.Graph, case: str) -> None:
    raw(graph).delete("id = 'Diana'")
    report = graph.repair(confirm=True, force=True)
    assert report.datasets[-1].action == "forced"
    assert entry(graph).version == newest(graph).version
    assert (entry(graph).row_count, graph.get("Person", "Diana")) == (3, None)
    assert graph.commits.list(maintenance=True)[0].actor_id == "omnigraph:repair:force"
    assert graph.commits.list(maintenance=True)[0].manifest_version == report.graph_manifest_version
    add(graph, "later")


def test_one_refused_table_does_not_stop_another_from_healing(graph: og.Graph) -> None:
    add(graph, "p1", "p2")
    raw(graph).optimize.compact_files()
    raw(graph, "node:Company").delete("id = 'Acme'")
    actions = {each.type_key: each.action for each in graph.repair(confirm=True).datasets}
    assert (actions[PERSON], actions["node:Company"]) == ("healed", "refused")


def test_a_reclaimed_record_is_unverifiable(graph: og.Graph) -> None:
    for name in ("Diana", "Bob"):
        raw(graph).delete(f"id = '{name}'")
    gone = entry(graph).version + 1
    raw(graph).cleanup_old_versions(versions=[gone])
    found = graph.repair(confirm=True).datasets[-1]
    assert (found.classification, found.action) == ("unverifiable", "refused")
    assert found.error is not None
    assert f"version {gone}" in found.error


def test_force_needs_confirm(graph: og.Graph) -> None:
    with pytest.raises(BadRequest, match="confirm"):
        graph.repair(force=True)


@case("17")
@pytest.mark.parametrize(
    "verb",
    [
        pytest.param(lambda graph: graph.load(b'{"type":"Person","data":{"name":"Zoe"}}'), id="load"),
        pytest.param(lambda graph: graph.mutate('query q() { delete Person where name = "Bob" }'), id="delete"),
        pytest.param(lambda graph: graph.schema.apply(SCHEMA.replace("age: I32?", "age: I32?  x: I32?")), id="schema"),
        pytest.param(lambda graph: graph.ensure_indices(), id="ensure_indices"),
        pytest.param(lambda graph: graph.cleanup(keep=1, confirm=True), id="cleanup"),
    ],
)
def test_drift_refuses_every_other_writer(graph: og.Graph, case: str, verb: Callable[[og.Graph], Any]) -> None:
    raw(graph).delete("id = 'Diana'")
    published, head = entry(graph).version, newest(graph).version
    with pytest.raises(Conflict, match="repair"):
        verb(graph)
    assert (entry(graph).version, newest(graph).version) == (published, head)
    assert sidecar.pending(graph._core.store.objects) == []


@case("17")
def test_drift_refuses_a_merge(graph: og.Graph, case: str) -> None:
    graph.branches.create("feature")
    add(graph, "Zoe", branch="feature")
    add(graph, "Yve")
    raw(graph).delete("id = 'Diana'")
    published, head = entry(graph).version, newest(graph).version
    with pytest.raises(Conflict, match="repair"):
        graph.branches.merge("feature", into="main")
    assert (entry(graph).version, newest(graph).version) == (published, head)


# --- cleanup ----------------------------------------------------------------------------------------------


def versions(graph: og.Graph, key: str = PERSON) -> list[int]:
    return existing_versions(newest(graph, key))


@case("18")
def test_cleanup_without_a_policy_is_refused(graph: og.Graph, case: str) -> None:
    with pytest.raises(BadRequest, match=r"keep_versions.*older_than"):
        graph.cleanup(confirm=True)


@case("19")
def test_keeping_one_version_leaves_one(graph: og.Graph, case: str) -> None:
    add(graph, "p1", "p2", "p3")
    before = image_of(graph.view())
    assert len(versions(graph)) > 3
    report = graph.cleanup(keep=1, confirm=True)
    assert [each.type_key for each in report.datasets] == KEYS
    assert report.datasets[-1].old_versions_removed > 0
    assert report.datasets[-1].bytes_removed > 0
    assert versions(graph) == [entry(graph).version]
    assert image_of(graph.view()) == before
    assert image_of(og.open(graph.uri, settings=SETTINGS).view()) == before
    add(graph, "later")
    assert violations(graph._core.store) == []


def test_a_preview_removes_nothing(graph: og.Graph) -> None:
    add(graph, "p1", "p2")
    before = versions(graph)
    preview = graph.cleanup(keep=1)
    assert versions(graph) == before
    real = graph.cleanup(keep=1, confirm=True)
    assert (preview.confirm, real.confirm) == (False, True)
    assert [e.old_versions_removed for e in preview.datasets] == [e.old_versions_removed for e in real.datasets]
    assert graph.cleanup(keep=0, confirm=True).datasets[-1].old_versions_removed == 0


@case("20")
def test_keeping_more_versions_than_there_are_removes_nothing(graph: og.Graph, case: str) -> None:
    add(graph, "p1")
    before = versions(graph)
    report = graph.cleanup(keep=10, confirm=True)
    assert sum(each.old_versions_removed for each in report.datasets) == 0
    assert versions(graph) == before


@case("21")
@pytest.mark.parametrize("age", ["0s", 0, timedelta()])
def test_an_age_of_zero_keeps_the_newest_version(graph: og.Graph, case: str, age: Any) -> None:
    add(graph, "p1", "p2")
    report = graph.cleanup(older_than=age, confirm=True)
    assert (report.older_than_secs, report.keep_versions) == (0, None)
    assert versions(graph) == [entry(graph).version]
    graph.load(b'{"type":"Person","data":{"name":"Alice","age":31}}', mode="merge")
    assert graph.get("Person", "Alice") == {"id": "Alice", "name": "Alice", "age": 31}


def test_both_limits_together_remove_only_what_is_beyond_both(graph: og.Graph) -> None:
    add(graph, "p1", "p2", "p3")
    before = versions(graph)
    graph.cleanup(keep=1, older_than="7d", confirm=True)
    assert versions(graph) == before
    graph.cleanup(keep=2, older_than="0s", confirm=True)
    assert versions(graph) == before[-2:]


@case("22")
def test_a_branch_that_shares_tables_keeps_them(graph: og.Graph, case: str) -> None:
    graph.branches.create("feature")
    before = image_of(graph.branch("feature").view())
    add(graph, "p1", "p2", "p3")
    for policy in ({"keep": 1}, {"older_than": "0s"}):
        graph.cleanup(confirm=True, **policy)  # type: ignore[arg-type]
        assert image_of(og.open(graph.uri, branch="feature", settings=SETTINGS).view()) == before


@case("23")
def test_the_oldest_pin_of_all_branches_wins(graph: og.Graph, case: str) -> None:
    images = {}
    for name in ("early", "late"):
        graph.branches.create(name)
        images[name] = image_of(graph.branch(name).view())
        add(graph, f"after-{name}")
    graph.cleanup(keep=1, confirm=True)
    reopened = og.open(graph.uri, settings=SETTINGS)
    assert {name: image_of(reopened.branch(name).view()) for name in images} == images


@case("24")
def test_a_branch_that_cannot_be_read_stops_everything(graph: og.Graph, case: str) -> None:
    graph.branches.create("feature")
    pinned = entry(graph).version
    add(graph, "p1", "p2")
    raw(graph).cleanup_old_versions(versions=[pinned])
    before = {key: versions(graph, key) for key in KEYS}
    with pytest.raises(Conflict, match=r"could not classify live branch 'feature'.*dataset for node type 'Person'"):
        graph.cleanup(keep=1, confirm=True)
    assert {key: versions(graph, key) for key in KEYS} == before


@case("25")
def test_drift_stops_cleanup(graph: og.Graph, case: str) -> None:
    add(graph, "p1", "p2")
    raw(graph).optimize.compact_files()
    before = {key: versions(graph, key) for key in KEYS}
    with pytest.raises(Conflict, match=r"dataset for node type 'Person' has uncovered HEAD drift.*run repair"):
        graph.cleanup(keep=1, confirm=True)
    assert {key: versions(graph, key) for key in KEYS} == before


@case("26")
def test_refs_of_deleted_branches_are_removed(graph: og.Graph, case: str) -> None:
    for name in ("gone", "stays"):
        graph.branches.create(name)
        add(graph, f"on-{name}", branch=name)
    stays = image_of(graph.branch("stays").view())
    raw(graph).create_branch("leftover", entry(graph).version)
    graph.branches.delete("gone")
    report = graph.cleanup(keep=1, confirm=True)
    assert [name.rpartition("/")[2] for name in report.orphans] == ["leftover"]
    assert [branch_of(ref) for ref in raw(graph).branches.list()] == ["stays"]
    location = Path(graph.uri, entry(graph).location)
    assert [branch_of(path.name) for path in (location / "tree").iterdir()] == ["stays"]
    (freed, leftover) = report.branches_removed
    assert (freed.branch, leftover.branch) == ("gone", "leftover")
    assert freed.files >= 4
    assert freed.bytes > 1_000
    assert image_of(og.open(graph.uri, branch="stays", settings=SETTINGS).view()) == stays
    add(graph, "more", branch="stays")
    assert violations(graph._core.store) == []


def test_files_of_a_deleted_branch_stay_until_the_grace_is_over(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", SCHEMA)  # the default grace is minutes
    graph.load(RECORDS)
    graph.branches.create("gone")
    add(graph, "on-gone", branch="gone")
    graph.branches.delete("gone")
    assert graph.cleanup(keep=1, confirm=True).branches_removed == ()
    (left,) = (Path(graph.uri, entry(graph).location) / "tree").iterdir()
    assert branch_of(left.name) == "gone"
    assert any(left.rglob("*.lance"))


@case("27")
def test_a_collected_snapshot_says_so(graph: og.Graph, case: str) -> None:
    old = graph.commits.head()
    assert old is not None
    add(graph, "p1", "p2")
    assert graph.get("Person", "Alice", at=old) is not None
    graph.cleanup(keep=1, confirm=True)
    for handle in (graph, og.open(graph.uri, settings=SETTINGS)):
        with pytest.raises(HistoricalVersionReclaimed, match="was reclaimed"):
            handle.get("Person", "Alice", at=old)


def test_a_tag_keeps_its_commit_readable(graph: og.Graph) -> None:
    old = graph.commits.head()
    assert old is not None
    before = image_of(graph.view())
    graph.tags.create("v1")
    add(graph, "p1", "p2")
    middle = graph.commits.list(maintenance=True)[1].graph_commit_id
    graph.cleanup(keep=1, confirm=True)
    reopened = og.open(graph.uri, settings=SETTINGS)
    assert image_of(reopened.at(old).view()) == before
    with pytest.raises(HistoricalVersionReclaimed):
        reopened.get("Person", "Alice", at=middle)


def test_a_commit_whose_rows_are_gone_cannot_be_tagged(graph: og.Graph) -> None:
    add(graph, "p1")
    gone = graph.commits.list(maintenance=True)[0]
    add(graph, "p2")
    graph.cleanup(keep=1, confirm=True)
    with pytest.raises(HistoricalVersionReclaimed):
        graph.tags.create("late", gone)
    assert graph.tags.list() == []


def test_branches_can_still_be_merged_after_cleanup(graph: og.Graph) -> None:
    graph.branches.create("feature")
    add(graph, "on-feature", branch="feature")
    add(graph, "on-main")
    graph.branches.merge("main", into="feature")
    add(graph, "p1", "p2", "p3")
    add(graph, "again", branch="feature")
    graph.cleanup(keep=1, confirm=True)
    reopened = og.open(graph.uri, settings=SETTINGS)
    reopened.branches.merge("feature", into="main")
    names = sorted(image_of(reopened.view())[PERSON])
    assert names == sorted(["Alice", "Bob", "Charlie", "Diana", "on-feature", "on-main", "p1", "p2", "p3", "again"])


def test_a_merge_that_meets_a_cleanup_starts_over_when_it_has_finished(graph: og.Graph) -> None:
    """It makes the head of its source needed, of which a cleanup that is already counting does not know."""
    graph.branches.create("feature")
    add(graph, "on-feature", branch="feature")
    impatient = og.open(graph.uri, settings=replace(SETTINGS, writer_wait_ms=50))
    with ExitStack() as cleaning:

        def begin() -> None:
            cleaning.enter_context(hold_control(graph._core.store, "cleanup"))

        before = graph.commits.head()
        with failpoints.armed({"branch_merge.post_capture": begin}), pytest.raises(Conflict, match="cleanup is in"):
            impatient.branches.merge("feature")
        assert graph.commits.head() == before
    assert impatient.branches.merge("feature").outcome == "fast_forward"


def test_old_manifest_versions_go_with_what_they_name(graph: og.Graph) -> None:
    add(graph, *(f"p{number}" for number in range(5)))
    report = graph.cleanup(keep=2, confirm=True)
    assert report.manifest_versions_removed > 0
    reopened = og.open(graph.uri, settings=SETTINGS)
    commits = reopened.commits.list(maintenance=True)
    assert len(commits) == 7
    readable = [commit for commit in commits[:2] if reopened.get("Person", "Alice", at=commit) is not None]
    assert readable == commits[:2]
    assert violations(reopened._core.store) == []


@pytest.mark.parametrize("text", ["1h30m", "7 d", "-1d", "1.5h", ""])
def test_a_duration_that_is_none_is_refused(graph: og.Graph, text: str) -> None:
    with pytest.raises(BadRequest, match="invalid duration"):
        graph.cleanup(older_than=text)


def test_an_unknown_unit_is_refused(graph: og.Graph) -> None:
    with pytest.raises(BadRequest, match="unknown duration unit"):
        graph.cleanup(older_than="7D")


def test_one_table_that_fails_does_not_stop_the_others(graph: og.Graph) -> None:
    add(graph, "p1", "p2")
    with failpoints.armed("cleanup.table_gc=raise@1"):
        report = graph.cleanup(keep=1, confirm=True)
    assert sum(each.error is not None for each in report.datasets) == 1
    assert graph.cleanup(keep=1, confirm=True).to_json()["datasets"][-1]["error"] is None
    assert versions(graph) == [entry(graph).version]


# --- branches ---------------------------------------------------------------------------------------------


def test_maintenance_is_started_from_main(graph: og.Graph) -> None:
    graph.branches.create("feature")
    bound = graph.branch("feature")
    for verb in (bound.optimize, bound.repair, lambda: bound.cleanup(keep=1)):
        with pytest.raises(BadRequest, match="runs on main"):
            verb()


def test_indexes_of_a_branch_are_built_only_where_it_has_its_own_table(graph: og.Graph) -> None:
    graph.branches.create("feature")
    add(graph, "Zoe", branch="feature")
    bound = graph.branch("feature")
    assert bound.ensure_indices() == []
    built = {each.type_key for each in bound.indexes() if each.name is not None}
    assert built == {PERSON}
    assert {each.name for each in graph.indexes()} == {None}
    assert bound.get("Person", "Zoe") is not None
    add(graph, "Yan", branch="feature")
    assert violations(graph._core.store) == []


def test_old_versions_of_a_live_fork_are_collected_too(graph: og.Graph) -> None:
    graph.branches.create("feature")
    for number in range(6):
        add(graph, f"f{number}", branch="feature")
    graph.branches.create("child", from_="feature")
    inherited = image_of(graph.view("child"))
    for number in range(3):
        add(graph, f"g{number}", branch="feature")
    tagged = graph.branch("feature").commits.head()
    graph.branch("feature").tags.create("kept")
    before_tag = image_of(graph.view("feature"))
    add(graph, "last", branch="feature")
    before = image_of(graph.view("feature")), image_of(graph.view())
    entry = graph.view("feature").snapshot.entry(PERSON)
    fork = entry.address(graph._core.store.root)
    existing = existing_versions(tables.open_table(fork))
    old = graph.branch("feature").commits.list(maintenance=True)[-3]

    report = {each.type_key: each for each in graph.cleanup(keep=1, confirm=True).datasets}
    assert report[PERSON].old_versions_removed > 3
    assert report[PERSON].error is None
    left = existing_versions(tables.open_table(fork, control=True))
    assert len(left) < len(existing) - 3
    reopened = og.open(graph.uri, settings=SETTINGS)
    assert (image_of(reopened.view("feature")), image_of(reopened.view())) == before
    assert image_of(reopened.view("child")) == inherited
    assert tagged is not None
    assert image_of(reopened.at(tagged).view()) == before_tag
    with pytest.raises(HistoricalVersionReclaimed):
        reopened.branch("feature").get("Person", "f0", at=old)
    assert reopened.branches.merge("child", into="feature").outcome == "already_up_to_date"
    assert reopened.branches.merge("feature").outcome == "fast_forward"
    assert image_of(reopened.view()) == before[0]
    assert violations(reopened._core.store) == []
