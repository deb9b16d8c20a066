"""The numbered write cases that need no query language, on hand-made tables and write sets."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from omnigraph import host
from omnigraph.errors import (
    Conflict,
    Corrupt,
    ExpectedVersionMismatch,
    FormatRefused,
    KeyConflict,
    OtherChange,
    PreconditionFailed,
    ReadSetChanged,
    RowLevelCasContention,
    StorageError,
)
from omnigraph.ids import new_ulid, now_micros
from omnigraph.settings import Settings
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches.branches import create_branch, delete_branch
from omnigraph.storage.intent import sidecar
from omnigraph.storage.intent.publication import Publication
from omnigraph.storage.intent.writeset import WriteSet
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.tables import BRANCH, EFFECT, NEUTRALIZE, OPERATION_ID, Landed, TableHandle
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.rows import HeadRow
from omnigraph.storage.protocol import audit, fence, recovery
from omnigraph.storage.protocol.commit import commit
from omnigraph.storage.protocol.fence import Abort
from omnigraph.storage.protocol.publish import publish
from omnigraph.storage.protocol.recovery import RECOVERY_ACTOR
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.crash.processes import WritingChild
from omnigraph.testing.graphs import row_steps
from omnigraph.testing.graphs.tiny import (
    A,
    B,
    K,
    contents,
    create_tiny,
    deleting,
    end_lease,
    inserting,
    rows_of,
    updating,
    upserting,
    write,
)

SETTINGS = Settings(lease_ttl_ms=600_000, lease_skew_ms=0, writer_wait_ms=60_000, retire_grace_ms=0)


def case(*numbers: str) -> pytest.MarkDecorator:
    """Puts the number of a specification case into the id of its test."""
    return pytest.mark.parametrize("case", [pytest.param(number, id=number) for number in numbers])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "graph"


@pytest.fixture
def store(root: Path) -> Store:
    made = create_tiny(root, SETTINGS)
    write(made, inserting(["seed"]))
    return made


def state_of(store: Store, branch: str | None = None) -> manifest.ManifestState:
    return manifest.load(store.root, branch).state


def newest(store: Store, key: str, branch: str | None = None) -> TableHandle:
    return tables.open_table(state_of(store, branch).snapshot.entry(key).address(store.root))


def heads(store: Store) -> dict[str, int]:
    return {key: newest(store, key).version for key in (A, B, K)}


def pins(store: Store) -> dict[str, int]:
    return state_of(store).snapshot.pins()


def child(
    store: Store, spec: str, ids: tuple[str, ...] = ("child",), keys: tuple[str, ...] = (A, B), **more: str
) -> WritingChild:
    return WritingChild(Path(store.root.uri), store.settings, spec, ids, keys, **more)


def killed_at(store: Store, spec: str, **more: str) -> None:
    assert child(store, spec, **more).finish().exit_code == -signal.SIGKILL


def only_pending(store: Store) -> sidecar.Sidecar:
    (operation_id,) = sidecar.pending(store.objects)
    found = sidecar.load(store.objects, operation_id)
    assert found is not None
    return found


def raising(error: BaseException) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


class Countdown:
    """Acts when it has been called so many times."""

    def __init__(self, count: int, act: Callable[[], object]) -> None:
        self.left = count
        self._act = act

    def __call__(self) -> None:
        self.left -= 1
        if self.left == 0:
            self._act()


def once(act: Callable[[], object]) -> Callable[[], None]:
    """Call only the first time; the hook is passed again by the write it starts."""
    called = threading.Event()

    def wrapped() -> None:
        if not called.is_set():
            called.set()
            act()

    return wrapped


# --- one write -------------------------------------------------------------------------------------


@case("W1")
def test_a_write_to_several_tables_is_one_commit_and_one_version_each(store: Store, case: str) -> None:
    before, versions = state_of(store), heads(store)
    done = write(store, inserting(["x"], A, K, actor="act-ana"))
    assert done.commit is not None
    assert (done.commit.parent_commit_id, done.commit.actor_id) == (before.graph_head, "act-ana")
    assert done.state.version == before.version + 1 == state_of(store).version
    assert heads(store) == versions | {A: versions[A] + 1, K: versions[K] + 1} == pins(store)
    assert done.state == state_of(store) or done.state.snapshot == state_of(store).snapshot


@case("W10")
def test_a_write_that_matches_nothing_leaves_no_trace(store: Store, case: str) -> None:
    before, versions = state_of(store).version, heads(store)
    with failpoints.armed("recovery.sidecar_write=raise"):
        assert write(store, deleting(["nobody"], A, B)).commit is None
        assert commit(store, None, lambda _txn: None).commit is None
        assert commit(store, None, lambda _txn: WriteSet(writer_kind="Mutation")).commit is None
    assert (state_of(store).version, heads(store)) == (before, versions)


def test_an_empty_load_still_leaves_a_commit_in_the_history(store: Store) -> None:
    versions = heads(store)
    done = commit(store, None, lambda _txn: WriteSet(writer_kind="Load", lineage_only=True, actor_id="act-ana"))
    assert done.commit is not None
    assert (state_of(store).graph_head, heads(store)) == (done.commit.graph_commit_id, versions)


@case("W11")
def test_a_strict_insert_of_an_existing_id_is_a_key_conflict(store: Store, case: str) -> None:
    with pytest.raises(KeyConflict) as caught:
        write(store, inserting(["fresh", "seed"], A, value=9))
    assert (caught.value.type_key, caught.value.entity_id) == (A, "seed")
    assert contents(store, A) == {"seed": ("", 0)}
    assert sidecar.pending(store.objects) == []


def test_an_id_repeated_within_a_strict_insert_is_a_key_conflict(store: Store) -> None:
    with pytest.raises(KeyConflict) as caught:
        write(store, inserting(["twice", "twice"], A))
    assert caught.value.entity_id == "twice"


def test_within_an_upsert_the_last_row_of_an_id_wins(store: Store) -> None:
    rows = pa.concat_tables([rows_of(["k", "seed"], value=1), rows_of(["k"], value=2)])

    def prepare(_txn: object) -> WriteSet:
        from omnigraph.storage.intent.writeset import TableWrite, Upsert

        return WriteSet(writer_kind="Load", tables=(TableWrite(A, (Upsert(rows),)),))

    commit(store, None, prepare)
    assert contents(store, A) == {"seed": ("", 1), "k": ("", 2)}


# --- two writers -----------------------------------------------------------------------------------


@case("W22")
def test_threads_on_one_branch_all_commit_on_a_linear_chain(store: Store, case: str) -> None:
    before = len(state_of(store).lineage)
    threads = [threading.Thread(target=write, args=(store, inserting([f"t{n}"], A, B))) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(contents(store, A)) == {"seed", "t0", "t1", "t2", "t3"} == set(contents(store, B))
    assert len(state_of(store).lineage) == before + 4
    assert violations(store) == []


# Decision 12 of the specification changed W23: both commit, in some order.
@case("W23")
def test_an_update_prepared_on_a_state_that_moved_is_prepared_again(store: Store, case: str) -> None:
    before = len(state_of(store).lineage)
    other = once(lambda: write(store, updating(["seed"], A, value=1)))
    with failpoints.armed({"mutation.post_stage_pre_gate": other}):
        write(store, updating(["seed"], A, value=2))
    assert contents(store, A) == {"seed": ("", 2)}
    assert len(state_of(store).lineage) == before + 2
    assert violations(store) == []


@case("W23")
def test_of_two_processes_that_update_one_row_both_commit_in_turn(store: Store, case: str) -> None:
    parked = child(store, "mutation.post_stage_pre_gate=stop@1", ("seed",), (A,), verb="updating")
    parked.wait_stopped()
    write(store, updating(["seed"], A, value=1))
    assert parked.resume().commit == state_of(store).graph_head
    assert contents(store, A) == {"seed": ("child", 0)}


@case("W23")
def test_with_one_attempt_a_moved_head_is_refused_with_who_moved_it(store: Store, case: str) -> None:
    other = once(lambda: write(store, updating(["seed"], A, value=1, actor="act-ana")))
    once_only = replace(store, settings=replace(store.settings, reprepare_budget=1))
    with failpoints.armed({"mutation.post_stage_pre_gate": other}), pytest.raises(ReadSetChanged) as caught:
        write(once_only, updating(["seed"], A, value=2))
    assert caught.value.member == "graph_head:main"
    head = state_of(store).graph_head
    assert caught.value.change == OtherChange(A, ("seed",), head, "act-ana")
    assert f"commit {head} by act-ana changed node:A 'seed'" in str(caught.value)
    assert contents(store, A) == {"seed": ("", 1)}
    assert violations(store) == []


@case("W24")
def test_of_two_processes_that_append_one_id_the_second_gets_a_key_conflict(store: Store, case: str) -> None:
    parked = child(store, "mutation.post_stage_pre_gate=stop@1", ("same",), (A,))
    parked.wait_stopped()
    write(store, inserting(["same"], A, op="first"))
    assert parked.resume().error == "KeyConflict"
    assert contents(store, A)["same"] == ("first", 0)


@case("W25")
def test_inserts_into_different_tables_of_one_branch_both_commit(store: Store, case: str) -> None:
    before = len(state_of(store).lineage)
    parked = child(store, "mutation.post_stage_pre_gate=stop@1", ("left",), (A,))
    parked.wait_stopped()
    write(store, inserting(["right"], B))
    assert parked.resume().commit == state_of(store).graph_head
    assert ("left" in contents(store, A), "right" in contents(store, B)) == (True, True)
    assert len(state_of(store).lineage) == before + 2


@case("W26")
def test_a_writer_waits_for_a_live_one_and_resolves_it_when_its_lease_ends(store: Store, case: str) -> None:
    parked = child(store, "mutation.post_effects_pre_publish=stop")
    parked.wait_stopped()
    operation = only_pending(store).operation_id
    # Waits while the lease lives, and rolls the stopped writer forward at the first look after its end.
    looks = Countdown(2, lambda: end_lease(store))
    looking = replace(store, settings=replace(store.settings, lease_ttl_ms=3_000))  # a third of it between two looks
    with failpoints.armed({"queue.awaiting": looks}):
        write(looking, inserting(["mine"], A, B))
    assert looks.left <= 0
    assert state_of(store).decision(operation) == "published"
    assert parked.resume().commit == operation
    assert set(contents(store, A)) == {"seed", "child", "mine"}
    assert violations(store) == []


@case("W27")
def test_a_writer_that_was_aborted_before_publishing_tries_again_and_lands_once(store: Store, case: str) -> None:
    parked = child(store, "publish.pre_commit=stop@1")
    parked.wait_stopped()
    operation = only_pending(store).operation_id
    assert fence.settle(store, None, operation, Abort("Mutation", "recovery", "test")) == "aborted"
    done = parked.resume()
    assert done.commit not in (None, operation)
    assert (state_of(store).decision(operation), set(contents(store, A))) == ("aborted", {"seed", "child"})
    assert violations(store) == []


@case("W28")
def test_a_table_committed_after_the_abort_is_garbage_for_the_next_writer(store: Store, case: str) -> None:
    once_only = replace(store, settings=replace(store.settings, reprepare_budget=1))
    parked = child(once_only, "table_commit.pre=stop@2", ("seed",), (A, B), verb="updating")
    parked.wait_stopped()
    end_lease(store)
    (outcome,) = recovery.sweep(store)
    assert outcome.kind == "RolledBack"
    assert parked.resume().error == "ReadSetChanged"
    assert newest(store, B).version > pins(store)[B]
    write(store, inserting(["mine"], A, B))
    assert contents(store, B) == {"seed": ("", 0), "mine": ("", 0)} == contents(store, A)
    assert heads(store) == pins(store)
    assert violations(store) == []


@case("W29")
def test_a_late_restore_changes_nothing_that_is_published(store: Store, case: str) -> None:
    old = newest(store, A)
    write(store, inserting(["mine"], A))
    late = tables.stage_restore(old, old.version)
    late.properties = {OPERATION_ID: new_ulid(), BRANCH: "main", EFFECT: NEUTRALIZE}
    assert isinstance(tables.commit(late), Landed)
    assert set(contents(store, A)) == {"seed", "mine"}
    write(store, inserting(["next"], A))
    assert set(contents(store, A)) == {"seed", "mine", "next"}


# --- killed writers --------------------------------------------------------------------------------


@case("W30")
def test_a_writer_killed_after_arming_is_rolled_back_with_an_empty_audit(store: Store, case: str) -> None:
    killed_at(store, "mutation.post_sidecar_pre_fork=kill")
    intent = only_pending(store)
    recovery.sweep(store)
    (record,) = audit.records(store.root)
    assert (record.kind, record.outcomes, record.graph_commit_id) == ("RolledBack", (), intent.rollback_commit_id)
    state = state_of(store)
    assert (state.graph_head, state.decision(intent.operation_id)) == (intent.rollback_commit_id, "aborted")
    head = state.lineage.get(intent.rollback_commit_id)
    assert head is not None
    assert head.actor_id == RECOVERY_ACTOR
    assert violations(store) == []


@case("W31")
def test_one_of_two_tables_committed_is_rolled_back_to_the_published_content(store: Store, case: str) -> None:
    before = pins(store)
    killed_at(store, "mutation.post_table_commit=kill@1")
    recovery.sweep(store)
    assert (contents(store, A), contents(store, B)) == ({"seed": ("", 0)}, {"seed": ("", 0)})
    assert heads(store) == pins(store) == before | {A: before[A] + 2}
    (record,) = audit.records(store.root)
    assert [(o.table_key, o.from_version, o.to_version) for o in record.outcomes] == [(A, before[A] + 1, before[A])]


@case("W32")
def test_all_tables_committed_is_rolled_forward_under_the_writers_name(store: Store, case: str) -> None:
    killed_at(store, "mutation.post_effects_pre_publish=kill")
    intent = only_pending(store)
    recovery.sweep(store)
    head = state_of(store).lineage.get(intent.operation_id)
    assert head is not None
    assert (state_of(store).graph_head, head.actor_id, head.created_at) == (
        intent.operation_id,
        "act-child",
        intent.created_at,
    )
    (record,) = audit.records(store.root)
    assert (record.kind, record.actor, len(record.outcomes)) == ("RolledForward", "act-child", 2)
    assert set(contents(store, B)) == {"seed", "child"}


@case("W33")
def test_a_complete_operation_is_rolled_back_when_another_commit_landed_first(store: Store, case: str) -> None:
    killed_at(store, "mutation.post_effects_pre_publish=kill")
    intent = only_pending(store)
    winner = new_ulid()
    publish(store, Publication(branch=None, commit_id=winner, created_at=now_micros(), token=intent.authority))
    (outcome,) = recovery.sweep(store)
    assert outcome.kind == "RolledBack"
    assert [c.graph_commit_id for c in state_of(store).lineage.newest_first(2)] == [intent.rollback_commit_id, winner]
    assert set(contents(store, A)) == {"seed"} == set(contents(store, B))
    assert heads(store) == pins(store)


@case("W34")
def test_a_lost_publish_acknowledgement_is_still_success(store: Store, case: str) -> None:
    before = len(state_of(store).lineage)
    with failpoints.armed("publish.ack_lost=raise@1"):
        done = write(store, inserting(["x"], A))
    assert done.commit is not None
    assert (state_of(store).graph_head, len(state_of(store).lineage)) == (done.commit.graph_commit_id, before + 1)


def test_a_lost_table_commit_acknowledgement_is_still_success(store: Store) -> None:
    with failpoints.armed("table_commit.ack_lost=raise@1"):
        assert write(store, inserting(["x"], A, B)).commit is not None
    assert set(contents(store, A)) == {"seed", "x"} == set(contents(store, B))


@case("W35")
def test_a_sidecar_that_cannot_be_deleted_is_cleaned_by_the_next_writer(store: Store, case: str) -> None:
    with failpoints.armed("recovery.sidecar_delete=raise@1"):
        done = write(store, inserting(["x"], A))
    assert done.commit is not None
    assert sidecar.pending(store.objects) == [done.commit.graph_commit_id]
    write(store, inserting(["y"], A))
    assert sidecar.pending(store.objects) == []
    (record,) = audit.records(store.root)
    assert (record.kind, record.operation_id) == ("RolledForward", done.commit.graph_commit_id)


@case("W36")
def test_a_failed_sidecar_write_leaves_nothing(store: Store, case: str) -> None:
    versions = heads(store)
    with failpoints.armed("recovery.sidecar_write=raise"), pytest.raises(StorageError):
        write(store, inserting(["x"], A))
    assert (heads(store), sidecar.pending(store.objects)) == (versions, [])
    write(store, inserting(["x"], A))
    assert set(contents(store, A)) == {"seed", "x"}


@case("W37")
def test_a_failed_sidecar_listing_is_loud_and_heals_itself(store: Store, case: str) -> None:
    with failpoints.armed("recovery.sidecar_list=raise"):
        with pytest.raises(StorageError):
            write(store, inserting(["x"], A))
        with pytest.raises(StorageError):
            recovery.sweep(store)
    write(store, inserting(["x"], A))
    assert recovery.sweep(store) == []


@case("W38")
def test_a_sidecar_that_vanishes_between_listing_and_reading_is_skipped(store: Store, case: str) -> None:
    killed_at(store, "mutation.post_sidecar_pre_fork=kill")
    operation = only_pending(store).operation_id
    gone = {"recovery.post_list_pre_read": lambda: store.objects.delete(sidecar.path(operation))}
    with failpoints.armed(gone):
        assert recovery.sweep(store) == []
    assert audit.records(store.root) == []


@case("W39")
@pytest.mark.parametrize(("text", "error"), [("{", Corrupt), ('{"schema_version": 11}', FormatRefused)])
def test_an_unreadable_sidecar_stops_writers_and_stays(
    store: Store, case: str, text: str, error: type[Exception]
) -> None:
    name = sidecar.path(new_ulid())
    store.objects.write(name, text)
    with pytest.raises(error):
        write(store, inserting(["x"], A))
    with pytest.raises(error):
        recovery.sweep(store)
    assert store.objects.read(name) == text
    assert set(contents(store, A)) == {"seed"}


@case("W40")
def test_the_sidecar_of_a_deleted_branch_is_discarded_once(store: Store, case: str) -> None:
    create_branch(store, "feature")
    killed_at(store, "mutation.post_table_commit=kill@1", branch="feature")
    intent = only_pending(store)
    delete_branch(store, "feature")
    assert [outcome.kind for outcome in recovery.sweep(store)] == ["OrphanedBranchDiscarded"]
    assert recovery.sweep(store) == []
    (record,) = audit.records(store.root)
    assert (record.kind, record.graph_commit_id) == ("OrphanedBranchDiscarded", intent.rollback_commit_id)
    assert state_of(store).graph_head == intent.rollback_commit_id
    write(store, inserting(["x"], A, B))
    assert violations(store) == []


@case("W41")
@pytest.mark.parametrize(
    "point",
    [
        "recovery.post_marker",
        "recovery.post_table_restore",
        "recovery.post_rollback_publish",
        "recovery.record_audit",
        "recovery.sidecar_delete",
    ],
)
def test_a_recovery_interrupted_anywhere_converges(store: Store, case: str, point: str) -> None:
    killed_at(store, "mutation.post_table_commit=kill@1")
    intent = only_pending(store)
    with failpoints.armed(f"{point}=raise"), pytest.raises(StorageError):
        recovery.sweep(store)
    recovery.sweep(store)
    assert [record.operation_id for record in audit.records(store.root)] == [intent.operation_id]
    commits = [c.graph_commit_id for c in state_of(store).lineage.newest_first() if c.actor_id == RECOVERY_ACTOR]
    assert commits == [intent.rollback_commit_id]
    assert heads(store) == pins(store)
    assert violations(store) == []


@case("W42")
def test_an_operation_on_a_branch_is_judged_by_that_branch(store: Store, case: str) -> None:
    create_branch(store, "feature")
    before = state_of(store).version
    killed_at(store, "mutation.post_effects_pre_publish=kill", branch="feature")
    intent = only_pending(store)
    (outcome,) = recovery.sweep(store)
    assert outcome.kind == "RolledForward"
    assert state_of(store, "feature").graph_head == intent.operation_id
    assert state_of(store).decision(intent.operation_id) is None
    assert (state_of(store).version, set(contents(store, A))) == (before, {"seed"})
    assert set(contents(store, A, "feature")) == {"seed", "child"}


# --- drift -----------------------------------------------------------------------------------------


@case("W43")
def test_a_foreign_write_to_a_table_stops_writers_but_not_readers(store: Store, case: str) -> None:
    base = newest(store, A)
    assert isinstance(tables.commit(row_steps.stage_upsert(base, rows_of(["foreign"]))), Landed)
    assert set(contents(store, A)) == {"seed"}
    with pytest.raises(Conflict, match="repair"):
        write(store, inserting(["x"], A))
    assert write(store, inserting(["x"], B)).commit is not None


@case("W44")
def test_a_compacted_table_is_built_on_without_a_restore(store: Store, case: str) -> None:
    for number in range(3):
        write(store, inserting([f"r{number}"], A))
    compacted = tables.compact(newest(store, A))
    assert compacted.version > pins(store)[A]
    write(store, inserting(["x"], A))
    assert pins(store)[A] == compacted.version + 1 == newest(store, A).version
    assert set(contents(store, A)) == {"seed", "r0", "r1", "r2", "x"}


@case("W45")
def test_a_writer_that_meets_a_dead_one_decides_it_and_leaves_restoring_to_need(store: Store, case: str) -> None:
    before = pins(store)
    killed_at(store, "mutation.post_table_commit=kill@1")
    intent = only_pending(store)
    write(store, inserting(["mine"], B))
    assert newest(store, A).version == before[A] + 1
    assert state_of(store).decision(intent.operation_id) == "aborted"
    assert state_of(store).lineage.get(intent.rollback_commit_id) is not None
    write(store, inserting(["mine"], A))
    restore = newest(store, A).transaction(before[A] + 2)
    assert restore is not None
    assert restore.restored == before[A]
    assert set(contents(store, A)) == {"seed", "mine"}


@case("W46")
def test_a_displaced_table_commit_is_never_published(store: Store, case: str) -> None:
    zombie = new_ulid()
    fence.settle(store, None, zombie, Abort("Mutation", "recovery", "test"))
    base = newest(store, A)

    def land_first() -> None:
        fragments = tables.write_fragments(base.address, rows_of(["x"], op="zombie"), base.schema)
        staged = tables.stage_append(base, fragments)
        staged.properties = {OPERATION_ID: zombie, BRANCH: "main"}
        assert isinstance(tables.commit(staged), Landed)

    with failpoints.armed({"table_commit.pre": once(land_first)}):
        done = write(store, inserting(["x"], A, op="mine"))
    assert done.commit is not None
    assert contents(store, A) == {"seed": ("", 0), "x": ("mine", 0)}
    assert violations(store) == []


def test_a_foreign_append_between_plan_and_commit_is_never_published(store: Store) -> None:
    """Lance rebases onto an append that carries no sentinel, so our commit lands, but not in its slot."""
    base = newest(store, A)
    append = once(lambda: lance.write_dataset(rows_of(["foreign"]), base.address.uri, mode="append"))
    with failpoints.armed({"table_commit.pre": append}), pytest.raises(Conflict, match="repair"):
        write(store, inserting(["mine"], A, B))
    assert newest(store, A).version == base.version + 2
    assert pins(store)[A] == base.version
    assert set(contents(store, A)) == {"seed"} == set(contents(store, B))


# --- publishing ------------------------------------------------------------------------------------


@case("W47")
def test_a_manifest_contended_six_times_gives_up_and_aborts(store: Store, case: str) -> None:
    state = state_of(store)
    parent = state.lineage.get(str(state.graph_head))
    assert parent is not None
    same_head = HeadRow(None, parent.graph_commit_id, parent.parent_commit_id)

    def touch_head() -> None:
        assert isinstance(manifest.publish_rows(manifest.load(store.root), [same_head]), Landed)

    impatient = replace(store, settings=replace(store.settings, reprepare_budget=1))
    with failpoints.armed({"publish.pre_commit": touch_head}) as plan, pytest.raises(RowLevelCasContention):
        write(impatient, inserting(["x"], A))
    assert plan.hits["publish.pre_commit"] == 6
    assert sidecar.pending(store.objects) == []
    assert (state_of(store).graph_head, set(contents(store, A))) == (state.graph_head, {"seed"})
    write(store, inserting(["x"], A))
    assert violations(store) == []


@case("W48")
def test_a_stale_expected_version_without_a_token_is_named(store: Store, case: str) -> None:
    stale = Publication(branch=None, commit_id=new_ulid(), created_at=now_micros(), token=None, expected={A: 1})
    with pytest.raises(ExpectedVersionMismatch) as caught:
        publish(store, stale)
    assert (caught.value.table_key, caught.value.expected, caught.value.actual) == (A, 1, pins(store)[A])


@case("W49")
def test_two_first_writers_of_a_fresh_branch_both_commit(store: Store, case: str) -> None:
    create_branch(store, "feature")
    assert state_of(store, "feature").graph_head is None
    parked = child(store, "mutation.post_stage_pre_gate=stop@1", branch="feature")
    parked.wait_stopped()
    first = write(store, inserting(["mine"], A, B), "feature")
    second = parked.resume()
    state = state_of(store, "feature")
    assert first.commit is not None
    assert (state.graph_head, state.lineage.get(str(second.commit)).parent_commit_id) == (  # type: ignore[union-attr]
        second.commit,
        first.commit.graph_commit_id,
    )
    assert set(contents(store, B, "feature")) == {"seed", "mine", "child"}
    assert violations(store) == []


@case("W50")
def test_a_stale_expected_head_fails_even_when_nothing_matches(store: Store, case: str) -> None:
    stale = state_of(store).graph_head
    write(store, inserting(["x"], A))
    with pytest.raises(PreconditionFailed) as caught:
        commit(store, None, deleting(["nobody"], A), expected_head=stale)
    assert (caught.value.expected, caught.value.actual) == (stale, state_of(store).graph_head)
    current = state_of(store).graph_head
    assert commit(store, None, inserting(["y"], A), expected_head=current).commit is not None


def test_an_expected_head_that_moves_during_the_write_fails_the_precondition(store: Store) -> None:
    current = state_of(store).graph_head
    other = once(lambda: write(store, inserting(["other"], B)))
    with failpoints.armed({"mutation.post_stage_pre_gate": other}), pytest.raises(PreconditionFailed):
        commit(store, None, inserting(["x"], A), expected_head=current)
    assert set(contents(store, A)) == {"seed"}


def test_an_expected_head_that_moves_before_an_empty_result_fails_the_precondition(store: Store) -> None:
    current = state_of(store).graph_head
    other = once(lambda: write(store, inserting(["other"], B)))
    with failpoints.armed({"mutation.post_no_effect_pre_gate": other}), pytest.raises(PreconditionFailed):
        commit(store, None, lambda _txn: None, expected_head=current)


def test_a_publication_by_a_writer_that_slept_is_looked_up_again(store: Store) -> None:
    """Lance compares a commit with the versions that still exist: after a long sleep it may land where nobody reads."""
    operations: list[str] = []

    def sleep_and_lose() -> None:
        operations.append(only_pending(store).operation_id)
        for heartbeat in host.current()._renewer._beats:
            heartbeat.renewed_at -= 3_600
        versions = Path(store.root.manifest().uri, "_versions")
        min(versions.glob("*.manifest")).unlink()  # the newest: lance counts the names down
        (versions / "latest_version_hint.json").unlink()

    with failpoints.armed({"publish.after_commit": once(sleep_and_lose)}):
        done = write(store, inserting(["mine"], A))
    assert done.commit is not None
    assert done.commit.graph_commit_id not in operations
    store.memory.clear()
    assert state_of(store).decision(operations[0]) == "aborted"
    assert state_of(store).graph_head == done.commit.graph_commit_id
    assert set(contents(store, A)) == {"seed", "mine"}


# --- interruption ----------------------------------------------------------------------------------


@case("W61")
@pytest.mark.parametrize("point", ["mutation.post_stage_pre_gate", "recovery.sidecar_write"])
def test_a_write_cancelled_before_arming_leaves_nothing(store: Store, case: str, point: str) -> None:
    versions = heads(store)
    with failpoints.armed({point: raising(KeyboardInterrupt())}), pytest.raises(KeyboardInterrupt):
        write(store, inserting(["x"], A, B))
    assert (sidecar.pending(store.objects), heads(store)) == ([], versions)
    write(store, inserting(["x"], A, B))


def test_a_write_cancelled_between_its_tables_is_aborted_at_once(store: Store) -> None:
    with (
        failpoints.armed({"mutation.post_table_commit": raising(KeyboardInterrupt())}),
        pytest.raises(KeyboardInterrupt),
    ):
        write(store, inserting(["x"], A, B))
    assert sidecar.pending(store.objects) == []
    assert set(contents(store, A)) == {"seed"} == set(contents(store, B))
    write(store, upserting(["x"], A, B))
    assert violations(store) == []


def test_a_write_that_cannot_be_decided_is_released_for_others(store: Store) -> None:
    broken = {
        "mutation.post_table_commit": raising(StorageError("gone")),
        "fence.settle_pre_commit": raising(StorageError("gone")),
    }
    with failpoints.armed(broken), pytest.raises(Exception, match="must be recovered first"):
        write(store, inserting(["x"], A, B))
    assert only_pending(store).lease.ttl_ms == 0
    write(store, inserting(["x"], A, B))
    assert sidecar.pending(store.objects) == []
    assert violations(store) == []
