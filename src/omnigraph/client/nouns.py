"""The parts of a served graph: its branches, its history, its changes, its schema and its stored queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from omnigraph.client import calls, history_calls, inspection
from omnigraph.client.inspection import RemotePlan
from omnigraph.client.streams import WholeLines, events, write_stream
from omnigraph.client.transport import Transport
from omnigraph.client.unserved import Served
from omnigraph.display import Displayed, ShownList

if TYPE_CHECKING:
    from omnigraph.compiler.source import Source
    from omnigraph.engine.changes.baseline import Baseline
    from omnigraph.engine.changes.blame import Blame
    from omnigraph.engine.changes.block import Block
    from omnigraph.engine.changes.entity_history import EntityHistory
    from omnigraph.engine.changes.log import LogEntry
    from omnigraph.engine.changes.page import ChangesPage
    from omnigraph.engine.changes.poll import FeedPage
    from omnigraph.engine.merge.outcome import MergeResult, PropertyMode, Resolution, Strategy
    from omnigraph.engine.merge.replay import ReplayResult
    from omnigraph.engine.read.shape.result import Result
    from omnigraph.engine.values.result import MutationResult
    from omnigraph.engine.views.targets import Names
    from omnigraph.storage.branches.tags import Tag
    from omnigraph.storage.manifest.commits import GraphCommit

TagListing: TypeAlias = "ShownList[Tag]"
Entries: TypeAlias = "ShownList[LogEntry]"
Listing: TypeAlias = "ShownList[GraphCommit]"  # the method `list` hides the builtin inside the class


class RemotePart(Displayed, Served):
    """What every part has: the connection, and the branch that its graph is bound to."""

    def __init__(self, transport: Transport, branch: str) -> None:
        self._transport = transport
        self._branch = branch

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of branch '{self._branch}' of {self._transport.graph}>"


class RemoteSchema(RemotePart):
    """The schema that a branch of a served graph accepts right now."""

    _part = "schema"

    def __init__(self, transport: Transport, branch: str, moment: str | None = None) -> None:
        super().__init__(transport, branch)
        self._moment = moment

    @property
    def source(self) -> str:
        """The text, exactly as it was accepted."""
        return self._transport.send(calls.schema(self._branch, self._moment))

    def at(self, commit: str | GraphCommit) -> RemoteSchema:
        """The schema that a commit was written under."""
        return RemoteSchema(self._transport, self._branch, calls.moment(commit))

    def plan(self, desired: str | PathLike[str] | Source, *, allow_data_loss: bool = False) -> RemotePlan:
        """The steps from the accepted schema to a desired one (text, or the path of a `.pg` file); changes nothing.

        `print(plan)` is for people, `plan.to_json()` for programs.
        """
        text = calls.text_of(desired)
        return self._transport.send(inspection.plan_schema(text, self._branch, allow_data_loss))

    def apply(
        self, desired: str | PathLike[str] | Source, *, allow_data_loss: bool = False, message: str | None = None
    ) -> dict[str, Any]:
        """Change the schema of this branch; a server of a cluster refuses and says so. The receipt is the server's."""
        text = calls.text_of(desired)
        return self._transport.send(calls.apply_schema(text, self._branch, allow_data_loss, message))


class RemoteBranches(RemotePart):
    """The branches of a served graph; a new one starts at the bound branch unless told otherwise."""

    _part = "branches"

    def create(self, name: str, from_: str | None = None) -> None:
        """Create a branch; it shares every table with its source until it writes to it."""
        self._transport.send(history_calls.create_branch(name, from_ or self._branch))

    def list(self) -> ShownList[str]:
        """Names of all branches, `main` first."""
        return self._transport.send(history_calls.list_branches())

    def rename(self, name: str, to: str) -> None:
        """Give a branch another name; its commits, and the branches that were made from it, stay what they are."""
        self._transport.send(history_calls.rename_branch(name, to))

    def delete(self, name: str) -> None:
        """Delete a branch that nothing depends on; its commits become unreachable."""
        self._transport.send(history_calls.delete_branch(name))

    def merge(
        self,
        source: str,
        into: str = "main",
        delete: bool = False,
        *,
        preview: bool = False,
        resolve: Mapping[str, Resolution] | None = None,
        strategy: Strategy = "fail",
        properties: PropertyMode = "whole",
        attempts: int | None = None,
        message: str | None = None,
    ) -> MergeResult:
        """Merge a branch into another as one commit with two parents; contradictions raise MergeConflicts.

        `preview` writes nothing and lists conflicts in the result; `resolve`, `strategy` and `properties` settle them
        as on an embedded graph. `delete` removes the source afterwards; when something still depends on it, the result
        says so and the merge stands. Without a `message` the commit says what was merged into what.
        """
        how = history_calls.Settling(
            preview=preview, resolve=resolve, strategy=strategy, properties=properties, message=message
        )
        asked = history_calls.merge_branches(source, into, delete, how)
        return self._transport.send(asked.with_attempts(attempts))


class RemoteTags(RemotePart):
    """Named commits of a served graph; a tag never moves, and cleanup keeps what it needs."""

    _part = "tags"

    def create(self, name: str, commit: str | GraphCommit | None = None, *, message: str | None = None) -> Tag:
        """Name a commit (by default the head of the bound branch)."""
        return self._transport.send(history_calls.create_tag(name, calls.moment(commit), self._branch, message))

    def list(self) -> TagListing:
        """Every tag by name."""
        return self._transport.send(history_calls.list_tags())

    def show(self, name: str) -> Tag:
        """One tag."""
        return self._transport.send(history_calls.show_tag(name))

    def delete(self, name: str) -> None:
        """Remove a tag; its commit stays in the history."""
        self._transport.send(history_calls.delete_tag(name))


class RemoteCommits(RemotePart):
    """The commits that the bound branch knows; other branches by name."""

    _part = "commits"

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
        return self._transport.send(history_calls.list_commits(wanted))

    def show(self, commit_id: str) -> GraphCommit:
        """One commit of any live branch: by its id or the beginning of it, a tag, `HEAD`, `HEAD~1`, …"""
        return self._transport.send(history_calls.show_commit(commit_id))

    def head(self, branch: str | None = None) -> str | None:
        """The id of the newest commit."""
        found = self.list(branch, limit=1, maintenance=True)
        return found[0].graph_commit_id if found else None

    def log(
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
        return self._transport.send(inspection.log(wanted, start, every_branch=every_branch))

    def blame(
        self, type_name: str, entity_id: str, *, branch: str | None = None, at: str | GraphCommit | None = None
    ) -> Blame:
        """Which commit, and so which actor, gave each property of an entity the value it has, now or at a commit."""
        place = calls.place_of(branch or self._branch, calls.moment(at))
        return self._transport.send(inspection.blame(type_name, entity_id, place))

    def history(
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
        return self._transport.send(inspection.history(type_name, entity_id, place, limit, after))

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
        """Undo what a commit changed, as a new commit; later changes of the same entities raise MergeConflicts."""
        how = history_calls.Settling(
            preview=preview, resolve=resolve, strategy=strategy, properties=properties, message=message
        )
        wanted = calls.commit_id(commit)
        return self._transport.send(
            history_calls.replay("revert", wanted, branch or self._branch, how).with_attempts(attempts)
        )

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
        """Apply what a commit changed to this branch, or to another one, as a new commit."""
        how = history_calls.Settling(
            preview=preview, resolve=resolve, strategy=strategy, properties=properties, message=message
        )
        wanted = calls.commit_id(commit)
        return self._transport.send(
            history_calls.replay("cherry_pick", wanted, branch or self._branch, how).with_attempts(attempts)
        )

    def changes(
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
        return self._transport.send(history_calls.commit_changes(calls.commit_id(commit), wanted, page_token, limit))


class RemoteChanges(RemotePart):
    """What happened to the bound branch, commit by commit."""

    _part = "changes"

    def poll(
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
        return self._transport.send(history_calls.poll_changes(branch or self._branch, place, wanted, limit))

    def follow(
        self,
        cursor: str | None = None,
        start: str | None = None,
        *,
        branch: str | None = None,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
    ) -> Iterator[tuple[str | None, Block]]:
        """Commits as they happen, for ever: the cursor behind each, where there is one, and the block."""
        wanted, place = history_calls.Filter(kinds, types, ops), history_calls.FeedPlace(cursor, start)
        with self._transport.stream(history_calls.follow_changes(branch or self._branch, place, wanted)) as pieces:
            for event in events(pieces):
                yield from history_calls.followed(event)

    def baseline(
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
        with self._transport.stream(history_calls.baseline(branch or self._branch, wanted)) as pieces:
            lines = WholeLines(pieces)
            # Without its last line a baseline is void, and then its file must not appear.
            size = write_stream(target, lines, lambda: lines.seal("baseline"))
        return history_calls.sealed_baseline(lines, size)


class RemoteQueries(RemotePart):
    """Queries that the server has under names."""

    _part = "queries"

    def list(self) -> ShownList[dict[str, Any]]:
        """The catalog: name, description, parameters, and whether it writes."""
        return self._transport.send(calls.catalog(self._branch))

    def run(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        *,
        branch: str | None = None,
        at: str | GraphCommit | None = None,
    ) -> Result:
        """Run a stored read."""
        return self._transport.send(calls.stored_query(name, params, branch or self._branch, calls.moment(at)))

    def mutate(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        *,
        branch: str | None = None,
        if_commit: str | None = None,
        message: str | None = None,
    ) -> MutationResult:
        """Run a stored mutation; with `if_commit`, only while the branch is at that commit."""
        asked = calls.stored_mutation(name, params, branch or self._branch, if_commit, message)
        return self._transport.send(asked)
