"""`graph.commits`: the history of a branch, what each commit changed, and undoing or repeating it elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import TypeAlias

from omnigraph.display import ShownList
from omnigraph.engine.api.arguments import checked_methods
from omnigraph.engine.api.noun import Noun
from omnigraph.engine.changes.blame import Blame, blame
from omnigraph.engine.changes.block import DEFAULT_BYTES, DEFAULT_CHANGES, Budget
from omnigraph.engine.changes.commit_filter import CommitFilter, require_type, visible
from omnigraph.engine.changes.entity_history import DEFAULT_EVENTS, EntityHistory, entity_history
from omnigraph.engine.changes.log import LogEntry, behind, history, selected
from omnigraph.engine.changes.page import ChangesPage, commit_changes_page
from omnigraph.engine.changes.scope import change_scope
from omnigraph.engine.merge.outcome import MergeOptions, PropertyMode, Resolution, Strategy
from omnigraph.engine.merge.replay import ReplayCall, ReplayKind, ReplayResult, preview_replay, replay
from omnigraph.engine.values.message import commit_message
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.targets import Names, branch_named, commit_named, require_branch
from omnigraph.errors import BadRequest
from omnigraph.policy.actions import Action
from omnigraph.storage.branches.branches import list_branches
from omnigraph.storage.manifest.commits import GraphCommit

Listing: TypeAlias = ShownList[GraphCommit]  # the method `list` hides the builtin inside the class
Entries: TypeAlias = ShownList[LogEntry]


@checked_methods
class Commits(Noun):
    """The commits that the bound branch knows; other branches by name."""

    def __init__(self, core: Core, branch: str | None, actor: str | None = None) -> None:
        self._core = core
        self._branch = branch
        self._actor = actor

    def list(
        self,
        branch: str | None = None,
        *,
        limit: int | None = None,
        actor: str | None = None,
        kind: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        type: str | None = None,
        message: str | None = None,
        maintenance: bool = False,
    ) -> Listing:
        """Commits, newest first: inherited ones included, those of merged branches not.

        `actor` (also of what it finished for others), `kind`, `since`, `until`, `type` (one whose rows changed) and
        `message` (a part of it) choose among them. Index builds and compactions are left out unless `maintenance` or
        their `kind` asks for them.
        """
        wanted = CommitFilter(
            actor=actor, kind=kind, since=since, until=until, type=type, message=message, maintenance=maintenance
        )
        lineage, most = self._core.state(self._named(branch)).lineage, _bound(limit)
        shown = visible(lineage.newest_first(), self._core.visibility)
        found = ShownList(islice(filter(wanted.test(self._core), shown), most))
        if type is not None and not found:
            require_type(self._core, self._named(branch), type, visible(lineage.newest_first(), self._core.visibility))
        return found

    def show(self, commit_id: str) -> GraphCommit:
        """One commit of any live branch: by its id or the beginning of it, a tag, `HEAD`, `HEAD~1`, …"""
        return next(visible([commit_named(self._core, commit_id, self._branch)], self._core.visibility))

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

    def log(
        self,
        branch: str | None = None,
        *,
        every_branch: bool = False,
        among: Names = None,
        limit: int | None = None,
        actor: str | None = None,
        kind: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        type: str | None = None,
        message: str | None = None,
        maintenance: bool = False,
    ) -> Entries:
        """Commits with their parents, branches and tags, children before parents.

        Follows merged branches as far as the branch knows them; `every_branch` asks all live branches, or those `among`
        them, what they know, and lists all of it, or with a `branch` what that one descends from. The filters are
        those of `list`; a commit of maintenance that a branch or a tag names is there in any case.
        """
        wanted = CommitFilter(
            actor=actor, kind=kind, since=since, until=until, type=type, message=message, maintenance=maintenance
        )
        most, names = _bound(limit), [branch or self._branch or "main"]
        if every_branch:
            known = [among] if isinstance(among, str) else among
            names = [name for name in list_branches(self._core.store) if known is None or name in known]
        entries = history(self._core, [branch_named(name, self._branch) for name in names])
        if every_branch and branch is not None:
            entries = behind(entries, self.head(branch))
        shown = visible((entry.commit for entry in entries), self._core.visibility)
        entries = [replace(entry, commit=commit) for entry, commit in zip(entries, shown, strict=True)]
        matches, named = wanted.test(self._core), replace(wanted, maintenance=True).test(self._core)
        found = selected(entries, lambda each: (named if each.branches or each.tags else matches)(each.commit))
        if type is not None and not found:
            require_type(self._core, self._named(branch), type, (entry.commit for entry in entries))
        return ShownList(found[:most])

    def blame(
        self, type_name: str, entity_id: str, *, branch: str | None = None, at: str | GraphCommit | None = None
    ) -> Blame:
        """Which commit, and so which actor, gave each property of an entity the value it has, now or at a commit."""
        named = self._named(branch)
        commit = None if at is None else commit_named(self._core, at, named)
        return blame(self._core, named, type_name, entity_id, at=commit, reader=self._actor)

    def history(
        self,
        type_name: str,
        entity_id: str,
        *,
        branch: str | None = None,
        at: str | GraphCommit | None = None,
        limit: int = DEFAULT_EVENTS,
        after: str | None = None,
    ) -> EntityHistory:
        """What happened to an entity up to now or to a commit, newest first: each commit and the values it changed.

        Also of one that was deleted. `after` of a page continues it. Commits of a merged branch are there where its
        change arrived, the merge itself where it decided otherwise or the branch is gone.
        """
        named = self._named(branch)
        commit = None if at is None else commit_named(self._core, at, named)
        return entity_history(
            self._core, named, type_name, entity_id, at=commit, limit=limit, after=after, reader=self._actor
        )

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
        message: str | None = None,
    ) -> ReplayResult:
        """Undo what a commit changed, as a new commit; later changes of the same entities raise MergeConflicts.

        Without a `message` the new commit names the one that it undoes.
        """
        options = MergeOptions(strategy, properties, resolve or {})
        return self._replay("revert", commit, branch, options, preview=preview, attempts=attempts, message=message)

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
        message: str | None = None,
    ) -> ReplayResult:
        """Apply what a commit changed to this branch, or to another one, as a new commit.

        Without a `message` the new commit gets that of the one it repeats, or names it.
        """
        options = MergeOptions(strategy, properties, resolve or {})
        return self._replay("cherry_pick", commit, branch, options, preview=preview, attempts=attempts, message=message)

    def _replay(
        self,
        kind: ReplayKind,
        commit: str | GraphCommit,
        branch: str | None,
        options: MergeOptions,
        *,
        preview: bool,
        attempts: int | None,
        message: str | None,
    ) -> ReplayResult:
        target = self._named(branch)
        self._core.require_open() if preview else self._core.require_change(self._actor, target)
        require_branch(self._core, target)
        found = commit_named(self._core, commit, self._branch)
        if not preview:  # what is copied from the history shows on the branch
            for read in {target or "main", found.manifest_branch or "main"}:
                self._core.require_allowed(self._actor, Action.READ, read)
        budget, text = self._core.budget(attempts), commit_message(message)
        call = ReplayCall(kind, found, target, options, self._actor, budget, text)
        return preview_replay(self._core, call) if preview else replay(self._core, call)

    def _named(self, branch: str | None) -> str | None:
        return branch_named(branch, self._branch)


def _bound(limit: int | None) -> int | None:
    if limit is not None and not 0 <= limit <= sys.maxsize:
        raise BadRequest(f"limit {limit} is out of range; leave it out to get everything")
    return limit
