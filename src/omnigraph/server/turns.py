"""Turns of reads: threads are shared fairly between actors, waiting is bounded, and a refusal says how long to wait."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from starlette.requests import ClientDisconnect

from omnigraph.server.http.refusal import Refusal, refuse

_HALF_LIFE = 10.0  # seconds after which what an actor has used counts half
_LONGEST_WAIT = 60
_WINDOW = 60.0


@dataclass(frozen=True, slots=True)
class ReadCaps:
    """What reads may take: threads of one actor at once, its requests that wait, all that wait, and for how long.

    `seconds` is what the reads of one actor may take of threads in a minute; None is as much as it gets. So many `long`
    reads are held beside the others: they take turns at computing, and no thread from those that have just come.
    """

    running: int = 4
    waiting: int = 64
    all_waiting: int = 1_024
    wait_seconds: float = 30.0
    seconds: float | None = None
    long: int = 32


@dataclass(slots=True)
class _Actor:
    running: int = 0
    short: int = 0  # of those that run
    quick: int = 0  # answered by the event loop, beside those
    used: float = 0.0  # seconds of threads, decaying
    looked: float = 0.0
    mean: float = 0.1  # seconds of a read, lately
    window: float = 0.0  # when the minute began
    spent: float = 0.0  # in it
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)

    @property
    def is_idle(self) -> bool:
        return not self.running and not self.waiting and not self.quick


@dataclass(slots=True)
class Turn:
    """One read that runs."""

    actor: str
    is_long: bool = False
    is_over: bool = False


class Turns:
    """Which read may run next; touched by the event loop only.

    A free thread goes to the actor with the fewest running reads, and among those to the one who used least lately. So
    a read of an actor with few waits for one read of others at most, never for a queue of them; and not for that one
    either once it counts as long.
    """

    def __init__(self, threads: int, caps: ReadCaps, clock: Callable[[], float] = time.monotonic) -> None:
        self.threads = threads
        self.caps = caps
        self.refused: Counter[str] = Counter()
        self._clock = clock
        self._running = 0
        self._long = 0
        self._quick = 0
        self._waiting = 0
        self._actors: dict[str, _Actor] = {}

    @property
    def running(self) -> int:
        """Reads that run now."""
        return self._running + self._long

    @property
    def long(self) -> int:
        """Those of them that take long."""
        return self._long

    @property
    def waiting(self) -> int:
        """Reads that wait now."""
        return self._waiting

    @property
    def actors(self) -> int:
        """Actors whose reads run, wait, or were seen lately."""
        return len(self._actors)

    def others_read(self, name: str) -> bool:
        """Whether short reads of other actors are under way; asked by threads, for which about now is good enough."""
        own = self._actors.get(name)
        return self._running + self._quick > (0 if own is None else own.short + own.quick)

    @contextmanager
    def quick(self, name: str) -> Iterator[None]:
        """A read for the block that takes no thread; 429 when its actor has used up its time."""
        actor = self._actors.setdefault(name, _Actor(looked=self._clock()))
        self._require_time(actor)
        self._quick += 1
        actor.quick += 1
        try:
            yield
        finally:
            self._quick -= 1
            actor.quick -= 1
            self._leave(name, actor)

    def charge(self, name: str, seconds: float) -> None:
        """What a quick read of an actor has taken."""
        if (actor := self._actors.get(name)) is not None:
            self._charge(actor, seconds)

    @asynccontextmanager
    async def turn(
        self, name: str, seconds: float | None = None, gone: asyncio.Future[None] | None = None
    ) -> AsyncIterator[Turn]:
        """Hold a thread for the block; 429 or 503 when that would take too long."""
        actor = self._actors.setdefault(name, _Actor(looked=self._clock()))
        self._require_time(actor)
        if not self._may_start(actor):
            await self._wait(actor, seconds, gone)
        else:
            self._start(actor)
        started = self._clock()
        turn = Turn(name)
        try:
            yield turn
        finally:
            self._end(turn, actor, self._clock() - started)

    def lengthen(self, turn: Turn) -> None:
        """A read takes long: its thread is no longer one of those for new reads. It may be over by now."""
        if self._long < self.caps.long and not turn.is_long and not turn.is_over:
            turn.is_long = True
            self._long += 1
            self._running -= 1
            self._actors[turn.actor].short -= 1
            self._next()

    async def _wait(self, actor: _Actor, seconds: float | None, gone: asyncio.Future[None] | None) -> None:
        patience = self.caps.wait_seconds if seconds is None else min(seconds, self.caps.wait_seconds)
        if len(actor.waiting) >= self.caps.waiting:
            raise self._rejected("queue of the actor", 429, f"{len(actor.waiting)} reads of this actor wait", actor)
        if self._waiting >= self.caps.all_waiting:
            raise self._rejected("queue", 503, f"{self._waiting} reads wait, which is the limit of this server", actor)
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        actor.waiting.append(place)
        self._waiting += 1
        watched = [place] if gone is None else [place, gone]
        try:
            await asyncio.wait(watched, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._give_up(actor, place)
            raise
        if place.done():
            return
        self._give_up(actor, place)
        if gone is not None and gone.done():
            raise ClientDisconnect
        own = actor.running >= self.caps.running
        why = "other reads of this actor" if own else "reads of other actors"
        message = f"{why} took all threads for {patience:g} seconds"
        raise self._rejected("waited too long", 429 if own else 503, message, actor)

    def _give_up(self, actor: _Actor, place: asyncio.Future[None]) -> None:
        if place.done() and not place.cancelled():  # it was let in at the last moment
            self._running -= 1
            actor.running -= 1
            actor.short -= 1
            self._next()
            return
        actor.waiting.remove(place)
        self._waiting -= 1

    def _may_start(self, actor: _Actor) -> bool:
        return self._running < self.threads and actor.running < self.caps.running and not actor.waiting

    def _start(self, actor: _Actor) -> None:
        self._running += 1
        actor.running += 1
        actor.short += 1

    def _end(self, turn: Turn, actor: _Actor, seconds: float) -> None:
        turn.is_over = True
        if turn.is_long:
            self._long -= 1
        else:
            self._running -= 1
            actor.short -= 1
        actor.running -= 1
        self._charge(actor, seconds)
        self._next()
        self._leave(turn.actor, actor)

    def _leave(self, name: str, actor: _Actor) -> None:
        """A read has ended: an actor that has no other and has used nothing to speak of is forgotten."""
        if actor.is_idle and self.caps.seconds is None and actor.used < 0.001:
            self._actors.pop(name, None)
        elif len(self._actors) > 2 * self.caps.all_waiting:
            self._forget()

    def _next(self) -> None:
        while self._running < self.threads:
            ready = [each for each in self._actors.values() if each.waiting and each.running < self.caps.running]
            if not ready:
                return
            actor = min(ready, key=lambda each: (each.running, self._decayed(each)))
            place = actor.waiting.popleft()
            self._waiting -= 1
            self._start(actor)
            place.set_result(None)

    def _charge(self, actor: _Actor, seconds: float) -> None:
        now = self._clock()
        actor.used = self._decayed(actor) + seconds
        actor.looked = now
        actor.mean += (seconds - actor.mean) / 8
        if now - actor.window >= _WINDOW:
            actor.window, actor.spent = now, 0.0
        actor.spent += seconds

    def _decayed(self, actor: _Actor) -> float:
        return actor.used * math.exp2(-(self._clock() - actor.looked) / _HALF_LIFE)

    def _require_time(self, actor: _Actor) -> None:
        left = actor.window + _WINDOW - self._clock()
        if self.caps.seconds is None or left <= 0 or actor.spent < self.caps.seconds:
            return
        self.refused["seconds of the actor"] += 1
        message = (
            f"reads of this actor took {actor.spent:.1f} seconds within a minute; the limit is {self.caps.seconds:g}"
        )
        raise refuse(429, f"{message}; try again later", Retry_After=str(math.ceil(left)))

    def _rejected(self, kind: str, status: int, why: str, actor: _Actor) -> Refusal:
        """A refusal that says when a place should be free: after what waits, at the pace of the last reads."""
        self.refused[kind] += 1
        threads = self.caps.running if status == 429 else self.threads
        queue = len(actor.waiting) if status == 429 else self._waiting
        seconds = math.ceil(actor.mean * (queue + 1) / threads)
        return refuse(status, f"{why}; try again later", Retry_After=str(min(max(seconds, 1), _LONGEST_WAIT)))

    def _forget(self) -> None:
        """Drop what is remembered about actors without reads."""
        for name in [name for name, each in self._actors.items() if each.is_idle]:
            del self._actors[name]
