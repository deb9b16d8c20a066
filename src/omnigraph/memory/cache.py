"""The one bounded cache: values under keys that name exact content, so nothing is invalidated, only evicted."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from omnigraph.memory.budget import MemoryBudget

ValueT = TypeVar("ValueT")
_clock = count()
_WORTH_FOLLOWING = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class CacheKind(Generic[ValueT]):
    """What is held under a name, and how much of the budget it may take; `budget.cache(kind)` is the cache itself.

    `share` is the part of the budget that all values of this kind may take, `largest` the part of that which a single
    one may: a larger one is not worth what it would push out. `entries` bounds their number as well. `by_name` says
    that keys use names of branches, which may come to mean something else: such values go when that may have happened.
    `refers` says that values hold on to values of other kinds: they go when room had to be made, so that what was let
    go is not held on to.
    """

    name: str
    weigh: Callable[[ValueT], int]
    share: float = 1.0
    largest: float = 0.25
    entries: int | None = None
    by_name: bool = False
    refers: bool = False


class _Entry(Generic[ValueT]):
    __slots__ = ("size", "used", "value")

    def __init__(self, value: ValueT, size: int) -> None:
        self.value = value
        self.size = size
        self.used = next(_clock)


class Cache(Generic[ValueT]):
    """The values of one kind that one opened graph holds; the least recently used go first. Safe between threads."""

    def __init__(self, kind: CacheKind[ValueT], budget: MemoryBudget) -> None:
        self.kind = kind
        self.capacity = int(budget.limit * kind.share)
        self._largest = int(self.capacity * kind.largest)
        self._budget = budget
        self._lock = threading.Lock()
        self._held: OrderedDict[Hashable, _Entry[ValueT]] = OrderedDict()
        self._building: dict[Hashable, threading.Lock] = {}
        self._total = 0

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._held

    @property
    def held_bytes(self) -> int:
        """Bytes held now."""
        return self._total

    def keys(self) -> list[Hashable]:
        """The keys of what is held, the least recently used first."""
        with self._lock:
            return list(self._held)

    def get(self, key: Hashable) -> ValueT | None:
        """The value, now the most recently used; None when it is not held."""
        with self._lock:
            found = self._held.get(key)
            if found is None:
                return None
            self._held.move_to_end(key)
            found.used = next(_clock)
            return found.value

    def accepts(self, size: int) -> bool:
        """Whether a value of this size would be held."""
        return size <= self._largest

    def put(self, key: Hashable, value: ValueT) -> None:
        """Hold a value, or the same one again after it has grown; one that is too large is let go."""
        size = self.kind.weigh(value)
        with self._lock:
            freed = self._drop(key)
            if not self.accepts(size) or self._budget.closed:
                added = 0
            else:
                self._held[key] = _Entry(value, size)
                self._total += size
                added = size
            while self._total > self.capacity or len(self._held) > (self.kind.entries or len(self._held)):
                freed += self._drop_oldest()
        self._budget.account(added - freed)
        self._made_room(freed)

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

    def forget(self, key: Hashable) -> None:
        """Let go of one value."""
        self.take(key)

    def take(self, key: Hashable) -> ValueT | None:
        """The value, held no longer: it belongs to the caller."""
        with self._lock:
            found = self._held.get(key)
            freed = self._drop(key)
        self._budget.account(-freed)
        return None if found is None else found.value

    def clear(self) -> None:
        """Let go of everything."""
        with self._lock:
            freed = self._total
            self._held.clear()
            self._total = 0
        self._budget.account(-freed)

    # --- for the budget ----------------------------------------------------------------------------------

    def oldest(self) -> int | None:
        """When the least recently used value was used; None when nothing is held."""
        with self._lock:
            return next(iter(self._held.values())).used if self._held else None

    def evict(self) -> None:
        """Let go of the least recently used value."""
        with self._lock:
            freed = self._drop_oldest() if self._held else 0
        self._budget.account(-freed)
        self._made_room(freed)

    def _made_room(self, freed: int) -> None:
        if freed >= _WORTH_FOLLOWING and not self.kind.refers:
            self._budget.clear_referring()

    def _drop(self, key: Hashable) -> int:
        found = self._held.pop(key, None)
        if found is None:
            return 0
        self._total -= found.size
        return found.size

    def _drop_oldest(self) -> int:
        return self._drop(next(iter(self._held)))
