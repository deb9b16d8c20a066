"""What one opened graph may keep in memory; all graphs of a process together stay within what the process may use."""

from __future__ import annotations

import functools
import logging
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast
from weakref import WeakSet

from omnigraph.memory.allowance import allowed_memory
from omnigraph.memory.cache import Cache, CacheKind
from omnigraph.memory.sizes import parse_bytes

MEMORY = "OMNIGRAPH_MEMORY"
# One opened graph keeps at most half of what the process may use, unless another figure is given: the other half is
# for queries, which need room for their intermediate results, and for whatever else runs in the process.
_DEFAULT_PART = 2
# What no figure reaches: a process that keeps all it may use is killed when it answers a question.
_MOST = 7 / 8

ValueT = TypeVar("ValueT")
_log = logging.getLogger("omnigraph.memory")


@dataclass(frozen=True, slots=True, eq=False)
class Library(Generic[ValueT]):
    """An object of a library that caches by itself: how it is made for a budget, and how much it holds by now.

    Letting go of the object is all that frees its memory, so that is what happens when nothing else is left to evict.
    """

    name: str
    make: Callable[[MemoryBudget], ValueT]
    weigh: Callable[[ValueT], int]


class Process:
    """The budgets of all graphs that are open in this process.

    Each has a limit of its own. Together they hold at most half of what the process may use, or the sum of the limits
    that were asked for where that is more, and never more than seven eighths; when they would, the values that were
    used longest ago go first, whichever graph they belong to. So an idle graph makes room for a busy one.
    """

    def __init__(self, allowed: Callable[[], int] = allowed_memory) -> None:
        self._allowed = allowed
        self._budgets: WeakSet[MemoryBudget] = WeakSet()
        self.lock = threading.RLock()
        self.allowed = 0

    def add(self, budget: MemoryBudget) -> None:
        with self.lock:
            self._budgets.add(budget)

    def look(self) -> int:
        """What the process may use; asked again whenever a graph is opened, because a limit may have been changed."""
        self.allowed = self._allowed()
        return self.allowed

    @property
    def used(self) -> int:
        """Bytes that all budgets hold."""
        with self.lock:
            return sum(budget.used for budget in self._budgets)

    @property
    def estimate(self) -> int:
        """Bytes that all budgets hold, as far as is known without asking libraries."""
        with self.lock:
            return sum(budget.estimate for budget in self._budgets)

    def usage(self) -> dict[str, int]:
        """Bytes held now by all budgets, by the name of the cache or library."""
        found: dict[str, int] = {}
        with self.lock:
            for budget in self._budgets:
                for name, size in budget.usage().items():
                    found[name] = found.get(name, 0) + size
        return found

    @property
    def capacity(self) -> int:
        """Bytes that all budgets may hold together."""
        with self.lock:
            asked = sum(budget.limit for budget in self._budgets if budget.is_given and not budget.closed)
        return min(int(self.allowed * _MOST), max(self.allowed // _DEFAULT_PART, asked))

    def make_room(self) -> None:
        """Let go of what was used longest ago until the rest fits."""
        with self.lock:
            if self.estimate <= self.capacity:
                return  # before any library is asked
            while self.estimate > self.capacity:
                if not _evict_oldest([cache for budget in self._budgets for cache in budget.caches()]):
                    break
            for budget in sorted(self._budgets, key=lambda each: each.library_bytes, reverse=True):
                if self.estimate <= self.capacity:
                    return
                budget.drop_libraries()


PROCESS = Process()


class MemoryBudget:
    """The memory of one opened graph: a limit, the caches that draw on it, and what they hold now.

    `close` lets everything go and keeps nothing from then on. A budget without references is gone as well.
    """

    def __init__(self, limit: int | None = None, *, process: Process = PROCESS) -> None:
        allowed = process.look()
        self.is_given = limit is not None
        self.limit = allowed // _DEFAULT_PART if limit is None else min(limit, int(allowed * _MOST))
        if limit is not None and limit > self.limit:
            _log.warning("memory of %d bytes is more than this process may use; %d are used", limit, self.limit)
        self.closed = False
        self._process = process
        self._cached = 0
        self._weighed = 0  # what libraries held when they were asked last: asking takes a quarter of a millisecond
        self._added = 0  # since then
        self._caches: dict[CacheKind[Any], Cache[Any]] = {}
        self._libraries: dict[Library[Any], Any] = {}
        process.add(self)

    @property
    def used(self) -> int:
        """Bytes held now."""
        return self._cached + self.library_bytes

    @property
    def library_bytes(self) -> int:
        """Those of them that libraries hold."""
        with self._process.lock:
            return sum(library.weigh(made) for library, made in self._libraries.items())

    @property
    def estimate(self) -> int:
        """Bytes held now, as far as is known without asking libraries."""
        return self._cached + self._weighed

    def usage(self) -> dict[str, int]:
        """Bytes held now, by the name of the cache or library."""
        with self._process.lock:
            libraries = {library.name: library.weigh(made) for library, made in self._libraries.items()}
        return {cache.kind.name: cache.held_bytes for cache in self.caches()} | libraries

    def share(self, part: float, *, least: int = 0, most: int | None = None) -> int:
        """A ceiling that follows the limit, for work in progress or for the cache of a library."""
        size = max(int(self.limit * part), least)
        return size if most is None else min(size, most)

    def cache(self, kind: CacheKind[ValueT]) -> Cache[ValueT]:
        """The cache of one kind, made when it is asked for first."""
        found = self._caches.get(kind)
        if found is None:
            with self._process.lock:
                found = self._caches.setdefault(kind, Cache(kind, self))
        return cast("Cache[ValueT]", found)

    def caches(self) -> list[Cache[Any]]:
        """Every cache that exists."""
        with self._process.lock:
            return list(self._caches.values())

    def library(self, library: Library[ValueT]) -> ValueT:
        """The object of a library, made when it is asked for first; after `close` one that is not shared."""
        found = self._libraries.get(library)
        if found is None:
            made = library.make(self)
            with self._process.lock:
                found = made if self.closed else self._libraries.setdefault(library, made)
        return cast("ValueT", found)

    def drop_library(self, library: Library[Any]) -> None:
        """Let go of the object of a library; the next one starts empty."""
        with self._process.lock:
            self._libraries.pop(library, None)

    def account(self, change: int) -> None:
        """A cache holds so many bytes more, or less; others make room if that is too much."""
        with self._process.lock:
            self._cached += change
            if change <= 0:
                return
            self._added += change
            if self._added > self.limit >> 6:
                self._weighed, self._added = self.library_bytes, 0
            while self.estimate > self.limit and _evict_oldest(self.caches()):
                pass
            self._process.make_room()

    def drop_libraries(self) -> None:
        """Let go of the objects of all libraries."""
        with self._process.lock:
            self._libraries.clear()
            self._weighed = 0

    def forget_names(self) -> None:
        """Let go of what is held under names that may mean something else by now."""
        for cache in self.caches():
            if cache.kind.by_name:
                cache.clear()

    def clear_referring(self) -> None:
        """Let go of what holds on to values of other caches."""
        for cache in self.caches():
            if cache.kind.refers:
                cache.clear()

    def clear(self) -> None:
        """Let go of everything."""
        for cache in self.caches():
            cache.clear()
        self.drop_libraries()

    def close(self) -> None:
        """Let go of everything, for good."""
        self.closed = True
        self.clear()


def open_budget(given: int | str | None = None, env: Mapping[str, str] = os.environ) -> MemoryBudget:
    """The budget of a graph that is being opened: the size given, else that of OMNIGRAPH_MEMORY, else the default."""
    if given is not None:
        return MemoryBudget(parse_bytes(given, name="memory"))
    text = env.get(MEMORY, "").strip()
    return MemoryBudget(parse_bytes(text, name=MEMORY) if text else None)


def _evict_oldest(caches: list[Cache[Any]]) -> bool:
    """Let go of the value that was used longest ago; False when there is none."""
    held = [(used, number) for number, cache in enumerate(caches) if (used := cache.oldest()) is not None]
    if not held:
        return False
    caches[min(held)[1]].evict()
    return True


@functools.cache
def worker_budget() -> MemoryBudget:
    """The budget of a process that was sent the graphs it works on, as Spark workers are; one for all of them.

    A machine runs as many such processes as it has cores, so each takes its part of what one alone might.
    """
    text = os.environ.get(MEMORY, "").strip()
    whole = parse_bytes(text, name=MEMORY) if text else allowed_memory() // _DEFAULT_PART
    return MemoryBudget(whole // (os.cpu_count() or 1))


# For work on a graph that was not opened: nothing is kept.
NOTHING_KEPT = MemoryBudget(0, process=Process(lambda: 0))
NOTHING_KEPT.close()
