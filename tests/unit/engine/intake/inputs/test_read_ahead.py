"""A file is not closed under a reader that reads ahead, and no byte of it reaches a reader that was dropped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.engine.intake.inputs import table_files
from omnigraph.engine.intake.inputs.csv_lines import BlankLines
from omnigraph.engine.intake.inputs.forms import BY_NAME
from omnigraph.engine.intake.inputs.read_ahead import ReadAheadFile
from omnigraph.engine.intake.inputs.table_files import Columns, file_schema, table_pieces

ROWS = 4_000


class SlowFile:
    """A file whose reads take their time, and that notes whether it was closed while one went on, or read after that."""

    def __init__(self, file: pa.NativeFile, wrong: list[str]) -> None:
        self._file, self._wrong = file, wrong
        self._reading = 0
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        if self.closed:
            self._wrong.append("read after it was closed")
            return b""
        self._reading += 1
        threading.Event().wait(0.02)
        data = bytes(self._file.read(size))
        self._reading -= 1
        return data

    def close(self) -> None:
        if self._reading:
            self._wrong.append("closed while it was read")
        self.closed = True

    def __enter__(self) -> SlowFile:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What went wrong with the files that were opened; text is read in small blocks."""
    found: list[str] = []
    opened: Callable[[str], pa.NativeFile] = table_files.open_stream
    monkeypatch.setattr(table_files, "open_stream", lambda path: SlowFile(opened(path), found))
    monkeypatch.setattr(table_files, "_BLOCKS", (4_096, 1 << 20))
    return found


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text("k,n\n" + "".join(f"k{at:05},{at}\n" for at in range(ROWS)))
    return path


def _settled() -> None:
    """Readers that were dropped have had the time for another read or two."""
    threading.Event().wait(0.2)


def _first_of(pieces: Iterator[pa.Table]) -> None:
    next(pieces)
    pieces.close()  # type: ignore[attr-defined]


READS: dict[str, Callable[[str], Any]] = {
    "the columns": lambda path: file_schema(path, BY_NAME),
    "everything, as text": lambda path: list(table_pieces(path, columns=Columns(as_text=True))),
    "the first piece": lambda path: _first_of(table_pieces(path)),
    "with its blank lines": lambda path: _first_of(table_pieces(path, columns=Columns(blank=BlankLines()))),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_a_csv_file_is_not_closed_while_it_is_read(csv: Path, wrong: list[str], read: Callable[[str], Any]) -> None:
    read(str(csv))
    _settled()
    assert wrong == []


def test_a_file_of_json_lines_is_not_closed_while_it_is_read(tmp_path: Path, wrong: list[str]) -> None:
    path = tmp_path / "rows.json"
    path.write_text("".join(f'{{"k": "k{at:05}", "n": {at}}}\n' for at in range(ROWS)))
    _first_of(table_pieces(str(path)))
    _settled()
    assert wrong == []


def test_a_row_longer_than_a_block_leaves_no_reader_at_a_closed_file(tmp_path: Path, wrong: list[str]) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("k,n\n" + "".join(f'k{at:05},"{"x" * (9_000 if at == 100 else 5)}"\n' for at in range(ROWS)))
    assert sum(piece.num_rows for piece in table_pieces(str(path), columns=Columns(blank=BlankLines()))) == ROWS
    _settled()
    assert wrong == []


def test_every_row_of_a_large_file_is_loaded(csv: Path, wrong: list[str], tmp_path: Path) -> None:
    with og.init(tmp_path / "g.omni", "node P { k: String @key  n: I64? }") as graph:
        graph.load(csv, type="P", runner="inline")
        assert graph.query("query q() { match { $p: P } return { count($p) as n, sum($p.n) as total } }").rows() == [
            {"n": ROWS, "total": ROWS * (ROWS - 1) // 2}
        ]
    assert wrong == []


def test_a_closed_file_has_ended_and_shows_its_watcher_nothing() -> None:
    seen: list[bytes] = []
    file = ReadAheadFile(pa.BufferReader(b"abcdef"), seen.append)
    assert file.read(4) == b"abcd"
    file.close()
    file.close()
    assert (file.read(4), seen, file.closed) == (b"", [b"abcd"], True)
