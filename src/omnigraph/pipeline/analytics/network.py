"""Which part of a graph an algorithm sees: some edge types, all nodes at their ends, numbered through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import EdgeType, NodeType
from omnigraph.display import counted
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.rowindex import RowIndex
from omnigraph.engine.read.topology.store import topology
from omnigraph.engine.read.topology.topology import Ends
from omnigraph.engine.views.view import View
from omnigraph.errors import BadRequest, NotFound
from omnigraph.pipeline.analytics.kernels import Floats, Pairs

# What one edge and one node take while an algorithm runs on arrays; from the peak of the hungriest one.
_EDGE_BYTES = 96
_NODE_BYTES = 96
_LEAST_BYTES = 256 << 20  # a graph that keeps little may still be analysed


@dataclass(frozen=True, slots=True)
class Selection:
    """The edge types an algorithm follows, the node types at their ends, and the property that weighs an edge."""

    view: View
    edges: tuple[EdgeType, ...]
    weight: str | None = None

    @property
    def nodes(self) -> tuple[NodeType, ...]:
        """Node types in name order, which is also the order of results."""
        names = sorted({end for edge in self.edges for end in (edge.from_type, edge.to_type)})
        return tuple(self.view.catalog.nodes[name] for name in names)

    @property
    def memory(self) -> int:
        """About how many bytes an algorithm in memory takes."""
        return _EDGE_BYTES * self._rows(self.edges) + _NODE_BYTES * self._rows(self.nodes)

    @property
    def rows(self) -> int:
        """How many nodes and edges there are."""
        return self._rows(self.edges) + self._rows(self.nodes)

    @property
    def fits(self) -> bool:
        """Whether this graph may use enough memory to run it in this process."""
        return self.memory <= self.view.tables.memory.share(1.0, least=_LEAST_BYTES)

    def _rows(self, infos: Sequence[NodeType | EdgeType]) -> int:
        return sum(entry.row_count for info in infos if (entry := self.view.find(info)) is not None)


def select(view: View, edge: str | Sequence[str], weight: str | None = None) -> Selection:
    """The part that a caller named; unknown types and unfit weights are reported."""
    names = [edge] if isinstance(edge, str) else list(edge)
    if not names:
        raise BadRequest("name at least one edge type")
    found: list[EdgeType] = []
    for name in names:
        info = view.catalog.edge(name.removeprefix("edge:"))
        if info is None:
            known = ", ".join(sorted(view.catalog.edges)) or "none"
            raise NotFound(f"the schema has no edge type '{name}' (it has {known})")
        if weight is not None and (weight not in info.properties or not info.properties[weight].is_numeric):
            raise BadRequest(f"'{weight}' is not a numeric property of edge type '{info.name}', so it cannot weigh it")
        found.append(info)
    return Selection(view, tuple({info.name: info for info in found}.values()), weight)


class Network:
    """A selection in memory: nodes as positions, type after type and in storage order within each."""

    def __init__(self, selection: Selection, *, keep: bool = False) -> None:
        self.selection = selection
        self._keep = keep
        view = selection.view
        self._nodes = {info.name: Entities(view, info) for info in selection.nodes if view.find(info) is not None}
        self._indexes = {name: RowIndex(entities.all_rows()) for name, entities in self._nodes.items()}
        self._starts: dict[str, int] = {}
        count = 0
        for name, index in self._indexes.items():
            self._starts[name] = count
            count += len(index)
        self.count = count

    @cached_property
    def pairs(self) -> Pairs:
        """Every edge of the selection as positions of its ends."""
        parts = [self._edge_pairs(info) for info in self.selection.edges if self.selection.view.find(info) is not None]
        if not parts:
            empty = np.zeros(0, np.int64)
            return Pairs(self.count, empty, empty)
        sources, targets = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
        weights = np.concatenate([part[2] for part in parts]) if self.selection.weight is not None else None
        return Pairs(self.count, sources, targets, weights)

    def _edge_pairs(self, info: EdgeType) -> tuple[Rows, Rows, Floats]:
        edges = Entities(self.selection.view, info)
        ends = Ends(edges, self._nodes[info.from_type], self._nodes[info.to_type], self._keep)
        lists = topology(ends).out
        sources = self._positions(info.from_type, lists.owners)
        targets = self._positions(info.to_type, lists.neighbours.astype(np.int64, copy=False))
        return sources, targets, self._weights(edges, info, lists.edges.astype(np.int64, copy=False))

    def _weights(self, edges: Entities, info: EdgeType, rows: Rows) -> Floats:
        name = self.selection.weight
        if name is None:
            return np.zeros(0)
        values = edges.values(name, rows)
        if values.null_count:
            raise BadRequest(
                f"{counted(values.null_count, 'edge')} of '{info.name}' without '{name}', so without a weight"
            )
        found: Floats = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        check_weights(info.name, name, bool(np.isfinite(found).all() and (found >= 0).all()))
        return found

    def _positions(self, name: str, rows: Rows) -> Rows:
        return self._indexes[name].positions(rows) + self._starts[name]

    def positions_of(self, type_name: str, ids: Sequence[str]) -> Rows:
        """Where nodes are, by id; NotFound names the first that is not there."""
        stored = self.ids(type_name)
        found = pc.index_in(pa.array(ids, pa.utf8()), value_set=stored)
        for node, place in zip(ids, found.to_pylist(), strict=True):
            if place is None:
                raise NotFound(f"there is no {type_name} '{node}'")
        places: Rows = found.to_numpy(zero_copy_only=False).astype(np.int64)
        return places + self._starts[type_name]

    def ids(self, type_name: str) -> pa.Array:
        """The ids of a node type, in position order."""
        if type_name not in self._nodes:
            return pa.array([], pa.utf8())
        entities = self._nodes[type_name]
        return entities.values("id", entities.all_rows())

    def table(self, name: str, values: pa.Array) -> pa.Table:
        """A value per node as a table: type, id, value."""
        ids = [self.ids(info.name) for info in self.selection.nodes]
        types = [pa.repeat(info.name, len(mine)) for info, mine in zip(self.selection.nodes, ids, strict=True)]
        columns = [pa.chunked_array(types, pa.utf8()), pa.chunked_array(ids, pa.utf8()), values]
        return pa.table(columns, names=["type", "id", name])


def check_weights(edge: str, name: str, good: bool) -> None:
    """Refuse weights that cannot be turned into probabilities."""
    if not good:
        raise BadRequest(f"'{name}' of edge type '{edge}' holds negative or infinite numbers, which cannot be weights")
