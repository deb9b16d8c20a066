"""Neighbour lists beside the graph, as tasks of Spark map them: nothing of them passes through Spark."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.engine.read.columns.artifacts import Place
from omnigraph.engine.read.topology.adjacency import Adjacency
from omnigraph.engine.read.topology.edge_lookup import ends_of
from omnigraph.engine.read.topology.files import load_lists
from omnigraph.engine.read.topology.store import kept_place
from omnigraph.engine.views.view import View
from omnigraph.errors import StorageError


@dataclass(frozen=True, slots=True)
class MappedLists:
    """The lists of one edge type at one version, wherever a task runs."""

    place: Place

    def along(self) -> Adjacency:
        """The lists along the edges."""
        return self._mapped("out")

    def against(self) -> Adjacency:
        """The lists against them."""
        return self._mapped("in")

    def _mapped(self, direction: str) -> Adjacency:
        found = load_lists(self.place, direction)
        if found is None:
            # Newer versions of the table make room for theirs.
            raise StorageError("neighbour lists were removed while tasks used them: run it again", kind="Transient")
        return found


def mapped_lists(view: View, info: EdgeType) -> MappedLists | None:
    """The lists of an edge type, where both directions are kept beside the graph."""
    ends = ends_of(view, info)
    place = None if ends is None else kept_place(ends)
    return None if place is None else MappedLists(place)
