"""Bounded reachability against its definition by distances, forward and backward, with and without a known span."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.frames.budget import Budget, Limits
from omnigraph.engine.read.match import reach as reach_module
from omnigraph.engine.read.match import visited as marks_module
from omnigraph.engine.read.match.reach import reach
from omnigraph.engine.read.match.visited import marks
from omnigraph.engine.read.topology.adjacency import Adjacency, build
from omnigraph.errors import ResourceLimitExceeded
from omnigraph.memory.budget import open_budget

NODES = 6
Edges = list[tuple[int, int]]
EDGES = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=12)


class Whole:
    """One step over all edges; with a span, searches use a bitmap."""

    def __init__(self, edges: Edges, span: int | None) -> None:
        columns = [np.array([edge[side] for edge in edges], np.int64) for side in (0, 1)]
        self._lists = build(*columns, np.arange(len(edges)))
        self.span = span

    def around(self, rows: Rows) -> Adjacency:
        return self._lists


def distance(edges: Edges, start: int, goal: int) -> int | None:
    layer, seen, hops = {start}, {start}, 0
    while layer:
        if goal in layer:
            return hops
        layer = {target for source, target in edges if source in layer} - seen
        seen |= layer
        hops += 1
    return None


def definition(edges: Edges, low: int, high: int) -> set[tuple[int, int]]:
    found = set()
    for start in range(NODES):
        for end in range(NODES):
            hops = distance(edges, start, end)
            if hops is None:
                continue
            by_path = start != end and low <= hops <= high
            by_loop = (end, end) in edges and low <= hops + 1 <= high
            if by_path or by_loop:
                found.add((start, end))
    return found


def pairs(lists: Adjacency) -> list[tuple[int, int]]:
    return list(zip(lists.owners.tolist(), lists.neighbours.tolist(), strict=True))


ONE_WAY_ON = st.lists(st.one_of(st.none(), st.integers(0, NODES - 1)), min_size=NODES, max_size=NODES)


@pytest.mark.parametrize("most", [1, 2, 24])
@given(ONE_WAY_ON, st.integers(0, NODES - 1), st.integers(0, 4), st.integers(0, 5))
def test_chains_are_followed_as_other_graphs_are(
    most: int, following: list[int | None], more: int, low: int, hops: int
) -> None:
    """Every node leads to one other at most, in circles or not; `more` has a second way on, `most` ends the chains."""
    edges = [(start, end) for start, end in enumerate(following) if end is not None]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reach_module, "_MOST_CHAINED", most)
        for each in (edges, sorted({*edges, (more, (more + 2) % NODES)})):
            found = reach(Whole(each, None), np.arange(NODES), low, low + max(hops, 1), backward=False, budget=Budget())
            itself = {(node, node) for node in range(NODES)} if low == 0 else set()
            assert pairs(found) == sorted(definition(each, max(low, 1), low + max(hops, 1)) | itself)


@pytest.mark.parametrize("span", [None, NODES])
@given(EDGES, st.integers(1, 4), st.integers(0, 3))
def test_forward_search_finds_exactly_the_defined_pairs(span: int | None, edges: Edges, low: int, more: int) -> None:
    found = reach(Whole(edges, span), np.arange(NODES), low, low + more, backward=False, budget=Budget())
    assert sorted(definition(edges, low, low + more)) == pairs(found)


@pytest.mark.parametrize("span", [None, NODES])
@given(EDGES, st.integers(1, 4), st.integers(0, 3))
def test_backward_search_finds_the_same_pairs_from_the_other_end(
    span: int | None, edges: Edges, low: int, more: int
) -> None:
    against = [(target, source) for source, target in edges]
    found = reach(Whole(against, span), np.arange(NODES), low, low + more, backward=True, budget=Budget())
    assert sorted((target, source) for source, target in definition(edges, low, low + more)) == pairs(found)


@pytest.mark.parametrize("backward", [False, True])
@given(EDGES, st.integers(1, 4), st.integers(0, 3))
def test_from_each_start_alone_the_same_is_found_as_from_all_together(
    backward: bool, edges: Edges, low: int, more: int
) -> None:
    graph = Whole(edges, NODES)
    together = reach(graph, np.arange(NODES), low, low + more, backward=backward, budget=Budget())
    alone = [reach(graph, np.array([start]), low, low + more, backward=backward, budget=Budget()) for start in range(6)]
    assert [pair for found in alone for pair in pairs(found)] == pairs(together)


def test_marks_tell_old_from_new_in_every_search_that_uses_them(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = open_budget()
    monkeypatch.setattr(marks_module, "_GREATEST", 40)  # so that they start over in the middle of a search
    for _ in range(12):
        with marks(NODES, memory) as met:
            assert sorted(met.fresh(np.array([2, 1, 2, 1, 1]))) == [1, 2]
            assert sorted(met.fresh(np.array([2, 3, 3, 0]))) == [0, 3]
            assert met.fresh(np.array([0, 1, 2, 3])).tolist() == []
            with marks(NODES, memory) as other:
                assert other.fresh(np.array([3])).tolist() == [3]


def test_starts_are_searched_in_blocks_that_bound_the_visited_map(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach_module, "_BITMAP_FLAGS", NODES * 2)
    edges = [(node, (node + 1) % NODES) for node in range(NODES)]
    found = reach(Whole(edges, NODES), np.arange(NODES), 1, 2, backward=False, budget=Budget())
    assert pairs(found) == sorted(definition(edges, 1, 2))


def test_a_search_that_reaches_too_much_is_refused() -> None:
    edges = [(0, node) for node in range(1, NODES)]
    with pytest.raises(ResourceLimitExceeded, match="query_intermediate_rows"):
        reach(Whole(edges, NODES), np.array([0]), 1, 2, backward=False, budget=Budget(Limits(rows=3)))
