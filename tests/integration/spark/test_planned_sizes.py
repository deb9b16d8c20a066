"""What Spark's planner knows about the size of a type, and how it plans joins by that."""

from __future__ import annotations

import random
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as f

import omnigraph as og
from omnigraph.pipeline.spark import datasource
from omnigraph.pipeline.spark.datasource import OmnigraphSource

SCHEMA = """
node Small { name: String @key  n: I64? }
node Long { name: String @key  text: String? }
edge Of: Long -> Small
"""
LONG = 600
# What Spark takes a table for that tells it nothing.
UNKNOWN = (1 << 63) - 1
LIMIT = 10 << 20  # spark.sql.autoBroadcastJoinThreshold


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[og.Graph]:
    draw = random.Random(5)
    texts = ("".join(draw.choices(string.printable, k=24_000)) for _ in range(LONG))
    with og.init(tmp_path_factory.mktemp("sizes") / "g.omni", SCHEMA) as opened:
        small = [{"type": "Small", "data": {"name": f"s{at}", "n": at}} for at in range(40)]
        long = [{"type": "Long", "data": {"name": f"l{at}", "text": text}} for at, text in enumerate(texts)]
        of = [{"edge": "Of", "from": f"l{at}", "to": f"s{at % 40}"} for at in range(LONG)]
        opened.load([*small, *long, *of], runner="inline")
        yield opened


def planned(frame: Any) -> int:
    return int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())


def plan_of(frame: Any) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def test_a_small_type_is_sent_to_every_task_of_a_join(graph: og.Graph, spark: Any) -> None:
    view = graph.spark
    of, small, long = (view.read(name) for name in ("Of", "Small", "Long"))
    assert [planned(frame) < LIMIT for frame in (of, small, long)] == [True, True, False]
    joined = of.join(small, of.dst == small.id)
    assert "BroadcastHashJoin" in plan_of(joined)
    assert joined.count() == LONG
    large = long.join(view.read("Long").toDF("other", "other_name", "other_text"), f.col("id") == f.col("other"))
    assert "SortMergeJoin" in plan_of(large), "texts of 14 MB in few rows are not small"
    assert planned(small) <= 41 * (8 + 20 + 20 + 8), "no more than the rows that there are"
    view.create_views("sized_")
    counted = spark.sql("SELECT s.n, count(*) FROM sized_Of o JOIN sized_Small s ON o.dst = s.id GROUP BY s.n")
    assert "BroadcastHashJoin" in plan_of(counted)
    assert counted.count() == 40


def test_a_size_never_leaves_out_a_row(graph: og.Graph, spark: Any) -> None:
    graph.branches.create("changed")
    branch = graph.branch("changed")
    branch.load([{"type": "Small", "data": {"name": f"t{at}"}} for at in range(7)], runner="inline")
    branch.mutate('query d() { delete Small where name = "s3" }')
    view = branch.spark
    small = view.read("Small")
    assert (small.count(), small.where("n >= 0").count(), len(small.select("name").collect())) == (46, 39, 46)
    empty = og.init(Path(graph.uri).with_name("empty.omni"), SCHEMA)
    assert empty.spark.read("Small").collect() == []
    assert planned(empty.spark.read("Small")) < 100


def test_no_size_is_told_of_several_partitions(graph: og.Graph, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    graph.branches.create("parted")
    branch = graph.branch("parted")
    branch.load([{"type": "Small", "data": {"name": f"u{at}"}} for at in range(30)], runner="inline")
    monkeypatch.setattr(datasource, "_PARTITION_ROWS", 40)
    assert planned(branch.spark.read("Small")) == UNKNOWN


def test_spark_knows_no_size_of_a_python_source_before_it_has_read_it(graph: og.Graph, spark: Any) -> None:
    """Holds what docs/pipeline.md says about this version; if it fails, a source can tell more than it could."""
    spark.dataSource.register(OmnigraphSource)
    source = spark.read.format("omnigraph").option("graph", graph.uri)
    of, small = (source.option("type", name).load() for name in ("Of", "Small"))
    assert (planned(of), planned(small)) == (UNKNOWN, UNKNOWN)
    joined = of.join(small, of.dst == small.id)
    assert "SortMergeJoin" in plan_of(joined)
    assert "BroadcastHashJoin" in plan_of(of.join(small.hint("broadcast"), of.dst == small.id))
    assert len(joined.collect()) == LONG
