"""Process-wide caches of immutable derived values, bounded by bytes, least recently used out first."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

ValueT = TypeVar("ValueT")
_REMEMBERED = 1_024
_LOOK_AGAIN_SECONDS = 10.0


class ByteCache(Generic[ValueT]):
    """Values under keys that name an exact version, so nothing is ever invalidated, only evicted."""

    def __init__(self, capacity: int, size: Callable[[ValueT], int], *, share: int = 4) -> None:
        self.capacity = capacity
        self._share = share
        self._size = size
        self._lock = threading.Lock()
        self._held: OrderedDict[Hashable, tuple[ValueT, int]] = OrderedDict()
        self._building: dict[Hashable, threading.Lock] = {}
        self._total = 0

    def get(self, key: Hashable) -> ValueT | None:
        """The value, now the most recently used; None when it is not held."""
        with self._lock:
            if key not in self._held:
                return None
            self._held.move_to_end(key)
            return self._held[key][0]

    def accepts(self, size: int) -> bool:
        """Whether a value of this size would be held."""
        return size <= self.capacity // self._share

    def put(self, key: Hashable, value: ValueT) -> None:
        """Hold a value; one that fills more than its share of the cache is not worth what it would push out."""
        size = self._size(value)
        if not self.accepts(size):
            return
        with self._lock:
            self._drop(key)
            self._held[key] = (value, size)
            self._total += size
            while self._total > self.capacity:
                self._drop(next(iter(self._held)))

    def get_or_build(self, key: Hashable, build: Callable[[], ValueT]) -> ValueT:
        """The held value, or a new one; threads that want the same value wait for one of them to build it."""
        value = self.get(key)
        if value is not None:
            return value
        with self._lock:
            gate = self._building.setdefault(key, threading.Lock())
        try:
            with gate:
                value = self.get(key)
                if value is None:
                    value = build()
                    self.put(key, value)
        finally:
            with self._lock:
                self._building.pop(key, None)
        return value

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._held.clear()
            self._total = 0

    def _drop(self, key: Hashable) -> None:
        _, size = self._held.pop(key, (None, 0))
        self._total -= size


class Spending:
    """Seconds spent under a key on doing without a derived value; only a hint, so forgetting some is harmless."""

    def __init__(self) -> None:
        self._spent: dict[Hashable, float] = {}

    def add(self, key: Hashable, seconds: float) -> None:
        """Some more."""
        if len(self._spent) > _REMEMBERED:
            self._spent.clear()
        self._spent[key] = self._spent.get(key, 0.0) + seconds

    def of(self, key: Hashable) -> float:
        """All so far."""
        return self._spent.get(key, 0.0)


class Searches:
    """When something was last looked for in vain: another process may make it, but not many times a second."""

    def __init__(self) -> None:
        self._missed: dict[Hashable, float] = {}

    def due(self, key: Hashable) -> bool:
        """Whether to look, again or for the first time; the answer counts as having looked."""
        now = time.monotonic()
        if now - self._missed.get(key, -_LOOK_AGAIN_SECONDS) < _LOOK_AGAIN_SECONDS:
            return False
        if len(self._missed) > _REMEMBERED:
            self._missed.clear()
        self._missed[key] = now
        return True


@dataclass(slots=True)
class Fetched:
    """What fetching single rows of one column has cost so far."""

    rows: int = 0
    bytes: int = 0
    seconds: float = 0.0


class Fetches:
    """Per column what fetching single rows has cost; tells when reading the whole column would have been better."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Fetched] = {}

    def add(self, key: Hashable, rows: int, size: int, seconds: float) -> None:
        """One more fetch."""
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        known = self._known.setdefault(key, Fetched())
        known.rows += rows
        known.bytes += size
        known.seconds += seconds

    def of(self, key: Hashable) -> Fetched:
        """All so far."""
        return self._known.get(key) or Fetched()

    def settle(self, key: Hashable) -> None:
        """Start over: the column is held now."""
        self._known.pop(key, None)
