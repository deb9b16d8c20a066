"""How far branches have moved apart: the commits that one has and another has not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from omnigraph.display import Displayed
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.merge_base import CommitGraph
from omnigraph.engine.views.targets import branch_named
from omnigraph.errors import BranchNotFound
from omnigraph.storage.manifest.manifest import ManifestState


@dataclass(frozen=True, slots=True, repr=False)
class Divergence(Displayed):
    """A branch, its newest commit, how many commits it has that main has not (`ahead`), and the reverse (`behind`)."""

    branch: str
    commit: str | None
    ahead: int
    behind: int


def divergence(core: Core, branches: Iterable[str]) -> tuple[Divergence, ...]:
    """Every branch compared with main, commits of merged branches included; one that is gone by now is left out."""
    states = {name: state for name in branches if (state := _state(core, name)) is not None}
    main = core.state(None)
    graph = CommitGraph([main.lineage, *(each.lineage for each in states.values())])
    reached = _ancestors(graph, main.effective_head)
    found = []
    for name, state in states.items():
        mine = reached if state.branch is None else _ancestors(graph, state.effective_head)
        found.append(Divergence(name, state.effective_head, len(mine - reached), len(reached - mine)))
    return tuple(found)


def _ancestors(graph: CommitGraph, head: str | None) -> set[str]:
    """Everything that a head descends from, itself included."""
    found: set[str] = set()
    front = [] if head is None else [head]
    while front:
        commit = front.pop()
        if commit in found or commit not in graph:  # a merged branch that was deleted
            continue
        found.add(commit)
        front += graph.parents(commit)
    return found


def _state(core: Core, name: str) -> ManifestState | None:
    try:
        return core.state(branch_named(name, None))
    except BranchNotFound:
        return None
