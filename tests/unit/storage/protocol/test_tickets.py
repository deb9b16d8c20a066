"""Tickets: processes that write to one branch go on in the order in which they came, and the dead do not count."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from omnigraph.errors import BranchBusy, RecoveryRequired
from omnigraph.ids import new_ulid, now_micros, ulid_after
from omnigraph.settings import Settings
from omnigraph.storage.base.lease import Lease, active, fresh_lease, process_owner
from omnigraph.storage.base.store import Store
from omnigraph.storage.intent import sidecar
from omnigraph.storage.intent.capture import token_of
from omnigraph.storage.intent.sidecar import Sidecar
from omnigraph.storage.intent.writeset import ManifestDelta
from omnigraph.storage.manifest import manifest
from omnigraph.storage.protocol import tickets
from omnigraph.storage.protocol.tickets import Interest, Ticket, first_ahead, heal, older, queued
from omnigraph.testing.graphs.tiny import create_tiny

ELSEWHERE = "elsewhere/1/x"
MAIN = Interest(None)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return create_tiny(tmp_path / "graph", Settings(lease_ttl_ms=600, lease_skew_ms=0))


def leased(owner: str = ELSEWHERE, *, age_seconds: float = 0.0) -> Lease:
    return Lease(owner, 0, now_micros() - int(age_seconds * 1_000_000), 600)


def leave(store: Store, ticket_id: str, *, branch: str | None = None, lease: Lease | None = None) -> str:
    ticket = Ticket(ticket_id, branch, lease or leased())
    store.objects.write(tickets._path(ticket_id), tickets._encode(ticket))
    return tickets._path(ticket_id)


def armed(store: Store, operation_id: str, *, branch: str | None = None, owner: str = ELSEWHERE) -> Sidecar:
    intent = Sidecar(
        operation_id=operation_id,
        branch=branch,
        actor_id=None,
        writer_kind="Mutation",
        lease=leased(owner),
        authority=token_of(manifest.load(store.root).state),
        rollback_commit_id=new_ulid(),
        merged_parent_commit_id=None,
        created_at=now_micros(),
        tables=(),
        delta=ManifestDelta(),
    )
    sidecar.arm(store.objects, intent)
    return intent


def soon(act: Callable[[], object]) -> threading.Thread:
    thread = threading.Timer(0.05, act)
    thread.start()
    return thread


def test_a_new_ticket_is_younger_than_every_other_whatever_the_clocks_say(store: Store) -> None:
    ahead = ulid_after("7ZZZZZZZZZ" + "0" * 16)  # a clock far in the future
    leave(store, ahead)
    with queued(store, MAIN) as place:
        assert place.ticket.ticket_id > ahead


def test_a_ticket_waits_for_the_one_before_it_and_for_no_later_one(store: Store) -> None:
    path = leave(store, "0" * 26)
    with queued(store, MAIN) as place:
        leave(store, ulid_after(place.ticket.ticket_id))
        found = first_ahead(store, MAIN, place.ticket.ticket_id)
        assert found is not None
        assert found.path == path
        leaving = soon(lambda: store.objects.delete(path))
        place.wait(time.monotonic() + 20)
        leaving.join()


def test_tickets_of_other_branches_are_not_waited_for(store: Store) -> None:
    leave(store, "0" * 26, branch="feature")
    with queued(store, MAIN) as place:
        place.wait(time.monotonic())


def test_an_operation_at_work_is_waited_for_whatever_its_id(store: Store) -> None:
    with queued(store, MAIN) as place:
        later = armed(store, ulid_after(place.ticket.ticket_id))
        with pytest.raises(RecoveryRequired) as caught:
            place.wait(time.monotonic() + 0.02)
        assert caught.value.operation_id == later.operation_id
        assert ELSEWHERE in str(caught.value)


def test_an_earlier_ticket_that_outlasts_the_deadline_is_named(store: Store) -> None:
    leave(store, "0" * 26, lease=replace(leased(), ttl_ms=60_000))
    with queued(store, MAIN) as place, pytest.raises(BranchBusy) as caught:
        place.wait(time.monotonic() + 0.02)
    assert (caught.value.branch, ELSEWHERE in caught.value.reason) == ("main", True)


def test_a_ticket_whose_lease_is_over_is_deleted_and_passed(store: Store) -> None:
    path = leave(store, "0" * 26, lease=leased(age_seconds=0.5))
    with queued(store, MAIN) as place:
        place.wait(time.monotonic() + 20)
    assert store.objects.stat(path) is None


def test_a_ticket_of_a_dead_process_of_this_machine_is_passed_at_once(store: Store) -> None:
    host = process_owner().split("/", maxsplit=1)[0]
    path = leave(store, "0" * 26, lease=replace(fresh_lease(60_000), owner=f"{host}/{2**22 + 1}/x"))
    with queued(store, MAIN) as place:
        place.wait(time.monotonic() + 20)
    assert store.objects.stat(path) is None


def test_an_unreadable_ticket_is_deleted(store: Store) -> None:
    store.objects.write(tickets._path("0" * 26), "{")
    assert first_ahead(store, MAIN, None) is None
    assert tickets.listed(store.objects) == ([], [], [])


def test_a_ticket_goes_away_with_its_block(store: Store) -> None:
    with queued(store, MAIN), queued(store, Interest("feature")):
        assert len(tickets.listed(store.objects)[1]) == 2
    assert tickets.listed(store.objects) == ([], [], [])


def test_a_long_wait_renews_the_ticket(store: Store) -> None:
    brief = replace(store, settings=replace(store.settings, lease_ttl_ms=300))
    leave(store, "0" * 26, lease=replace(leased(), ttl_ms=60_000))
    with queued(brief, MAIN) as place, pytest.raises(BranchBusy):
        place.wait(time.monotonic() + 0.5)
    assert place.ticket.lease.heartbeat_seq > 0


def test_an_armed_writer_steps_back_for_what_came_first_only(store: Store) -> None:
    mine = armed(store, new_ulid(), owner=process_owner())
    armed(store, ulid_after(mine.operation_id))
    leave(store, ulid_after(mine.operation_id))
    assert older(store, mine) is None
    path = leave(store, "0" * 26)
    found = older(store, mine)
    assert found is not None
    assert found.path == path
    assert older(store, mine, withdraws=False) is None
    assert older(store, mine, "0" * 25) is None  # its own ticket is older still


def test_an_armed_writer_with_a_ticket_passes_operations_younger_than_it(store: Store) -> None:
    ticket = new_ulid()
    between = armed(store, ulid_after(ticket))
    mine = armed(store, ulid_after(between.operation_id), owner=process_owner())
    found = older(store, mine)
    assert found is not None
    assert found.operation_id == between.operation_id
    assert older(store, mine, ticket) is None


def test_an_expired_ticket_of_any_branch_goes_and_a_live_one_of_another_is_no_obstacle(store: Store) -> None:
    """Nobody comes any more for the queue of a branch that was deleted."""
    gone = leave(store, "0" * 26, branch="deleted", lease=leased(age_seconds=60))
    live = leave(store, "1" * 26, branch="other")
    assert first_ahead(store, MAIN, None) is None
    assert store.objects.stat(gone) is None
    assert store.objects.stat(live) is not None


def test_intents_of_this_process_that_are_worked_on_are_not_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    own = [armed(store, new_ulid(), owner=process_owner()) for _ in range(3)]
    read: list[str] = []
    load = sidecar.load
    monkeypatch.setattr(sidecar, "load", lambda objects, name: (read.append(name), load(objects, name))[1])
    with active(own[0].operation_id), active(own[1].operation_id), active(own[2].operation_id):
        assert not heal(store, MAIN)
        assert older(store, own[2]) is None
    assert read == []
    heal(store, MAIN)
    assert set(read) == {intent.operation_id for intent in own}  # what is not worked on any more is resolved
    assert sidecar.pending(store.objects) == []


_FORKED = """
import os
from omnigraph.storage.base.lease import active, is_active
with active("01PARENT"):
    child = os.fork()
    if not child:
        os._exit(3 if is_active("01PARENT") else 0)
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_process_does_not_take_the_work_of_its_parent_for_its_own() -> None:
    assert subprocess.run([sys.executable, "-c", _FORKED], check=False).returncode == 0
