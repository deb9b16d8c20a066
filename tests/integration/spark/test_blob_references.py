"""Blobs that are references, loaded, read and written by Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

import omnigraph as og
from omnigraph.errors import ExternalBlobSource, ValueViolation
from omnigraph.pipeline.tasks.compare import spread_delta
from omnigraph.pipeline.tasks.jobs import SparkTasks

SCHEMA = "node Doc { name: String @key  content: Blob?  n: I64? }"


def test_references_travel_through_spark_unopened(tmp_path: Path, spark: Any) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    (shelf / "a").write_bytes(b"outside")
    there, lost = (shelf / "a").as_uri(), (shelf / "lost").as_uri()
    graph = og.init(tmp_path / "graph", SCHEMA, external_blobs=[shelf.as_uri()])
    graph.load(lines(x=there, k="base64:a2VwdA==", z=None), runner="spark")
    before = graph.view()

    with pytest.raises(ExternalBlobSource, match="there is no such file"):
        graph.load(lines(y=there, w=lost), "merge", runner="spark")
    with og.open(graph.uri) as plain, pytest.raises(ValueViolation, match="is not allowed"):
        plain.load(lines(y=there), "merge", runner="spark")
    graph.load(lines(k=there, x=there, y=there), "merge", runner="spark")
    (shelf / "a").unlink()
    stored = {"k": there, "x": there, "y": there, "z": None}
    assert contents(graph) == stored

    frame = graph.spark.read("Doc", blobs="cells")
    assert {row.id: row.content and row.content.uri for row in frame.collect()} == stored
    with pytest.raises(PySparkException, match="blobs=cells"):
        graph.spark.read("Doc").collect()
    assert graph.spark.read("Doc", ["id"]).count() == 4

    info = graph.view().catalog.nodes["Doc"]
    delta = spread_delta(before.table(info), graph.view().table(info), SparkTasks(spark), range_rows=2)
    assert delta.ids.to_pylist() == ["k", "y"], "an equal reference is not a change"

    (shelf / "a").write_bytes(b"outside")
    copy = og.init(tmp_path / "copy", SCHEMA)
    write = frame.drop("id").write.format("omnigraph").option("graph", copy.uri).option("type", "Doc").mode("append")
    with pytest.raises(PySparkException, match="is not allowed"):
        write.save()
    write.option("external_blobs", shelf.as_uri()).save()
    assert contents(copy) == stored


def lines(**contents: str | None) -> str:
    records = ({"type": "Doc", "data": {"name": name, "content": content}} for name, content in contents.items())
    return "".join(json.dumps(record) + "\n" for record in records)


def contents(graph: og.Graph) -> dict[str, Any]:
    return {name: found["content"] for name in "kxyz" if (found := graph.get("Doc", name)) is not None}
