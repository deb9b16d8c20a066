"""A commit graph as text: which commits a head reaches, in which order, and the lanes beside them."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omnigraph.storage.commits import GraphCommit


def newest_first(commits: Mapping[str, GraphCommit], head: str | None) -> list[GraphCommit]:
    """Everything reachable from a head; a commit comes before its parents, and newer ones before older ones."""
    children: Counter[str] = Counter()
    reached: set[str] = set()
    waiting = [head] if head in commits else []
    while waiting:
        name = waiting.pop()
        if name is None or name in reached:
            continue
        reached.add(name)
        parents = _parents(commits[name], commits)
        children.update(parents)
        waiting += parents
    ready = [(-commits[name].created_at, name) for name in reached if not children[name]]
    ordered = []
    while ready:
        commit = commits[heapq.heappop(ready)[1]]
        ordered.append(commit)
        for parent in _parents(commit, commits):
            children[parent] -= 1
            if not children[parent]:
                heapq.heappush(ready, (-commits[parent].created_at, parent))
    return ordered


def drawn(commits: Sequence[GraphCommit], blocks: Sequence[Sequence[str]]) -> Iterator[str]:
    """Each commit's lines behind the lanes of the histories that run past it.

    A lane waits for the commit that continues it. A merge opens a lane for its second parent; lanes that wait for the
    same commit join there.
    """
    known = {commit.graph_commit_id: commit for commit in commits}
    lanes: list[str] = []
    for commit, block in zip(commits, blocks, strict=True):
        name = commit.graph_commit_id
        if name not in lanes:
            lanes.append(name)
        column = lanes.index(name)
        joining = {place for place, wanted in enumerate(lanes) if wanted == name and place != column}
        if joining:
            yield _turn(len(lanes), column, joining, "╯")
            lanes = [wanted for place, wanted in enumerate(lanes) if place not in joining]
        marks = ["●" if place == column else "│" for place in range(len(lanes))]
        parents = _parents(commit, known)
        lanes[column : column + 1] = parents[:1]
        before = len(lanes)
        yield f"{' '.join(marks)}  {block[0]}"
        if parents[1:]:
            lanes += parents[1:]
            yield _turn(len(lanes), column, {before}, "╮")
        passing = "│ " * len(lanes) or "  "
        yield from (f"{passing} {text}".rstrip() for text in block[1:])


def _parents(commit: GraphCommit, known: Mapping[str, GraphCommit]) -> list[str]:
    both = (commit.parent_commit_id, commit.merged_parent_commit_id)
    return [name for name in both if name is not None and name in known]


def _turn(count: int, column: int, places: set[int], corner: str) -> str:
    """A line from a commit's lane to lanes on its right that start or end here."""
    last = max(places)
    pieces = []
    for place in range(count):
        crossing = column < place < last
        mark = corner if place in places else "├" if place == column else "┼" if crossing else "│"
        pieces.append(mark + ("─" if column <= place < last else " "))
    return "".join(pieces).rstrip()
