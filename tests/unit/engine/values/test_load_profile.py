"""Every moment of a load belongs to one stage, and rates and skew follow from what was measured."""

from __future__ import annotations

import time

import pytest

from omnigraph.engine.values.load_profile import LoadClock, LoadProfile, StageProfile


def test_a_stage_inside_another_stops_it() -> None:
    clock = LoadClock()
    begin = time.perf_counter()
    with clock.stage("commit"):
        with clock.stage("check"):
            time.sleep(0.03)
        with clock.stage("check"):
            pass
    taken = time.perf_counter() - begin
    found = {stage.name: stage.seconds for stage in clock.profile(0).stages}
    assert list(found) == ["check", "commit"]  # in the order of a load
    assert found["check"] >= 0.03
    assert sum(found.values()) == pytest.approx(taken, abs=0.005)
    assert found["commit"] < taken - 0.03 + 0.001


def test_waiting_belongs_to_the_stage_it_was_for() -> None:
    clock = LoadClock()
    with clock.stage("stage"):
        time.sleep(0.02)
        clock.shift("stage", "start", 0.015)
    found = {stage.name: stage.seconds for stage in clock.profile(0).stages}
    assert found["start"] == 0.015
    assert 0.005 <= found["stage"] < found["start"] + 0.02


def test_skew_and_rates() -> None:
    clock = LoadClock(bytes=3_000)
    with clock.stage("stage"):
        clock.note_tasks("stage", 3, (6.0, 4.0), 100)
        clock.note_tasks("stage", 1, (2.0, 2.0), 11)
    (stage,) = clock.profile(0).stages
    assert (stage.tasks, stage.task_seconds, stage.longest_task_seconds, stage.answer_bytes) == (4, 8.0, 4.0, 111)
    assert stage.skew == 2.0
    profile = LoadProfile((StageProfile("stage", 1.5), StageProfile("commit", 0.5)), 1_000, 3_000)
    assert (profile.seconds, profile.rows_per_second, profile.bytes_per_second) == (2.0, 500.0, 1_500.0)
    assert profile.to_json()["stages"][1] == {
        "name": "commit",
        "seconds": 0.5,
        "tasks": 0,
        "task_seconds": 0.0,
        "longest_task_seconds": 0.0,
        "answer_bytes": 0,
    }
    assert LoadProfile(()).rows_per_second == 0.0


def test_a_profile_that_is_cut_off_in_a_line_does_not_show_other_numbers() -> None:
    shown = repr(LoadProfile((StageProfile("start", 5.2e-05), StageProfile("commit", 0.5)), 1_000))
    assert shown == "LoadProfile(0.500 s for 1000 rows: start 0.000 s, commit 0.500 s)"
