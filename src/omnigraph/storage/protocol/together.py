"""Publishing together: the writer whose turn it is takes along prepared writes that wait for theirs.

The conditional insert into the manifest is half of a commit, and one of it can publish several. Each of them is an
operation of its own, with an intent, an exact slot in each of its tables and a decision row; only the version of
the manifest is shared. Its intent names the commit before it as the head that it is published on. A process that finds
the intents of a writer that died finishes them one after the other, and without the one before none can be published.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from omnigraph.errors import OmnigraphError, ReadSetChanged, RecoveryRequired
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.base.gates import TableRef
from omnigraph.storage.base.layout import Address
from omnigraph.storage.base.store import Store
from omnigraph.storage.base.turns import Turn, Waiter
from omnigraph.storage.intent.capture import Txn, token_of
from omnigraph.storage.intent.publication import Publication, Published
from omnigraph.storage.intent.writeset import WriteSet
from omnigraph.storage.lance.tables import TableHandle
from omnigraph.storage.manifest.manifest import Loaded, ManifestState
from omnigraph.storage.protocol import fold
from omnigraph.storage.protocol.attempt import Attempt, Hooks
from omnigraph.storage.protocol.drafts import Drafts
from omnigraph.storage.protocol.publish import Step, publish_together, step_of
from omnigraph.storage.protocol.rebase import interference

_JOINING = ("Mutation", "Load")


@dataclass(slots=True)
class Offer:
    """A prepared write that waits for its turn, and what became of it in the turn of another.

    The receiver of the outcome closes `after`. Without an error and without a publication it had no effect.
    """

    store: Store
    txn: Txn
    write: WriteSet
    drafts: Drafts
    after: ExitStack = field(default_factory=ExitStack)
    operation_id: str | None = None
    published: Published | None = None
    error: OmnigraphError | None = None

    @property
    def refs(self) -> list[TableRef]:
        """The tables to be held while it is carried out."""
        return [(table.table_key, self.txn.branch) for table in self.write.tables]


def is_plain(write: WriteSet, drafts: Drafts) -> bool:
    """Whether a write changes rows of its branch's own tables and nothing else, with its data files written ahead."""
    plain = write.delta.is_empty and not write.lineage_only and write.replayed is None and write.merged_parent is None
    return plain and write.writer_kind in _JOINING and all(table.table_key in drafts for table in write.tables)


def run(leader: Attempt, after: ExitStack, turn: Turn[Offer] | None = None) -> Published | None:
    """Publish an attempt, or raise with its operation decided; None when no step would change anything.

    With the turn, writes that wait for it are published by the same version where they can be; whatever happens, each
    of them is served or given back.
    """
    company = _Company(leader, turn)
    try:
        publication = leader.carry_out(after)
        if publication is None:
            return None
        company.gather(publication)
        published = leader.conclude(company.publish(publication), after)
    except BaseException as error:
        company.fail(error)
        landed = leader.give_up(error)
        if landed is None or not isinstance(error, Exception):
            raise
        return landed
    else:
        company.answer()  # before folding: they prepare their next writes meanwhile
        company.fold(published)  # in turn: beside the next writer's commit it would make that fail and start again
        return published
    finally:
        company.dismiss()


@dataclass(slots=True)
class _Member:
    """A write that was taken along; `error` is why it could not be carried out."""

    waiter: Waiter[Offer]
    offer: Offer
    attempt: Attempt
    publication: Publication | None = None
    published: Published | None = None
    error: BaseException | None = None


class _Company:
    """Those who are published together with the leader, from taking them to telling each what became of it."""

    def __init__(self, leader: Attempt, turn: Turn[Offer] | None) -> None:
        self._leader = leader
        self._turn = turn
        self._taken: list[Waiter[Offer]] = []
        self._members: list[_Member] = []
        self._steps: list[Step] = []  # the leader's and the members' that were carried out, once there are any
        self._answered = 0
        self._held = ExitStack()

    def gather(self, publication: Publication) -> None:
        """Carry out the waiting writes that the leader's leaves as they are, each on the state before it.

        Writes whose preparation ends meanwhile come along: the next ones who wait are taken until there are none.
        """
        turn, store = self._turn, self._leader.store
        held = {(table.table_key, self._leader.txn.branch) for table in self._leader.write.tables}
        while turn is not None and (taken := turn.take(store.settings.commits_together - 1 - len(self._taken))):
            self._taken += taken
            hit("together.taken")
            if not self._steps:
                self._follow(self._leader.captured.state, publication)
            for waiter in taken:
                state = self._steps[-1].state
                offer = waiter.work
                if offer is None or interference(store, offer.write.footprint(), offer.txn.state, state) is not None:
                    continue  # it is computed again, in its own turn
                more = [ref for ref in offer.refs if ref not in held]
                if not self._held.enter_context(store.gates.more_tables(more)):
                    continue
                held.update(more)
                member = self._carry_out(waiter, offer, state, publication)
                if member.publication is not None:
                    publication = member.publication
                    self._follow(state, publication)
                elif member.attempt.has_effects:
                    return  # what it has done to its tables is settled after the others were published

    def publish(self, publication: Publication) -> Published:
        """Publish the commits of all members in one version; returns the leader's."""
        joined = [member for member in self._members if member.publication is not None]
        for member in joined:
            member.attempt.check_lease()
        if joined:
            hit("together.pre_publish")
        publications = [publication, *(member.publication for member in joined if member.publication is not None)]
        first, *others = publish_together(self._leader.store, publications, self._leader.captured, self._steps)
        for member, published in zip(joined, others, strict=True):
            member.published = published
        return first

    def fold(self, published: Published) -> None:
        """Fold and trim what these commits left behind."""
        attempts = [self._leader, *(member.attempt for member in self._members if member.published is not None)]
        written = [handle for attempt in attempts for handle in attempt.handles]
        fold.after_commit(self._leader.store, published, written, {attempt.operation_id for attempt in attempts})

    def fail(self, error: BaseException) -> None:
        """No publication of a member is known to have happened."""
        for member in self._members:
            member.published, member.error = None, member.error or error

    def answer(self) -> None:
        """Tell each member its outcome, once; one that was taken in vain goes back to the front of the queue."""
        if self._turn is None:
            return
        try:
            while self._answered < len(self._members):
                self._answered += 1
                self._serve(self._turn, self._members[self._answered - 1])
        finally:
            self._turn.give_back(self._taken)

    def dismiss(self) -> None:
        """Release the members' tables, and those of them who were not answered."""
        self._held.close()
        self.answer()

    def _follow(self, state: ManifestState, publication: Publication) -> None:
        """Work out the state that a commit will leave, by the rows that publish it."""
        version = self._leader.captured.state.version + 1
        self._steps.append(step_of(self._leader.store, state, publication, version))

    def _left(self) -> dict[Address, TableHandle]:
        """The newest version of each table that these writes have committed."""
        attempts = [self._leader, *(member.attempt for member in self._members)]
        return {handle.address: handle for attempt in attempts for handle in attempt.handles}

    def _carry_out(self, waiter: Waiter[Offer], offer: Offer, state: ManifestState, behind: Publication) -> _Member:
        loaded = Loaded(self._leader.captured.handle, state)
        txn = replace(offer.txn, token=token_of(state), loaded=loaded)
        attempt = Attempt(offer.store, txn, offer.write, Hooks(), drafts=offer.drafts, behind=behind, left=self._left())
        member = _Member(waiter, offer, attempt)
        self._members.append(member)
        offer.operation_id = attempt.operation_id
        try:
            hit("together.pre_member")
            member.publication = attempt.carry_out(offer.after)
            hit("together.post_member")
        except Exception as error:
            member.error = error
        except BaseException as error:
            member.error = error
            raise
        return member

    def _serve(self, turn: Turn[Offer], member: _Member) -> None:
        offer, attempt = member.offer, member.attempt
        offer.error = RecoveryRequired(attempt.operation_id, "the writer that published it was interrupted")
        try:
            offer.published, offer.error = self._outcome(member)
        finally:
            if not turn.serve(member.waiter):
                offer.after.close()  # no caller waits for the outcome

    def _outcome(self, member: _Member) -> tuple[Published | None, OmnigraphError | None]:
        attempt, error = member.attempt, member.error
        if error is None and member.publication is None:
            return None, None
        try:
            if member.published is not None:
                return attempt.conclude(member.published, member.offer.after), None
        except OmnigraphError as lapsed:
            error = lapsed
        assert error is not None, "a member is published, or there is a reason why it is not"
        try:
            landed = attempt.give_up(error)
        except OmnigraphError as trouble:
            return None, trouble
        if landed is not None:
            return landed, None
        if isinstance(error, OmnigraphError):
            return None, error
        # Whatever befell the leader, the operation is settled: it may be attempted again.
        return None, ReadSetChanged(f"operation:{attempt.operation_id}", expected="published", actual="aborted")
