"""`graph.commits`: the history of a branch."""

from __future__ import annotations

from typing import TypeAlias

from omnigraph.engine.core import Core
from omnigraph.engine.history import find_commit
from omnigraph.storage.branches import branch_name
from omnigraph.storage.commits import GraphCommit

Listing: TypeAlias = list[GraphCommit]  # the method `list` hides the builtin inside the class


class Commits:
    """The commits that the bound branch knows; other branches by name."""

    def __init__(self, core: Core, branch: str | None) -> None:
        self._core = core
        self._branch = branch

    def list(self, branch: str | None = None, *, limit: int | None = None) -> Listing:
        """Commits, newest first: inherited ones included, those of merged branches not."""
        return [*self._core.state(self._named(branch)).lineage.newest_first(limit)]

    def show(self, commit_id: str) -> GraphCommit:
        """One commit of any live branch."""
        return find_commit(self._core, commit_id, self._branch)

    def head(self, branch: str | None = None) -> str | None:
        """The id of the newest commit."""
        return self._core.state(self._named(branch)).effective_head

    def _named(self, branch: str | None) -> str | None:
        return self._branch if branch is None else branch_name(branch)
