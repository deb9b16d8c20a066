"""Loads in mode patch: what a row says is written, what it leaves out stays, and a new row has to be complete."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.errors import ValueViolation

SCHEMA = """
node Person {
  name: String @key
  age: I64?
  city: String
  tags: [String]?
  point: Vector(2)?
  level: I64 @default(1)
}
edge Knows: Person -> Person { since: Date?  weight: F64? }
"""
ADA = {"name": "Ada", "age": 36, "city": "London", "tags": ["x"], "point": [1.0, 2.0], "level": 7}
BOB = {"name": "Bob", "age": 25, "city": "Oslo", "tags": None, "point": None, "level": 1}


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "g.omni", SCHEMA)
    made.load([{"type": "Person", "data": {k: v for k, v in row.items() if v is not None}} for row in (ADA, BOB)])
    made.load(
        [{"edge": "Knows", "from": "Ada", "to": "Bob", "data": {"id": "k1", "since": "2020-01-01", "weight": 0.5}}]
    )
    return made


def people(graph: og.Graph) -> dict[str, dict[str, Any]]:
    found = graph.query("query q() { match { $p: Person } return { $p } }").rows()
    return {row["p"]["name"]: {k: v for k, v in row["p"].items() if k != "id"} for row in found}


RUNNERS = pytest.mark.parametrize("more", [{}, {"max_errors": 5}], ids=["inline", "tasks"])


@RUNNERS
def test_records_write_what_they_say_and_null_is_something(graph: og.Graph, more: dict[str, Any]) -> None:
    done = graph.load(
        [
            {"type": "Person", "data": {"name": "Ada", "age": 37}},
            {"type": "Person", "data": {"name": "Bob", "age": None}},
        ],
        "patch",
        **more,
    )
    assert (done.mode, dict(done.nodes)) == ("patch", {"Person": 2})
    assert people(graph) == {"Ada": {**ADA, "age": 37}, "Bob": {**BOB, "age": None}}


@RUNNERS
@pytest.mark.parametrize("made", [pa.table, pd.DataFrame, pl.DataFrame])
def test_frames_write_the_columns_they_have(graph: og.Graph, more: dict[str, Any], made: Any) -> None:
    graph.load(made({"name": ["Bob", "Ada"], "city": ["Bergen", "Paris"]}), "patch", type="Person", **more)
    assert people(graph) == {"Ada": {**ADA, "city": "Paris"}, "Bob": {**BOB, "city": "Bergen"}}


@RUNNERS
def test_a_new_row_has_to_be_complete(graph: og.Graph, more: dict[str, Any]) -> None:
    with pytest.raises(ValueViolation, match="property 'city'; a row that is not in the graph yet has to be complete"):
        graph.load([{"type": "Person", "data": {"name": "Cy", "age": 1}}], "patch", **more)
    with pytest.raises(ValueViolation, match=r"missing value for non-nullable property 'city' \(line 1\)"):
        graph.load([{"type": "Person", "data": {"name": "Ada", "city": None}}], "patch", **more)
    graph.load([{"type": "Person", "data": {"name": "Cy", "city": "Rome"}}], "patch", **more)
    assert people(graph)["Cy"]["level"] == 1


@RUNNERS
def test_many_records_at_once_and_edges_by_their_ids(graph: og.Graph, more: dict[str, Any]) -> None:
    graph.load([{"type": "Person", "data": {"name": f"p{at}", "city": "X", "age": at}} for at in range(60)])
    graph.load([{"type": "Person", "data": {"name": f"p{at}", "level": at}} for at in range(60)], "patch", **more)
    assert {(row["age"], row["level"]) for name, row in people(graph).items() if name[0] == "p"} == {
        (at, at) for at in range(60)
    }
    graph.load([{"edge": "Knows", "from": "Ada", "to": "Bob", "data": {"id": "k1", "weight": 0.9}}], "patch", **more)
    (edge,) = graph.query(
        "query q() { match { $a: Person  $a $k: knows $b } return { $k.since as s, $k.weight as w } }"
    ).rows()
    assert edge == {"s": "2020-01-01", "w": 0.9}


def test_mappings_write_the_columns_they_have(graph: og.Graph, tmp_path: Path) -> None:
    (tmp_path / "ages.csv").write_text("who,age\nAda,40\nBob,NA\n")
    source = {"path": str(tmp_path / "ages.csv"), "nulls": ["NA"]}
    mapping = {"sources": {"a": source}, "nodes": {"Person": {"from": "a", "columns": {"name": "who"}}}}
    graph.load(mapping=mapping, mode="patch")
    assert people(graph) == {"Ada": {**ADA, "age": 40}, "Bob": {**BOB, "age": None}}


@RUNNERS
def test_a_patch_is_completed_from_the_state_that_it_is_written_on(
    graph: og.Graph, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from omnigraph.engine.write.committed import PinnedRows

    looked: list[int] = []
    real = PinnedRows.rows_of

    def meddling(self: PinnedRows, *given: Any) -> pa.Table:
        found = real(self, *given)
        looked.append(found.num_rows)
        if len(looked) == 1:  # another writer commits between the look and the commit
            with og.open(graph.uri) as other:
                other.mutate('query m() { update Person set { city: "Rome" } where name = "Ada" }')
        return found

    monkeypatch.setattr(PinnedRows, "rows_of", meddling)
    graph.load([{"type": "Person", "data": {"name": "Ada", "age": 99}}], "patch", **more)
    assert people(graph)["Ada"] == {**ADA, "age": 99, "city": "Rome"}
    assert len(looked) > 1
