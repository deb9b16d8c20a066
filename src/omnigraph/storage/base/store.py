"""What the protocols need to reach one graph: its root, small objects, settings and gates."""

from __future__ import annotations

import os
from dataclasses import dataclass

from omnigraph.settings import DEFAULTS, Settings
from omnigraph.storage.base.gates import Gates, gates_for
from omnigraph.storage.base.layout import Root, normalize_root
from omnigraph.storage.base.objects import Objects, open_objects
from omnigraph.storage.base.recent_writes import RecentWrites, recent_writes_of


@dataclass(frozen=True, slots=True)
class Store:
    """One graph as seen by this process; cheap to make, holds no state of the graph itself."""

    root: Root
    objects: Objects
    settings: Settings
    gates: Gates
    recent: RecentWrites


def store_for(root: Root | str | os.PathLike[str], settings: Settings = DEFAULTS) -> Store:
    """The store at a root; does no I/O, and shares gates with every other store of the same graph."""
    place = root if isinstance(root, Root) else normalize_root(root)
    canonical = place.canonical
    return Store(place, open_objects(place), settings, gates_for(canonical), recent_writes_of(canonical))
