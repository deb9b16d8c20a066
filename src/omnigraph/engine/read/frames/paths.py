"""The paths one execution has found so far, by number: lengths, costs, and what lies along them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.compiler.types import PropType, union_members
from omnigraph.engine.read.columns.arrays import Rows, flatten

if TYPE_CHECKING:
    from omnigraph.compiler.catalog.model import Catalog
    from omnigraph.compiler.ir.ops import ShortestPath
    from omnigraph.engine.read.frames.unions import Columns

_IDS = PropType("String", list=True)
_OWN = {"length": PropType("I64"), "cost": PropType("F64"), "nodes": _IDS, "edges": _IDS}


def path_types(op: ShortestPath, catalog: Catalog) -> dict[str, PropType]:
    """What is read of each path that an operator binds, beside its length."""
    return {name: _OWN.get(name) or _listed(op, name, catalog) for name in ("length", *op.columns)}


def _listed(op: ShortestPath, name: str, catalog: Catalog) -> PropType:
    """The values of a property along the path."""
    word, _, prop = name.partition(".")
    if word == "nodes":
        kind = catalog.nodes[min(op.link.node_types)].properties[prop]
    else:
        kind = catalog.edges[union_members(op.link.edge)[0]].properties[prop]
    return replace(kind, list=True, nullable=False)


@dataclass(frozen=True, slots=True)
class Found:
    """Paths between numbered pairs of nodes: all of their nodes, and their edges if they are read, in a row."""

    pairs: Rows
    lengths: Rows
    costs: npt.NDArray[np.float64]
    nodes: Rows
    edges: Rows | None = None

    @property
    def offsets(self) -> Rows:
        """Where the nodes of each path begin, and where the last ones end."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.lengths + 1)])


@dataclass(frozen=True, slots=True)
class _Batch:
    """What one search has found, and where its nodes and edges have their values."""

    first: int
    found: Found
    nodes: Columns
    edges: Columns

    def values(self, name: str, rows: Rows) -> pa.Array:
        found = self.found
        match name.partition("."):
            case ("id", _, _):
                return pa.array(rows + self.first)
            case ("length", _, _):
                return pa.array(found.lengths[rows])
            case ("cost", _, _):
                return pa.array(found.costs[rows])
            case ("nodes", _, prop):
                begin = found.offsets[:-1]
                return _lists(self.nodes, prop or "id", found.nodes, begin[rows], found.lengths[rows] + 1)
            case (_, _, prop):
                assert found.edges is not None
                begin = found.offsets[:-1] - np.arange(len(found.lengths))
                return _lists(self.edges, prop or "id", found.edges, begin[rows], found.lengths[rows])


class PathColumns:
    """Grows by one batch each time a search for paths has run; a path keeps its number."""

    def __init__(self) -> None:
        self._batches: list[_Batch] = []
        self._count = 0

    def add(self, found: Found, nodes: Columns, edges: Columns) -> Rows:
        """The numbers of new paths."""
        self._batches.append(_Batch(self._count, found, nodes, edges))
        numbers = self._count + np.arange(len(found.lengths))
        self._count += len(found.lengths)
        return numbers

    def values(self, name: str, rows: Rows) -> pa.Array:
        """The value for each path; `id` is its number, in the order of paths between the same ends."""
        if len(self._batches) == 1:
            return self._batches[0].values(name, rows)
        batch_of = np.searchsorted([batch.first for batch in self._batches], rows, side="right") - 1
        places, parts = [], []
        for at in np.unique(batch_of).tolist():
            batch, mine = self._batches[at], np.flatnonzero(batch_of == at)
            places.append(mine)
            parts.append(batch.values(name, rows[mine] - batch.first))
        order = np.empty(len(rows), np.int64)
        order[np.concatenate(places)] = np.arange(len(rows))
        return pa.concat_arrays(parts).take(pa.array(order))

    def load(self, names: Iterable[str], rows: Rows) -> None:
        """What lies along a path is read when it is asked for."""


def _lists(columns: Columns, name: str, entities: Rows, begin: Rows, sizes: Rows) -> pa.Array:
    """A list of values for each run of entities; nulls are left out, as `collect` does."""
    wanted = entities[flatten(begin, begin + sizes)]
    values = columns.values(name, wanted) if len(wanted) else columns.values(name, entities[:0])
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    if values.null_count:
        present = values.is_valid().to_numpy(zero_copy_only=False)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(present)])[offsets]
        values = values.drop_null()
    if pa.types.is_large_string(values.type) or pa.types.is_dictionary(values.type):
        values = values.cast(pa.utf8())
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
