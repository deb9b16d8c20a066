"""Names: which ones a branch or tag may take, and that every verb takes a name to mean the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import BadRequest, BranchNotFound, CommitNotFound, Conflict, NotFound

SCHEMA = "node Person { name: String @key  age: I32? }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "g.omni", SCHEMA)
    made.load([{"type": "Person", "data": {"name": "ana", "age": 1}}])
    return made


def insert(graph: og.Graph, name: str, branch: str | None = None) -> str:
    done = graph.mutate(f'query q() {{ insert Person {{ name: "{name}" }} }}', branch=branch)
    assert done.commit is not None
    return done.commit.graph_commit_id


RESERVED = ["HEAD", "head", "Head", "Main", "MAIN", "01J8ZQ4Y7H3N5K6M7P8Q9R0S1T", "01j8zq4y7h3n5k6m7p8q9r0s1t"]
RESERVED += ["01J8ZQ", "01j8zq4y7h", "01J8ZQ4Y7H3N5K6M7P8Q9R0S1"]  # beginnings, which mean a commit
UNWRITABLE = [".", "..", "a/.", "./a", "a/../b", "a/./b", "a//b", "a b", "x.lock", "~", "a~1", "", "x--2"]


@pytest.mark.parametrize("name", [*RESERVED, *UNWRITABLE, "main"])
def test_a_name_that_means_something_else_cannot_be_taken(graph: og.Graph, name: str) -> None:
    for take in (graph.branches.create, graph.tags.create, lambda name: graph.load([], branch=name, from_="main")):
        if take not in (graph.branches.create, graph.tags.create) and name in ("main", "HEAD"):
            continue  # both are branches that exist
        with pytest.raises(Conflict if take == graph.tags.create and name == "main" else BadRequest):
            take(name)
    assert graph.branches.list() == ["main"]
    assert graph.tags.list() == []


@pytest.mark.parametrize(
    "name", ["v1.0", ".hidden", "a.b/c_d-e", "HEADS", "mainline", "a/HEAD", "01J8Z", "2024-01", "1A2B3C"]
)
def test_other_names_are_free(graph: og.Graph, name: str) -> None:
    graph.branches.create(name)
    insert(graph, "bo", branch=name)
    assert graph.at(name).get("Person", "bo") is not None


def test_a_branch_and_a_tag_cannot_have_one_name(graph: og.Graph) -> None:
    graph.branches.create("review")
    graph.tags.create("v1")
    with pytest.raises(Conflict, match="there is a branch 'review' already"):
        graph.tags.create("review")
    with pytest.raises(Conflict, match="there is a tag 'v1' already"):
        graph.branches.create("v1")
    graph.tags.delete("v1")
    graph.branches.create("v1")


def test_one_resolver_answers_every_verb(graph: og.Graph) -> None:
    first = graph.commits.head() or ""
    graph.tags.create("v1")
    graph.branches.create("review")
    second = insert(graph, "bo", branch="review")
    review = graph.branch("review")
    third = insert(graph, "cy")
    meant = {
        first: first,
        first[:22]: first,
        "v1": first,
        "review~1": first,
        "HEAD~1": first,
        "main": third,
        "HEAD": third,
        "review": second,
        f" {second} ": second,
    }
    for name, commit in meant.items():
        assert graph.at(name).commit_id == commit, name
        assert graph.commits.show(name).graph_commit_id == commit, name
        assert graph.query("query q() { match { $p: Person } return { $p.name } }", snapshot=name).commit_id == commit
        assert len(graph.diff(name, commit)) == 0, name
        assert graph.commits.changes(name).cause.graph_commit_id == commit, name
        if commit != second:
            assert (
                graph.changes.poll(start=f"after:{name}").cursor == graph.changes.poll(start=f"after:{commit}").cursor
            )
    assert review.at("HEAD").commit_id == second
    assert review.commits.head("HEAD") == second
    assert graph.commits.revert("HEAD", preview=True).changes
    assert graph.branch("review").branches.merge("HEAD", preview=True).source == "review"


@pytest.mark.parametrize(
    "use",
    [
        lambda graph, name: graph.branches.merge(name),
        lambda graph, name: graph.branches.merge("main", into=name, preview=True),
        lambda graph, name: graph.commits.cherry_pick("HEAD", branch=name),
        lambda graph, name: graph.commits.revert("HEAD", branch=name, preview=True),
    ],
    ids=["merge", "merge-into", "cherry-pick", "revert"],
)
def test_a_tag_or_a_commit_where_a_branch_is_needed_is_named_as_such(
    graph: og.Graph, use: Callable[[og.Graph, str], Any]
) -> None:
    graph.tags.create("v1")
    with pytest.raises(BadRequest, match="'v1' is a tag, not a branch"):
        use(graph, "v1")
    with pytest.raises(BadRequest, match="is the id of a commit, not a branch"):
        use(graph, graph.commits.head() or "")
    with pytest.raises(BadRequest, match="is the id of a commit, not a branch"):
        use(graph, (graph.commits.head() or "").lower())
    with pytest.raises(BadRequest, match="'main~1' is not a branch name"):
        use(graph, "main~1")
    with pytest.raises(BranchNotFound):
        use(graph, "nobody")


def test_what_means_nothing_is_not_found(graph: og.Graph) -> None:
    for name in ("nobody", "Main", "HEAD~9", "01J8ZQ4Y7H3N5K6M7P8Q9R0S1T", "nobody~1"):
        with pytest.raises(CommitNotFound):
            graph.at(name)
        with pytest.raises(NotFound):
            graph.diff(name)
