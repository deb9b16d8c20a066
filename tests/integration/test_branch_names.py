"""A branch's name is free as soon as the branch is deleted, and what only that branch held goes with a cleanup."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import omnigraph as og
from cli_runner import ADD_PERSON, Desk
from omnigraph.engine.api.access import access
from omnigraph.errors import BadRequest, BranchNotFound, CommitNotFound, Conflict, ReadSetChanged
from omnigraph.ids import now_micros
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.layout import MANIFEST, Root
from omnigraph.storage.base.ref_names import branch_of
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches import branches
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


def test_a_renamed_branch_has_its_rows_its_history_and_its_children(graph: og.Graph) -> None:
    graph.branches.create("draft")
    bound = graph.branch("draft")
    commit = bound.mutate(PUT, params={"k": "b"}).commit_id
    graph.branches.create("child", from_="draft")
    graph.branches.rename("draft", "review/draft")
    assert graph.branches.list() == ["main", "child", "review/draft"]
    assert keys(graph, "review/draft") == keys(graph, "child") == ["a", "b"]
    for use in (lambda: keys(bound, "draft"), lambda: bound.mutate(PUT, params={"k": "lost"})):
        with pytest.raises(BranchNotFound):
            use()
    graph.mutate(PUT, params={"k": "c"}, branch="review/draft")
    assert keys(graph, "review/draft") == ["a", "b", "c"]
    renamed = graph.branch("review/draft")
    assert commit in [each.graph_commit_id for each in renamed.commits.list()]
    assert [row["k"] for row in renamed.at(commit).query(KEYS).rows()] == ["a", "b"]
    assert graph.branches.merge("review/draft").commit is not None
    assert keys(graph) == ["a", "b", "c"]
    assert violations(store_of(graph)) == []


def test_a_former_name_stays_taken_until_the_branch_goes_with_all_that_it_wrote(graph: og.Graph) -> None:
    graph.branches.create("one")
    graph.mutate(PUT, params={"k": "b"}, branch="one")
    graph.branches.rename("one", "two")
    graph.branches.create("child", from_="two")
    for refused in (lambda: graph.branches.create("one"), lambda: graph.branches.rename("child", "one")):
        with pytest.raises(Conflict, match="former name of branch 'two'"):
            refused()
    for gone in (lambda: graph.branches.delete("one"), lambda: graph.branches.rename("one", "three")):
        with pytest.raises(BranchNotFound):
            gone()
    with pytest.raises(Conflict, match="'child' still depends on it"):
        graph.branches.delete("two")
    graph.branches.delete("child")
    graph.branches.rename("two", "three")
    graph.cleanup(keep=1, confirm=True)
    assert keys(graph, "three") == ["a", "b"]
    graph.branches.delete("three")
    assert live_refs(store_of(graph).root) == {}
    graph.branches.create("one")
    assert keys(graph, "one") == ["a"]
    assert violations(store_of(graph)) == []


def test_what_cannot_be_renamed_says_why(graph: og.Graph) -> None:
    graph.branches.create("draft")
    graph.branches.create("other")
    for name, to, error, said in (
        ("main", "trunk", BadRequest, "'main' cannot be renamed"),
        ("draft", "other", Conflict, "already exists"),
        ("draft", "other/x", Conflict, "would nest"),
        ("draft", "a b", BadRequest, "name"),
        ("absent", "x", BranchNotFound, "absent"),
    ):
        with pytest.raises(error, match=said):
            graph.branches.rename(name, to)
    with pytest.raises(Conflict, match="currently active"):
        graph.branch("draft").branches.rename("draft", "x")
    graph.mutate(PUT, params={"k": "b"}, branch="draft")
    graph.branch("draft").tags.create("v1")
    with pytest.raises(Conflict, match="tag 'v1' names one of its commits"):
        graph.branches.rename("draft", "x")
    graph.tags.delete("v1")
    graph.branches.rename("draft", "draft/more")  # below its own former name
    assert graph.branches.list() == ["main", "draft/more", "other"]


@pytest.mark.parametrize("point", ["branch_rename.post_native", "branch_rename.pre_seal", "branch_delete.pre_seal"])
def test_a_rename_that_breaks_off_leaves_both_names_and_nothing_is_lost(graph: og.Graph, point: str) -> None:
    graph.branches.create("draft")
    graph.mutate(PUT, params={"k": "b"}, branch="draft")
    with failpoints.armed(f"{point}=raise"), pytest.raises(Exception, match=point):
        graph.branches.rename("draft", "final")
    assert keys(graph, "draft") == keys(graph, "final") == ["a", "b"]
    graph.mutate(PUT, params={"k": "c"}, branch="draft")
    assert violations(store_of(graph)) == []
    with pytest.raises(Conflict, match="'final' is what an interrupted rename of 'draft' has left; delete 'final'"):
        graph.branches.rename("draft", "another")  # then neither of the two could be deleted any more
    graph.branches.delete("final")
    graph.branches.rename("draft", "final")
    assert keys(graph, "final") == ["a", "b", "c"]


def test_a_branch_that_is_written_to_meanwhile_keeps_its_name(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    graph.branches.create("draft")
    captured = manifest.load

    def earlier(root: Root, branch: str | None = None, **options: bool) -> manifest.Loaded:
        """What is captured is a commit behind, as if another process had written right after."""
        found = captured(root, branch, **options)
        return manifest.load_kept(root, branch, found.state.version - 1) if branch == "draft" else found

    graph.mutate(PUT, params={"k": "b"}, branch="draft")
    monkeypatch.setattr(branches.manifest, "load", earlier)
    with pytest.raises(ReadSetChanged):
        graph.branches.rename("draft", "final")
    monkeypatch.undo()
    assert graph.branches.list() == ["main", "draft"]
    assert keys(graph, "draft") == ["a", "b"]
