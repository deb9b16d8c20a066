"""Pieces of a large file are the file, cut where records end, with the lines they have in it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from omnigraph.engine.intake.frame_shape import FrameShape
from omnigraph.engine.intake.inputs.files import InputFile
from omnigraph.engine.intake.inputs.forms import Form
from omnigraph.errors import BadRequest
from omnigraph.pipeline.tasks import unpack as module
from omnigraph.pipeline.tasks.splits import Source
from omnigraph.pipeline.tasks.unpack import unpack, wants_unpacking

ROWS = [f'p{at},"says ""{at}""\nand more, on {at % 3 + 1} lines"{chr(10) * (at % 5 == 0)}' for at in range(200)]
CSV = "name,text\n" + "\n".join(ROWS) + "\n"
JSONL = "".join(f'{{"type":"P","data":{{"name":"{at}"}}}}\n' for at in range(300))


def source(path: Path, data: bytes, frame: FrameShape | None = None) -> Source:
    path.write_bytes(data)
    return Source(InputFile(str(path), len(data)), str(path), frame)


@pytest.mark.parametrize("size", [40, 333, 4_000, 1 << 20])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("header", [True, False])
def test_pieces_of_csv_are_whole_records_with_their_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, packed: bool, header: bool
) -> None:
    monkeypatch.setattr(module, "_READ_BYTES", 17)
    monkeypatch.setattr(module, "_TAIL_BYTES", 11)
    form = Form(names=None if header else ("a", "b"))
    data = CSV.encode()
    given = source(
        tmp_path / ("f.csv.gz" if packed else "f.csv"),
        gzip.compress(data) if packed else data,
        FrameShape("P", form=form),
    )
    pieces = unpack(given, str(tmp_path), size)
    above = b"name,text\n" if header else b""
    texts = [Path(piece.path).read_bytes() for piece in pieces]
    assert all(text.startswith(above) for text in texts)
    assert above + b"".join(text.removeprefix(above) for text in texts) == data
    assert len(pieces) > 1 or size > len(data) // 2
    for piece in pieces:
        assert piece.path.endswith(".csv")
        assert data[: piece.start].count(b'"') % 2 == 0
        assert piece.first_line == 1 + data[: piece.start].count(b"\n")
        assert piece.header_lines == int(header)


def test_pieces_of_compressed_records(tmp_path: Path) -> None:
    given = source(tmp_path / "f.jsonl.gz", gzip.compress(JSONL.encode()))
    pieces = unpack(given, str(tmp_path), 500)
    assert b"".join(Path(piece.path).read_bytes() for piece in pieces) == JSONL.encode()
    assert all(Path(piece.path).read_bytes().endswith(b"\n") for piece in pieces)


def test_a_file_that_is_broken_in_the_middle_is_told(tmp_path: Path) -> None:
    given = source(tmp_path / "f.jsonl.gz", gzip.compress(JSONL.encode())[:-20])
    with pytest.raises(BadRequest, match=r"f\.jsonl\.gz' cannot be read"):
        unpack(given, str(tmp_path), 500)


def test_only_what_one_task_would_read_is_unpacked(tmp_path: Path) -> None:
    data = b"x" * 100
    assert wants_unpacking(source(tmp_path / "a.csv", data, FrameShape("P")), 50)
    assert wants_unpacking(source(tmp_path / "a.jsonl.gz", data), 50)
    assert not wants_unpacking(source(tmp_path / "a.csv", data, FrameShape("P")), 100)
    assert not wants_unpacking(source(tmp_path / "a.jsonl", data), 50)
    assert not wants_unpacking(source(tmp_path / "a.parquet", data, FrameShape("P")), 50)
    assert not wants_unpacking(source(tmp_path / "a.csv", data, FrameShape("P", form=Form(encoding="utf-16"))), 50)
