"""History as a graph: commits of several branches in one order, with the names that point at them."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

from omnigraph.display import Displayed
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.merge_base import CommitGraph
from omnigraph.errors import BranchNotFound
from omnigraph.storage.branches.tags import list_tags
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.manifest import ManifestState


@dataclass(frozen=True, slots=True, repr=False)
class LogEntry(Displayed):
    """One commit, its parents in the log, and the branches and tags that name it.

    Where a parent is left out of the log, the nearest of its ancestors that are not take its place. `unknown_parent`
    is the head of a merged branch that no live branch knows any more.
    """

    commit: GraphCommit
    parents: tuple[str, ...]
    branches: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    unknown_parent: str | None = None

    def _displayed(self) -> list[tuple[str, Any]]:
        named = (*self.branches, *self.tags)
        return [("names", named), ("parents", self.parents), *self.commit._displayed()]

    def document(self) -> dict[str, Any]:
        """The same as JSON."""
        return {
            **self.commit.document(),
            "parents": list(self.parents),
            "branches": list(self.branches),
            "tags": list(self.tags),
            "unknown_parent": self.unknown_parent,
        }


def history(core: Core, branches: Iterable[str | None], limit: int | None = None) -> list[LogEntry]:
    """Everything reachable from the heads of these branches through both kinds of parents, children before parents."""
    states = [state for branch in branches if (state := _state(core, branch)) is not None]
    graph = CommitGraph(state.lineage for state in states)
    heads: dict[str, list[str]] = {}
    for state in states:
        heads.setdefault(str(state.effective_head), []).append(state.branch or "main")
    tagged: dict[str, list[str]] = {}
    for tag in list_tags(core.store):
        tagged.setdefault(tag.graph_commit_id, []).append(tag.name)
    return [
        LogEntry(
            commit,
            tuple(parent for parent in graph.parents(commit.graph_commit_id) if parent in graph),
            tuple(heads.get(commit.graph_commit_id, ())),
            tuple(tagged.get(commit.graph_commit_id, ())),
            _unknown(graph, commit.merged_parent_commit_id),
        )
        for commit in islice(_ordered(graph, heads), limit)
    ]


def _unknown(graph: CommitGraph, parent: str | None) -> str | None:
    return None if parent is None or parent in graph else parent


def behind(entries: Iterable[LogEntry], head: str | None) -> list[LogEntry]:
    """The entries that a head descends from, itself included; children come before parents, and stay so."""
    wanted = {head}
    found = []
    for entry in entries:
        if entry.commit.graph_commit_id in wanted:
            found.append(entry)
            wanted.update(entry.parents)
    return found


def selected(entries: Sequence[LogEntry], wanted: Callable[[LogEntry], bool]) -> list[LogEntry]:
    """The entries that are wanted, joined where others between them are left out."""
    nearest: dict[str, tuple[str, ...]] = {}
    found = []
    for entry in reversed(entries):
        known = (nearest.get(parent, ()) for parent in entry.parents)
        parents = tuple(dict.fromkeys(chain.from_iterable(known)))
        if wanted(entry):
            found.append(replace(entry, parents=parents))
            parents = (entry.commit.graph_commit_id,)
        nearest[entry.commit.graph_commit_id] = parents
    return found[::-1]


def _state(core: Core, branch: str | None) -> ManifestState | None:
    try:
        return core.state(branch)
    except BranchNotFound:
        return None  # deleted while its siblings were being read


def _ordered(graph: CommitGraph, heads: Iterable[str]) -> Iterable[GraphCommit]:
    """Newest first, but never a parent before one of its children."""
    reach, front = set(heads), list(heads)
    children: Counter[str] = Counter()
    while front:
        for parent in graph.parents(front.pop()):
            children[parent] += 1
            if parent not in reach and parent in graph:
                reach.add(parent)
                front.append(parent)
    ready = [_ranked(graph, name) for name in reach if not children[name]]
    heapq.heapify(ready)
    while ready:
        _, _, commit_id = heapq.heappop(ready)
        commit = graph.get(commit_id)
        assert commit is not None
        yield commit
        for parent in graph.parents(commit_id):
            children[parent] -= 1
            if not children[parent] and parent in graph:
                heapq.heappush(ready, _ranked(graph, parent))


def _ranked(graph: CommitGraph, commit_id: str) -> tuple[int, int, str]:
    commit = graph.get(commit_id)
    assert commit is not None
    return -commit.created_at, -commit.manifest_version, commit_id
