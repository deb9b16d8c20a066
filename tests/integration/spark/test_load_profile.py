"""A load says what its time went to, and does not wait for Java while there is something to do."""

from __future__ import annotations

import json
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from load_cases import MANY, SCHEMA

import omnigraph as og
from omnigraph.cli.main import main
from omnigraph.engine.api.access import access
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.errors import StorageError
from omnigraph.pipeline.spark import session
from omnigraph.pipeline.tasks import stage_driver
from omnigraph.pipeline.tasks.jobs import LocalTasks
from omnigraph.pipeline.tasks.load import load
from omnigraph.pipeline.tasks.stage_driver import Tuning
from omnigraph.pipeline.tasks.starting import StartingTasks

TINY = Tuning(split_bytes=700, bucket_rows=7)


def test_a_load_at_once_tells_reading_from_committing(tmp_path: Path) -> None:
    (tmp_path / "many.jsonl").write_bytes(MANY)
    with og.init(tmp_path / "g", SCHEMA) as graph:
        done = graph.load(tmp_path / "many.jsonl", runner="inline")
    assert done.profile is not None
    assert done.profile.bytes == len(MANY)
    assert [stage.name for stage in done.profile.stages] == ["read", "commit"]
    assert done.profile.rows == done.total_entities
    assert done.profile.rows_per_second > 0


def test_a_load_as_tasks_tells_its_stages_with_tasks_and_bytes(tmp_path: Path) -> None:
    with og.init(tmp_path / "g", SCHEMA) as graph:
        request = LoadRequest(data=MANY, mode="append")
        load(access(graph), request, LocalTasks(), TINY)
    profile = request.clock.profile(150)
    stages = {stage.name: stage for stage in profile.stages}
    assert list(stages) == ["read", "stage", "keys", "check", "commit"]
    assert stages["stage"].tasks == -(-len(MANY) // 700)
    assert stages["check"].skew is not None
    assert stages["check"].skew >= 1.0
    assert profile.bytes == len(MANY)


def test_jobs_of_the_checks_say_what_was_staged(tmp_path: Path) -> None:
    told: list[str] = []

    class Named(LocalTasks):
        def run(self, work: Any, items: Any, *, stage: str, about: str = "", **options: Any) -> list[Any]:
            told.append(f"{stage} {about}")
            return super().run(work, items, stage=stage, about=about, **options)

    with og.init(tmp_path / "g", SCHEMA) as graph:
        bad = MANY + b'{"type":"Nope"}\n'
        request = LoadRequest(data=bad, mode="append", on_error="skip")
        done = load(access(graph), request, Named(), TINY)
    checks = [each for each in told if each.startswith("check")]
    assert f": {done.total_entities:,} rows staged, 1 refused, {len(bad):,} bytes" in checks[-1]


def test_the_command_line_prints_the_profile(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "many.jsonl").write_bytes(MANY)
    og.init(tmp_path / "g", SCHEMA).close()
    target = ("load", str(tmp_path / "g"), "--data", str(tmp_path / "many.jsonl"), "--mode", "merge", "--timings")
    assert main(target) == 0
    told = capfd.readouterr().out
    assert "stage     seconds  tasks  longest  skew   answers" in told
    assert "rows/s" in told
    assert main((*target, "--json")) == 0
    document = json.loads(capfd.readouterr().out)
    assert [stage["name"] for stage in document["profile"]["stages"]] == ["read", "commit"]
    assert main((*target[:-1], "--json")) == 0
    assert "profile" not in json.loads(capfd.readouterr().out)


def test_work_begins_before_spark_is_there_and_goes_on_there(spark: Any) -> None:
    started = threading.Event()

    def start(master: str | None) -> Any:
        assert started.wait(60)
        return spark

    tasks = StartingTasks("local[2]", start)

    def work(item: int) -> tuple[int, bool]:
        from pyspark import TaskContext

        return item, TaskContext.get() is not None

    # Nothing but this process is there for the first items.
    assert tasks.run(work, [0, 1], stage="stage", report=None) == [(0, False), (1, False)]
    started.set()
    tasks._ready.wait(120)
    assert tasks.run(work, [2, 3], stage="check", report=None) == [(2, True), (3, True)]
    assert [each.stage for each in tasks.measured if each.tasks] == ["stage", "check"]


def test_tasks_of_a_cluster_are_left_to_it_and_the_input_is_listed_meanwhile(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed, seen = threading.Event(), list[bool]()
    plan_sources = stage_driver.plan_sources

    def planned(*given: Any) -> Any:
        found = plan_sources(*given)
        listed.set()
        return found

    def start(master: str | None) -> Any:
        assert listed.wait(60), "the load waited for the session before it looked at its input"
        return spark

    tasks = StartingTasks("spark://elsewhere:7077", start, here=False)
    monkeypatch.setattr(stage_driver, "plan_sources", planned)
    monkeypatch.setattr(tasks, "_run_here", lambda *_: seen.append(True))
    with og.init(tmp_path / "g", SCHEMA) as graph:
        request = LoadRequest(data=MANY, mode="append")
        done = load(access(graph), request, tasks, TINY)
    assert (done.total_entities, done.runner, seen) == (150, "spark", [])
    assert tasks.cores == 2, "those of the session, not of this machine"
    stages = {stage.name: stage.seconds for stage in request.clock.profile(150).stages}
    assert stages["start"] > 0
    assert min(stages.values()) >= 0


def test_where_a_session_would_run_is_known_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(session.MASTER, raising=False)
    assert [session.is_local(name) for name in (None, "local[2]", "spark://host:7077", "sc://host")] == [
        True,
        True,
        False,
        False,
    ]
    monkeypatch.setenv(session.MASTER, "yarn")
    assert (session.is_local(None), session.is_local("local[*]")) == (False, True)


def test_a_session_that_does_not_start_is_told_where_it_is_needed(tmp_path: Path) -> None:
    tried = threading.Event()

    def start(master: str | None) -> Any:
        tried.set()
        raise StorageError("no Java here", kind="Configuration")

    tasks = StartingTasks(None, start)
    tasks._ready.wait(60)
    with pytest.raises(StorageError, match="no Java here"), og.init(tmp_path / "g", SCHEMA) as graph:
        load(access(graph), LoadRequest(data=MANY, mode="append"), tasks, TINY)


def test_input_that_is_done_before_spark_is_there_needs_none(tmp_path: Path) -> None:
    never = threading.Event()
    tasks = StartingTasks(None, lambda master: never.wait())
    with og.init(tmp_path / "g", SCHEMA) as graph:
        done = partial(load, access(graph), LoadRequest(data=MANY, mode="append"), tasks, TINY)()
        assert done.total_entities == 150
        assert graph.query("query q() { match { $p: Person } return { count($p) as n } }")[0]["n"] == 60
    never.set()
