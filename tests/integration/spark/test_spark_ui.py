"""What somebody who watches Spark's own page sees of a load: its REST interface, in a session with the page on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

# Some rows are refused by themselves, some because of others, and some edges are left out as their mapping says; the
# splits of those are staged again. Many splits travel as rows of a frame, few with the tasks.
_PROGRAM = """
import json, os, sys, urllib.request
from pathlib import Path
from omnigraph.pipeline.spark.java import java_home
os.environ["JAVA_HOME"] = str(java_home())
os.environ["PYSPARK_PYTHON"] = sys.executable
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession
settings = {"spark.ui.port": "0", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "true")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
context = spark.sparkContext

import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.engine.maintenance.indexes import missing_indexes
from omnigraph.engine.views.entity import type_named
from omnigraph.pipeline.spark import counters
from omnigraph.pipeline.spark.datasource import OmnigraphSource
from omnigraph.pipeline.tasks import jobs
from omnigraph.pipeline.tasks.export import export_files
from omnigraph.pipeline.tasks.indexing import SpreadBuilder
from omnigraph.pipeline.tasks.jobs import SparkTasks
from omnigraph.pipeline.tasks.load import load
from omnigraph.pipeline.tasks.stage_driver import Tuning

place = Path(sys.argv[1])
TINY = Tuning(split_bytes=4_000, bucket_rows=100, partition_rows=100, keyed_rows=1)
told = {}


def asked(path):
    with urllib.request.urlopen(f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/{path}") as answer:
        return json.loads(answer.read())


def seen(name):
    "What the page says of the jobs since the last call: group, description, and the numbers of their stages."
    numbers = {stage["stageId"]: {each["name"]: int(each["value"]) for each in stage["accumulatorUpdates"]}
               for stage in asked("stages")}
    found = []
    for job in sorted(asked("jobs"), key=lambda job: job["jobId"]):
        if job["jobId"] not in known:
            known.add(job["jobId"])
            mine = {}
            for stage in job["stageIds"]:
                mine |= numbers.get(stage, {})
            found.append([job.get("jobGroup"), job.get("description"), mine])
    told[name] = {"jobs": found, "tasks": [
        {each["name"]: int(each["update"]) for each in task["accumulatorUpdates"]}
        for stage in asked("stages") for task in asked(f"stages/{stage['stageId']}/0/taskList?length=1000")
        if stage["stageId"] not in stages
    ]}
    stages.update(numbers)


def lines(path, people, edges):
    rows = [json.dumps({"type": "Person", "data": {"name": f"p{n}", "age": age}}) for n, age in people]
    rows += [json.dumps({"edge": "Knows", "data": {"id": f"k{a}"}, "from": f"p{a}", "to": f"p{b}"}) for a, b in edges]
    path.write_text("\\n".join(rows) + "\\n")
    return path


def people(graph):
    return graph.query("query q() { match { $p: Person } return { count($p) as n } }").rows()[0]["n"]


def stored(graph):
    return people(graph) + graph.query("query q() { match { $a: Person  $a knows $b } return { count(*) as n } }").rows()[0]["n"]


known, stages = set(), set()
SCHEMA = "node Person { name: String @key  age: I32?  v: Vector(8)? @embed(name) } edge Knows: Person -> Person"
with og.init(place / "g.omni", SCHEMA) as graph:
    source = lines(place / "in.jsonl", ((n, n) for n in range(200)), ((n, n // 2) for n in range(200)))
    done = graph.load(str(source), mode="append", runner="spark", spark=spark, no_embed=True, no_build=True)
    seen("plain")
    told["plain"] |= {"bytes": done.profile.bytes, "size": source.stat().st_size}
    persons = [(n, "x" if n % 50 == 0 else n) for n in range(200, 400)]  # four with an age that is none
    edges = [(n, n + 5 if n % 40 else 9_999) for n in range(201, 391)]  # some to nobody, or to one that was refused
    source = lines(place / "bad.jsonl", persons, edges)
    request = LoadRequest(data=str(source), mode="append", on_error="skip")
    done = load(access(graph), request, SparkTasks(spark), TINY)
    seen("refused")
    told["refused"] |= {"size": source.stat().st_size, "loaded": done.total_entities, "rejected": dict(done.rejected),
                        "vectors": done.embeddings.filled["Person.v"]}

    again = lines(place / "again.jsonl", [(n, 0) for n in range(100, 300)], [(n, n + 1) for n in range(100)] * 2)
    graph.refresh()
    before = stored(graph)
    jobs.FEW_BYTES = 0  # from here on items travel as rows of a frame
    done = load(access(graph), LoadRequest(data=str(again), mode="merge", no_embed=True), SparkTasks(spark), TINY)
    graph.refresh()
    seen("merged")
    told["merged"] |= {"loaded": done.total_entities, "size": again.stat().st_size, "before": before,
                       "new": stored(graph) - before}

    frame = spark.createDataFrame([(f"f{n}", n) for n in range(30)], "name string, age int").repartition(3)
    done = graph.load(frame, mode="append", type="Person", runner="spark", spark=spark, no_embed=True, no_build=True)
    seen("frame")

    told["people"] = people(graph)
    told["edges"] = stored(graph) - told["people"]
    size = export_files(graph.view(), str(place / "out"), ["Person"], SparkTasks(spark), range_rows=60)
    seen("export")
    told["export"]["size"] = size

    view = graph.view()
    tables = [(info, view.table(info)) for info in (type_named(view, "Person"), type_named(view, "Knows"))]
    rows = [len(missing_indexes(info, table, extend=False)) * table.count_rows() for info, table in tables]
    graph.ensure_indices(runner="spark")
    seen("index")
    told["index"]["rows"] = rows

    spark.dataSource.register(OmnigraphSource)
    frame = spark.createDataFrame([(f"w{n}", n) for n in range(30)], "name string, age int").repartition(3)
    frame.write.format("omnigraph").option("graph", graph.uri).option("type", "Person").option("no_embed", "true").mode("append").save()
    seen("written")
    nodes = [node for each in asked("sql?details=true&length=1000") for node in each["nodes"]]
    told["written"]["sql"] = [[node["nodeName"], metric["name"], metric["value"]] for node in nodes
                              for metric in node["metrics"] if "mnigraph" in node["nodeName"]]

    def failing(batches):
        "Each first attempt answers, and then fails; so long an answer is not held back."
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"answer": [os.urandom(1 << 20)], **counters.counted((10,))})
        if TaskContext.get().attemptNumber() == 0:
            raise ValueError("after the answer")

    context.setJobGroup("omnigraph-probe", "attempts that fail")
    probe = spark.range(0, 3, 1, 3).mapInArrow(failing, counters.declared("answer binary", ("rows",)))
    counters.shown(probe, "probe", ("rows",)).collect()
    seen("failing")
    told["failing"]["failed"] = max(stage["numFailedTasks"] for stage in asked("stages"))

    counters._BEAN = "NoSuchBean"  # as of a Spark that has no such thing
    told["without"] = SparkTasks(spark).run(len, ["a", "bc"], stage="probe", report=None, counts={"rows": int})
    seen("unshown")
print(json.dumps(told))
spark.stop()
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the page says of several jobs, and what they were told themselves."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _PROGRAM, str(tmp_path_factory.mktemp("page"))],
        env=os.environ | {"OMNIGRAPH_EMBED_PROVIDER": "mock"},
        capture_output=True, text=True, timeout=580, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def numbers(told: dict[str, Any], stage: str) -> list[dict[str, int]]:
    """The numbers of each job of a stage, in order; those of jobs that add some only."""
    return [found for group, _, found in told["jobs"] if group == f"omnigraph-{stage}" and found]


@pytest.mark.slow
def test_jobs_of_a_load_are_described_on_the_page_of_spark(told: dict[str, Any]) -> None:
    described = {group: text for group, text, _ in told["plain"]["jobs"]}
    assert described["omnigraph-stage"] == "omnigraph stage (1 task)"
    checked = described["omnigraph-check"]
    assert checked.startswith("omnigraph check of edge:Knows, node:Person: 400 rows staged, 0 refused, "), checked
    assert "bytes (" in checked


@pytest.mark.slow
def test_the_page_counts_rows_rejects_and_bytes_of_a_load(told: dict[str, Any]) -> None:
    plain, size = told["plain"], told["plain"]["size"]
    assert numbers(plain, "stage") == [{"rows": 400, "rejects": 0, "bytes": size}]
    assert plain["bytes"] == size

    refused = told["refused"]
    by_themselves, by_others = refused["rejected"].pop("W002"), refused["rejected"].pop("W013")
    assert (by_themselves, refused["rejected"]) == (4, {})
    staged, again = numbers(refused, "stage")
    assert staged == {"rows": 390 - 4, "rejects": 4, "bytes": refused["size"], "vectors": refused["vectors"]}
    assert set(again) == {"rows staged again"}
    assert numbers(refused, "join") == [{"rejects": by_others}]
    assert staged["rows"] - by_others == refused["loaded"]
    assert refused["vectors"] == 200


@pytest.mark.slow
def test_each_task_has_its_share(told: dict[str, Any]) -> None:
    mine = [each for each in told["refused"]["tasks"] if "rejects" in each and "rows" in each]
    assert len(mine) > 3
    (staged, _) = numbers(told["refused"], "stage")
    assert {name: sum(each[name] for each in mine) for name in staged} == staged


@pytest.mark.slow
def test_the_page_counts_what_a_merge_replaces(told: dict[str, Any]) -> None:
    merged = told["merged"]
    assert numbers(merged, "stage")[0] == {"rows": 400, "rejects": 0, "bytes": merged["size"]}
    assert numbers(merged, "join") == [{"left out": 100}], "a hundred edges come a second time"
    assert numbers(merged, "replace") == [{"rows": merged["loaded"] - merged["new"]}]
    assert merged["loaded"] == 300
    assert numbers(merged, "keys") == [{"rows": merged["before"]}]


@pytest.mark.slow
def test_the_page_counts_frames_exports_and_indexes(told: dict[str, Any]) -> None:
    (read,), (staged,) = numbers(told["frame"], "read the frame"), numbers(told["frame"], "stage")
    assert (read["rows"], staged["rows"], staged["rejects"]) == (30, 30, 0)
    assert read["bytes"] > 0
    assert numbers(told["export"], "export") == [{"rows": told["people"], "bytes": told["export"]["size"]}]
    indexed = sorted(each["rows"] for each in numbers(told["index"], "index"))
    assert indexed == sorted(told["index"]["rows"]), "each index has every row once"


@pytest.mark.slow
def test_a_frame_that_is_written_is_counted_by_spark_itself(told: dict[str, Any]) -> None:
    written = {(node, name): value for node, name, value in told["written"]["sql"]}
    assert written["AppendData omnigraph", "number of output rows"] == "30"


@pytest.mark.slow
def test_an_attempt_that_fails_is_not_counted(told: dict[str, Any]) -> None:
    assert told["failing"]["failed"] == 3
    assert numbers(told["failing"], "probe") == [{"rows": 30}]


@pytest.mark.slow
def test_tasks_run_where_spark_cannot_show_their_numbers(told: dict[str, Any]) -> None:
    assert told["without"] == [1, 2]
    assert numbers(told["unshown"], "probe") == []
