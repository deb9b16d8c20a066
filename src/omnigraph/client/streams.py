"""Bodies that arrive piece by piece: files that appear only when they are complete, and server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from os import PathLike
from typing import Any, BinaryIO

from omnigraph.errors import ServerFailed


def write_stream(
    target: str | PathLike[str] | BinaryIO, pieces: Iterable[bytes], complete: Callable[[], object] = lambda: None
) -> int:
    """Write a stream and return its size; a file gets its name only when the stream ended and `complete` is content."""
    from omnigraph.engine.changes.output_file import output_file

    with nullcontext(target) if not isinstance(target, (str, PathLike)) else output_file(target) as out:
        size = sum(out.write(piece) for piece in pieces)
        complete()
    return size


async def write_stream_async(
    target: str | PathLike[str] | BinaryIO,
    pieces: AsyncIterable[bytes],
    complete: Callable[[], object] = lambda: None,
) -> int:
    """The same for pieces that are awaited; the event loop goes on while the disk writes."""
    import asyncio

    from omnigraph.engine.changes.output_file import output_file

    opened: AbstractContextManager[BinaryIO]
    opened = nullcontext(target) if not isinstance(target, (str, PathLike)) else output_file(target)
    out, size = await asyncio.to_thread(opened.__enter__), 0
    try:
        async for piece in pieces:
            size += await asyncio.to_thread(out.write, piece)
        complete()
    except BaseException as error:
        await asyncio.to_thread(opened.__exit__, type(error), error, error.__traceback__)
        raise
    await asyncio.to_thread(opened.__exit__, None, None, None)
    return size


class WholeLines:
    """Passes a stream of JSON lines on, one piece a line, and remembers the last one, which seals it."""

    def __init__(self, pieces: Iterable[bytes] = ()) -> None:
        self._pieces = pieces
        self._pending = b""
        self._last = b""

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            yield from self.feed(piece)

    async def awaited(self, pieces: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        """The same for pieces that are awaited."""
        async for piece in pieces:
            for line in self.feed(piece):
                yield line

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The lines that a piece completes."""
        *lines, self._pending = (self._pending + piece).split(b"\n")
        for line in lines:
            self._last = line
            yield line + b"\n"

    def seal(self, member: str) -> dict[str, Any]:
        """What the last line says; a stream without it is void."""
        try:
            return dict(json.loads(self._last)[member])
        except (ValueError, KeyError, TypeError):
            raise ServerFailed("the stream ended before it was complete; try again") from None


def events(pieces: Iterable[bytes]) -> Iterator[tuple[str, str, str | None]]:
    """Name, data and id of every event; comments are skipped.

    >>> list(events([b"event: changes\\nid: c1\\nda", b"ta: {}\\n\\n: still here\\n\\n"]))
    [('changes', '{}', 'c1')]
    """
    pending = b""
    for piece in pieces:
        found, pending = split_events(pending + piece)
        yield from found


async def events_async(pieces: AsyncIterable[bytes]) -> AsyncIterator[tuple[str, str, str | None]]:
    """The same for pieces that are awaited."""
    pending = b""
    async for piece in pieces:
        found, pending = split_events(pending + piece)
        for event in found:
            yield event


def split_events(data: bytes) -> tuple[list[tuple[str, str, str | None]], bytes]:
    """The events that are complete, and the rest that waits for more."""
    *blocks, rest = data.split(b"\n\n")
    return [found for block in blocks if (found := _event(block.decode())) is not None], rest


def _event(block: str) -> tuple[str, str, str | None] | None:
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
