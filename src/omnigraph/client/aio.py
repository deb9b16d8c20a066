"""`omnigraph.aio.connect`: the handle on a served graph for asynchronous programs; the same requests, awaited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, BinaryIO

from omnigraph.client import calls
from omnigraph.client.aio_nouns import AsyncBranches, AsyncChanges, AsyncCommits, AsyncQueries, AsyncSchema, AsyncTags
from omnigraph.client.blobs import AsyncBlob, find_blob_async
from omnigraph.client.streams import write_stream_async
from omnigraph.client.transport import AsyncTransport, base_url
from omnigraph.client.unserved import Served
from omnigraph.engine.api.arguments import renamed

if TYPE_CHECKING:
    from omnigraph.compiler.source import Source
    from omnigraph.engine.read.shape.result import Result
    from omnigraph.engine.values.result import BatchResult, LoadMode, LoadResult, MutationResult
    from omnigraph.storage.manifest.commits import GraphCommit


def connect(url: str, graph: str = "default", token: str | None = None, *, branch: str = "main") -> AsyncGraph:
    """A graph of a server; nothing is sent before the first verb."""
    return AsyncGraph(AsyncTransport(base_url(url, graph), token), branch)


class AsyncGraph(Served):
    """A served graph, bound to one branch; its verbs are those of an embedded one, as far as the server has them."""

    def __init__(self, transport: AsyncTransport, branch: str = "main") -> None:
        self._transport = transport
        self._branch = branch

    @property
    def branch_name(self) -> str:
        """The branch this handle is bound to."""
        return self._branch

    @property
    def branches(self) -> AsyncBranches:
        """Create, list, merge and delete branches."""
        return AsyncBranches(self._transport, self._branch)

    @property
    def tags(self) -> AsyncTags:
        """Names for commits that never move."""
        return AsyncTags(self._transport, self._branch)

    @property
    def commits(self) -> AsyncCommits:
        """The history."""
        return AsyncCommits(self._transport, self._branch)

    @property
    def changes(self) -> AsyncChanges:
        """The change feed of this branch, and baselines for it."""
        return AsyncChanges(self._transport, self._branch)

    @property
    def queries(self) -> AsyncQueries:
        """The stored queries of the graph."""
        return AsyncQueries(self._transport, self._branch)

    @property
    def schema(self) -> AsyncSchema:
        """The accepted schema."""
        return AsyncSchema(self._transport, self._branch)

    def branch(self, name: str) -> AsyncGraph:
        """Another handle on the same graph, bound to a branch; whether it exists shows when it is used."""
        return AsyncGraph(self._transport, name)

    async def server_graphs(self) -> list[dict[str, str]]:
        """The graphs that the server lists, by id, for a handle on the server itself."""
        return await self._transport.send(calls.graphs())

    async def snapshot(self, *, branch: str | None = None) -> dict[str, Any]:
        """Which version of each table is visible, as the server tells it."""
        return await self._transport.send(calls.snapshot(branch or self._branch))

    @renamed(snapshot="at")
    async def query(
        self,
        source: str | PathLike[str] | Source,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        branch: str | None = None,
        at: str | GraphCommit | None = None,
    ) -> Result:
        """Run a read (text, or the path of a `.gq` file) on this branch, on another one, or as of a commit (`at`).

        `name` picks one query of several.
        """
        asked = calls.query(calls.text_of(source), name, params, branch or self._branch, calls.moment(at))
        return await self._transport.send(asked)

    async def mutate(
        self,
        source: str | PathLike[str] | Source,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        branch: str | None = None,
        if_commit: str | None = None,
        *,
        attempts: int | None = None,
        message: str | None = None,
    ) -> MutationResult:
        """Run a mutation (text, or the path of a `.gq` file) as one commit, or not at all.

        `name` picks one query of several. On a branch that moved the server computes it again, at most `attempts` times
        in all; `if_commit` refuses instead, unless the branch is still there. `message` is kept with the commit.
        """
        asked = calls.mutate(calls.text_of(source), name, params, branch or self._branch, if_commit, message=message)
        return await self._transport.send(asked.with_attempts(attempts))

    async def mutate_many(
        self,
        mutations: Iterable[Any],
        source: str | PathLike[str] | Source | None = None,
        *,
        branch: str | None = None,
        if_commit: str | None = None,
        attempts: int | None = None,
        message: str | None = None,
    ) -> BatchResult:
        """Run a batch of mutations, in order, as one commit, or none of them; at most 32 MiB.

        Each is `{"query": text, "name": …, "params": {…}}`, or a pair of text and parameters; without a `query` it is a
        query of `source`, or else the stored query of that `name`. An error names the line it comes from.
        """
        text = None if source is None else calls.text_of(source)
        asked = calls.mutate_many(mutations, text, branch or self._branch, if_commit, message=message)
        return await self._transport.send(asked.with_attempts(attempts))

    async def load(
        self,
        data: Any,
        mode: LoadMode = "append",
        *,
        branch: str | None = None,
        from_: str | None = None,
        attempts: int | None = None,
        message: str | None = None,
    ) -> LoadResult:
        """Load records from a path, text, bytes or a list of dicts as one commit, or not at all; at most 32 MiB.

        `mode` is append, merge, patch or overwrite. With `from_`, a missing branch is created first. `attempts` is that
        of `mutate`; `message` is kept with the commit.
        """
        asked = calls.load(calls.records_of(data), mode, branch or self._branch, from_, message)
        return await self._transport.send(asked.with_attempts(attempts))

    async def get(
        self, type_name: str, entity_id: str, *, branch: str | None = None, at: str | GraphCommit | None = None
    ) -> dict[str, Any] | None:
        """One node as flat JSON, now or at a commit; None when it is not there."""
        source, params = calls.get_source(type_name), {"id": entity_id}
        return calls.only_node(await self.query(source, None, params, branch=branch, at=at))

    async def blob(
        self,
        type_name: str,
        entity_id: str,
        property_name: str,
        *,
        branch: str | None = None,
        at: str | GraphCommit | None = None,
    ) -> AsyncBlob:
        """One stored blob, now or at a commit: `await (await graph.blob("Document", "manual", "content")).read()`."""
        place = calls.place_of(branch or self._branch, calls.moment(at))
        return await find_blob_async(self._transport, type_name, entity_id, property_name, place)

    async def export(
        self,
        target: str | PathLike[str] | BinaryIO,
        types: Sequence[str] = (),
        *,
        branch: str | None = None,
        at: str | GraphCommit | None = None,
    ) -> int:
        """Write every entity, or those of some types, now or at a commit, as JSON lines; returns how many bytes."""
        async with self._transport.stream(calls.export(branch or self._branch, types, calls.moment(at))) as pieces:
            return await write_stream_async(target, pieces)

    async def close(self) -> None:
        """Give the connections back."""
        await self._transport.close()

    async def __aenter__(self) -> AsyncGraph:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<AsyncGraph on branch '{self._branch}'>"
