"""A watched directory shows every change, and is not trusted while a change might not show."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.storage.base import watching
from omnigraph.storage.base.watching import watch

CHANGES: dict[str, Callable[[Path], object]] = {
    "another file": lambda place: (place / "other").write_text("x"),
    "a file less": lambda place: (place / "beside").unlink(),
    "another name": lambda place: (place / "beside").rename(place / "renamed"),
    "the file written again": lambda place: (place / "file").write_text("other"),
    "the file gone": lambda place: (place / "file").unlink(),
    "the directory made again": lambda place: (
        shutil.copytree(place, f"{place}2"),
        shutil.rmtree(place),
        shutil.move(f"{place}2", place),
    ),
}


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written just now counts as old."""
    monkeypatch.setattr(watching, "_SETTLED_NS", -(1 << 62))


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("change", CHANGES)
def test_every_change_shows(tmp_path: Path, change: str) -> None:
    place = tmp_path / "versions"
    place.mkdir()
    for name in ("file", "beside"):
        (place / name).write_text(name)
    looked = watch(str(place), str(place / "file"))
    assert looked is not None
    assert looked.is_unchanged()
    time.sleep(0.02)  # the clock of file times moves on by then
    before = place.stat(), (place / "file").stat()
    CHANGES[change](place)
    for path, was in zip((place, place / "file"), before, strict=True):
        if path.exists():
            os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))  # as a copy that keeps times would
    assert not looked.is_unchanged()


def test_what_changed_just_now_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert watch(str(tmp_path), str(tmp_path / "file")) is None
    assert watch(str(tmp_path), str(tmp_path / "absent")) is None


@pytest.mark.usefixtures("settled")
def test_a_reader_that_watches_sees_what_another_handle_writes(tmp_path: Path) -> None:
    count = "query q() { match { $a: A } return { count(*) as n } }"
    writer, reader = og.init(tmp_path / "g.omni", "node A { k: String @key }"), og.open(tmp_path / "g.omni")
    for number in range(3):
        for _ in range(3):
            assert reader.query(count).scalar() == number
        time.sleep(0.02)
        writer.load([f'{{"type":"A","data":{{"k":"{number}"}}}}'])
