"""Paths that meet no node twice: all of them within a bound, or the first so many by length or by cost."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Any

import numpy as np

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.link import OPEN_HOPS, Link
from omnigraph.compiler.ir.ops import ShortestPath
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.rowindex import distinct_rows
from omnigraph.engine.read.frames.paths import Found
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import Columns
from omnigraph.engine.read.match.along import AlongSteps, CheapestSteps, Costs
from omnigraph.engine.read.match.best import Best
from omnigraph.engine.read.match.expand import graph_of

_STRIDE = 1 << 44
_HEADS = 1 << 10
# What a path that is under way takes in memory, beside its nodes.
_PARTIAL_BYTES = 400


def simple_paths(run: Run, link: Link, tails: Rows, heads: Rows) -> Found:
    """Every simple path of each pair within the bounds of the link, in ascending order of pairs."""
    ends, end_of = np.unique(heads, return_inverse=True)
    found: list[tuple[Rows, Rows]] = []
    for begin in range(0, len(ends), _HEADS):
        pairs = np.flatnonzero((end_of >= begin) & (end_of < begin + _HEADS))
        near = Distances(run, link, ends[begin : begin + _HEADS], None)
        found += _within(run, link, _Pairs(pairs, tails[pairs], heads[pairs], end_of[pairs] - begin), near)
    return _gathered(found, None)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Some pairs: their numbers, their ends, and which of the heads that distances are known to each has."""

    numbers: Rows
    tails: Rows
    heads: Rows
    head_of: Rows


def _within(run: Run, link: Link, pairs: _Pairs, near: Distances) -> list[tuple[Rows, Rows]]:
    """The same for some pairs: one hop more of all paths at a time."""
    graph = graph_of(run, link, backward=False)
    owner, paths = np.arange(len(pairs.numbers)), pairs.tails[:, None]
    found: list[tuple[Rows, Rows]] = []
    if link.min_hops == 0:
        same = pairs.tails == pairs.heads
        found.append((pairs.numbers[same], paths[same]))
    for depth in range(1, link.max_hops + 1):
        if not len(paths):
            break
        at, node = graph.around(distinct_rows(paths[:, -1])).simple.step(paths[:, -1])
        run.budget.admit(len(at), row_bytes=8 * (depth + 3))
        arrived = node == pairs.heads[owner[at]]
        again = (paths[at] == node[:, None]).any(axis=1)
        if depth >= link.min_hops:
            done = np.flatnonzero(arrived if link.is_cycle else arrived & ~again)
            found.append((pairs.numbers[owner[at[done]]], np.column_stack([paths[at[done]], node[done]])))
        _, hops = near.of(pairs.head_of[owner[at]], node)
        going = np.flatnonzero(~arrived & ~again & (hops <= link.max_hops - depth))
        owner, paths = owner[at[going]], np.column_stack([paths[at[going]], node[going]])
    return found


def first_paths(run: Run, op: ShortestPath, ends: tuple[Rows, Rows], many: int, columns: Columns) -> Found:
    """The first simple paths of each pair of tails and heads, by cost (or length), then by length and ids."""
    tails, heads = ends
    found: list[tuple[Rows, Rows]] = []
    costs: list[float] = []
    for head in np.unique(heads).tolist():
        near = Distances(run, op.link, np.array([head]), op.cost)
        search = _BestFirst(run, op, columns, head, near)
        for pair in np.flatnonzero(heads == head).tolist():
            for cost, nodes in search.paths(int(tails[pair]), many):
                found.append((np.array([pair]), np.array([nodes])))
                costs.append(cost)
    return _gathered(found, costs)


@dataclass(frozen=True, slots=True)
class _Step:
    node: int
    cost: float
    ids: tuple[Any, ...]


class _BestFirst:
    """Paths to one head in order: what is under way is taken up again by its cost plus the least it still needs."""

    def __init__(self, run: Run, op: ShortestPath, columns: Columns, head: int, near: Distances) -> None:
        self._run = run
        self._op = op
        self._columns = columns
        self._head = head
        self._near = near
        graph = graph_of(run, op.link, backward=False)
        self._graph = graph if isinstance(graph, AlongSteps) else AlongSteps(run, op.link, graph, backward=False)
        self._steps: dict[int, list[tuple[_Step, float, int]]] = {}

    def paths(self, tail: int, many: int) -> list[tuple[float, tuple[int, ...]]]:
        """The first so many paths from a node: cost and nodes of each."""
        link, head = self._op.link, self._head
        found: list[tuple[float, tuple[int, ...]]] = []
        if tail == head and link.min_hops == 0:
            found.append((0.0, (tail,)))
        if tail == head and not link.is_cycle:
            return found
        serial = count()
        heap: list[Any] = [(0.0, 0, (), next(serial), 0.0, (tail,))]
        while heap and len(found) < many:
            self._run.budget.admit(len(heap), row_bytes=_PARTIAL_BYTES)
            _, _, ids, _, cost, nodes = heappop(heap)
            if len(nodes) > 1 and nodes[-1] == head:
                found.append((cost, nodes))
                continue
            if len(nodes) > link.max_hops:
                continue
            for step, left_cost, left_hops in self._from(nodes[-1]):
                closes = step.node == head
                if step.node in nodes and not (closes and link.is_cycle):
                    continue
                hops = len(nodes)
                if closes and hops < link.min_hops:
                    continue
                total = cost + step.cost
                key = (total + (0.0 if closes else left_cost), hops + (0 if closes else left_hops), (*ids, step.ids))
                heappush(heap, (*key, next(serial), total, (*nodes, step.node)))
        return found

    def _from(self, node: int) -> list[tuple[_Step, float, int]]:
        """The steps from a node that the head can still be reached by, and what it then takes."""
        known = self._steps.get(node)
        if known is None:
            lists, costs = CheapestSteps(self._graph, self._op.cost).around(np.array([node]))
            _, far, place = lists.expand(np.array([node]))
            left, hops = self._near.of(np.zeros(len(far), np.int64), far)
            there = np.isfinite(left)
            far, place, left, hops = far[there], place[there], left[there], hops[there]
            ids = self._columns.values("id", far).to_pylist() if len(far) else []
            known = self._steps[node] = [
                (_Step(each, price, (name.encode(), each)), needs, least)
                for each, price, name, needs, least in zip(
                    far.tolist(), costs[place].tolist(), ids, left.tolist(), hops.tolist(), strict=True
                )
            ]
        return known


class Distances:
    """What the cheapest way from each node to each of some heads takes: cost, and hops of that way."""

    def __init__(self, run: Run, link: Link, heads: Rows, cost: ir.Expr | None) -> None:
        self._stride = run.numbering.stride if link.ways else _STRIDE
        graph = graph_of(run, link, backward=True)
        along = graph if isinstance(graph, AlongSteps) else AlongSteps(run, link, graph, backward=True)
        steps = CheapestSteps(along, cost)
        best = Best()
        keys, costs = best.improve(np.arange(len(heads)) * self._stride + heads, np.zeros(len(heads)))
        hops = 0
        while len(keys) and hops < link.max_hops:
            hops += 1
            if link.max_hops >= OPEN_HOPS:
                run.budget.admit_hops(hops)
            owner, node = np.divmod(keys, self._stride)
            lists, prices = steps.around(node)
            at, neighbour, step = lists.expand(node)
            run.budget.admit(len(at) + len(best), row_bytes=32)
            keys, costs = best.improve(owner[at] * self._stride + neighbour, costs[at] + prices[step], hops)
        self._best = best

    def of(self, head: Rows, node: Rows) -> tuple[Costs, Rows]:
        """Cost and hops from each node to the head beside it; infinite where there is no way."""
        return self._best.of(head * self._stride + node)


def _gathered(found: list[tuple[Rows, Rows]], costs: list[float] | None) -> Found:
    pairs = np.concatenate([np.empty(0, np.int64), *(each for each, _ in found)])
    lengths = np.concatenate([np.empty(0, np.int64), *(np.full(len(each), path.shape[1] - 1) for each, path in found)])
    prices = np.zeros(len(pairs)) if costs is None else np.array(costs, np.float64)
    begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths + 1)])
    nodes = np.concatenate([np.empty(0, np.int64), *(path.reshape(-1) for _, path in found)])
    order = np.argsort(pairs, kind="stable")
    entry = np.concatenate([np.empty(0, np.int64), *(np.arange(begin[at], begin[at + 1]) for at in order)])
    return Found(pairs[order], lengths[order], prices[order], nodes[entry])
