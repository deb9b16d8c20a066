"""Threads for calls: the one that was busy last is woken for the next call, and no other.

The pool of the standard library keeps its idle threads in one queue, and a call wakes two or three of them. Each takes
the interpreter from the event loop only to see that there is nothing to do, which cost a short read half of its time.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


class _Job:
    """A call and what becomes of it."""

    __slots__ = ("_call", "_future")

    def __init__(self, future: Future[Any], call: Callable[[], Any]) -> None:
        self._future, self._call = future, call

    def run(self) -> None:
        if not self._future.set_running_or_notify_cancel():
            return
        try:
            result = self._call()
        except BaseException as error:
            self._future.set_exception(error)
        else:
            self._future.set_result(result)

    def cancel(self) -> None:
        self._future.cancel()
        self._future.set_running_or_notify_cancel()


class _Seat:
    """Where one idle thread waits, and the job that it is woken for; None ends it."""

    __slots__ = ("gate", "job")

    def __init__(self) -> None:
        self.gate = threading.Lock()
        self.gate.acquire()
        self.job: _Job | None = None


class Threads(Executor):
    """At most so many threads, started when they are needed; further calls wait in the order they came."""

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        self._lock = threading.Lock()
        self._idle: list[_Seat] = []
        self._waiting: deque[_Job] = deque()
        self._threads: list[threading.Thread] = []
        self._closed = False

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Run a call in one of the threads."""
        future: Future[_T] = Future()
        job = _Job(future, partial(fn, *args, **kwargs))
        with self._lock:
            if self._closed:
                raise RuntimeError("no call can be started any more: the threads are ending")
            if self._idle:
                seat = self._idle.pop()
                seat.job = job
                seat.gate.release()
            elif len(self._threads) < self._most:
                self._start(job)
            else:
                self._waiting.append(job)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads after their calls; calls that wait are cancelled or done first."""
        with self._lock:
            self._closed = True
            if cancel_futures:
                while self._waiting:
                    self._waiting.popleft().cancel()
            while self._idle:
                self._idle.pop().gate.release()
        if wait:
            for thread in self._threads:
                thread.join()

    def _start(self, job: _Job) -> None:
        seat = _Seat()  # a thread keeps what it was started with, so the job does not go there
        seat.job = job
        thread = threading.Thread(target=self._work, args=(seat,), name=f"{self._name}_{len(self._threads)}")
        thread.daemon = True
        self._threads.append(thread)
        thread.start()

    def _work(self, seat: _Seat) -> None:
        while seat.job is not None:
            job, seat.job = seat.job, None
            job.run()
            del job
            with self._lock:
                if self._waiting:
                    seat.job = self._waiting.popleft()
                    continue
                if self._closed:
                    return
                self._idle.append(seat)
            seat.gate.acquire()
