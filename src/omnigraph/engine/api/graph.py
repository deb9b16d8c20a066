"""The facade: an opened graph bound to a branch, one short method per verb."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.engine.api import runners
from omnigraph.engine.api.access import access
from omnigraph.engine.api.arguments import checked_methods
from omnigraph.engine.api.maintenance import GraphMaintenance
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.engine.merge.outcome import MergeOptions, PropertyMode, Resolution, Strategy
from omnigraph.engine.values.message import commit_message
from omnigraph.engine.values.result import BatchResult, LoadMode, LoadResult, MutationResult, OnError, parse_mode
from omnigraph.engine.views.lifecycle import StrPath, Text, read_source
from omnigraph.engine.views.table_tasks import Runner, SparkPlace
from omnigraph.engine.views.targets import branch_named
from omnigraph.policy.actions import Action
from omnigraph.policy.engine import PolicyEngine
from omnigraph.policy.visibility import Visibility
from omnigraph.storage.protocol import recovery

# A process that only reads is spared what the other verbs need: those import it when they are called.
if TYPE_CHECKING:
    from omnigraph.embeddings.provider import Embedder
    from omnigraph.engine.api.branches import Branches
    from omnigraph.engine.api.changes import Changes
    from omnigraph.engine.api.commits import Commits
    from omnigraph.engine.api.description import Description
    from omnigraph.engine.api.schema import Schema
    from omnigraph.engine.api.tags import Tags
    from omnigraph.engine.api.transaction import Transaction
    from omnigraph.storage.manifest.commits import GraphCommit


@checked_methods
class Graph(GraphMaintenance):
    """An opened graph, bound to one branch; safe to share between threads, and a context manager."""

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
        """Whether this graph was opened for reading only."""
        return self._core.read_only

    @property
    def policy(self) -> PolicyEngine | None:
        """What decides about writes, if anything does."""
        return self._core.policy

    @property
    def visibility(self) -> Visibility | None:
        """What reads may see; None when that is everything."""
        return self._core.visibility

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

    # --- other handles on the same graph ---------------------------------------------------------

    def branch(self, name: str) -> Graph:
        """Another handle on the same graph, bound to an existing branch."""
        bound = branch_named(name, self._branch)
        self._core.state(bound)
        return Graph(self._core, self._runners, bound, self.actor)

    def with_actor(self, actor: str | None) -> Graph:
        """Another handle on the same graph, for another actor."""
        return Graph(self._core, self._runners, self._branch, actor)

    def with_policy(self, policy: PolicyEngine | None) -> Graph:
        """Another handle on the same graph, whose writes another policy decides about."""
        return Graph(replace(self._core, policy=policy), self._runners, self._branch, self.actor)

    def with_visibility(self, visibility: Visibility | None) -> Graph:
        """Another handle on the same graph, for a reader who may not see all of it; None shows everything."""
        return Graph(self._core.with_visibility(visibility), self._runners, self._branch, self.actor)

    def visibility_of(self, branch: str, action: Action = Action.READ) -> Visibility | None:
        """What the policy shows this handle's actor of a branch: no more than of those it was forked from.

        None is everything; for `with_visibility`.
        """
        return self._core.visibility_of(self.actor, action, branch_named(branch, self._branch))

    def with_schema_check(self, check: Callable[[Catalog], None]) -> Graph:
        """Another handle on the same graph; where its merges bring main another schema, the check may raise."""
        return Graph(self._core.with_schema_check(check), self._runners, self._branch, self.actor)

    def with_patience(self, seconds: float | None, attempts: int | None = None) -> Graph:
        """Another handle on the same graph, whose writes take no longer and are computed no more often than this.

        The settings are the bound; None leaves it to them.
        """
        return Graph(self._core.with_patience(seconds, attempts), self._runners, self._branch, self.actor)

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

    # --- writing ---------------------------------------------------------------------------------

    def mutate(
        self,
        source: Text,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        branch: str | None = None,
        if_commit: str | None = None,
        *,
        embedder: Embedder | None = None,
        no_embed: bool = False,
        attempts: int | None = None,
        message: str | None = None,
    ) -> MutationResult:
        """Run a mutation (text, or the path of a `.gq` file) as one commit, or not at all.

        `name` picks one query of several. It means what it would mean after everything that was committed before it:
        on a branch that moved it is computed again, at most `attempts` times in all (by default as the settings say).
        `if_commit` refuses instead, unless the branch is still at that commit. Absent `@embed` targets are computed by
        the configured provider, or by `embedder`; `no_embed` leaves them null. `message` is kept with the commit.
        """
        from omnigraph.engine.write.mutate import MutationCall, run_mutation

        named = self._named(branch)
        self._core.require_change(self.actor, named)
        call = MutationCall(
            read_source(source),
            name,
            params,
            named,
            self.actor,
            if_commit,
            embedder,
            no_embed,
            self._core.budget(attempts),
            commit_message(message),
        )
        return run_mutation(self._core, call)

    def mutate_many(
        self,
        mutations: Iterable[Any],
        source: Text | None = None,
        *,
        branch: str | None = None,
        if_commit: str | None = None,
        embedder: Embedder | None = None,
        no_embed: bool = False,
        attempts: int | None = None,
        message: str | None = None,
    ) -> BatchResult:
        """Run a batch of mutations, in order, as one commit, or none of them.

        Each is `{"query": text, "name": …, "params": {…}}`, or a pair of text and parameters; without a `query` it is a
        query of `source`. Later ones see what earlier ones did; what all of them leave behind must keep every rule of
        the schema. A match reads what was committed before the batch, so it is refused on types that earlier mutations
        change. An error names the mutation it comes from, as `mutations[3]`. The other options are those of `mutate`.
        """
        from omnigraph.engine.write.batch import BatchCall, run_batch
        from omnigraph.engine.write.batch_input import mutations_of

        named = self._named(branch)
        self._core.require_change(self.actor, named)
        call = BatchCall(
            mutations=mutations_of(mutations, source),
            branch=named,
            actor=self.actor,
            if_commit=if_commit,
            embedder=embedder,
            no_embed=no_embed,
            budget=self._core.budget(attempts),
            message=commit_message(message),
        )
        return run_batch(self._core, call)

    def load(
        self,
        data: Any = None,
        mode: LoadMode = "append",
        *,
        # what the data is
        type: str | None = None,
        edge: str | None = None,
        columns: Mapping[str, str] | None = None,
        mapping: Mapping[str, Any] | StrPath | None = None,
        # where it goes
        branch: str | None = None,
        from_: str | None = None,
        if_commit: str | None = None,
        # what becomes of bad rows
        on_error: OnError = "stop",
        rejects: StrPath | None = None,
        max_errors: int | None = None,
        # how it is done
        runner: Runner = "auto",
        spark: SparkPlace = None,
        dry_run: bool = False,
        progress: Callable[[Any], None] | None = None,
        embedder: Embedder | None = None,
        no_embed: bool = False,
        no_build: bool = False,
        resume: bool = False,
        attempts: int | None = None,
        message: str | None = None,
    ) -> LoadResult:
        """Load records or a frame as one commit, or not at all.

        `data` is a path, a glob, a directory, a list of paths, records as bytes, lines or dicts, or, with `type` or
        `edge`, an Arrow, pandas or Polars frame or Parquet, CSV or ORC files, whose `columns` may be renamed; a
        `mapping` describes several such inputs instead. `mode` is append, merge, overwrite, or
        patch, which merges and keeps what rows leave out.
        With `from_`, a missing branch is created first. Files of more than 32 MiB are loaded by Spark unless `runner`
        says otherwise. `dry_run` checks everything and writes nothing; `on_error="skip"` loads the good rows, and
        `rejects` is a `.jsonl` file, or a directory for one, that then gets the others. Absent `@embed` targets are
        computed by the configured provider, or by `embedder`; `no_embed` leaves them null.
        Types of main that got 100,000 rows or more are indexed afterwards, in a commit of its own, unless `no_build`.
        `resume` goes on after a load of the same files whose process died: what it has staged is not staged again.
        On a branch that moved the checks are run again, `attempts` times in all at most; `if_commit` refuses instead.
        `message` is kept with the commit.
        """
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
            resume=resume,
            budget=self._core.budget(attempts),
            message=commit_message(message),
        )
        return runners.run_load(self._runners, access(self), request, runner)

    def transaction(
        self,
        *,
        resolve: Mapping[str, Resolution] | None = None,
        strategy: Strategy = "fail",
        properties: PropertyMode = "whole",
        attempts: int | None = None,
        message: str | None = None,
    ) -> Transaction:
        """Several writes that arrive together: `with graph.transaction() as tx:`, then `tx.mutate(…)`, `tx.load(…)`.

        They go to a private branch, which is merged into this one when the block ends and dropped when it raises; the
        options are those of merge. Without a `message` the commit gets those of the writes inside.
        """
        from omnigraph.engine.api.transaction import Transaction

        self._core.require_change(self.actor, self._branch)
        options = MergeOptions(strategy, properties, resolve or {})
        return Transaction(self, options, self._core.budget(attempts), commit_message(message))

    # --- at a glance -----------------------------------------------------------------------------

    def describe(self, *, branch: str | None = None, at: str | GraphCommit | None = None) -> Description:
        """Types with counts, properties, indexes and sizes, the branches, and the newest commit, now or at a commit.

        It prints as a table. `divergence` says of every branch how many commits it has that main has not, and back.
        """
        from omnigraph.engine.api.description import Description, described_types
        from omnigraph.engine.changes.divergence import divergence
        from omnigraph.engine.maintenance.indexes import report_indexes

        view = self._view(branch, at)
        names = tuple(self.branches.list())
        types = tuple(described_types(view, report_indexes(view)))
        compared = divergence(self._core, names)
        return Description(self.uri, view.branch or "main", view.head, types, names, compared)

    # --- lifetime --------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of open files and of all memory; every handle that came from the same `open` is closed."""
        self._core.close()

    def __enter__(self) -> Graph:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return self.describe()._repr_html_()

    def __repr__(self) -> str:
        return f"<Graph '{self.uri}' on branch '{self.branch_name}'>"

    def _require_load(self, branch: str | None, base: str | None) -> None:
        self._core.require_change(self.actor, branch)
        # Forking is a right of its own, but only for a branch that is not there yet.
        if self.policy is not None and base is not None and (branch or "main") not in self.branches.list():
            self._core.require_allowed(self.actor, Action.BRANCH_CREATE, base, branch)
