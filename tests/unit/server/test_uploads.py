"""What an actor may keep, also when several of its files arrive at the same time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from omnigraph.errors import TooManyRequests
from omnigraph.memory.working import Reservation, WorkingMemory, reserving
from omnigraph.pipeline.formats.infer import infer
from omnigraph.server.http.refusal import Refusal
from omnigraph.server.uploads import MOST_FILES, UploadLimits, Uploads


def kept(tmp_path: Path, **limits: int) -> tuple[Uploads, Path]:
    uploads = Uploads(UploadLimits(directory=str(tmp_path / "uploads"), **limits))  # type: ignore[arg-type]
    return uploads, uploads.directory("graph", "ada")


def test_files_that_arrive_at_once_share_the_limit_of_their_sender(tmp_path: Path) -> None:
    uploads, directory = kept(tmp_path, file_bytes=60, actor_bytes=100)
    one, two = uploads.begin(directory, "one.csv"), uploads.begin(directory, "two.csv")
    one.write(b"x" * 60)
    with pytest.raises(Refusal) as refused:
        two.write(b"x" * 60)
    assert refused.value.status == 413
    two.abandon()
    one.finish()
    assert [each.name for each in uploads.listed(directory)] == ["one.csv"]


def test_so_many_files_that_arrive_at_once_are_no_more_than_one_after_the_other(tmp_path: Path) -> None:
    uploads, directory = kept(tmp_path)
    arriving = [uploads.begin(directory, f"{at}.csv") for at in range(MOST_FILES)]
    with pytest.raises(Refusal):
        uploads.begin(directory, "more.csv")
    for each in arriving:
        each.abandon()
    uploads.begin(directory, "more.csv").abandon()


def test_rows_of_refused_loads_go_with_what_is_too_old(tmp_path: Path) -> None:
    uploads, _ = kept(tmp_path)
    with uploads.scratch() as place:
        left = Path(place).with_name(Path(place).name + "left")  # as of a server that was killed
        left.mkdir()
        (left / "rejects.jsonl").write_text("{}")
        uploads.sweep()
        assert Path(place).is_dir()
        assert left.is_dir()
    assert not Path(place).exists()
    for path in (left / "rejects.jsonl", left):
        os.utime(path, (0, 0))
        uploads.sweep()
    assert not left.exists()


def test_what_is_read_to_be_looked_at_counts_as_memory_of_its_sender(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("id,text\n" + "".join(f"{row},{'x' * 100}\n" for row in range(5_000)))
    own = WorkingMemory(2_000_000)
    with reserving(Reservation(own, WorkingMemory(1 << 30))):
        infer(tmp_path / "a.csv")
    with reserving(Reservation(WorkingMemory(1_500_000), WorkingMemory(1 << 30))), pytest.raises(Exception) as refused:
        infer(tmp_path / "a.csv", tmp_path / "b.csv")
    assert type(refused.value).__name__ in ("ResourceLimitExceeded", TooManyRequests.__name__)
