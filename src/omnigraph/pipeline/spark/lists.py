"""Neighbour lists beside the graph, as tasks of Spark map them: nothing of them passes through Spark.

Those of an earlier version serve as well while few edges have changed since: what has, travels with the tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.artifacts import Place
from omnigraph.engine.read.topology.adjacency import Adjacency
from omnigraph.engine.read.topology.edge_lookup import ends_of
from omnigraph.engine.read.topology.files import load_lists
from omnigraph.engine.read.topology.overlay import Overlay
from omnigraph.engine.read.topology.store import kept_lists
from omnigraph.engine.views.view import View
from omnigraph.errors import StorageError
from omnigraph.memory.cache import CacheKind

# Bytes of new lists that each task of a query is sent; a node that changed is sent with all of its neighbours.
_MOST_SENT = 16 << 20


@dataclass(frozen=True, slots=True)
class Changed:
    """The rows whose lists are others than those that are kept, and these lists."""

    rows: Rows
    lists: Adjacency

    @property
    def nbytes(self) -> int:
        """About what it takes to send it."""
        return self.rows.nbytes + self.lists.nbytes


@dataclass(frozen=True, slots=True)
class MappedLists:
    """The lists of one edge type at one version, wherever a task runs; `changed` is by direction."""

    place: Place
    changed: Mapping[str, Changed] = field(default_factory=dict)

    def along(self) -> Adjacency:
        """The lists along the edges."""
        return self._mapped("out")

    def against(self) -> Adjacency:
        """The lists against them."""
        return self._mapped("in")

    @property
    def nbytes(self) -> int:
        """About what it takes to send them."""
        return sum(each.nbytes for each in self.changed.values())

    def _mapped(self, direction: str) -> Adjacency:
        found = load_lists(self.place, direction)
        if found is None:
            # Newer versions of the table make room for theirs.
            raise StorageError("neighbour lists were removed while tasks used them: run it again", kind="Transient")
        changed = self.changed.get(direction)
        return found if changed is None else Overlay(found, changed.rows, changed.lists)


def mapped_lists(view: View, info: EdgeType) -> MappedLists | None:
    """The lists of an edge type, where both directions are kept beside the graph for about this version."""
    ends = ends_of(view, info)
    if ends is None:
        return None
    cache = ends.edges.memory.cache(_MAPPED)
    held = cache.get(ends.key)
    if held is not None and all(load_lists(held.place, each) is not None for each in ("out", "in")):
        return held
    place, made = kept_lists(ends) or (None, None)
    if place is None or made is None:
        return None
    lists = {each: made.lists(each) for each in ("out", "in")}
    changed = {name: Changed(each.changed, each.patch) for name, each in lists.items() if isinstance(each, Overlay)}
    found = MappedLists(place, changed)
    if found.nbytes > _MOST_SENT:
        return None
    cache.put(ends.key, found)
    return found


_MAPPED: CacheKind[MappedLists] = CacheKind("lists that tasks map", lambda found: found.nbytes + 1_024)
