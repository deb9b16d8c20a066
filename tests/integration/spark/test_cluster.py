"""Really distributed: a standalone master, two workers in processes of their own, and nothing shared but an S3 server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from omnigraph.testing.services.s3server import running_s3
from omnigraph.testing.services.spark_cluster import running_cluster

PROGRAM = """
import json, os, sys
import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.engine.intake.inputs.files import open_output
from omnigraph.pipeline.analytics import spark_vectors
from omnigraph.pipeline.tasks.jobs import SparkTasks
from omnigraph.pipeline.tasks.load import load
from omnigraph.pipeline.spark.session import spark_session
from omnigraph.pipeline.tasks.stage_driver import Tuning

place, master = sys.argv[1:]
with open_output(f"{place}/in.jsonl") as file:
    for n in range(1_000):
        file.write(json.dumps({"type": "P", "data": {"name": f"p{n}"}}).encode() + b"\\n")
        file.write(json.dumps({"edge": "K", "from": f"p{n}", "to": f"p{n // 2}"}).encode() + b"\\n")
graph = og.init(f"{place}/graph", "node P { name: String @key  text: String?  v: Vector(8)? @embed(name) } edge K: P -> P")
first = graph.load([{"type": "P", "data": {"name": "first"}}], runner="spark", spark=master, no_embed=True)
spark = spark_session()  # the one that the load has started in the background
request = LoadRequest(data=f"{place}/in.jsonl", mode="append")
done = load(access(graph), request, SparkTasks(spark), Tuning(split_bytes=9_000))
query = '''query q() { match { $a: P { name: "p7" } $a k{1,3} $b } return { $b.name, count($a) as n } }'''
found = graph.query(query, runner="spark").rows()
same = found == graph.query(query).rows()
components = graph.analytics.components("K", runner="inline").table
analysed = []
for most in (spark_vectors.MOST_NODES, 0):  # as arrays, and as frames
    spark_vectors.MOST_NODES = most
    values = graph.analytics.components("K", runner="spark")
    joined = values.to_spark().join(spark.createDataFrame([("p7",)], "id string"), "id")
    analysed.append([values.table == components, joined.count()])
probe = SparkTasks(spark)._frame(int, ["3", "4"], "probe", {"rows": lambda found: found, "bytes": lambda found: 2 * found})
probe.collect()
seen = dict(probe.executionInfo.flows).get("omnigraph probe") if "connect" in type(spark).__module__ else None
read = [row.dst for row in graph.spark.read("K").where("src = 'p7'").collect()]
print(json.dumps({"nodes": done.nodes, "edges": done.edges, "embedded": done.embeddings.filled,
                  "commits": len(graph.commits.list()), "read": read, "reached": [row["b.name"] for row in found],
                  "same": same, "seen": seen, "analysed": analysed, "session": type(spark).__module__, "first": first.runner,
                  "started": [stage.name for stage in first.profile.stages if stage.name == "start"]}))
spark.stop()
"""


def ran(place: str, master: str, environment: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, place, master],
        env=environment, capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    told = [line for line in done.stderr.splitlines() if not line.startswith("\tat ")]
    assert done.returncode == 0, "\n".join(told)[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
@pytest.mark.s3
def test_a_standalone_cluster_loads_and_queries_a_graph_on_s3_directly_and_through_connect() -> None:
    with running_s3() as server:
        given = {**server.environment, "OMNIGRAPH_EMBED_PROVIDER": "mock"}
        with running_cluster(2, given) as cluster:
            environment = {**os.environ, **given, "SPARK_LOCAL_IP": "127.0.0.1"}
            connected = ran(server.fresh_root().uri, cluster.connect, environment)
            direct = ran(server.fresh_root().uri, cluster.master, environment)
    expected = {
        "nodes": {"P": 1000},
        "edges": {"K": 1000},
        "embedded": {"P.v": 1000},
        "commits": 3,
        "read": ["p3"],
        "reached": ["p0", "p1", "p3"],
        "same": True,
        "analysed": [[True, 1], [True, 1]],
        "first": "spark",
        "started": ["start"],
    }
    assert (connected.pop("seen"), direct.pop("seen")) == ({"rows": 7, "bytes": 14}, None)
    assert connected.pop("session").startswith("pyspark.sql.connect")
    assert not direct.pop("session").startswith("pyspark.sql.connect")
    assert connected == direct == expected
