"""Leases: who works on an operation, and whether others still have to wait for it.

A lease decides only how long others wait. Taking one for expired by mistake aborts a live writer, which learns it
when it publishes; no safety argument rests on a clock.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

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
        return operation_id in _active
    return not expired(lease, skew_ms=skew_ms)


@contextmanager
def active(operation_id: str) -> Iterator[None]:
    """Mark an operation as worked on by this process; outside the (outermost) block its claims count as abandoned."""
    nested = operation_id in _active
    _active.add(operation_id)
    try:
        yield
    finally:
        if not nested:
            _active.discard(operation_id)


_active: set[str] = set()


def is_own(lease: Lease) -> bool:
    """Whether this very process holds the claim."""
    return lease.owner == process_owner()


def process_owner() -> str:
    """`host/pid/uuid` of this process; a fork gets its own."""
    return f"{_host()}/{os.getpid()}/{_process_uuid(os.getpid())}"


@cache
def _process_uuid(_pid: int) -> str:
    return uuid.uuid4().hex


@cache
def _host() -> str:
    """A name for "the machine where a pid means the same process": containers share neither pids nor this name."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:8]
        namespace = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        return socket.gethostname().replace("/", "_")
    return f"{socket.gethostname().replace('/', '_')}-{boot}-{namespace}"


def is_dead(owner: str) -> bool:
    """Whether the owner was a process of this machine that does not run any more."""
    host, _, rest = owner.partition("/")
    pid, _, _ = rest.partition("/")
    if host != _host() or not pid.isdigit():
        return False
    if int(pid) == os.getpid():
        return owner != process_owner()
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return _is_zombie(int(pid))


def _is_zombie(pid: int) -> bool:
    """A killed child that its parent has not reaped still answers signal 0."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return False


class Heartbeat:
    """One running claim: renewed in the background while held, checked by its owner before each effect."""

    __slots__ = ("_beat", "_lock", "_period", "_ttl", "due", "renewed_at", "stopped")

    def __init__(self, beat: Callable[[], None], *, ttl_ms: int, since: float | None = None) -> None:
        self._beat = beat
        self._ttl = ttl_ms / 1_000
        self._period = self._ttl / 3
        self._lock = threading.Lock()
        self.stopped = False
        # Others count from when the claim was made out, which may be long before it could be written.
        self.renewed_at = time.monotonic() if since is None else since
        self.due = self.renewed_at + self._period

    def lapsed(self) -> bool:
        """Whether others may already have taken this operation over."""
        return time.monotonic() - self.renewed_at > self._ttl

    def start(self) -> Heartbeat:
        """Begin to be renewed; costs nothing for attempts shorter than a third of the ttl."""
        _renewer.add(self)
        return self

    def stop(self) -> None:
        """End renewal; when this returns no renewal is in flight, so the file can be deleted for good."""
        _renewer.remove(self)
        with self._lock:
            self.stopped = True

    def beat(self) -> None:
        """Renew once; a failure only lets the claim grow older."""
        with self._lock:
            started = time.monotonic()
            self.due = started + self._period
            if self.stopped or self.lapsed():
                return
            failpoints.hit("lease.heartbeat")
            self._beat()
            self.renewed_at = started


class _Renewer:
    """The one thread of a process that renews every lasting claim."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._beats: set[Heartbeat] = set()
        self._thread: threading.Thread | None = None
        self._pid = 0

    def add(self, heartbeat: Heartbeat) -> None:
        with self._condition:
            self._beats.add(heartbeat)
            if self._thread is None or not self._thread.is_alive() or self._pid != os.getpid():
                self._pid = os.getpid()
                self._thread = threading.Thread(target=self._run, name="omnigraph-heartbeats", daemon=True)
                self._thread.start()
            self._condition.notify()

    def remove(self, heartbeat: Heartbeat) -> None:
        with self._condition:
            self._beats.discard(heartbeat)

    def _run(self) -> None:
        while True:
            for heartbeat in self._next_due():
                with suppress(Exception):  # an unrenewed lease is the designed consequence
                    heartbeat.beat()

    def _next_due(self) -> list[Heartbeat]:
        with self._condition:
            self._condition.wait_for(lambda: bool(self._beats))
            now = time.monotonic()
            due = [beat for beat in self._beats if beat.due <= now]
            if not due:
                self._condition.wait(min(beat.due for beat in self._beats) - now)
            return due


_renewer = _Renewer()
