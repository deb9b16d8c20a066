"""`graph.commits`: the history of a branch, what each commit changed, and undoing or repeating it elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TypeAlias

from omnigraph.engine.api.arguments import checked_methods
from omnigraph.engine.changes.blame import Blame, blame
from omnigraph.engine.changes.block import DEFAULT_BYTES, DEFAULT_CHANGES, Budget
from omnigraph.engine.changes.log import LogEntry, history
from omnigraph.engine.changes.page import ChangesPage, commit_changes_page
from omnigraph.engine.changes.scope import change_scope
from omnigraph.engine.merge.outcome import MergeOptions, PropertyMode, Resolution, Strategy
from omnigraph.engine.merge.replay import ReplayCall, ReplayKind, ReplayResult, preview_replay, replay
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.targets import Names, branch_named, commit_named, require_branch
from omnigraph.errors import BadRequest
from omnigraph.storage.branches.branches import list_branches
from omnigraph.storage.manifest.commits import GraphCommit

Listing: TypeAlias = list[GraphCommit]  # the method `list` hides the builtin inside the class
Entries: TypeAlias = list[LogEntry]


@checked_methods
class Commits:
    """The commits that the bound branch knows; other branches by name."""

    def __init__(self, core: Core, branch: str | None, actor: str | None = None) -> None:
        self._core = core
        self._branch = branch
        self._actor = actor

    def list(self, branch: str | None = None, *, limit: int | None = None) -> Listing:
        """Commits, newest first: inherited ones included, those of merged branches not."""
        return [*self._core.state(self._named(branch)).lineage.newest_first(_bound(limit))]

    def show(self, commit_id: str) -> GraphCommit:
        """One commit of any live branch: by its id or the beginning of it, a tag, `HEAD`, `HEAD~1`, …"""
        return commit_named(self._core, commit_id, self._branch)

    def head(self, branch: str | None = None) -> str | None:
        """The id of the newest commit."""
        return self._core.state(self._named(branch)).effective_head

    def changes(
        self,
        commit: str | GraphCommit,
        *,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
        page_token: str | None = None,
        limit: int = DEFAULT_CHANGES,
        max_bytes: int = DEFAULT_BYTES,
    ) -> ChangesPage:
        """What a commit changed compared with its first parent; `next_page_token` asks for the rest."""
        found = commit_named(self._core, commit, self._branch)
        scope = change_scope(kinds, types, ops)
        return commit_changes_page(self._core, found, scope, Budget(limit, max_bytes), page_token)

    def log(self, branch: str | None = None, *, every_branch: bool = False, limit: int | None = None) -> Entries:
        """Commits with their parents, branches and tags, children before parents.

        Follows merged branches as far as a live branch knows them.
        """
        names = list_branches(self._core.store) if every_branch else [branch or self._branch or "main"]
        return history(self._core, [branch_named(name, self._branch) for name in names], _bound(limit))

    def blame(
        self, type_name: str, entity_id: str, *, branch: str | None = None, at: str | GraphCommit | None = None
    ) -> Blame:
        """Which commit, and so which actor, gave each property of an entity the value it has, now or at a commit."""
        named = self._named(branch)
        commit = None if at is None else commit_named(self._core, at, named)
        return blame(self._core, named, type_name, entity_id, commit)

    def revert(
        self,
        commit: str | GraphCommit,
        *,
        branch: str | None = None,
        preview: bool = False,
        resolve: Mapping[str, Resolution] | None = None,
        strategy: Strategy = "fail",
        properties: PropertyMode = "whole",
        attempts: int | None = None,
    ) -> ReplayResult:
        """Undo what a commit changed, as a new commit; later changes of the same entities raise MergeConflicts."""
        options = MergeOptions(strategy, properties, resolve or {})
        return self._replay("revert", commit, branch, options, preview=preview, attempts=attempts)

    def cherry_pick(
        self,
        commit: str | GraphCommit,
        *,
        branch: str | None = None,
        preview: bool = False,
        resolve: Mapping[str, Resolution] | None = None,
        strategy: Strategy = "fail",
        properties: PropertyMode = "whole",
        attempts: int | None = None,
    ) -> ReplayResult:
        """Apply what a commit changed to this branch, or to another one, as a new commit."""
        options = MergeOptions(strategy, properties, resolve or {})
        return self._replay("cherry_pick", commit, branch, options, preview=preview, attempts=attempts)

    def _replay(
        self,
        kind: ReplayKind,
        commit: str | GraphCommit,
        branch: str | None,
        options: MergeOptions,
        *,
        preview: bool,
        attempts: int | None,
    ) -> ReplayResult:
        target = self._named(branch)
        self._core.require_open() if preview else self._core.require_change(self._actor, target)
        require_branch(self._core, target)
        found = commit_named(self._core, commit, self._branch)
        call = ReplayCall(kind, found, target, options, self._actor, self._core.budget(attempts))
        return preview_replay(self._core, call) if preview else replay(self._core, call)

    def _named(self, branch: str | None) -> str | None:
        return branch_named(branch, self._branch)


def _bound(limit: int | None) -> int | None:
    if limit is not None and not 0 <= limit <= sys.maxsize:
        raise BadRequest(f"limit {limit} is out of range; leave it out to get everything")
    return limit
