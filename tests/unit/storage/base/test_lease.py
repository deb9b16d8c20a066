"""Leases: expiry by age, by release and by a dead owner; heartbeats that start late and stop for good."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from omnigraph.errors import StorageError
from omnigraph.ids import now_micros
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.lease import Heartbeat, Lease, expired, fresh_lease, is_own, process_owner


def test_a_fresh_lease_is_own_and_live() -> None:
    lease = fresh_lease(30_000)
    assert is_own(lease)
    assert not expired(lease, skew_ms=0)


def test_a_lease_expires_only_after_ttl_and_skew() -> None:
    lease = Lease("elsewhere/1/x", 0, now_micros() - 2_000_000, 1_000)
    assert expired(lease, skew_ms=500)
    assert not expired(lease, skew_ms=5_000)


def test_a_released_lease_is_expired_at_once_despite_the_skew() -> None:
    assert expired(fresh_lease(30_000).released(), skew_ms=10_000)


def test_renewal_counts_up_and_keeps_the_owner() -> None:
    lease = fresh_lease(30_000)
    assert lease.renewed().heartbeat_seq == 1
    assert lease.renewed().owner == lease.owner


def test_a_dead_process_of_this_host_does_not_hold_its_lease() -> None:
    child = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    )
    host = process_owner().split("/", maxsplit=1)[0]
    lease = replace(fresh_lease(30_000), owner=f"{host}/{child.stdout.strip()}/x")
    assert expired(lease, skew_ms=10_000)


def test_a_killed_child_that_nobody_reaped_does_not_hold_its_lease() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    host = process_owner().split("/", maxsplit=1)[0]
    lease = replace(fresh_lease(30_000), owner=f"{host}/{child.pid}/x")
    assert not expired(lease, skew_ms=0)
    child.kill()
    deadline = time.monotonic() + 120
    while not expired(lease, skew_ms=0) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert expired(lease, skew_ms=0)
    child.wait()


def test_our_own_pid_under_another_uuid_is_a_dead_predecessor() -> None:
    host, pid, _ = process_owner().split("/")
    assert expired(replace(fresh_lease(30_000), owner=f"{host}/{pid}/old"), skew_ms=10_000)


def test_an_unknown_host_is_judged_by_age_alone() -> None:
    assert not expired(replace(fresh_lease(30_000), owner="elsewhere/999999/x"), skew_ms=0)


def overdue(beat: Callable[[], None]) -> Heartbeat:
    """A heartbeat whose first renewal is due, with most of its claim left."""
    return Heartbeat(beat, ttl_ms=60_000, since=time.monotonic() - 20)


def test_a_lasting_attempt_is_renewed_in_the_background_until_stopped() -> None:
    beaten, beats = threading.Semaphore(0), list[float]()

    def beat() -> None:
        beats.append(time.monotonic())
        beaten.release()

    heartbeat = overdue(beat)
    before = heartbeat.renewed_at
    heartbeat.start()
    assert beaten.acquire(timeout=300)
    heartbeat.stop()
    assert before < heartbeat.renewed_at < heartbeat.due
    assert len(beats) == 1
    heartbeat.beat()
    assert len(beats) == 1


def test_a_short_attempt_never_beats() -> None:
    beats: list[int] = []
    heartbeat = Heartbeat(lambda: beats.append(1), ttl_ms=60_000).start()
    heartbeat.stop()
    assert beats == []


def test_a_lapsed_claim_is_not_renewed_behind_the_back_of_its_successor() -> None:
    beats: list[int] = []
    heartbeat = Heartbeat(lambda: beats.append(1), ttl_ms=20)
    time.sleep(0.05)
    assert heartbeat.lapsed()
    heartbeat.beat()
    assert beats == []


def test_a_failing_heartbeat_lets_the_claim_grow_older_without_harm() -> None:
    tried = threading.Event()

    def fail() -> None:
        tried.set()
        raise StorageError("gone")

    with failpoints.armed({"lease.heartbeat": fail}):
        heartbeat = overdue(lambda: None)
        before = heartbeat.renewed_at
        heartbeat.start()
        assert tried.wait(60)
        heartbeat.stop()
    assert heartbeat.renewed_at == before


def test_a_claim_counts_from_when_it_was_made_out() -> None:
    ttl = 60
    assert not Heartbeat(lambda: None, ttl_ms=ttl * 1_000, since=time.monotonic()).lapsed()
    assert Heartbeat(lambda: None, ttl_ms=ttl * 1_000, since=time.monotonic() - ttl - 1).lapsed()
