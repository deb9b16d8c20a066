"""History as a graph: commits of several branches in one order, with the names that point at them."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from omnigraph.engine.merge.base import CommitGraph
from omnigraph.engine.views.core import Core
from omnigraph.errors import BranchNotFound
from omnigraph.storage.branches.tags import list_tags
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.manifest import ManifestState


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One commit, those of its parents that are in the log's reach, and the branches and tags that name it."""

    commit: GraphCommit
    parents: tuple[str, ...]
    branches: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


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
        )
        for commit in islice(_ordered(graph, heads), limit)
    ]


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
