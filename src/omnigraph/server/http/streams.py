"""Streamed responses: a budget for all of them, a bounded queue for each, and a producer that stops with its reader."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from omnigraph.server.http.refusal import resource_limit
from omnigraph.server.work import Pools, on_disconnect

CHUNK = 64 << 10
_QUEUED = 2
_RESERVATION = 256 << 10
_BUDGET = 2 << 20
_WAIT_SECONDS = 0.25


class ReaderGone(Exception):
    """Raised inside a producer whose reader has disconnected."""


class Transport:
    """The process-wide budget of streamed responses."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(_BUDGET // _RESERVATION)

    async def acquire(self) -> None:
        """Take a reservation, or refuse."""
        try:
            async with asyncio.timeout(_WAIT_SECONDS):
                await self._places.acquire()
        except TimeoutError:
            actual = _BUDGET + _RESERVATION
            raise resource_limit("stream_export_transport_bytes", limit=_BUDGET, actual=actual) from None

    def release(self) -> None:
        """Give a reservation back."""
        self._places.release()


class Sink:
    """The writing end, for a thread: blocks while the queue is full, and fails once the reader has gone."""

    def __init__(self, loop: asyncio.AbstractEventLoop, queue: asyncio.Queue[bytes | None]) -> None:
        self._loop = loop
        self._queue = queue
        self.gone = threading.Event()

    def write(self, data: bytes) -> int:
        """Queue bytes in pieces; a long line spans several."""
        for start in range(0, len(data), CHUNK):
            self._put(data[start : start + CHUNK])
        return len(data)

    def _put(self, piece: bytes) -> None:
        if self.gone.is_set():
            raise ReaderGone
        asyncio.run_coroutine_threadsafe(self._queue.put(piece), self._loop).result()


class Streamed(Response):
    """A body that a thread produces; it starts only when the first bytes, or a clean end, are there."""

    def __init__(
        self, produced: Produced, media_type: str, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(None, status, headers=dict(headers or {}), media_type=media_type)
        if headers is None or "Content-Length" not in headers:
            del self.headers["content-length"]
        self._produced = produced

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with on_disconnect(receive, self._produced.stop):
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                async for piece in self._produced.pieces():
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            # A failed producer has raised by now, and the body ends without its terminator.
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except ReaderGone:
            return
        finally:
            await self._produced.unwound()


class Produced:
    """A producer in its thread, seen from the event loop."""

    def __init__(self, pools: Pools, produce: Callable[[Sink], object], release: Callable[[], None]) -> None:
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue(_QUEUED)
        self._sink = Sink(asyncio.get_running_loop(), self._queue)
        self._release = release
        self._first: list[bytes] = []
        self._running = pools.stream(lambda: produce(self._sink))
        self._ended = asyncio.create_task(self._end())

    async def begun(self) -> None:
        """Wait for the first bytes or for the end; a failure before them is raised here."""
        piece = await self._queue.get()
        if piece is not None:
            self._first.append(piece)
            return
        await asyncio.wait([self._ended])
        self._running.result()
        self._queue.put_nowait(None)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body in order; raises when the producer failed, or when its reader has gone."""
        for piece in self._first:
            yield piece
        while (following := await self._queue.get()) is not None:
            yield following
        if self._sink.gone.is_set():
            raise ReaderGone
        self._running.result()

    def stop(self) -> None:
        """Make the producer fail at its next write; what it has queued is dropped so that it gets there."""
        self._sink.gone.set()
        while not self._queue.empty():
            self._queue.get_nowait()
        self._queue.put_nowait(None)  # wakes the reader that waits for the next piece

    async def unwound(self) -> None:
        """Wait until the producer is out of its thread and everything it held is free."""
        if not self._ended.done():
            self.stop()
        await asyncio.wait([self._ended])

    async def _end(self) -> None:
        await asyncio.wait([self._running])
        self._running.exception()  # looked at, so that a producer whose reader has gone is not reported as a mystery
        self._release()
        if not self._sink.gone.is_set():
            await self._queue.put(None)
