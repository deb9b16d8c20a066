"""Steps and paths of the naive evaluator: pairs of nodes, distances, shortest paths, straight from the definition."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TypeAlias

from omnigraph.compiler.functions import Failure
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.link import Along, Link, Way
from omnigraph.compiler.ir.ops import ShortestPath
from omnigraph.testing.naive.evaluator_values import Assignment, Entity, Values

Who: TypeAlias = tuple[str, str]
"""A node: its table and its id."""
Pair: TypeAlias = tuple[Who, Who]


def who(entity: Entity) -> Who:
    """The identity of a node."""
    return entity["_table"], entity["id"]


class Steps:
    """The steps of one graph, as links may take them."""

    def __init__(self, tables: Mapping[str, list[Entity]], values: Values) -> None:
        self.tables = tables
        self.values = values

    def of(self, link: Link, edges: list[Entity] | None = None) -> list[tuple[Who, Who, Entity]]:
        """(from, to, edge) of every step of some edges, or of all."""
        found = []
        for way in _ways(link):
            own = [edge for edge in edges or () if edge["_table"] == f"edge:{way.edge}"]
            for edge in own if edges is not None else self.tables[f"edge:{way.edge}"]:
                ends = (edge["dst"], edge["src"]) if way.against else (edge["src"], edge["dst"])
                pair = (f"node:{way.from_type}", ends[0]), (f"node:{way.to_type}", ends[1])
                found.append((*pair, edge))
                if link.undirected and way.from_type == way.to_type and pair[0] != pair[1]:
                    found.append((pair[1], pair[0], edge))
        conditions = link.along.conditions if link.along is not None else ()
        return [step for step in found if self.values.truth(ir.And(conditions), self.bound(link, step)) is True]

    def pairs(self, link: Link, edges: list[Entity] | None = None) -> set[Pair]:
        """The same without the edges."""
        return {(source, target) for source, target, _ in self.of(link, edges)}

    def bound(self, link: Link, step: tuple[Who, Who, Entity]) -> Assignment:
        """The variables of a step."""
        along = link.along or Along()
        entities = (self.node(step[0]), self.node(step[1]), step[2])
        names = (along.source, along.target, along.edge)
        return {name: each for name, each in zip(names, entities, strict=True) if name is not None}

    def node(self, wanted: Who) -> Entity:
        """A node by its table and id."""
        return next(each for each in self.tables[wanted[0]] if each["id"] == wanted[1])


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


def paths_between(graph: Steps, op: ShortestPath, row: Assignment) -> list[Entity]:
    """The paths that an operator binds for one row, in their order."""
    link = op.link
    tail, head = row[link.tail], row[link.head]
    assert tail is not None
    assert head is not None
    steps: dict[Pair, tuple[float, str, Entity]] = {}
    for source, target, edge in graph.of(link):
        price = 0.0
        if op.cost is not None:
            value = graph.values.value(op.cost, graph.bound(link, (source, target, edge)), [])
            if value is None:
                continue
            price = float(value)
            if price < 0:
                raise Failure("the cost of a step must not be negative")
        best = steps.get((source, target))
        if best is None or (price, edge["id"].encode()) < (best[0], best[1].encode()):
            steps[source, target] = (price, edge["id"], edge)
    if op.kind == "all shortest" or not op.adds_rows:
        walks = _shortest_walks(link, {*steps}, who(tail), who(head))
    else:
        walks = [
            walk
            for walk in _simple_walks({*steps}, [who(tail)], who(head), link)
            if link.min_hops <= len(walk) - 1 <= link.max_hops
        ]
    found = sorted((_path(graph, walk, steps) for walk in walks), key=lambda path: path["_order"])
    most = 1 if not op.adds_rows else None if op.count is None else graph.values.value(op.count, {}, [])
    assert most is None or isinstance(most, int)
    return [{**path, "_rank": rank} for rank, path in enumerate(found[:most])]


def _path(graph: Steps, walk: list[Who], steps: Mapping[Pair, tuple[float, str, Entity]]) -> Entity:
    taken = [steps[pair] for pair in pairwise(walk)]
    cost = 0.0
    for price, _, _ in taken:
        cost += price
    path: Entity = {
        "length": len(taken),
        "cost": cost,
        "_order": (cost, len(taken), [(n[1].encode(), n[0]) for n in walk]),
    }
    for word, entities in (("nodes", [graph.node(node) for node in walk]), ("edges", [edge for _, _, edge in taken])):
        path[word] = [entity["id"] for entity in entities]
        # Also those that no entity of this path has, so that an empty list can be read.
        for name in {name for rows in graph.tables.values() for row in rows for name in row}:
            path[f"{word}.{name}"] = [each[name] for each in entities if each.get(name) is not None]
    return path


def _shortest_walks(link: Link, pairs: set[Pair], tail: Who, head: Who) -> list[list[Who]]:
    """Every walk of the fewest hops; a loop at its end repeats the last node."""
    length = hops_between(link, pairs, tail, head)
    distance = length if link.is_cycle else _distance(pairs, tail, head)
    assert length is not None
    assert distance is not None
    walks = [[tail]]
    for _ in range(distance):
        walks = [[*walk, target] for walk in walks for source, target in pairs if source == walk[-1]]
    return [[*walk, *([head] if length > distance else [])] for walk in walks if walk[-1] == head]


def _simple_walks(pairs: set[Pair], walk: list[Who], head: Who, link: Link) -> list[list[Who]]:
    """Every walk on to the head that meets no node twice, except that a cycle ends where it began."""
    if walk[-1] == head and (len(walk) > 1 or not link.is_cycle):
        return [walk]
    found = [walk] if walk[-1] == head and link.min_hops == 0 else []
    if len(walk) > link.max_hops:
        return found
    for source, target in pairs:
        if source == walk[-1] and (target not in walk or (target == head and link.is_cycle)):
            found += _simple_walks(pairs, [*walk, target], head, link)
    return found


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
