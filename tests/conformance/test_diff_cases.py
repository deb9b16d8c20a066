"""The numbered cases of net differences between two states."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.errors import NotFound
from omnigraph.testing.graphs.people import PEOPLE, SCHEMA, befriend, change, create_people, open_copy, put, remove


def case(*numbers: str) -> pytest.MarkDecorator:
    """Puts the number of a specification case into the id of its test."""
    return pytest.mark.parametrize("case", [pytest.param(number, id=number) for number in numbers])


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_people(tmp_path_factory.mktemp("diff") / "template.omni")


@pytest.fixture
def graph(template: Path, tmp_path: Path) -> og.Graph:
    return open_copy(template, tmp_path / "people.omni")


def found(difference: og.Difference) -> list[tuple[str, str, str]]:
    return [(change.op, change.type_name, change.id) for change in difference.changes]


def head(graph: og.Graph) -> str:
    return str(graph.commits.head())


@case("V48")
def test_a_state_does_not_differ_from_itself(graph: og.Graph, case: str) -> None:
    for target in ("main", head(graph), graph.at(head(graph)), graph.view().version):
        assert found(graph.diff("main", target)) == []
    graph.branches.create("feature")
    assert len(graph.diff("main", "feature")) == 0


@case("V49")
def test_inserts_updates_and_cascading_deletes_are_found_exactly(graph: og.Graph, case: str) -> None:
    before = head(graph)
    put(graph, "Eve", age=1)
    change(graph, "Alice", age=31)
    befriend(graph, "Eve", "Alice", "eve-alice")
    remove(graph, "Bob")
    difference = graph.diff(before)
    assert found(difference) == [
        ("delete", "Knows", "bob-carol"),
        ("insert", "Knows", "eve-alice"),
        ("update", "Person", "Alice"),
        ("delete", "Person", "Bob"),
        ("insert", "Person", "Eve"),
    ]
    assert [change.endpoints for change in difference][:3] == [
        {"src": "Bob", "dst": "Carol"},
        {"src": "Eve", "dst": "Alice"},
        None,
    ]
    stats = difference.stats
    assert (stats.inserts, stats.updates, stats.deletes, stats.types_affected) == (2, 1, 2, ["Knows", "Person"])
    assert (difference.from_graph_manifest_version, difference.graph_branch) == (graph.at(before).version, None)


@case("V50")
def test_loading_the_same_rows_again_makes_no_difference(graph: og.Graph, case: str) -> None:
    before = head(graph)
    lines = [json.dumps({"type": "Person", "data": {"name": name, "age": 30}}) for name in PEOPLE]
    graph.load(lines, "overwrite")
    assert head(graph) != before
    assert found(graph.diff(before)) == []


@case("V51")
def test_exchanged_arguments_give_the_inverse(graph: og.Graph, case: str) -> None:
    before = head(graph)
    put(graph, "Eve", age=1)
    change(graph, "Alice", age=31)
    remove(graph, "Dan")
    forward, backward = found(graph.diff(before)), found(graph.diff("main", before))
    inverse = {"insert": "delete", "delete": "insert", "update": "update"}
    assert [(inverse[op], *rest) for op, *rest in forward] == backward


@case("V52")
def test_a_changed_property_on_a_branch_is_one_update(graph: og.Graph, case: str) -> None:
    graph.branches.create("feature")
    change(graph.branch("feature"), "Alice", nick="Al")
    assert found(graph.diff("main", "feature")) == [("update", "Person", "Alice")]


@case("V53")
def test_filters_by_kind_type_and_operation(graph: og.Graph, case: str) -> None:
    before = head(graph)
    put(graph, "Eve", age=1)
    befriend(graph, "Eve", "Alice", "eve-alice")
    remove(graph, "Bob")
    assert found(graph.diff(before, kinds="edge")) == [
        ("delete", "Knows", "bob-carol"),
        ("insert", "Knows", "eve-alice"),
    ]
    assert found(graph.diff(before, types=["Person"])) == [("delete", "Person", "Bob"), ("insert", "Person", "Eve")]
    inserts = graph.diff(before, ops="insert")
    assert found(inserts) == [("insert", "Knows", "eve-alice"), ("insert", "Person", "Eve")]
    assert (inserts.stats.inserts, inserts.stats.deletes) == (2, 0)
    with pytest.raises(og.errors.BadRequest, match="unknown op"):
        graph.diff(before, ops=["insrt"])


@case("V54")
def test_a_renamed_type_is_the_same_and_a_type_added_again_is_another(graph: og.Graph, case: str) -> None:
    before = head(graph)
    graph.load([json.dumps({"type": "Team", "data": {"id": "t1", "title": "one"}})])
    loaded = head(graph)
    graph.schema.apply(_renamed())
    assert found(graph.diff(loaded)) == []
    assert found(graph.diff(before)) == [("insert", "Crew", "t1")]
    graph.schema.apply(SCHEMA.replace("node Team { title: String }\n", "").replace("edge Leads: Person -> Team\n", ""))
    graph.schema.apply(SCHEMA)
    graph.load([json.dumps({"type": "Team", "data": {"id": "t2", "title": "two"}})])
    assert found(graph.diff(loaded)) == [("delete", "Team", "t1"), ("insert", "Team", "t2")]


def _renamed() -> str:
    return SCHEMA.replace("node Team {", 'node Crew @rename_from("Team") {').replace("-> Team", "-> Crew")


def test_a_changed_column_is_part_of_the_difference(graph: og.Graph) -> None:
    """Issue 13, item 4 replaces the refusal of the contract: the schema change itself is what is different."""
    before = head(graph)
    graph.schema.apply(SCHEMA.replace("  nick: String?\n", "  nick: String?\n  city: String?\n"))
    difference = graph.diff(before)
    assert found(difference) == []
    assert [type(step).__name__ for step in difference.schema_changes] == ["AddProperty"]


def test_versions_instants_tags_and_commits_name_the_same_states(graph: og.Graph) -> None:
    first = graph.commits.list(limit=1)[0]
    graph.tags.create("before")
    change(graph, "Alice", age=31)
    expected = [("update", "Person", "Alice")]
    moment = datetime.fromtimestamp(first.created_at / 1_000_000, UTC) + timedelta(microseconds=1)
    for target in (first, first.graph_commit_id, "before", graph.at("before"), first.manifest_version, moment):
        assert found(graph.diff(target)) == expected
    with pytest.raises(NotFound, match="not a branch, tag, commit or point in time"):
        graph.diff("nowhere")


def test_a_row_says_in_which_version_it_was_written(graph: og.Graph) -> None:
    before = head(graph)
    change(graph, "Alice", age=31)
    version = graph.snapshot().entry("node:Person").version
    remove(graph, "Dan")
    by_id = {change.id: change.published_dataset_version for change in graph.diff(before)}
    assert by_id == {"Alice": version, "Dan": graph.at(before).snapshot().entry("node:Person").version}
