"""Following several edge types, or edges between unions of node types, as one relation over coded rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from omnigraph.compiler.ir.link import Link, Way
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import is_union
from omnigraph.engine.read.match.reach import Neighbours, reach
from omnigraph.engine.read.topology.adjacency import Adjacency, build, gathered, woven

Hop: TypeAlias = Callable[[Run, Link, str], Neighbours]
"""Makes one step over one edge type, given a plain link and a direction."""


def mixed_lists(run: Run, link: Link, starts: Rows, steps: Neighbours, *, backward: bool) -> Adjacency:
    """Neighbour lists of everything the link reaches, in the row ids of the variables at its two ends."""
    near, far = f"node:{link.tail_type}", f"node:{link.head_type}"
    if backward:
        near, far = far, near
    codes = run.numbering.coded(near, starts)
    if not link.is_single:
        low, high, stride = link.min_hops, link.max_hops, run.numbering.stride
        lists = reach(steps, codes, low, high, backward=backward, budget=run.budget, stride=stride)
    else:
        lists = steps.around(codes)
        lists = lists if link.edge_var is not None else lists.simple
    at, nodes, edges = lists.expand(codes)
    fits = run.numbering.belongs(far, nodes)
    if not fits.all():
        at, nodes, edges = at[fits], nodes[fits], edges[fits]
    # Codes ascend as the row ids do, so the lists stay in their order.
    counts = np.bincount(at, minlength=len(starts))
    return gathered([starts], [counts], run.numbering.decoded(far, nodes), edges)


class MixedSteps:
    """One hop over any of the ways of a link; nodes are coded, and edges too where there are several types of them."""

    def __init__(self, run: Run, link: Link, hop: Hop, *, backward: bool) -> None:
        self._run = run
        self._undirected = link.undirected
        self._edges_united = is_union(f"edge:{link.edge}")
        ways = [way for way in link.ways if all(run.exists(key) for key in _tables(way))]
        turned = [_turned(way) if backward else way for way in ways]
        # In the order that the codes of the nodes they lead to have.
        turned.sort(key=lambda way: run.numbering.base(f"node:{way.to_type}"))
        self._steps = [(way, hop(run, _plain(way), self._direction(way))) for way in turned]
        self._apart = len({(way.from_type, way.to_type) for way in turned}) == len(turned)

    @property
    def span(self) -> int | None:
        """Coded rows are spread too thin for a map of flags."""
        return None

    def around(self, rows: Rows) -> Adjacency:
        """Lists for these coded rows, over every way that starts at them."""
        numbering = self._run.numbering
        parts: list[tuple[Rows, Rows, Rows]] = []
        for way, hop in self._steps:
            for _, places, plain in numbering.split(f"node:{way.from_type}", rows):
                at, neighbour, edge = hop.around(plain).expand(plain)
                self._run.budget.admit(len(at), row_bytes=24)
                neighbour = neighbour + numbering.base(f"node:{way.to_type}")
                edge = edge + numbering.base(f"edge:{way.edge}") if self._edges_united else edge
                parts.append((places[at], neighbour, edge))
        if self._apart:
            return woven(rows, parts)
        none: list[Rows] = [np.empty(0, np.int64)]
        at, nodes, edges = (np.concatenate([part[column] for part in parts] or none) for column in range(3))
        return build(rows[at], nodes, edges)

    def _direction(self, way: Way) -> str:
        if self._undirected and way.from_type == way.to_type:
            return "both"
        return "in" if way.against else "out"


def _tables(way: Way) -> tuple[str, str, str]:
    return f"edge:{way.edge}", f"node:{way.from_type}", f"node:{way.to_type}"


def _turned(way: Way) -> Way:
    return Way(way.edge, way.to_type, way.from_type, not way.against)


def _plain(way: Way) -> Link:
    """The link of one edge type alone, in the direction it is stored in."""
    types = (way.to_type, way.from_type) if way.against else (way.from_type, way.to_type)
    return Link(way.edge, "tail", "head", *types, undirected=False)
