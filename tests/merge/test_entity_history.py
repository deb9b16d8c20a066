"""What happened to one entity: inserts, updates and deletes, across merges, renames and cleanup."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.engine.changes.entity_history import EntityHistory
from omnigraph.errors import BadRequest, NotFound
from omnigraph.testing.graphs.people import befriend, change, put, remove

Told = list[tuple[str | None, str, dict[str, tuple[object, object]]]]


def head(graph: og.Graph) -> str:
    return str(graph.commits.head())


def told(found: EntityHistory) -> Told:
    return [
        (event.op, event.commit.graph_commit_id, {name: (old, new) for name, old, new in event.changed})
        for event in found.events
    ]


def test_every_change_is_there_with_values_and_nothing_else(people: og.Graph) -> None:
    born = head(people)
    first = people.commits.history("Person", "Dan")
    expected = told(first)
    assert [(op, commit) for op, commit, _ in expected] == [("insert", born)]
    assert (first.events[0].commit.kind, expected[0][2]["name"]) == ("load", (None, "Dan"))
    change(people, "Dan", age=31)
    expected.insert(0, ("update", head(people), {"age": (expected[0][2]["age"][1], 31)}))
    change(people, "Bob", age=50)
    change(people, "Dan", age=31)  # the same value again is no change
    change(people, "Dan", nick="D", age=32)
    expected.insert(0, ("update", head(people), {"age": (31, 32), "nick": (None, "D")}))
    remove(people, "Bob")
    remove(people, "Dan")
    gone = head(people)
    assert told(people.commits.history("Person", "Dan"))[0][:2] == ("delete", gone)
    assert told(people.commits.history("Person", "Dan"))[0][2]["age"] == (32, None)
    put(people, "Dan", age=1)
    found = told(people.commits.history("Person", "Dan"))
    assert found[0] == ("insert", head(people), {"name": (None, "Dan"), "age": (None, 1)})
    assert found[1][:2] == ("delete", gone)
    assert found[2:] == expected
    assert told(people.commits.history("Person", "Dan", at=gone)) == found[1:]


def test_a_history_comes_in_pages(people: og.Graph) -> None:
    for age in range(5):
        change(people, "Alice", age=100 + age)
    whole = people.commits.history("Person", "Alice")
    assert (len(whole.events), whole.after, whole.complete) == (6, None, True)
    first = people.commits.history("Person", "Alice", limit=4)
    rest = people.commits.history("Person", "Alice", limit=4, after=first.after)
    assert (first.after, rest.after) == (first.events[-1].commit.graph_commit_id, None)
    assert (*first.events, *rest.events) == whole.events
    for limit in (0, 1001):
        with pytest.raises(BadRequest, match="limit must be between 1 and 1000"):
            people.commits.history("Person", "Alice", limit=limit)
    change(people, "Bob", age=9)
    with pytest.raises(BadRequest, match="is not in the history of Person 'Alice'; start without 'after'"):
        people.commits.history("Person", "Alice", after=head(people))
    with pytest.raises(NotFound, match="Person 'Zoe' does not exist on branch 'main', nor did it before"):
        people.commits.history("Person", "Zoe")
    with pytest.raises(NotFound, match="the schema has no type 'Persn'; did you mean 'Person'"):
        people.commits.history("Persn", "Alice")


def test_changes_of_a_merged_branch_are_there_and_the_merge_is_not(people: og.Graph) -> None:
    born = head(people)
    people.branches.create("feature")
    feature = people.branch("feature")
    change(feature, "Alice", age=31)
    aged = head(feature)
    put(feature, "Eve", age=5)
    evil = head(feature)
    remove(feature, "Dan")
    removed = head(feature)
    change(people, "Alice", nick="Al")
    named = head(people)
    people.branches.merge("feature", properties="disjoint")
    merge = head(people)
    change(people, "Alice", age=32)
    last = head(people)

    def commits(name: str) -> list[tuple[str | None, str]]:
        return [(op, commit) for op, commit, _ in told(people.commits.history("Person", name))]

    assert commits("Alice") == [("update", last), ("update", named), ("update", aged), ("insert", born)]
    assert commits("Eve") == [("insert", evil)]
    assert commits("Dan") == [("delete", removed), ("insert", born)]
    assert told(people.commits.history("Person", "Eve", branch="feature")) == told(
        people.commits.history("Person", "Eve")
    )
    people.branches.delete("feature")
    assert commits("Alice") == [("update", last), ("update", merge), ("update", named), ("insert", born)]
    assert commits("Eve") == [("insert", merge)]
    assert commits("Dan") == [("delete", merge), ("insert", born)]


def test_what_a_merge_decided_itself_is_its_own_change(people: og.Graph) -> None:
    people.branches.create("feature")
    feature = people.branch("feature")
    change(feature, "Alice", age=31, nick="Fe")
    theirs = head(feature)
    change(people, "Alice", age=41)
    ours = head(people)
    (conflict,) = people.branches.merge("feature", preview=True, properties="disjoint").conflicts
    people.branches.merge("feature", properties="disjoint", resolve={conflict.entity: {"age": 55, "nick": "Fe"}})
    found = told(people.commits.history("Person", "Alice"))
    assert found[0] == ("update", head(people), {"age": (41, 55)})
    assert [commit for _, commit, _ in found[1:3]] == [ours, theirs]


def test_an_edge_has_a_history_and_goes_with_its_node(people: og.Graph) -> None:
    befriend(people, "Alice", "Dan")
    made = head(people)
    (edge,) = [each.id for each in people.diff(f"{made}~1", made) if each.kind == "edge"]
    remove(people, "Dan")
    found = told(people.commits.history("Knows", edge))
    assert [(op, commit) for op, commit, _ in found] == [("delete", head(people)), ("insert", made)]
    assert (found[1][2]["src"], found[1][2]["dst"]) == ((None, "Alice"), (None, "Dan"))


def test_names_of_before_are_followed_by_identity(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", "node Hut { code: String @key  beds: I32? }")
    put_hut = "query p($n: I32) { insert Hut { code: 'a', beds: $n } }".replace("'", '"')
    graph.mutate(put_hut, params={"n": 1})
    first = head(graph)
    graph.mutate('query d() { delete Hut where code = "a" }')
    deleted = head(graph)
    graph.mutate(put_hut, params={"n": 2})
    second = head(graph)
    graph.schema.apply(
        'node Cabin @rename_from("Hut") { code: String @key  places: I32? @rename_from("beds")  open: Bool? }'
    )
    graph.mutate('query u() { update Cabin set { places: 3 } where code = "a" }')
    found = told(graph.commits.history("Cabin", "a"))
    assert found == [
        ("update", head(graph), {"places": (2, 3)}),
        ("insert", second, {"code": (None, "a"), "places": (None, 2)}),
        ("delete", deleted, {"code": ("a", None), "places": (1, None)}),
        ("insert", first, {"code": (None, "a"), "places": (None, 1)}),
    ]
    graph.mutate('query d() { delete Cabin where code = "a" }')
    assert told(graph.commits.history("Cabin", "a"))[1:] == found


def test_what_cleanup_has_removed_is_said_to_be_missing(tmp_path: Path) -> None:
    settings = og.Settings(history="0s", history_versions=8)
    graph = og.init(tmp_path / "g.omni", "node Hut { code: String @key  beds: I32? }", settings=settings)
    graph.mutate('query m() { insert Hut { code: "a", beds: 1 } }')
    for number in range(30):
        graph.mutate(
            "query m($n: I32) { update Hut set { beds: $n } where code = 'a' }".replace("'", '"'),
            params={"n": number + 2},
        )
    found = graph.commits.history("Hut", "a")
    assert not found.complete
    assert 2 <= len(found.events) < 31
    assert [event.op for event in found.events[:-1]] == ["update"] * (len(found.events) - 1)
    assert (found.events[-1].op, found.events[-1].changed) == (None, ())
