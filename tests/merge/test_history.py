"""Logs across branches, the origin of every value, tags, and transactions."""

from __future__ import annotations

import pytest

import omnigraph as og
from omnigraph.errors import BadRequest, Conflict, MergeConflicts, NotFound
from omnigraph.testing.graphs.people import befriend, change, put, remove
from omnigraph.testing.naive.observe import image_of


def head(graph: og.Graph) -> str:
    return str(graph.commits.head())


def as_actor(graph: og.Graph, actor: str) -> og.Graph:
    return og.open(graph.uri, graph.branch_name, actor=actor)


# --- log -----------------------------------------------------------------------------------------------


def test_a_log_follows_both_parents_and_shows_names(people: og.Graph) -> None:
    people.branches.create("feature")
    feature = people.branch("feature")
    change(feature, "Alice", age=1)
    change(people, "Bob", age=2)
    people.branches.merge("feature")
    people.tags.create("v1")
    log = people.commits.log(every_branch=True)
    assert [(entry.branches, entry.tags, len(entry.parents)) for entry in log] == [
        (("main",), ("v1",), 2),
        ((), (), 1),
        (("feature",), (), 1),
        ((), (), 1),
        ((), (), 0),
    ]
    order = [entry.commit.graph_commit_id for entry in log]
    for entry in log:
        assert all(order.index(parent) > order.index(entry.commit.graph_commit_id) for parent in entry.parents)
    assert len(people.commits.log(limit=2)) == 2


# --- blame ---------------------------------------------------------------------------------------------


def test_each_property_is_traced_to_the_commit_that_set_it(people: og.Graph) -> None:
    born = head(people)
    change(as_actor(people, "bea"), "Alice", age=31)
    aged = head(people)
    change(people, "Bob", age=50)
    change(as_actor(people, "cem"), "Alice", nick="Al", age=31)
    named = head(people)
    befriend(people, "Alice", "Dan")
    found = people.commits.blame("Person", "Alice")
    assert found.created.graph_commit_id == born
    assert {item.name: item.commit.graph_commit_id for item in found.properties} == {
        "name": born,
        "age": aged,
        "nick": named,
        "mail": born,
        "score": born,
        "tags": born,
        "photo": born,
    }
    assert (found["nick"].value, found["nick"].commit.actor_id) == ("Al", "cem")


def test_a_merged_value_is_traced_into_the_branch_it_came_from(people: og.Graph) -> None:
    people.branches.create("feature")
    feature = people.branch("feature")
    change(feature, "Alice", age=31)
    origin = head(feature)
    change(people, "Alice", nick="Al")
    ours = head(people)
    people.branches.merge("feature", properties="disjoint")
    found = people.commits.blame("Person", "Alice")
    assert (found["age"].commit.graph_commit_id, found["nick"].commit.graph_commit_id) == (origin, ours)
    merge = head(people)
    people.branches.delete("feature")
    assert people.commits.blame("Person", "Alice")["age"].commit.graph_commit_id == merge


def test_an_entity_that_was_deleted_and_inserted_again_starts_anew(people: og.Graph) -> None:
    remove(people, "Dan")
    put(people, "Dan", age=30)
    found = people.commits.blame("Person", "Dan")
    assert {item.commit.graph_commit_id for item in found.properties} == {head(people)}
    assert found.created.graph_commit_id == head(people)
    with pytest.raises(NotFound, match="does not exist on branch 'main'"):
        people.commits.blame("Person", "Nobody")


# --- tags ----------------------------------------------------------------------------------------------


def test_a_tag_names_a_commit_for_good(people: og.Graph) -> None:
    people.branches.create("feature")
    feature = people.branch("feature")
    change(feature, "Alice", age=31)
    made = feature.tags.create("release/1.0", message="first")
    change(feature, "Alice", age=32)
    assert (made.branch, made.graph_commit_id) == ("feature", feature.commits.list()[1].graph_commit_id)
    assert people.tags.list() == [made] == [people.tags.show("release/1.0")]
    assert people.at("release/1.0").get("Person", "Alice") == feature.at(made.graph_commit_id).get("Person", "Alice")
    with pytest.raises(Conflict, match="already exists"):
        people.tags.create("release/1.0")
    with pytest.raises(Conflict, match=r"tag 'release/1\.0' names one of its commits"):
        people.branches.delete("feature")
    people.tags.delete("release/1.0")
    assert people.tags.list() == []
    people.branches.delete("feature")


@pytest.mark.parametrize(
    ("name", "error"),
    [("", BadRequest), ("bad name", BadRequest), ("a..b", BadRequest), ("main", Conflict), ("feature", Conflict)],
)
def test_a_name_that_cannot_be_a_tag_is_refused(people: og.Graph, name: str, error: type[Exception]) -> None:
    people.branches.create("feature")
    with pytest.raises(error):
        people.tags.create(name)
    assert people.tags.list() == []


def test_a_missing_tag_is_not_found(people: og.Graph) -> None:
    for action in (lambda: people.tags.delete("v9"), lambda: people.tags.show("v9"), lambda: people.at("v9")):
        with pytest.raises(NotFound):
            action()


def test_old_commits_can_be_tagged_and_compared_by_tag(people: og.Graph) -> None:
    first = people.commits.list()[0]
    change(people, "Alice", age=31)
    people.tags.create("start", first.graph_commit_id)
    people.tags.create("again", "start")
    assert people.tags.show("again").graph_commit_id == first.graph_commit_id
    assert [item.id for item in people.diff("start", "main")] == ["Alice"]


# --- transactions --------------------------------------------------------------------------------------


def test_the_writes_of_a_transaction_arrive_together(people: og.Graph) -> None:
    before = people.commits.head()
    with people.transaction() as tx:
        put(tx, "Eve", age=1)
        change(tx, "Eve", age=2)
        remove(tx, "Dan")
        assert (tx.get("Person", "Eve") or {})["age"] == 2
        assert people.get("Person", "Eve") is None
        assert people.commits.head() == before
    assert tx.result is not None
    assert tx.result.commit is not None
    assert (tx.result.commit.parent_commit_id, tx.result.commit.actor_id) == (before, "ada")
    assert (people.get("Person", "Eve") or {})["age"] == 2
    assert people.get("Person", "Dan") is None
    assert people.branches.list() == ["main"]


def test_an_error_drops_everything(people: og.Graph) -> None:
    before = image_of(people.view())
    transaction = people.transaction()

    def fail() -> None:
        with transaction as tx:
            put(tx, "Eve", age=1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (transaction.result, image_of(people.view()), people.branches.list()) == (None, before, ["main"])


def test_a_transaction_merges_with_what_others_did_or_conflicts(people: og.Graph) -> None:
    with people.transaction() as tx:
        change(tx, "Alice", age=31)
        change(people, "Bob", age=32)
    rows = image_of(people.view())["node:Person"]
    assert (rows["Alice"]["age"], rows["Bob"]["age"]) == (31, 32)

    def contradict() -> None:
        with people.transaction() as tx:
            change(tx, "Alice", age=1)
            change(people, "Alice", age=2)

    with pytest.raises(MergeConflicts):
        contradict()
    assert image_of(people.view())["node:Person"]["Alice"]["age"] == 2
    assert people.branches.list() == ["main"]


def test_a_transaction_on_a_branch_and_an_empty_one(people: og.Graph) -> None:
    people.branches.create("feature")
    feature = people.branch("feature")
    with feature.transaction() as tx:
        change(tx, "Alice", age=31)
    assert (feature.get("Person", "Alice") or {})["age"] == 31
    assert (people.get("Person", "Alice") or {})["age"] == 30
    with people.transaction() as tx:
        pass
    assert tx.result is not None
    assert tx.result.outcome == "already_up_to_date"
    with pytest.raises(BadRequest, match="only once"), tx:
        pass
