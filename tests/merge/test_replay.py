"""Revert and cherry-pick: one commit's changes, backwards or elsewhere, with contradictions as data."""

from __future__ import annotations

import pytest

import omnigraph as og
from omnigraph.errors import ChangeSchemaBoundary, CommitHasNoParent, MergeConflicts
from omnigraph.testing.graphs.people import SCHEMA, befriend, change, put, remove
from omnigraph.testing.naive.observe import image_of


def head(graph: og.Graph) -> str:
    return str(graph.commits.head())


def kinds(refusal: pytest.ExceptionInfo[MergeConflicts]) -> list[tuple[str, str | None]]:
    return [(conflict.kind, conflict.entity_id) for conflict in refusal.value.conflicts]


def test_reverting_the_newest_commit_restores_what_was_before(people: og.Graph) -> None:
    before = image_of(people.view())
    remove(people, "Bob")
    undone = people.commits.revert(head(people))
    assert image_of(people.view()) == before
    assert undone.commit is not None
    assert (undone.commit.actor_id, undone.commit.merged_parent_commit_id) == ("ada", None)
    assert {name: count.inserted for name, count in undone.changes.items()} == {"Person": 1, "Knows": 1}


def test_an_older_commit_is_reverted_under_later_ones(people: og.Graph) -> None:
    change(people, "Alice", age=31)
    wrong = head(people)
    put(people, "Eve", age=1)
    people.commits.revert(wrong)
    rows = image_of(people.view())["node:Person"]
    assert (rows["Alice"]["age"], rows["Eve"]["age"]) == (30, 1)


def test_reverting_a_revert_brings_the_change_back_and_twice_is_nothing(people: og.Graph) -> None:
    change(people, "Alice", age=31)
    wrong = head(people)
    people.commits.revert(wrong)
    assert people.commits.revert(wrong).commit is None
    people.commits.revert(head(people))
    assert image_of(people.view())["node:Person"]["Alice"]["age"] == 31


def test_a_later_change_of_the_same_entity_is_a_conflict(people: og.Graph) -> None:
    change(people, "Alice", age=31)
    wrong = head(people)
    change(people, "Alice", age=32)
    before = image_of(people.view())
    with pytest.raises(MergeConflicts) as refused:
        people.commits.revert(wrong)
    assert kinds(refused) == [("DivergentUpdate", "Alice")]
    assert image_of(people.view()) == before
    preview = people.commits.revert(wrong, preview=True)
    assert (len(preview.conflicts), preview.commit) == (1, None)
    assert people.commits.revert(wrong, strategy="ours").commit is None
    people.commits.revert(wrong, resolve={"Person/Alice": "theirs"})
    assert image_of(people.view())["node:Person"]["Alice"]["age"] == 30


def test_a_node_with_newer_edges_cannot_be_reverted_away(people: og.Graph) -> None:
    put(people, "Eve", age=1)
    inserted = head(people)
    befriend(people, "Eve", "Dan", "eve-dan")
    with pytest.raises(MergeConflicts) as refused:
        people.commits.revert(inserted)
    assert kinds(refused) == [("OrphanEdge", "eve-dan")]


def test_a_merge_is_reverted_as_a_whole(people: og.Graph) -> None:
    people.branches.create("feature")
    feature = people.branch("feature")
    change(feature, "Alice", age=31)
    put(feature, "Eve", age=1)
    change(people, "Bob", age=32)
    before = image_of(people.view())
    merged = people.branches.merge("feature").commit_id
    people.commits.revert(str(merged))
    assert image_of(people.view()) == before
    assert people.branches.merge("feature").outcome == "already_up_to_date"


def test_one_commit_of_a_branch_is_picked_without_the_others(people: og.Graph) -> None:
    people.branches.create("feature")
    feature = people.branch("feature")
    change(feature, "Alice", age=31)
    change(feature, "Bob", age=32)
    wanted = head(feature)
    change(feature, "Carol", age=33)
    done = people.commits.cherry_pick(wanted)
    ages = {name: row["age"] for name, row in image_of(people.view())["node:Person"].items()}
    assert ages == {"Alice": 30, "Bob": 32, "Carol": 30, "Dan": 30}
    assert (done.branch, done.replayed_commit_id) == ("main", wanted)
    assert people.commits.cherry_pick(wanted).commit is None
    assert people.branches.merge("feature").outcome == "merged"


def test_a_pick_can_go_to_another_branch_and_fork_its_tables(people: og.Graph) -> None:
    people.branches.create("feature")
    change(people, "Alice", age=31)
    people.commits.cherry_pick(head(people), branch="feature")
    assert people.branch("feature").get("Person", "Alice") == people.get("Person", "Alice")
    assert people.branch("feature").snapshot().entry("node:Person").owner == "feature"


def test_a_pick_that_contradicts_the_branch_is_a_conflict(people: og.Graph) -> None:
    people.branches.create("feature")
    feature = people.branch("feature")
    change(feature, "Alice", age=31)
    change(people, "Alice", nick="Al")
    with pytest.raises(MergeConflicts) as refused:
        people.commits.cherry_pick(head(feature))
    assert kinds(refused) == [("DivergentUpdate", "Alice")]
    people.commits.cherry_pick(head(feature), properties="disjoint")
    row = image_of(people.view())["node:Person"]["Alice"]
    assert (row["age"], row["nick"]) == (31, "Al")


def test_the_first_commit_and_changes_of_schema_cannot_be_replayed(people: og.Graph) -> None:
    with pytest.raises(CommitHasNoParent):
        people.commits.revert(people.commits.list()[-1].graph_commit_id)
    change(people, "Alice", age=31)
    old = head(people)
    people.schema.apply(SCHEMA.replace("  nick: String?\n", "  nick: String?\n  city: String?\n"))
    with pytest.raises(ChangeSchemaBoundary, match=f"commit {head(people)} is a schema change and cannot be replayed"):
        people.commits.revert(head(people))
    change(people, "Alice", age=32)
    with pytest.raises(ChangeSchemaBoundary, match=f"the schema of 'Person' changed after commit {old}"):
        people.commits.revert(old)
