"""The algorithms of `graph.analytics` written down plainly, over lists of pairs; slow, and meant to be read."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from itertools import combinations

Edges = list[tuple[int, int]]


def naive_pagerank(count: int, edges: Edges, *, damping: float = 0.85, rounds: int = 200) -> list[float]:
    """Power iteration, one node at a time."""
    out: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        out[source].append(target)
    ranks = [1 / count] * count
    for _ in range(rounds):
        after = [(1 - damping) / count] * count
        for node in range(count):
            targets = out[node] or list(range(count))
            for target in targets:
                after[target] += damping * ranks[node] / len(targets)
        ranks = after
    return ranks


def naive_components(count: int, edges: Edges) -> list[int]:
    """Groups numbered by their first node."""
    group = list(range(count))
    for _ in range(count):
        for source, target in edges:
            group[source] = group[target] = min(group[source], group[target])
    return numbered(group)


def naive_labels(count: int, edges: Edges, rounds: int) -> list[int]:
    """Every node follows the majority of its neighbours and itself; ties go to the smallest label."""
    near = [[node] for node in range(count)]
    for source, target in edges:
        near[source].append(target)
        near[target].append(source)
    labels = list(range(count))
    for _ in range(rounds):
        tallies = [Counter(labels[other] for other in near[node]) for node in range(count)]
        labels = [min(tally, key=lambda label, seen=tally: (-seen[label], label)) for tally in tallies]  # type: ignore[misc]
    return numbered(labels)


def naive_triangles(count: int, edges: Edges) -> list[int]:
    """Every three nodes that are all linked."""
    linked = {frozenset(edge) for edge in edges if edge[0] != edge[1]}
    found = [0] * count
    for three in combinations(range(count), 3):
        if all(frozenset(pair) in linked for pair in combinations(three, 2)):
            for corner in three:
                found[corner] += 1
    return found


def naive_distances(count: int, edges: Edges, start: Iterable[int]) -> list[int | None]:
    """Breadth first, with a queue."""
    out: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        out[source].append(target)
    found: list[int | None] = [None] * count
    queue = deque(start)
    for node in queue:
        found[node] = 0
    while queue:
        node = queue.popleft()
        for target in out[node]:
            if found[target] is None:
                found[target] = (found[node] or 0) + 1
                queue.append(target)
    return found


def numbered(values: Iterable[int]) -> list[int]:
    """Values replaced by their place among the distinct ones."""
    mine = list(values)
    place = {value: at for at, value in enumerate(sorted(set(mine)))}
    return [place[value] for value in mine]
