"""The asynchronous handle on a served graph: the same requests, awaited."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.client import calls
from omnigraph.client.blobs import AsyncBlob, find_blob_async
from omnigraph.client.request import Request, members
from omnigraph.client.streams import WholeLines, split_events
from omnigraph.client.transport import AsyncTransport, base_url

if TYPE_CHECKING:
    from omnigraph.engine.changes.page import ChangesPage
    from omnigraph.engine.changes.poll import FeedPage
    from omnigraph.engine.merge.outcome import MergeResult
    from omnigraph.engine.read.shape.result import Result
    from omnigraph.engine.values.result import LoadResult, MutationResult
    from omnigraph.storage.manifest.commits import GraphCommit


def connect(url: str, graph: str = "default", token: str | None = None, *, branch: str = "main") -> AsyncGraph:
    """A graph of a server; nothing is sent before the first verb."""
    return AsyncGraph(AsyncTransport(base_url(url, graph), token), branch)


class AsyncGraph:
    """A served graph, bound to one branch."""

    def __init__(self, transport: AsyncTransport, branch: str = "main") -> None:
        self._transport = transport
        self.branch_name = branch

    async def __aenter__(self) -> AsyncGraph:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Give the connections back."""
        await self._transport.close()

    def branch(self, name: str) -> AsyncGraph:
        """Another handle on the same graph, bound to a branch."""
        return AsyncGraph(self._transport, name)

    async def query(
        self,
        source: str | PathLike[str],
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        at: str | None = None,
    ) -> Result:
        """Run a read on this branch or as of a commit."""
        text = calls.text_of(source if isinstance(source, str) else Path(source))
        return await self._transport.send(calls.query(text, name, params, self.branch_name, at))

    async def mutate(
        self,
        source: str | PathLike[str],
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        if_commit: str | None = None,
    ) -> MutationResult:
        """Run a mutation as one commit; with `if_commit`, only while the branch is at that commit."""
        text = calls.text_of(source if isinstance(source, str) else Path(source))
        return await self._transport.send(calls.mutate(text, name, params, self.branch_name, if_commit))

    async def run(self, name: str, params: Mapping[str, Any] | None = None, *, at: str | None = None) -> Result:
        """Run a stored read."""
        return await self._transport.send(calls.stored_query(name, params, self.branch_name, at))

    async def run_mutation(
        self, name: str, params: Mapping[str, Any] | None = None, *, if_commit: str | None = None
    ) -> MutationResult:
        """Run a stored mutation."""
        return await self._transport.send(calls.stored_mutation(name, params, self.branch_name, if_commit))

    async def queries(self) -> list[dict[str, Any]]:
        """The catalog of stored queries."""
        return await self._transport.send(calls.catalog())

    async def load(self, data: Any, mode: str = "append", *, from_: str | None = None) -> LoadResult:
        """Load records as one commit; at most 32 MiB."""
        return await self._transport.send(calls.load(calls.records_of(data), mode, self.branch_name, from_))

    async def get(self, type_name: str, entity_id: str, at: str | None = None) -> dict[str, Any] | None:
        """One node as flat JSON, now or at a commit; None when it is not there."""
        rows = (await self.query(calls.get_source(type_name), params={"id": entity_id}, at=at)).rows()
        return rows[0]["x"] if rows else None

    async def blob(self, type_name: str, entity_id: str, property_name: str, *, at: str | None = None) -> AsyncBlob:
        """One stored blob, now or at a commit: `await (await graph.blob("Document", "manual", "content")).read()`."""
        moment = (("branch", self.branch_name),) if at is None else (("snapshot", at),)
        return await find_blob_async(self._transport, type_name, entity_id, property_name, moment)

    async def export(self, types: Sequence[str] = ()) -> AsyncIterator[bytes]:
        """Every entity, or those of some types, as JSON lines, piece by piece."""
        body = members(branch=self.branch_name, type_names=list(types) or None)
        async with self._transport.stream(Request("POST", "/export", lambda _: None, json=body)) as pieces:
            async for piece in pieces:
                yield piece

    async def schema_source(self) -> str:
        """The accepted schema as it was written."""
        return await self._transport.send(calls.schema())

    async def apply_schema(self, desired: str | PathLike[str], *, allow_data_loss: bool = False) -> dict[str, Any]:
        """Change the schema; a server that belongs to a cluster refuses and says so. The receipt is the server's."""
        text = calls.text_of(desired if isinstance(desired, str) else Path(desired))
        return await self._transport.send(calls.apply_schema(text, allow_data_loss))

    async def snapshot(self) -> dict[str, Any]:
        """The published datasets of the bound branch."""
        return await self._transport.send(calls.snapshot(self.branch_name))

    async def list_branches(self) -> list[str]:
        """Names of all branches, main first."""
        return await self._transport.send(calls.list_branches())

    async def create_branch(self, name: str, from_: str | None = None) -> None:
        """Create a branch, by default from the bound one."""
        await self._transport.send(calls.create_branch(name, from_ or self.branch_name))

    async def delete_branch(self, name: str) -> None:
        """Delete a branch that nothing depends on."""
        await self._transport.send(calls.delete_branch(name))

    async def merge(self, source: str, into: str = "main", delete: bool = False) -> MergeResult:
        """Merge a branch into another; contradictions raise MergeConflicts."""
        return await self._transport.send(calls.merge_branches(source, into, delete))

    async def commits(self) -> list[GraphCommit]:
        """The commits of this branch, newest first."""
        return await self._transport.send(calls.list_commits(self.branch_name))

    async def show_commit(self, commit_id: str) -> GraphCommit:
        """One commit of any branch."""
        return await self._transport.send(calls.show_commit(commit_id))

    async def head(self) -> str | None:
        """The id of the newest commit of this branch."""
        found = await self.commits()
        return found[0].graph_commit_id if found else None

    async def commit_changes(self, commit_id: str, page_token: str | None = None) -> ChangesPage:
        """What one commit changed, a page at a time."""
        return await self._transport.send(calls.commit_changes(commit_id, page_token))

    async def poll(self, cursor: str | None = None, start: str | None = None) -> FeedPage:
        """The next commits with their changes, oldest first."""
        return await self._transport.send(calls.poll_changes(self.branch_name, {"cursor": cursor, "start": start}))

    async def baseline(self, types: Sequence[str] = ()) -> AsyncIterator[bytes]:
        """The whole branch, line by line; the last line says where changes continue, and without it all is void."""
        body = members(branch=self.branch_name, type=list(types) or None)
        lines = WholeLines()
        async with self._transport.stream(Request("POST", "/changes/baseline", lambda _: None, json=body)) as pieces:
            async for piece in pieces:
                for line in lines.feed(piece):
                    yield line
        lines.seal("baseline")

    async def follow(
        self, cursor: str | None = None, start: str | None = None
    ) -> AsyncIterator[tuple[str | None, dict[str, Any]]]:
        """Commits as they happen, for ever: the cursor behind each, where there is one, and the block as JSON."""
        asked = calls.poll_changes(self.branch_name, {"cursor": cursor, "start": start})
        pending = b""
        async with self._transport.stream(
            Request("GET", "/changes/stream", lambda _: None, query=asked.query)
        ) as pieces:
            async for piece in pieces:
                found, pending = split_events(pending + piece)
                for name, data, identity in found:
                    if name == "changes":
                        yield identity, json.loads(data)
