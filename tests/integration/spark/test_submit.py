"""`spark-submit` to a cluster whose workers have nothing but Python: the scripts of deploy/spark, over S3."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

import omnigraph as og
from omnigraph.engine.intake.inputs.files import open_output
from omnigraph.pipeline.spark.java import java_home
from omnigraph.testing.services.s3server import running_s3
from omnigraph.testing.services.spark_cluster import running_cluster

REPOSITORY = Path(__file__).parents[3]
SCRIPTS = REPOSITORY / "deploy" / "spark"
# An interpreter without a single package of ours.
BARE = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
# Runs the application of deploy/spark, after it has asked tasks in the same session what they run.
APPLICATION = """
import json, os, runpy, sys
from pathlib import Path
from pyspark.sql import SparkSession
from omnigraph.pipeline.tasks.jobs import SparkTasks


def inside(item):
    import sys
    import omnigraph, lance, pyarrow
    return [sys.executable, sys.prefix, os.getcwd(), omnigraph.__file__, pyarrow.__file__, lance.__file__]


session = SparkSession.builder.getOrCreate()
found = SparkTasks(session).run(inside, range(4), stage="probe", report=None)
Path(os.environ["INSIDE"]).write_text(json.dumps(found))
runpy.run_path(os.environ["APPLICATION"], run_name="__main__")
"""
SCHEMA = "node P { name: String @key  n: I64? } edge K: P -> P"


def ran(command: list[str], environment: dict[str, str], seconds: int = 900) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=seconds, check=False)
    told = [line for line in done.stderr.splitlines() if not line.startswith("\tat ")]
    assert done.returncode == 0, "\n".join(told)[-4000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.s3
def test_a_packed_environment_is_all_that_workers_get(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    absent = subprocess.run([BARE, "-c", "import omnigraph"], env=plain, capture_output=True, check=False)
    assert absent.returncode, "the interpreter of the workers must not have the package"
    packing = plain | {"PYTHON": sys.executable, "PATH": f"{Path(sys.executable).parent}:{plain['PATH']}"}
    ran([str(SCRIPTS / "pack.sh"), str(tmp_path / "environment.tar"), str(REPOSITORY)], packing)
    with running_cluster(2, connect_server=False) as cluster, running_s3() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)  # after the workers were started: they get it from the one who submits
        root = server.fresh_root().uri
        with og.init(f"{root}/graph", SCHEMA):
            pass
        rows = [json.dumps({"type": "P", "data": {"name": f"p{n}", "n": n}}) for n in range(3_000)]
        rows += [json.dumps({"edge": "K", "from": f"p{n}", "to": f"p{n // 2}"}) for n in range(3_000)]
        with open_output(f"{root}/in.jsonl") as file:
            file.write("\n".join(rows).encode())
        given = packing | dict(server.environment) | {
            "JAVA_HOME": str(java_home()),
            "SPARK_SUBMIT": str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
            "SPARK_SUBMIT_OPTIONS": "--executor-memory 512m --conf spark.driver.host=127.0.0.1",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "EXECUTOR_PYTHON": str(BARE),
            "INSIDE": str(tmp_path / "inside.json"),
            "APPLICATION": str(SCRIPTS / "application.py"),
        }  # fmt: skip
        submit = shutil.copy(SCRIPTS / "submit.sh", tmp_path)
        (tmp_path / "application.py").write_text(APPLICATION)
        load = [
            "load",
            f"{root}/graph",
            "--data",
            f"{root}/in.jsonl",
            "--mode",
            "append",
            "--runner",
            "spark",
            "--json",
        ]
        told = ran([submit, cluster.master, str(tmp_path / "environment.tar"), *load], given)
        done = json.loads(told[told.index("{") :])
        assert (done["runner"], done["total_entities"]) == ("spark", 6_000)
        for executable, prefix, place, *modules in json.loads((tmp_path / "inside.json").read_text()):
            assert (executable, prefix) == (str(BARE), sys.base_prefix), "not the interpreter of the driver"
            assert "/worker-" in place
            for module in modules:
                assert Path(module).parents[1] == Path(place, "omnigraph-environment"), "packed, and unpacked by Spark"
        with og.open(f"{root}/graph") as graph:
            assert len(graph.commits.list()) == 2
            assert graph.query("query q() { match { $a: P  $a k $b } return { count(*) as n } }").rows() == [
                {"n": 3_000}
            ]


def test_a_role_that_is_not_known_is_told() -> None:
    done = subprocess.run(
        ["sh", str(SCRIPTS / "entrypoint.sh"), "queen"],
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, "unknown role 'queen'" in done.stderr) == (64, True)
