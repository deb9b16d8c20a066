"""Tasks that Spark starts twice, and executors that die: no row is lost, and none is there twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.testing.services.spark_cluster import running_cluster

PROGRAM = """
import json, os, signal, sys, threading, time
import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.pipeline.spark import java, session
from omnigraph.pipeline.spark.datasource import OmnigraphSource
from omnigraph.pipeline.tasks.jobs import SparkTasks
from omnigraph.pipeline.tasks.load import load
from omnigraph.pipeline.tasks.stage_driver import Tuning
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

place = sys.argv[1]
with open(f"{place}/in.jsonl", "w") as file:
    for n in range(4_000):
        print(json.dumps({"type": "P", "data": {"name": f"p{n}"}}), file=file)
        print(json.dumps({"edge": "K", "from": f"p{n}", "to": f"p{n // 2}"}), file=file)
home = java.java_home()
session._set_environment(home, local=True)
builder = SparkSession.builder.master(sys.argv[3])
settings = session._settings(home, local=True) | {
    "spark.speculation": "true", "spark.speculation.interval": "50ms", "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.1", "spark.speculation.minTaskRuntime": "1ms", "spark.executor.memory": "512m", "spark.executor.cores": "2",
    "spark.speculation.task.duration.threshold": "200ms",
}
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.dataSource.register(OmnigraphSource)
graph = og.init(f"{place}/graph", "node P { name: String @key  age: I64? } edge K: P -> P")


def slow_sometimes(batches):
    from pyspark import TaskContext
    context = TaskContext.get()
    with open(f"{place}/attempts", "a") as seen:
        print(context.partitionId(), file=seen)
    if context.partitionId() == 3 and context.attemptNumber() == 0:
        time.sleep(30)  # a second attempt is started meanwhile, on the other worker
    yield from batches


def executor():
    shown = os.popen("ps -eo pid,args").read().splitlines()
    mine = [line for line in shown if "CoarseGrainedExecutorBackend" in line and spark.sparkContext.applicationId in line]
    return int(mine[0].split()[0])


tasks = SparkTasks(spark)
killer = threading.Timer(float(sys.argv[2]), lambda: os.kill(executor(), signal.SIGKILL))
killer.start()
done = load(access(graph), LoadRequest(data=f"{place}/in.jsonl", mode="append"), tasks, Tuning(split_bytes=12_000))
killer.join()
frame = spark.range(0, 600, 1, 6).select(f.concat(f.lit("w"), "id").alias("name"), f.col("id").alias("age"))
frame = frame.mapInArrow(slow_sometimes, "name string, age bigint")
frame.write.format("omnigraph").option("graph", graph.uri).option("type", "P").mode("append").save()
graph.refresh()
counts = graph.query("query q() { match { $p: P } return { count($p) as n, count(distinct $p.name) as d } }").rows()
edges = graph.query("query q() { match { $a: P  $a k $b } return { count(*) as n } }").rows()
attempts = open(f"{place}/attempts").read().split()
left = [name for _, _, names in os.walk(f"{place}/graph/__loads") for name in names]
print(json.dumps({"nodes": done.nodes, "edges": done.edges, "counts": counts, "stored": edges, "left": left,
                  "twice": len(attempts) > len(set(attempts)), "commits": len(graph.commits.list()),
                  "sound": not graph.check().findings}))
spark.stop()
"""


@pytest.mark.slow
def test_speculation_and_a_killed_executor_change_nothing(tmp_path: Path) -> None:
    with running_cluster(2, connect_server=False) as cluster:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path), "1.0", cluster.master],
            capture_output=True, text=True, timeout=900, check=False,
        )  # fmt: skip
    told = [line for line in done.stderr.splitlines() if not line.startswith("\tat ")]
    assert done.returncode == 0, "\n".join(told)[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["nodes"], found["edges"]) == ({"P": 4_000}, {"K": 4_000})
    assert (found["counts"], found["stored"]) == ([{"n": 4_600, "d": 4_600}], [{"n": 4_000}])
    assert (found["commits"], found["left"], found["sound"]) == (3, [], True)
    assert found["twice"], "a task was started a second time"
