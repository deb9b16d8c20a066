"""Reads that take less time than handing them to a thread: answered by the event loop, a few in each of its turns.

With several connections, a thread that answers in microseconds and the event loop take the interpreter from each other
at every step; a read took twice the processor time that way. Many quick reads of one actor do not make another wait,
nor probes and new requests, which the loop looks at between its turns.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from omnigraph.server.pace import Processors, pace
from omnigraph.server.turns import Turns

_T = TypeVar("_T")


class _Asked(NamedTuple):
    call: Callable[[], Any]
    answer: asyncio.Future[Any]


# Of one actor in a turn of the event loop: beside other actors one, alone a few, because each turn takes time as well.
_BESIDE_OTHERS, _ALONE = 1, 4


class QuickReads:
    """A few reads of each actor in a turn of the event loop; others wait for the next one. Touched by the loop only."""

    def __init__(self, turns: Turns, processors: Processors) -> None:
        self._turns, self._processors = turns, processors
        self._answered: Counter[str] = Counter()  # by actor, in this turn
        self._waiting: dict[str, deque[_Asked]] = {}

    async def run(self, call: Callable[[], _T], actor: str) -> _T:
        """Run a call that takes less than a millisecond and waits for nothing, when it is the turn of its actor."""
        with self._turns.quick(actor):
            if actor not in self._waiting and self._may_go(actor):
                return self._timed(call, actor)
            asked = _Asked(call, asyncio.get_running_loop().create_future())
            self._waiting.setdefault(actor, deque()).append(asked)
            return await asked.answer  # type: ignore[no-any-return]

    def _may_go(self, actor: str) -> bool:
        most = _BESIDE_OTHERS if self._processors.others_read_lately(actor) else _ALONE
        if self._answered[actor] >= most:
            return False
        if not self._answered.total():
            asyncio.get_running_loop().call_soon(self._next_turn)
        self._answered[actor] += 1
        return True

    def _next_turn(self) -> None:
        self._answered.clear()
        for actor in list(self._waiting):
            queue = self._waiting.pop(actor)
            while queue and self._may_go(actor):
                self._answer(actor, queue.popleft())
            if queue:
                self._waiting[actor] = queue

    def _answer(self, actor: str, asked: _Asked) -> None:
        if asked.answer.done():  # the request has ended
            return
        try:
            found = self._timed(asked.call, actor)
        except Exception as error:
            asked.answer.set_exception(error)
        else:
            asked.answer.set_result(found)

    def _timed(self, call: Callable[[], _T], actor: str) -> _T:
        begin = time.perf_counter()
        try:
            with pace(self._processors, actor, lambda: None):
                return call()
        finally:
            self._turns.charge(actor, time.perf_counter() - begin)
