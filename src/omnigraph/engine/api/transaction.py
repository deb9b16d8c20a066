"""Transactions: several writes on a private branch that arrive together, or not at all."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from omnigraph.display import Displayed
from omnigraph.engine.api.arguments import checked_methods
from omnigraph.engine.api.graph import Graph
from omnigraph.engine.merge.merge import MergeCall, merge_branches
from omnigraph.engine.merge.outcome import MergeOptions, MergeResult
from omnigraph.engine.read.frames.budget import Limits
from omnigraph.engine.read.shape.result import Result
from omnigraph.engine.values.message import MOST_CHARACTERS
from omnigraph.engine.values.result import BatchResult, LoadMode, LoadResult, MutationResult, OnError
from omnigraph.engine.views.lifecycle import StrPath, Text
from omnigraph.engine.views.table_tasks import Runner, SparkPlace
from omnigraph.errors import BadRequest, BranchNotFound, Conflict, OmnigraphError, ReadSetChanged
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.branches.private_branches import PrivateBranch, open_private
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.note import Epoch
from omnigraph.storage.protocol.budget import Budget

if TYPE_CHECKING:
    from omnigraph.embeddings.provider import Embedder

_log = logging.getLogger(__name__)


@checked_methods
class Transaction(Displayed):
    """Writes that arrive together; leaving the block merges them, an exception drops them.

    Writes and reads inside see each other; others do not see them. What others commit meanwhile is merged with, and
    a contradiction raises MergeConflicts with nothing written. `graph` is the handle on the private branch, for every
    other verb, and `result` is the merge. `epoch` is the batch of a stream that the whole of it is.
    """

    def __init__(
        self,
        target: Graph,
        options: MergeOptions,
        budget: Budget | None = None,
        message: str | None = None,
        epoch: Epoch | None = None,
    ) -> None:
        self.target = target
        self.options = options
        self.budget = budget
        self.message = message
        self.epoch = epoch
        self._messages: list[str] = []
        self.result: MergeResult | None = None
        self._core = target._core
        self._private: PrivateBranch | None = None
        self._graph: Graph | None = None
        self._entered = False

    def __repr__(self) -> str:
        done = self.result is not None
        state = "open" if self._graph else "merged" if done else "ended" if self._entered else "not entered"
        return f"<Transaction on branch '{self.target.branch_name}' of '{self.target.uri}', {state}>"

    @property
    def graph(self) -> Graph:
        """A handle on the private branch; it exists while the block runs."""
        if self._graph is None:
            raise BadRequest("this transaction is not open; use it inside its `with` block")
        return self._graph

    def query(
        self,
        source: Text,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        runner: Runner = "auto",
        limits: Limits | None = None,
        embedder: Embedder | None = None,
        cancel: threading.Event | None = None,
        node_ids: bool = False,
    ) -> Result:
        """Run a read on what the transaction has written so far; the options are those of `Graph.query`."""
        return self.graph.query(
            source,
            name,
            params,
            runner=runner,
            limits=limits,
            embedder=embedder,
            cancel=cancel,
            node_ids=node_ids,
        )

    def get(self, type_name: str, entity_id: str, *, blobs: bool = True) -> dict[str, Any] | None:
        """One entity as flat JSON, or None when there is no such row."""
        return self.graph.get(type_name, entity_id, blobs=blobs)

    def mutate(
        self,
        source: Text,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        embedder: Embedder | None = None,
        no_embed: bool = False,
        message: str | None = None,
    ) -> MutationResult:
        """Run a mutation as a part of the transaction; the options are those of `Graph.mutate`."""
        done = self.graph.mutate(source, name, params, embedder=embedder, no_embed=no_embed, message=message)
        self._note(done.commit)
        return done

    def mutate_many(
        self,
        mutations: Iterable[Any],
        source: Text | None = None,
        *,
        embedder: Embedder | None = None,
        no_embed: bool = False,
        message: str | None = None,
    ) -> BatchResult:
        """Run a batch of mutations as a part of the transaction; the options are those of `Graph.mutate_many`."""
        done = self.graph.mutate_many(mutations, source, embedder=embedder, no_embed=no_embed, message=message)
        self._note(done.commit)
        return done

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
        # what becomes of bad rows
        on_error: OnError = "stop",
        rejects: StrPath | None = None,
        max_errors: int | None = None,
        # how it is done
        runner: Runner = "auto",
        spark: SparkPlace = None,
        progress: Callable[[Any], None] | None = None,
        embedder: Embedder | None = None,
        no_embed: bool = False,
        message: str | None = None,
    ) -> LoadResult:
        """Load records or a frame as a part of the transaction; the options are those of `Graph.load`."""
        done = self.graph.load(
            data,
            mode,
            type=type,
            edge=edge,
            columns=columns,
            mapping=mapping,
            on_error=on_error,
            rejects=rejects,
            max_errors=max_errors,
            runner=runner,
            spark=spark,
            progress=progress,
            embedder=embedder,
            no_embed=no_embed,
            message=message,
        )
        self._note(done.commit)
        return done

    def _note(self, commit: GraphCommit | None) -> None:
        """Keep the message of a write: its own commit goes with the private branch."""
        if commit is not None and commit.message is not None:
            self._messages.append(commit.message)

    def _message(self) -> str:
        """The message of the whole: its own, else those of its writes, else what it is."""
        if self.message is not None:
            return self.message
        return "\n".join(dict.fromkeys(self._messages))[:MOST_CHARACTERS] or f"transaction on {self.target.branch_name}"

    # --- the block -------------------------------------------------------------------------------

    def __enter__(self) -> Transaction:
        if self._entered:
            raise BadRequest("a transaction can be entered only once")
        self._entered = True
        private = self._private = open_private(self._core.store, self.target._branch)
        self._core.policy_branch[private.branch] = self.target.branch_name
        self._graph = Graph(self._core, self.target._runners, private.branch, self.target.actor)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._private is not None
        try:
            if error is None:
                self.result = self._merge(self._private)
        finally:
            self._graph = None
            self._drop(self._private)
            self._core.policy_branch.pop(self._private.branch, None)

    def _merge(self, private: PrivateBranch) -> MergeResult:
        hit("transaction.pre_merge")
        target = self.target
        call = MergeCall(
            private.branch,
            target._branch,
            self.options,
            target.actor,
            budget=self.budget,
            message=self._message(),
            epoch=self.epoch,
        )
        try:
            return merge_branches(self._core, call)
        except (BranchNotFound, ReadSetChanged) as error:
            if not private.is_lost:
                raise
            raise Conflict(
                "the transaction was given up by another process, because this one did not renew its lease in time; "
                "nothing of it was written, run it again"
            ) from error

    def _drop(self, private: PrivateBranch) -> None:
        try:
            private.drop()
        except OmnigraphError as trouble:
            # Whether the block succeeded is decided already; the next writer finds the lease and removes the rest.
            _log.warning("the private branch '%s' of a transaction was not deleted: %s", private.branch, trouble)
