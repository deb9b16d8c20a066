"""Tasks that Spark starts twice, and executors that die: no row is lost, and none is there twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.testing.services.spark_cluster import SPECULATION, driver_environment, running_cluster
from omnigraph.testing.services.spark_events import attempts, event_log, sums

# The executor is killed when each of the four splits has been written by a first attempt, which waits from then on: two
# of them die with their executor, and the other two go on until second attempts have taken their place.
PROGRAM = """
import json, os, signal, sys, threading, time
from pathlib import Path
import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.pipeline.spark.counters import counted, declared, shown
from omnigraph.pipeline.spark.datasource import OmnigraphSource
from omnigraph.pipeline.spark.session import spark_session
from omnigraph.pipeline.tasks.jobs import SparkTasks
from omnigraph.pipeline.tasks.load import load
from omnigraph.pipeline.tasks.stage_driver import Tuning
from omnigraph.storage.base import failpoints
from pyspark.sql import functions as f

place, master = sys.argv[1:]
source = Path(place, "in.jsonl")
with source.open("w") as file:
    for n in range(4_000):
        print(json.dumps({"type": "P", "data": {"name": f"p{n}"}}), file=file)
        print(json.dumps({"edge": "K", "from": f"p{n}", "to": f"p{n // 2}"}), file=file)
spark = spark_session(master)
spark.dataSource.register(OmnigraphSource)
graph = og.init(f"{place}/graph", "node P { name: String @key  age: I64? } edge K: P -> P")


def written():
    return len({part.parents[2] for part in Path(place, "graph", "__loads").glob("*/*/*/data/*.lance")})


def executor():
    mine = ("CoarseGrainedExecutorBackend", spark.sparkContext.applicationId)
    for process in Path("/proc").glob("[0-9]*"):
        try:
            told = (process / "cmdline").read_text()
        except OSError:
            continue
        if all(word in told for word in mine):
            return int(process.name)
    os._exit(3)  # the test ends here


def kill_an_executor():
    while written() < 4:
        time.sleep(0.02)
    os.kill(executor(), signal.SIGKILL)


def slow_at_first(batches):
    from pyspark import TaskContext
    context = TaskContext.get()
    if context.partitionId() == 3 and context.attemptNumber() == 0:
        time.sleep(600)
    yield from batches


def answered_at_first(batches):
    "The second attempt waits until the first one has answered, which then goes on; so long an answer is not held back."
    import pyarrow as pa
    from pyspark import TaskContext
    first, answered = TaskContext.get().attemptNumber() == 0, Path(place, "answered")
    while not first and not answered.exists():
        time.sleep(0.02)
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"answer": [os.urandom(1 << 20)], **counted((10,))})
    if first:
        answered.touch()
        time.sleep(600)


# Not before the session is there: the JVM would hand it on to the processes of the writer below.
os.environ[failpoints.ENVIRONMENT] = "load.split_staged_at_first=sleep:600"
killer = threading.Thread(target=kill_an_executor, daemon=True)
killer.start()
tuning = Tuning(split_bytes=source.stat().st_size // 4 + 1)
done = load(access(graph), LoadRequest(data=str(source), mode="append"), SparkTasks(spark), tuning)
killer.join()
del os.environ[failpoints.ENVIRONMENT]
spark.sparkContext.setJobGroup("omnigraph-probe", "the numbers of an attempt that does not count")
probe = spark.range(0, 1, 1, 1).mapInArrow(answered_at_first, declared("answer binary", ("rows",)))
assert len(shown(probe, "probe", ("rows",)).collect()) == 1
spark.sparkContext.setJobGroup("omnigraph-frame", "a frame is written")
frame = spark.range(0, 600, 1, 6).select(f.concat(f.lit("w"), "id").alias("name"), f.col("id").alias("age"))
frame = frame.mapInArrow(slow_at_first, "name string, age bigint")
frame.write.format("omnigraph").option("graph", graph.uri).option("type", "P").mode("append").save()
graph.refresh()
counts = graph.query("query q() { match { $p: P } return { count($p) as n, count(distinct $p.name) as d } }").rows()
edges = graph.query("query q() { match { $a: P  $a k $b } return { count(*) as n } }").rows()
left = [name for _, _, names in os.walk(f"{place}/graph/__loads") for name in names]
print(json.dumps({"nodes": done.nodes, "edges": done.edges, "counts": counts, "stored": edges, "left": left,
                  "commits": len(graph.commits.list()), "sound": not graph.check().findings}))
spark.stop()
"""


@pytest.mark.slow
def test_speculation_and_a_killed_executor_change_nothing(tmp_path: Path) -> None:
    events = tmp_path / "events"
    with running_cluster(2, connect_server=False) as cluster:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path), cluster.master],
            env=os.environ | driver_environment(SPECULATION | event_log(events)),
            capture_output=True, text=True, timeout=900, check=False,
        )  # fmt: skip
    told = [line for line in done.stderr.splitlines() if not line.startswith("\tat ")]
    assert done.returncode == 0, "\n".join(told)[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["nodes"], found["edges"]) == ({"P": 4_000}, {"K": 4_000})
    assert (found["counts"], found["stored"]) == ([{"n": 4_600, "d": 4_600}], [{"n": 4_000}])
    assert (found["commits"], found["left"], found["sound"]) == (3, [], True)

    seen = attempts(events)
    staged = [each for each in seen if each.stage == "stage"]
    first = {each.task: each for each in staged if each.number == 0}
    lost = {task for task, each in first.items() if each.ended == "ExecutorLostFailure"}
    assert (len(first), len(lost)) == (4, 2), "two tasks of the load were writing in the executor that was killed"
    assert len({first[task].host for task in lost}) == 1
    twice = {each.task for each in staged if each.speculative and each.ended == "Success"}
    assert set(first) - lost <= twice, "the other two were attempted twice at once, and the second attempt counted"
    assert not any(each.ended == "Success" for each in first.values())
    assert [each for each in seen if (each.stage, each.speculative, each.ended) == ("frame", True, "Success")]

    size = (tmp_path / "in.jsonl").stat().st_size
    assert sums(events)["stage"] == {"rows": 8_000, "rejects": 0, "bytes": size}, "a task counts once on Spark's page"
    probed = {each.number: each.ended for each in seen if each.stage == "probe"}
    assert (probed[0], probed[1]) == ("TaskKilled", "Success")
    assert sums(events)["probe"] == {"rows": 10}
