"""Declared pipelines: what may be declared, and what a run does and leaves behind."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine.merge import by_files
from omnigraph.engine.values.load_profile import Progress
from omnigraph.errors import BadRequest, NotFound, OmnigraphError, StorageError, TimedOut, ValueViolation
from omnigraph.pipeline.runs import execute, following
from omnigraph.pipeline.runs.declared import Pipeline, in_order, parse_pipelines
from omnigraph.pipeline.runs.execute import RunOptions, run_pipeline
from omnigraph.pipeline.runs.records import history, keep
from omnigraph.pipeline.runs.schedules import airflow, crontab
from omnigraph.pipeline.tasks.stage_driver import Tuning
from omnigraph.storage.base import failpoints
from omnigraph.testing.crash.processes import children

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person\n"
MAPPING = "sources: {people: {path: people.csv}}\nnodes: {Person: {from: people}}\n"
CHECKS = "query too_old() { match { $p: Person  $p.age > 150 } return { $p.name } }\n"
GATE_OF_NOTHING = {"nulls": {"Person.height": "5%"}}
NOON = datetime(2026, 1, 2, 12, 0, 0, tzinfo=UTC)
NIGHTLY = {
    "graph": "people",
    "mapping": "people.yaml",
    "branch": "ingest/{date}",
    "checks": "checks.gq",
    "merge_into": "main",
    "mode": "merge",
    "schedule": "0 2 * * *",
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "people.yaml").write_text(MAPPING)
    (tmp_path / "checks.gq").write_text(CHECKS)
    (tmp_path / "people.csv").write_text("name,age\nada,36\n")
    return tmp_path


@pytest.fixture
def graph(place: Path) -> Iterator[og.Graph]:
    og.init(place / "g.omni", SCHEMA).close()
    with og.open(place / "g.omni", actor="nightly-bot") as opened:
        yield opened


def declared(place: Path, **changes: Any) -> Pipeline:
    given = {key: value for key, value in (NIGHTLY | changes).items() if value is not None}
    return parse_pipelines({"nightly": given}, place)["nightly"]


def run(pipeline: Pipeline, graph: og.Graph, **options: Any) -> Any:
    return run_pipeline(pipeline, graph, RunOptions(now=NOON, **options))


def test_a_run_loads_on_a_branch_checks_and_merges(place: Path, graph: og.Graph) -> None:
    before = len(graph.commits.list())
    done = run(declared(place), graph)
    assert (done.status, done.merged_into, dict(done.nodes)) == ("merged", "main", {"Person": 1})
    assert (done.actor_id, done.runner, dict(done.checks)) == ("nightly-bot", "inline", {"too_old": 0})
    assert done.commit_id == graph.refresh()
    assert graph.branches.list() == ["main"], "the branch is gone once it is merged"
    assert len(graph.commits.list()) == before + 1
    assert graph.get("Person", "ada") == {"id": "ada", "name": "ada", "age": 36}
    kept = history(graph, "nightly")
    assert kept == [done]
    assert kept[0].inputs[0].bytes == 16
    assert kept[0].started_at == "2026-01-02T12:00:00.000Z"


def test_a_run_with_very_many_rows_is_merged_by_their_files(
    place: Path, graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_files, "LARGE_CHANGE", 1)
    pipeline = declared(place, on_error="skip", branch="ingest/{run}")
    run(pipeline, graph)
    graph.load('{"type":"Person","data":{"name":"bob","age":1}}', "merge")
    (place / "people.csv").write_text("name,age\nada,37\neve,2\nkim,3\n")
    with monkeypatch.context() as patched:
        patched.setattr(by_files, "row_delta", lambda *_: pytest.fail("rows were compared"))
        done = run(pipeline, graph)
    counts = graph.commits.list(limit=1)[0].counts["Person"]
    assert (done.status, counts.inserted, counts.updated) == ("merged", 2, 1)
    everyone = graph.query("query q() { match { $p: Person } return { $p.name, $p.age } }").rows()
    assert {row["p.name"]: row["p.age"] for row in everyone} == {"ada": 37, "bob": 1, "eve": 2, "kim": 3}
    assert graph.branches.list() == ["main"]


def test_the_same_input_is_taken_in_once(place: Path, graph: og.Graph) -> None:
    pipeline = declared(place)
    first = run(pipeline, graph)
    again = run(pipeline, graph)
    assert (again.status, again.commit_id) == ("unchanged", first.commit_id)
    assert (again.branch, again.merged_into) == (None, "main"), "a branch that is gone is not named"
    assert first.run_id in again.message
    assert len(history(graph, "nightly")) == 1
    assert run(pipeline, graph, force=True).status == "merged"
    (place / "people.csv").write_text("name,age\nada,37\nbob,1\n")
    assert run(pipeline, graph).status == "merged"
    (place / "people.yaml").write_text(MAPPING + "# another word\n")
    assert run(pipeline, graph).status == "merged", "a changed definition is other work"
    assert [each.status for each in history(graph, "nightly")] == ["merged"] * 4


def test_a_check_that_finds_rows_keeps_the_data_out(place: Path, graph: og.Graph) -> None:
    (place / "people.csv").write_text("name,age\nmethuselah,969\n")
    done = run(declared(place), graph)
    assert (done.status, done.ok, dict(done.checks)) == ("rejected", False, {"too_old": 1})
    assert "too_old returned 1 row; the data waits on branch 'ingest/2026-01-02'" in done.message
    assert graph.get("Person", "methuselah") is None
    assert graph.branch("ingest/2026-01-02").get("Person", "methuselah") is not None
    again = run(declared(place), graph)
    assert (again.status, again.branch) == ("rejected", "ingest/2026-01-02"), "what is rejected was not taken in"
    assert sorted(graph.branches.list()) == ["ingest/2026-01-02", "main"], "a retry replaces what it tries again"
    graph.branch("ingest/2026-01-02").mutate('query q() { delete Person where name = "methuselah" }')
    assert run(declared(place), graph).branch == "ingest/2026-01-02-2", "what somebody has worked on stays"


def test_a_run_without_input_files_is_on_record(place: Path, graph: og.Graph) -> None:
    (place / "people.csv").unlink()
    with pytest.raises(NotFound):
        run(declared(place), graph)
    kept = history(graph, "nightly")
    assert [each.status for each in kept] == ["failed"]
    assert "people.csv" in (kept[0].message or "")


def test_a_run_is_on_record_while_it_goes_on_and_lost_when_it_says_nothing_more(place: Path, graph: og.Graph) -> None:
    seen: list[Any] = []
    pipeline = declared(place, on_error="skip")
    done = run(pipeline, graph, progress=lambda _: seen.append(history(graph, "nightly")[0]))
    assert (seen[0].status, seen[0].run_id, seen[0].branch) == ("running", done.run_id, "ingest/2026-01-02")
    assert (done.status, history(graph)) == ("merged", [done])
    keep(graph, replace(seen[0], run_id=done.run_id + "1", updated_at="2026-01-02T12:00:00.000Z"))
    newest, older = history(graph)
    assert (newest.status, newest.ok, older) == ("lost", False, done)
    assert "has not reported since 2026-01-02T12:00:00" in (newest.message or "")
    assert history(graph, "nightly", 1) == [newest]
    waiting = run(replace(pipeline, name="later", after=("nightly",)), graph)
    assert "ended as lost" in (waiting.message or "")


def test_progress_is_written_from_time_to_time_and_not_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_WRITE_SECONDS", 0.001)
    told: list[Any] = []
    arrived = threading.Event()

    def write(found: Any) -> None:
        told.append(found)
        if found is not None:
            arrived.set()
            raise StorageError("the store is away", kind="Transient")

    shown = following.Following(write)
    with shown.shown():
        shown.report(Progress("stage", 1, 2))
        assert arrived.wait(60)
    count = len(told)
    shown.step("merge")
    assert told[0] is None
    assert told[1] == {"stage": "stage", "done": 1, "total": 2, "rows": 0, "bytes": 0}
    assert len(told) == count


def test_a_load_that_fails_for_no_fault_of_the_data_is_tried_again(place: Path, graph: og.Graph) -> None:
    slept: list[float] = []
    tries = [3]

    def fail() -> None:
        tries[0] -= 1
        if tries[0] > 0:
            raise StorageError("the store is away", kind="Transient")

    pipeline = declared(place, retries=2, retry_after="5s")
    with failpoints.armed({"mutation.post_sidecar_pre_fork": fail}):
        done = run(pipeline, graph, sleep=slept.append)
    assert (done.status, done.attempts, slept) == ("merged", 3, [5.0, 5.0])
    assert graph.branches.list() == ["main"]
    tries[0] = 9
    (place / "people.csv").write_text("name,age\nbob,1\n")
    with failpoints.armed({"mutation.post_sidecar_pre_fork": fail}), pytest.raises(StorageError, match="away"):
        run(pipeline, graph, sleep=slept.append)
    assert (history(graph, "nightly")[0].status, history(graph, "nightly")[0].attempts) == ("failed", 3)


def tiny(*_: Any) -> Tuning:
    """Small loads leave no word of what they have staged, because staging them again is as fast."""
    return Tuning(bucket_rows=2, keyed_rows=0)


def killed_run(place: str, point: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tuning, "within", tiny)
        _killed_run(place, point)


def _killed_run(place: str, point: str) -> None:
    with og.open(f"{place}/g.omni") as graph, failpoints.armed(f"{point}=kill"):
        run(declared(Path(place), max_errors=0), graph)


@pytest.mark.parametrize(("point", "staged"), [("load.post_stage", False), ("load.pre_discard", True)])
def test_a_run_goes_on_with_what_a_dead_one_has_staged(
    place: Path, graph: og.Graph, point: str, staged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tuning, "within", tiny)
    (place / "people.csv").write_text("name,age\nada,36\n" + "".join(f"p{at},{at}\n" for at in range(99)))
    child = children().Process(target=killed_run, args=(str(place), point))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    graph.refresh()
    seen: list[Any] = []
    done = run(declared(place, max_errors=0), graph, progress=seen.append)
    assert (done.status, dict(done.nodes)) == ("merged", {"Person": 100})
    assert any(found.stage == "stage" and found.done < found.total for found in seen) is staged
    assert list((place / "g.omni" / "__loads").glob("*")) == []
    assert graph.get("Person", "ada") is not None


class Clock:
    """Takes the place of the time module in a run: time passes when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = time.monotonic()
        monkeypatch.setattr(execute, "time", SimpleNamespace(monotonic=lambda: self.now))

    def end(self) -> None:
        self.now += 1_000_000.0


LATE: list[tuple[str, dict[str, Any]]] = [
    ("branch_create.post_registry", {}),
    ("load.post_stage", {"max_errors": 0}),
    ("load.post_checks", {"max_errors": 0}),
    ("load.pre_discard", {"max_errors": 0}),
    ("mutation.post_stage_pre_gate", {}),
    ("mutation.post_effects_pre_publish", {}),
]


@pytest.mark.parametrize(("point", "changes"), LATE, ids=[point for point, _ in LATE])
def test_a_run_whose_time_is_over_anywhere_leaves_nothing_and_says_so(
    place: Path, graph: og.Graph, monkeypatch: pytest.MonkeyPatch, point: str, changes: dict[str, Any]
) -> None:
    clock, head = Clock(monkeypatch), graph.refresh()
    late = pytest.raises(TimedOut, match="took longer than its timeout of 3600 s")
    with failpoints.armed({point: clock.end}), late:
        run(declared(place, timeout="1h", **changes), graph)
    kept = history(graph, "nightly")[0]
    assert (kept.status, kept.ok, kept.branch) == ("timed_out", False, None)
    assert (graph.refresh(), graph.branches.list(), graph.get("Person", "ada")) == (head, ["main"], None)
    assert list((place / "g.omni" / "__loads").glob("*")) == []
    assert run(declared(place), graph).status == "merged"


def test_a_failed_load_is_not_tried_again_when_its_time_is_over(
    place: Path, graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock.now += seconds

    with failpoints.armed("mutation.post_sidecar_pre_fork=raise"), pytest.raises(TimedOut):
        run(declared(place, timeout="60s", retries=9, retry_after="50s"), graph, sleep=sleep)
    assert slept[0] == 50.0 > slept[1], "it waits no longer than it may take"
    assert history(graph, "nightly")[0].status == "timed_out"


def test_rows_that_are_in_are_not_taken_for_late(place: Path, graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a branch the load is the whole run: what is committed stays, and is on record as loaded."""
    clock = Clock(monkeypatch)
    alone = declared(place, timeout="1h", branch=None, merge_into=None, checks=None)
    with failpoints.armed({"publish.after_commit": clock.end}):
        assert run(alone, graph).status == "loaded"
    assert graph.get("Person", "ada") is not None


def test_a_run_that_failed_after_its_load_leaves_its_branch_to_the_next_one(place: Path, graph: og.Graph) -> None:
    for age in (36, 37, 38):
        (place / "people.csv").write_text(f"name,age\nada,{age}\n")
        with pytest.raises(OmnigraphError, match="height"):
            run(declared(place, gates=GATE_OF_NOTHING), graph)
        newest = history(graph, "nightly")[0]
        assert (newest.status, newest.branch) == ("failed", "ingest/2026-01-02")
        assert graph.branches.list() == ["main", "ingest/2026-01-02"], "the newest one may be looked into"
    assert run(declared(place), graph).status == "merged"
    assert graph.branches.list() == ["main"]
    assert [each.branch for each in history(graph, "nightly")[1:]] == [None] * 3


def test_a_failed_run_leaves_a_branch_that_others_worked_on(place: Path, graph: og.Graph) -> None:
    with pytest.raises(OmnigraphError, match="height"):
        run(declared(place, gates=GATE_OF_NOTHING), graph)
    graph.branch("ingest/2026-01-02").mutate('query q() { insert Person { name: "bob" } }')
    assert run(declared(place), graph).status == "merged"
    assert graph.branches.list() == ["main", "ingest/2026-01-02"]


def test_refused_input_that_is_tried_with_other_checks_has_one_branch(place: Path, graph: og.Graph) -> None:
    (place / "people.csv").write_text("name,age\nmethuselah,969\n")
    assert run(declared(place), graph).status == "rejected"
    assert run(declared(place, gates={"rows": {"Person": {"min": 2}}}), graph).status == "rejected"
    assert graph.branches.list() == ["main", "ingest/2026-01-02"]
    (place / "people.csv").write_text("name,age\nada,36\n")
    assert run(declared(place), graph).status == "merged"
    assert graph.branches.list() == ["main", "ingest/2026-01-02"], "other input that was refused waits for a person"


@pytest.mark.parametrize("point", ["branch_create.post_registry", "load.post_stage", "load.pre_discard"])
def test_branches_of_runs_that_died_are_gone_after_the_next_one(place: Path, graph: og.Graph, point: str) -> None:
    for _ in range(2):
        child = children().Process(target=killed_run, args=(str(place), point))
        child.start()
        child.join(60)
        assert child.exitcode == -signal.SIGKILL
    graph.refresh()
    assert [each.status for each in history(graph, "nightly")] == ["lost"] * 2, "their process is gone"
    assert len(graph.branches.list()) > 1
    assert run(declared(place, max_errors=0), graph).status == "merged"
    assert graph.branches.list() == ["main"]
    assert [each.branch for each in history(graph, "nightly")[1:]] == [None] * 2


def test_a_run_that_goes_on_keeps_its_branch(place: Path, graph: og.Graph) -> None:
    def meanwhile(_: Any) -> None:
        if not others:
            others.append(run(replace(pipeline, on_error="stop"), graph))
            others.append(history(graph, "nightly"))

    others: list[Any] = []
    pipeline = declared(place, on_error="skip", mode="append", merge_into=None, checks=None)
    done = run(pipeline, graph, progress=meanwhile)
    assert (done.status, done.branch) == ("review", "ingest/2026-01-02")
    assert (others[0].status, others[0].branch) == ("review", "ingest/2026-01-02-2")
    assert [each.status for each in others[1]] == ["review", "running"]
    assert "owner" not in others[1][1].to_json()


def test_a_pipeline_waits_for_those_that_it_comes_after(place: Path, graph: og.Graph) -> None:
    section = {"first": dict(NIGHTLY), "second": {**NIGHTLY, "after": "first", "branch": "second/{run}"}}
    found = parse_pipelines(section, place)
    assert [each.name for each in in_order(found, "second")] == ["first", "second"]
    waits = run(found["second"], graph)
    assert (waits.status, waits.ok) == ("waiting", False)
    assert "it comes after 'first', which has not run" in waits.message
    run(found["first"], graph)
    assert run(found["second"], graph, force=True).status == "merged"
    with pytest.raises(BadRequest, match=r"first → second → first goes round in a circle"):
        parse_pipelines({**section, "first": {**NIGHTLY, "after": ["second"]}}, place)


GATES = {
    "rows": {"Person": {"min": 2, "max": 3}},
    "nulls": {"Person.age": "40%"},
    "rejected": "30%",
    "freshness": {"Person.seen": "2d"},
}


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("ada,36,2026-01-02\nbob,1,2026-01-01\n", None),
        ("ada,36,2026-01-02\n", "rows Person is 1, at least 2 is wanted"),
        ("a,1,2026-01-02\nb,1,\nc,1,\nd,1,\n", "rows Person is 4, at most 3 is wanted"),
        ("a,,2026-01-02\nb,1,\n", "nulls Person.age is 50%, at most 40% is wanted"),
        ("a,1,2026-01-02\nb,1,\nc,old,\n", "rejected is 33.3%, at most 30% is wanted"),
        ("a,1,2025-12-30\nb,1,\n", "freshness Person.seen is 3.5d, at most 2d is wanted"),
    ],
)
def test_a_gate_stops_the_merge(place: Path, rows: str, told: str | None) -> None:
    graph = og.init(place / "gated.omni", "node Person { name: String @key  age: I32?  seen: Date? }")
    (place / "people.csv").write_text(f"name,age,seen\n{rows}")
    done = run(declared(place, gates=GATES, on_error="skip"), graph)
    assert done.status == ("merged" if told is None else "rejected")
    assert told is None or done.message == f"{told}; the data waits on branch 'ingest/2026-01-02'"
    assert (graph.get("Person", "ada") is not None) is (told is None)
    assert set(done.gates) == {"rows Person", "nulls Person.age", "rejected", "freshness Person.seen"}


def test_schedules_become_a_crontab_and_dags(place: Path) -> None:
    found = [declared(place), declared(place, schedule=None)]
    assert crontab(found, place, ["omnigraph"]).splitlines()[1:] == [
        f"0 2 * * * omnigraph pipeline run nightly --config {place} --with-dependencies --json"
    ]
    text = airflow(found, place, ["omnigraph"])
    compile(text, "dags.py", "exec")
    assert text.count("with DAG('omnigraph_nightly', schedule='0 2 * * *'") == 1


def test_without_a_target_the_branch_waits_for_review(place: Path, graph: og.Graph) -> None:
    pipeline = declared(place, merge_into=None)
    done = run(pipeline, graph)
    assert (done.status, done.branch, done.ok) == ("review", "ingest/2026-01-02", True)
    assert graph.get("Person", "ada") is None
    again = run(pipeline, graph)
    assert (again.status, again.branch) == ("unchanged", done.branch)
    graph.branches.merge(done.branch, into="main", delete=True)
    again = run(pipeline, graph)
    assert (again.status, again.branch) == ("unchanged", None), "merged by hand"


def test_without_a_branch_the_load_goes_straight_in(place: Path, graph: og.Graph) -> None:
    done = run(declared(place, branch=None, checks=None, merge_into=None), graph)
    assert (done.status, done.branch) == ("loaded", None)
    assert graph.get("Person", "ada") is not None


def test_a_dry_run_leaves_nothing_behind(place: Path, graph: og.Graph) -> None:
    head = graph.refresh()
    done = run(declared(place), graph, dry_run=True)
    assert (done.status, dict(done.nodes)) == ("dry_run", {"Person": 1})
    assert (graph.refresh(), graph.branches.list(), history(graph, "nightly")) == (head, ["main"], [])


def test_bad_rows_are_on_record_too(place: Path, graph: og.Graph) -> None:
    (place / "people.csv").write_text("name,age\nada,36\nbob,old\n")
    with pytest.raises(ValueViolation):
        run(declared(place), graph)
    failed = history(graph, "nightly")[0]
    assert failed.status == "failed"
    assert "old" in (failed.message or "")
    assert graph.branches.list() == ["main"], "a branch that holds nothing is not left behind"
    done = run(declared(place, on_error="skip"), graph, rejects=str(place / "rejects"))
    assert (done.status, dict(done.nodes), sum(done.rejected.values())) == ("merged", {"Person": 1}, 1)
    assert list((place / "rejects").iterdir())


def test_a_contradiction_with_the_target_is_left_for_a_person(
    place: Path, graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.load([{"type": "Person", "data": {"name": "ada", "age": 1}}])
    load = og.Graph.load

    def meanwhile(self: og.Graph, *given: Any, **options: Any) -> Any:
        done = load(self, *given, **options)
        load(graph, [{"type": "Person", "data": {"name": "ada", "age": 99}}], mode="merge")
        return done

    monkeypatch.setattr(og.Graph, "load", meanwhile)
    done = run(declared(place), graph)
    assert (done.status, done.ok, done.branch) == ("conflict", False, "ingest/2026-01-02")
    assert graph.get("Person", "ada")["age"] == 99  # type: ignore[index]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"graph": None}, r"pipelines\.nightly\.graph: is missing"),
        ({"mapping": None}, r"nightly\.mapping: is missing"),
        ({"mapping": "no.yaml"}, r"nightly\.mapping: there is no mapping"),
        ({"mapping": "checks.gq"}, r"nightly\.mapping: "),
        ({"checks": "no.gq"}, r"nightly\.checks: .* cannot be read"),
        ({"checks": 3}, r"nightly\.checks: a path, or a list"),
        ({"branch": "x/{day}"}, r"unknown placeholder '\{day\}' \(known: \{date\}"),
        ({"branch": "x/{"}, r"nightly\.branch: .* is not a template"),
        ({"branch": None}, r"nightly\.checks: needs a branch"),
        ({"branch": "main"}, r"cannot be merged into itself"),
        ({"mode": "replace"}, r"nightly\.mode: unknown load mode"),
        ({"schedule": "every night"}, r"not a cron expression"),
        ({"schedule": "0 26 * * *"}, r"nightly\.schedule: the hour '26' of .* within 0-23"),
        ({"schedule": "60 2 * * *"}, r"schedule: the minute '60' .* within 0-59"),
        ({"schedule": "0 2 0 * *"}, r"schedule: the day '0' .* within 1-31"),
        ({"schedule": "0 2 * jan,foo *"}, r"schedule: the month 'jan,foo' .* within 1-12 or jan-dec"),
        ({"schedule": "0 2 * * 1-8"}, r"schedule: the weekday '1-8' .* within 0-7 or sun-sat"),
        ({"schedule": "0 6-2 * * *"}, r"schedule: the hour '6-2'"),
        ({"schedule": "*/0 2 * * *"}, r"schedule: the minute '\*/0'"),
        ({"schedule": "5, 2 * * *"}, r"schedule: the minute '5,'"),
        ({"runner": "dask"}, r"nightly\.runner: unknown value 'dask'"),
        ({"max_errors": -1}, r"whole number"),
        ({"notify": "me"}, r"nightly\.notify: unknown member"),
        ({"graph": ["a"]}, r"nightly\.graph: text is expected"),
        ({"timeout": "soon"}, r"nightly\.timeout: invalid duration 'soon'"),
        ({"after": "none"}, r"nightly\.after: there is no pipeline 'none'"),
        ({"gates": {"size": 1}}, r"nightly\.gates: unknown gate 'size' \(known: freshness, nulls, rejected, rows\)"),
        ({"gates": {"nulls": {"age": "5%"}}}, r"nightly\.gates: nulls\.age: a property is written Type\.name"),
        ({"gates": {"rejected": 5}}, r"nightly\.gates: '5' is not a share"),
        ({"gates": {"rows": {"Person": {"least": 1}}}}, r"nightly\.gates: rows\.Person: min and max"),
        ({"gates": {"rows": {"Person": {"min": 9, "max": 5}}}}, r"nightly\.gates: rows\.Person: min 9 is greater than"),
    ],
)
def test_what_cannot_be_declared_is_told_with_its_place(place: Path, changes: dict[str, Any], told: str) -> None:
    with pytest.raises(BadRequest, match=told):
        declared(place, **changes)


@pytest.mark.parametrize(
    "schedule", ["*/15 8-18/2 1,15 jan-mar,OCT mon-fri", "0 0 31 12 7", "59 23 * * sun", "*,5/10 0 1-31 * 0-7"]
)
def test_schedules_that_cron_understands_are_kept_as_they_are(place: Path, schedule: str) -> None:
    assert declared(place, schedule=schedule).schedule == schedule


def test_the_same_number_at_both_ends_is_a_gate(place: Path) -> None:
    assert declared(place, gates={"rows": {"Person": {"min": 5, "max": 5}}}).gates[0].passes(5)


def test_a_mistake_in_a_check_is_told_with_file_and_line(place: Path) -> None:
    (place / "queries").mkdir()
    (place / "queries" / "checks.gq").write_text("query q() {\n  match { $p Person } return { $p.name } }")
    with pytest.raises(BadRequest, match=r"nightly\.checks: (.|\n)* --> queries/checks\.gq:2:14"):
        declared(place, checks="queries/checks.gq")


def test_every_pipeline_that_is_wrong_is_told(place: Path) -> None:
    section = {
        "good": NIGHTLY,
        "late": {**NIGHTLY, "schedule": "0 26 * * *"},
        "lost": {**NIGHTLY, "after": ["late", "none"]},
        "odd": {**NIGHTLY, "mode": "replace"},
    }
    with pytest.raises(BadRequest) as raised:
        parse_pipelines(section, place)
    told = [line.partition(": ")[0] for line in raised.value.message.splitlines()]
    assert told == ["pipelines.late.schedule", "pipelines.odd.mode", "pipelines.lost.after"]


def test_checks_cannot_have_parameters(place: Path) -> None:
    (place / "checks.gq").write_text("query q($n: String) { match { $p: Person { name: $n } } return { $p.age } }")
    with pytest.raises(BadRequest, match=r"check 'q' of .* has parameters"):
        declared(place)


@pytest.mark.parametrize("section", [["a"], {"a b": {}}, {"a": "x"}])
def test_the_section_has_one_shape(place: Path, section: Any) -> None:
    with pytest.raises(BadRequest, match="pipelines"):
        parse_pipelines(section, place)
    assert parse_pipelines(None, place) == {}
