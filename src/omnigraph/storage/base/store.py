"""What the protocols need to reach one graph: its root, small objects, settings and gates."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from omnigraph.memory.budget import NOTHING_KEPT, MemoryBudget, open_budget
from omnigraph.settings import DEFAULTS, Settings
from omnigraph.storage.base.gates import Gates, gates_for
from omnigraph.storage.base.layout import Root, normalize_root
from omnigraph.storage.base.objects import Objects, open_objects
from omnigraph.storage.base.recent_writes import RecentWrites, recent_writes_of


@dataclass(frozen=True, slots=True)
class Store:
    """One graph as seen by this process; cheap to make, holds no state of the graph but what its memory keeps."""

    root: Root
    objects: Objects
    settings: Settings
    gates: Gates
    recent: RecentWrites

    @property
    def memory(self) -> MemoryBudget:
        """What this graph keeps in memory; closing it releases everything."""
        return self.root.memory


def store_for(root: Root | str | os.PathLike[str], settings: Settings = DEFAULTS) -> Store:
    """The store at a root, with memory of its own; it shares gates with every other store of the same graph."""
    place = root if isinstance(root, Root) else normalize_root(root)
    if place.memory is NOTHING_KEPT:
        place = replace(place, memory=open_budget(settings.memory))
    canonical = place.canonical
    return Store(place, open_objects(place), settings, gates_for(canonical), recent_writes_of(canonical))
