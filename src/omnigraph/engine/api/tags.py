"""`graph.tags`: names for commits."""

from __future__ import annotations

from typing import TypeAlias

from omnigraph.display import ShownList
from omnigraph.engine.api.arguments import checked_methods
from omnigraph.engine.api.noun import Noun
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.targets import commit_named
from omnigraph.engine.views.time_travel import state_at_commit
from omnigraph.errors import HistoricalVersionReclaimed, NotFound
from omnigraph.ids import now_micros
from omnigraph.storage.branches import tags
from omnigraph.storage.branches.names import new_name
from omnigraph.storage.branches.tags import Tag
from omnigraph.storage.lance import tables
from omnigraph.storage.manifest.commits import GraphCommit

_HEAD_ATTEMPTS = 4

TagListing: TypeAlias = ShownList[Tag]  # the method `list` hides the builtin inside the class


@checked_methods
class Tags(Noun):
    """Named commits; a tag never moves, and cleanup keeps what it needs."""

    def __init__(self, core: Core, branch: str | None, actor: str | None) -> None:
        self._core = core
        self._branch = branch
        self._actor = actor

    def create(self, name: str, commit: str | GraphCommit | None = None, *, message: str | None = None) -> Tag:
        """Name a commit (by default the head of the bound branch); it is read once to prove that it is still whole."""
        self._core.require_admin(self._actor)
        for remaining in reversed(range(_HEAD_ATTEMPTS)):
            try:
                return self._create(name, commit, message)
            except HistoricalVersionReclaimed:
                if commit is not None or not remaining:
                    raise  # else the head has moved on since, and a cleanup came in between
        raise AssertionError("the last attempt returns or raises")

    def _create(self, name: str, commit: str | GraphCommit | None, message: str | None) -> Tag:
        reference = commit if commit is not None else str(self._core.state(self._branch).effective_head)
        found = commit_named(self._core, reference, self._branch)
        checked = new_name(name, "tag")
        tag = Tag(
            name=checked,
            graph_commit_id=found.graph_commit_id,
            branch=found.manifest_branch,
            manifest_version=found.manifest_version,
            created_at=now_micros(),
            actor_id=self._actor,
            message=message,
        )
        tags.create_tag(self._core.store, tag)
        try:
            self._require_whole(found)
        except NotFound:
            tags.delete_tag(self._core.store, checked)  # reclaimed before the tag could protect it
            raise
        return tag

    def _require_whole(self, commit: GraphCommit) -> None:
        for entry in state_at_commit(self._core, commit).snapshot:
            tables.open_table(entry.address(self._core.store.root), entry.version, control=True)

    def list(self) -> TagListing:
        """Every tag by name."""
        self._core.require_open()
        return ShownList(tags.list_tags(self._core.store))

    def show(self, name: str) -> Tag:
        """One tag."""
        self._core.require_open()
        found = tags.find_tag(self._core.store, name)
        if found is None:
            raise NotFound(f"tag '{name}' not found")
        return found

    def delete(self, name: str) -> None:
        """Remove a tag; its commit stays in the history."""
        self._core.require_admin(self._actor)
        tags.delete_tag(self._core.store, name)
