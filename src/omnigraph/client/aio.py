"""`omnigraph.aio.connect`: the handle on a served graph for asynchronous programs; the same requests, awaited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from os import PathLike
from typing import TYPE_CHECKING, Any, BinaryIO

from omnigraph.client import calls, history_calls, inspection, maintenance_calls
from omnigraph.client.aio_history_nouns import AsyncChanges, AsyncCommits, AsyncTags
from omnigraph.client.aio_nouns import AsyncBranches, AsyncQueries, AsyncSchema
from omnigraph.client.blobs import AsyncBlob, find_blob_async
from omnigraph.client.inspection import RemoteExplanation
from omnigraph.client.loading import AsyncLoads
from omnigraph.client.prepared import PreparesAsync
from omnigraph.client.streams import write_stream_async
from omnigraph.client.transport import AsyncTransport, base_url
from omnigraph.client.unserved import Served
from omnigraph.display import Displayed, ShownList
from omnigraph.engine.api.arguments import renamed

if TYPE_CHECKING:
    from omnigraph.client.comparison import RemoteDifference
    from omnigraph.compiler.source import Source
    from omnigraph.engine.api.description import Description
    from omnigraph.engine.maintenance.indexes import IndexReport
    from omnigraph.engine.read.shape.result import Result
    from omnigraph.engine.values.result import BatchResult, MutationResult
    from omnigraph.engine.views.neighbours import Neighbourhood
    from omnigraph.engine.views.targets import Names
    from omnigraph.storage.manifest.commits import GraphCommit


def connect(url: str, graph: str = "default", token: str | None = None, *, branch: str = "main") -> AsyncGraph:
    """A graph of a server; nothing is sent before the first verb."""
    return AsyncGraph(AsyncTransport(base_url(url, graph), token), branch)


class AsyncGraph(AsyncLoads, Displayed, PreparesAsync, Served):
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

    async def server_graphs(self) -> ShownList[dict[str, str]]:
        """The graphs that the server lists, by id, for a handle on the server itself."""
        return await self._transport.send(calls.graphs())

    async def permissions(self) -> dict[str, Any]:
        """What the server allows this token on the bound branch: its `actions`, and whether reads are `restricted`."""
        return await self._transport.send(calls.permissions(self._branch))

    async def snapshot(self, *, branch: str | None = None, at: str | GraphCommit | None = None) -> dict[str, Any]:
        """Which version of each table is visible, as the server tells it."""
        return await self._transport.send(calls.snapshot(self._place(branch, at)))

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

    async def describe(self, *, branch: str | None = None, at: str | GraphCommit | None = None) -> Description:
        """Types with counts, properties, indexes and sizes, the branches, and the newest commit, now or at a commit."""
        return await self._transport.send(inspection.describe(self._place(branch, at)))

    async def indexes(self, *, branch: str | None = None) -> ShownList[IndexReport]:
        """Every index that the schema asks for: what it is built as, and how much of its table it covers."""
        return await self._transport.send(inspection.indexes(branch or self._branch))

    async def explain(
        self,
        source: str | PathLike[str] | Source,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        branch: str | None = None,
        at: str | GraphCommit | None = None,
    ) -> RemoteExplanation:
        """The plan that `query` would run; print it, or take it as data with `to_dict()`."""
        place = self._place(branch, at)
        return await self._transport.send(inspection.explain(calls.text_of(source), name, params, place, analyze=False))

    async def profile(
        self,
        source: str | PathLike[str] | Source,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        branch: str | None = None,
        at: str | GraphCommit | None = None,
    ) -> RemoteExplanation:
        """Run a read and return its plan with the rows, bytes and time of every operator, instead of the rows."""
        place = self._place(branch, at)
        return await self._transport.send(inspection.explain(calls.text_of(source), name, params, place, analyze=True))

    async def diff(
        self,
        before: str | int | datetime | GraphCommit | AsyncGraphAt,
        after: str | int | datetime | GraphCommit | AsyncGraphAt | None = None,
        *,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
    ) -> RemoteDifference:
        """What is different in `after` (by default this branch) compared with `before`.

        Each is a branch, a tag, a commit, a manifest version of this branch, an instant, or what `at` returned.
        """
        from omnigraph.client.comparison import DiffPages

        old = await self._point(before)
        new = None if after is None else await self._point(after)
        pages = DiffPages(old, new, self._branch, history_calls.Filter(kinds, types, ops))
        while not pages.complete:
            await self._transport.send(pages.request())
        return pages.whole()

    async def _point(self, target: str | int | datetime | GraphCommit | AsyncGraphAt) -> str:
        if isinstance(target, str):
            return target
        if isinstance(target, int):
            return (await self.at(version=target)).commit_id
        if isinstance(target, datetime):
            return (await self.at(time=target)).commit_id
        return target.commit_id if isinstance(target, AsyncGraphAt) else target.graph_commit_id

    async def at(
        self,
        commit: str | GraphCommit | None = None,
        *,
        version: int | None = None,
        time: str | datetime | None = None,
    ) -> AsyncGraphAt:
        """The graph as it was at a commit (its id or a tag), at a manifest version of this branch, or at an instant."""
        found = await self._transport.send(inspection.moment(self._branch, commit, version, time))
        return AsyncGraphAt(self, found)

    async def get(
        self, type_name: str, entity_id: str, *, branch: str | None = None, at: str | GraphCommit | None = None
    ) -> dict[str, Any] | None:
        """One entity as flat JSON without its blobs, now or at a commit; None when it is not there."""
        return await self._transport.send(inspection.entity(type_name, entity_id, self._place(branch, at)))

    async def neighbours(
        self,
        type_name: str,
        entity_id: str,
        *,
        edge: str | None = None,
        direction: str | None = None,
        limit: int = 20,
        after: str | None = None,
        branch: str | None = None,
        at: str | GraphCommit | None = None,
    ) -> Neighbourhood:
        """What is next to a node: its edges by type and direction, counted, at most `limit` of each with their ends.

        `edge` and `direction` ("out" or "in") choose among them; `after` of a group continues it.
        """
        place = self._place(branch, at)
        wanted = inspection.neighbours(
            type_name, entity_id, place, edge=edge, direction=direction, limit=limit, after=after
        )
        return await self._transport.send(wanted)

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
        place = self._place(branch, at)
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

    async def check(self, *, branch: str | None = None, quick: bool = False) -> dict[str, Any]:
        """Verify the graph, or what one branch knows of it; changes nothing. Needs `admin`."""
        return await self._transport.send(maintenance_calls.run("check", branch=branch, quick=quick))

    async def optimize(self, *, message: str | None = None) -> dict[str, Any]:
        """Compact the tables of main, extend and build their indexes; rows stay the same. Needs `admin`."""
        return await self._transport.send(maintenance_calls.run("optimize", message=message))

    async def ensure_indices(self, *, branch: str | None = None, message: str | None = None) -> dict[str, Any]:
        """Build the declared indexes that are missing, in one commit. Needs `admin`."""
        wanted = maintenance_calls.run("indexes", branch=branch or self._branch, message=message)
        return await self._transport.send(wanted)

    async def cleanup(
        self, *, keep: int | None = None, older_than: str | int | timedelta | None = None, confirm: bool = False
    ) -> dict[str, Any]:
        """Remove old table versions; without `confirm` the report is a preview. Needs `admin`."""
        age = maintenance_calls.age(older_than)
        wanted = maintenance_calls.run("cleanup", keep=keep, older_than=age, confirm=confirm)
        return await self._transport.send(wanted)

    async def repair(self, *, confirm: bool = False, force: bool = False, message: str | None = None) -> dict[str, Any]:
        """Look at table versions of main that were not published; `confirm` publishes verified ones. Needs `admin`."""
        wanted = maintenance_calls.run("repair", confirm=confirm, force=force, message=message)
        return await self._transport.send(wanted)

    def _place(self, branch: str | None, at: str | GraphCommit | None) -> calls.Place:
        return calls.place_of(branch or self._branch, calls.moment(at))

    async def close(self) -> None:
        """Give the connections back."""
        await self._transport.close()

    async def __aenter__(self) -> AsyncGraph:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<AsyncGraph {self._transport.graph} on branch '{self._branch}'>"


class AsyncGraphAt(Displayed):
    """One moment of a served graph; it never changes, whatever is committed later."""

    def __init__(self, graph: AsyncGraph, commit: GraphCommit) -> None:
        self._graph = graph
        self._commit = commit

    @property
    def commit_id(self) -> str:
        """The commit that was the head at this moment."""
        return self._commit.graph_commit_id

    @property
    def version(self) -> int:
        """The manifest version of this moment."""
        return self._commit.manifest_version

    @property
    def branch_name(self) -> str:
        """The branch that the commit was made on."""
        return self._commit.manifest_branch or "main"

    @property
    def schema(self) -> AsyncSchema:
        """The schema that the graph accepted at this moment."""
        return self._graph.schema.at(self._commit)

    async def query(
        self, source: str | PathLike[str] | Source, name: str | None = None, params: Mapping[str, Any] | None = None
    ) -> Result:
        """Run a read (text, or the path of a `.gq` file) on what this shows."""
        return await self._graph.query(source, name, params, at=self._commit)

    async def explain(
        self, source: str | PathLike[str] | Source, name: str | None = None, params: Mapping[str, Any] | None = None
    ) -> RemoteExplanation:
        """The plan that `query` would run."""
        return await self._graph.explain(source, name, params, at=self._commit)

    async def get(self, type_name: str, entity_id: str) -> dict[str, Any] | None:
        """One entity as flat JSON without its blobs, or None when there is no such row."""
        return await self._graph.get(type_name, entity_id, at=self._commit)

    async def blob(self, type_name: str, entity_id: str, property_name: str) -> AsyncBlob:
        """One stored blob."""
        return await self._graph.blob(type_name, entity_id, property_name, at=self._commit)

    async def snapshot(self) -> dict[str, Any]:
        """Which version of each table is visible, as the server tells it."""
        return await self._graph.snapshot(at=self._commit)

    async def export(self, target: str | PathLike[str] | BinaryIO, types: Sequence[str] = ()) -> int:
        """Write every entity, or those of some types, as JSON lines; returns how many bytes."""
        return await self._graph.export(target, types, at=self._commit)

    def __repr__(self) -> str:
        return f"<AsyncGraphAt of {self._graph._transport.graph} at {self.commit_id}>"
