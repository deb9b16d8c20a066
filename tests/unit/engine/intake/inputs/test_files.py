"""Files of this machine: what cannot be listed, read or written is named in one sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from omnigraph.engine.intake.inputs.files import (
    discard_tree,
    list_files,
    names_in,
    open_input,
    open_output,
    open_stream,
    written_at,
)
from omnigraph.errors import BadRequest, NotFound, StorageError


def test_directories_on_the_way_are_made_and_removed(tmp_path: Path) -> None:
    with open_output(f"{tmp_path}/a/b/x.jsonl") as file:
        file.write(b"1")
    assert names_in(f"{tmp_path}/a/b") == ["x.jsonl"]
    assert open_input(f"{tmp_path}/a/b/x.jsonl").read() == open_stream(f"{tmp_path}/a/b/x.jsonl").read() == b"1"
    discard_tree(f"{tmp_path}/a")
    assert names_in(f"{tmp_path}/a") is None


@pytest.mark.parametrize(
    "name", ["file/x.jsonl", "file/deeper/x.jsonl", "directory", "n" * 300, "n" * 300 + "/x", "a\0b"]
)
def test_what_cannot_be_written_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "directory").mkdir()
    with pytest.raises(BadRequest, match="' cannot be written: ") as refused:
        open_output(f"{tmp_path}/{name}")
    assert str(refused.value).startswith(f"'{tmp_path}/{name}'")
    assert "\n" not in str(refused.value)


@pytest.mark.skipif(not os.path.ismount("/proc"), reason="needs a file system that takes no files")
def test_a_place_that_takes_no_files_is_not_the_fault_of_the_graph() -> None:
    with pytest.raises((BadRequest, StorageError), match="'/proc/omnigraph/x' cannot be written: "):
        open_output("/proc/omnigraph/x")


def test_places_that_nothing_here_reads_are_refused_by_their_scheme(tmp_path: Path) -> None:
    for path in ("http://host/a.jsonl", "hdfs://host/a.jsonl", "gcs://bucket/*.jsonl"):
        with pytest.raises(
            BadRequest, match=rf"unsupported storage scheme '{path.partition(':')[0]}' \(use a path, s3://"
        ):
            list_files(path)


def test_a_file_that_is_missing_is_not_there(tmp_path: Path) -> None:
    for use in (open_input, open_stream):
        with pytest.raises(NotFound, match="there is no file"):
            use(f"{tmp_path}/x.jsonl")
    assert written_at(f"{tmp_path}/x.jsonl") == "None"
