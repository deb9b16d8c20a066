"""Long reads share the processors: some compute while the others wait, by turns, so that short reads find one free.

A read that has computed for a while counts as long, and so does every read of an actor that floods: one that has
several under way and has used much lately, while others read as well. From then on it needs a place to go on computing,
and gives it back at a checkpoint of its query when others wait for one. While short reads are coming in, one processor
is left to them; and while one of another actor is under way, a long read pauses at its checkpoints, for as long as it
has computed at most. Both need the interpreter, and the short one would wait for it at each of its steps.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from omnigraph.cores import usable_cores

SHORT_SECONDS = 0.02  # of a processor, after which a read is long
_SLICE_SECONDS = 0.05  # of a processor, after which a long read lets others go on
_LATELY_SECONDS = 1.0
_FLOOD_SECONDS = 0.1  # of a processor, lately, that make an actor with several reads at once a heavy one beside others
_ASIDE_SECONDS = 0.001  # how long a long read pauses before it looks whether short ones are still under way
_JUST_SECONDS = 0.002  # after which a short read that has ended makes no difference
_LOOK_SECONDS = 0.05  # how often a read that waits looks whether it should stop

_REMEMBERED = 1_024  # actors

Check = Callable[[], None]


class _Seen(NamedTuple):
    actor: str
    at: float


class _LastTwo:
    """When reads of the two actors ended last that had one: enough to know about others than a given one."""

    def __init__(self) -> None:
        self._latest = self._before = _Seen("", -_LATELY_SECONDS)

    def note(self, actor: str, now: float) -> None:
        if actor != self._latest.actor:
            self._before = self._latest
        self._latest = _Seen(actor, now)

    def of_others(self, actor: str) -> float:
        """When a read of another actor than this one ended last."""
        return (self._before if self._latest.actor == actor else self._latest).at


@dataclass(slots=True)
class _Use:
    at: float
    reads: int = 0
    seconds: float = 0.0  # of processors, half of which count after _LATELY_SECONDS

    def decayed(self, now: float) -> float:
        return self.seconds * math.exp2((self.at - now) / _LATELY_SECONDS)

    def add(self, seconds: float, now: float) -> None:
        self.seconds, self.at = self.decayed(now) + seconds, now


class Processors:
    """Places for long reads, given to the actor who has computed least; safe between threads."""

    def __init__(
        self,
        processors: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        others_read: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._processors = usable_cores() if processors is None else processors
        self.others_read = others_read  # whether short reads of other actors than this one are under way
        self._clock = clock
        self._lock = threading.Lock()
        self._computing = 0
        self._queue: list[tuple[str, threading.Event]] = []
        self._used: dict[str, float] = {}  # by actors with long reads
        self._reads: dict[str, int] = {}
        self._short_at = -_LATELY_SECONDS
        self._heavy: dict[str, None] = {}  # actors whose last read was long, the latest at the end
        self._under_way: dict[str, _Use] = {}  # what actors have used lately, with reads of now or of just before
        self._ended = _LastTwo()  # reads
        self._ended_short = _LastTwo()

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

    @property
    def remembered(self) -> int:
        """Actors whose use is known."""
        return len(self._under_way)

    def note_short(self) -> None:
        """A short read has ended."""
        self._short_at = self._clock()

    def is_heavy(self, actor: str) -> bool:
        """Whether the next read of an actor counts as long from its beginning: its last one was, or it floods."""
        if actor in self._heavy:
            return True
        use = self._under_way.get(actor)
        if use is None or use.reads < 2:
            return False
        return use.decayed(self._clock()) > _FLOOD_SECONDS and self.others_read_lately(actor)

    def others_read_lately(self, actor: str) -> bool:
        """Whether a read of another actor has ended within the last second."""
        return self._clock() - self._ended.of_others(actor) < _LATELY_SECONDS

    def gives_way(self, actor: str) -> bool:
        """Whether a long read of an actor should pause: a short one of another is under way, or has just ended.

        One that has just ended is sent now, and a client that waited for it often asks the next.
        """
        return self.others_read(actor) or self._clock() - self._ended_short.of_others(actor) < _JUST_SECONDS

    def begin(self, actor: str) -> None:
        """A read of an actor begins."""
        with self._lock:
            self._under_way.setdefault(actor, _Use(self._clock())).reads += 1

    def note_length(self, actor: str, seconds: float) -> None:
        """How long a read of an actor has computed."""
        now, is_long = self._clock(), seconds >= SHORT_SECONDS
        with self._lock:
            use = self._under_way[actor]
            use.reads -= 1
            use.add(seconds, now)
            self._ended.note(actor, now)
            if not is_long:
                self._ended_short.note(actor, now)
            if len(self._under_way) > _REMEMBERED:
                self._forget(now)
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

    def enter_free(self) -> bool:
        """Take a place if there is one that no other read waits for."""
        with self._lock:
            if self._queue or self._computing >= self.places:
                return False
            self._computing += 1
            return True

    def leave(self, actor: str, seconds: float) -> None:
        """Give a place back after computing for so long."""
        with self._lock:
            self._used[actor] += seconds
            self._computing -= 1
            self._grant()

    def _forget(self, now: float) -> None:
        for name in [name for name, use in self._under_way.items() if not use.reads and now - use.at > _LATELY_SECONDS]:
            del self._under_way[name]

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
        self._paused = 0.0  # seconds
        self._lock = threading.Lock()
        self._helped = 0.0  # seconds of helpers
        processors.begin(actor)

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
            self._let_pass(now - self._began, check)
            if now - self._entered < _SLICE_SECONDS or not self._processors.is_contended:
                return
            self._leave()
        self._processors.enter(self._actor, check)
        self._entered = time.thread_time()

    def _let_pass(self, computed: float, check: Check) -> None:
        """Pause while short reads of others are under way, for no longer in all than this one has computed."""
        while self._paused < computed and self._processors.gives_way(self._actor):
            begin = time.monotonic()
            time.sleep(_ASIDE_SECONDS)
            self._paused += time.monotonic() - begin
            check()

    def lend(self) -> bool:
        """Whether a place is free for a thread that helps this read; it counts as a long read of the actor."""
        if self._processors.gives_way(self._actor) or not self._processors.enter_free():
            return False
        self._processors.join(self._actor)
        return True

    def wants_back(self) -> bool:
        """Whether others wait for the place of a helper, or short reads are under way."""
        return self._processors.is_contended or self._processors.gives_way(self._actor)

    def give_back(self, seconds: float) -> None:
        """A helper leaves its place; what it has computed is the actor's."""
        self._processors.leave(self._actor, seconds)
        self._processors.part(self._actor)
        with self._lock:
            self._helped += seconds

    def end(self) -> None:
        """The read is over, however it ended."""
        self._processors.note_length(self._actor, time.thread_time() - self._began + self._helped)
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
