"""Engine calls off the event loop: bounded pools, and cancellation when the client has gone."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from starlette.types import Receive

_T = TypeVar("_T")

STREAMS = 16


class Pools:
    """Threads by what they wait for, so that writers in a queue or slow readers of an export never stop reads."""

    def __init__(self, *, reads: int, writes: int) -> None:
        self._reads = ThreadPoolExecutor(reads, "read")
        self._writes = ThreadPoolExecutor(writes, "write")
        self._streams = ThreadPoolExecutor(STREAMS, "stream")

    async def read(self, call: Callable[[threading.Event], _T], receive: Receive | None) -> _T:
        """Run a call that stops when its event is set, which happens as soon as the client disconnects.

        Without `receive` that is not listened for: a body that is still to be read must not be taken for noise.
        """
        cancel = threading.Event()
        if receive is None:
            return await self._run(self._reads, partial(call, cancel))
        async with on_disconnect(receive, cancel.set):
            return await self._run(self._reads, partial(call, cancel))

    async def write(self, call: Callable[[], _T]) -> _T:
        """Run a write to its end, even when the client has gone."""
        return await self._run(self._writes, call)

    def stream(self, call: Callable[[], _T]) -> asyncio.Future[_T]:
        """Start a producer of a streamed response."""
        return asyncio.get_running_loop().run_in_executor(self._streams, _in_context(call))

    async def _run(self, pool: ThreadPoolExecutor, call: Callable[[], _T]) -> _T:
        running = asyncio.get_running_loop().run_in_executor(pool, _in_context(call))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            # What was admitted stays admitted until the thread is done with it.
            await asyncio.wait([running])
            raise

    def close(self) -> None:
        """Wait for running calls and let the threads go."""
        for pool in (self._reads, self._writes, self._streams):
            pool.shutdown(wait=True, cancel_futures=True)


@asynccontextmanager
async def on_disconnect(receive: Receive, gone: Callable[[], Any]) -> AsyncIterator[None]:
    """Call `gone` if the client disconnects during the block."""

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        gone()

    watcher = asyncio.create_task(watch())
    try:
        yield
    finally:
        watcher.cancel()


def _in_context(call: Callable[[], _T]) -> Callable[[], _T]:
    return partial(contextvars.copy_context().run, call)
