"""Reads of up to a few milliseconds that several threads ask for go one by one.

The interpreter lets one thread work at a time. NumPy and Arrow step aside for others in every call. On an idle machine
each such step wakes a waiting thread, in vain because the first one is back before it, and that takes longer than the
read: two threads got half of the answers that one gets. So while one thread asks for such reads, others sleep in a
queue, each as long as the interpreter lets a busy thread work before it is the turn of another.

A read that the executor answers goes there once it was quick: it took no longer than a turn, and read nothing from
storage, for which threads wait side by side.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from contextlib import AbstractContextManager, nullcontext, suppress
from threading import Lock, get_ident, local
from types import TracebackType

_GAP = 0.000_1  # a thread that was out for so long may not have stopped
_NEXT = 0.000_3  # one that asks for the next read so soon, with others between them …
_STREAK = 4  # … so often in a row, will go on
_clock = time.perf_counter


class _Asker(local):
    """A thread: when it left its last read, and how many followed one another at once."""

    left, streak = 0.0, 0


class OneByOne(AbstractContextManager[None]):
    """A hint, not a lock: threads that race for it go together, and none waits long for one that is held up."""

    def __init__(self, turn_seconds: float) -> None:
        self._turn = turn_seconds
        self._owner, self._since = 0, 0.0
        self._inside, self._left = False, 0.0  # whether the owner is in a read, and when it left its last one
        self._queue: deque[tuple[int, Lock]] = deque()
        self._asker = _Asker()

    def if_quick(self, seconds: float) -> AbstractContextManager[None]:
        """The turn of a read that took so long when it was run last; one that was not quick waits for nothing."""
        return self if seconds < self._turn else _AT_ONCE

    def __enter__(self) -> None:
        me, now, asker = get_ident(), _clock(), self._asker
        asker.streak = asker.streak + 1 if now < asker.left + _NEXT else 0
        if self._owner == me:
            if self._queue and now > self._since + self._turn:
                self._wait(me, after=True)
        else:
            if self._inside or now < self._left + _GAP:
                self._wait(me)
            self._owner, self._since = me, _clock()
        self._inside = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asker = self._asker
        asker.left = now = _clock()
        if self._owner == get_ident():
            self._inside, self._left = False, now
            if self._queue and asker.streak < _STREAK:
                self._hand_over()

    def _wait(self, me: int, *, after: bool = False) -> None:
        """Sleep in the queue until it is the turn of this thread, or until those ahead have had theirs."""
        # The last read of a turn may begin at its end and take as long again.
        wake, seconds = Lock(), 2 * self._turn * (len(self._queue) + 1)
        wake.acquire()
        self._queue.append((me, wake))
        if after:
            self._hand_over()
        if not wake.acquire(timeout=seconds):
            with suppress(ValueError):  # it was handed over in that moment
                self._queue.remove((me, wake))

    def _hand_over(self) -> None:
        try:
            self._owner, wake = self._queue.popleft()
        except IndexError:
            return  # it has not waited any longer
        self._inside, self._since = True, _clock()
        wake.release()


_AT_ONCE: AbstractContextManager[None] = nullcontext()


def _has_interpreter_lock() -> bool:
    enabled = getattr(sys, "_is_gil_enabled", None)  # builds without the lock have it
    return enabled is None or bool(enabled())


QUICK_READS = OneByOne(sys.getswitchinterval() if _has_interpreter_lock() else 0.0)
