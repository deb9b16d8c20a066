"""Large files that can only be read from the front, as pieces that tasks can share: compressed ones, and CSV.

One task reads such a file once, without decoding it, and writes pieces that end where a record ends; whether a line of
CSV ends one depends on the quotes before it. So what takes long, decoding and checking, is spread over all cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from omnigraph.engine.intake.inputs.files import open_output, open_stream, require_unchanged, unreadable
from omnigraph.engine.intake.inputs.lines import LINE_BYTES
from omnigraph.engine.intake.inputs.table_files import require_closed_quotes
from omnigraph.ids import new_ulid
from omnigraph.pipeline.tasks.splits import Source, Unpacked

_READ_BYTES = 8 << 20
_TAIL_BYTES = 1 << 20
_QUOTE, _NEWLINE = b'"\n'


def wants_unpacking(source: Source, split_bytes: int) -> bool:
    """Whether one task would read a file that is worth several."""
    if source.frame is not None and not (source.is_csv and source.frame.form.begins_plainly):
        return False
    return (source.is_csv or source.file.compressed) and source.file.size > split_bytes


def unpack(source: Source, place: str, piece_bytes: int) -> list[Unpacked]:
    """Write the pieces of one file, each with the header of a CSV file that has one.

    The quotes of a CSV file come in pairs, but for those that are characters of a cell. Where one is alone they do not
    say which lines end a row, so the file itself is the only piece.
    """
    place = f"{place}/unpacked-{new_ulid()}"
    name = _plain_name(source.file.path)
    found: list[Unpacked] = []
    quotes = above = 0
    try:
        with open_stream(source.file.path) as stream:
            header, pieces = _pieces(stream, source, piece_bytes)
            quotes = header.count(b'"')
            start, line, above = len(header), 1 + header.count(b"\n"), header.count(b"\n")
            for data in pieces:
                path = f"{place}/{len(found):06d}-{name}"
                with open_output(path) as file:
                    file.write(header)
                    file.write(data)
                found.append(Unpacked(path, start, len(data), line, above))
                start, line = start + len(data), line + data.count(b"\n")
                quotes += data.count(b'"')
    except _Endless:
        quotes = 1
    except OSError as error:
        raise unreadable(source.file.path, error) from error
    if source.is_csv and source.frame is not None and quotes % 2:
        require_closed_quotes(source.file.path, source.frame.form, source.shown)
        found = [Unpacked(source.file.path, 0, source.file.size, above + 1, above)]
    require_unchanged(source.file, source.shown)
    return found


class _Endless(Exception):
    """No line break outside quotes for longer than a line may be."""


def _plain_name(path: str) -> str:
    """The name that says what is in the file, without that of the compression."""
    name = path.rstrip("/").rpartition("/")[2]
    for ending in (".gz", ".zst", ".bz2", ".lz4"):
        name = name.removesuffix(ending)
    return name


def _pieces(stream: Any, source: Source, piece_bytes: int) -> tuple[bytes, Iterator[bytes]]:
    quoted = source.is_csv
    if not quoted or source.frame is None or source.frame.form.names is not None:
        return b"", _cut(stream, b"", piece_bytes, quoted=quoted)
    held = b""
    while True:
        more = stream.read(min(_READ_BYTES, piece_bytes))
        held += more
        end = _record_end(held, first=True)
        if end or not more:
            end = end or len(held)
            return held[:end], _cut(stream, held[end:], piece_bytes, quoted=True)


def _cut(stream: Any, held: bytes, piece_bytes: int, *, quoted: bool) -> Iterator[bytes]:
    parts, size = [held], len(held)
    while True:
        more = bytes(stream.read(min(_READ_BYTES, piece_bytes)))
        parts.append(more)
        size += len(more)
        if more and size < piece_bytes:
            continue
        data = b"".join(parts)
        end = len(data) if not more else (_record_end(data) if quoted else data.rfind(b"\n") + 1)
        if end:
            yield data[:end]
        if not more:
            return
        if not end and len(data) > max(LINE_BYTES, 4 * piece_bytes):
            raise _Endless
        parts, size = [data[end:]], len(data) - end


def _record_end(data: bytes, *, first: bool = False) -> int:
    """Where the last (or first) record ends that ends in these bytes, which begin with one; 0 when none does.

    >>> _record_end(b'a,"x\\\\ny"\\\\nb,"'), _record_end(b'a\\\\nb\\\\n', first=True), _record_end(b'"a\\\\n')
    (8, 2, 0)
    """
    stop = len(data)
    while stop:
        begin = 0 if first else max(0, stop - _TAIL_BYTES)
        part = np.frombuffer(data, np.uint8)[begin:stop]
        inside = (np.cumsum(part == _QUOTE, dtype=np.int32) + data.count(b'"', 0, begin)) & 1
        ends = np.flatnonzero((part == _NEWLINE) & (inside == 0))
        if len(ends):
            return begin + int(ends[0 if first else -1]) + 1
        stop = begin
    return 0
