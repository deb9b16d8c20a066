"""What a traversal is expected to reach, from the sizes of types and edges."""

from __future__ import annotations

import pytest

from omnigraph.compiler.ir.estimates import NeutralEstimates, mean_degree, reached
from omnigraph.compiler.ir.link import OPEN_HOPS, Link, Way
from omnigraph.compiler.types import union_members

NODES = {"Comment": 3000.0, "Post": 1000.0, "Person": 100.0}
REPLIES = {"ReplyOfComment": ("Comment", "Comment", 1500), "ReplyOfPost": ("Comment", "Post", 1500)}
WAYS = (Way("ReplyOfComment", "Comment", "Comment"), Way("ReplyOfPost", "Comment", "Post"))


class Sizes(NeutralEstimates):
    def rows(self, type_name: str) -> float:
        return sum(NODES[name] for name in union_members(type_name))

    def degree(self, edge: str, direction: str) -> float:
        source, target, count = REPLIES[edge]
        return count / NODES[source if direction == "out" else target]


def replies(low: int, high: int) -> Link:
    return Link("ReplyOfComment|ReplyOfPost", "m", "x", "Comment|Post", "Comment|Post", low, high, ways=WAYS)


@pytest.mark.parametrize("forward", [True, False])
def test_a_union_has_the_edges_of_all_ways_over_all_of_its_nodes(forward: bool) -> None:
    assert mean_degree(Sizes(), replies(1, 1), forward=forward) == 3000 / 4000


def test_without_an_upper_bound_the_hops_add_up() -> None:
    found = reached(Sizes(), replies(0, OPEN_HOPS), forward=False)
    assert 3.9 < found < 4  # 1 + 0.75 + 0.75² + …


def test_no_node_is_reached_twice() -> None:
    link = Link("Knows", "a", "b", "Person", "Person", 1, 5)

    class Dense(Sizes):
        def degree(self, edge: str, direction: str) -> float:
            return 50.0

    assert reached(Dense(), link, forward=True) == NODES["Person"]
