"""The history of a served graph for asynchronous programs: the same requests as in `history_nouns`, awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from omnigraph.client import calls, history_calls, inspection
from omnigraph.client.aio_nouns import AsyncPart
from omnigraph.client.streams import WholeLines, events_async, write_stream_async
from omnigraph.display import ShownList

if TYPE_CHECKING:
    from omnigraph.engine.changes.baseline import Baseline
    from omnigraph.engine.changes.blame import Blame
    from omnigraph.engine.changes.block import Block
    from omnigraph.engine.changes.entity_history import EntityHistory
    from omnigraph.engine.changes.log import LogEntry
    from omnigraph.engine.changes.page import ChangesPage
    from omnigraph.engine.changes.poll import FeedPage
    from omnigraph.engine.merge.outcome import PropertyMode, Resolution, Strategy
    from omnigraph.engine.merge.replay import ReplayResult
    from omnigraph.engine.views.targets import Names
    from omnigraph.storage.branches.tags import Tag
    from omnigraph.storage.manifest.commits import GraphCommit

TagListing: TypeAlias = "ShownList[Tag]"
Entries: TypeAlias = "ShownList[LogEntry]"
Listing: TypeAlias = "ShownList[GraphCommit]"  # the method `list` hides the builtin inside the class


class AsyncTags(AsyncPart):
    """Named commits of a served graph; a tag never moves, and cleanup keeps what it needs."""

    _part = "tags"

    async def create(self, name: str, commit: str | GraphCommit | None = None, *, message: str | None = None) -> Tag:
        """Name a commit (by default the head of the bound branch)."""
        return await self._transport.send(history_calls.create_tag(name, calls.moment(commit), self._branch, message))

    async def list(self) -> TagListing:
        """Every tag by name."""
        return await self._transport.send(history_calls.list_tags())

    async def show(self, name: str) -> Tag:
        """One tag."""
        return await self._transport.send(history_calls.show_tag(name))

    async def delete(self, name: str) -> None:
        """Remove a tag; its commit stays in the history."""
        await self._transport.send(history_calls.delete_tag(name))


class AsyncCommits(AsyncPart):
    """The commits that the bound branch knows; other branches by name."""

    _part = "commits"

    async def list(
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
        """Commits, newest first; the filters are those of an embedded graph.

        Index builds and compactions are left out unless `maintenance` or their `kind` asks for them.
        """
        wanted = history_calls.CommitQuery(
            branch=branch or self._branch,
            limit=limit,
            actor=actor,
            kind=kind,
            since=since,
            until=until,
            type=type,
            message=message,
            maintenance=maintenance,
        )
        return await self._transport.send(history_calls.list_commits(wanted))

    async def show(self, commit_id: str) -> GraphCommit:
        """One commit of any live branch: by its id or the beginning of it, a tag, `HEAD`, `HEAD~1`, …"""
        return await self._transport.send(history_calls.show_commit(commit_id))

    async def head(self, branch: str | None = None) -> str | None:
        """The id of the newest commit."""
        found = await self.list(branch, limit=1, maintenance=True)
        return found[0].graph_commit_id if found else None

    async def log(
        self,
        branch: str | None = None,
        *,
        every_branch: bool = False,
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

        `every_branch` asks all branches that may be read what they know, and lists all of it, or with a `branch` what
        that one descends from. The filters are those of `list`.
        """
        wanted = history_calls.CommitQuery(
            branch="",
            limit=limit,
            actor=actor,
            kind=kind,
            since=since,
            until=until,
            type=type,
            message=message,
            maintenance=maintenance,
        )
        start = branch if every_branch else branch or self._branch
        return await self._transport.send(inspection.log(wanted, start, every_branch=every_branch))

    async def blame(
        self, type_name: str, entity_id: str, *, branch: str | None = None, at: str | GraphCommit | None = None
    ) -> Blame:
        """Which commit, and so which actor, gave each property of an entity the value it has, now or at a commit."""
        place = calls.place_of(branch or self._branch, calls.moment(at))
        return await self._transport.send(inspection.blame(type_name, entity_id, place))

    async def history(
        self,
        type_name: str,
        entity_id: str,
        *,
        branch: str | None = None,
        at: str | GraphCommit | None = None,
        limit: int = 100,
        after: str | None = None,
    ) -> EntityHistory:
        """What happened to an entity, newest first; `after` of a page continues it."""
        place = calls.place_of(branch or self._branch, calls.moment(at))
        return await self._transport.send(inspection.history(type_name, entity_id, place, limit, after))

    async def revert(
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
        """Undo what a commit changed, as a new commit; later changes of the same entities raise MergeConflicts."""
        how = history_calls.Settling(
            preview=preview, resolve=resolve, strategy=strategy, properties=properties, message=message
        )
        asked = history_calls.replay("revert", calls.commit_id(commit), branch or self._branch, how)
        return await self._transport.send(asked.with_attempts(attempts))

    async def cherry_pick(
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
        """Apply what a commit changed to this branch, or to another one, as a new commit."""
        how = history_calls.Settling(
            preview=preview, resolve=resolve, strategy=strategy, properties=properties, message=message
        )
        asked = history_calls.replay("cherry_pick", calls.commit_id(commit), branch or self._branch, how)
        return await self._transport.send(asked.with_attempts(attempts))

    async def changes(
        self,
        commit: str | GraphCommit,
        *,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
        page_token: str | None = None,
        limit: int = 1_000,
    ) -> ChangesPage:
        """What a commit changed compared with its first parent; `next_page_token` asks for the rest."""
        wanted = history_calls.Filter(kinds, types, ops)
        return await self._transport.send(
            history_calls.commit_changes(calls.commit_id(commit), wanted, page_token, limit)
        )


class AsyncChanges(AsyncPart):
    """What happened to the bound branch, commit by commit."""

    _part = "changes"

    async def poll(
        self,
        cursor: str | None = None,
        start: str | None = None,
        *,
        page_token: str | None = None,
        branch: str | None = None,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
        limit: int = 1_000,
    ) -> FeedPage:
        """The next commits with their changes, oldest first; keep `cursor` of the answer together with the data.

        Begin with `start`: "now" (the default), "beginning" or "after:<commit id>". A page that ends inside a commit
        has `next_page_token` instead of a cursor; pass it as `page_token` to get the rest. Delivery is at least once,
        so apply a block by its commit id.
        """
        wanted, place = history_calls.Filter(kinds, types, ops), history_calls.FeedPlace(cursor, start, page_token)
        return await self._transport.send(history_calls.poll_changes(branch or self._branch, place, wanted, limit))

    async def follow(
        self,
        cursor: str | None = None,
        start: str | None = None,
        *,
        branch: str | None = None,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
    ) -> AsyncIterator[tuple[str | None, Block]]:
        """Commits as they happen, for ever: the cursor behind each, where there is one, and the block."""
        wanted, place = history_calls.Filter(kinds, types, ops), history_calls.FeedPlace(cursor, start)
        async with self._transport.stream(
            history_calls.follow_changes(branch or self._branch, place, wanted)
        ) as pieces:
            async for event in events_async(pieces):
                for found in history_calls.followed(event):
                    yield found

    async def baseline(
        self,
        target: str | PathLike[str] | BinaryIO,
        *,
        branch: str | None = None,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
    ) -> Baseline:
        """Write everything the branch holds as JSON lines, ended by the cursor from which `poll` continues."""
        wanted = history_calls.Filter(kinds, types, ops)
        lines = WholeLines()
        async with self._transport.stream(history_calls.baseline(branch or self._branch, wanted)) as pieces:
            # Without its last line a baseline is void, and then its file must not appear.
            size = await write_stream_async(target, lines.awaited(pieces), lambda: lines.seal("baseline"))
        return history_calls.sealed_baseline(lines, size)
