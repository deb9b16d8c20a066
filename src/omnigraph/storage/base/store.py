"""What the protocols need to reach one graph: its root, small objects, settings and gates."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

from omnigraph.memory.budget import NOTHING_KEPT, MemoryBudget, open_budget
from omnigraph.settings import DEFAULTS, Settings
from omnigraph.storage.base.gates import Gates, gates_for
from omnigraph.storage.base.layout import Root, normalize_root
from omnigraph.storage.base.objects import Objects, open_objects
from omnigraph.storage.base.recent_writes import RecentWrites, recent_writes_of

_THREADS = 8
EachT = TypeVar("EachT")
DoneT = TypeVar("DoneT")


@dataclass(frozen=True, slots=True)
class Store:
    """One graph as seen by this process; cheap to make, without state of the graph but what its memory keeps."""

    root: Root
    objects: Objects
    settings: Settings
    gates: Gates
    recent: RecentWrites
    # What a writer does now and then when it has committed (`settings.history_versions`); handed in by those above.
    forget: Callable[[], None] | None = None

    @property
    def memory(self) -> MemoryBudget:
        """What this graph keeps in memory; closing it releases everything."""
        return self.root.memory

    def side_by_side(self, work: Callable[[EachT], DoneT], items: Iterable[EachT]) -> list[DoneT]:
        """The same for every item: at once where each is a round trip to an object store, else in order.

        Returns, or raises what the first of them raised, when all have ended.
        """
        each = list(items)
        if not self.root.is_remote or len(each) < 2:
            return [work(item) for item in each]
        with ThreadPoolExecutor(min(len(each), _THREADS), thread_name_prefix="omnigraph-tables") as pool:
            return [done.result() for done in [pool.submit(work, item) for item in each]]


def store_for(root: Root | str | os.PathLike[str], settings: Settings = DEFAULTS) -> Store:
    """The store at a root, with memory of its own; it shares gates with every other store of the same graph."""
    place = root if isinstance(root, Root) else normalize_root(root)
    if place.memory is NOTHING_KEPT:
        place = replace(
            place, memory=open_budget(settings.memory), cache_bytes=settings.cache_bytes, sync=settings.sync
        )
    canonical = place.canonical
    return Store(place, open_objects(place), settings, gates_for(canonical), recent_writes_of(canonical))
