"""One attempt at a commit: stage, arm, commit the tables in their exact slots, and after the publication retire.

Whatever goes wrong, the attempt ends decided: published, aborted, withdrawn without effect, or (when storage does
not answer) released for others to resolve.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from omnigraph import host
from omnigraph.errors import BranchNotFound, OmnigraphError, OperationAborted, ReadSetChanged, RecoveryRequired
from omnigraph.ids import new_ulid, now_micros
from omnigraph.storage.base import lease
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.base.layout import Address
from omnigraph.storage.base.lease import Heartbeat
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches.forks import create_fork
from omnigraph.storage.intent import sidecar
from omnigraph.storage.intent.capture import Txn, require_token
from omnigraph.storage.intent.publication import Publication, Published
from omnigraph.storage.intent.sidecar import Sidecar
from omnigraph.storage.intent.tally import Tally, tally
from omnigraph.storage.intent.writeset import Create, WriteSet, touched_ids
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.tables import Landed, Refused, Staged, TableHandle
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.rows import VersionRow
from omnigraph.storage.protocol import fence, recovery, tickets
from omnigraph.storage.protocol.drafts import Drafts, note_newest
from omnigraph.storage.protocol.fence import Abort
from omnigraph.storage.protocol.plan import PlannedTable, Planner, owned
from omnigraph.storage.protocol.table_steps import plant, stage_step

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Hooks:
    """What a control operation adds to an attempt: its own id, and work around the moment of publication."""

    operation_id: str | None = None
    gated: bool = False  # the caller holds the branch gate already, because it comes before graph control
    after_arm: Callable[[], None] = lambda: None
    after_table: Callable[[], None] = lambda: None
    before_publish: Callable[[], None] = lambda: None
    after_publish: Callable[[], None] = lambda: None


class Attempt:
    """A single try to publish one write set on one captured state; used once.

    `ticket` is the writer's place in the queue of processes, if it has one. `behind` is the commit that will be
    published before this one by the same version of the manifest: the state it leaves is the one captured here, and
    `left` are tables as they are then.
    """

    def __init__(
        self,
        store: Store,
        txn: Txn,
        write: WriteSet,
        hooks: Hooks,
        *,
        drafts: Drafts | None = None,
        ticket: str | None = None,
        behind: Publication | None = None,
        left: Mapping[Address, TableHandle] | None = None,
    ) -> None:
        self.store = store
        self.drafts = drafts or {}
        self.ticket = ticket
        self.behind = behind
        self.left = left or {}
        self.stepped_back = False  # an earlier writer of another process was let ahead; nothing has happened
        self.txn = txn
        self.write = write
        self.hooks = hooks
        self.operation_id = hooks.operation_id or new_ulid()
        self._intent: Sidecar | None = None
        self._leased_at = 0.0
        self._heartbeat: Heartbeat | None = None
        self.captured = txn.loaded
        self.handles: list[TableHandle] = []
        self._armed = False
        self._effects = False  # a table may have moved, so the operation needs a decision before it is left
        self._published: Published | None = None

    @property
    def has_effects(self) -> bool:
        """Whether a table may have moved."""
        return self._effects

    def carry_out(self, after: ExitStack) -> Publication | None:
        """Stage, arm and commit the tables; what is left to publish, or None when no step would change anything.

        Whatever this raises, `give_up` has to follow. When `after` is closed, the operation is not worked on any more.
        """
        after.enter_context(lease.active(self.operation_id))
        after.callback(self._stop_heartbeat)
        planner = Planner(self.store, self.txn, self.operation_id, self._recover, self.drafts, self.left)
        planned = planner.plan(self.write)
        if not planned and self.write.delta.is_empty and not self.write.lineage_only:
            return None
        intent = self._intent = self._describe(planned)
        if planned or self.write.writer_kind in ("SchemaApply", "BranchMerge"):
            self._arm(intent)
        versions = self._effect(planned)
        self.check_lease()
        self.hooks.before_publish()
        self._effects = True  # from here on only a scan of the manifest can tell what happened
        self._remember(intent.commit_id)
        return recovery.publication_of(intent, versions)

    def conclude(self, published: Published, after: ExitStack) -> Published:
        """What was published, if it stands; the sidecar is retired when `after` is closed.

        That may be after the next writer of this process has begun.
        """
        self._published = self._confirmed(published)
        self.hooks.after_publish()
        after.callback(self._retire)
        return self._published

    def _remember(self, commit_id: str) -> None:
        """Leave word of the changed rows for writers of this process, under an id that only this commit can have."""
        if self.write.delta.is_empty:
            changes = {table.table_key: touched_ids(table.steps) for table in self.write.tables}
            self.store.recent.record(commit_id, self.txn.state.effective_head, changes)

    def _describe(self, planned: list[PlannedTable]) -> Sidecar:
        self._leased_at, replayed = host.monotonic(), self.write.replayed
        return Sidecar(
            operation_id=self.operation_id,
            branch=self.txn.branch,
            actor_id=self.write.actor_id,
            writer_kind=self.write.writer_kind,
            lease=lease.fresh_lease(self.store.settings.lease_ttl_ms),
            authority=self.txn.token,
            rollback_commit_id=new_ulid(),
            merged_parent_commit_id=self.write.merged_parent,
            created_at=self._created_at() if replayed is None else replayed.created_at,
            tables=tuple(table.plan for table in planned),
            delta=self.write.delta,
            note=self.write.note,
            tallies=self._tallies(planned),
            replayed_commit_id=None if replayed is None else replayed.commit_id,
        )

    def _created_at(self) -> int:
        """Now; of commits that one version publishes this is their order, whatever the clock does."""
        return now_micros() if self.behind is None else max(now_micros(), self.behind.created_at + 1)

    def _tallies(self, planned: list[PlannedTable]) -> dict[str, Tally]:
        if self.write.writer_kind == "SchemaApply" or self.write.replayed is not None:
            return {}  # it rewrites rows without changing what they say, or was counted where it was made
        entries = self.txn.snapshot.entries
        return {
            table.plan.table_key: tally(table.steps, entry.row_count)
            for table in planned
            if (entry := entries.get(table.plan.table_key)) is not None
        }

    # --- arming --------------------------------------------------------------------------------

    def _arm(self, intent: Sidecar) -> None:
        self._armed = True  # before the write: a failed put may still have created the file
        self._effects = not intent.tables  # without a table to wait for, a recovery could publish it from here on
        sidecar.arm(self.store.objects, intent)
        ttl = self.store.settings.lease_ttl_ms
        self._heartbeat = Heartbeat(self._beat, ttl_ms=ttl, since=self._leased_at).start()
        if self.behind is not None:
            return  # the one ahead has looked, and writers of other processes wait for its sidecar
        older = tickets.older(self.store, intent, self.ticket)
        if older is not None:
            self.stepped_back = True
            raise tickets.spent(older, intent.branch)
        # A writer that arms after this sees our sidecar; one that published before this has moved the head.
        self.captured = manifest.refresh(self.txn.loaded)
        require_token(self.captured.state, self.txn.token)
        self.hooks.after_arm()

    def _beat(self) -> None:
        assert self._intent is not None
        self._intent = sidecar.with_lease(self._intent, self._intent.lease.renewed())
        sidecar.renew(self.store.objects, self._intent)

    def check_lease(self) -> None:
        """Raise when others may have taken this operation over."""
        if self._heartbeat is not None and self._heartbeat.lapsed():
            raise ReadSetChanged(f"lease:{self.operation_id}", expected="held", actual="lapsed")

    # --- effects -------------------------------------------------------------------------------

    def _effect(self, planned: list[PlannedTable]) -> tuple[VersionRow, ...]:
        hit("mutation.post_sidecar_pre_fork")
        # Everything that can fail without effect (forking, staging on the forks) comes before the first commit.
        first = [table.first or self._stage(table, 0, _rooted(table)) for table in planned]
        hit("mutation.post_fork_pre_commit")
        # The sidecar names them all, so their order means nothing to those who finish or undo them.
        pairs = list(zip(planned, first, strict=True))
        done = self.store.side_by_side(lambda pair: self._commit_table(*pair), pairs)
        self.handles += [handle for handle, _ in done]
        for handle in self.handles:
            note_newest(handle, handle.version)
        hit("mutation.post_effects_pre_publish")
        return tuple(row for _, row in done)

    def _commit_table(self, table: PlannedTable, first: Staged) -> tuple[TableHandle, VersionRow]:
        handle = self._commit_exactly(table, first)
        hit("mutation.post_table_commit")
        self.hooks.after_table()
        for position in range(1, len(table.steps)):
            if self.write.writer_kind == "BranchMerge":
                hit("branch_merge.between_chunks")
            handle = self._commit_exactly(table, self._stage(table, position, handle))
            hit("mutation.post_table_commit")
        return handle, recovery.version_row(self.store, table.plan.table_key, handle)

    def _stage(self, table: PlannedTable, position: int, handle: TableHandle) -> Staged:
        step, plan = table.steps[position], table.plan
        staged = stage_step(handle, plan.table_key, step, pin=plan.expected_version)
        if staged is None:
            raise ReadSetChanged(f"table:{plan.table_key}", expected="rows to delete", actual="none")
        return owned(staged, plan, position, operation_id=self.operation_id, branch=self.txn.branch)

    def _commit_exactly(self, table: PlannedTable, staged: Staged) -> TableHandle:
        self.check_lease()
        before, member = self._effects, f"table:{table.plan.table_key}"
        self._effects = True  # before it: the version may have landed although looking at it fails
        outcome = tables.commit(staged)
        if isinstance(outcome, Landed):
            if outcome.exact:
                return outcome.handle
            raise ReadSetChanged(member, expected=staged.slot, actual=outcome.version)
        # Also when it was refused: a client that repeats a put whose answer was lost is refused by its own version.
        found = tables.locate(staged.address, staged.uuid, after=staged.base_version)
        if found == staged.slot:
            return tables.open_table(staged.address, found)
        if isinstance(outcome, Refused):
            self._effects = before or found is not None
            raise ReadSetChanged(member, expected=staged.slot, actual=outcome.reason)
        raise ReadSetChanged(member, expected=staged.slot, actual=found) from outcome.cause

    def _confirmed(self, published: Published) -> Published:
        """What was published, looked at once more if this process may have slept while it was.

        Lance compares a commit with the versions since its base that still exist. After a long sleep they may have been
        trimmed, and a commit that was given up by others meanwhile may seem to land where it is never read.
        """
        if self._heartbeat is None or not self._heartbeat.lapsed():
            return published
        state = manifest.load(self.store.root, self.txn.branch).state
        if state.decision(self.operation_id) != "published":
            raise ReadSetChanged(f"lease:{self.operation_id}", expected="held", actual="lapsed")
        return published

    # --- endings -------------------------------------------------------------------------------

    def _stop_heartbeat(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.stop()

    def _retire(self) -> None:
        self._stop_heartbeat()
        if not self._armed:
            return
        try:
            sidecar.remove(self.store.objects, self.operation_id)
            self._armed = False
        except OmnigraphError as error:
            # The write is durable; the next writer finds the decision and removes the file.
            _log.warning("sidecar of %s could not be deleted: %s", self.operation_id, error)

    def give_up(self, error: BaseException) -> Published | None:
        """Decide the operation; the commit when it turns out to have been published after all."""
        if self._published is not None:
            _log.warning("commit %s is durable, but finishing it failed: %s", self.operation_id, error)
            self._release()
            return self._published
        if not self._armed and not self._effects:
            return None
        try:
            if self._effects and not self._was_aborted(error):
                self._published = self._settle(error)
            if self._published is not None:
                self.hooks.after_publish()
            elif self._given_up_by_others(error):
                return None  # the sidecar stays: it is how a recovery that died halfway is finished by the next one
            self._retire()
        except OmnigraphError as trouble:
            self._release()
            if self._published is None:
                raise RecoveryRequired(self.operation_id, f"it could not be decided ({trouble})") from error
        return self._published

    def _given_up_by_others(self, error: BaseException) -> bool:
        """Whether a recovery takes this process for dead; it owes history a commit and the audit a row.

        One that has read the intent while it was out of date may not have begun by now.
        """
        if self._heartbeat is not None and self._heartbeat.lapsed():
            return True
        if not self._was_aborted(error):
            return False
        try:
            state = manifest.load(self.store.root, self.txn.branch).state
        except BranchNotFound:
            return True
        marker = state.abort_row(self.operation_id)
        begun = self._intent is not None and self._intent.rollback_commit_id in state.lineage
        return begun or (marker is not None and marker.aborted_by == "recovery")

    def _was_aborted(self, error: BaseException) -> bool:
        """Whether an error says that this very operation was given up, and not one to be published together with it."""
        return isinstance(error, OperationAborted) and error.operation_id == self.operation_id

    def _settle(self, error: BaseException) -> Published | None:
        abort = Abort(self.write.writer_kind, "writer", f"{type(error).__name__}: {error}")
        if fence.settle(self.store, self.txn.branch, self.operation_id, abort) == "aborted":
            return None
        state = manifest.load(self.store.root, self.txn.branch).state
        commit = state.lineage.get(self.operation_id if self._intent is None else self._intent.commit_id)
        return None if commit is None else Published(commit, state)

    def _release(self) -> None:
        self._stop_heartbeat()
        if self._armed and self._intent is not None:
            with suppress(OmnigraphError):
                sidecar.renew(self.store.objects, sidecar.with_lease(self._intent, self._intent.lease.released()))

    def _recover(self, operation_id: str) -> None:
        recovery.recover(self.store, operation_id, gated=False)


def _rooted(table: PlannedTable) -> TableHandle:
    """The lineage that a table's first step is staged on, made now that the intent is durable."""
    step = table.steps[0]
    if isinstance(step, Create) and step.seed is not None:
        return plant(table.address, step.seed)
    return create_fork(table.plan, table.address)
