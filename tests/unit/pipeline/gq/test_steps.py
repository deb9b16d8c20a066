"""A hop over neighbour lists against every edge looked at one by one."""

from __future__ import annotations

import random

import numpy as np
import pytest

from omnigraph.engine.read.topology.adjacency import build
from omnigraph.pipeline.gq import steps
from omnigraph.pipeline.gq.steps import OpenHop

RANDOM = random.Random(7)
# Parallel edges, self-loops and edges in both directions among them.
EDGES = [(RANDOM.randrange(9), RANDOM.randrange(9)) for _ in range(60)]


def opened(direction: str, *, each_edge: bool) -> OpenHop:
    sources, targets = (np.array(ends, np.int64) for ends in zip(*EDGES, strict=True))
    numbers = np.arange(len(EDGES))
    ways = {"out": build(sources, targets, numbers), "in": build(targets, sources, numbers)}
    chosen = ("out", "in") if direction == "both" else (direction,)
    return OpenHop(tuple(ways[each] for each in chosen), each_edge=each_edge)


def expected(direction: str) -> list[tuple[int, int, int]]:
    """(near, far, edge); a self-loop is one edge at one node whichever way it is walked."""
    found = [(one, two, at) for at, (one, two) in enumerate(EDGES) if direction != "in"]
    found += [(two, one, at) for at, (one, two) in enumerate(EDGES) if direction != "out"]
    return sorted(set(found))


@pytest.mark.parametrize("direction", ["out", "in", "both"])
@pytest.mark.parametrize("slice_", [3, 1 << 20])
def test_steps_are_those_of_the_edges_in_whatever_pieces(
    monkeypatch: pytest.MonkeyPatch, direction: str, slice_: int
) -> None:
    monkeypatch.setattr(steps, "SLICE", slice_)
    rows = np.array([4, 0, 4, 8, 30])
    edges = expected(direction)
    by_edge, by_pair = opened(direction, each_edge=True), opened(direction, each_edge=False)
    taken = list(by_edge.steps(rows))
    assert all((rows[each.owner] == each.near).all() for each in taken)
    found = [tuple(step) for each in taken for step in zip(each.owner, each.far, each.edge, strict=True)]
    assert sorted(found) == sorted(
        (at, far, edge) for at, row in enumerate(rows) for near, far, edge in edges if near == row
    )
    pairs = [tuple(step) for each in by_pair.steps(rows) for step in zip(each.owner, each.far, strict=True)]
    assert sorted(pairs) == sorted({(at, far) for at, row in enumerate(rows) for near, far, _ in edges if near == row})
    shares = [by_pair.share(number) for number in range(by_pair.shares)]
    everything = [tuple(step) for each in shares for step in zip(each.near, each.far, strict=True)]
    assert sorted(everything) == sorted({(near, far) for near, far, _ in edges})


@pytest.mark.parametrize("direction", ["out", "both"])
def test_pairs_are_tested_by_their_edges(direction: str) -> None:
    near, far = (each.ravel() for each in np.mgrid[0:10, 0:10])
    edges = expected(direction)
    linked = opened(direction, each_edge=False).linked(near, far)
    known = {(one, two) for one, two, _ in edges}
    assert linked.tolist() == [pair in known for pair in zip(near.tolist(), far.tolist(), strict=True)]
    found = [
        (int(near[at]), int(far[at]), int(edge))
        for places, numbers in opened(direction, each_edge=True).edges(near, far)
        for at, edge in zip(places, numbers, strict=True)
    ]
    assert sorted(found) == edges
