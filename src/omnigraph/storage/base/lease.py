"""Leases: who works on an operation, and whether others still have to wait for it.

A lease decides only how long others wait. Taking one for expired by mistake aborts a live writer, which learns it
when it publishes; no safety argument rests on a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from omnigraph import host
from omnigraph.ids import now_micros
from omnigraph.storage.base import failpoints


@dataclass(frozen=True, slots=True)
class Lease:
    """One owner's claim, renewed by counting `heartbeat_seq` up."""

    owner: str
    heartbeat_seq: int
    heartbeat_at: int
    ttl_ms: int

    def renewed(self) -> Lease:
        """The same claim, one heartbeat later."""
        return replace(self, heartbeat_seq=self.heartbeat_seq + 1, heartbeat_at=now_micros())

    def released(self) -> Lease:
        """The claim given up: no process needs to wait for it."""
        return replace(self, heartbeat_seq=self.heartbeat_seq + 1, heartbeat_at=now_micros(), ttl_ms=0)


def fresh_lease(ttl_ms: int) -> Lease:
    """A new claim of this process."""
    return Lease(owner=process_owner(), heartbeat_seq=0, heartbeat_at=now_micros(), ttl_ms=ttl_ms)


def expired(lease: Lease, *, skew_ms: int) -> bool:
    """Whether no process has to wait for this claim any more."""
    if lease.ttl_ms == 0 or is_dead(lease.owner):
        return True
    return now_micros() - lease.heartbeat_at > (lease.ttl_ms + skew_ms) * 1_000


def held(lease: Lease, operation_id: str, *, skew_ms: int) -> bool:
    """Whether somebody may be at work under this claim; a claim of this process counts only while it is active."""
    if is_own(lease):
        return is_active(operation_id)
    return not expired(lease, skew_ms=skew_ms)


def is_active(operation_id: str) -> bool:
    """Whether this process works on an operation right now."""
    return operation_id in host.current().active


@contextmanager
def active(operation_id: str) -> Iterator[None]:
    """Mark an operation as worked on by this process; outside the (outermost) block its claims count as abandoned."""
    known = host.current().active
    nested = operation_id in known
    known.add(operation_id)
    try:
        yield
    finally:
        if not nested:
            known.discard(operation_id)


def is_own(lease: Lease) -> bool:
    """Whether this very process holds the claim."""
    return lease.owner == process_owner()


def process_owner() -> str:
    """`host/pid/uuid` of this process; a fork gets its own."""
    return host.current().owner()


def is_dead(owner: str) -> bool:
    """Whether the owner was a process of this machine that does not run any more."""
    return host.current().is_dead(owner)


class Heartbeat:
    """One running claim: renewed in the background while held, checked by its owner before each effect."""

    __slots__ = ("_beat", "_lock", "_period", "_ttl", "due", "renewed_at", "stopped")

    def __init__(self, beat: Callable[[], None], *, ttl_ms: int, since: float | None = None) -> None:
        self._beat = beat
        self._ttl = ttl_ms / 1_000
        self._period = self._ttl / 3
        self._lock = host.current().lock()
        self.stopped = False
        # Others count from when the claim was made out, which may be long before it could be written.
        self.renewed_at = host.monotonic() if since is None else since
        self.due = self.renewed_at + self._period

    def lapsed(self) -> bool:
        """Whether others may already have taken this operation over."""
        return host.monotonic() - self.renewed_at > self._ttl

    def start(self) -> Heartbeat:
        """Begin to be renewed; costs nothing for attempts shorter than a third of the ttl."""
        host.current().start(self)
        return self

    def stop(self) -> None:
        """End renewal; when this returns no renewal is in flight, so the file can be deleted for good.

        Its owner is let go: the two refer to each other, and the rows of a commit would wait for the garbage collector.
        """
        host.current().stop(self)
        with self._lock:
            self.stopped, self._beat = True, _nothing

    def beat(self) -> None:
        """Renew once; a failure only lets the claim grow older."""
        with self._lock:
            started = host.monotonic()
            self.due = started + self._period
            if self.stopped or self.lapsed():
                return
            failpoints.hit("lease.heartbeat")
            self._beat()
            self.renewed_at = started


def _nothing() -> None:
    """What is left of a heartbeat that was stopped."""
