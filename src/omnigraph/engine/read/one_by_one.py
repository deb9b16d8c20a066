"""Reads of up to a few milliseconds that several threads ask for go one by one.

The interpreter lets one thread work at a time. NumPy and Arrow step aside for others in every call. On an idle machine
each such step wakes a waiting thread, in vain because the first one is back before it, and that takes longer than the
read: two threads got half of the answers that one gets. So while one thread asks for such reads, others sleep in a
queue, each as long as the interpreter lets a busy thread work before it is the turn of another; four times as long
while only threads wait that ask for one read after the other. Another thread begins with the caches of another core:
a look-up took a fifth more of the processor with two threads than with one, and with longer turns as much.

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
_STREAK, _MOST_STREAK = 4, 16  # … so often in a row, will go on; half of them count after it was held up once
_LONG = 4  # turns, of one that goes on among others that do
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
        self._queue: deque[tuple[int, Lock, bool]] = deque()  # threads, what wakes them, whether they go on
        self._asker = _Asker()

    def if_quick(self, seconds: float) -> AbstractContextManager[None]:
        """The turn of a read that took so long when it was run last; one that was not quick waits for nothing."""
        return self if seconds < self._turn else _AT_ONCE

    def __enter__(self) -> None:
        me, now, asker = get_ident(), _clock(), self._asker
        at_once = now < asker.left + _NEXT
        asker.streak = min(asker.streak + 1, _MOST_STREAK) if at_once else asker.streak // 2
        if self._owner == me:
            if self._queue and now > self._since + self._turn and self._is_over(now):
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

    def _is_over(self, now: float) -> bool:
        """Whether a turn that was long enough for threads with single reads is so for those that wait."""
        return now > self._since + _LONG * self._turn or not all(goes_on for *_, goes_on in tuple(self._queue))

    def _wait(self, me: int, *, after: bool = False) -> None:
        """Sleep in the queue until it is the turn of this thread, or until those ahead have had theirs."""
        goes_on = self._asker.streak >= _STREAK
        # The last read of a turn may begin at its end and take as long again.
        wake, seconds = Lock(), (1 + _LONG if goes_on else 2) * self._turn * (len(self._queue) + 1)
        wake.acquire()
        self._queue.append((me, wake, goes_on))
        if after:
            self._hand_over()
        if not wake.acquire(timeout=seconds):
            with suppress(ValueError):  # it was handed over in that moment
                self._queue.remove((me, wake, goes_on))

    def _hand_over(self) -> None:
        try:
            self._owner, wake, _ = self._queue.popleft()
        except IndexError:
            return  # it has not waited any longer
        self._inside, self._since = True, _clock()
        wake.release()


_AT_ONCE: AbstractContextManager[None] = nullcontext()


def _has_interpreter_lock() -> bool:
    enabled = getattr(sys, "_is_gil_enabled", None)  # builds without the lock have it
    return enabled is None or bool(enabled())


QUICK_READS = OneByOne(sys.getswitchinterval() if _has_interpreter_lock() else 0.0)
