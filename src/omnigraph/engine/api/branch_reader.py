"""The verbs that read a branch: each of them now, on another branch (`branch=`), or as of a commit (`at=`)."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

from omnigraph.engine.api.arguments import checked, checked_methods, renamed
from omnigraph.engine.api.drawn_results import read
from omnigraph.engine.api.graph_at import GraphAt
from omnigraph.engine.api.prepared import Prepared
from omnigraph.engine.api.reader import Reader, prepared_call
from omnigraph.engine.api.runners import Runners
from omnigraph.engine.read.frames.budget import Limits
from omnigraph.engine.read.frames.explain import Explanation
from omnigraph.engine.read.query import ReadCall, explain_query
from omnigraph.engine.read.shape.result import Result
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.entity import entity_at
from omnigraph.engine.views.lifecycle import StrPath, Text, read_source
from omnigraph.engine.views.neighbours import DEFAULT_NEIGHBOURS, NeighbourCall, Neighbourhood, neighbours
from omnigraph.engine.views.table_tasks import Runner
from omnigraph.engine.views.targets import Names, Target, branch_named, commit_named, state_of
from omnigraph.engine.views.time_travel import commit_at_time, state_at_commit, state_at_version
from omnigraph.engine.views.view import View
from omnigraph.errors import BadRequest
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.snapshot import Snapshot

# A process that only reads is spared what the other verbs need: those import it when they are called.
if TYPE_CHECKING:
    from omnigraph.embeddings.provider import Embedder
    from omnigraph.engine.changes.diff import Difference
    from omnigraph.engine.views.blob import Blob


@checked_methods
class BranchReader(Reader):
    """Reads a graph through a handle that is bound to a branch (None is main)."""

    def __init__(self, core: Core, runners: Runners, branch: str | None = None, actor: str | None = None) -> None:
        super().__init__(core, runners)
        self._branch = branch
        self.actor = actor

    def view(self, branch: str | None = None, *, at: str | GraphCommit | None = None) -> View:
        """The newest view of this handle's branch, or of another one, or the view of a commit."""
        return self._view(branch, at)

    def _view(self, branch: str | None, at: str | GraphCommit | None) -> View:
        return self._core.view_of(self._current(branch, at))

    def _current(self, branch: str | None = None, at: str | GraphCommit | None = None) -> ManifestState:
        named = self._named(branch)
        if at is None:
            return self._core.state(named)
        return state_at_commit(self._core, commit_named(self._core, at, named))

    def at(
        self,
        commit: str | GraphCommit | None = None,
        *,
        version: int | None = None,
        time: str | datetime | None = None,
    ) -> GraphAt:
        """The graph as it was at a commit (its id or a tag), at a manifest version of this branch, or at an instant."""
        self._core.require_open()
        if sum(given is not None for given in (commit, version, time)) != 1:
            raise BadRequest("name one moment: a commit, version=… or time=…")
        if version is not None:
            state = state_at_version(self._core, self._branch, version)
        else:
            state = state_at_commit(self._core, self._resolve(commit, time))
        return GraphAt(self._core, self._runners, state)

    def _resolve(self, commit: str | GraphCommit | None, time: str | datetime | None) -> GraphCommit:
        if time is not None:
            return commit_at_time(self._core, self._branch, time)
        assert commit is not None
        return commit_named(self._core, commit, self._branch)

    def snapshot(self, *, branch: str | None = None, at: str | GraphCommit | None = None) -> Snapshot:
        """Which version of each table is visible."""
        return self._view(branch, at).snapshot

    def export(
        self,
        target: StrPath | BinaryIO,
        types: Sequence[str] = (),
        *,
        branch: str | None = None,
        at: str | GraphCommit | None = None,
        format: str = "jsonl",
    ) -> int:
        """Write every entity, or those of some types, now or at a commit, and return the number of bytes.

        As JSON lines by default; `format` may be parquet, csv, neo4j-csv (directories) or graphml.
        """
        return self._export(self._current(branch, at), target, types, format)

    def get(
        self,
        type_name: str,
        entity_id: str,
        *,
        branch: str | None = None,
        at: str | GraphCommit | None = None,
        blobs: bool = True,
    ) -> dict[str, Any] | None:
        """One entity as flat JSON, now or at a commit, whose schema must have the type; None when it was not there."""
        return entity_at(self._view(branch, at), type_name, entity_id, blobs=blobs)

    def neighbours(
        self,
        type_name: str,
        entity_id: str,
        *,
        edge: str | None = None,
        direction: str | None = None,
        limit: int = DEFAULT_NEIGHBOURS,
        after: str | None = None,
        branch: str | None = None,
        at: str | GraphCommit | None = None,
    ) -> Neighbourhood:
        """What is next to a node: its edges by type and direction, counted, at most `limit` of each with their ends.

        `edge` and `direction` ("out" or "in") choose among them; `after` of a group continues it.
        """
        from omnigraph.engine.read.topology.edge_lookup import edges_at

        call = NeighbourCall(edge, direction, limit, after)
        return neighbours(self._view(branch, at), type_name, entity_id, call, edges_at)

    def blob(
        self,
        type_name: str,
        entity_id: str,
        property_name: str,
        *,
        branch: str | None = None,
        at: str | GraphCommit | None = None,
    ) -> Blob:
        """One stored blob, now or at a commit: `graph.blob("Document", "manual", "content").read(offset, length)`."""
        from omnigraph.engine.views.blob import find_blob

        return find_blob(self._view(branch, at), type_name, entity_id, property_name)

    @renamed(snapshot="at")
    @checked
    def query(
        self,
        source: Text,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        branch: str | None = None,
        at: str | GraphCommit | None = None,
        runner: Runner = "auto",
        limits: Limits | None = None,
        embedder: Embedder | None = None,
        cancel: threading.Event | None = None,
        node_ids: bool = False,
    ) -> Result:
        """Run a read (text, or the path of a `.gq` file) on this branch, on another one, or as of a commit (`at`).

        `name` picks one query of several. `limits` bounds time and rows; setting `cancel` from another thread stops it.
        A returned node is an object, with `node_ids` only its id.
        """
        keep = self._core.keeps_derived
        call = ReadCall(read_source(source), name, params, runner, limits, embedder, cancel, keep, node_ids)
        return read(self._core, self._runners, self._current(branch, at), call)

    def prepare(
        self,
        source: Text,
        name: str | None = None,
        *,
        branch: str | None = None,
        limits: Limits | None = None,
        embedder: Embedder | None = None,
        node_ids: bool = False,
    ) -> Prepared:
        """A read to ask many times, parsed and checked now: `ask = graph.prepare(text)`, then `ask(params)`.

        Each call sees the newest state of the branch. The arguments are those of `query`.
        """
        call = prepared_call(self._core, source, name, limits, embedder, node_ids=node_ids)
        return Prepared(self._core, self._runners, partial(self._current, branch), call)

    def explain(
        self,
        source: Text,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        branch: str | None = None,
        at: str | GraphCommit | None = None,
    ) -> Explanation:
        """The plan that `query` would run; print it, or take it as data with `to_dict()`."""
        return explain_query(self._view(branch, at), ReadCall(read_source(source), name, params))

    def diff(
        self,
        before: Target | GraphAt,
        after: Target | GraphAt | None = None,
        *,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
    ) -> Difference:
        """What is different in `after` (by default this branch) compared with `before`.

        Each is a branch, a tag, a commit, a manifest version of this branch, an instant, or what `at` returned.
        """
        from omnigraph.engine.changes.diff import difference
        from omnigraph.engine.changes.scope import change_scope

        old = self._state_of(before)
        new = self._core.state(self._branch) if after is None else self._state_of(after)
        return difference(self._core, old, new, change_scope(kinds, types, ops))

    def _state_of(self, target: Target | GraphAt) -> ManifestState:
        return state_of(self._core, target.view() if isinstance(target, GraphAt) else target, self._branch)

    def _named(self, branch: str | None) -> str | None:
        return branch_named(branch, self._branch)
