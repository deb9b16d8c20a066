"""Recovery: racing recoverers converge, live writers are left alone, and forks are neither lost nor published."""

from __future__ import annotations

import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from omnigraph.errors import Corrupt
from omnigraph.settings import Settings
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.store import Store, store_for
from omnigraph.storage.lance import row_changes, tables
from omnigraph.storage.manifest import manifest
from omnigraph.storage.protocol import audit, classify, recovery, sidecar
from omnigraph.storage.protocol.branches import create_branch
from omnigraph.storage.protocol.recovery import RECOVERY_ACTOR
from omnigraph.testing.invariants import violations
from omnigraph.testing.processes import Child, WritingChild, children
from omnigraph.testing.tiny import A, B, contents, create_tiny, inserting, write

SETTINGS = Settings(lease_ttl_ms=300, lease_skew_ms=0, writer_wait_ms=8_000)
# Where a writer has to stay alive by its heartbeats, a loaded machine must not be able to delay them past the lease.
PATIENT = Settings(lease_ttl_ms=2_000, lease_skew_ms=0, writer_wait_ms=60_000)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = create_tiny(tmp_path / "graph", SETTINGS)
    write(made, inserting(["seed"]))
    return made


def child(store: Store, spec: str, *, branch: str | None = None, settings: Settings = SETTINGS) -> WritingChild:
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


def _sweep(root: str) -> None:
    # Slow hooks make the recoverers overlap at every step.
    with failpoints.armed("*=sleep:0.02~0.5"):
        recovery.sweep(store_for(root, SETTINGS))


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
        recovery.sweep(store_for(root, SETTINGS))


def test_a_writer_that_was_given_up_leaves_the_audit_to_recovery(store: Store) -> None:
    slept = child(store, "mutation.post_table_commit=stop@1")
    slept.wait_stopped()
    (operation_id,) = sidecar.pending(store.objects)
    while sidecar.pending(store.objects) and not manifest.load(store.root).state.abort_row(operation_id):
        recoverer = Child(_sweep_and_die, store.root.uri, Path(store.root.uri) / "none")  # until the lease has run out
        recoverer.finish()
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
    fork = tables.open_table(store.root.table(intent.tables[0].table_path, "feature"))
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
    tables.commit(row_changes.stage_delete(base, ["seed"]) or pytest.fail("nothing staged"))
    (first, second) = classify.classify(store, intent)
    assert (first.movement, first.touched, second.movement) == ("UnexpectedAtP1", False, "NoMovement")


def test_a_table_that_lost_its_published_version_keeps_the_sidecar(store: Store) -> None:
    intent = killed_at(store, "mutation.post_sidecar_pre_fork=kill")
    store.objects.delete_prefix(intent.tables[0].table_path)
    with pytest.raises(Corrupt):
        recovery.sweep(store)
    assert sidecar.pending(store.objects) == [intent.operation_id]
