"""Steps and paths of the naive evaluator: pairs of nodes, distances, shortest paths, straight from the definition."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TypeAlias

from omnigraph.compiler.ir.link import Link, Way
from omnigraph.testing.naive.evaluator_values import Assignment, Entity

Who: TypeAlias = tuple[str, str]
"""A node: its table and its id."""
Pair: TypeAlias = tuple[Who, Who]


def who(entity: Entity) -> Who:
    """The identity of a node."""
    return entity["_table"], entity["id"]


def edge_tables(link: Link) -> list[str]:
    """Where the edges of a link are."""
    return sorted({f"edge:{way.edge}" for way in _ways(link)})


def pairs_of(link: Link, edges: list[Entity]) -> set[Pair]:
    """The steps that edges make, from tail to head."""
    pairs: set[Pair] = set()
    for edge, way in product(edges, _ways(link)):
        if edge["_table"] != f"edge:{way.edge}":
            continue
        ends = (edge["dst"], edge["src"]) if way.against else (edge["src"], edge["dst"])
        pair = (f"node:{way.from_type}", ends[0]), (f"node:{way.to_type}", ends[1])
        pairs.add(pair)
        if link.undirected and way.from_type == way.to_type:
            pairs.add((pair[1], pair[0]))
    return pairs


def hops_between(link: Link, pairs: set[Pair], tail: Who, head: Who) -> int | None:
    """The fewest hops within the bounds: by a path, or by a path and one round of the head's own loop."""
    if link.min_hops == 0 and tail == head:
        return 0
    if link.is_cycle:
        back = _way_back(pairs, tail)
        return back if back is not None and link.min_hops <= back <= link.max_hops else None
    distance = _distance(pairs, tail, head)
    if distance is None:
        return None
    if tail != head and link.min_hops <= distance <= link.max_hops:
        return distance
    return distance + 1 if (head, head) in pairs and link.min_hops <= distance + 1 <= link.max_hops else None


def shortest_path(tables: Mapping[str, list[Entity]], link: Link, assignment: Assignment) -> Entity:
    """Length and node ids of the first of all shortest paths, in the order of their ids."""
    tail, head = assignment[link.tail], assignment[link.head]
    assert tail is not None
    assert head is not None
    pairs = pairs_of(link, [edge for key in edge_tables(link) for edge in tables[key]])
    length = hops_between(link, pairs, who(tail), who(head))
    distance = length if link.is_cycle else _distance(pairs, who(tail), who(head))
    assert length is not None
    assert distance is not None
    walks = [[who(tail)]]
    for _ in range(distance):
        walks = [[*walk, target] for walk in walks for source, target in pairs if source == walk[-1]]
    best = min(
        (walk for walk in walks if walk[-1] == who(head)),
        key=lambda walk: [(node[1].encode(), node[0]) for node in walk],
    )
    nodes = [node[1] for node in best] + ([head["id"]] if length > distance else [])
    return {"length": length, "nodes": nodes}


def _ways(link: Link) -> tuple[Way, ...]:
    return link.ways or (Way(link.edge, link.tail_type, link.head_type),)


def _way_back(pairs: set[Pair], start: Who) -> int | None:
    """The fewest hops, at least one, that lead from a node to itself."""
    ways = [_distance(pairs, target, start) for source, target in pairs if source == start]
    return min((hops + 1 for hops in ways if hops is not None), default=None)


def _distance(pairs: set[Pair], start: Who, goal: Who) -> int | None:
    """Hops on the shortest path; 0 from a node to itself."""
    layer, seen, hops = {start}, {start}, 0
    while layer:
        if goal in layer:
            return hops
        layer = {target for source, target in pairs if source in layer} - seen
        seen |= layer
        hops += 1
    return None
