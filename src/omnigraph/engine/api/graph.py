"""The facade: an opened graph bound to a branch, one short method per verb."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

from omnigraph.engine.api import runners
from omnigraph.engine.api.arguments import checked, checked_methods
from omnigraph.engine.api.graph_at import Past
from omnigraph.engine.api.maintenance import Upkeep
from omnigraph.engine.api.runners import LoadRequest, OnError
from omnigraph.engine.merge.outcome import MergeOptions, PropertyMode, Resolution, Strategy
from omnigraph.engine.read.frames.budget import Limits
from omnigraph.engine.read.query import ReadCall, run_query
from omnigraph.engine.read.shape.result import Result
from omnigraph.engine.values.result import LoadResult, MutationResult
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.entity import entity_at
from omnigraph.engine.views.export_lock import cut_of
from omnigraph.engine.views.lifecycle import StrPath, create_graph, open_graph, read_source
from omnigraph.engine.views.targets import Target, branch_named, commit_named, state_of
from omnigraph.engine.views.time_travel import commit_at_time, state_at_commit, state_at_version
from omnigraph.engine.views.view import View
from omnigraph.errors import BadRequest
from omnigraph.policy.actions import Action
from omnigraph.policy.engine import PolicyEngine
from omnigraph.policy.external_blobs import ExternalBlobPolicy, policy_of
from omnigraph.settings import DEFAULTS, Settings
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.protocol import recovery

# A process that only reads is spared what the other verbs need: those import it when they are called.
if TYPE_CHECKING:
    from omnigraph.embeddings.provider import Embedder
    from omnigraph.engine.api.branches import Branches
    from omnigraph.engine.api.changes import Changes
    from omnigraph.engine.api.commits import Commits
    from omnigraph.engine.api.schema import Schema
    from omnigraph.engine.api.tags import Tags
    from omnigraph.engine.api.transaction import Transaction
    from omnigraph.engine.changes.diff import Difference


@checked
def init(
    uri: StrPath,
    schema: StrPath,
    *,
    actor: str | None = None,
    force: bool = False,
    settings: Settings = DEFAULTS,
    external_blobs: Sequence[str] | ExternalBlobPolicy = (),
) -> Graph:
    """Create a graph at a path or `s3://` URI and open it; an existing graph is refused.

    `schema` is schema text or the path of a `.pg` file. `force` accepts schema files that an interrupted
    initialization left behind. `external_blobs` is that of `open`.
    """
    policy_of(external_blobs)  # before anything is created
    create_graph(uri, schema, force=force, settings=settings)
    return open(uri, actor=actor, settings=settings, external_blobs=external_blobs)


@checked
def open(
    uri: StrPath,
    branch: str = "main",
    actor: str | None = None,
    read_only: bool = False,
    *,
    settings: Settings = DEFAULTS,
    policy: PolicyEngine | None = None,
    external_blobs: Sequence[str] | ExternalBlobPolicy = (),
) -> Graph:
    """Open a graph; unless `read_only`, interrupted writes of dead processes are resolved first.

    With a `policy`, every write asks it first whether `actor` may. `external_blobs` are the `s3://` prefixes and
    `file:///` directories below which new blobs may refer to objects instead of holding bytes; by default none.
    """
    allowed = policy_of(external_blobs)
    core = open_graph(uri, read_only=read_only, settings=settings, policy=policy, external_blobs=allowed)
    return Graph(core, actor=actor).branch(branch)


@checked_methods
class Graph(Upkeep):
    """An opened graph, bound to one branch; safe to share between threads, and a context manager."""

    def __init__(self, core: Core, branch: str | None = None, actor: str | None = None) -> None:
        super().__init__(core, branch, actor)

    # --- what it is ------------------------------------------------------------------------------

    @property
    def uri(self) -> str:
        """Where the graph is."""
        return self._core.store.root.uri

    @property
    def branch_name(self) -> str:
        """The branch this handle is bound to."""
        return self._branch or "main"

    @property
    def read_only(self) -> bool:
        return self._core.read_only

    @property
    def policy(self) -> PolicyEngine | None:
        """What decides about writes, if anything does."""
        return self._core.policy

    @property
    def branches(self) -> Branches:
        """Create, list, merge and delete branches."""
        from omnigraph.engine.api.branches import Branches

        return Branches(self._core, lambda: self._branch, self.actor)

    @property
    def commits(self) -> Commits:
        """The history."""
        from omnigraph.engine.api.commits import Commits

        return Commits(self._core, self._branch, self.actor)

    @property
    def changes(self) -> Changes:
        """The change feed of this branch, and baselines for it."""
        from omnigraph.engine.api.changes import Changes

        return Changes(self._core, self._branch)

    @property
    def tags(self) -> Tags:
        """Names for commits."""
        from omnigraph.engine.api.tags import Tags

        return Tags(self._core, self._branch, self.actor)

    @property
    def schema(self) -> Schema:
        """The accepted schema."""
        from omnigraph.engine.api.schema import Schema

        return Schema(self._core, self._branch, self.actor)

    # --- other places and times ------------------------------------------------------------------

    def branch(self, name: str) -> Graph:
        """Another handle on the same graph, bound to an existing branch."""
        bound = branch_named(name, self._branch)
        self._core.state(bound)
        return Graph(self._core, bound, self.actor)

    def at(
        self,
        commit: str | GraphCommit | None = None,
        *,
        version: int | None = None,
        time: str | datetime | None = None,
    ) -> Past:
        """The graph as it was at a commit (its id or a tag), at a manifest version of this branch, or at an instant."""
        if sum(given is not None for given in (commit, version, time)) != 1:
            raise BadRequest("name one moment: a commit, version=… or time=…")
        if version is not None:
            state = state_at_version(self._core, self._branch, version)
        else:
            state = state_at_commit(self._core, self._resolve(commit, time))
        return Past(self._core, self._core.view_of(state, self._core.schemas.of(self._core.state(self._branch))))

    def _resolve(self, commit: str | GraphCommit | None, time: str | datetime | None) -> GraphCommit:
        if time is not None:
            return commit_at_time(self._core, self._branch, time)
        assert commit is not None
        return commit_named(self._core, commit, self._branch)

    def view(self, branch: str | None = None) -> View:
        """The newest view of this handle's branch, or of another one."""
        return self._core.view(self._named(branch))

    def export(
        self,
        target: StrPath | BinaryIO,
        types: Sequence[str] = (),
        *,
        branch: str | None = None,
        format: str = "jsonl",
    ) -> int:
        """Write every entity, or those of some types, and return the number of bytes.

        As JSON lines by default; `format` may be parquet, csv, neo4j-csv (directories) or graphml.
        """
        here = self if branch is None else self.branch(branch)
        with cut_of(self._core.store).held():
            # Only the formats that are written together with their schema need its text.
            schema = "" if format == "jsonl" else here.schema.source
            return runners.export(here.view(), schema, target, types, format)

    def get(
        self, type_name: str, entity_id: str, at: str | GraphCommit | None = None, *, branch: str | None = None
    ) -> dict[str, Any] | None:
        """One entity as flat JSON, now or at a commit; None when the row, or its type, was not there."""
        view = self.view(branch) if at is None else self.at(at).view()
        return entity_at(view, type_name, entity_id)

    def diff(
        self,
        before: Target,
        after: Target | None = None,
        *,
        kinds: Sequence[str] | str | None = None,
        types: Sequence[str] | str | None = None,
        ops: Sequence[str] | str | None = None,
    ) -> Difference:
        """What is different in `after` (by default this branch) compared with `before`.

        Each is a branch, a tag, a commit, a manifest version of this branch, an instant, or what `at` returned.
        """
        from omnigraph.engine.changes.diff import difference
        from omnigraph.engine.changes.scope import change_scope

        old = state_of(self._core, before, self._branch)
        new = self._core.state(self._branch) if after is None else state_of(self._core, after, self._branch)
        return difference(self._core, old, new, change_scope(kinds, types, ops))

    def refresh(self) -> str | None:
        """Resolve what interrupted writers left on the way, and return the id of the newest commit."""
        if not self.read_only:
            self._core.require_open()
            recovery.sweep(self._core.store, eager_restore=False)
        return self._core.state(self._branch).effective_head

    def sync(self, branch: str) -> str | None:
        """Bind this handle to a branch and return the id of its newest commit."""
        bound = branch_named(branch, self._branch)
        head = self._core.state(bound).effective_head
        self._branch = bound
        return head

    # --- reading ---------------------------------------------------------------------------------

    def query(
        self,
        source: StrPath,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        branch: str | None = None,
        snapshot: str | GraphCommit | None = None,
        runner: str = "auto",
        limits: Limits | None = None,
        embedder: Embedder | None = None,
        cancel: threading.Event | None = None,
        node_ids: bool = False,
    ) -> Result:
        """Run a read on this branch, on another one, or as of a commit (`snapshot`).

        `limits` bounds time and rows; setting `cancel` from another thread stops it. A returned node is an object,
        with `node_ids` only its id.
        """
        here = self if branch is None else self.branch(branch)
        view = here.view() if snapshot is None else here.at(snapshot).view()
        keep = not self.read_only
        call = ReadCall(read_source(source), name, params, runner, limits, embedder, cancel, keep, node_ids)
        return run_query(view, call)

    # --- writing ---------------------------------------------------------------------------------

    def mutate(
        self,
        source: StrPath,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        branch: str | None = None,
        if_commit: str | None = None,
        *,
        embedder: Embedder | None = None,
        no_embed: bool = False,
    ) -> MutationResult:
        """Run a mutation (text, or the path of a `.gq` file) as one commit, or not at all.

        `name` picks one query of several. `if_commit` refuses unless the branch is still at that commit. Absent
        `@embed` targets are computed by the configured provider, or by `embedder`; `no_embed` leaves them null.
        """
        from omnigraph.engine.write.mutate import MutationCall, run_mutation

        named = self._named(branch)
        self._core.require_change(self.actor, named)
        call = MutationCall(read_source(source), name, params, named, self.actor, if_commit, embedder, no_embed)
        return run_mutation(self._core, call)

    def load(
        self,
        data: Any = None,
        mode: str = "append",
        *,
        type: str | None = None,
        edge: str | None = None,
        columns: Mapping[str, str] | None = None,
        mapping: Mapping[str, Any] | StrPath | None = None,
        branch: str | None = None,
        from_: str | None = None,
        if_commit: str | None = None,
        runner: str = "auto",
        on_error: OnError = "stop",
        rejects: StrPath | None = None,
        max_errors: int | None = None,
        dry_run: bool = False,
        progress: Callable[[Any], None] | None = None,
        spark: Any = None,
        embedder: Embedder | None = None,
        no_embed: bool = False,
        no_build: bool = False,
    ) -> LoadResult:
        """Load records or a frame as one commit, or not at all.

        `data` is a path, a glob, a directory, a list of paths, records as bytes, lines or dicts, or, with `type` or
        `edge`, an Arrow, pandas or Polars frame or Parquet, CSV or ORC files, whose `columns` may be renamed; a
        `mapping` describes several such inputs instead. `mode` is append, merge or overwrite.
        With `from_`, a missing branch is created first. Files of more than 32 MiB are loaded by Spark unless `runner`
        says otherwise. `dry_run` checks everything and writes nothing; `on_error="skip"` loads the good rows, and
        `rejects` is a directory that then gets the others as JSON lines. Absent `@embed` targets are computed by the
        configured provider, or by `embedder`; `no_embed` leaves them null.
        Types of main that got 100,000 rows or more are indexed afterwards, in a commit of its own, unless `no_build`.
        """
        from omnigraph.engine.write.load_rows import parse_mode

        named = self._named(branch)
        base = None if from_ is None else branch_named(from_, self._branch) or "main"
        self._require_load(named, base)
        request = LoadRequest(
            data=data,
            mode=parse_mode(mode),
            type=type,
            edge=edge,
            columns=columns,
            mapping=mapping,
            branch=named,
            base=base,
            actor=self.actor,
            if_commit=if_commit,
            on_error=on_error,
            rejects=None if rejects is None else os.fspath(rejects),
            max_errors=max_errors,
            dry_run=dry_run,
            progress=progress,
            spark=spark,
            embedder=embedder,
            no_embed=no_embed,
            no_build=no_build,
        )
        return runners.run(self._core, request, runner)

    def transaction(
        self,
        *,
        resolve: Mapping[str, Resolution] | None = None,
        strategy: Strategy = "fail",
        properties: PropertyMode = "whole",
    ) -> Transaction:
        """Several writes that arrive together: `with graph.transaction() as tx:` gives a handle on a private branch.

        It is merged into this branch when the block ends, and dropped when it raises; the options are those of merge.
        """
        from omnigraph.engine.api.transaction import Transaction  # a transaction is itself a graph

        self._core.require_change(self.actor, self._branch)
        return Transaction(self._core, self._branch, self.actor, MergeOptions(strategy, properties, resolve or {}))

    # --- lifetime --------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of open files; every handle of this graph that came from the same `open` is closed."""
        self._core.closed = True
        self._core.tables.clear()

    def __enter__(self) -> Graph:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Graph '{self.uri}' on branch '{self.branch_name}'>"

    def _require_load(self, branch: str | None, base: str | None) -> None:
        self._core.require_change(self.actor, branch)
        # Forking is a right of its own, but only for a branch that is not there yet.
        if self.policy is not None and base is not None and (branch or "main") not in self.branches.list():
            self._core.require_allowed(self.actor, Action.BRANCH_CREATE, base, branch)
