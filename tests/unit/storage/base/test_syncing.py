"""Bringing files to the disk: what the environment says, and which paths are waited for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.errors import BadRequest
from omnigraph.storage.base.layout import Root
from omnigraph.storage.base.syncing import SYNC, machine_started_at, sync_by_default, sync_paths, with_directories


@pytest.mark.parametrize(("text", "wanted"), [("", True), ("on", True), ("1", True), ("OFF", False), (" 0 ", False)])
def test_the_environment_decides_and_without_it_commits_wait(
    monkeypatch: pytest.MonkeyPatch, text: str, wanted: bool
) -> None:
    monkeypatch.setenv(SYNC, text)
    assert sync_by_default() is wanted
    assert Root("/graph").syncs is wanted


def test_another_word_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SYNC, "sometimes")
    with pytest.raises(BadRequest, match="OMNIGRAPH_SYNC must be 'on' or 'off', not 'sometimes'"):
        sync_by_default()


def test_a_setting_goes_before_the_environment_and_object_stores_need_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SYNC, "off")
    assert Root("/graph", sync=True).syncs
    assert not Root("s3://bucket/graph", sync=True).syncs


def test_files_come_with_the_directories_above_them() -> None:
    found = with_directories("/g/t", ["data/a.lance", "data/a/b.blob", "_versions/1"])
    assert found == {
        "/g/t", "/g/t/data", "/g/t/data/a.lance", "/g/t/data/a", "/g/t/data/a/b.blob", "/g/t/_versions", "/g/t/_versions/1"
    }  # fmt: skip


def test_every_path_is_synced_once_and_missing_ones_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("a")
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    sync_paths([str(tmp_path / "a"), str(tmp_path), str(tmp_path / "a"), str(tmp_path / "gone")])
    assert sorted(synced) == sorted([tmp_path.stat().st_ino, (tmp_path / "a").stat().st_ino])


def test_a_file_of_now_is_younger_than_the_machine(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert (tmp_path / "a").stat().st_mtime > machine_started_at()


def test_paths_are_synced_while_the_interpreter_ends(tmp_path: Path) -> None:
    """No thread can be started then; a commit of an exit handler waits for the disk all the same."""
    program = (
        "import atexit, os, sys; from omnigraph.storage.base.syncing import sync_paths; import concurrent.futures.thread;"
        "here = sys.argv[1]; atexit.register(lambda: (sync_paths([here, os.path.dirname(here)]), print('synced')))"
    )
    (tmp_path / "a").write_text("a")
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "a")], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == "synced\n"
