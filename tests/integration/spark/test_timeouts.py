"""Runs of declared pipelines whose time is over while Spark works: its tasks end, and nothing is left."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import TimedOut
from omnigraph.pipeline.runs import execute
from omnigraph.pipeline.runs.declared import Pipeline, parse_pipelines
from omnigraph.pipeline.runs.execute import RunOptions, run_pipeline
from omnigraph.pipeline.runs.records import history
from omnigraph.pipeline.spark.session import without_warnings
from omnigraph.storage.base import failpoints

SCHEMA = "node Person { name: String @key  age: I32? }\n"
NIGHTLY = {
    "graph": "people",
    "mapping": "people.yaml",
    "branch": "ingest/{run}",
    "merge_into": "main",
    "runner": "spark",
}
# Longer than a test may take, so that a task which is not ended shows.
SLOW = "sleep:3000"


def declared(place: Path, source: dict[str, Any]) -> Pipeline:
    (place / "people.yaml").write_text(f"sources: {{people: {source}}}\nnodes: {{Person: {{from: people}}}}\n")
    return parse_pipelines({"nightly": {**NIGHTLY, "timeout": "1h"}}, place)["nightly"]


def run_out_of_time(
    pipeline: Pipeline, graph: og.Graph, spark: Any, monkeypatch: pytest.MonkeyPatch, is_under_way: Any
) -> None:
    """Let the time of a run be over as soon as its tasks are at work."""
    over = threading.Event()

    def watch() -> None:
        while not is_under_way():
            time.sleep(0.05)
        over.set()

    begin = time.monotonic()
    clock = SimpleNamespace(monotonic=lambda: begin + 10_000_000 if over.is_set() else begin)
    monkeypatch.setattr(execute, "time", clock)
    threading.Thread(target=watch, daemon=True).start()
    with pytest.raises(TimedOut, match="pipeline 'nightly' took longer than its timeout of 3600 s"):
        run_pipeline(pipeline, graph, RunOptions(spark=spark))


def nothing_is_left(graph: og.Graph, spark: Any, head: str | None) -> None:
    tracker = spark.sparkContext.statusTracker()
    assert (list(tracker.getActiveJobsIds()), list(tracker.getActiveStageIds())) == ([], [])
    assert (graph.refresh(), graph.branches.list()) == (head, ["main"])
    assert list(Path(graph.uri).glob("__loads/*")) == []
    kept = history(graph, "nightly")[0]
    assert (kept.status, kept.ok, kept.branch) == ("timed_out", False, None)


def test_a_stage_of_spark_that_is_under_way_ends_with_the_time_of_its_run(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "people.csv").write_text("name,age\n" + "".join(f"p{at},{at}\n" for at in range(50)))
    monkeypatch.setenv(failpoints.ENVIRONMENT, f"load.split_staged_at_first={SLOW}")
    with og.init(tmp_path / "g.omni", SCHEMA) as graph:
        head = graph.refresh()
        staged = Path(graph.uri) / "__loads"
        pipeline = declared(tmp_path, {"path": "people.csv"})
        run_out_of_time(pipeline, graph, spark, monkeypatch, lambda: list(staged.glob("*/*/*/_versions/*")))
        nothing_is_left(graph, spark, head)


def test_a_slow_source_of_spark_ends_with_the_time_of_its_run(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = tmp_path / "begun"

    def crawl(batches: Any) -> Any:
        begun.touch()
        time.sleep(3000)
        yield from batches

    with without_warnings():
        people = spark.createDataFrame([("ada", 36)], "name string, age int")
        people.mapInArrow(crawl, people.schema).createOrReplaceTempView("slow_people")
    with og.init(tmp_path / "g.omni", SCHEMA) as graph:
        head = graph.refresh()
        pipeline = declared(tmp_path, {"table": "slow_people"})
        run_out_of_time(pipeline, graph, spark, monkeypatch, begun.exists)
        nothing_is_left(graph, spark, head)
