"""A load that goes on after one whose driver died: what is staged stays staged, and nothing comes twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from load_cases import SCHEMA, edge, lines, node, person

import omnigraph as og
from omnigraph.cli.main import main
from omnigraph.engine.api.access import access
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.errors import BadRequest
from omnigraph.pipeline.tasks.jobs import LocalTasks
from omnigraph.pipeline.tasks.load import load
from omnigraph.pipeline.tasks.stage_driver import Tuning
from omnigraph.settings import Settings
from omnigraph.storage.base import failpoints
from omnigraph.storage.maintenance.load_claims import abandoned, take_claim
from omnigraph.testing.crash.processes import children
from omnigraph.testing.graphs.loads import export_text

QUICK = Settings(lease_ttl_ms=600_000, lease_skew_ms=0, writer_wait_ms=60_000)
TINY = Tuning(split_bytes=1_000, bucket_rows=7, keyed_rows=0)
ONE = lines(
    *(person(f"a{at:03d}", email=f"a{at}@x") for at in range(60)), *(node("Note", text=f"{at}") for at in range(9))
)
TWO = lines(
    *(person(f"b{at:03d}") for at in range(40)),
    *(edge("Knows", f"b{at % 40:03d}", f"a{at % 60:03d}") for at in range(60)),
)


def request(place: Path, **options: Any) -> LoadRequest:
    return LoadRequest(data=str(place / "in"), mode="append", **options)


def run_child(place: str, spec: str) -> None:
    graph = og.open(f"{place}/graph", settings=QUICK)
    with failpoints.armed(spec):
        load(access(graph), request(Path(place)), LocalTasks(), TINY)


def interrupted(place: Path, spec: str, files: Mapping[str, bytes] | None = None) -> og.Graph:
    """A graph beside what a load has left that was killed at a point."""
    og.init(place / "graph", SCHEMA, settings=QUICK).close()
    (place / "in").mkdir()
    for name, data in (files or {"1.jsonl": ONE, "2.jsonl": TWO}).items():
        (place / "in" / name).write_bytes(data)
    child = children().Process(target=run_child, args=(str(place), spec))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    return og.open(place / "graph", settings=QUICK)


def resume(graph: og.Graph, place: Path) -> int:
    """Go on; how many splits were staged."""
    asked = request(place, resume=True)
    done = load(access(graph), asked, LocalTasks(), TINY)
    assert list((place / "graph" / "__loads").glob("*")) == []
    stages = {stage.name: stage.tasks for stage in asked.clock.profile(done.total_entities).stages}
    return stages.get("stage", 0)


def expected(place: Path) -> list[str]:
    """What an uninterrupted load gives, without generated ids."""
    with og.init(place / "other", SCHEMA) as other:
        load(access(other), request(place), LocalTasks(), TINY)
        return without_ids(other)


def without_ids(graph: og.Graph) -> list[str]:
    import re

    return sorted(re.sub(r'"id":\s*"[0-9A-Z]{26}"', "", line) for line in export_text(graph._core).splitlines())


SPLITS = -(-len(ONE) // 1_000) + -(-len(TWO) // 1_000)


@pytest.mark.parametrize("point", ["load.post_stage", "load.post_checks"])
def test_what_a_killed_driver_has_staged_is_not_staged_again(tmp_path: Path, point: str) -> None:
    graph = interrupted(tmp_path, f"{point}=kill")
    assert resume(graph, tmp_path) == 0
    assert without_ids(graph) == expected(tmp_path)


def test_splits_that_were_not_reached_are_staged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    graph = interrupted(tmp_path, "load.split_staged_at_first=kill@3")
    with caplog.at_level("INFO", logger="omnigraph"):
        assert resume(graph, tmp_path) == SPLITS - 2
    assert f"2 of {SPLITS} splits were taken over from the interrupted load" in caplog.messages
    assert without_ids(graph) == expected(tmp_path)


def test_a_file_that_changed_meanwhile_is_staged_again(tmp_path: Path) -> None:
    graph = interrupted(tmp_path, "load.post_stage=kill")
    (tmp_path / "in" / "2.jsonl").write_bytes(TWO.replace(b"b00", b"c00"))
    assert resume(graph, tmp_path) == -(-len(TWO) // 1_000)
    assert without_ids(graph) == expected(tmp_path)


def test_another_schema_adopts_nothing(tmp_path: Path) -> None:
    graph = interrupted(tmp_path, "load.post_stage=kill")
    graph.schema.apply(SCHEMA.replace("score: F64?", "score: F64?\n  nick: String?"))
    assert resume(graph, tmp_path) == SPLITS
    assert '"a059"' in export_text(graph._core)


def test_another_request_leaves_it_alone_and_a_plain_load_removes_it(tmp_path: Path) -> None:
    graph = interrupted(tmp_path, "load.post_stage=kill")
    asked = LoadRequest(data=str(tmp_path / "in"), mode="merge", resume=True)
    load(access(graph), asked, LocalTasks(), TINY)
    assert {stage.name: stage.tasks for stage in asked.clock.profile(0).stages}["stage"] == SPLITS
    assert list((tmp_path / "graph" / "__loads").glob("*")) == []


def test_rows_that_may_have_arrived_do_not_come_twice(tmp_path: Path) -> None:
    graph = interrupted(tmp_path, "load.pre_discard=kill")
    before = export_text(graph._core)
    with pytest.raises(BadRequest, match="may be in the graph already"):
        resume(graph, tmp_path)
    assert export_text(graph._core) == before
    assert before.count('"Note"') == 9


def test_the_command_line_hands_the_wish_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    interrupted(tmp_path, "load.pre_discard=kill").close()
    assert main(["load", f"{tmp_path}/graph", "--data", f"{tmp_path}/in", "--mode", "append", "--resume"]) == 1
    assert "may be in the graph already" in capsys.readouterr().err


def test_of_many_small_files_those_are_staged_again_that_share_a_part_with_a_changed_one(tmp_path: Path) -> None:
    files = {f"{at:02d}.jsonl": lines(person(f"a{at:02d}"), node("Note", text=f"{at}")) for at in range(60)}
    graph = interrupted(tmp_path, "load.post_stage=kill", files)
    staged = graph._core.store.objects.list_tree("__loads")
    records = [name for name in staged if "/staged/" in name]
    assert 2 < len(records) < 20, "files have parts in common"
    (tmp_path / "in" / "31.jsonl").write_bytes(lines(person("changed", age=1), node("Note", text="31")))
    assert resume(graph, tmp_path) == 1
    assert without_ids(graph) == expected(tmp_path)
    assert '"changed"' in export_text(graph._core)


def test_one_of_several_takes_over(tmp_path: Path) -> None:
    graph = interrupted(tmp_path, "load.post_stage=kill")
    store = access(graph).store
    (left,) = abandoned(store)
    assert take_claim(store, left)
    with failpoints.armed(""):
        from omnigraph.storage.base import lease

        with lease.active(left):  # somebody works on it now
            assert abandoned(store) == []
            assert not take_claim(store, left)


def test_nothing_to_go_on_with_is_a_plain_load(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.jsonl").write_bytes(ONE)
    with og.init(tmp_path / "graph", SCHEMA) as graph:
        with caplog.at_level("INFO", logger="omnigraph"):
            done = graph.load(tmp_path / "in", resume=True, runner="inline")
        assert (done.total_entities, done.runner) == (69, "inline")
        assert "nothing that an interrupted load has left can be used: all of the input is staged" in caplog.messages
        assert done.profile is not None
        assert done.profile.resumed == (0, 1)
    again = ["load", f"{tmp_path}/graph", "--data", f"{tmp_path}/in", "--mode", "merge"]
    assert main([*again, "--resume"]) == 0
    assert "took over 0 of 1 split of the input from an interrupted load" in capsys.readouterr().out
    assert main([*again, "--resume", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["resumed"] == {"splits": 0, "of": 1}
    assert main(again) == 0
    assert "took over" not in capsys.readouterr().out


DRIVER = """
import sys
import omnigraph as og
from omnigraph.pipeline.spark.session import spark_session
spark_session("local[2,4]")
og.open(sys.argv[1], settings=og.Settings(task_memory="64KiB")).load(sys.argv[2], runner="spark")
"""


def test_a_killed_spark_driver_is_followed_by_one_that_stages_nothing(tmp_path: Path, spark: Any) -> None:
    og.init(tmp_path / "graph", SCHEMA).close()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.jsonl").write_bytes(lines(*(person(f"a{at:05d}") for at in range(2_000))))
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(tmp_path / "graph"), str(tmp_path / "in")],
        env={**os.environ, failpoints.ENVIRONMENT: "load.post_stage=kill"},
        capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()[-2000:]
    with og.open(tmp_path / "graph", settings=og.Settings(task_memory="64KiB")) as graph:
        loaded = graph.load(tmp_path / "in", runner="spark", spark=spark, resume=True)
        assert loaded.nodes == {"Person": 2_000}
        assert loaded.profile is not None
        assert "stage" not in {stage.name for stage in loaded.profile.stages}
