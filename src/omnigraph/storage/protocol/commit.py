"""The commit protocol: every write, whatever its source, becomes visible through one attempt lifecycle.

Heal, capture, prepare and draft ahead of the turn; then, in turn: rebase or prepare again, stage, arm, effects,
publish; and after the turn was handed over, retire. What waits for its turn may be published in that of another.
Until the sidecar is armed nothing durable has happened but unreferenced data files; from then on an interrupted attempt
is finished or undone by the next writer.

A write means what it would mean had it been started after everything that was published before it. So one whose branch
moved is computed again on the new head, unless what it read and writes proves that nothing in between can affect it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from omnigraph import host
from omnigraph.errors import (
    BranchBusy,
    HistoricalVersionReclaimed,
    OmnigraphError,
    OperationAborted,
    ReadSetChanged,
    RecoveryRequired,
    Retry,
    StorageError,
)
from omnigraph.settings import Settings
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.base.store import Store
from omnigraph.storage.base.turns import Turn, Waiter
from omnigraph.storage.intent.capture import Txn, capture, require_token, token_of
from omnigraph.storage.intent.writeset import WriteSet
from omnigraph.storage.lance.refs import Identifier
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.manifest import ManifestState, load, refresh
from omnigraph.storage.protocol import together
from omnigraph.storage.protocol.attempt import Attempt, Hooks
from omnigraph.storage.protocol.budget import Budget
from omnigraph.storage.protocol.drafts import Drafts, draw_up
from omnigraph.storage.protocol.rebase import Interference, change_behind, interference
from omnigraph.storage.protocol.tickets import Interest, Place, heal, queued
from omnigraph.storage.protocol.together import Offer, is_plain

Prepare = Callable[[Txn], WriteSet | None]
"""Reads from one captured state and says what to write; called again from fresh state when the head has moved."""

# What takes longer than this to compute is computed outside the turn again when the head has moved, so that short
# writes pass it; after so many losses it keeps the turn, so that it lands. On an object store every step takes round
# trips, those of the commit as well: six processes that update one row computed each update two to four times.
_SHORT_SECONDS = 0.25
_SHORT_SECONDS_REMOTE = 2.0
_LONG_LOSSES = 2
_NO_HOOKS = Hooks()


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
    budget: Budget | None = None,
) -> Committed:
    """Prepare a write on the newest state of a branch and make all of it visible at once, or nothing.

    It is computed again when others were published first, until it lands or the budget is spent; then ReadSetChanged
    says who changed what. `expected_head` turns every movement into PreconditionFailed.
    """
    write = Write(store, branch, prepare, expected_head=expected_head, hooks=hooks, budget=budget)
    while True:
        write.begin()
        write.join()
        done = write.finish()
        if done is not None:
            if store.forget is not None and not write.hooks.gated and _has_come_far(done, store.settings):
                store.forget()
            return done


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A write worked out on one captured state, with the data files that could be written ahead."""

    txn: Txn
    write: WriteSet | None
    drafts: Drafts = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def has_effect(self) -> bool:
        return self.write is not None and self.write.has_effect


@dataclass(frozen=True, slots=True)
class _Begun:
    """An attempt with a place in the queue; without one its caller holds the turn, or it has no effect."""

    prepared: _Prepared | None
    turn: Turn[Offer] | None = None
    waiter: Waiter[Offer] | None = None


class Write:
    """One call of `commit`: its attempts and what the failed ones have taught it.

    Each attempt is begun ahead of the turn, gets a place in the queue for it, and is finished, which waits for it.
    """

    def __init__(
        self,
        store: Store,
        branch: str | None,
        prepare: Prepare,
        *,
        expected_head: str | None = None,
        hooks: Hooks | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.store = store
        self.branch = branch
        self.prepare = prepare
        self.expected_head = expected_head
        self.hooks = hooks or Hooks()
        self.spent = (budget or Budget.of(store.settings)).begin()
        self.failure: OmnigraphError | None = None
        self.losses = 0
        self.contended = False
        self._identifier: Identifier | None = None
        self._met: tuple[Interference, ManifestState] | None = None
        self._kept: _Prepared | None = None  # what a step back for an earlier writer has left intact
        self._begun: _Begun | None = None

    def begin(self) -> None:
        """Prepare ahead of the turn; what has lost before may leave that to the turn."""
        prepared = self._kept or (None if self._keeps_turn() else self._ahead_of_turn())
        self._kept, self._begun = None, _Begun(prepared)

    def join(self) -> None:
        """Get in the queue for the turn, with the prepared write as an offer to those ahead."""
        begun = self._begun
        assert begun is not None, "an attempt is begun before it gets a place"
        if self.hooks.gated or (begun.prepared is not None and not begun.prepared.has_effect):
            return
        hit("commit.pre_turn")
        turn = self.store.gates.turn(self.branch)
        self._begun = replace(begun, turn=turn, waiter=turn.join(self._offer(begun.prepared)))

    def finish(self) -> Committed | None:
        """Wait for the turn and make one attempt in it, unless others publish it in theirs; None asks for another."""
        begun, self._begun = self._begun, None
        assert begun is not None, "an attempt is begun before it is finished"
        prepared = begun.prepared
        if prepared is not None and not prepared.has_effect:
            return self._no_effect(prepared.txn)
        with ExitStack() as after:
            with ExitStack() as held:
                if not self._got_turn(begun, held):
                    return self._served(begun)
                done = self._in_turn(prepared, self._place(held), begun.turn, after)
            if done is not None:
                hit("commit.hand_over")
            return done

    # --- ahead of the turn -----------------------------------------------------------------------

    def _ahead_of_turn(self) -> _Prepared | None:
        self.contended |= heal(self.store, self._interest(), gated=not self.hooks.gated)
        if self.contended and self.failure is None and self.store.gates.expects_loss(self.branch):
            return None  # writers of other processes change what is read here, so it is computed once, in the turn
        prepared = self._compute()
        if prepared is not None:
            hit("mutation.post_stage_pre_gate")
        return prepared

    def _compute(self) -> _Prepared | None:
        """The write on the newest state; None when that state was overtaken while it was being read."""
        if not self.spent.may_compute:
            raise self._refusal()
        if self.spent.attempts:
            hit("commit.pre_reprepare")
        self.spent.attempts += 1
        started = host.monotonic()
        txn = self._capture()
        try:
            write = self.prepare(txn)
            drafts = draw_up(self.store, txn, write) if write is not None and write.has_effect else {}
        except (HistoricalVersionReclaimed, StorageError) as error:
            self.failure = self._overtaken(txn, error)
            return None
        return _Prepared(txn, write, drafts, host.monotonic() - started)

    def _capture(self) -> Txn:
        own = self.hooks.operation_id
        txn = capture(self.store, self.branch, expected_head=self.expected_head, control_operation=own)
        if self._identifier is None:
            self._identifier = txn.token.branch_identifier
        elif self._identifier != txn.token.branch_identifier:
            # Another branch has the name now; what was meant for the former one is not for it.
            member = f"branch_identifier:{self.branch or 'main'}"
            raise ReadSetChanged(member, expected=self._identifier, actual=txn.token.branch_identifier)
        return txn

    def _interest(self) -> Interest:
        awaited = self.failure.operation_id if isinstance(self.failure, RecoveryRequired) else None
        return Interest(self.branch, awaited=awaited)

    def _is_short(self, prepared: _Prepared) -> bool:
        return prepared.seconds <= (_SHORT_SECONDS if self.store.root.is_local else _SHORT_SECONDS_REMOTE)

    def _keeps_turn(self) -> bool:
        """Whether to compute within the turn: a short write that has lost once, or a long one that has lost often."""
        return self.failure is not None and self.losses > _LONG_LOSSES

    # --- in turn ---------------------------------------------------------------------------------

    def _got_turn(self, begun: _Begun, held: ExitStack) -> bool:
        """Wait for the turn among the writers of this process; False when another one has done the work in its own."""
        if begun.turn is None or begun.waiter is None:
            return True  # the caller holds it
        state = begun.turn.wait(begun.waiter, self.spent.left)
        if state == "left":
            raise self._refusal()
        if state == "turn":
            held.callback(begun.turn.release)
        return state == "turn"

    def _place(self, held: ExitStack) -> Place | None:
        """Where others are at work, the turn among all processes too."""
        if not self.contended and self.failure is None:
            return None
        place = held.enter_context(queued(self.store, self._interest()))
        place.wait(self.spent.deadline)
        return place

    def _offer(self, prepared: _Prepared | None) -> Offer | None:
        """The write for others to publish in their turn; None where it needs one of its own."""
        alone = self.failure is not None or self.expected_head is not None
        if prepared is None or prepared.write is None or alone or not self._may_share(prepared):
            return None
        return Offer(self.store, prepared.txn, prepared.write, prepared.drafts)

    def _may_share(self, prepared: _Prepared) -> bool:
        assert prepared.write is not None
        return self.hooks == _NO_HOOKS and is_plain(prepared.write, prepared.drafts)

    def _served(self, begun: _Begun) -> Committed | None:
        """What became of the write in the turn of another."""
        offer = None if begun.waiter is None else begun.waiter.work
        assert offer is not None, "only what was offered is served"
        assert begun.prepared is not None, "only what was prepared is offered"
        with offer.after:
            if offer.error is not None:
                self._lost(offer.error, begun.prepared, offer.operation_id)
                return None
            if offer.published is None:
                return self._no_effect(begun.prepared.txn)
            hit("commit.hand_over")
            return Committed(offer.published.commit, offer.published.state)

    def _in_turn(
        self, prepared: _Prepared | None, place: Place | None, turn: Turn[Offer] | None, after: ExitStack
    ) -> Committed | None:
        """One attempt; None asks for another one. What may wait until the turn is handed over goes to `after`."""
        current = self._compute() if prepared is None else self._current(prepared)
        if current is None:
            return None
        if not current.has_effect:
            return self._no_effect(current.txn)
        assert current.write is not None
        refs = [(table.table_key, self.branch) for table in current.write.tables]
        with self.store.gates.tables(refs, exclusive_schema=current.write.delta.target_schema is not None):
            ticket = None if place is None else place.ticket.ticket_id
            return self._attempt(current, ticket, turn if self._may_share(current) else None, after)

    def _current(self, prepared: _Prepared) -> _Prepared | None:
        """The prepared write on the state as it is now: the same, rebased or computed again; None: compute outside."""
        loaded = refresh(prepared.txn.loaded)
        if token_of(loaded.state) == prepared.txn.token:
            return replace(prepared, txn=replace(prepared.txn, loaded=loaded))
        txn = self._capture()
        assert prepared.write is not None
        then, footprint = prepared.txn.state, prepared.write.footprint()
        found = interference(self.store, footprint, then, txn.state)
        if found is None:
            hit("commit.pre_rebase")
            return replace(prepared, txn=txn)
        self._met, self.losses = (found, txn.state), self.losses + 1
        self.store.gates.note_loss(self.branch)
        self.failure = ReadSetChanged(_head_of(self.branch), expected=then.graph_head, actual=txn.state.graph_head)
        if not self._is_short(prepared) and self.losses <= _LONG_LOSSES:
            return None
        return self._compute()

    def _attempt(
        self, current: _Prepared, ticket: str | None, turn: Turn[Offer] | None, after: ExitStack
    ) -> Committed | None:
        txn, write = current.txn, current.write
        assert write is not None
        attempt = Attempt(self.store, txn, write, self.hooks, drafts=current.drafts, ticket=ticket)
        try:
            published = together.run(attempt, after, turn)
            return Committed(None, txn.state) if published is None else Committed(published.commit, published.state)
        except OmnigraphError as error:
            self._lost(error, current, attempt.operation_id, stepped_back=attempt.stepped_back)
            return None

    def _lost(
        self, error: OmnigraphError, current: _Prepared, operation_id: str | None, *, stepped_back: bool = False
    ) -> None:
        """Learn from an attempt that failed, with its operation decided; raises where no other may follow."""
        if isinstance(error, OperationAborted):
            # Another process took this attempt for dead; that is the same as having lost a race.
            self.failure = ReadSetChanged(f"operation:{error.operation_id}", expected="open", actual="aborted")
        elif isinstance(error, Retry):
            self.failure, self._kept = error, current if stepped_back else None
        elif isinstance(error, HistoricalVersionReclaimed | StorageError):
            self.failure = self._overtaken(current.txn, error)
        elif isinstance(error, RecoveryRequired) and error.operation_id != operation_id:
            self.failure, self._kept = error, current if stepped_back else None
        else:
            # An attempt that could not be decided may yet be published by its recovery: a second one would repeat it.
            raise error
        if self.hooks.operation_id is not None and not stepped_back:
            # A control operation has one id, and an id is decided once: it may be computed again, but not attempted.
            raise self._refusal()
        self.losses = max(self.losses, _LONG_LOSSES) + 1 if self._is_short(current) else self.losses + 1

    # --- endings ---------------------------------------------------------------------------------

    def _overtaken(self, txn: Txn, error: HistoricalVersionReclaimed | StorageError) -> ReadSetChanged:
        """The movement that made a file disappear, as a cleanup does once the branch has left the captured state."""
        if isinstance(error, HistoricalVersionReclaimed) or error.kind in ("NotFound", "Precondition"):
            try:
                require_token(load(self.store.root, self.branch).state, txn.token)
            except ReadSetChanged as moved:
                return moved
        raise error

    def _no_effect(self, txn: Txn) -> Committed:
        hit("mutation.post_no_effect_pre_gate")
        if self.expected_head is not None:
            capture(self.store, self.branch, expected_head=self.expected_head)
        return Committed(None, txn.state)

    def _refusal(self) -> OmnigraphError:
        """Why the budget was spent in vain."""
        failure, spent = self.failure, self.spent
        if failure is None:
            ahead = f"other writers of this process were ahead for {spent.elapsed:.1f} s"
            return BranchBusy(self.branch or "main", ahead)
        if not isinstance(failure, ReadSetChanged):
            return failure
        return ReadSetChanged(
            failure.member,
            expected=failure.expected,
            actual=failure.actual,
            change=None if self._met is None else change_behind(self.store, *self._met),
            attempts=spent.attempts,
            seconds=spent.elapsed,
        )


def _has_come_far(done: Committed, settings: Settings) -> bool:
    """Whether a commit is the first of its branch beyond another multiple of so many versions of the manifest."""
    commit, every = done.commit, settings.history_versions
    if commit is None or every < 1:
        return False
    parent = done.state.lineage.get(commit.parent_commit_id or "")
    if parent is None or parent.manifest_branch != commit.manifest_branch:
        return False
    return parent.manifest_version // every < commit.manifest_version // every


def _head_of(branch: str | None) -> str:
    return f"graph_head:{branch or 'main'}"
