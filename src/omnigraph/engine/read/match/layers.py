"""Searches in layers from many starts at once: shortest paths by hops, cheapest paths by the costs of steps.

A layer holds what was reached, or reached more cheaply than before, by one hop more, with every step that leads there
as well as any other. A path is walked back from its end, layer by layer.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from omnigraph.compiler.ir.link import OPEN_HOPS
from omnigraph.compiler.ir.ops import ShortestPath
from omnigraph.engine.read.columns.arrays import Mask, Rows, spread
from omnigraph.engine.read.columns.rowindex import RowIndex, distinct_rows
from omnigraph.engine.read.frames.paths import Found
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import Columns
from omnigraph.engine.read.match.along import AlongSteps, CheapestSteps, Costs
from omnigraph.engine.read.match.best import Best
from omnigraph.engine.read.match.expand import graph_of
from omnigraph.engine.read.match.meeting import Meeting, meet
from omnigraph.engine.read.match.reach import Space, Visited
from omnigraph.engine.read.shape.order import id_ranks
from omnigraph.errors import BadRequest

_NOWHERE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class _Layer:
    """The nodes at one distance of their starts, and every step (place in the layer before, place here) to them."""

    origin: Rows
    node: Rows
    parent: Rows
    child: Rows
    cost: Costs | None = None


class _Inexact(Exception):
    """Costs whose sums depend on the end that they are added up from."""


_FEWER = 4  # times fewer heads than tails, at least, so that trying them first pays


def layered_paths(run: Run, op: ShortestPath, tails: Rows, heads: Rows, columns: Columns) -> Found:
    """The shortest or cheapest path of every pair, or all shortest ones."""
    few, many = len(distinct_rows(heads)), len(distinct_rows(tails))
    if op.cost is None:
        # Lengths are the same from both ends; nodes are compared from the tail on.
        backward = few < many and not op.adds_rows and set(op.columns) <= {"length"}
        return _LayeredSearch(run, op, tails, heads, columns, backward=backward).found()
    if few * _FEWER <= many and _asks_for_costs(op):
        # Sums of whole numbers are the same from both ends as well.
        with suppress(_Inexact, BadRequest):  # a step whose cost is refused may be on no way from the tails
            return _LayeredSearch(run, op, tails, heads, columns, backward=True).found()
    return _LayeredSearch(run, op, tails, heads, columns, backward=False).found()


def _asks_for_costs(op: ShortestPath) -> bool:
    """Whether nothing but the cost of the one cheapest path is read."""
    return op.cost is not None and op.kind == "cheapest" and set(op.columns) <= {"cost"} and not op.link.is_cycle


class _LayeredSearch:
    """One search, block by block of distinct starts, which are the heads if it goes `backward`."""

    def __init__(
        self, run: Run, op: ShortestPath, tails: Rows, heads: Rows, columns: Columns, *, backward: bool
    ) -> None:
        self._run = run
        self._op = op
        self._link = op.link
        self._costs_only = _asks_for_costs(op)
        self._traced = not self._costs_only and (op.adds_rows or bool(set(op.columns) - {"length"}))
        self._only_whole = backward and op.cost is not None
        self._heads = heads
        self._near, self._far = (heads, tails) if backward else (tails, heads)
        self._graph = graph_of(run, op.link, backward=backward)
        self._steps = CheapestSteps(self._graph, op.cost) if isinstance(self._graph, AlongSteps) else None
        self._starts, self._start_of = np.unique(self._near, return_inverse=True)
        mixed = bool(op.link.ways)
        self._space = Space(None, run.numbering.stride) if mixed else Space.of(self._graph, self._starts)
        self._columns = columns
        self._hops = np.full(len(tails), -1, np.int64)
        self._costs = np.full(len(tails), np.inf)
        self._routes: list[tuple[Rows, Rows]] = []
        self._between = self._meeting()

    def _meeting(self) -> Meeting | None:
        """For one pair, what lies between its ends; nothing else has to be looked at."""
        if self._op.cost is not None or len(self._near) != 1 or self._near[0] == self._far[0]:
            return None
        graphs = (self._graph, graph_of(self._run, self._link, backward=True))
        return meet(self._run, self._link, graphs, int(self._near[0]), int(self._far[0]))

    def found(self) -> Found:
        """The paths, in ascending order of pairs."""
        width = self._space.width
        for begin in range(0, len(self._starts), width):
            pairs = np.flatnonzero((self._start_of >= begin) & (self._start_of < begin + width))
            self._block(self._starts[begin : begin + width], pairs, self._start_of[pairs] - begin)
        return self._gathered()

    # --- layers ----------------------------------------------------------------------------------

    @property
    def _stride(self) -> int:
        return self._space.span or self._space.stride

    def _block(self, block: Rows, pairs: Rows, origin_of: Rows) -> None:
        """Distances (and routes) of the pairs whose starts are in the block."""
        numbers = np.arange(len(block))
        layers = [_Layer(numbers, block, _NOWHERE, _NOWHERE, np.zeros(len(block)))]
        visited = self._space.visited(len(block))
        best = Best()
        if not self._link.is_cycle:
            # The way back to a start leads to a node like any other.
            visited.fresh(numbers, block)
            best.improve(numbers * self._stride + block, np.zeros(len(block)))
        place = np.full(len(pairs), -1, np.int64)
        total = 0
        while True:
            self._settle(layers, pairs, origin_of, place)
            active = self._active(layers[-1], pairs, origin_of)
            if not active.any() or (self._op.cost is not None and len(layers) > self._link.max_hops):
                break
            if self._link.max_hops >= OPEN_HOPS:
                self._run.budget.admit_hops(len(layers))
            if self._op.cost is None:
                layers.append(self._next(layers[-1], visited, len(layers)))
            else:
                layers.append(self._cheaper(layers[-1], active, best))
            total += len(layers[-1].node) + len(layers[-1].parent)
            self._run.budget.admit(total, row_bytes=24)
        if self._traced:
            self._trace(layers, pairs, place)

    def _settle(self, layers: list[_Layer], pairs: Rows, origin_of: Rows, place: Rows) -> None:
        """Give the newest layer's distance to the pairs that end in it."""
        layer = layers[-1]
        if not len(layer.node) or (self._link.is_cycle and len(layers) == 1 and self._link.min_hops > 0):
            return
        if len(layers) == 1 and self._op.cost is not None and self._link.min_hops > 0:
            return  # a start is not a path to itself
        keys = layer.origin * self._stride + layer.node
        wanted = origin_of * self._stride + self._far[pairs]
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        hit = keys[at] == wanted
        if self._op.cost is None:
            hit &= self._hops[pairs] < 0
        elif layer.cost is not None:
            hit &= layer.cost[at] < self._costs[pairs]
            self._costs[pairs[hit]] = layer.cost[at[hit]]
        self._hops[pairs[hit]] = len(layers) - 1
        place[hit] = at[hit]

    def _active(self, layer: _Layer, pairs: Rows, origin_of: Rows) -> Mask:
        """Which nodes of a layer are worth going on from."""
        if self._op.cost is None:
            return np.full(len(layer.node), bool((self._hops[pairs] < 0).any()))
        assert layer.cost is not None
        dearest = np.full(int(origin_of.max()) + 1 if len(origin_of) else 0, -1.0)
        np.maximum.at(dearest, origin_of, self._costs[pairs])
        return layer.cost < dearest[layer.origin]

    def _next(self, layer: _Layer, visited: Visited, depth: int) -> _Layer:
        lists = self._graph.around(distinct_rows(layer.node)).simple
        at, neighbour = lists.step(layer.node)
        if self._between is not None and depth < len(self._between.layers):
            kept = RowIndex(self._between.layers[depth]).contains(neighbour)
            at, neighbour = at[kept], neighbour[kept]
        self._run.budget.admit(len(at), row_bytes=24)
        origin, node = visited.fresh(layer.origin[at], neighbour)
        if not self._traced or not len(node):
            return _Layer(origin, node, _NOWHERE, _NOWHERE)
        keys = origin * self._stride + node
        reached = layer.origin[at] * self._stride + neighbour
        child = np.minimum(np.searchsorted(keys, reached), len(keys) - 1)
        new = keys[child] == reached
        return _Layer(origin, node, at[new], child[new])

    def _cheaper(self, layer: _Layer, active: Mask, best: Best) -> _Layer:
        """What one hop more reaches at a lower cost than all ways before."""
        assert layer.cost is not None
        assert self._steps is not None
        places = np.flatnonzero(active)
        lists, prices = self._steps.around(layer.node[places])
        if self._only_whole and not bool((np.isfinite(prices) & (prices == np.floor(prices))).all()):
            raise _Inexact
        at, neighbour, step = lists.expand(layer.node[places])
        self._run.budget.admit(len(at), row_bytes=48)
        parent = places[at]
        cost = layer.cost[parent] + prices[step]
        reached = layer.origin[parent] * self._stride + neighbour
        keys, value = best.improve(reached, cost)
        if not len(keys):
            return _Layer(_NOWHERE, _NOWHERE, _NOWHERE, _NOWHERE, np.empty(0))
        child = np.minimum(np.searchsorted(keys, reached), len(keys) - 1)
        tight = (keys[child] == reached) & (cost == value[child])
        origin, node = np.divmod(keys, self._stride)
        return _Layer(origin, node, parent[tight], child[tight], value)

    # --- routes ----------------------------------------------------------------------------------

    def _trace(self, layers: list[_Layer], pairs: Rows, place: Rows) -> None:
        """The nodes of each pair's paths, walked back from their ends; all pairs of a distance together."""
        every = self._op.kind == "all shortest"
        chosen = [] if every else _first_parents(layers, self._columns, self._hops[pairs], place)
        for hops in np.unique(self._hops[pairs]).tolist():
            if hops < 0:
                continue
            ends = np.flatnonzero(self._hops[pairs] == hops)
            at = place[ends]
            steps = [layers[hops].node[at]]
            for depth in range(hops, 0, -1):
                if every:
                    taken, at = _all_parents(layers[depth], at)
                    self._run.budget.admit(len(at), row_bytes=8 * (hops + 1))
                    ends, steps = ends[taken], [step[taken] for step in steps]
                else:
                    at = chosen[depth][at]
                steps.append(layers[depth - 1].node[at])
            self._routes.append((pairs[ends], np.stack(steps[::-1], axis=1)))

    def _gathered(self) -> Found:
        link = self._link
        if self._costs_only:
            pairs = np.flatnonzero(self._hops >= 0)
            unread = np.zeros(int((self._hops[pairs] + 1).sum()), np.int64)
            return Found(pairs, self._hops[pairs], self._costs[pairs], unread)
        if not self._traced:
            # A distance below the lower bound is made up for by one more hop around the head's loop.
            lengths = np.where(self._hops >= link.min_hops, self._hops, self._hops + 1)
            unread = np.zeros(int((lengths + 1).sum()), np.int64)
            return Found(np.arange(len(lengths)), lengths, np.zeros(len(lengths)), unread)
        routes = [(_NOWHERE, np.empty((0, 1), np.int64)), *self._routes]
        pairs = np.concatenate([each for each, _ in routes])
        loops = [hops < link.min_hops for hops in (route.shape[1] - 1 for _, route in routes)]
        sizes = np.concatenate([np.full(len(each), route.shape[1]) for each, route in routes])
        looped = np.concatenate([np.full(len(each), loop) for (each, _), loop in zip(routes, loops, strict=True)])
        lengths = sizes - 1 + looped
        order = np.argsort(pairs, kind="stable")
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum((lengths + 1)[order])])
        begin = np.empty(len(pairs), np.int64)
        begin[order] = offsets[:-1]
        nodes = np.empty(int(offsets[-1]), np.int64)
        done = 0
        for each, route in routes:
            nodes[begin[done : done + len(each)][:, None] + np.arange(route.shape[1])] = route
            done += len(each)
        ends = np.flatnonzero(looped)
        nodes[begin[ends] + lengths[ends]] = self._heads[pairs[ends]]
        return Found(pairs[order], lengths[order], self._costs[pairs[order]], nodes)


def _all_parents(layer: _Layer, at: Rows) -> tuple[Rows, Rows]:
    """For places in a layer every place before them: which place each belongs to, and the place before."""
    order = np.argsort(layer.child, kind="stable")
    bounds = np.searchsorted(layer.child[order], np.arange(len(layer.node) + 1))
    taken, entry = spread(bounds[at], bounds[at + 1])
    return taken, layer.parent[order[entry]]


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
