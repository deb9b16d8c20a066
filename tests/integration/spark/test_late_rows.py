"""Rows of a stream that come late: where a property says which of two rows is newer, the newer one stays."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.errors import BadRequest
from omnigraph.pipeline.spark.batches import Fields, Operations
from omnigraph.pipeline.tasks.load import load_here
from omnigraph.storage.base import failpoints
from omnigraph.storage.manifest.note import Epoch

SCHEMA = """
node Person { name: String @key  age: I32?  at: I64?  seen: DateTime?  tags: [String]?  ok: Bool? }
node Company { name: String @key }
edge Knows: Person -> Person { at: I64? }
"""
SHAPE = "op string, name string, age int, at long"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "graph", SCHEMA)


def people(*rows: tuple[str, int | None, int | None]) -> bytes:
    return b"".join(
        json.dumps({"type": "Person", "data": {"name": name, "age": age, "at": at}}).encode() + b"\n"
        for name, age, at in rows
    )


def ages(graph: og.Graph) -> dict[str, Any]:
    graph.refresh()
    rows = graph.query("query q() { match { $p: Person } return { $p.name as name, $p.age as age } order { name } }")
    return {row["name"]: row["age"] for row in rows.rows()}


def merged(graph: og.Graph, data: bytes, mode: Any = "merge", **options: Any) -> Any:
    return load_here(access(graph), LoadRequest(data=data, mode=mode, order_by="at", **options))


@pytest.mark.parametrize("mode", ["merge", "patch"])
def test_a_row_that_is_older_than_the_stored_one_is_left_out(graph: og.Graph, mode: str) -> None:
    graph.load(people(("a", 1, 10), ("b", 1, None), ("c", 1, 10), ("d", 1, 10)))
    done = merged(graph, people(("a", 2, 9), ("b", 2, 5), ("c", 2, 10), ("d", 2, None), ("e", 2, None)), mode)
    assert ages(graph) == {"a": 1, "b": 2, "c": 2, "d": 1, "e": 2}, "equal ones count, and none is older than any"
    assert (dict(done.skipped), dict(done.nodes)) == ({"Person": 2}, {"Person": 3})
    head = graph.refresh()
    done = merged(graph, people(("a", 3, 1)), mode)
    assert (done.commit, dict(done.skipped), graph.refresh()) == (None, {"Person": 1}, head)
    done = merged(graph, people(("a", 3, 1)), mode, epoch=Epoch("s", "c", 0))
    assert (done.commit.epoch, ages(graph)["a"]) == (Epoch("s", "c", 0), 1), "a batch is on record all the same"


def test_a_row_that_became_late_while_it_was_loaded_is_left_out(graph: og.Graph) -> None:
    graph.load(people(("a", 1, 10), ("b", 1, 10)))
    newer = [people(("a", 30, 30))]

    def rival() -> None:
        if newer:
            graph.load(newer.pop(), "merge", runner="inline")

    with failpoints.armed({"load.post_checks": rival}):
        done = merged(graph, people(("a", 20, 20), ("b", 20, 20)))
    assert (ages(graph), dict(done.skipped)) == ({"a": 30, "b": 20}, {"Person": 1})


def test_edges_are_compared_by_their_ids(graph: og.Graph) -> None:
    def edge(at: int, to: str, **data: Any) -> bytes:
        return json.dumps({"edge": "Knows", "from": "a", "to": to, "data": {"at": at, **data}}).encode() + b"\n"

    graph.load(people(("a", 1, 1), ("b", 1, 1), ("c", 1, 1)) + edge(10, "b", id="e"))
    done = merged(graph, edge(9, "c", id="e") + edge(1, "c"))
    assert (dict(done.edges), dict(done.skipped)) == ({"Knows": 1}, {"Knows": 1})
    rows = graph.query(
        "query q() { match { $a: Person  $a $e:knows $b } return { $b.name as to, $e.at as at } order { at } }"
    )
    assert rows.rows() == [{"to": "c", "at": 1}, {"to": "b", "at": 10}]


def test_what_order_by_may_name_is_told(graph: og.Graph) -> None:
    person = Fields(graph.view().catalog.nodes["Person"], {"at": "ts"})
    assert [Operations(person, None, name).sequence for name in ("ts", "seen", "at", "elsewhere")] == [
        "at", "seen", None, None,
    ]  # fmt: skip
    for name in ("tags", "ok"):
        with pytest.raises(BadRequest, match=f"order_by= names Person.{name}, whose values have no order"):
            _ = Operations(person, None, name).sequence
    knows = Fields(graph.view().catalog.edges["Knows"])
    with pytest.raises(BadRequest, match="order_by= orders edges by their id, and the stream has the columns from, to"):
        Operations(knows, None, "at")._identity(["from", "to"])


def test_late_batches_of_a_stream_change_nothing_that_is_newer(graph: og.Graph, spark: Any) -> None:
    sink = graph.spark.sink("changes", type="Person", mode="patch", op="op", order_by="at")

    def batch(number: int, *rows: tuple[Any, ...]) -> dict[str, Any]:
        sink(spark.createDataFrame(list(rows), SHAPE), number)
        return ages(graph)

    assert batch(0, ("insert", "a", 1, 10), ("insert", "a", 2, 11), ("insert", "b", 1, 10)) == {"a": 2, "b": 1}
    assert batch(1, ("update", "a", 9, 9), ("update", "b", 3, 30)) == {"a": 2, "b": 3}, "a comes late"
    assert batch(2, ("delete", "a", None, 5), ("delete", "b", None, 31)) == {"a": 2}, "the removal of a comes late"
    assert batch(3, ("delete", "a", None, 10), ("update", "a", 7, 8), ("insert", "c", 1, 1)) == {"a": 2, "c": 1}
    assert batch(4, ("delete", "a", None, 11)) == {"c": 1}, "of what is as new the removal counts"
    assert [commit.epoch.batch for commit in graph.commits.list() if commit.epoch] == [4, 3, 2, 1, 0]


def test_a_removal_that_became_late_while_it_was_applied_removes_nothing(graph: og.Graph, spark: Any) -> None:
    graph.load(people(("a", 1, 10), ("b", 1, 10)))
    sink = graph.spark.sink("changes", type="Person", op="op", order_by="at")
    newer = [people(("a", 30, 30))]

    def rival() -> None:
        if newer:
            with og.open(graph.uri) as other:
                other.load(newer.pop(), "merge", runner="inline")

    with failpoints.armed({"transaction.pre_merge": rival}):
        sink(spark.createDataFrame([("delete", "a", None, 20), ("delete", "b", None, 20)], SHAPE), 0)
    assert ages(graph) == {"a": 30}


def test_removals_compare_any_kind_of_value(graph: og.Graph, spark: Any) -> None:
    graph.load([{"type": "Person", "data": {"name": n, "seen": "2026-01-02T00:00:00Z"}} for n in "ab"])
    sink = graph.spark.sink("changes", type="Person", op="op", order_by="seen")
    rows = [("delete", "a", datetime(2026, 1, 1)), ("delete", "b", datetime(2026, 1, 3))]
    sink(spark.createDataFrame(rows, "op string, name string, seen timestamp"), 0)
    assert list(ages(graph)) == ["a"]


def test_a_sink_without_removals_keeps_the_newest_too(graph: og.Graph, spark: Any) -> None:
    sink = graph.spark.sink("people", type="Person", columns={"name": "who", "age": "age", "at": "ts"}, order_by="ts")
    shape = "who string, age int, ts long"
    sink(spark.createDataFrame([("a", 1, 5), ("a", 2, 7), ("a", 3, 6)], shape), 0)
    assert ages(graph) == {"a": 2}
    sink(spark.createDataFrame([("a", 4, 6), ("b", 1, 1)], shape), 1)
    assert ages(graph) == {"a": 2, "b": 1}
