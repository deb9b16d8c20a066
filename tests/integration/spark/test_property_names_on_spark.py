"""Any legal property name survives Spark: loads, frames, the data source both ways, `.gq`, SQL (issue 13, 3)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from hostile_names import (
    EDGE_NAMES,
    NODE_NAMES,
    READ_EDGE,
    READ_NODE,
    READ_OBJECT,
    SCHEMA,
    columns,
    edge,
    edge_values,
    hostile_graph,
    node,
    node_values,
    records,
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    return hostile_graph(tmp_path_factory.mktemp("names") / "graph", "a", "b")


@pytest.fixture
def sensitive(spark: Any) -> Iterator[Any]:
    """Spark looks names up without regard to case unless its session is told to."""
    spark.conf.set("spark.sql.caseSensitive", "true")
    yield spark
    spark.conf.unset("spark.sql.caseSensitive")


def test_loads_on_spark_keep_every_name(tmp_path: Path, spark: Any) -> None:
    with og.init(tmp_path / "graph", SCHEMA) as found:
        for tag in ("s", "t"):
            found.load(records(tag), "merge", runner="spark")
            assert (found.get("P", "1"), found.get("E", "e1")) == (node(tag), edge(tag))


def test_the_data_source_reads_and_writes_every_name(graph: og.Graph, tmp_path: Path, spark: Any) -> None:
    nodes, edges = graph.spark.read("P"), graph.spark.read("E")
    assert node("b") in nodes.toArrow().to_pylist()
    assert edges.toArrow().to_pylist() == [edge("b")]
    with og.init(tmp_path / "written", SCHEMA) as found:
        for frame, kind, name in ((nodes, "type", "P"), (edges, "edge", "E")):
            writer = frame.write.format("omnigraph").option("graph", found.uri).option(kind, name)
            writer.mode("append").save()
        assert (found.get("P", "1"), found.get("E", "e1")) == (node("b"), edge("b"))


def test_a_spark_frame_loads_every_name(graph: og.Graph, tmp_path: Path, spark: Any) -> None:
    with og.init(tmp_path / "graph", SCHEMA) as found:
        found.load(graph.spark.read("P"), type="P")
        found.load(graph.spark.read("E"), edge="E")
        assert (found.get("P", "1"), found.get("E", "e1")) == (node("b"), edge("b"))


def test_queries_on_spark_keep_every_name(graph: og.Graph, spark: Any) -> None:
    assert columns(graph.query(READ_NODE, runner="spark").rows()[0], NODE_NAMES) == node_values("b")
    assert columns(graph.query(READ_EDGE, runner="spark").rows()[0], EDGE_NAMES) == edge_values("b")
    assert graph.query(READ_OBJECT, runner="spark").rows() == [{"p": node("b")}]
    text = "query q() { match { $p: P  $p.ab = $p.ab  $p.aB != $p.ab } return { $p.aB, $p.ab, count(*) as n } }"
    assert graph.query(text, runner="spark").rows() == [{"p.aB": "b aB", "p.ab": "b ab", "n": 1}]


def test_sql_sees_every_name_in_a_session_that_minds_case(graph: og.Graph, tmp_path: Path, sensitive: Any) -> None:
    people = graph.spark.read("P").where("k = '1'")
    row = people.select(*(f"`{name}`" for name in NODE_NAMES)).collect()[0]
    assert dict(zip(NODE_NAMES, row, strict=True)) == node_values("b")
    graph.export(tmp_path / "out", format="parquet")
    mapping = {
        "sources": {
            "raw": {"path": str(tmp_path / "out" / "nodes" / "P.parquet")},
            "chosen": {"sql": "SELECT * FROM raw WHERE k = '1'"},
        },
        "nodes": {"P": {"from": "chosen"}},
    }
    with og.init(tmp_path / "graph", SCHEMA) as found:
        found.load(mapping=mapping)
        assert found.get("P", "1") == node("b")


def test_exports_on_spark_keep_every_name(graph: og.Graph, tmp_path: Path, spark: Any) -> None:
    graph.spark.export(str(tmp_path / "spark.jsonl"))
    graph.export(tmp_path / "inline.jsonl")
    assert (tmp_path / "spark.jsonl").read_bytes() == (tmp_path / "inline.jsonl").read_bytes()


def test_the_feed_as_a_stream_keeps_every_name(graph: og.Graph, tmp_path: Path, spark: Any) -> None:
    stream = graph.spark.changes("beginning")
    query = (
        stream.writeStream.format("memory")
        .queryName("names")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    rows = spark.sql("SELECT get_json_object(after, '$.properties') AS p, id FROM names WHERE op = 'update'").collect()
    images = {row.id: row.p for row in rows}
    for name, value in node_values("b").items():
        assert f'"{name}":"{value}"' in images["1"]
    assert all(f'"{name}":"{value}"' in images["e1"] for name, value in edge_values("b").items())
