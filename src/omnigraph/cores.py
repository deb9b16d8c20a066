"""Long array work in parts, shared out between the cores that this process may use.

NumPy and Arrow let go of the interpreter in nearly all of their loops, so threads do: some that help the caller,
started for one piece of work and gone when it ends. Which parts there are never depends on how many threads there are,
and what comes of them is taken in their order by the caller, so every number of threads gives the same digits.
"""

from __future__ import annotations

import os
import threading
import time
from _thread import start_new_thread
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from omnigraph.checkpoints import ask_instead, checkpoint
from omnigraph.control_groups import directories, lines
from omnigraph.errors import BadRequest

THREADS = "OMNIGRAPH_THREADS"
_MOST_THREADS = 256
_LOOK_SECONDS = 0.02  # how often a caller that waits for a helper looks whether it should stop
_AHEAD = 4  # parts for each thread that may wait for their turn to be taken
_WORTH = 2  # parts that are worth a thread: starting one takes a twentieth of a millisecond

PartT = TypeVar("PartT")
FoundT = TypeVar("FoundT")


# --- how many cores there are ----------------------------------------------------------------------------


def usable_cores(system: Path = Path("/")) -> int:
    """How many cores this process may use: those it may run on, or the share that its control group allows."""
    allowed = getattr(os, "sched_getaffinity", None)
    cores = len(allowed(0)) if allowed is not None else os.cpu_count() or 1
    return max(1, min([cores, *(max(1, int(share + 0.5)) for share in _shares(system))]))


def thread_count(given: int | None = None, env: Mapping[str, str] = os.environ) -> int:
    """How many threads one query may use: the number given, else that of OMNIGRAPH_THREADS, else one for each core."""
    text = env.get(THREADS, "").strip()
    if given is None and not text:
        return usable_cores()
    name, value = ("threads", str(given)) if given is not None else (THREADS, text)
    if not value.isdecimal() or not 1 <= int(value) <= _MOST_THREADS:
        raise BadRequest(f"{name} must be a number from 1 to {_MOST_THREADS}, not '{value}'")
    return int(value)


def _shares(system: Path) -> Iterator[float]:
    """Every limit, in cores, that holds for the control group of this process."""
    for kind, directory in directories("cpu", system):
        if kind == "cgroup2":
            quota, _, period = "".join(lines(directory / "cpu.max")).partition(" ")
        else:
            quota, period = ("".join(lines(directory / f"cpu.cfs_{each}_us")) for each in ("quota", "period"))
        if quota.isdecimal() and period.isdecimal() and int(period):
            yield int(quota) / int(period)


# --- who may use them ------------------------------------------------------------------------------------


class Lender(Protocol):
    """Who has a say about cores: one for a helper is asked for, and given back when it is wanted or not needed."""

    def lend(self) -> bool:
        """Whether a core is free for a helper; then it is the helper's."""
        ...

    def wants_back(self) -> bool:
        """Whether a helper should leave after its part."""
        ...

    def give_back(self, seconds: float) -> None:
        """A helper leaves after it has computed for so long."""
        ...


class _Crew(NamedTuple):
    threads: int
    at_once: Callable[[int, int], int]  # (threads, bytes of a part) → how many parts memory has room for at a time


_CREW: ContextVar[_Crew | None] = ContextVar("omnigraph_crew", default=None)
_LENDER: ContextVar[Lender | None] = ContextVar("omnigraph_lender", default=None)


@contextmanager
def spread_over(threads: int, at_once: Callable[[int, int], int] = lambda threads, _: threads) -> Iterator[None]:
    """Let the work of the block use so many threads, as far as memory has room for as many parts."""
    token = _CREW.set(_Crew(threads, at_once) if threads > 1 else None)
    try:
        yield
    finally:
        _CREW.reset(token)


@contextmanager
def lent_by(lender: Lender) -> Iterator[None]:
    """Ask for the core of every helper in the block."""
    token = _LENDER.set(lender)
    try:
        yield
    finally:
        _LENDER.reset(token)


# --- the work --------------------------------------------------------------------------------------------


def in_parts(
    work: Callable[[PartT], FoundT],
    parts: Sequence[PartT],
    take: Callable[[FoundT], None] = lambda _: None,
    *,
    held: int = 0,
) -> None:
    """Have all parts worked on, and take what comes of them, in their order, in the thread of the caller.

    `held` is how many bytes the work on one part holds. `work` runs in several threads at a time, so it changes nothing
    that parts share. The first part that fails ends it: no later one is begun, and its error is raised.
    """
    crew = _CREW.get()
    threads = 1 if crew is None else len(parts) // _WORTH
    if crew is not None and threads > 1:
        threads = crew.at_once(min(crew.threads, threads), held)
    if threads < 2:
        for part in parts:
            take(work(part))
            checkpoint()
        return
    _Shared(work, parts, take, threads - 1).run()


class _Helpers:
    """How many helpers there are in the process: callers at the same time share them."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._lock, self.busy = threading.Lock(), 0

    def add(self, most: int) -> bool:
        with self._lock:
            if self.busy >= most:
                return False
            self.busy += 1
            return True

    def remove(self) -> None:
        with self._lock:
            self.busy -= 1


_HELPERS = _Helpers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_HELPERS.reset)  # a forked process has none of its parent's threads


class _Abandoned(BaseException):
    """Ends a part that is not wanted any more."""


class _Shared(Generic[PartT, FoundT]):
    """One piece of work: which part comes next, what came of those that are done, and who helps."""

    def __init__(
        self, work: Callable[[PartT], FoundT], parts: Sequence[PartT], take: Callable[[FoundT], None], wanted: int
    ) -> None:
        self._work, self._parts, self._take, self._wanted = work, parts, take, wanted
        self._lender = _LENDER.get()
        self._lock = threading.Lock()
        self._next = self._taken = 0
        self._end = len(parts)  # no part from here on is begun
        self._found: dict[int, FoundT] = {}
        self._failed: dict[int, BaseException] = {}
        self._over = False
        self._helping: set[_Helper] = set()
        self._waits = False
        self._news = threading.Lock()  # what the caller waits for when the next thing to take is not there
        self._news.acquire()

    def run(self) -> None:
        """Work and take until all is done, with as many helpers as can be had."""
        try:
            while self._taken < len(self._parts):
                self._staff()
                if (number := self.begin()) is not None:
                    self.do(number)
                else:
                    self._wait()
                self._take_over()
                checkpoint()
        finally:
            self._over = True
            for helper in tuple(self._helping):
                helper.join()
            self._failed.clear()  # errors lead to frames, which lead back here

    def begin(self) -> int | None:
        """The next part, if it may be begun now."""
        with self._lock:
            if self._over or self._next >= min(self._end, self._taken + _AHEAD * (self._wanted + 1)):
                return None
            self._next += 1
            return self._next - 1

    def do(self, number: int) -> None:
        """Work on a part, and keep what comes of it for the caller."""
        try:
            found = self._work(self._parts[number])
        except BaseException as error:
            with self._lock:
                self._failed[number] = error
                self._end = min(self._end, number)
        else:
            with self._lock:
                self._found[number] = found
        self._wake()

    def look(self) -> None:
        """What a helper does at its checkpoints: who has to stop, or to wait, is for the caller to say."""
        if self._over:
            raise _Abandoned

    def leave(self, helper: _Helper) -> None:
        """A helper goes, before all is done or not."""
        with self._lock:
            self._helping.discard(helper)
        self._wake()

    def _staff(self) -> None:
        """Start as many helpers as are wanted and may be had."""
        while len(self._helping) < min(self._wanted, self._end - self._next - 1) and _HELPERS.add(self._wanted):
            if self._lender is not None and not self._lender.lend():
                _HELPERS.remove()
                return
            helper = _Helper(self, self._lender)
            with self._lock:
                self._helping.add(helper)
            if not helper.start():
                self._wanted = 0

    def _take_over(self) -> None:
        while self._taken < len(self._parts):
            if (failed := self._failed.get(self._taken)) is not None:
                raise failed
            if self._taken not in self._found:
                return
            self._take(self._found.pop(self._taken))
            self._taken += 1

    def _wait(self) -> None:
        """Until a helper has done a part or has gone, or for a moment."""
        with self._lock:
            if not self._helping or self._taken in self._found or self._taken in self._failed:
                return
            self._waits = True
        if not self._news.acquire(timeout=_LOOK_SECONDS):
            with self._lock:
                if not self._waits:
                    self._news.acquire()  # it has come in between
                self._waits = False

    def _wake(self) -> None:
        with self._lock:
            if self._waits:
                self._waits = False
                self._news.release()


class _Helper:
    """A thread that works on parts until there are none, or until its core is wanted back.

    Threads of the module `threading` are waited for until they run, and take 45 µs of a processor instead of 21.
    """

    def __init__(self, shared: _Shared[Any, Any], lender: Lender | None) -> None:
        self._shared, self._lender = shared, lender
        self._runs = threading.Lock()

    def start(self) -> bool:
        """Whether there is a thread; the system may have no more of them."""
        self._runs.acquire()
        try:
            start_new_thread(copy_context().run, (self._run,))
        except RuntimeError:
            self._end(0.0)
            return False
        return True

    def join(self) -> None:
        """Wait until it is gone."""
        self._runs.acquire()

    def _run(self) -> None:
        _CREW.set(None)
        began = time.thread_time()
        with ask_instead(self._shared.look):
            while (number := self._shared.begin()) is not None:
                self._shared.do(number)
                if self._lender is not None and self._lender.wants_back():
                    break
        self._end(time.thread_time() - began)

    def _end(self, seconds: float) -> None:
        if self._lender is not None:
            self._lender.give_back(seconds)
        _HELPERS.remove()
        self._shared.leave(self)
        self._runs.release()
