"""Engine calls off the event loop: bounded pools, and cancellation when the client has gone."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from starlette.types import Receive

from omnigraph.cores import lent_by
from omnigraph.engine.read.frames.budget import paced
from omnigraph.server.pace import Processors, pace
from omnigraph.server.quick import QuickReads
from omnigraph.server.threads import Threads
from omnigraph.server.turns import ReadCaps, Turn, Turns

_T = TypeVar("_T")

STREAMS = 16
_SMALL = 4


class Pools:
    """Threads by what they wait for, so that writers in a queue or slow readers of an export never stop reads."""

    def __init__(self, *, reads: int, writes: int, caps: ReadCaps | None = None) -> None:
        self.turns = Turns(reads, ReadCaps() if caps is None else caps)
        self.busy: Counter[str] = Counter()  # calls that run or wait, by pool
        self.processors = Processors(others_read=self.turns.others_read)
        self._quick = QuickReads(self.turns, self.processors)
        self._reads = Threads(reads + self.turns.caps.long, "read")
        self._writes = Threads(writes, "write")
        self._streams = Threads(STREAMS, "stream")
        self.streams = STREAMS
        self._small = Threads(_SMALL, "small")

    async def read(
        self,
        call: Callable[[threading.Event], _T],
        receive: Receive | None,
        actor: str = "",
        seconds: float | None = None,
    ) -> _T:
        """Run a call in the turn of an actor; its event is set as soon as the client disconnects.

        Without `receive` that is not listened for: a body that is still to be read must not be taken for noise.
        """
        cancel = threading.Event()
        if receive is None:
            async with self.turns.turn(actor, seconds) as turn:
                return await self._run(self._reads, self._paced(call, cancel, turn))
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def leave() -> None:
            cancel.set()
            if not gone.done():
                gone.set_result(None)

        async with on_disconnect(receive, leave), self.turns.turn(actor, seconds, gone) as turn:
            return await self._run(self._reads, self._paced(call, cancel, turn))

    async def quick(self, call: Callable[[], _T], actor: str) -> _T:
        """Run a read that takes less than a millisecond and waits for nothing, without a thread."""
        return await self._quick.run(call, actor)

    def _paced(self, call: Callable[[threading.Event], _T], cancel: threading.Event, turn: Turn) -> Callable[[], _T]:
        """A read that makes room for others when it takes long."""
        became_long = partial(asyncio.get_running_loop().call_soon_threadsafe, self.turns.lengthen, turn)

        def run() -> _T:
            with pace(self.processors, turn.actor, became_long) as own, paced(own), lent_by(own):
                return call(cancel)

        return run

    async def small(self, call: Callable[[], _T]) -> _T:
        """Run what is bounded but too long for the event loop: importing, decoding, encoding."""
        return await self._run(self._small, call)

    async def write(self, call: Callable[[], _T]) -> _T:
        """Run a write to its end, even when the client has gone."""
        self.busy["write"] += 1
        try:
            return await self._run(self._writes, call)
        finally:
            self.busy["write"] -= 1

    def stream(self, call: Callable[[], _T]) -> asyncio.Future[_T]:
        """Start a producer of a streamed response."""
        self.busy["stream"] += 1
        running = asyncio.get_running_loop().run_in_executor(self._streams, _in_context(call))
        running.add_done_callback(lambda _: self.busy.subtract(["stream"]))
        return running

    async def _run(self, pool: Threads, call: Callable[[], _T]) -> _T:
        running = asyncio.get_running_loop().run_in_executor(pool, _in_context(call))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            # What was admitted stays admitted until the thread is done with it.
            await asyncio.wait([running])
            raise

    def close(self) -> None:
        """Wait for running calls and let the threads go."""
        for pool in (self._reads, self._writes, self._streams, self._small):
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
    return partial(contextvars.copy_context().run, _without_locals, call)


def _without_locals(call: Callable[[], _T]) -> _T:
    """Run a call; when it fails, what its frames held is freed.

    An error leads to the frames that it passed through, and the future it is stored in leads to the error. Such a cycle
    waits for the garbage collector, which does not know how much memory the arrays of a stopped query take.
    """
    try:
        return call()
    except BaseException as error:
        failed: BaseException | None = error
        while failed is not None:
            traceback.clear_frames(failed.__traceback__)
            failed = failed.__context__
        raise
