"""Commits, branches and time travel through the SDK: versioning cases V1 to V4, V15, V16 and V19 to V23."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.errors import AmbiguousCommit, BadRequest, BranchNotFound, CommitNotFound, NotFound
from omnigraph.ids import new_ulid, now_micros
from omnigraph.storage.intent.capture import capture
from omnigraph.storage.intent.publication import Publication
from omnigraph.storage.manifest import manifest
from omnigraph.storage.protocol.publish import publish
from omnigraph.testing.naive.observe import image_of

SCHEMA = """
node Person { name: String @key  age: I32? }
node Pet { name: String @key }
edge Knows: Person -> Person
"""


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "g.omni", SCHEMA)


def add(graph: og.Graph, name: str, age: int | None = None, branch: str | None = None) -> str:
    text = "query q($name: String, $age: I32?) { insert Person { name: $name, age: $age } }"
    done = graph.mutate(text, params={"name": name, "age": age}, branch=branch)
    assert done.commit_id is not None
    return done.commit_id


def names(reader: og.Graph | og.GraphAt) -> list[str]:
    return sorted(image_of(reader.view())["node:Person"])


@pytest.mark.parametrize("case", ["V1"])
def test_a_fresh_graph_has_one_commit_without_parents(graph: og.Graph, case: str) -> None:
    (genesis,) = graph.commits.list()
    assert (genesis.parent_commit_id, genesis.merged_parent_commit_id, genesis.actor_id) == (None, None, None)
    assert graph.commits.head() == genesis.graph_commit_id
    assert graph.commits.show(genesis.graph_commit_id) == genesis


@pytest.mark.parametrize("case", ["V2"])
def test_each_write_adds_a_commit_with_its_actor_newest_first(graph: og.Graph, case: str) -> None:
    written = [add(og.open(graph.uri, actor=actor), actor) for actor in ("act-a", "act-b")]
    listed = graph.commits.list()
    assert [commit.actor_id for commit in listed] == ["act-b", "act-a", None]
    assert [commit.graph_commit_id for commit in listed[:2]] == written[::-1]
    assert [commit.parent_commit_id for commit in listed] == [*(c.graph_commit_id for c in listed[1:]), None]
    assert graph.commits.list(limit=1) == listed[:1]


@pytest.mark.parametrize("case", ["V3"])
def test_a_fresh_branch_shows_the_history_of_its_source(graph: og.Graph, case: str) -> None:
    fork = add(graph, "a")
    graph.branches.create("feature")
    assert graph.commits.list("feature") == graph.commits.list()
    assert graph.commits.head("feature") == fork
    assert dict(manifest.load(graph._core.store.root, "feature").state.heads) == {"main": fork}


@pytest.mark.parametrize("case", ["V4"])
def test_the_first_write_on_a_branch_gives_it_a_head_of_its_own(graph: og.Graph, case: str) -> None:
    fork = add(graph, "a")
    graph.branches.create("feature")
    own = add(graph, "b", branch="feature")
    assert manifest.load(graph._core.store.root, "feature").state.heads["feature"] == own
    assert graph.commits.show(own).parent_commit_id == fork
    assert graph.commits.head() == fork
    assert names(graph) == ["a"]
    assert names(graph.branch("feature")) == ["a", "b"]


@pytest.mark.parametrize("case", ["V15"])
def test_writing_one_type_on_a_branch_forks_that_table_only(graph: og.Graph, case: str) -> None:
    add(graph, "a")
    graph.branches.create("feature")
    add(graph, "b", branch="feature")
    entries = graph.view("feature").snapshot.entries
    assert (entries["node:Person"].owner, entries["edge:Knows"].owner) == ("feature", None)
    assert entries["node:Person"].version == graph.snapshot().entries["node:Person"].version + 1


@pytest.mark.parametrize("case", ["V16"])
def test_a_cascade_on_a_branch_forks_only_tables_with_matching_rows(graph: og.Graph, case: str) -> None:
    graph.mutate(
        'query q() { insert Person { name: "a" } insert Person { name: "b" } insert Knows { from: "a", to: "a" } }'
    )
    graph.branches.create("lonely")
    graph.mutate('query q() { delete Person where name = "b" }', branch="lonely")
    assert {e.table_key: e.owner for e in graph.view("lonely").snapshot} == {
        "edge:Knows": None, "node:Person": "lonely", "node:Pet": None,
    }  # fmt: skip
    graph.branches.create("linked")
    graph.mutate('query q() { delete Person where name = "a" }', branch="linked")
    assert {e.table_key: e.owner for e in graph.view("linked").snapshot} == {
        "edge:Knows": "linked", "node:Person": "linked", "node:Pet": None,
    }  # fmt: skip


@pytest.mark.parametrize("case", ["V19"])
def test_a_view_stays_what_it_is_while_others_commit(graph: og.Graph, case: str) -> None:
    add(graph, "a")
    view = graph.view()
    before = image_of(view)
    writer = threading.Thread(target=lambda: [add(graph, name) for name in "bcd"])
    writer.start()
    seen = [image_of(view) for _ in range(20)]
    writer.join()
    assert all(image == before for image in seen)
    assert names(graph) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("case", ["V20"])
def test_the_past_is_found_by_commit_by_version_and_by_time(graph: og.Graph, case: str) -> None:
    commits = [add(graph, name) for name in "abc"]
    versions = [graph.commits.show(commit).manifest_version for commit in commits]
    for at, (commit, version) in enumerate(zip(commits, versions, strict=True)):
        assert names(graph.at(commit)) == list("abc"[: at + 1])
        assert graph.at(commit).commit_id == graph.at(version=version).commit_id == commit
    moment = datetime.fromtimestamp(graph.commits.show(commits[1]).created_at / 1e6, UTC)
    assert graph.at(time=moment).commit_id == commits[1]
    assert graph.at(time="9999-01-01T00:00:00Z").commit_id == commits[2]


@pytest.mark.parametrize("case", ["V20"])
def test_a_version_below_the_fork_is_read_from_the_parent_branch(graph: og.Graph, case: str) -> None:
    first, second = add(graph, "a"), add(graph, "b")
    graph.branches.create("feature")
    add(graph, "main-only")
    add(graph, "feature-only", branch="feature")
    feature = graph.branch("feature")
    assert names(feature.at(version=2)) == ["a"]
    assert names(feature.at(first)) == ["a"]
    assert names(feature.at(second)) == ["a", "b"]
    assert feature.at(version=2).branch_name == "main"


@pytest.mark.parametrize("case", ["V21"])
def test_an_unknown_version_or_commit_is_not_found(graph: og.Graph, case: str) -> None:
    add(graph, "a")
    with pytest.raises(CommitNotFound):
        graph.at("01ARZ3NDEKTSV4RRFFQ69G5FAV")
    for version in (0, -1, 99):
        with pytest.raises(CommitNotFound, match=f"version {version}"):
            graph.at(version=version)
    with pytest.raises(NotFound):
        graph.at(time="1999-01-01T00:00:00Z")
    with pytest.raises(BadRequest):
        graph.at(time="yesterday")
    with pytest.raises(BadRequest):
        graph.at()


@pytest.mark.parametrize("case", ["V22"])
def test_an_entity_is_absent_before_its_insert_and_after_its_delete(graph: og.Graph, case: str) -> None:
    genesis = graph.commits.head()
    inserted = add(graph, "a", 1)
    updated = graph.mutate('query q() { update Person set { age: 2 } where name = "a" }').commit_id
    deleted = graph.mutate('query q() { delete Person where name = "a" }').commit_id
    found = [graph.get("Person", "a", at=commit) for commit in (genesis, inserted, updated, deleted)]
    assert found == [
        None,
        {"id": "a", "age": 1, "name": "a"},
        {"id": "a", "age": 2, "name": "a"},
        None,
    ]
    assert graph.get("Person", "a") is None


@pytest.mark.parametrize("case", ["V22"])
def test_an_edge_is_found_with_its_endpoints(graph: og.Graph, case: str) -> None:
    graph.mutate('query q() { insert Person { name: "a" } insert Knows { from: "a", to: "a" } }')
    (edge_id,) = image_of(graph.view())["edge:Knows"]
    assert graph.get("Knows", edge_id) == graph.get("edge:Knows", edge_id) == {"id": edge_id, "src": "a", "dst": "a"}
    with pytest.raises(NotFound, match="no type 'Nobody'"):
        graph.get("Nobody", "a")


@pytest.mark.parametrize("case", ["V23"])
def test_a_commit_of_a_deleted_and_recreated_branch_has_no_witness(tmp_path: Path, case: str) -> None:
    graph = og.init(tmp_path / "g.omni", SCHEMA, settings=og.Settings(writers="single_process"))
    graph.branches.create("feature")
    commit = graph.commits.show(add(graph, "a", branch="feature"))
    graph.branches.delete("feature")
    with pytest.raises(BranchNotFound):
        graph.at(commit)
    graph.branches.create("feature")
    add(graph, "b", branch="feature")
    with pytest.raises(NotFound, match="incarnation"):
        graph.at(commit)
    with pytest.raises(CommitNotFound):
        graph.at(commit.graph_commit_id)


def test_a_commit_is_not_read_from_a_later_branch_of_the_name_that_has_come_as_far(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", SCHEMA, settings=og.Settings(writers="single_process"))
    graph.branches.create("feature")
    commits = [graph.commits.show(add(graph, f"old{number}", branch="feature")) for number in range(8)]
    graph.branches.delete("feature")
    graph.branches.create("feature")
    first = graph.commits.show(add(graph, "new", branch="feature"))
    while manifest.load(graph._core.store.root, "feature").state.version < commits[-1].manifest_version:
        add(graph, new_ulid(), branch="feature")
    assert first.manifest_version <= commits[-1].manifest_version
    with pytest.raises(NotFound, match="was deleted and created again"):
        graph.at(commits[-1])


def test_two_commits_that_begin_alike_are_both_named(graph: og.Graph) -> None:
    store, alike = graph._core.store, ["01H0000000AAAAAAAAAAAAAAAA", "01H0000000BBBBBBBBBBBBBBBB"]
    for commit_id in alike:
        token = capture(store, None).token
        publish(store, Publication(branch=None, commit_id=commit_id, created_at=now_micros(), token=token))
    with pytest.raises(AmbiguousCommit) as caught:
        graph.at("01H000")
    assert all(commit_id in str(caught.value) for commit_id in alike)
    assert graph.at("01H0000000A").commit_id == alike[0]


@pytest.mark.parametrize("case", ["S48"])
def test_a_warm_handle_sees_the_commit_of_another_process(graph: og.Graph, case: str) -> None:
    add(graph, "a")
    assert names(graph) == ["a"]
    script = "import sys, omnigraph as og; og.open(sys.argv[1]).mutate('query q() { insert Person { name: \"b\" } }')"
    subprocess.run([sys.executable, "-c", script, graph.uri], check=True, timeout=300)
    assert names(graph) == ["a", "b"]
    assert graph.get("Person", "b") is not None


def test_a_handle_bound_to_a_branch_works_on_that_branch(graph: og.Graph) -> None:
    graph.branches.create("feature")
    feature = graph.branch("feature")
    add(feature, "f")
    assert (feature.branch_name, names(feature), names(graph)) == ("feature", ["f"], [])
    with pytest.raises(BranchNotFound):
        graph.branch("nowhere")
    assert graph.sync("feature") == feature.commits.head()
    assert names(graph) == ["f"]


def test_a_past_view_cannot_write_and_is_never_a_moving_target(graph: og.Graph) -> None:
    past = graph.at(add(graph, "a"))
    time.sleep(0.002)
    add(graph, "b")
    assert names(past) == ["a"]
    assert not hasattr(past, "mutate")
