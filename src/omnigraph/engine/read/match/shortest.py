"""`shortest $p: …`: how long the shortest path between two linked nodes is, and which nodes it passes.

Of several shortest paths the one whose ids come first is taken, node by node, so that the choice never depends on luck.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir.link import OPEN_HOPS, Link
from omnigraph.compiler.ir.ops import ShortestPath
from omnigraph.compiler.types import union_name
from omnigraph.engine.read.columns.arrays import Mask, Rows
from omnigraph.engine.read.frames.frame import Frame, first_places
from omnigraph.engine.read.frames.paths import PathColumns
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import PATH, Columns, UnionColumns
from omnigraph.engine.read.match.expand import Steps
from omnigraph.engine.read.match.mixed import MixedSteps
from omnigraph.engine.read.match.reach import Neighbours, Space, Visited
from omnigraph.engine.read.shape.order import id_ranks


def shortest_paths(run: Run, frame: Frame, op: ShortestPath) -> Frame:
    """Bind the path of each row; its ends are bound and the link holds between them."""
    link = op.link
    code, count = frame.codes((link.tail, link.head))
    first = first_places(code, count)
    tails, heads = (_searched(run, link, end, frame.rows(end)[first]) for end in (link.tail, link.head))
    with_nodes = "nodes" in op.columns
    # Lengths are the same from both ends; nodes are compared from the tail on.
    backward = not with_nodes and len(np.unique(heads)) < len(np.unique(tails))
    near, far = (heads, tails) if backward else (tails, heads)
    search = _Search(run, link, near, far, backward=backward, with_nodes=with_nodes)
    search.run_all()
    # A distance below the lower bound is made up for by one more hop around the head's loop.
    lengths = np.where(search.distance >= link.min_hops, search.distance, search.distance + 1)
    nodes = _node_ids(search, lengths, heads) if with_nodes else None
    numbers = run.paths.setdefault(op.var, PathColumns()).add(lengths, nodes)
    return frame.bind(op.var, f"{PATH}{op.var}", numbers[code])


def _searched(run: Run, link: Link, end: str, rows: Rows) -> Rows:
    return run.numbering.coded(f"node:{link.type_of(end)}", rows) if link.ways else rows


def _graph(run: Run, link: Link, *, backward: bool) -> tuple[Neighbours, int | None]:
    if link.ways:
        mixed = MixedSteps(run, link, Steps, backward=backward)
        return mixed, mixed.stride
    direction = "both" if link.undirected else "in" if backward else "out"
    return Steps(run, link, direction), None


def _passed(run: Run, link: Link) -> Columns:
    """Where the nodes of a path have their ids."""
    if not link.ways:
        return run.columns(f"node:{link.tail_type}")
    types = {name for way in link.ways for name in (way.from_type, way.to_type)}
    return UnionColumns(run, f"node:{union_name(types)}")


@dataclass(frozen=True, slots=True)
class _Layer:
    """The nodes at one distance of their starts, and every step (place in the layer before, place here) to them."""

    origin: Rows
    node: Rows
    parent: Rows
    child: Rows


@dataclass
class _Search:
    """Breadth-first search for the distance of every pair, block by block of distinct starts."""

    run: Run
    link: Link
    near: Rows
    far: Rows
    backward: bool
    with_nodes: bool
    distance: Rows = field(init=False)
    routes: list[tuple[Rows, Rows]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.distance = np.full(len(self.near), -1, np.int64)
        self._graph, stride = _graph(self.run, self.link, backward=self.backward)
        self._starts, self._start_of = np.unique(self.near, return_inverse=True)
        self._space = Space.of(self._graph, self._starts) if stride is None else Space(None, stride)
        self._columns = _passed(self.run, self.link)

    def run_all(self) -> None:
        width = self._space.width
        for begin in range(0, len(self._starts), width):
            pairs = np.flatnonzero((self._start_of >= begin) & (self._start_of < begin + width))
            self._block(self._starts[begin : begin + width], pairs, self._start_of[pairs] - begin)

    def _block(self, block: Rows, pairs: Rows, origin_of: Rows) -> None:
        """Distances (and routes) of the pairs whose starts are in the block."""
        visited = self._space.visited(len(block))
        numbers, nowhere = np.arange(len(block)), np.empty(0, np.int64)
        layers = [_Layer(numbers, block, nowhere, nowhere)]
        if not self.link.is_cycle:
            visited.fresh(numbers, block)  # the way back to a start leads to a node like any other
        place = np.full(len(pairs), -1, np.int64)
        total = 0
        while True:
            self._settle(layers, pairs, origin_of, place)
            if (self.distance[pairs] >= 0).all() or not len(layers[-1].node):
                break
            if self.link.max_hops >= OPEN_HOPS:
                self.run.budget.admit_hops(len(layers))
            layers.append(self._next(layers[-1], visited))
            total += len(layers[-1].node) + len(layers[-1].parent)
            self.run.budget.admit(total, row_bytes=16)
        if self.with_nodes:
            self._trace(layers, pairs, place)

    def _settle(self, layers: list[_Layer], pairs: Rows, origin_of: Rows, place: Rows) -> None:
        """Give the newest layer's distance to the pairs that end in it."""
        layer = layers[-1]
        if not len(layer.node) or (self.link.is_cycle and len(layers) == 1 and self.link.min_hops > 0):
            return
        stride = self._space.span or self._space.stride
        keys = layer.origin * stride + layer.node
        wanted = origin_of * stride + self.far[pairs]
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        hit = (keys[at] == wanted) & (self.distance[pairs] < 0)
        self.distance[pairs[hit]] = len(layers) - 1
        place[hit] = at[hit]

    def _next(self, layer: _Layer, visited: Visited) -> _Layer:
        lists = self._graph.around(np.unique(layer.node)).simple
        at, neighbour, _ = lists.expand(layer.node)
        self.run.budget.admit(len(at), row_bytes=24)
        origin, node = visited.fresh(layer.origin[at], neighbour)
        nowhere = np.empty(0, np.int64)
        if not self.with_nodes or not len(node):
            return _Layer(origin, node, nowhere, nowhere)
        stride = self._space.span or self._space.stride
        keys = origin * stride + node
        reached = layer.origin[at] * stride + neighbour
        child = np.minimum(np.searchsorted(keys, reached), len(keys) - 1)
        new = keys[child] == reached
        return _Layer(origin, node, at[new], child[new])

    def _trace(self, layers: list[_Layer], pairs: Rows, place: Rows) -> None:
        """The nodes of each pair's path, walked back from its end; one row a pair, all pairs of a distance together."""
        chosen = _first_parents(layers, self._columns, self.distance[pairs], place)
        for hops in np.unique(self.distance[pairs]).tolist():  # no pair is without one: the link holds
            ends = np.flatnonzero(self.distance[pairs] == hops)
            at = place[ends]
            steps = [layers[hops].node[at]]
            for depth in range(hops, 0, -1):
                at = chosen[depth][at]
                steps.append(layers[depth - 1].node[at])
            self.routes.append((pairs[ends], np.stack(steps[::-1], axis=1)))

    def ids(self, nodes: Rows) -> pa.Array:
        """The ids of nodes on the way."""
        return self._columns.values("id", nodes)


def _first_parents(layers: list[_Layer], columns: Columns, distance: Rows, place: Rows) -> list[Rows]:
    """For each layer the parent of each node on the path whose ids come first; ids are read on shortest paths only."""
    needed = _on_the_way(layers, distance, place)
    rank = np.arange(len(layers[0].node))
    chosen = [rank]
    for layer, wanted in zip(layers[1:], needed[1:], strict=True):
        used = np.flatnonzero(wanted[layer.child])
        parent, child = layer.parent[used], layer.child[used]
        order = np.lexsort((rank[parent], child))
        nodes, first = np.unique(child[order], return_index=True)
        best = parent[order[first]]
        ids = id_ranks(columns, layer.node[nodes])
        by_path = np.lexsort((layer.node[nodes], ids, rank[best], layer.origin[nodes]))
        parents, rank = np.full(len(layer.node), -1), np.full(len(layer.node), -1)
        parents[nodes] = best
        rank[nodes[by_path]] = np.arange(len(nodes))
        chosen.append(parents)
    return chosen


def _on_the_way(layers: list[_Layer], distance: Rows, place: Rows) -> list[Mask]:
    """Which nodes of each layer lie on a shortest path to one of the ends."""
    needed = [np.zeros(len(layer.node), np.bool_) for layer in layers]
    for depth in range(len(layers) - 1, -1, -1):
        needed[depth][place[distance == depth]] = True
        if depth:
            layer = layers[depth]
            needed[depth - 1][layer.parent[needed[depth][layer.child]]] = True
    return needed


def _node_ids(search: _Search, lengths: Rows, heads: Rows) -> pa.Array:
    """Each path as the ids of its nodes; a loop at its end repeats the last one."""
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths + 1)])
    passed = np.empty(int(offsets[-1]), np.int64)
    for pairs, route in search.routes:
        passed[offsets[pairs][:, None] + np.arange(route.shape[1])] = route
    looped = np.flatnonzero(lengths > search.distance)
    passed[offsets[looped + 1] - 1] = heads[looped]
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), search.ids(passed).cast(pa.utf8()))
