"""Many small files share tasks and parts, and nothing but the number of fragments tells."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from load_cases import SCHEMA, lines

import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.errors import OmnigraphError
from omnigraph.pipeline.tasks.jobs import LocalTasks, SparkTasks
from omnigraph.pipeline.tasks.load import load
from omnigraph.pipeline.tasks.stage_driver import Tuning
from omnigraph.testing.graphs.loads import export_text

FILES = 150
TOGETHER = {"few": Tuning(), "many": Tuning(bucket_rows=7, keyed_rows=0, part_bytes=4_000)}
ALONE = Tuning(split_rows=1)  # a task of its own for each file


def write(place: Path, *, bad: bool) -> Path:
    """Files with a few people, notes and edges each; if `bad`, some rows are wrong by themselves or beside others."""
    place.mkdir()
    for at in range(FILES):
        rows: list[Any] = [{"type": "Person", "data": {"name": f"p{at:03d}", "age": at, "email": f"{at}@x"}}]
        rows += [{"type": "Note", "data": {"text": f"{at}"}}] * (at % 3)
        rows += [{"edge": "Knows", "from": f"p{at:03d}", "to": f"p{(at * 7) % FILES:03d}"}] * (at % 2)
        if bad and at % 10 == 3:
            rows.insert(0, {"type": "Person", "data": {"name": f"old{at}", "age": 999}})
        if bad and at % 10 == 5:
            rows.insert(1, {"type": "Person", "data": {"name": f"again{at}", "email": f"{at - 2}@x"}})
        if bad and at % 10 == 7:
            rows.append({"edge": "Knows", "from": f"p{at:03d}", "to": f"nobody{at}"})
        (place / f"{at:03d}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return place


@dataclass(frozen=True)
class Outcome:
    """What a load has left, without generated ids."""

    told: dict[str, Any]
    rows: list[str]
    rejects: str = ""


def outcome(place: Path, tuning: Tuning, tasks: Any = None, *, before: bytes = b"", **options: Any) -> Outcome:
    rejects = place.with_suffix(".rejects.jsonl")
    with og.init(place, SCHEMA) as graph:
        if before:
            graph.load(before, runner="inline")
        told: dict[str, Any]
        try:
            done = load(access(graph), LoadRequest(**options, rejects=str(rejects)), tasks or LocalTasks(), tuning)
            told = {"nodes": done.nodes, "edges": done.edges, "rejected": done.rejected, "skipped": done.skipped}
        except OmnigraphError as error:
            told = {"error": plain(error.message), "others": [plain(str(each)) for each in error.__dict__.values()]}
        rows = sorted(plain(line) for line in export_text(graph._core).splitlines())
        return Outcome(told, rows, rejects.read_text() if rejects.exists() else "")


def plain(text: str) -> str:
    return re.sub(r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b", "(generated)", text)


@pytest.mark.parametrize("size", TOGETHER)
@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_refused_rows_have_the_file_line_and_reason_that_they_have_alone(
    tmp_path: Path, size: str, on_error: str
) -> None:
    files = str(write(tmp_path / "in", bad=True))
    asked: dict[str, Any] = {"data": files, "mode": "append", "on_error": on_error}
    alone = outcome(tmp_path / "alone", ALONE, **asked)
    assert outcome(tmp_path / "together", TOGETHER[size], **asked) == alone
    assert {json.loads(line)["file"] for line in alone.rejects.splitlines()} > {f"{files}/003.jsonl"}
    assert (on_error == "stop") == ("error" in alone.told)
    if on_error == "skip":
        assert sum(alone.told["rejected"].values()) == len(alone.rejects.splitlines()) >= 45


@pytest.mark.parametrize("size", TOGETHER)
@pytest.mark.parametrize("mode", ["merge", "patch", "overwrite"])
def test_the_later_row_of_an_id_wins_whatever_shares_a_part(tmp_path: Path, size: str, mode: str) -> None:
    place = write(tmp_path / "in", bad=False)
    for at in range(0, FILES, 4):
        with (place / f"{at:03d}.jsonl").open("a") as file:
            for name in (f"n{at % 30}", f"m{at}"):
                file.write(json.dumps({"type": "Note", "data": {"id": name, "text": f"{name} of {at}"}}) + "\n")
    before = lines(
        *({"type": "Person", "data": {"name": f"p{at:03d}", "role": "admin"}} for at in range(0, FILES, 5)),
        *({"type": "Note", "data": {"id": f"n{at}", "text": "before", "tag": "kept"}} for at in range(0, 30, 7)),
    )
    asked: dict[str, Any] = {"data": str(place), "mode": mode, "before": before}
    alone = outcome(tmp_path / "alone", ALONE, **asked)
    assert outcome(tmp_path / "together", TOGETHER[size], **asked) == alone
    assert ("error" in alone.told) == (mode == "overwrite"), "only rows that merge may have the same id"


def test_errors_are_bounded_as_they_are_alone(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"data": str(write(tmp_path / "in", bad=True)), "mode": "append", "on_error": "skip"}
    for most in (3, 100):
        alone = outcome(tmp_path / f"alone{most}", ALONE, **asked, max_errors=most)
        assert outcome(tmp_path / f"together{most}", Tuning(), **asked, max_errors=most) == alone
        assert ("error" in alone.told) == (most == 3)


@pytest.mark.parametrize("runner", ["here", "spark"])
def test_many_small_files_make_few_tasks_and_few_fragments(
    tmp_path: Path, request: pytest.FixtureRequest, runner: str
) -> None:
    place = tmp_path / "in"
    place.mkdir()
    for at in range(300):
        (place / f"{at:03d}.csv").write_text(f"name,age\nc{at:03d},{at % 90}\n")
    tasks = LocalTasks() if runner == "here" else SparkTasks(request.getfixturevalue("spark"))
    with og.init(tmp_path / "graph", SCHEMA) as graph:
        asked = LoadRequest(data=str(place / "*.csv"), type="Person", mode="append")
        done = load(access(graph), asked, tasks)
        assert done.nodes == {"Person": 300}
        stages = {stage.name: stage.tasks for stage in asked.clock.profile(300).stages}
        assert 1 <= stages["stage"] <= 3
        names = graph.query("query q() { match { $p: Person } return { $p.name as name } }").rows()
        assert [row["name"] for row in names] == [f"c{at:03d}" for at in range(300)]
        assert 1 <= len(list((tmp_path / "graph").glob("nodes/*/data/*.lance"))) <= 3


def test_on_spark_refused_rows_are_those_of_this_process(tmp_path: Path, spark: Any) -> None:
    asked: dict[str, Any] = {"data": str(write(tmp_path / "in", bad=True)), "mode": "append", "on_error": "skip"}
    alone = outcome(tmp_path / "alone", ALONE, **asked)
    assert outcome(tmp_path / "spark", TOGETHER["many"], SparkTasks(spark), **asked) == alone
