"""Previews, decisions by hand, strategies and the joining of disjoint updates."""

from __future__ import annotations

from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import BadRequest, MergeConflicts, ValueViolation
from omnigraph.storage.manifest.note import RowCounts
from omnigraph.testing.graphs.people import befriend, change, put, remove
from omnigraph.testing.naive.observe import image_of


@pytest.fixture
def feature(people: og.Graph) -> og.Graph:
    people.branches.create("feature")
    return people.branch("feature")


@pytest.fixture
def disputed(people: og.Graph, feature: og.Graph) -> og.Graph:
    """Alice was changed on both sides, Bob deleted by the source and changed by the target, Eve inserted by both."""
    change(feature, "Alice", age=1, nick="theirs")
    change(people, "Alice", age=2)
    remove(feature, "Bob")
    change(people, "Bob", age=3)
    put(feature, "Eve", age=4)
    put(people, "Eve", age=5)
    change(feature, "Carol", age=6)
    return people


def person(graph: og.Graph, name: str) -> dict[str, Any] | None:
    return graph.get("Person", name)


def test_a_preview_lists_conflicts_and_writes_nothing(disputed: og.Graph) -> None:
    before = image_of(disputed.view()), disputed.commits.list(), disputed.snapshot()
    seen = disputed.branches.merge("feature", preview=True)
    assert [(conflict.kind, conflict.entity) for conflict in seen.conflicts] == [
        ("DivergentUpdate", "Person/Alice"),
        ("DeleteVsUpdate", "Person/Bob"),
        ("DivergentInsert", "Person/Eve"),
    ]
    assert (seen.preview, seen.commit, seen.outcome) == (True, None, "merged")
    assert seen.conflicts[0].properties == ("age", "nick")
    assert before == (image_of(disputed.view()), disputed.commits.list(), disputed.snapshot())


def test_a_preview_counts_what_would_change_and_works_read_only(people: og.Graph, feature: og.Graph) -> None:
    change(feature, "Alice", age=1)
    put(feature, "Eve", age=4)
    befriend(feature, "Eve", "Alice")
    remove(feature, "Bob")
    with og.open(people.uri, read_only=True) as reader:
        seen = reader.branches.merge("feature", preview=True)
    assert seen.changes == {"Person": RowCounts(1, 1, 1), "Knows": RowCounts(1, 0, 1)}
    assert people.branches.merge("feature").changes == seen.changes


@pytest.mark.parametrize(
    ("strategy", "alice", "bob", "eve"),
    [("ours", (2, None), 3, 5), ("theirs", (1, "theirs"), None, 4)],
)
def test_a_strategy_settles_every_contradiction_between_rows(
    disputed: og.Graph, strategy: Any, alice: tuple[int, str | None], bob: int | None, eve: int
) -> None:
    disputed.branches.merge("feature", strategy=strategy)
    found = person(disputed, "Alice") or {}
    assert (found["age"], found["nick"]) == alice
    assert (person(disputed, "Bob") or {}).get("age") == bob
    assert (person(disputed, "Eve") or {})["age"] == eve
    assert (person(disputed, "Carol") or {})["age"] == 6
    assert disputed.branches.merge("feature").outcome == "already_up_to_date"


def test_each_entity_can_be_decided_by_itself(disputed: og.Graph) -> None:
    choices: Any = {"Person/Alice": {"age": 99, "tags": ["both"]}, "Person/Bob": "theirs", "Person/Eve": "ours"}
    done = disputed.branches.merge("feature", resolve=choices)
    assert done.outcome == "merged"
    alice = person(disputed, "Alice") or {}
    assert (alice["age"], alice["tags"], alice["nick"]) == (99, ["both"], None)
    assert person(disputed, "Bob") is None
    assert (person(disputed, "Eve") or {})["age"] == 5


def test_what_is_not_decided_stays_a_conflict(disputed: og.Graph) -> None:
    with pytest.raises(MergeConflicts) as caught:
        disputed.branches.merge("feature", resolve={"Person/Alice": "ours"})
    assert [conflict.entity for conflict in caught.value.conflicts] == ["Person/Bob", "Person/Eve"]


def test_decisions_and_strategies_go_together(disputed: og.Graph) -> None:
    disputed.branches.merge("feature", strategy="theirs", resolve={"Person/Bob": "ours"})
    assert (person(disputed, "Bob") or {})["age"] == 3
    assert (person(disputed, "Alice") or {})["age"] == 1


def test_a_deleted_row_can_be_brought_back_with_values(people: og.Graph, feature: og.Graph) -> None:
    change(feature, "Alice", age=7)
    remove(people, "Alice")
    people.branches.merge("feature", resolve={"Person/Alice": {"nick": "back"}})
    assert (person(people, "Alice") or {})["nick"] == "back"
    assert (person(people, "Alice") or {})["age"] == 7


def test_an_orphaned_edge_is_decided_on_either_end(people: og.Graph, feature: og.Graph) -> None:
    remove(feature, "Dan")
    befriend(people, "Alice", "Dan", "late")
    preview = people.branches.merge("feature", preview=True, resolve={"Person/Dan": "ours"})
    assert preview.conflicts == ()
    people.branches.merge("feature", resolve={"Knows/late": "theirs"})
    assert person(people, "Dan") is None
    assert people.get("Knows", "late") is None


def test_disjoint_updates_of_one_row_are_joined_only_on_request(people: og.Graph, feature: og.Graph) -> None:
    change(feature, "Alice", age=7, tags=["x"])
    change(people, "Alice", nick="Al", tags=["x"])
    change(feature, "Bob", age=8)
    change(people, "Bob", age=9, nick="B")
    with pytest.raises(MergeConflicts) as caught:
        people.branches.merge("feature", properties="disjoint")
    assert [(conflict.entity, conflict.properties) for conflict in caught.value.conflicts] == [
        ("Person/Bob", ("age", "nick"))
    ]
    people.branches.merge("feature", properties="disjoint", resolve={"Person/Bob": "ours"})
    alice = person(people, "Alice") or {}
    assert (alice["age"], alice["nick"], alice["tags"]) == (7, "Al", ["x"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "mine"}, "unknown merge strategy"),
        ({"properties": "some"}, "unknown property mode"),
        ({"resolve": {"Person/Alice": "mine"}}, "must be 'ours', 'theirs' or a mapping"),
        ({"resolve": {"Alice": "ours"}}, "does not name an entity"),
        ({"resolve": {"Nobody/Alice": "ours"}}, "does not name an entity"),
        ({"resolve": {"Person/Dan": "ours"}}, "neither branch has changed"),
        ({"resolve": {"Person/Alice": {"shoe": 1}}}, "no property 'shoe'"),
        ({"resolve": {"Person/Alice": {"name": "B"}}}, "is the key of Person"),
    ],
)
def test_options_that_make_no_sense_are_refused(disputed: og.Graph, options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        disputed.branches.merge("feature", **options)


def test_values_are_converted_and_checked_like_loaded_ones(disputed: og.Graph) -> None:
    with pytest.raises(ValueViolation):
        disputed.branches.merge("feature", resolve={"Person/Alice": {"age": "old"}})


def test_conflicts_are_data(disputed: og.Graph) -> None:
    with pytest.raises(MergeConflicts, match="3 merge conflicts") as caught:
        disputed.branches.merge("feature")
    assert caught.value.details()["merge_conflicts"][0] == {
        "table_key": "node:Person",
        "entity_id": "Alice",
        "kind": "DivergentUpdate",
        "message": "divergent update for id 'Alice'",
        "properties": ("age", "nick"),
        "ours": {"age": 2, "nick": None},
        "theirs": {"age": 1, "nick": "theirs"},
        "base": {"age": 30, "nick": None},
    }


def test_a_conflict_shows_what_both_sides_say(people: og.Graph, feature: og.Graph) -> None:
    change(feature, "Alice", age=31, tags=["a"])
    change(people, "Alice", age=32, nick="Al")
    remove(feature, "Bob")
    change(people, "Bob", score=1.5)
    alice, bob = people.branches.merge("feature", preview=True).conflicts
    assert alice.properties == ("age", "nick", "tags")
    assert alice.ours == {"age": 32, "nick": "Al", "tags": None}
    assert alice.theirs == {"age": 31, "nick": None, "tags": ["a"]}
    assert alice.base == {"age": 30, "nick": None, "tags": None}
    assert (bob.kind, bob.properties, bob.ours, bob.theirs) == ("DeleteVsUpdate", (), {"score": 1.5}, None)
    assert bob.base == {"score": None}
