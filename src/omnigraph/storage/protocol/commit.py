"""The commit protocol: every write, whatever its source, becomes visible through one attempt lifecycle.

Barrier, capture, prepare, gate, stage, arm, effects, publish, retire. Until the sidecar is armed nothing durable has
happened but unreferenced data files; from then on an interrupted attempt is finished or undone by the next writer.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from omnigraph.errors import (
    HistoricalVersionReclaimed,
    OperationAborted,
    ReadSetChanged,
    RecoveryRequired,
    Retry,
    StorageError,
)
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.store import Store
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.manifest import ManifestState, load
from omnigraph.storage.protocol.attempt import Attempt, Hooks
from omnigraph.storage.protocol.barrier import clear_way
from omnigraph.storage.protocol.capture import Txn, capture, require_token
from omnigraph.storage.protocol.publish import publish
from omnigraph.storage.protocol.sidecar import Token
from omnigraph.storage.protocol.writeset import WriteSet

Prepare = Callable[[Txn], WriteSet | None]
"""Reads from one captured state and says what to write; called again from fresh state when the head has moved."""

_BACKOFF_SECONDS = (0.002, 0.030)


@dataclass(frozen=True, slots=True)
class Committed:
    """What a write did: its commit (None when there was nothing to write) and the branch's state right after."""

    commit: GraphCommit | None
    state: ManifestState


def commit(
    store: Store,
    branch: str | None,
    prepare: Prepare,
    *,
    expected_head: str | None = None,
    hooks: Hooks | None = None,
) -> Committed:
    """Prepare a write on the newest state of a branch and make all of it visible at once, or nothing.

    A write set that allows it is prepared again when the branch moves before it is published; any other write is
    refused with ReadSetChanged. `expected_head` turns every movement into PreconditionFailed.
    """
    loop = _Loop(store, branch, prepare, expected_head, hooks or Hooks())
    # A control operation has one id, and an id is decided once: it gets one attempt.
    for _ in range(store.settings.reprepare_budget if loop.hooks.operation_id is None else 1):
        done = loop.turn()
        if done is not None:
            return done
    raise loop.failure or ReadSetChanged(f"graph_head:{branch or 'main'}")


class _Loop:
    """One call of `commit`: its turns and what the failed ones have taught it."""

    def __init__(
        self, store: Store, branch: str | None, prepare: Prepare, expected_head: str | None, hooks: Hooks
    ) -> None:
        self.store = store
        self.branch = branch
        self.prepare = prepare
        self.expected_head = expected_head
        self.hooks = hooks
        self.failure: Retry | RecoveryRequired | None = None
        self._pinned: Token | None = None

    def turn(self) -> Committed | None:
        """One whole attempt; None asks for another one."""
        blocker = self.failure.operation_id if isinstance(self.failure, RecoveryRequired) else None
        clear_way(self.store, self.branch, awaited=blocker, gated=not self.hooks.gated)
        with ExitStack() as held:
            # After a first loss the branch gate is held from the capture on: threads of one process can only win
            # one after the other, and so do not invalidate each other for ever.
            insistent = self.failure is not None or self.hooks.gated
            if insistent and not self.hooks.gated:
                held.enter_context(self.store.gates.branches([self.branch]))
            txn = self._capture()
            try:
                write = self.prepare(txn)
            except (HistoricalVersionReclaimed, StorageError) as error:
                self.failure = self._overtaken(txn, error)
                return None
            if write is None or not write.has_effect:
                return self._no_effect(txn)
            if not insistent:
                failpoints.hit("mutation.post_stage_pre_gate")
                held.enter_context(self.store.gates.branches([self.branch]))
            refs = [(table.table_key, self.branch) for table in write.tables]
            held.enter_context(self.store.gates.tables(refs, exclusive_schema=write.writer_kind == "SchemaApply"))
            done = self._attempt(txn, write)
        if done is None:
            time.sleep(random.uniform(*_BACKOFF_SECONDS))
        return done

    def _capture(self) -> Txn:
        own = self.hooks.operation_id
        txn = capture(self.store, self.branch, expected_head=self.expected_head, control_operation=own)
        if self._pinned is not None:
            require_token(txn.state, self._pinned)
        return txn

    def _overtaken(self, txn: Txn, error: HistoricalVersionReclaimed | StorageError) -> ReadSetChanged:
        """The movement that made a file disappear, as a cleanup does once the branch has left the captured state."""
        if isinstance(error, HistoricalVersionReclaimed) or error.kind == "NotFound":
            try:
                require_token(load(self.store.root, self.branch).state, txn.token)
            except ReadSetChanged as moved:
                return moved
        raise error

    def _attempt(self, txn: Txn, write: WriteSet) -> Committed | None:
        if not write.reprepare:
            self._pinned = txn.token
        attempt = Attempt(self.store, txn, write, self.hooks, publish)
        try:
            published = attempt.run()
            return Committed(None, txn.state) if published is None else Committed(published.commit, published.state)
        except OperationAborted as error:
            # Another process took this attempt for dead; that is the same as having lost a race.
            self.failure = ReadSetChanged(f"operation:{error.operation_id}", expected="open", actual="aborted")
        except Retry as error:
            self.failure = error
        except (HistoricalVersionReclaimed, StorageError) as error:
            self.failure = self._overtaken(txn, error)
        except RecoveryRequired as error:
            # An attempt that could not be decided may yet be published by its recovery: a second one would repeat it.
            if error.operation_id == attempt.operation_id:
                raise
            self.failure = error
        return None

    def _no_effect(self, txn: Txn) -> Committed:
        failpoints.hit("mutation.post_no_effect_pre_gate")
        if self.expected_head is not None:
            capture(self.store, self.branch, expected_head=self.expected_head)
        return Committed(None, txn.state)
