"""The queue of processes that write to one branch: tickets beside the sidecars, served in the order of their ids.

A writer that finds a live one of another process in its way leaves a ticket and goes on when every earlier ticket and
every live sidecar of the branch are gone. A waiting process looks only at the file of the one ahead of it: when that is
deleted, or its lease ends, the next one moves up. Tickets decide who waits for whom and nothing else; one that is lost,
ignored or taken for dead by mistake costs a writer an attempt. So nothing is recovered from them: an expired one is
deleted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

from omnigraph import host
from omnigraph.errors import BranchBusy, OmnigraphError, RecoveryRequired, Retry
from omnigraph.ids import new_ulid, ulid_after
from omnigraph.storage.base import lease
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.base.layout import RECOVERY_DIR
from omnigraph.storage.base.lease import Heartbeat, Lease, fresh_lease
from omnigraph.storage.base.objects import Objects
from omnigraph.storage.base.store import Store
from omnigraph.storage.base.waiting import looks
from omnigraph.storage.branches import private_branches
from omnigraph.storage.intent import sidecar
from omnigraph.storage.intent.sidecar import Sidecar
from omnigraph.storage.manifest.branch_refs import find_ref
from omnigraph.storage.protocol import recovery

TableAddress = tuple[str, str | None]

_SUFFIX = ".ticket"
# How long a waiter sleeps between two looks at the file ahead of it: a look costs microseconds on a disk, a round
# trip on an object store.
_LOCAL_LOOK = (0.001, 0.008)
_REMOTE_LOOK = (0.015, 0.060)
_MOST_NAMES = 16


@dataclass(frozen=True, slots=True)
class Ticket:
    """One place in the queue of a branch."""

    ticket_id: str
    branch: str | None
    lease: Lease


@dataclass(frozen=True, slots=True)
class Ahead:
    """A writer to wait for: an operation at work (its sidecar's path), or an earlier ticket."""

    path: str
    owner: str
    expires_at: float  # by the clock of leases, in seconds since 1970
    operation_id: str | None = None


@dataclass(frozen=True, slots=True)
class Interest:
    """What a writer would collide on: a branch, lineages of tables, and one operation it was told to wait for."""

    branch: str | None
    lineages: frozenset[TableAddress] = frozenset()
    awaited: str | None = None

    def concerns(self, other: Sidecar) -> bool:
        """Whether an operation is in this writer's way."""
        if other.operation_id == self.awaited or other.branch == self.branch:
            return True
        return any((plan.table_path, plan.table_branch) in self.lineages for plan in other.tables)


@dataclass(slots=True)
class Place:
    """A held place in the queue: its id is what other processes compare theirs with."""

    store: Store
    interest: Interest
    ticket: Ticket

    def wait(self, deadline: float) -> None:
        """Return when no other writer is ahead; raises when the (monotonic) deadline passes before."""
        while (found := first_ahead(self.store, self.interest, self.ticket.ticket_id)) is not None:
            hit("queue.awaiting")
            watch(self.store, found, deadline, self.interest.branch)
        hit("queue.turn_came")


@contextmanager
def queued(store: Store, interest: Interest) -> Iterator[Place]:
    """Hold a place in the queue of a branch for the block."""
    since, ticket = host.monotonic(), _join(store, interest.branch)
    place = Place(store, interest, ticket)
    with lease.active(ticket.ticket_id):
        heartbeat = Heartbeat(lambda: _renew(store, place), ttl_ms=store.settings.lease_ttl_ms, since=since).start()
        try:
            yield place
        finally:
            heartbeat.stop()
            with suppress(OmnigraphError):  # an abandoned ticket expires by itself
                hit("queue.ticket_delete")
                store.objects.delete(_path(ticket.ticket_id))


def first_ahead(store: Store, interest: Interest, key: str | None) -> Ahead | None:
    """The first live writer of another process that has to be waited for; dead ones on the way are resolved.

    Sidecars are in the way whatever their id while a writer only waits (it looks again once it is armed);
    tickets when they are older than `key`, all of them without one.
    """
    return _first_of(store, interest, key, listed(store.objects), gated=False)


def _first_of(store: Store, interest: Interest, key: str | None, names: Listing, *, gated: bool) -> Ahead | None:
    for operation_id in names.operations:
        found = _operation_ahead(store, interest, operation_id, gated=gated)
        if found is not None:
            return found
    return next(_tickets_ahead(store, interest.branch, names.tickets, key), None)


def heal(store: Store, interest: Interest, *, gated: bool = True) -> bool:
    """Resolve every abandoned operation in the way of a write; whether a live writer of another process is left.

    This does not wait: a writer prepares first and waits in its turn. `gated=False` is for callers that hold
    gates already.
    """
    found = listed(store.objects)
    private_branches.discard_abandoned(store, found.transactions)
    return _first_of(store, interest, None, found, gated=gated) is not None


def older(store: Store, mine: Sidecar, key: str | None = None, *, withdraws: bool = True) -> Ahead | None:
    """A live writer of another process that overlaps an armed operation and came first, in the order of the queue.

    `key` is the ticket of the operation, if it has one. One that cannot step back (`withdraws=False`) must not wait for
    tickets: those wait for it.
    """
    lineages = frozenset((plan.table_path, plan.table_branch) for plan in mine.tables)
    interest, place = Interest(mine.branch, lineages), key or mine.operation_id
    names = listed(store.objects)
    for operation_id in names.operations:
        if operation_id >= place:
            break
        if lease.is_active(operation_id):
            continue
        other = sidecar.load(store.objects, operation_id)
        if other is None or sidecar.is_ours(other) or not interest.concerns(other) or _is_former(store, other):
            continue
        if sidecar.is_live(other, skew_ms=store.settings.lease_skew_ms):
            return _at_work(store, other)
    return next(_tickets_ahead(store, mine.branch, names.tickets, place), None) if withdraws else None


def watch(store: Store, ahead: Ahead, deadline: float, branch: str | None) -> None:
    """Return when the one ahead is gone or its lease is over as last seen; raises past the deadline."""
    shortest, longest = _LOCAL_LOOK if store.root.is_local else _REMOTE_LOOK
    until = min(ahead.expires_at, host.wall_time() + store.settings.lease_ttl_ms / 3_000)  # by then it has been renewed
    for more in looks(deadline - host.monotonic(), (shortest, shortest), longest=longest):
        if store.objects.stat(ahead.path) is None or lease.is_dead(ahead.owner):
            return
        if not more:
            raise spent(ahead, branch)
        if host.wall_time() >= until:
            return


class Listing(NamedTuple):
    """Who has left a file: ids of operations, of tickets and of transactions, each oldest first."""

    operations: list[str]
    tickets: list[str]
    transactions: list[str]


def listed(objects: Objects) -> Listing:
    """Everything in the directory of sidecars, by one listing."""
    hit("recovery.sidecar_list")
    names = sorted(objects.list_dir(RECOVERY_DIR))
    return Listing(_ids(names, ".json"), _ids(names, _SUFFIX), _ids(names, private_branches.SUFFIX))


def _ids(names: list[str], suffix: str) -> list[str]:
    return [name.removesuffix(suffix) for name in names if name.endswith(suffix)]


def _operation_ahead(store: Store, interest: Interest, operation_id: str, *, gated: bool) -> Ahead | None:
    if lease.is_active(operation_id):
        return None  # turns and gates order those of this process; each of eight writers would read the intents of all
    other = sidecar.load(store.objects, operation_id)
    if other is None or not interest.concerns(other):
        return None
    if other.operation_id != interest.awaited and _is_former(store, other):
        return None
    if sidecar.is_live(other, skew_ms=store.settings.lease_skew_ms):
        return None if sidecar.is_ours(other) else _at_work(store, other)
    try:
        recovery.recover(store, operation_id, gated=gated)
    except (Retry, RecoveryRequired):
        return _at_work(store, other)  # somebody else is busy with it; look again
    return None


def _is_former(store: Store, other: Sidecar) -> bool:
    """Whether a live operation was meant for a branch that was deleted, and whose name another one has now."""
    if other.branch is None or not sidecar.is_live(other, skew_ms=store.settings.lease_skew_ms):
        return False
    ref = find_ref(store.root, other.branch)
    return ref is not None and ref.identifier != other.authority.branch_identifier


def _tickets_ahead(store: Store, branch: str | None, tickets: list[str], key: str | None) -> Iterator[Ahead]:
    """Live tickets of other processes in the queue of a branch, the last one first: it is the one to follow."""
    for ticket_id in reversed(tickets):
        if key is not None and ticket_id >= key:
            continue
        other = _load(store.objects, ticket_id)
        if other is None or lease.is_own(other.lease):
            continue
        if not lease.held(other.lease, ticket_id, skew_ms=store.settings.lease_skew_ms):
            store.objects.delete(_path(ticket_id))  # of any branch: no other writer comes for those of a deleted one
        elif other.branch == branch:
            yield Ahead(_path(ticket_id), other.lease.owner, _expiry(store, other.lease))


def _at_work(store: Store, other: Sidecar) -> Ahead:
    owner, expires = other.lease.owner, _expiry(store, other.lease)
    return Ahead(sidecar.path(other.operation_id), owner, expires, other.operation_id)


def _expiry(store: Store, found: Lease) -> float:
    return found.heartbeat_at / 1_000_000 + (found.ttl_ms + store.settings.lease_skew_ms) / 1_000


def spent(ahead: Ahead, branch: str | None) -> RecoveryRequired | BranchBusy:
    """What a writer is told that may wait no longer for the one ahead of it."""
    if ahead.operation_id is not None:
        return RecoveryRequired(ahead.operation_id, f"its writer ({ahead.owner}) is still at work")
    return BranchBusy(branch or "main", f"the process {ahead.owner} is ahead in the queue of writers")


def _join(store: Store, branch: str | None) -> Ticket:
    """Leave a ticket that is younger than every one there is, whatever the clocks say."""
    for _ in range(_MOST_NAMES):
        ticket_id = new_ulid()
        tickets = listed(store.objects).tickets
        if tickets and tickets[-1] >= ticket_id:
            ticket_id = ulid_after(tickets[-1])
        ticket = Ticket(ticket_id, branch, fresh_lease(store.settings.lease_ttl_ms))
        hit("queue.ticket_write")
        if store.objects.write_if_absent(_path(ticket_id), _encode(ticket), durable=False):
            return ticket
    raise BranchBusy(branch or "main", "no free name for a ticket was found")


def _renew(store: Store, place: Place) -> None:
    place.ticket = replace(place.ticket, lease=place.ticket.lease.renewed())
    path = _path(place.ticket.ticket_id)
    if store.objects.stat(path) is not None:
        store.objects.write(path, _encode(place.ticket), durable=False)


def _load(objects: Objects, ticket_id: str) -> Ticket | None:
    text = objects.read_if_exists(_path(ticket_id))
    if text is None:
        return None
    try:
        body = json.loads(text)
        return Ticket(ticket_id, body["branch"], Lease(**body["lease"]))
    except (ValueError, KeyError, TypeError):
        objects.delete(_path(ticket_id))  # nothing depends on it, and what cannot be read cannot be waited for
        return None


def _encode(ticket: Ticket) -> str:
    return json.dumps({"ticket_id": ticket.ticket_id, "branch": ticket.branch, "lease": asdict(ticket.lease)})


def _path(ticket_id: str) -> str:
    return f"{RECOVERY_DIR}/{ticket_id}{_SUFFIX}"
