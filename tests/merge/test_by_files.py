"""Large changes are merged by their files: with the outcome of a merge row by row, and without reading a row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.engine.merge import by_files
from omnigraph.errors import MergeConflicts
from omnigraph.storage.lance.continuation import stage_continuation
from omnigraph.storage.protocol import table_steps
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.naive.observe import image_of

SCHEMA = """
node Person { name: String @key  age: I32?  mail: String? @unique }
node Town { name: String @key }
edge Knows: Person -> Person @card(0..3) { since: I32? }
"""


@pytest.fixture(params=["files", "rows"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How large changes are merged in a test; both ways must end alike."""
    monkeypatch.setattr(by_files, "LARGE_CHANGE", 1 if request.param == "files" else 1 << 40)
    return str(request.param)


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[og.Graph]:
    with og.init(tmp_path / "g.omni", SCHEMA) as graph:
        load(graph, people(range(20)), [knows(n, n + 1) for n in range(10)])
        graph.branches.create("feature")
        yield graph


def people(numbers: Any, **values: Any) -> list[dict[str, Any]]:
    return [{"type": "Person", "data": {"name": f"p{n}", "age": n, **values}} for n in numbers]


def knows(one: int, other: int, **values: Any) -> dict[str, Any]:
    return {"edge": "Knows", "from": f"p{one}", "to": f"p{other}", "data": {"id": f"k{one}-{other}", **values}}


def load(graph: og.Graph, *records: list[dict[str, Any]]) -> None:
    graph.load([json.dumps(row) for each in records for row in each], "merge")


def bulk(graph: og.Graph, *records: list[dict[str, Any]], mode: Any = "merge") -> None:
    """A load by tasks, which writes rows that replace others apart from new ones, as large loads do."""
    graph.load([json.dumps(row) for each in records for row in each], mode, on_error="skip")


def sound(graph: og.Graph) -> None:
    """Nothing is damaged, and no file depends on a branch that may go."""
    assert violations(access(graph).store) == []
    assert graph.check().findings == ()


def remove(graph: og.Graph, *numbers: int) -> None:
    for number in numbers:
        graph.mutate("query d($n: String) { delete Person where name = $n }", params={"n": f"p{number}"})


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, int]]:
    """New, changed and removed rows of every change that was taken over by its files."""
    found: list[tuple[int, int, int]] = []

    def noted(base: Any, change: Any) -> Any:
        found.append((change.inserted, change.updated, change.removed))
        return stage_continuation(base, change)

    monkeypatch.setattr(table_steps, "stage_continuation", noted)
    return found


def outcome(graph: og.Graph, into: str = "main") -> Any:
    """The rows after a merge, or what it contradicts."""
    try:
        graph.branches.merge("feature", into=into)
    except MergeConflicts as refused:
        return {(each.table_key, each.entity_id, each.kind) for each in refused.conflicts}
    sound(graph)
    return image_of(graph.branch(into).view())


def test_a_bulk_load_is_taken_over(graph: og.Graph, way: str, taken: list[Any]) -> None:
    feature = graph.branch("feature")
    bulk(feature, people(range(20, 30)), people([0], mail="m@x"), [knows(20, 21), knows(0, 1, since=7)])
    wanted = image_of(feature.view())
    assert graph.branches.merge("feature", preview=True).conflicts == ()
    done = graph.branches.merge("feature", delete=True)
    assert image_of(graph.view()) == wanted
    assert done.outcome == "fast_forward"
    assert {name: each.document() for name, each in done.changes.items()} == {
        "Person": {"inserted": 10, "updated": 1, "deleted": 0},
        "Knows": {"inserted": 1, "updated": 1, "deleted": 0},
    }
    assert done.commit is not None
    assert done.commit.counts == done.changes
    assert sorted(taken) == ([(1, 1, 0), (10, 1, 0)] if way == "files" else [])
    sound(graph)
    graph.cleanup(keep=1, confirm=True)
    assert image_of(og.open(graph.uri).view()) == wanted


def test_a_fast_forward_reads_no_row(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_files, "LARGE_CHANGE", 1)
    monkeypatch.setattr(by_files, "row_delta", lambda *_: pytest.fail("rows were compared"))
    bulk(graph.branch("feature"), people(range(20, 30)), people([0], mail="m@x"), [knows(20, 21)])
    graph.branches.merge("feature")
    assert len(graph.view().table(graph.schema.catalog.nodes["Person"]).scan(["id"])) == 30


def test_rows_that_were_replaced_keep_their_origin(graph: og.Graph, way: str) -> None:
    born = graph.commits.head()
    bulk(graph.branch("feature"), people(range(20, 30)), people([0, 7], mail=None, age=99))
    before = numbers(graph, "p0", "p7", "p9")
    graph.branches.merge("feature")
    assert numbers(graph, "p0", "p7", "p9") == before
    assert graph.commits.blame("Person", "p0").created.graph_commit_id == born
    changes = graph.diff(born, graph.commits.head())
    assert {(each.id, each.op) for each in changes} == {
        ("p0", "update"), ("p7", "update"), *((f"p{n}", "insert") for n in range(20, 30)),
    }  # fmt: skip


def test_both_sides_may_change_other_rows_of_one_table(graph: og.Graph, way: str, taken: list[Any]) -> None:
    load(graph, people([15], mail="a@x"), people([50]), [knows(11, 12)])
    remove(graph, 19)
    bulk(graph.branch("feature"), people(range(20, 30)), people([0], mail="m@x"), [knows(20, 21)])
    merged = outcome(graph)
    assert len(merged["node:Person"]) == 30
    assert (merged["node:Person"]["p15"]["mail"], merged["node:Person"]["p0"]["mail"]) == ("a@x", "m@x")
    assert {"k11-12", "k20-21"} <= merged["edge:Knows"].keys()
    assert len(taken) == (2 if way == "files" else 0)


def test_both_sides_may_change_other_tables(graph: og.Graph, way: str) -> None:
    graph.load('{"type":"Town","data":{"name":"Ulm"}}', "merge")
    bulk(graph.branch("feature"), people(range(20, 30)))
    merged = outcome(graph)
    assert (len(merged["node:Person"]), list(merged["node:Town"])) == (30, ["Ulm"])


CLASHES: dict[str, tuple[Any, Any, set[tuple[str, str | None, str]]]] = {
    "one row, two values": (
        lambda main: load(main, people([0], mail="a@x")),
        lambda feature: bulk(feature, people(range(20, 30)), people([0], mail="m@x")),
        {("node:Person", "p0", "DivergentUpdate")},
    ),
    "a row that one side removes": (
        lambda main: remove(main, 15),
        lambda feature: bulk(feature, people(range(20, 30)), people([15], mail="m@x")),
        {("node:Person", "p15", "DeleteVsUpdate")},
    ),
    "a row that the bulk load's side removes": (
        lambda main: load(main, people([15], mail="a@x")),
        lambda feature: (remove(feature, 15), bulk(feature, people(range(20, 30)))),
        {("node:Person", "p15", "DeleteVsUpdate")},
    ),
    "one new id, two rows": (
        lambda main: load(main, people([25], mail="a@x")),
        lambda feature: bulk(feature, people(range(20, 30))),
        {("node:Person", "p25", "DivergentInsert")},
    ),
    "new edges to a node that is gone": (
        lambda main: remove(main, 15),
        lambda feature: bulk(feature, people(range(20, 30)), [knows(20, 15)]),
        {("edge:Knows", "k20-15", "OrphanEdge")},
    ),
    "too many edges of one node": (
        lambda main: load(main, [knows(0, 5), knows(0, 6)]),
        lambda feature: bulk(feature, people(range(20, 30)), [knows(0, 20)]),
        {("edge:Knows", None, "CardinalityViolation")},
    ),
}


@pytest.mark.parametrize("case", CLASHES)
def test_contradictions_are_found(graph: og.Graph, way: str, case: str) -> None:
    ours, theirs, expected = CLASHES[case]
    ours(graph)
    theirs(graph.branch("feature"))
    before = image_of(graph.view())
    assert outcome(graph) == expected
    assert image_of(graph.view()) == before


def test_one_unique_value_of_two_rows_is_a_contradiction(graph: og.Graph, way: str) -> None:
    load(graph, people([50], mail="a@x"))
    bulk(graph.branch("feature"), people(range(20, 30)), people([31], mail="a@x"))
    [(table, entity, kind)] = outcome(graph)
    assert (table, kind) == ("node:Person", "UniqueViolation")
    assert entity in ("p31", "p50")


def test_equal_rows_on_both_sides_agree(graph: og.Graph, way: str) -> None:
    load(graph, people([25]))
    bulk(graph.branch("feature"), people(range(20, 30)))
    assert len(outcome(graph)["node:Person"]) == 30


def test_rows_that_were_removed_go(graph: og.Graph, way: str, taken: list[Any]) -> None:
    feature = graph.branch("feature")
    remove(feature, 15, 16)
    bulk(feature, people(range(20, 30)))
    assert outcome(graph) == image_of(feature.view())
    assert taken == ([(10, 0, 2)] if way == "files" else [])


def test_a_row_that_was_removed_and_added_again_has_changed(graph: og.Graph, way: str, taken: list[Any]) -> None:
    feature = graph.branch("feature")
    remove(feature, 15)
    bulk(feature, people(range(20, 30)), people([15], mail="m@x"))
    done = graph.branches.merge("feature")
    assert done.changes["Person"].document() == {"inserted": 10, "updated": 1, "deleted": 0}
    assert taken == []
    assert image_of(graph.view()) == image_of(feature.view())


def test_rows_that_a_compaction_has_moved_are_compared(graph: og.Graph, way: str, taken: list[Any]) -> None:
    for n in range(40, 44):
        load(graph, people([n]))
    graph.branches.create("later")
    later = graph.branch("later")
    bulk(later, people(range(20, 30)), people([41], mail="m@x"))
    wanted = image_of(later.view())
    graph.optimize()
    graph.branches.merge("later")
    assert image_of(graph.view()) == wanted
    assert taken == []
    sound(graph)


def test_new_rows_are_taken_over_beside_a_compaction(graph: og.Graph, way: str, taken: list[Any]) -> None:
    for n in range(40, 44):
        load(graph, people([n]))
    graph.branches.create("later")
    later = graph.branch("later")
    bulk(later, people(range(20, 30)))
    wanted = image_of(later.view())
    graph.optimize()
    graph.branches.merge("later")
    assert image_of(graph.view()) == wanted
    assert taken == ([(10, 0, 0)] if way == "files" else [])


def test_rows_that_the_source_has_compacted_have_not_changed(graph: og.Graph, way: str, taken: list[Any]) -> None:
    for n in range(40, 44):
        load(graph, people([n]))
    graph.branches.create("later")
    load(graph.branch("later"), people([15], mail="a@x"))
    graph.optimize()
    bulk(graph, people(range(20, 30)))
    done = graph.branches.merge("main", into="later")
    assert done.changes["Person"].document() == {"inserted": 10, "updated": 0, "deleted": 0}
    assert taken == []
    sound(graph)


def test_rows_of_several_loads_are_taken_over(graph: og.Graph, way: str, taken: list[Any]) -> None:
    feature = graph.branch("feature")
    bulk(feature, people(range(20, 30)))
    bulk(feature, people(range(30, 40)), people([3], mail="m@x"))
    assert outcome(graph) == image_of(feature.view())
    assert taken == ([(20, 1, 0)] if way == "files" else [])


def test_new_rows_that_changed_again_are_compared(graph: og.Graph, way: str, taken: list[Any]) -> None:
    feature = graph.branch("feature")
    bulk(feature, people(range(20, 30)))
    load(feature, people([25], mail="m@x"))
    assert outcome(graph) == image_of(feature.view())
    assert taken == []


def test_an_empty_table_is_filled(tmp_path: Path, way: str, taken: list[Any]) -> None:
    with og.init(tmp_path / "empty.omni", SCHEMA) as graph:
        graph.branches.create("feature")
        bulk(graph.branch("feature"), people(range(20, 30)), [knows(20, 21)], mode="append")
        assert outcome(graph) == image_of(graph.view("feature"))
        assert sorted(taken) == ([(1, 0, 0), (10, 0, 0)] if way == "files" else [])
        load(graph, people([30]))
        sound(graph)


def test_a_branch_takes_over_what_another_has(graph: og.Graph, way: str) -> None:
    graph.branches.create("sibling")
    load(graph.branch("sibling"), people([15], mail="a@x"))
    bulk(graph.branch("feature"), people(range(20, 30)), people([0], mail="m@x"))
    merged = outcome(graph, "sibling")
    graph.branches.delete("feature")
    assert len(merged["node:Person"]) == 30
    assert image_of(graph.branch("sibling").view()) == merged
    sound(graph)


def test_a_branch_takes_over_what_main_has(graph: og.Graph, way: str) -> None:
    feature = graph.branch("feature")
    load(feature, people([15], mail="a@x"))
    bulk(graph, people(range(20, 30)), people([0], mail="m@x"))
    graph.branches.merge("main", into="feature")
    found = image_of(feature.view())["node:Person"]
    assert (len(found), found["p15"]["mail"], found["p0"]["mail"]) == (30, "a@x", "m@x")
    sound(graph)


def test_decisions_by_hand_are_made_row_by_row(graph: og.Graph, way: str, taken: list[Any]) -> None:
    bulk(graph.branch("feature"), people(range(20, 30)), people([0], mail="m@x"))
    graph.branches.merge("feature", resolve={"Person/p0": "ours"})
    assert graph.get("Person", "p0")["mail"] is None
    assert taken == []


def test_a_large_merge_leaves_indexes_built(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    from omnigraph.engine.maintenance import indexes

    monkeypatch.setattr(by_files, "LARGE_CHANGE", 1)
    monkeypatch.setattr(indexes, "LARGE_LOAD", 10)
    bulk(graph.branch("feature"), people(range(20, 40)))
    graph.branches.merge("feature")
    covered = {(each.type_key, each.column): each.coverage for each in graph.indexes()}
    assert covered["node:Person", "id"] == 1
    assert graph.commits.list(limit=1, maintenance=True)[0].kind == "index"


def test_a_row_that_the_target_wrote_again_with_equal_values_is_compared(graph: og.Graph, way: str) -> None:
    load(graph, people([0]))  # what it was, in another place
    feature = graph.branch("feature")
    bulk(feature, people(range(20, 30)), people(range(19), mail=None, age=7))
    assert outcome(graph) == image_of(feature.view())
    assert len(set(numbers(graph, *(f"p{n}" for n in range(30))))) == 30


def test_a_removed_row_that_the_target_wrote_again_goes(graph: og.Graph, way: str) -> None:
    remove(graph, 18)
    load(graph, people([18]))
    feature = graph.branch("feature")
    remove(feature, 18)
    bulk(feature, people(range(20, 30)))
    assert outcome(graph) == image_of(feature.view())


def test_a_branch_that_was_merged_before_is_merged_again(graph: og.Graph, way: str) -> None:
    load(graph, people(range(100, 110)))
    feature = graph.branch("feature")
    bulk(feature, people(range(20, 30)))
    graph.branches.merge("feature")
    bulk(feature, people(range(20, 30), mail=None, age=7))
    merged = outcome(graph)["node:Person"]
    assert [merged[f"p{n}"]["age"] for n in (20, 29, 100, 109)] == [7, 7, 100, 109]
    assert len(set(numbers(graph, *merged))) == len(merged) == 40


def test_files_of_the_target_itself_are_shown_again(tmp_path: Path, way: str) -> None:
    with og.init(tmp_path / "cross.omni", SCHEMA) as graph:
        graph.branches.create("feature")
        feature = graph.branch("feature")
        bulk(graph, people(range(20, 30)), mode="append")
        loaded = graph.commits.head()
        for n in range(4):
            feature.load(json.dumps({"type": "Town", "data": {"name": f"t{n}"}}), "merge")
        graph.branches.create("other", "feature")
        graph.branches.merge("main", into="feature")
        graph.branches.merge("other")
        remove(graph, *range(20, 30))
        graph.branches.merge("feature")
        assert len(image_of(graph.at(loaded).view())["node:Person"]) == 10
        sound(graph)


def numbers(graph: og.Graph, *names: str) -> list[int]:
    """Under which row ids storage has some people."""
    rows = graph.view().table(graph.schema.catalog.nodes["Person"]).scan(["id", "_rowid"]).to_pylist()
    by_id = {row["id"]: row["_rowid"] for row in rows}
    return [by_id[name] for name in names]
