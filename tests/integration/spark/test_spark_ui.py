"""What somebody who watches Spark's own page sees of a load: its REST interface, in a session with the page on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

_LOAD = """
import json, os, sys, urllib.request
from omnigraph.pipeline.spark.java import java_home
os.environ["JAVA_HOME"] = str(java_home())
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
settings = {"spark.ui.port": "0", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "true")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
import omnigraph as og
with og.init(sys.argv[1] + "/g.omni", "node Person { name: String @key } edge Knows: Person -> Person") as graph:
    rows = [json.dumps({"type": "Person", "data": {"name": f"p{n}"}}) for n in range(200)]
    rows += [json.dumps({"edge": "Knows", "from": f"p{n}", "to": f"p{n // 2}"}) for n in range(200)]
    open(sys.argv[1] + "/in.jsonl", "w").write("\\n".join(rows))
    graph.load(sys.argv[1] + "/in.jsonl", runner="spark", spark=spark)
context = spark.sparkContext
place = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/jobs"
with urllib.request.urlopen(place) as answer:
    print(answer.read().decode())
spark.stop()
"""


@pytest.mark.slow
def test_jobs_of_a_load_are_described_on_the_page_of_spark(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LOAD, str(tmp_path)], capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told = {job["jobGroup"]: job["description"] for job in json.loads(done.stdout)}
    assert told["omnigraph-stage"] == "omnigraph stage (1 task)"
    checked = told["omnigraph-check"]
    assert checked.startswith("omnigraph check of node:Person, edge:Knows: 400 rows staged, 0 refused, "), checked
    assert "bytes (" in checked
