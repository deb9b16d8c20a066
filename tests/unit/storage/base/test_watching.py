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


def test_what_changed_just_now_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setattr(watching, "_kernel_time", int)  # no clock that tells more
    monkeypatch.setattr(watching, "_SETTLED_NS", 1 << 62)
    assert watch(str(tmp_path), str(tmp_path / "file")) is None
    assert watch(str(tmp_path), str(tmp_path / "absent")) is None


def test_two_ticks_later_it_is_where_the_kernel_gives_the_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, file = str(tmp_path), str(tmp_path / "file")
    Path(file).write_text("x")
    enough = max(tmp_path.stat().st_ctime_ns, Path(file).stat().st_ctime_ns) + watching._TICKS_NS
    monkeypatch.setattr(watching, "_SETTLED_NS", 1 << 62)
    monkeypatch.setattr(watching, "_is_fine", lambda time_ns: True)
    monkeypatch.setattr(watching, "_has_kernel_times", lambda device: True)
    found = []
    for now in (enough - (1 << 40), enough, enough + 1):
        monkeypatch.setattr(watching, "_kernel_time", lambda now=now: now)
        found.append(watch(directory, file) is not None)
    assert found == [False, False, True]
    monkeypatch.setattr(watching, "_is_fine", lambda time_ns: time_ns != tmp_path.stat().st_ctime_ns)
    assert watch(directory, file) is None
    monkeypatch.setattr(watching, "_is_fine", lambda time_ns: True)
    monkeypatch.setattr(watching, "_has_kernel_times", lambda device: device != tmp_path.stat().st_dev)
    assert watch(directory, file) is None


def test_a_change_at_once_after_looking_shows(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for number in range(20):
        file.write_text(f"{number}")
        until = time.monotonic() + 30
        while (looked := watch(str(tmp_path), str(file))) is None:
            assert time.monotonic() < until
        if number % 2:
            (tmp_path / f"other{number}").touch()
        else:
            file.write_text("again")
        assert not looked.is_unchanged()


def test_times_of_whole_seconds_are_not_fine() -> None:
    assert [watching._is_fine(time_ns) for time_ns in (1_795_034_949_073_782_238, 1_795_034_949 * 10**9)] == [
        True,
        False,
    ]
    assert not watching._is_fine(1_795_034_949_070_000_000)  # exFAT: hundredths of a second


def test_which_devices_have_times_of_this_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (
        "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard",
        "28 27 0:40 / /nfs rw master:1 shared:2 - nfs4 host:/export rw",
        "29 27 8:1 / /over rw - vfat /dev/sda1 rw",
        "30 27 8:1 / /over rw - ext4 /dev/sda1 rw",
    )
    monkeypatch.setattr(watching, "_MOUNTS", tmp_path / "mountinfo")
    (tmp_path / "mountinfo").write_text("\n".join(lines))
    devices = [os.makedev(254, 0), os.makedev(0, 40), os.makedev(8, 1), os.makedev(9, 9)]
    assert [watching._has_kernel_times.__wrapped__(device) for device in devices] == [True, False, False, False]


@pytest.mark.usefixtures("settled")
def test_a_reader_that_watches_sees_what_another_handle_writes(tmp_path: Path) -> None:
    count = "query q() { match { $a: A } return { count(*) as n } }"
    writer, reader = og.init(tmp_path / "g.omni", "node A { k: String @key }"), og.open(tmp_path / "g.omni")
    for number in range(3):
        for _ in range(3):
            assert reader.query(count).scalar() == number
        time.sleep(0.02)
        writer.load([f'{{"type":"A","data":{{"k":"{number}"}}}}'])
