"""The fence: one decision per operation, and bases whose content is exactly what is published."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from omnigraph.errors import Conflict, Corrupt, ReadSetChanged, RecoveryRequired
from omnigraph.ids import new_ulid
from omnigraph.storage.base.lease import Lease
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches.branches import create_branch, delete_branch
from omnigraph.storage.intent import sidecar
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.reclaim import reclaim_versions
from omnigraph.storage.lance.tables import BRANCH, OPERATION_ID, Landed, Staged, TableHandle
from omnigraph.storage.manifest import manifest
from omnigraph.storage.protocol import fence
from omnigraph.storage.protocol.fence import Abort
from omnigraph.testing.crash.processes import WritingChild
from omnigraph.testing.graphs import row_steps
from omnigraph.testing.graphs.tiny import A, B, contents, inserting, rows_of, write

ABORT = Abort("Mutation", "recovery", "test")


def newest(store: Store) -> TableHandle:
    return tables.open_table(manifest.load(store.root).state.snapshot.entry(A).address(store.root))


def land(staged: Staged, operation_id: str | None) -> TableHandle:
    staged.properties = {} if operation_id is None else {OPERATION_ID: operation_id, BRANCH: "main"}
    outcome = tables.commit(staged)
    assert isinstance(outcome, Landed)
    return outcome.handle


def base_of(store: Store, pin: int) -> TableHandle:
    state = manifest.load(store.root).state
    entry = state.snapshot.entry(A)

    def never(operation_id: str) -> None:
        raise AssertionError(f"{operation_id} needs no recovery")

    return fence.base(store, state, entry.address(store.root), pin, operation_id=new_ulid(), recover=never)


def test_an_open_operation_is_aborted_and_stays_aborted(store: Store) -> None:
    operation = new_ulid()
    assert fence.settle(store, None, operation, ABORT) == "aborted"
    version = manifest.load(store.root).state.version
    assert fence.settle(store, None, operation, ABORT) == "aborted"
    assert manifest.load(store.root).state.version == version


def test_a_published_operation_stays_published(store: Store) -> None:
    done = write(store, inserting(["x"], A))
    assert done.commit is not None
    assert fence.settle(store, None, done.commit.graph_commit_id, ABORT) == "published"


def test_many_settlers_of_one_operation_leave_one_marker(store: Store) -> None:
    operation = new_ulid()
    with ThreadPoolExecutor(4) as pool:
        decisions = list(pool.map(lambda _: fence.settle(store, None, operation, ABORT), range(4)))
    assert set(decisions) == {"aborted"}
    store.memory.clear()
    assert manifest.load(store.root).state.aborts.num_rows == 1


def test_an_operation_of_a_deleted_branch_is_aborted_without_a_marker(store: Store) -> None:
    create_branch(store, "feature")
    delete_branch(store, "feature")
    assert fence.settle(store, "feature", new_ulid(), ABORT) == "aborted"


def test_the_published_version_is_its_own_base(store: Store) -> None:
    pin = newest(store).version
    assert base_of(store, pin).version == pin


def test_unowned_drift_is_never_adopted(store: Store) -> None:
    before = newest(store)
    land(row_steps.stage_upsert(before, rows_of(["foreign"])), None)
    with pytest.raises(Conflict, match="repair"):
        base_of(store, before.version)


def test_a_cleanup_beyond_the_captured_state_is_a_movement_and_not_drift(store: Store) -> None:
    captured = manifest.load(store.root).state
    entry = captured.snapshot.entry(A)
    for name in ("a", "b"):
        write(store, inserting([name], A))
    reclaim_versions(newest(store), [entry.version, entry.version + 1])
    tables.forget_cached(store.root)
    with pytest.raises(ReadSetChanged):
        fence.base(
            store, captured, entry.address(store.root), entry.version, operation_id=new_ulid(), recover=lambda _: None
        )


def test_what_was_published_after_the_capture_is_never_buried(store: Store) -> None:
    captured = manifest.load(store.root).state
    entry = captured.snapshot.entry(A)
    write(store, inserting(["later"], A))
    after = newest(store).version
    with pytest.raises(ReadSetChanged) as caught:
        fence.base(
            store, captured, entry.address(store.root), entry.version, operation_id=new_ulid(), recover=lambda _: None
        )
    assert (caught.value.expected, caught.value.actual) == (entry.version, after)
    assert newest(store).version == after
    assert set(contents(store, A)) == {"seed", "later"}


@pytest.mark.parametrize("reserved", [False, True], ids=["with-the-reservation", "without-the-reservation"])
def test_a_version_that_is_gone_may_have_changed_anything(store: Store, reserved: bool) -> None:
    pin = newest(store)
    foreign = land(row_steps.stage_upsert(pin, rows_of(["foreign"])), None)
    compacted = tables.compact(foreign)  # reserves fragment ids first, in a version of its own
    reclaim_versions(compacted, [foreign.version, foreign.version + 1] if reserved else [foreign.version])
    tables.forget_cached(store.root)
    assert newest(store).transaction(foreign.version) is None
    assert not fence.content_equal(newest(store), pin.version)
    with pytest.raises(Conflict, match="repair"):
        base_of(store, pin.version)


def test_garbage_without_a_sidecar_is_settled_and_buried(store: Store) -> None:
    before, operation = newest(store), new_ulid()
    land(row_steps.stage_upsert(before, rows_of(["garbage"])), operation)
    handle = base_of(store, before.version)
    assert handle.version == before.version + 2
    assert handle.scan(["id"])["id"].to_pylist() == ["seed"]
    assert manifest.load(store.root).state.decision(operation) == "aborted"
    assert base_of(store, before.version).version == handle.version


def test_compaction_on_top_of_a_restore_still_equals_the_published_content(store: Store) -> None:
    for number in range(3):
        write(store, inserting([f"r{number}"], A))
    before = newest(store)
    land(row_steps.stage_upsert(before, rows_of(["garbage"])), new_ulid())
    restored = base_of(store, before.version)
    compacted = tables.compact(restored)
    assert compacted.version > restored.version
    assert fence.content_equal(compacted, before.version)
    assert base_of(store, before.version).version == compacted.version


def test_a_restore_of_an_older_version_does_not_equal_the_published_one(store: Store) -> None:
    old = newest(store).version
    write(store, inserting(["x"], A))
    pin = newest(store).version
    late = tables.stage_restore(newest(store), old)
    land(late, new_ulid())
    assert not fence.content_equal(newest(store), pin)


def test_a_table_below_its_published_version_fails_closed(store: Store) -> None:
    with pytest.raises(Corrupt, match="below its published version"):
        base_of(store, newest(store).version + 1)


def test_the_garbage_of_a_live_writer_is_waited_for(store: Store) -> None:
    parked = WritingChild(Path(store.root.uri), store.settings, "mutation.post_table_commit=stop@1", ("late",), (A, B))
    parked.wait_stopped()
    (operation,) = sidecar.pending(store.objects)
    found = sidecar.load(store.objects, operation)
    assert found is not None
    entry = manifest.load(store.root).state.snapshot.entry(A)
    with pytest.raises(RecoveryRequired, match=operation):
        base_of(store, entry.version)
    assert parked.resume().commit == operation
    assert set(contents(store, A)) == {"seed", "late"}


def test_a_lease_of_another_host_is_only_judged_by_its_age() -> None:
    from omnigraph.storage.base.lease import expired

    assert not expired(Lease("elsewhere/1/x", 0, 1 << 60, 30_000), skew_ms=0)
