"""Every property type keeps its values through Spark: frames, the data source both ways, `.gq`, loads (issue 13, 2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from typed_values import EDGES, EVERY, KINDS, OBJECTS, SCHEMA, exported, records, typed_graph


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    return typed_graph(tmp_path_factory.mktemp("typed") / "graph")


def test_frames_have_the_types_of_spark(graph: og.Graph, spark: Any) -> None:
    for name in ("T", "E"):
        found = dict(graph.spark.read(name).dtypes)
        assert {kind.name: found[kind.name] for kind in KINDS} == {kind.name: kind.spark for kind in KINDS}
    assert dict(graph.spark.read("T").dtypes)["blob"] == "binary"


def test_the_data_source_brings_every_value_back(graph: og.Graph, tmp_path: Path, spark: Any) -> None:
    with og.init(tmp_path / "again", SCHEMA) as again:
        for name, kind in (("T", "type"), ("E", "edge")):
            writer = graph.spark.read(name).write.format("omnigraph").option("graph", again.uri).option(kind, name)
            writer.mode("append").save()
        assert exported(again, tmp_path / "a.jsonl") == exported(graph, tmp_path / "g.jsonl")


def test_frames_bring_every_value_back(graph: og.Graph, tmp_path: Path, spark: Any) -> None:
    with og.init(tmp_path / "again", SCHEMA) as again:
        again.load(graph.spark.read("T"), type="T")
        again.load(graph.spark.read("E"), edge="E")
        assert exported(again, tmp_path / "a.jsonl") == exported(graph, tmp_path / "g.jsonl")


def test_parquet_files_that_spark_writes_bring_every_value_back(graph: og.Graph, tmp_path: Path, spark: Any) -> None:
    graph.spark.read("T").write.parquet(str(tmp_path / "out"))
    with og.init(tmp_path / "again", SCHEMA) as again:
        again.load(tmp_path / "out", type="T")
        assert exported(again, tmp_path / "a.jsonl", "T") == exported(graph, tmp_path / "g.jsonl", "T")


@pytest.mark.parametrize("form", ["records", "csv", "parquet"])
def test_loads_on_spark_bring_every_value(graph: og.Graph, tmp_path: Path, spark: Any, form: str) -> None:
    with og.init(tmp_path / "again", SCHEMA) as again:
        if form == "records":
            again.load(records(), runner="spark")
        else:
            graph.export(tmp_path / "out", format=form)
            again.load(mapping=tmp_path / "out" / "mapping.yaml", runner="spark")
        assert exported(again, tmp_path / "a.jsonl") == exported(graph, tmp_path / "g.jsonl")


@pytest.mark.parametrize("text", [EVERY, EDGES, OBJECTS], ids=["properties", "edges", "objects"])
def test_queries_on_spark_give_the_same_table(graph: og.Graph, spark: Any, text: str) -> None:
    found, expected = graph.query(text, runner="spark").to_arrow(), graph.query(text).to_arrow()
    assert found.schema == expected.schema
    assert found.to_pylist() == expected.to_pylist()


def test_rows_of_a_spark_frame_are_python_values(graph: og.Graph, spark: Any) -> None:
    frame = graph.spark.read("T", ["k", "moment", "i64", "u64", "blob"])
    rows = {row["k"]: row for row in frame.where("k IN ('n0', 'n1')").collect()}
    assert rows["n0"]["moment"].isoformat() == "2024-02-29T23:59:59.999000"  # Spark's own values have no zone
    assert (rows["n1"]["i64"], int(rows["n1"]["u64"])) == (2**53 + 1, 2**53 + 1)
    assert bytes(rows["n1"]["blob"]) == b"\x00\x01\x02\xff"
