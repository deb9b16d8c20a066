"""Recovery: racing recoverers converge, live writers are left alone, and forks are neither lost nor published."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from omnigraph.errors import Corrupt
from omnigraph.ids import new_ulid, now_micros
from omnigraph.settings import Settings
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.store import Store, store_for
from omnigraph.storage.branches.branches import create_branch
from omnigraph.storage.intent import sidecar
from omnigraph.storage.intent.publication import Publication
from omnigraph.storage.lance import tables
from omnigraph.storage.manifest import manifest
from omnigraph.storage.protocol import audit, classify, recovery
from omnigraph.storage.protocol.publish import publish
from omnigraph.storage.protocol.recovery import RECOVERY_ACTOR
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.crash.processes import Child, WritingChild, children
from omnigraph.testing.graphs import row_steps
from omnigraph.testing.graphs.tiny import LONG_LEASES, A, B, contents, end_lease, inserting, rows_of, write

# Where a writer has to stay alive by its heartbeats, a loaded machine must not be able to delay them past the lease.
PATIENT = Settings(lease_ttl_ms=2_000, lease_skew_ms=0, writer_wait_ms=60_000)


def child(store: Store, spec: str, *, branch: str | None = None, settings: Settings = LONG_LEASES) -> WritingChild:
    return WritingChild(Path(store.root.uri), settings, spec, ("child",), (A, B), branch=branch)


def await_intent(store: Store) -> None:
    while not sidecar.pending(store.objects):
        time.sleep(0.01)


def killed_at(store: Store, spec: str, *, branch: str | None = None) -> sidecar.Sidecar:
    assert child(store, spec, branch=branch).finish().exit_code == -signal.SIGKILL
    (operation_id,) = sidecar.pending(store.objects)
    found = sidecar.load(store.objects, operation_id)
    assert found is not None
    return found


def once(act: Callable[[], None]) -> Callable[[], None]:
    """Act at the first call only."""
    calls = count()
    return lambda: act() if next(calls) == 0 else None


def _sweep(root: str) -> None:
    # Slow hooks make the recoverers overlap at every step.
    with failpoints.armed("*=sleep:0.02~0.5"):
        recovery.sweep(store_for(root, LONG_LEASES))


@pytest.mark.parametrize(
    ("spec", "kind"),
    [("mutation.post_table_commit=kill@1", "RolledBack"), ("mutation.post_effects_pre_publish=kill", "RolledForward")],
)
def test_recoverers_that_race_in_several_processes_leave_one_outcome(store: Store, spec: str, kind: str) -> None:
    intent = killed_at(store, spec)
    crowd = [children().Process(target=_sweep, args=(store.root.uri,)) for _ in range(4)]
    for process in crowd:
        process.start()
    for process in crowd:
        process.join(60)
    assert [process.exitcode for process in crowd] == [0, 0, 0, 0]
    (record,) = audit.records(store.root)
    assert (record.kind, record.operation_id) == (kind, intent.operation_id)
    recovered = [c for c in manifest.load(store.root).state.lineage.newest_first() if c.actor_id == RECOVERY_ACTOR]
    assert len(recovered) == (1 if kind == "RolledBack" else 0)
    assert violations(store) == []


def test_a_sweep_leaves_a_live_writer_alone(store: Store) -> None:
    lasting = replace(PATIENT, lease_ttl_ms=600_000)
    parked = child(store, "mutation.post_table_commit=sleep:0.5@1", settings=lasting)
    await_intent(store)
    assert recovery.sweep(store) == []
    assert parked.finish().commit is not None
    assert audit.records(store.root) == []


def test_a_lasting_writer_keeps_its_lease_by_heartbeats_and_others_wait(store: Store) -> None:
    # Parked for more than three times the lease.
    parked = child(store, "mutation.post_table_commit=sleep:6.5@1", settings=PATIENT)
    await_intent(store)
    write(store_for(store.root.uri, PATIENT), inserting(["mine"], A, B))
    assert parked.finish().commit is not None
    assert audit.records(store.root) == []
    assert set(contents(store, A)) == {"seed", "child", "mine"} == set(contents(store, B))


def _sweep_and_die(root: str) -> None:
    with failpoints.armed("recovery.record_audit=kill"):
        recovery.sweep(store_for(root, LONG_LEASES))


def test_a_writer_that_was_given_up_leaves_the_audit_to_recovery(store: Store) -> None:
    slept = child(store, "mutation.post_table_commit=stop@1")
    slept.wait_stopped()
    (operation_id,) = sidecar.pending(store.objects)
    end_lease(store)
    recoverer = Child(_sweep_and_die, store.root.uri, Path(store.root.uri) / "none")
    assert recoverer.finish().exit_code == -signal.SIGKILL
    assert manifest.load(store.root).state.abort_row(operation_id)
    assert slept.resume().commit is not None  # by another attempt
    recovery.sweep(store)
    assert [(record.operation_id, record.kind) for record in audit.records(store.root)] == [
        (operation_id, "RolledBack")
    ]
    assert violations(store) == []


def test_a_rolled_back_fork_is_neutralized_but_not_published(store: Store) -> None:
    create_branch(store, "feature")
    intent = killed_at(store, "mutation.post_table_commit=kill@1", branch="feature")
    (outcome,) = recovery.sweep(store)
    assert outcome.kind == "RolledBack"
    state = manifest.load(store.root, "feature").state
    assert [entry.ref for entry in state.snapshot] == [None, None, None]
    assert state.graph_head == intent.rollback_commit_id
    fork = tables.open_table(store.root.table(intent.tables[0].table_path, intent.tables[0].table_branch))
    assert fork.scan(["id"])["id"].to_pylist() == ["seed"]


@pytest.mark.parametrize(
    ("spec", "movements"),
    [
        ("mutation.post_sidecar_pre_fork=kill", ["NoMovement", "NoMovement"]),
        ("mutation.post_table_commit=kill@1", ["RolledPastExpected", "NoMovement"]),
        ("mutation.post_effects_pre_publish=kill", ["RolledPastExpected", "RolledPastExpected"]),
    ],
)
def test_what_a_writer_did_to_each_table_is_told_apart(store: Store, spec: str, movements: list[str]) -> None:
    intent = killed_at(store, spec)
    assert [outcome.movement for outcome in classify.classify(store, intent)] == movements


def test_a_foreign_version_in_the_planned_slot_is_unexpected(store: Store) -> None:
    intent = killed_at(store, "mutation.post_sidecar_pre_fork=kill")
    base = tables.open_table(store.root.table(intent.tables[0].table_path))
    tables.commit(row_steps.stage_delete(base, ["seed"]) or pytest.fail("nothing staged"))
    (first, second) = classify.classify(store, intent)
    assert (first.movement, first.touched, second.movement) == ("UnexpectedAtP1", False, "NoMovement")


def test_a_table_below_its_published_version_is_not_recovered(store: Store) -> None:
    intent = killed_at(store, "mutation.post_sidecar_pre_fork=kill")
    versions = Path(store.root.table(intent.tables[0].table_path).uri, "_versions")
    min(versions.glob("*.manifest")).unlink()  # the newest: lance counts the names down
    (versions / "latest_version_hint.json").unlink()
    tables.forget_cached(store.root)
    with pytest.raises(Corrupt, match=f"below {intent.tables[0].expected_version}"):
        classify.classify(store, intent)


def test_a_version_that_is_published_during_a_rollback_stays(store: Store) -> None:
    intent = killed_at(store, "mutation.post_table_commit=kill@1")
    assert [plan.table_key for plan in intent.tables] == [A, B]

    def publish_another() -> None:
        address = store.root.table(intent.tables[0].table_path)
        staged = row_steps.stage_upsert(tables.open_table(address), rows_of(["later"]))
        operation = new_ulid()
        staged.properties = {tables.OPERATION_ID: operation, tables.BRANCH: "main"}
        landed = tables.commit(staged)
        assert isinstance(landed, tables.Landed)
        row = recovery.version_row(store, A, landed.handle)
        publish(
            store, Publication(branch=None, commit_id=operation, created_at=now_micros(), token=None, versions=(row,))
        )

    with failpoints.armed({"recovery.post_table_restore": once(publish_another)}):
        (outcome,) = recovery.sweep(store)
    assert outcome.kind == "RolledBack"
    assert set(contents(store, A)) == {"seed", "later"}
    assert manifest.load(store.root).state.graph_head == intent.rollback_commit_id
    assert violations(store) == []


def test_a_table_that_lost_its_published_version_keeps_the_sidecar(store: Store) -> None:
    intent = killed_at(store, "mutation.post_sidecar_pre_fork=kill")
    store.objects.delete_prefix(intent.tables[0].table_path)
    with pytest.raises(Corrupt):
        recovery.sweep(store)
    assert sidecar.pending(store.objects) == [intent.operation_id]
