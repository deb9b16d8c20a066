"""`og.connect`: the handle on a served graph."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from omnigraph.client import calls
from omnigraph.client.blobs import RemoteBlob, find_blob
from omnigraph.client.request import Request, members
from omnigraph.client.streams import WholeLines, events, write_stream
from omnigraph.client.transport import Transport, base_url
from omnigraph.errors import BadRequest

if TYPE_CHECKING:
    from omnigraph.engine.changes.baseline import Baseline
    from omnigraph.engine.changes.page import ChangesPage
    from omnigraph.engine.changes.poll import FeedPage
    from omnigraph.engine.merge.outcome import MergeResult
    from omnigraph.engine.read.shape.result import Result
    from omnigraph.engine.values.result import LoadResult, MutationResult
    from omnigraph.storage.manifest.commits import GraphCommit

StrPath = str | PathLike[str]


def connect(url: str, graph: str = "default", token: str | None = None, *, branch: str = "main") -> RemoteGraph:
    """A graph of a server; nothing is sent before the first verb."""
    return RemoteGraph(Transport(base_url(url, graph), token), branch)


class RemoteGraph:
    """A served graph, bound to one branch; its verbs are those of an embedded one, as far as the server has them."""

    def __init__(self, transport: Transport, branch: str = "main") -> None:
        self._transport = transport
        self.branch_name = branch

    def __enter__(self) -> RemoteGraph:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the connections back."""
        self._transport.close()

    def branch(self, name: str) -> RemoteGraph:
        """Another handle on the same graph, bound to a branch."""
        return RemoteGraph(self._transport, name)

    @property
    def branches(self) -> RemoteBranches:
        """Create, list, merge and delete branches."""
        return RemoteBranches(self._transport, self.branch_name)

    @property
    def commits(self) -> RemoteCommits:
        """The history."""
        return RemoteCommits(self._transport, self.branch_name)

    @property
    def changes(self) -> RemoteChanges:
        """The change feed of this branch."""
        return RemoteChanges(self._transport, self.branch_name)

    @property
    def queries(self) -> RemoteQueries:
        """The stored queries of the graph."""
        return RemoteQueries(self._transport, self.branch_name)

    @property
    def schema(self) -> RemoteSchema:
        """The accepted schema."""
        return RemoteSchema(self._transport)

    def server_graphs(self) -> list[dict[str, str]]:
        """The graphs that the server lists, by id, for a handle on the server itself."""
        return self._transport.send(calls.graphs())

    def snapshot(self) -> dict[str, Any]:
        """Which dataset versions the branch publishes, as the server tells it."""
        return self._transport.send(calls.snapshot(self.branch_name))

    def query(
        self,
        source: StrPath,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        branch: str | None = None,
        at: str | None = None,
        **beyond: Any,
    ) -> Result:
        """Run a read on this branch, on another one, or as of a commit."""
        _only_embedded("query", beyond, runner="auto")
        text = calls.text_of(_path_or_text(source))
        return self._transport.send(calls.query(text, name, params, branch or self.branch_name, at))

    def mutate(
        self,
        source: StrPath,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        branch: str | None = None,
        if_commit: str | None = None,
        **beyond: Any,
    ) -> MutationResult:
        """Run a mutation as one commit; with `if_commit`, only while the branch is at that commit."""
        _only_embedded("mutate", beyond, no_embed=False)
        text = calls.text_of(_path_or_text(source))
        return self._transport.send(calls.mutate(text, name, params, branch or self.branch_name, if_commit))

    def load(
        self, data: Any, mode: str = "append", *, branch: str | None = None, from_: str | None = None, **beyond: Any
    ) -> LoadResult:
        """Load records from a path, text, bytes or a list of dicts as one commit; at most 32 MiB."""
        defaults = {"on_error": "stop", "dry_run": False, "no_embed": False, "no_build": False}
        _only_embedded("load", {name: beyond[name] for name in beyond.keys() - {"progress", "runner"}}, **defaults)
        return self._transport.send(calls.load(calls.records_of(data), mode, branch or self.branch_name, from_))

    def get(
        self, type_name: str, entity_id: str, at: str | None = None, *, branch: str | None = None
    ) -> dict[str, Any] | None:
        """One node as flat JSON, now or at a commit; None when it is not there."""
        source = calls.get_source(type_name)
        rows = self.query(source, params={"id": entity_id}, branch=branch, at=at).rows()
        return rows[0]["x"] if rows else None

    def blob(
        self, type_name: str, entity_id: str, property_name: str, *, branch: str | None = None, at: str | None = None
    ) -> RemoteBlob:
        """One stored blob, now or at a commit: `graph.blob("Document", "manual", "content").read(offset, length)`."""
        moment = (("branch", branch or self.branch_name),) if at is None else (("snapshot", at),)
        return find_blob(self._transport, type_name, entity_id, property_name, moment)

    def export(
        self, target: StrPath | BinaryIO, types: Sequence[str] = (), *, branch: str | None = None, **beyond: Any
    ) -> int:
        """Write every entity, or those of some types, as JSON lines; returns the number of bytes."""
        _only_embedded("export", beyond, format="jsonl")
        body = members(branch=branch or self.branch_name, type_names=list(types) or None)
        asked = Request("POST", "/export", lambda _: None, json=body)
        with self._transport.stream(asked) as pieces:
            return write_stream(target, pieces)

    def __getattr__(self, name: str) -> Any:
        raise _not_served(name)


class RemoteSchema:
    """The schema that a served graph accepts right now."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def source(self) -> str:
        """The text, exactly as it was accepted."""
        return self._transport.send(calls.schema())

    def apply(self, desired: StrPath, *, allow_data_loss: bool = False) -> dict[str, Any]:
        """Change the schema; a server that belongs to a cluster refuses and says so. The receipt is the server's."""
        text = calls.text_of(_path_or_text(desired))
        return self._transport.send(calls.apply_schema(text, allow_data_loss))

    def __getattr__(self, name: str) -> Any:
        raise _not_served(f"schema.{name}")


class RemoteBranches:
    """The branches of a served graph."""

    def __init__(self, transport: Transport, bound: str) -> None:
        self._transport = transport
        self._bound = bound

    def create(self, name: str, from_: str | None = None) -> None:
        """Create a branch, by default from the bound one."""
        self._transport.send(calls.create_branch(name, from_ or self._bound))

    def list(self) -> list[str]:
        """Names of all branches, main first."""
        return self._transport.send(calls.list_branches())

    def delete(self, name: str) -> None:
        """Delete a branch that nothing depends on."""
        self._transport.send(calls.delete_branch(name))

    def merge(self, source: str, into: str = "main", delete: bool = False, **beyond: Any) -> MergeResult:
        """Merge a branch into another; contradictions raise MergeConflicts."""
        _only_embedded("merge", beyond, preview=False, strategy="fail", properties="whole")
        return self._transport.send(calls.merge_branches(source, into, delete))


class RemoteCommits:
    """The history of a served graph."""

    def __init__(self, transport: Transport, bound: str) -> None:
        self._transport = transport
        self._bound = bound

    def list(self, branch: str | None = None, *, limit: int | None = None) -> list[GraphCommit]:
        """The commits of a branch, newest first."""
        return self._transport.send(calls.list_commits(branch or self._bound))[:limit]

    def show(self, commit_id: str) -> GraphCommit:
        """One commit of any branch."""
        return self._transport.send(calls.show_commit(commit_id))

    def head(self, branch: str | None = None) -> str | None:
        """The id of a branch's newest commit."""
        found = self.list(branch)
        return found[0].graph_commit_id if found else None

    def __getattr__(self, name: str) -> Any:
        raise _not_served(f"commits.{name}")

    def changes(
        self,
        commit: str | GraphCommit,
        page_token: str | None = None,
        *,
        limit: int | None = None,
        kinds: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        ops: Sequence[str] | None = None,
    ) -> ChangesPage:
        """What one commit changed, a page at a time."""
        return self._transport.send(
            calls.commit_changes(_commit_id(commit), page_token, limit=limit, kind=kinds, type=types, op=ops)
        )


class RemoteChanges:
    """What happened to the bound branch, commit by commit."""

    def __init__(self, transport: Transport, bound: str) -> None:
        self._transport = transport
        self._bound = bound

    def poll(
        self,
        cursor: str | None = None,
        start: str | None = None,
        *,
        page_token: str | None = None,
        branch: str | None = None,
        limit: int | None = None,
        kinds: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        ops: Sequence[str] | None = None,
    ) -> FeedPage:
        """The next commits with their changes, oldest first; keep the cursor of the answer together with the data."""
        position = {"cursor": cursor, "start": start, "page_token": page_token}
        asked = calls.poll_changes(branch or self._bound, position, limit=limit, kind=kinds, type=types, op=ops)
        return self._transport.send(asked)

    def follow(
        self, cursor: str | None = None, start: str | None = None
    ) -> Iterator[tuple[str | None, dict[str, Any]]]:
        """Commits as they happen, for ever: the cursor behind each, where there is one, and the block as JSON."""
        asked = calls.poll_changes(self._bound, {"cursor": cursor, "start": start})
        stream = Request("GET", "/changes/stream", lambda _: None, query=asked.query)
        with self._transport.stream(stream) as pieces:
            for name, data, identity in events(pieces):
                if name == "changes":
                    yield identity, json.loads(data)

    def baseline(
        self,
        target: StrPath | BinaryIO,
        *,
        branch: str | None = None,
        kinds: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        ops: Sequence[str] | None = None,
    ) -> Baseline:
        """Write the whole branch as JSON lines, the last of which says where its changes continue."""
        from omnigraph.engine.changes.baseline import Baseline

        body = members(branch=branch or self._bound, kind=kinds, type=types, op=ops)
        asked = Request("POST", "/changes/baseline", lambda _: None, json=body)
        with self._transport.stream(asked) as pieces:
            lines = WholeLines(pieces)
            # Without its last line a baseline is void, and then its file must not appear.
            size = write_stream(target, lines, lambda: lines.seal("baseline"))
        seal = lines.seal("baseline")
        return Baseline(seal["snapshot_commit_id"], seal["resume_cursor"], size)


class RemoteQueries:
    """Queries that the server has under names."""

    def __init__(self, transport: Transport, bound: str) -> None:
        self._transport = transport
        self._bound = bound

    def list(self) -> list[dict[str, Any]]:
        """The catalog: name, description, parameters, and whether it writes."""
        return self._transport.send(calls.catalog())

    def run(self, name: str, params: Mapping[str, Any] | None = None, *, at: str | None = None) -> Result:
        """Run a stored read."""
        return self._transport.send(calls.stored_query(name, params, self._bound, at))

    def mutate(
        self, name: str, params: Mapping[str, Any] | None = None, *, if_commit: str | None = None
    ) -> MutationResult:
        """Run a stored mutation."""
        return self._transport.send(calls.stored_mutation(name, params, self._bound, if_commit))


def _path_or_text(source: StrPath) -> str | Path:
    return source if isinstance(source, str) else Path(source)


def _commit_id(commit: str | GraphCommit) -> str:
    return commit if isinstance(commit, str) else commit.graph_commit_id


def _only_embedded(verb: str, given: Mapping[str, Any], **defaults: Any) -> None:
    """Refuse options that no server understands, unless they ask for what happens anyway."""
    for name, value in given.items():
        if value != defaults.get(name) and value not in (None, {}, (), []):
            raise BadRequest(f"{verb}({name}=…) works on a graph in storage only; a server has no such option")


def _not_served(name: str) -> AttributeError | BadRequest:
    """Dunder names are how Python asks what an object can do; they get the answer that Python expects."""
    if name.startswith("_"):
        return AttributeError(name)
    return BadRequest(f"'{name}' needs the storage itself: open the graph with og.open, or use --store")
