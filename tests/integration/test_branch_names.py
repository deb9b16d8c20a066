"""A branch's name is free as soon as the branch is deleted, and what only that branch held goes with a cleanup."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import omnigraph as og
from cli_runner import ADD_PERSON, Desk
from omnigraph.engine.api.access import access
from omnigraph.errors import BadRequest, BranchNotFound, CommitNotFound, Conflict
from omnigraph.ids import now_micros
from omnigraph.storage.base.layout import MANIFEST
from omnigraph.storage.base.ref_names import branch_of
from omnigraph.storage.base.store import Store
from omnigraph.storage.intent.control import hold_control
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.refs import read_ref
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.branch_refs import live_refs, require_ref
from omnigraph.storage.manifest.rows import BranchRow
from omnigraph.testing.crash.invariants import violations

SCHEMA = "node P { k: String @key n: I32? }\nedge K: P -> P"
KEYS = "query k() { match { $p: P } return { $p.k as k } order { k } }"
PUT = "query m($k: String) { insert P { k: $k n: 1 } }"
SETTINGS = og.Settings(retire_grace_ms=0, lease_ttl_ms=600_000, lease_skew_ms=0)


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "g.omni", SCHEMA, settings=SETTINGS)
    made.load([json.dumps({"type": "P", "data": {"k": "a"}})])
    return made


def keys(graph: og.Graph, branch: str = "main") -> list[str]:
    return [row["k"] for row in graph.query(KEYS, branch=branch).rows()]


def store_of(graph: og.Graph) -> Store:
    return access(graph).store


def trees(graph: og.Graph) -> set[str]:
    return {branch_of(path.name) for path in Path(graph.uri).glob("*/tree/*")} | {
        branch_of(path.name) for path in Path(graph.uri).glob("*/*/tree/*")
    }


def test_a_name_is_used_again_at_once_by_every_handle(graph: og.Graph) -> None:
    other, bound = og.open(graph.uri, settings=SETTINGS), None
    for word in ("one", "two", "three"):
        graph.branches.create("work")
        graph.mutate(PUT, params={"k": word}, branch="work")
        bound = other.branch("work")
        assert keys(other, "work") == ["a", word] == keys(bound, "work")
        graph.branches.delete("work")
        with pytest.raises(BranchNotFound):
            keys(other, "work")
        with pytest.raises(BranchNotFound):
            other.mutate(PUT, params={"k": "late"}, branch="work")
    graph.branches.create("work")
    assert keys(other, "work") == ["a"]
    assert len({branch_of(ref) for ref in live_refs(store_of(graph).root).values()}) == 1
    assert violations(store_of(graph)) == []


def test_a_name_below_that_of_a_deleted_branch_can_be_used_at_once(graph: og.Graph) -> None:
    graph.branches.create("a")
    graph.mutate(PUT, params={"k": "one"}, branch="a")
    graph.branches.delete("a")
    graph.branches.create("a/b")
    graph.mutate(PUT, params={"k": "two"}, branch="a/b")
    with pytest.raises(Conflict, match="nest"):
        graph.branches.create("a")
    graph.cleanup(keep=1, confirm=True)
    assert keys(graph, "a/b") == ["a", "two"]
    graph.branches.delete("a/b")
    graph.branches.create("a")
    assert keys(graph, "a") == ["a"]


def test_what_a_deleted_branch_brought_into_main_stays_whole(graph: og.Graph) -> None:
    graph.branches.create("work")
    graph.mutate(PUT, params={"k": "one"}, branch="work")
    theirs = graph.branch("work").commits.head()
    assert theirs is not None
    merged = graph.branches.merge("work", delete=True)
    graph.branches.create("work")
    graph.mutate(PUT, params={"k": "two"}, branch="work")
    second = graph.branches.merge("work", delete=True)
    graph.branches.create("work")
    for _ in range(2):
        assert keys(graph) == ["a", "one", "two"]
        assert [row["k"] for row in graph.at(merged.commit).query(KEYS).rows()] == ["a", "one"]
        changed = graph.diff(merged.commit, second.commit)
        assert [change.id for change in changed.changes] == ["two"]
        with pytest.raises(CommitNotFound):
            graph.at(theirs).query(KEYS)
        report = graph.cleanup(keep=100, confirm=True)
    assert report.branches_removed == ()
    assert keys(graph, "work") == ["a", "one", "two"]


def test_a_cleanup_gives_back_what_only_deleted_branches_held_and_says_so(graph: og.Graph) -> None:
    for name in ("gone", "gone", "kept"):
        graph.branches.create(name)
        graph.mutate(PUT, params={"k": name}, branch=name)
        if name == "gone":
            graph.branches.delete(name)
    before = sum(path.stat().st_size for path in Path(graph.uri).rglob("*") if path.is_file())
    preview = graph.cleanup(keep=100)
    report = graph.cleanup(keep=100, confirm=True)
    assert preview.branches_removed == report.branches_removed
    (freed,) = report.branches_removed
    after = sum(path.stat().st_size for path in Path(graph.uri).rglob("*") if path.is_file())
    assert freed.branch == "gone"
    assert freed.files >= 10  # two incarnations: version, transaction and data files of the manifest and of a table
    assert 0 < freed.bytes <= before - after + report.manifest_bytes_removed + 100_000
    assert trees(graph) == {"kept"}
    assert keys(graph, "kept") == ["a", "kept"]
    assert report.to_json()["branches_removed"] == [{"branch": "gone", "files": freed.files, "bytes": freed.bytes}]
    assert graph.cleanup(keep=100, confirm=True).branches_removed == ()


def test_the_files_of_a_branch_whose_creation_broke_off_go_too(graph: og.Graph) -> None:
    graph.branches.create("half")
    ref = require_ref(store_of(graph).root, "half").name
    (Path(graph.uri) / MANIFEST / "_refs" / "branches" / f"{ref}.json").unlink()
    graph.branches.create("half")
    (freed,) = graph.cleanup(keep=100, confirm=True).branches_removed
    assert freed.branch == "half"
    assert keys(graph, "half") == ["a"]


def test_a_copy_has_the_live_incarnation_and_nothing_of_the_former_ones(graph: og.Graph, tmp_path: Path) -> None:
    for word in ("one", "two"):
        graph.branches.create("work")
        graph.mutate(PUT, params={"k": word}, branch="work")
        if word == "one":
            graph.branches.delete("work")
    og.clone(graph.uri, tmp_path / "copy.omni")
    copy = og.open(tmp_path / "copy.omni", settings=SETTINGS)
    assert keys(copy, "work") == ["a", "two"]
    assert len(list(Path(copy.uri, MANIFEST, "tree").iterdir())) == 1
    copy.branches.delete("work")
    copy.branches.create("work")
    copy.mutate(PUT, params={"k": "three"}, branch="work")
    assert keys(copy, "work") == ["a", "three"]
    assert violations(store_of(copy)) == []


def test_the_command_line_uses_a_name_again(desk: Desk) -> None:
    desk.graph()
    for name in ("Eve", "Finn"):
        assert desk.run("branch", "create", "work", "--uri", "g").code == 0
        given = json.dumps({"name": name})
        done = desk.run("mutate", "--store", "g", "-e", ADD_PERSON, "--params", given, "--branch", "work")
        assert done.code == 0
        assert desk.run("branch", "delete", "work", "--uri", "g", "--yes").code == 0
    assert desk.run("branch", "create", "work", "--uri", "g").code == 0
    assert desk.run("branch", "list", "--uri", "g").stdout == "main\nwork\n"


def legacy_branch(graph: og.Graph, name: str) -> None:
    """A branch as releases made it whose refs are called like their branches."""
    root = store_of(graph).root
    version = manifest.load(root).state.version
    tables.create_ref(tables.open_table(root.manifest(), control=True), name, source=None, version=version)
    ref = read_ref(root.manifest(), name)
    assert ref is not None
    row = BranchRow(name, ref.identifier, None, version, now_micros())
    manifest.publish_rows(manifest.load(root, name), [row])


def test_branches_of_earlier_releases_go_on_and_their_names_come_again(graph: og.Graph) -> None:
    legacy_branch(graph, "old")
    with hold_control(store_of(graph), "branch_delete") as control:
        control.retired["long-gone"] = now_micros()  # such releases kept deleted names there
    graph = og.open(graph.uri, settings=SETTINGS)
    assert graph.branches.list() == ["main", "old"]
    graph.mutate(PUT, params={"k": "one"}, branch="old")
    assert next(Path(graph.uri).glob("nodes/*/tree/old/data")).is_dir()
    graph.branches.create("child", from_="old")
    with pytest.raises(Conflict, match="branch 'child' still depends on it"):
        graph.branches.delete("old")
    graph.mutate(PUT, params={"k": "two"}, branch="child")
    graph.branches.delete("child")
    graph.branches.delete("old")
    graph.branches.create("old/new")
    graph.mutate(PUT, params={"k": "three"}, branch="old/new")
    freed = graph.cleanup(keep=100, confirm=True).branches_removed
    assert [each.branch for each in freed] == ["child", "old"]
    assert keys(graph, "old/new") == ["a", "three"]
    control = manifest.load(store_of(graph).root).state.control
    assert control is not None
    assert dict(control.retired) == {}
    graph.branches.create("long-gone")
    assert violations(store_of(graph)) == []


def test_names_that_look_like_refs_are_reserved(graph: og.Graph) -> None:
    for name in ("x--b7.0.42", "x--b7.00ff00ff.42", "x--2"):
        with pytest.raises(BadRequest, match="reserved"):
            graph.branches.create(name)
    graph.branches.create("x--beta.1")
    assert graph.branches.list() == ["main", "x--beta.1"]


def test_a_longest_name_is_created_written_and_deleted(graph: og.Graph) -> None:
    name = "n" * 200
    graph.branches.create(name)
    graph.mutate(PUT, params={"k": "one"}, branch=name)
    graph.branches.delete(name)
    graph.branches.create(name)
    assert keys(graph, name) == ["a"]


def test_a_handle_bound_to_a_name_follows_it_to_the_next_incarnation(graph: og.Graph) -> None:
    graph.branches.create("work")
    graph.mutate(PUT, params={"k": "one"}, branch="work")
    bound = graph.branch("work")
    assert keys(bound, "work") == ["a", "one"]
    graph.branches.delete("work")
    graph.cleanup(keep=1, confirm=True)
    graph.branches.create("work")
    assert keys(bound, "work") == ["a"]
