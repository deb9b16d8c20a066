"""Really distributed: two executors in processes of their own, and nothing shared but an S3 server."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from omnigraph.testing.s3server import running_s3

PROGRAM = """
import json, sys
import omnigraph as og
from omnigraph.engine.runners import LoadRequest
from omnigraph.engine.write.files import open_output
from omnigraph.pipeline.jobs import SparkTasks
from omnigraph.pipeline.load import load
from omnigraph.pipeline.session import spark_session, stop_session
from omnigraph.pipeline.staging import Tuning

place = sys.argv[1]
with open_output(f"{place}/in.jsonl") as file:
    for n in range(1_000):
        file.write(json.dumps({"type": "P", "data": {"name": f"p{n}"}}).encode() + b"\\n")
        file.write(json.dumps({"edge": "K", "from": f"p{n}", "to": f"p{n // 2}"}).encode() + b"\\n")
graph = og.init(f"{place}/graph", "node P { name: String @key } edge K: P -> P")
spark = spark_session("local-cluster[2,1,1024]")
done = load(graph._core, LoadRequest(data=f"{place}/in.jsonl", mode="append"), SparkTasks(spark), Tuning(split_bytes=9_000))
executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
read = graph.spark.read("K").where("src = 'p7'").collect()
print(json.dumps([executors, done.nodes, done.edges, len(graph.commits.list()), [row.dst for row in read]]))
stop_session()
"""


@pytest.mark.slow
@pytest.mark.s3
def test_two_executors_load_and_read_a_graph_on_s3() -> None:
    with running_s3() as server:
        environment = {**os.environ, **server.environment}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, server.fresh_root().uri],
            env=environment, capture_output=True, text=True, timeout=400, check=False,
        )  # fmt: skip
    # The workers of a local cluster keep their logs beside Spark, wherever they are told to.
    shutil.rmtree(Path(pyspark.__file__).parent / "work", ignore_errors=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == '[2, {"P": 1000}, {"K": 1000}, 2, ["p3"]]'
