"""`spark-submit` to a cluster whose workers have nothing but Python: the scripts of deploy/spark, over S3."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
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


@pytest.mark.slow
def test_the_roles_of_the_image_are_a_cluster_that_loads(tmp_path: Path) -> None:
    """What the image starts, as processes; `make image-session` runs the image itself."""
    with ExitStack() as held:
        ports = [held.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _ in range(2)]
    master, connect = f"spark://127.0.0.1:{ports[0]}", f"sc://127.0.0.1:{ports[1]}"
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SPARK_HOST": "127.0.0.1", "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(tmp_path / "scratch"),
        "SPARK_MASTER_PORT": str(ports[0]), "SPARK_CONNECT_PORT": str(ports[1]),
        "SPARK_WORK_DIR": str(tmp_path / "work"), "OMNIGRAPH_SPARK_MASTER": connect,
    }  # fmt: skip
    (tmp_path / "in.jsonl").write_text(
        "\n".join(json.dumps({"type": "P", "data": {"name": f"p{n}"}}) for n in range(50))
    )
    og.init(tmp_path / "graph", SCHEMA).close()
    entry = ["sh", str(SCRIPTS / "entrypoint.sh")]
    roles = {"master": ["master"], "worker": ["worker", master, "--cores", "2", "--memory", "1g"]}
    roles["connect"] = ["connect", master]
    with ExitStack() as running:
        for name, role in roles.items():
            log = running.enter_context((tmp_path / f"{name}.log").open("wb"))
            process = subprocess.Popen(
                [*entry, *role], env=environment, stdout=log, stderr=log, cwd=tmp_path, start_new_session=True
            )
            running.callback(process.wait)
            running.callback(os.killpg, process.pid, signal.SIGKILL)
            if name != "worker":
                _listening(ports[name == "connect"], process, tmp_path / f"{name}.log")
        load = ["load", str(tmp_path / "graph"), "--data", str(tmp_path / "in.jsonl"), "--mode", "append"]
        told = ran([*entry, "run", *load, "--runner", "spark", "--json"], environment, 300)
    done = json.loads(told[told.index("{") :])
    assert (done["runner"], done["total_entities"]) == ("spark", 50)
    assert list((tmp_path / "work").glob("app-*")), "tasks ran on the worker"


def _listening(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(720):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        assert process.poll() is None, log.read_text()[-2000:]
        time.sleep(0.25)
    raise AssertionError(log.read_text()[-2000:])


def test_a_role_that_is_not_known_is_told() -> None:
    done = subprocess.run(
        ["sh", str(SCRIPTS / "entrypoint.sh"), "queen"],
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, "unknown role 'queen'" in done.stderr) == (64, True)
