"""Transactions: several writes on a private branch that arrive together, or not at all."""

from __future__ import annotations

import logging
from types import TracebackType

from omnigraph.engine.api.graph import Graph
from omnigraph.engine.merge.merge import MergeCall, merge_branches
from omnigraph.engine.merge.outcome import MergeOptions, MergeResult
from omnigraph.engine.views.core import Core
from omnigraph.errors import BadRequest, OmnigraphError, Retry
from omnigraph.ids import new_ulid
from omnigraph.storage.protocol.branches import create_branch, delete_branch

_log = logging.getLogger(__name__)
_MERGE_ATTEMPTS = 8


class Transaction(Graph):
    """A graph handle on a private branch; leaving the block merges it, an exception drops it.

    Writes and reads inside see each other; others do not see them. What others commit meanwhile is merged with, and
    a contradiction raises MergeConflicts with nothing written. `result` is the merge.
    """

    def __init__(self, core: Core, target: str | None, actor: str | None, options: MergeOptions) -> None:
        super().__init__(core, f"transaction-{new_ulid()}", actor)
        self.target = target
        self.options = options
        self.result: MergeResult | None = None
        self._entered = False

    def __enter__(self) -> Transaction:
        if self._entered:
            raise BadRequest("a transaction can be entered only once")
        self._entered = True
        self._core.policy_branch[self.branch_name] = self.target or "main"
        create_branch(self._core.store, self.branch_name, source=self.target or "main")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.result = self._merge()
        finally:
            self._drop()
            self._core.policy_branch.pop(self.branch_name, None)

    def _merge(self) -> MergeResult:
        call = MergeCall(self._branch, self.target, self.options, self.actor)
        for _ in range(_MERGE_ATTEMPTS - 1):
            try:
                return merge_branches(self._core, call)
            except Retry as moved:
                _log.debug("the target moved while a transaction was merged: %s", moved)
        return merge_branches(self._core, call)

    def _drop(self) -> None:
        try:
            delete_branch(self._core.store, self.branch_name)
        except OmnigraphError as trouble:
            # Whether the block succeeded is decided already; the branch can be deleted by hand.
            _log.warning("the private branch '%s' of a transaction was not deleted: %s", self.branch_name, trouble)
