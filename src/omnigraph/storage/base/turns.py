"""Turns: a lock that is handed over in the order of asking, and whose holder may do the work of those who wait for it.

A waiter may offer its work. The holder takes offers from the front of the queue, and each of them is served, or
given back to the place where it was: no waiter is passed by one that came later and has the same chance.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import Generic, Literal, TypeVar

WorkT = TypeVar("WorkT")
State = Literal["waiting", "taken", "turn", "served", "left"]


class Waiter(Generic[WorkT]):
    """One place in the queue; `work` is what its owner offers to have done by the holder of the turn."""

    __slots__ = ("_wake", "state", "work")

    def __init__(self, work: WorkT | None, state: State) -> None:
        self.work = work
        self.state: State = state
        self._wake = threading.Lock()
        self._wake.acquire()

    def wake(self) -> None:
        """Let the owner look at its state; called under the guard of the turn, once per change."""
        if self._wake.locked():
            self._wake.release()

    def sleep(self, seconds: float | None) -> None:
        """Wait for the next change of the state, at most so long."""
        self._wake.acquire(timeout=-1 if seconds is None else max(seconds, 0.0))


class Turn(Generic[WorkT]):
    """The turn itself and the queue for it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held = False
        self._waiting: deque[Waiter[WorkT]] = deque()

    def acquire(self, timeout: float | None = None) -> bool:
        """Wait for the turn, at most so many seconds; whether it came."""
        return self.wait(self.join(), timeout) == "turn"

    def join(self, work: WorkT | None = None) -> Waiter[WorkT]:
        """A place at the end of the queue; when it is empty, the turn at once."""
        with self._guard:
            if not self._held:
                self._held = True
                return Waiter(work, "turn")
            waiter = Waiter(work, "waiting")
            self._waiting.append(waiter)
            return waiter

    def wait(self, waiter: Waiter[WorkT], timeout: float | None = None) -> State:
        """Wait until the turn has come ("turn"), the work was done by others ("served"), or so many seconds are over.

        Work that was taken is waited for beyond that ("left" is only who gives up waiting in the queue).
        """
        until = None if timeout is None else time.monotonic() + timeout
        try:
            while True:
                with self._guard:
                    if waiter.state in ("turn", "served"):
                        return waiter.state
                    left = None if until is None or waiter.state == "taken" else until - time.monotonic()
                    if left is not None and left <= 0:
                        self._waiting.remove(waiter)
                        waiter.state = "left"
                        return "left"
                waiter.sleep(left)
        except BaseException:
            self._leave(waiter)
            raise

    def release(self) -> None:
        """Hand the turn to the one that has waited longest."""
        with self._guard:
            if self._waiting:
                self._move(self._waiting.popleft(), "turn")
            else:
                self._held = False

    # --- what the holder may do ------------------------------------------------------------------

    def take(self, most: int) -> list[Waiter[WorkT]]:
        """The waiters at the front of the queue that offer their work; each must be served or given back."""
        found: list[Waiter[WorkT]] = []
        with self._guard:
            while self._waiting and len(found) < most and self._waiting[0].work is not None:
                waiter = self._waiting.popleft()
                waiter.state = "taken"
                found.append(waiter)
        return found

    def serve(self, waiter: Waiter[WorkT]) -> bool:
        """Tell a taken waiter that its work is done; False when it was interrupted and will not look."""
        with self._guard:
            if waiter.state == "left":
                return False
            self._move(waiter, "served")
            return True

    def give_back(self, waiters: Iterable[Waiter[WorkT]]) -> None:
        """Return taken waiters to the front of the queue, in their order."""
        with self._guard:
            for waiter in reversed([waiter for waiter in waiters if waiter.state == "taken"]):
                self._waiting.appendleft(waiter)
                self._move(waiter, "waiting")

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _move(self, waiter: Waiter[WorkT], state: State) -> None:
        waiter.state = state
        waiter.wake()

    def _leave(self, waiter: Waiter[WorkT]) -> None:
        """The owner was interrupted: it leaves the queue, or passes on a turn that came in that very moment."""
        with self._guard:
            had_turn = waiter.state == "turn"
            if waiter.state == "waiting":
                self._waiting.remove(waiter)
            waiter.state = "left"
        if had_turn:
            self.release()
