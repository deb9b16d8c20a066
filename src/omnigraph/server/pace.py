"""Long reads share the processors: some compute while the others wait, by turns, so that short reads find one free.

A read that has computed for a while counts as long. From then on it needs a place to go on computing, and gives it back
at a checkpoint of its query when others wait for one. While short reads are coming in, one processor is left to them.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SHORT_SECONDS = 0.02  # of a processor, after which a read is long
_SLICE_SECONDS = 0.05  # of a processor, after which a long read lets others go on
_LATELY_SECONDS = 1.0
_LOOK_SECONDS = 0.05  # how often a read that waits looks whether it should stop

_REMEMBERED = 1_024  # actors

Check = Callable[[], None]


class Processors:
    """Places for long reads, given to the actor who has computed least; safe between threads."""

    def __init__(self, processors: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._processors = (os.cpu_count() or 1) if processors is None else processors
        self._clock = clock
        self._lock = threading.Lock()
        self._computing = 0
        self._queue: list[tuple[str, threading.Event]] = []
        self._used: dict[str, float] = {}  # by actors with long reads
        self._reads: dict[str, int] = {}
        self._short_at = -_LATELY_SECONDS
        self._heavy: dict[str, None] = {}  # actors whose last read was long, the latest at the end

    @property
    def places(self) -> int:
        """How many long reads may compute now."""
        lately = self._clock() - self._short_at < _LATELY_SECONDS
        return max(1, self._processors - lately)

    @property
    def waiting(self) -> int:
        """Long reads that wait for a place."""
        return len(self._queue)

    @property
    def computing(self) -> int:
        """Long reads that hold one."""
        return self._computing

    @property
    def is_contended(self) -> bool:
        """Whether a long read that computes should make room."""
        return bool(self._queue) or self._computing > self.places

    def note_short(self) -> None:
        """A short read has ended."""
        self._short_at = self._clock()

    def is_heavy(self, actor: str) -> bool:
        """Whether the last read of an actor was long: its next one will be, too."""
        return actor in self._heavy

    def note_length(self, actor: str, *, is_long: bool) -> None:
        """How long a read of an actor was."""
        with self._lock:
            self._heavy.pop(actor, None)
            if is_long:
                self._heavy[actor] = None
                if len(self._heavy) > _REMEMBERED:
                    del self._heavy[next(iter(self._heavy))]

    def join(self, actor: str) -> None:
        """Count a long read of an actor; one who was not here before counts like the one who has used least."""
        with self._lock:
            self._used.setdefault(actor, min(self._used.values(), default=0.0))
            self._reads[actor] = self._reads.get(actor, 0) + 1

    def part(self, actor: str) -> None:
        """A long read has ended."""
        with self._lock:
            self._reads[actor] -= 1
            if not self._reads[actor]:
                del self._reads[actor], self._used[actor]

    def enter(self, actor: str, check: Check) -> None:
        """Wait for a place; `check` is called now and then, and may raise."""
        granted = threading.Event()
        with self._lock:
            self._queue.append((actor, granted))
            self._grant()
        try:
            while not granted.wait(_LOOK_SECONDS):
                check()
                with self._lock:
                    self._grant()  # there may be more places than there were
        except BaseException:
            with self._lock:
                if granted.is_set():
                    self._computing -= 1
                    self._grant()
                else:
                    self._queue.remove((actor, granted))
            raise

    def leave(self, actor: str, seconds: float) -> None:
        """Give a place back after computing for so long."""
        with self._lock:
            self._used[actor] += seconds
            self._computing -= 1
            self._grant()

    def _grant(self) -> None:
        while self._queue and self._computing < self.places:
            # The first of those who used least: equal ones in the order of asking.
            at = min(range(len(self._queue)), key=lambda each: self._used[self._queue[each][0]])
            self._computing += 1
            self._queue.pop(at)[1].set()


class Pace:
    """One read on its way, called at every checkpoint of its query, in its thread."""

    def __init__(self, processors: Processors, actor: str, became_long: Callable[[], object]) -> None:
        self._processors = processors
        self._actor = actor
        self._became_long = became_long
        self._began = time.thread_time()
        self._is_long = False
        self._entered: float | None = None  # when it got its place

    def __call__(self, check: Check) -> None:
        """Go on, after waiting for a place if it is time for that."""
        now = time.thread_time()
        if not self._is_long:
            if now - self._began < SHORT_SECONDS and not self._processors.is_heavy(self._actor):
                return
            self._is_long = True
            self._processors.join(self._actor)
            self._became_long()
        elif self._entered is not None:
            if now - self._entered < _SLICE_SECONDS or not self._processors.is_contended:
                return
            self._leave()
        self._processors.enter(self._actor, check)
        self._entered = time.thread_time()

    def end(self) -> None:
        """The read is over, however it ended."""
        is_long = time.thread_time() - self._began >= SHORT_SECONDS
        self._processors.note_length(self._actor, is_long=is_long)
        if not self._is_long:
            self._processors.note_short()
            return
        if self._entered is not None:
            self._leave()
        self._processors.part(self._actor)

    def _leave(self) -> None:
        assert self._entered is not None
        seconds, self._entered = time.thread_time() - self._entered, None
        self._processors.leave(self._actor, seconds)


@contextmanager
def pace(processors: Processors, actor: str, became_long: Callable[[], object]) -> Iterator[Pace]:
    """The pace of the read that the block is."""
    found = Pace(processors, actor, became_long)
    try:
        yield found
    finally:
        found.end()
