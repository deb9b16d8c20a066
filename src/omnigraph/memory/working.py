"""Memory of work in progress: one amount for the process, from which running queries draw, and a part for callers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from omnigraph.errors import Overloaded, ResourceLimitExceeded, TooManyRequests
from omnigraph.memory.allowance import allowed_memory

_PART = 4  # of what the process may use; caches take half of it by default, libraries what they need
_RESOURCE = "query_bytes"


class WorkingMemory:
    """An amount of memory and how much of it is drawn. Safe between threads."""

    def __init__(self, capacity: int | None = None) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self.drawn = 0
        self.refused = 0

    @property
    def capacity(self) -> int:
        """How much may be drawn; by default a quarter of what the process may use."""
        if self._capacity is None:
            self._capacity = allowed_memory() // _PART
        return self._capacity

    @capacity.setter
    def capacity(self, size: int) -> None:
        self._capacity = size

    def draw(self, size: int) -> bool:
        """Take memory; False when others hold too much of it."""
        with self._lock:
            if self.drawn + size > self.capacity:
                self.refused += 1
                return False
            self.drawn += size
            return True

    def give_back(self, size: int) -> None:
        """Return memory, so that others can take it."""
        with self._lock:
            self.drawn -= size


PROCESS = WorkingMemory()


class Reservation:
    """What one request holds: as much as the largest thing it needed so far."""

    def __init__(self, own: WorkingMemory | None = None, process: WorkingMemory = PROCESS) -> None:
        self._own = own
        self._process = process
        self._lock = threading.Lock()
        self.size = 0

    def need(self, size: int) -> None:
        """Hold at least `size`; refused for good when it exceeds the whole amount, for now when too much is held."""
        if size <= self.size:
            return
        with self._lock:
            more = size - self.size
            for pool in (self._process, self._own):
                if pool is not None and size > pool.capacity:
                    raise ResourceLimitExceeded(_RESOURCE, limit=pool.capacity, actual=size)
            if self._own is not None and not self._own.draw(more):
                held = f"{self._own.drawn} of {self._own.capacity} bytes"
                raise TooManyRequests(f"other queries of this actor hold {held} of its memory; try again later")
            if not self._process.draw(more):
                if self._own is not None:
                    self._own.give_back(more)
                raise Overloaded(f"running queries hold {self._process.drawn} of {self._process.capacity} bytes")
            self.size = size

    def has_room(self, size: int) -> bool:
        """Hold at least `size` if that is possible now."""
        try:
            self.need(size)
        except (ResourceLimitExceeded, TooManyRequests, Overloaded):
            return False
        return True

    def keep(self, size: int) -> None:
        """Give back what is held above `size`."""
        with self._lock:
            if size < self.size:
                for pool in (self._process, self._own):
                    if pool is not None:
                        pool.give_back(self.size - size)
                self.size = size

    def close(self) -> None:
        """Give everything back."""
        self.keep(0)


_CURRENT: ContextVar[Reservation | None] = ContextVar("omnigraph_reservation", default=None)


@contextmanager
def reserving(reservation: Reservation) -> Iterator[None]:
    """Let the queries of the block draw on a reservation that outlives them."""
    token = _CURRENT.set(reservation)
    try:
        yield
    finally:
        _CURRENT.reset(token)


@contextmanager
def reservation() -> Iterator[Reservation]:
    """What a query draws on: the reservation around it, or one of its own until it ends."""
    found = _CURRENT.get()
    if found is not None:
        yield found
        return
    own = Reservation()
    try:
        yield own
    finally:
        own.close()


def need_more(size: int) -> None:
    """Add to what the reservation around this holds; without one nothing is counted."""
    found = _CURRENT.get()
    if found is not None:
        found.need(found.size + size)
