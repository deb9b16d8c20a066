"""Bodies that arrive piece by piece: files that appear only when they are complete, and server-sent events."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from omnigraph.errors import ServerFailed


def void_unless_complete(target: str | PathLike[str] | BinaryIO, pieces: Iterable[bytes]) -> int:
    """Write a stream; a file gets its name only when the stream ended well. Returns the number of bytes."""
    if not isinstance(target, (str, PathLike)):
        return _copied(target, pieces)
    path = Path(target)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with unfinished.open("wb") as out:
            size = _copied(out, pieces)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return size


class WholeLines:
    """Passes a stream of JSON lines on, one piece a line, and remembers the last one, which seals it."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces
        self._last = b""

    def __iter__(self) -> Iterator[bytes]:
        pending = b""
        for piece in self._pieces:
            *lines, pending = (pending + piece).split(b"\n")
            for line in lines:
                self._last = line
                yield line + b"\n"

    def seal(self, member: str) -> dict[str, Any]:
        """What the last line says; a stream without it is void."""
        try:
            found = json.loads(self._last)[member]
        except (ValueError, KeyError, TypeError):
            raise ServerFailed("the stream ended before it was complete; try again") from None
        return dict(found)


def events(pieces: Iterable[bytes]) -> Iterator[tuple[str, str, str | None]]:
    """Name, data and id of every event; comments are passed over.

    >>> list(events([b"event: changes\\nid: c1\\nda", b"ta: {}\\n\\n: still here\\n\\n"]))
    [('changes', '{}', 'c1')]
    """
    pending = b""
    for piece in pieces:
        pending += piece
        while (end := pending.find(b"\n\n")) >= 0:
            block, pending = pending[:end].decode(), pending[end + 2 :]
            found = event(block)
            if found is not None:
                yield found


def event(block: str) -> tuple[str, str, str | None] | None:
    """One event from its lines; None when it carries no data."""
    fields: dict[str, list[str]] = {}
    for line in block.splitlines():
        name, _, value = line.partition(":")
        if name:
            fields.setdefault(name, []).append(value.removeprefix(" "))
    if "data" not in fields:
        return None
    identity = fields.get("id")
    return fields.get("event", ["message"])[-1], "\n".join(fields["data"]), identity[-1] if identity else None


def _copied(out: BinaryIO, pieces: Iterable[bytes]) -> int:
    size = 0
    for piece in pieces:
        out.write(piece)
        size += len(piece)
    return size
