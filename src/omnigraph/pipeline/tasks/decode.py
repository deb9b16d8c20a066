"""One split into decoded rows, piece by piece, inside a worker; the rules are the engine's own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.engine.intake.inputs.files import open_input, open_stream, unreadable
from omnigraph.engine.intake.inputs.lines import LINE_BYTES
from omnigraph.engine.intake.inputs.ragged_rows import RaggedRows
from omnigraph.engine.intake.inputs.table_files import cell_in_json
from omnigraph.engine.intake.ndjson import BLOCK_BYTES, decode_ndjson
from omnigraph.engine.intake.records import PLAIN, Decoded, Intake
from omnigraph.engine.intake.tabular import decode_table_file, source_rows
from omnigraph.errors import ResourceLimitExceeded
from omnigraph.pipeline.tasks.splits import Split
from omnigraph.storage.base.clouds import is_remote

# A file of this machine is read as the decoder takes it, so that no line leaves the processor's cache in between (a
# sixth of the time of a load); elsewhere each piece is a request.
_PIECE_BYTES = BLOCK_BYTES
_REMOTE_PIECE_BYTES = 64 << 20
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Piece:
    """Some consecutive lines (or rows) of a split, decoded; `lines` is how many physical ones there were."""

    decoded: Decoded
    lines: int
    bytes: int


def decode_split(split: Split, catalog: Catalog, first: int, intake: Intake = PLAIN) -> Iterator[Piece]:
    """The pieces of a split in order; `first` is the number of its first line or row."""
    source = split.source
    if source.frame is not None:
        options: dict[str, Any] = {"first_row": first, "line_shift": split.shift, "file": source.shown}
        options["ragged"] = _ragged(split)
        for decoded in decode_table_file(
            split.path, catalog, source.frame, groups=_groups(split), intake=intake, **options
        ):
            rows = sum(part.rows.num_rows for part in decoded.types.values())
            yield Piece(decoded, rows, sum(part.rows.nbytes for part in decoded.types.values()))
        return
    for data in _record_pieces(split):
        decoded = decode_ndjson(data, catalog, intake, first_line=first, file=source.shown)
        yield Piece(decoded, decoded.lines, len(data))
        first += decoded.lines


def source_texts(split: Split, catalog: Catalog, first: int, wanted: Set[int]) -> dict[int, str]:
    """Some lines of a split as they came; a row of columns is a JSON object, which the same mapping can load."""
    source = split.source
    found: dict[int, str] = {}
    if source.frame is None:
        for data in _record_pieces(split):
            for line in data.removesuffix(b"\n").split(b"\n"):
                if first in wanted:
                    found[first] = line.decode(errors="replace").removesuffix("\r")
                first += 1
        return found
    for piece in source_rows(split.path, catalog, source.frame, _groups(split), _ragged(split)):
        table, lines = piece.rows, piece.lines
        found |= {at + split.shift: row.text for row, at in piece.ragged if at + split.shift in wanted}
        numbers = np.arange(first, first + table.num_rows) if lines is None else lines + split.shift
        rows = np.flatnonzero(np.isin(numbers, list(wanted)))
        for number, row in zip(numbers[rows].tolist(), table.take(pa.array(rows)).to_pylist(), strict=True):
            found[number] = json.dumps(row, ensure_ascii=False, default=cell_in_json)
        first += table.num_rows
    return found


def _ragged(split: Split) -> RaggedRows:
    """Collects rows of more or fewer columns than the header; all rows of one piece of a file may be such."""
    return RaggedRows(whole=split.piece is None, begins=split.piece is None or not split.shift)


def _groups(split: Split) -> range | None:
    """The row groups of a split; a piece is read as a whole."""
    return None if split.stop is None or split.piece is not None else range(split.start, split.stop)


def _record_pieces(split: Split) -> Iterator[bytes]:
    path = split.path
    size = _REMOTE_PIECE_BYTES if is_remote(path) else _PIECE_BYTES
    try:
        if split.stop is None or split.piece is not None:
            with open_stream(path) as stream:
                yield from _whole_lines(stream, b"", None, size)
            return
        with open_input(path) as file:
            head = _after_first_break(file, split.start) if split.start else b""
            yield from _whole_lines(file, head, split.stop, size)
    except OSError as error:
        raise unreadable(path, error) from error


def _after_first_break(file: Any, start: int) -> bytes:
    """Read up to the first line that starts at or after a byte; what was read of that line already is returned."""
    file.seek(start - 1)
    while True:
        chunk = file.read(_READ_BYTES)
        if not chunk:
            return b""
        found = chunk.find(b"\n")
        if found >= 0:
            return bytes(chunk[found + 1 :])


def _whole_lines(file: Any, held: bytes, stop: int | None, size: int) -> Iterator[bytes]:
    """Pieces that end at line ends; with `stop`, no line that starts at or after that byte of the file."""
    while True:
        # Where `held` begins in the file: everything before it has been handed out.
        if stop is not None and file.tell() - len(held) >= stop:
            return
        wanted = size if stop is None else min(size, max(stop - file.tell(), 0))
        data = held + file.read(wanted)
        if not data:
            return
        if stop is not None and file.tell() >= stop:
            yield from _last_lines(file, data, stop)
            return
        if len(data) == len(held):
            yield data  # the end of the input, without a final line break
            return
        cut = data.rfind(b"\n") + 1
        if cut:
            yield data[:cut]
        held = data[cut:]
        if len(held) > LINE_BYTES + 2:
            _finish_line(file, held)  # raises: nothing this long is a line


def _last_lines(file: Any, data: bytes, stop: int) -> Iterator[bytes]:
    """The rest of a range: up to the end of the last line that starts before `stop`."""
    begin = file.tell() - len(data)
    cut = data.find(b"\n", stop - begin - 1) + 1
    if cut:
        yield data[:cut]
        return
    start = data.rfind(b"\n") + 1
    if start:
        yield data[:start]
    yield _finish_line(file, data[start:])


def _finish_line(file: Any, held: bytes) -> bytes:
    """The line that begins with `held`, its break included; a line that is too long is measured, not kept."""
    parts, length = [held], len(held)
    while True:
        chunk = bytes(file.read(_READ_BYTES))
        found = chunk.find(b"\n")
        part = chunk if found < 0 else chunk[: found + 1]
        length += len(part)
        if length <= LINE_BYTES + 2:
            parts.append(part)
        if found >= 0 or not chunk:
            break
    if length > LINE_BYTES + 2:
        broken = 1 if found >= 0 else 0
        raise ResourceLimitExceeded("graph_batch_line_bytes", limit=LINE_BYTES, actual=length - broken)
    return b"".join(parts)
