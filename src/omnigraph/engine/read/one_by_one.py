"""Reads of up to a few milliseconds that several threads ask for go one by one.

The interpreter lets one thread work at a time. NumPy and Arrow step aside for others in every call. On an idle machine
each such step wakes a waiting thread, in vain because the first one is back before it, and that takes longer than the
read: two threads got half of the answers that one gets. So while one thread asks for such reads, others sleep in a
queue, each as long as the interpreter lets a busy thread work before it is the turn of another; up to four times as
long while only threads wait that ask for one read after the other. Another thread begins with the caches of another
core: a look-up took a fifth more of the processor with two threads than with one, and with longer turns as much.

That a thread has stopped asking cannot be seen, and a thread that looked for it would want the interpreter, too.
So a turn outlasts a read only for a thread that has gone on for a millisecond, and for no longer than it has gone on.

A read that the executor answers goes there once it was quick: it took no longer than a turn, and read nothing from
storage, for which threads wait side by side.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from threading import Lock, get_ident, local
from types import TracebackType

_GAP = 0.000_1  # a thread that was out for so long may not have stopped
_NEXT = 0.000_3  # one that asks for the next read so soon goes on
_TRUSTED = 1 / 5  # of a turn: who has gone on for so long is expected to go on
_LONG = 4  # turns, of one that has gone on for so long among others that do
_KEPT = 1 / 4  # of the time that a thread has gone on for, when it was held up once
_clock = time.perf_counter


class _Asker(local):
    """A thread: when it left its last read, and since when one followed the other, times in the queue left out."""

    left = began = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """A thread in the queue, for how long it has gone on with reads, and what wakes it."""

    thread: int
    gone: float
    wake: Lock


class OneByOne(AbstractContextManager[None]):
    """A hint, not a lock: threads that race for it go together, and none waits long for one that is held up."""

    def __init__(self, turn_seconds: float) -> None:
        self._turn, self._trusted = turn_seconds, _TRUSTED * turn_seconds
        self._owner, self._since, self._until = 0, 0.0, 0.0
        self._earliest = 0.0  # when the turn may be over
        self._inside, self._left = False, 0.0  # whether the owner is in a read, and when it left its last one
        self._queue: deque[_Waiting] = deque()
        self._asker = _Asker()

    def if_quick(self, seconds: float) -> AbstractContextManager[None]:
        """The turn of a read that took so long when it was run last; one that was not quick waits for nothing."""
        return self if seconds < self._turn else _AT_ONCE

    def __enter__(self) -> None:
        me, now, asker = get_ident(), _clock(), self._asker
        if now > asker.left + _NEXT:
            asker.began = now - _KEPT * min(asker.left - asker.began, _LONG * self._turn)
        if self._owner == me:
            if self._queue and now > self._earliest and self._is_over(now):
                self._wait(me, after=True)
        elif self._inside or now < self._left + _GAP:
            self._wait(me)
        else:
            self._begin(me, now - asker.began)
        self._inside = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asker = self._asker
        before, asker.left = asker.left, _clock()
        if self._owner == get_ident():
            self._inside, self._left = False, asker.left
            if self._queue and before < asker.began + self._trusted:
                self._hand_over()

    def _is_over(self, now: float) -> bool:
        """Whether a turn that was long enough for threads with single reads is so for those that wait."""
        if now > self._until:
            return True
        return now > self._since + self._turn and not all(each.gone >= self._trusted for each in tuple(self._queue))

    def _begin(self, owner: int, gone: float) -> None:
        """The turn of a thread that has gone on for so long: for no longer than that, because it may stop."""
        self._owner, self._since = owner, _clock()
        self._until = self._since + min(max(gone, self._trusted), _LONG * self._turn)
        self._earliest = min(self._until, self._since + self._turn)

    def _wait(self, me: int, *, after: bool = False) -> None:
        """Sleep in the queue until it is the turn of this thread, or until those ahead have had theirs."""
        begin, asker = _clock(), self._asker
        waiting = _Waiting(me, begin - asker.began, Lock())
        waiting.wake.acquire()
        self._queue.append(waiting)
        if after:
            self._hand_over()
        if not waiting.wake.acquire(timeout=self._limit(begin, waiting.gone)):
            with suppress(ValueError):  # it was handed over in that moment
                self._queue.remove(waiting)
                self._begin(me, waiting.gone)
        asker.began += _clock() - begin

    def _limit(self, now: float, gone: float) -> float:
        """How long the last one in the queue waits at most: a read may begin at the end of a turn and take as long."""
        ahead = max(len(self._queue) - 1, 0)
        if gone < self._trusted:
            return 2 * self._turn * (ahead + 1)
        again = max(min(self._until - self._since, self._turn), 0.0)  # another thread may be setting the two
        return max(self._until - now, 0.0) + again + ahead * (1 + _LONG) * self._turn

    def _hand_over(self) -> None:
        try:
            waiting = self._queue.popleft()
        except IndexError:
            return  # it has not waited any longer
        self._begin(waiting.thread, waiting.gone)
        self._inside = True
        waiting.wake.release()


_AT_ONCE: AbstractContextManager[None] = nullcontext()


def _has_interpreter_lock() -> bool:
    enabled = getattr(sys, "_is_gil_enabled", None)  # builds without the lock have it
    return enabled is None or bool(enabled())


QUICK_READS = OneByOne(sys.getswitchinterval() if _has_interpreter_lock() else 0.0)
