"""`og.connect`: the handle on a served graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from os import PathLike
from typing import TYPE_CHECKING, Any, BinaryIO

from omnigraph.client import calls, history_calls, inspection, maintenance_calls
from omnigraph.client.blobs import RemoteBlob, find_blob
from omnigraph.client.history_nouns import RemoteChanges, RemoteCommits, RemoteTags
from omnigraph.client.inspection import RemoteExplanation
from omnigraph.client.loading import Loads
from omnigraph.client.nouns import RemoteBranches, RemoteQueries, RemoteSchema
from omnigraph.client.prepared import Prepares
from omnigraph.client.streams import write_stream
from omnigraph.client.transport import Transport, base_url
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


def connect(url: str, graph: str = "default", token: str | None = None, *, branch: str = "main") -> RemoteGraph:
    """A graph of a server; nothing is sent before the first verb."""
    return RemoteGraph(Transport(base_url(url, graph), token), branch)


class RemoteGraph(Loads, Displayed, Prepares, Served):
    """A served graph, bound to one branch; its verbs are those of an embedded one, as far as the server has them."""

    def __init__(self, transport: Transport, branch: str = "main") -> None:
        self._transport = transport
        self._branch = branch

    @property
    def branch_name(self) -> str:
        """The branch this handle is bound to."""
        return self._branch

    @property
    def branches(self) -> RemoteBranches:
        """Create, list, merge and delete branches."""
        return RemoteBranches(self._transport, self._branch)

    @property
    def tags(self) -> RemoteTags:
        """Names for commits that never move."""
        return RemoteTags(self._transport, self._branch)

    @property
    def commits(self) -> RemoteCommits:
        """The history."""
        return RemoteCommits(self._transport, self._branch)

    @property
    def changes(self) -> RemoteChanges:
        """The change feed of this branch, and baselines for it."""
        return RemoteChanges(self._transport, self._branch)

    @property
    def queries(self) -> RemoteQueries:
        """The stored queries of the graph."""
        return RemoteQueries(self._transport, self._branch)

    @property
    def schema(self) -> RemoteSchema:
        """The accepted schema."""
        return RemoteSchema(self._transport, self._branch)

    def branch(self, name: str) -> RemoteGraph:
        """Another handle on the same graph, bound to a branch; whether it exists shows when it is used."""
        return RemoteGraph(self._transport, name)

    def server_graphs(self) -> ShownList[dict[str, str]]:
        """The graphs that the server lists, by id, for a handle on the server itself."""
        return self._transport.send(calls.graphs())

    def permissions(self) -> dict[str, Any]:
        """What the server allows this token on the bound branch: its `actions`, and whether reads are `restricted`."""
        return self._transport.send(calls.permissions(self._branch))

    def snapshot(self, *, branch: str | None = None, at: str | GraphCommit | None = None) -> dict[str, Any]:
        """Which version of each table is visible, as the server tells it."""
        return self._transport.send(calls.snapshot(self._place(branch, at)))

    @renamed(snapshot="at")
    def query(
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
        return self._transport.send(asked)

    def mutate(
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
        return self._transport.send(asked.with_attempts(attempts))

    def mutate_many(
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
        return self._transport.send(asked.with_attempts(attempts))

    def describe(self, *, branch: str | None = None, at: str | GraphCommit | None = None) -> Description:
        """Types with counts, properties, indexes and sizes, the branches, and the newest commit, now or at a commit."""
        return self._transport.send(inspection.describe(self._place(branch, at)))

    def indexes(self, *, branch: str | None = None) -> ShownList[IndexReport]:
        """Every index that the schema asks for: what it is built as, and how much of its table it covers."""
        return self._transport.send(inspection.indexes(branch or self._branch))

    def explain(
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
        return self._transport.send(inspection.explain(calls.text_of(source), name, params, place, analyze=False))

    def profile(
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
        return self._transport.send(inspection.explain(calls.text_of(source), name, params, place, analyze=True))

    def diff(
        self,
        before: str | int | datetime | GraphCommit | RemoteGraphAt,
        after: str | int | datetime | GraphCommit | RemoteGraphAt | None = None,
        *,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
    ) -> RemoteDifference:
        """What is different in `after` (by default this branch) compared with `before`.

        Each is a branch, a tag, a commit, a manifest version of this branch, an instant, or what `at` returned.
        """
        from omnigraph.client.comparison import DiffPages

        old = self._point(before)
        new = None if after is None else self._point(after)
        pages = DiffPages(old, new, self._branch, history_calls.Filter(kinds, types, ops))
        while not pages.complete:
            self._transport.send(pages.request())
        return pages.whole()

    def _point(self, target: str | int | datetime | GraphCommit | RemoteGraphAt) -> str:
        if isinstance(target, str):
            return target
        if isinstance(target, int):
            return (self.at(version=target)).commit_id
        if isinstance(target, datetime):
            return (self.at(time=target)).commit_id
        return target.commit_id if isinstance(target, RemoteGraphAt) else target.graph_commit_id

    def at(
        self,
        commit: str | GraphCommit | None = None,
        *,
        version: int | None = None,
        time: str | datetime | None = None,
    ) -> RemoteGraphAt:
        """The graph as it was at a commit (its id or a tag), at a manifest version of this branch, or at an instant."""
        found = self._transport.send(inspection.moment(self._branch, commit, version, time))
        return RemoteGraphAt(self, found)

    def get(
        self, type_name: str, entity_id: str, *, branch: str | None = None, at: str | GraphCommit | None = None
    ) -> dict[str, Any] | None:
        """One entity as flat JSON without its blobs, now or at a commit; None when it is not there."""
        return self._transport.send(inspection.entity(type_name, entity_id, self._place(branch, at)))

    def neighbours(
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
        return self._transport.send(wanted)

    def blob(
        self,
        type_name: str,
        entity_id: str,
        property_name: str,
        *,
        branch: str | None = None,
        at: str | GraphCommit | None = None,
    ) -> RemoteBlob:
        """One stored blob, now or at a commit: `graph.blob("Document", "manual", "content").read(offset, length)`."""
        place = self._place(branch, at)
        return find_blob(self._transport, type_name, entity_id, property_name, place)

    def export(
        self,
        target: str | PathLike[str] | BinaryIO,
        types: Sequence[str] = (),
        *,
        branch: str | None = None,
        at: str | GraphCommit | None = None,
    ) -> int:
        """Write every entity, or those of some types, now or at a commit, as JSON lines; returns how many bytes."""
        with self._transport.stream(calls.export(branch or self._branch, types, calls.moment(at))) as pieces:
            return write_stream(target, pieces)

    def check(self, *, branch: str | None = None, quick: bool = False) -> dict[str, Any]:
        """Verify the graph, or what one branch knows of it; changes nothing. Needs `admin`."""
        return self._transport.send(maintenance_calls.run("check", branch=branch, quick=quick))

    def optimize(self, *, message: str | None = None) -> dict[str, Any]:
        """Compact the tables of main, extend and build their indexes; rows stay the same. Needs `admin`."""
        return self._transport.send(maintenance_calls.run("optimize", message=message))

    def ensure_indices(self, *, branch: str | None = None, message: str | None = None) -> dict[str, Any]:
        """Build the declared indexes that are missing, in one commit. Needs `admin`."""
        wanted = maintenance_calls.run("indexes", branch=branch or self._branch, message=message)
        return self._transport.send(wanted)

    def cleanup(
        self, *, keep: int | None = None, older_than: str | int | timedelta | None = None, confirm: bool = False
    ) -> dict[str, Any]:
        """Remove old table versions; without `confirm` the report is a preview. Needs `admin`."""
        age = maintenance_calls.age(older_than)
        wanted = maintenance_calls.run("cleanup", keep=keep, older_than=age, confirm=confirm)
        return self._transport.send(wanted)

    def repair(self, *, confirm: bool = False, force: bool = False, message: str | None = None) -> dict[str, Any]:
        """Look at table versions of main that were not published; `confirm` publishes verified ones. Needs `admin`."""
        wanted = maintenance_calls.run("repair", confirm=confirm, force=force, message=message)
        return self._transport.send(wanted)

    def _place(self, branch: str | None, at: str | GraphCommit | None) -> calls.Place:
        return calls.place_of(branch or self._branch, calls.moment(at))

    def close(self) -> None:
        """Give the connections back."""
        self._transport.close()

    def __enter__(self) -> RemoteGraph:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<RemoteGraph {self._transport.graph} on branch '{self._branch}'>"


class RemoteGraphAt(Displayed):
    """One moment of a served graph; it never changes, whatever is committed later."""

    def __init__(self, graph: RemoteGraph, commit: GraphCommit) -> None:
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
    def schema(self) -> RemoteSchema:
        """The schema that the graph accepted at this moment."""
        return self._graph.schema.at(self._commit)

    def query(
        self, source: str | PathLike[str] | Source, name: str | None = None, params: Mapping[str, Any] | None = None
    ) -> Result:
        """Run a read (text, or the path of a `.gq` file) on what this shows."""
        return self._graph.query(source, name, params, at=self._commit)

    def explain(
        self, source: str | PathLike[str] | Source, name: str | None = None, params: Mapping[str, Any] | None = None
    ) -> RemoteExplanation:
        """The plan that `query` would run."""
        return self._graph.explain(source, name, params, at=self._commit)

    def get(self, type_name: str, entity_id: str) -> dict[str, Any] | None:
        """One entity as flat JSON without its blobs, or None when there is no such row."""
        return self._graph.get(type_name, entity_id, at=self._commit)

    def blob(self, type_name: str, entity_id: str, property_name: str) -> RemoteBlob:
        """One stored blob."""
        return self._graph.blob(type_name, entity_id, property_name, at=self._commit)

    def snapshot(self) -> dict[str, Any]:
        """Which version of each table is visible, as the server tells it."""
        return self._graph.snapshot(at=self._commit)

    def export(self, target: str | PathLike[str] | BinaryIO, types: Sequence[str] = ()) -> int:
        """Write every entity, or those of some types, as JSON lines; returns how many bytes."""
        return self._graph.export(target, types, at=self._commit)

    def __repr__(self) -> str:
        return f"<RemoteGraphAt of {self._graph._transport.graph} at {self.commit_id}>"
