"""Where a run of the tests keeps its files."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.scratch import Scratch, has_room, remove_leftovers, scratch_in_memory


def test_every_process_of_a_run_uses_one_directory() -> None:
    program = "import tempfile; print(tempfile.gettempdir())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == tempfile.gettempdir()


def test_a_place_that_was_named_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert scratch_in_memory(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_little_memory_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert has_room(tmp_path, enough=1)
    assert not has_room(tmp_path, enough=1 << 60)
    assert not has_room(tmp_path / "absent", enough=1)
    monkeypatch.delenv("TMPDIR", raising=False)
    assert scratch_in_memory(tmp_path / "absent") is None


def test_files_go_with_the_run_unless_something_failed(tmp_path: Path) -> None:
    passed = Scratch(tmp_path)
    (passed.place / "file").write_text("x")
    passed.end()
    assert not passed.place.exists()
    failed = Scratch(tmp_path)
    failed.kept = True
    failed.end()
    assert failed.place.exists()


def test_only_what_ended_runs_left_is_removed(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    names = [f"omnigraph-tests-{child.pid}", f"omnigraph-tests-{os.getpid()}", "omnigraph-tests-x", "of-somebody-else"]
    for name in names:
        (tmp_path / name).mkdir()
    remove_leftovers(tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(names[1:])
