"""The shape of one edge table: neighbour lists in both directions over node row ids, built once per version."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from omnigraph.engine.read.adjacency import Adjacency, Rows, build
from omnigraph.engine.read.cache import ByteCache
from omnigraph.engine.read.entities import ROW_ID, Entities
from omnigraph.engine.read.rowindex import row_ids

_TOPOLOGY_CACHE_BYTES = 2 << 30


@dataclass(frozen=True, slots=True)
class Ends:
    """The three tables behind a traversal: the edges, and the nodes at their source and target ends."""

    edges: Entities
    tails: Entities
    heads: Entities

    @property
    def key(self) -> Hashable:
        """Names the exact versions; a node table counts too, because it says which row id an endpoint has."""
        return (self.edges.version_key, self.tails.version_key, self.heads.version_key)


class Topology:
    """Neighbour lists by source (`out`), by target (`in`), and by either end (`both`); the latter two on demand."""

    def __init__(self, out: Adjacency, span: int) -> None:
        self.out = out
        self.span = span
        self._derived: dict[str, Adjacency] = {"out": out}
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        # What may be derived later is counted from the start: the cache asks only once.
        return self.out.nbytes * 3

    def lists(self, direction: str) -> Adjacency:
        """Neighbour lists along the edges (`out`), against them (`in`) or regardless of direction (`both`)."""
        with self._lock:
            if direction not in self._derived:
                self._derived[direction] = self._reverse() if direction == "in" else self._merge()
            return self._derived[direction]

    def _reverse(self) -> Adjacency:
        sources, targets, edges = self._triples()
        return build(targets, sources, edges)

    def _merge(self) -> Adjacency:
        sources, targets, edges = self._triples()
        # A self-loop is one edge at one node, not two.
        again = sources != targets
        return build(
            np.concatenate([sources, targets[again]]),
            np.concatenate([targets, sources[again]]),
            np.concatenate([edges, edges[again]]),
        )

    def _triples(self) -> tuple[Rows, Rows, Rows]:
        return self.out.owners, self.out.neighbours.astype(np.int64), self.out.edges.astype(np.int64)


TOPOLOGIES: ByteCache[Topology] = ByteCache(_TOPOLOGY_CACHE_BYTES, lambda topology: topology.nbytes)


def cached_topology(ends: Ends) -> Topology | None:
    """The topology of these exact versions if this process has it."""
    return TOPOLOGIES.get(ends.key)


def topology(ends: Ends) -> Topology:
    """The topology of these exact versions, built if need be."""
    return TOPOLOGIES.get_or_build(ends.key, lambda: build_topology(ends))


def build_topology(ends: Ends) -> Topology:
    """One scan of the edges, and one join per endpoint from stored id to row id."""
    joined = ends.edges.handle.scan([ROW_ID, "src", "dst"]).rename_columns(["edge", "src", "dst"])
    tails = _ids(ends.tails, "tail")
    same = ends.tails.version_key == ends.heads.version_key
    heads = tails.rename_columns(["id", "head"]) if same else _ids(ends.heads, "head")
    joined = joined.join(tails, "src", "id", join_type="inner").select(["edge", "dst", "tail"])
    joined = joined.join(heads, "dst", "id", join_type="inner")
    edge, tail, head = (row_ids(joined[name]) for name in ("edge", "tail", "head"))
    return Topology(from_triples(tail, head, edge), _span(tail, head))


def from_triples(sources: Rows, targets: Rows, edges: Rows) -> Adjacency:
    """Neighbour lists of edges in any order."""
    order = np.argsort(edges, kind="stable")
    return build(sources[order], targets[order], edges[order])


def _ids(nodes: Entities, name: str) -> pa.Table:
    return nodes.handle.scan(["id", ROW_ID]).rename_columns(["id", name])


def _span(*rows: Rows) -> int:
    return max((int(part.max()) + 1 for part in rows if len(part)), default=0)
