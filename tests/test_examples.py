"""Every example runs from its own folder, ends well, and says what its README promises."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def run(program: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / program), *arguments],
        env={**os.environ, "OMNIGRAPH_EMBED_PROVIDER": "local"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_company_brain_answers_in_other_words_and_merges_a_proposal(tmp_path: Path) -> None:
    said = run("company-brain/run.py", str(tmp_path))
    question, answer = said.split("'a flood in the building'")
    assert "Keep two regions warm" in question
    assert "two regions" in answer.split("Who knows")[0]
    assert "fast forward" in answer
    assert "Keep three regions warm" in answer


@pytest.mark.slow
def test_agents_disagree_and_a_reviewer_decides(tmp_path: Path) -> None:
    said = run("agent-memory/run.py", str(tmp_path))
    assert "conflict: divergent update for id 'hours'" in said
    assert "last boat to Bergen" in said.split("recall(")[1].split("What is known")[0]
    assert re.search(r"scribe +confidence +0\.1", said)


@pytest.mark.slow
def test_the_social_network_is_loaded_by_spark_in_one_commit(tmp_path: Path) -> None:
    said = run("social-network/run.py", str(tmp_path), "--people", "500")
    assert "loaded by spark" in said
    assert "5 rows" in said


def test_the_airline_goes_from_files_to_answers_without_a_hand_edit(tmp_path: Path) -> None:
    said = run("airline/run.py", str(tmp_path / "air"), "--flights", "600")
    assert "skipped edges to nodes that are not there: Dest" in said
    answers = said.split("How many flights does each airline have?")[1]
    assert answers.count("row") == 10
    assert "QSJ" in answers.split("in no list of airports?")[1].split("Which planes")[0]
    assert "Iñigo Hall" in answers.split("Who teaches most pilots?")[1]


@pytest.mark.slow
def test_a_stream_that_is_stopped_half_way_loses_nothing(tmp_path: Path) -> None:
    said = run("streams/run.py", str(tmp_path / "streams"), "--seconds", "4")
    assert "started again from its checkpoint" in said
    assert "nothing lost, nothing twice" in said


@pytest.mark.slow
def test_the_demo_tells_its_story_to_the_end(tmp_path: Path) -> None:
    said = run("demo/run.py", str(tmp_path / "demo"), "--people", "2000")
    for chapter in ("Load through Spark", "Traverse", "Aggregate", "Conflict", "Resolve and merge", "Time travel"):
        assert chapter in said
    assert "Done in" in said


def test_the_demo_does_not_touch_a_folder_that_is_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "demo" / "run.py"), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "name another folder" in done.stderr
    assert (tmp_path / "precious").read_text() == "mine"
