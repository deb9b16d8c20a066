"""Search from both ends of one pair: how far apart two nodes are, looking at little more than lies between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from omnigraph.compiler.ir.link import OPEN_HOPS, Link
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.rowindex import distinct_rows
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.match.reach import Neighbours


@dataclass(frozen=True, slots=True)
class Meeting:
    """The distance of two different nodes, and the ascending nodes that can be at each distance of the first one."""

    distance: int
    layers: tuple[Rows, ...]


def meet(run: Run, link: Link, graphs: tuple[Neighbours, Neighbours], tail: int, head: int) -> Meeting | None:
    """Where searches from both ends meet within the upper bound of the link; None when they do not.

    The steps from the tail and those backward from the head are given. The smaller front goes on, so that neither
    grows to the whole graph where both could stay small.
    """
    sides = [[np.array([tail])], [np.array([head])]]
    met = [np.array([tail]), np.array([head])]
    while True:
        hops = len(sides[0]) + len(sides[1]) - 2
        common = np.intersect1d(sides[0][-1], sides[1][-1], assume_unique=True)
        if len(common):
            return Meeting(hops, (*sides[0], *reversed(sides[1][:-1])))
        side = 0 if len(sides[0][-1]) <= len(sides[1][-1]) else 1
        front = sides[side][-1]
        if not len(front) or hops == link.max_hops:
            return None
        if link.max_hops >= OPEN_HOPS:
            run.budget.admit_hops(hops + 1)
        reached = graphs[side].around(front).simple.reached_once(front)
        run.budget.admit(len(reached) + len(met[side]), row_bytes=24)
        fresh = np.setdiff1d(reached, met[side], assume_unique=True)
        met[side] = distinct_rows(np.concatenate([met[side], fresh]))
        sides[side].append(fresh)
