"""The merge base: the commit that two heads share and that lies closest to both of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from omnigraph.errors import BadRequest
from omnigraph.storage.manifest.commits import LINEAGE_SCHEMA, GraphCommit, Lineage, graph_commit
from omnigraph.storage.manifest.row_codec import parse_commit

_SINGLE_LOOKS = 64


def merge_base(source: CommitGraph, source_head: str, target_head: str) -> GraphCommit:
    """The shared ancestor with the smallest total distance; the newest of several wins, so the choice never varies."""
    search = _Search(source, source_head, target_head)
    return search.run()


class CommitGraph:
    """The commits that some branches know, with both kinds of parents; rows are decoded when they are looked at.

    A search that ends soon looks commits up one by one; only a long one pays for a directory of the whole history.
    """

    def __init__(self, lineages: Iterable[Lineage]) -> None:
        self._lineages = list(lineages)
        self._known: dict[str, GraphCommit | None] = {}
        self._places: dict[str, tuple[int, int]] | None = None
        self._columns: list[list[list[Any]]] = []

    def __contains__(self, commit_id: str) -> bool:
        return self.get(commit_id) is not None

    def get(self, commit_id: str) -> GraphCommit | None:
        """One commit, or None when no branch knows it."""
        if commit_id not in self._known:
            few = len(self._known) < _SINGLE_LOOKS
            self._known[commit_id] = self._looked_up(commit_id) if few else self._listed(commit_id)
        return self._known[commit_id]

    def _looked_up(self, commit_id: str) -> GraphCommit | None:
        found = (lineage.get(commit_id) for lineage in self._lineages)
        return next((commit for commit in found if commit is not None), None)

    def _listed(self, commit_id: str) -> GraphCommit | None:
        if self._places is None:
            names = LINEAGE_SCHEMA.names
            self._columns = [[lineage.table[name].to_pylist() for name in names] for lineage in self._lineages]
            self._places = {
                found: (number, row)
                for number, columns in enumerate(self._columns)
                for row, found in enumerate(columns[0])
            }
        place = self._places.get(commit_id)
        if place is None:
            return None
        number, row = place
        return graph_commit(parse_commit(*(column[row] for column in self._columns[number])))

    def parents(self, commit_id: str) -> list[str]:
        """The first parent, then the merged one; an unknown commit is a leaf."""
        commit = self.get(commit_id)
        if commit is None:
            return []
        return [name for name in (commit.parent_commit_id, commit.merged_parent_commit_id) if name is not None]


class _Search:
    """Breadth first from both heads in step, so that history older than the base is not visited."""

    def __init__(self, graph: CommitGraph, source_head: str, target_head: str) -> None:
        self.graph = graph
        self.heads = source_head, target_head
        self.distances: tuple[dict[str, int], dict[str, int]] = {source_head: 0}, {target_head: 0}
        self.fronts = [source_head], [target_head]

    def run(self) -> GraphCommit:
        depth = 0
        while True:
            best = self._nearest()
            # Whatever is not reached from both sides yet is farther than `depth` from at least one of them.
            if best is not None and best[0] <= depth:
                return best[1]
            if not any(self.fronts):
                break
            depth += 1
            self.fronts = self._expand(0, depth), self._expand(1, depth)
        if best is None:
            raise BadRequest(f"commits {self.heads[0]} and {self.heads[1]} have no common ancestor")
        return best[1]

    def _expand(self, side: int, depth: int) -> list[str]:
        seen = self.distances[side]
        front = []
        for commit_id in self.fronts[side]:
            for parent in self.graph.parents(commit_id):
                if parent not in seen:
                    seen[parent] = depth
                    front.append(parent)
        return front

    def _nearest(self) -> tuple[int, GraphCommit] | None:
        left, right = self.distances
        shared = [name for name in left.keys() & right.keys() if name in self.graph]
        if not shared:
            return None
        least = min(left[name] + right[name] for name in shared)
        nearest = [self.graph.get(name) for name in shared if left[name] + right[name] == least]
        return least, max((commit for commit in nearest if commit is not None), key=lambda commit: commit.lineage_key)
