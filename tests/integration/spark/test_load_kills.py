"""A load killed at each of its steps leaves the old state or the new one, and a graph that opens and loads again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from load_cases import MANY, PEOPLE, SCHEMA

import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.errors import OmnigraphError
from omnigraph.pipeline.tasks.jobs import LocalTasks
from omnigraph.pipeline.tasks.load import load
from omnigraph.pipeline.tasks.stage_driver import Tuning
from omnigraph.settings import Settings
from omnigraph.storage.base import failpoints
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.crash.processes import children
from omnigraph.testing.graphs.loads import export_text
from omnigraph.testing.one_commit.proof import stray_files

QUICK = Settings(lease_ttl_ms=600_000, lease_skew_ms=0, writer_wait_ms=60_000)
# Where the process dies, and whether the load is there afterwards.
POINTS = [
    pytest.param("load.split_staged_at_first=kill@3", False, id="while-staging"),
    pytest.param("load.post_stage=kill", False, id="after-staging"),
    pytest.param("load.post_checks=kill", False, id="after-the-checks"),
    pytest.param("recovery.sidecar_write=kill", False, id="staged-in-tables"),
    pytest.param("mutation.post_sidecar_pre_fork=kill", False, id="armed"),
    pytest.param("mutation.post_table_commit=kill@1", False, id="one-table-committed"),
    pytest.param("mutation.post_effects_pre_publish=kill", True, id="every-table-committed"),
    pytest.param("publish.after_commit=kill", True, id="published"),
    pytest.param("load.pre_discard=kill", True, id="before-tidying-up"),
]


def run_child(place: str, mode: str, spec: str) -> None:
    graph = og.open(place, settings=QUICK)
    with failpoints.armed(spec):
        load(access(graph), LoadRequest(data=MANY, mode=mode), LocalTasks(), Tuning(split_bytes=2_000))  # type: ignore[arg-type]


OTHER_MODES = ("after-the-checks", "one-table-committed", "every-table-committed")
MATRIX = [
    pytest.param(mode, *point.values, id=f"{mode}-{point.id}")
    for mode in ("append", "merge", "overwrite")
    for point in POINTS
    if mode == "append" or point.id in OTHER_MODES
]


@pytest.mark.parametrize(("mode", "spec", "published"), MATRIX)
def test_a_killed_load_is_all_there_or_not_at_all(tmp_path: Path, mode: str, spec: str, published: bool) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA, settings=QUICK)
    graph.load(PEOPLE if mode != "overwrite" else MANY.replace(b'"m0', b'"n0'), runner="inline")
    before = export_text(graph._core)
    graph.close()

    child = children().Process(target=run_child, args=(str(tmp_path / "graph"), mode, spec))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL

    reopened = og.open(tmp_path / "graph", settings=QUICK)
    reopened.refresh()
    after = export_text(reopened._core)
    assert (after != before) == published
    assert ("m001" in after) == published
    assert violations(reopened._core.store) == []
    again = LoadRequest(data=MANY, mode="overwrite" if mode == "overwrite" else "merge")
    load(access(reopened), again, LocalTasks())
    assert "m059" in export_text(reopened._core)
    assert list((tmp_path / "graph" / "__loads").glob("*")) == [], "the next load removes what the dead one left"
    assert stray_files(reopened) == [], "also where it had brought files into tables"


DRIVER = """
import sys
import omnigraph as og
from omnigraph.pipeline.spark.session import spark_session
spark_session("local[2,4]")
og.open(sys.argv[1]).load(sys.argv[2], runner="spark")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "published"), [("load.post_stage", False), ("load.post_checks", False), ("publish.after_commit", True)]
)
def test_a_killed_spark_driver_leaves_the_old_state_or_the_new_one(tmp_path: Path, point: str, published: bool) -> None:
    og.init(tmp_path / "graph", SCHEMA).close()
    (tmp_path / "many.jsonl").write_bytes(MANY)
    environment = {**os.environ, failpoints.ENVIRONMENT: f"{point}=kill"}
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(tmp_path / "graph"), str(tmp_path / "many.jsonl")],
        env=environment, capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()[-2000:]
    reopened = og.open(tmp_path / "graph", settings=QUICK)
    assert ("m001" in export_text(reopened._core)) == published
    try:
        reopened.load(MANY, runner="inline")
    except OmnigraphError:
        assert published
    assert export_text(reopened._core).count("\n") == len(MANY.splitlines())
