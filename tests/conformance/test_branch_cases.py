"""The numbered branch cases at storage level: names, creation, deletion, retirement and lazy forks."""

from __future__ import annotations

import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from omnigraph.errors import BadRequest, BranchNotFound, Conflict, ReadSetChanged, StorageError
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.layout import MANIFEST, ref_file
from omnigraph.storage.base.ref_names import branch_of
from omnigraph.storage.base.store import Store, store_for
from omnigraph.storage.branches import branches
from omnigraph.storage.branches.branches import branch_name, create_branch, delete_branch, list_branches
from omnigraph.storage.intent import sidecar
from omnigraph.storage.intent.control import hold_control
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.refs import read_ref, ref_names
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.branch_refs import require_ref
from omnigraph.storage.manifest.rows import ControlRow
from omnigraph.storage.manifest.snapshot import TableEntry
from omnigraph.storage.protocol import recovery
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.crash.processes import Child, WritingChild, children
from omnigraph.testing.graphs.tiny import (
    LONG_LEASES,
    A,
    B,
    K,
    contents,
    deleting,
    end_control,
    end_lease,
    inserting,
    updating,
    write,
)  # fmt: skip


def case(*numbers: str) -> pytest.MarkDecorator:
    """Puts the number of a specification case into the id of its test."""
    return pytest.mark.parametrize("case", [pytest.param(number, id=number) for number in numbers])


def entry(store: Store, key: str, branch: str | None) -> TableEntry:
    return manifest.load(store.root, branch).state.snapshot.entry(key)


def trees(store: Store) -> list[str]:
    return sorted(name for name in store.objects.list_tree(f"{MANIFEST}/tree") if name)


def owners(refs: set[str]) -> list[str]:
    return sorted(branch_of(ref) for ref in refs)


def table_refs(store: Store, key: str) -> set[str]:
    trunk = tables.open_table(store.root.table(entry(store, key, None).location))
    return set(tables.list_refs(trunk))


@case("V5")
@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("main", BadRequest),
        ("", BadRequest),
        ("  ", BadRequest),
        ("bad branch", BadRequest),
        ("__schema_apply_lock__", BadRequest),
        ("/a", BadRequest),
        ("a/", BadRequest),
        ("a//b", BadRequest),
        ("a/../b", BadRequest),
        ("x.lock", BadRequest),
        ("feature--2", BadRequest),
        ("existing", Conflict),
    ],
)
def test_a_name_that_cannot_be_created_is_refused_without_a_tree(
    store: Store, case: str, name: str, error: type[Exception]
) -> None:
    create_branch(store, "existing")
    before = trees(store)
    with pytest.raises(error):
        create_branch(store, name)
    assert trees(store) == before
    assert list_branches(store) == ["main", "existing"]


def test_names_are_trimmed_and_main_is_none() -> None:
    assert (branch_name(" main "), branch_name(" review/x-1_2.b ")) == (None, "review/x-1_2.b")


@case("V6")
def test_names_that_would_nest_on_disk_cannot_both_live(store: Store, case: str) -> None:
    create_branch(store, "review")
    with pytest.raises(Conflict, match="nest"):
        create_branch(store, "review/x")
    create_branch(store, "a/x")
    create_branch(store, "a/y")
    with pytest.raises(Conflict, match="nest"):
        create_branch(store, "a")
    write(store, inserting(["on-x"], A), "a/x")
    assert "on-x" not in contents(store, A, "a/y")
    assert list_branches(store) == ["main", "a/x", "a/y", "review"]


def _create(root: str, results: str) -> None:
    try:
        create_branch(store_for(root, LONG_LEASES), "contended")
        answer = "created"
    except Conflict:
        answer = "conflict"
    with open(results, "a") as file:
        file.write(answer + "\n")


@case("V7")
def test_of_six_processes_that_create_one_branch_one_succeeds(store: Store, case: str, tmp_path: Path) -> None:
    results = tmp_path / "results"
    crowd = [children().Process(target=_create, args=(store.root.uri, str(results))) for _ in range(6)]
    for process in crowd:
        process.start()
    for process in crowd:
        process.join(60)
    assert sorted(results.read_text().split()) == ["conflict"] * 5 + ["created"]
    write(store, inserting(["x"], A), "contended")
    assert set(contents(store, A, "contended")) == {"seed", "x"}
    assert violations(store) == []


@case("V8")
def test_a_tree_left_without_a_ref_does_not_block_the_next_create(store: Store, case: str) -> None:
    create_branch(store, "feature")
    store.objects.delete(f"{MANIFEST}/{ref_file(require_ref(store.root, 'feature').name)}")
    assert list_branches(store) == ["main"]
    create_branch(store, "feature")
    write(store, inserting(["x"], A), "feature")
    assert set(contents(store, A, "feature")) == {"seed", "x"}


@case("V10")
def test_the_branch_in_use_cannot_be_deleted(store: Store, case: str) -> None:
    create_branch(store, "feature")
    with pytest.raises(Conflict, match="currently active"):
        delete_branch(store, "feature", bound="feature")
    assert list_branches(store) == ["main", "feature"]


@pytest.mark.parametrize(
    ("name", "error"), [("main", BadRequest), ("__schema_apply_lock__", BadRequest), ("nope", BranchNotFound)]
)
def test_a_branch_that_cannot_be_deleted_is_named(store: Store, name: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        delete_branch(store, name)


@case("V11")
def test_a_branch_others_depend_on_cannot_be_deleted(store: Store, case: str) -> None:
    create_branch(store, "parent")
    write(store, inserting(["p"], A), "parent")
    create_branch(store, "child", source="parent")
    with pytest.raises(Conflict, match="still depends"):
        delete_branch(store, "parent")
    assert set(contents(store, A, "child")) == {"seed", "p"}
    delete_branch(store, "child")
    delete_branch(store, "parent")
    assert list_branches(store) == ["main"]


@case("V12")
def test_a_deleted_branch_is_gone_and_main_is_intact(store: Store, case: str) -> None:
    create_branch(store, "feature")
    write(store, inserting(["f"], A, B), "feature")
    assert owners(table_refs(store, A)) == ["feature"] == owners(table_refs(store, B))
    delete_branch(store, "feature")
    with pytest.raises(BranchNotFound):
        contents(store, A, "feature")
    with pytest.raises(BranchNotFound):
        write(store, inserting(["f2"], A), "feature")
    assert table_refs(store, A) == set() == table_refs(store, B)
    write(store, inserting(["m"], A))
    assert set(contents(store, A)) == {"seed", "m"}
    assert violations(store) == []


@case("V13")
def test_a_deleted_name_can_be_used_again_at_once(store: Store, case: str) -> None:
    """Decision 0031: an incarnation has a ref of its own, so the name need not rest."""
    create_branch(store, "feature")
    write(store, inserting(["old"], A), "feature")
    delete_branch(store, "feature")
    create_branch(store, "feature")
    write(store, inserting(["new"], A), "feature")
    assert set(contents(store, A, "feature")) == {"seed", "new"}
    assert violations(store) == []


@case("V13")
def test_a_single_process_may_reuse_a_deleted_name_at_once(store: Store, case: str) -> None:
    alone = replace(store, settings=replace(LONG_LEASES, writers="single_process"))
    create_branch(alone, "feature")
    write(alone, inserting(["old"], A), "feature")
    delete_branch(alone, "feature")
    assert trees(alone) == []
    create_branch(alone, "feature")
    write(alone, inserting(["new"], A), "feature")
    assert set(contents(alone, A, "feature")) == {"seed", "new"}


@case("V14")
@pytest.mark.parametrize("point", ["table_commit.pre@1", "publish.pre_commit@1"])
@pytest.mark.parametrize("again", [False, True], ids=["deleted", "deleted-and-created"])
def test_a_writer_suspended_across_the_delete_cannot_publish(
    store: Store, case: str, point: str, *, again: bool
) -> None:
    hook, _, count = point.partition("@")
    create_branch(store, "feature")
    write(store, inserting(["f"], A, B), "feature")
    parked = WritingChild(
        Path(store.root.uri), LONG_LEASES, f"{hook}=stop@{count}", ("late",), (A, B), branch="feature"
    )
    parked.wait_stopped()
    delete_branch(store, "feature")
    if again:
        create_branch(store, "feature")
        write(store, inserting(["new"], A, B), "feature")  # waits for nobody: the sleeper's claim is on another branch
    assert parked.resume().error == ("ReadSetChanged" if again else "BranchNotFound")
    if not again:
        create_branch(store, "feature")
        write(store, inserting(["new"], A, B), "feature")
    assert set(contents(store, A, "feature")) == {"seed", "new"} == set(contents(store, B, "feature"))
    recovery.sweep(store)
    assert violations(store) == []


def test_the_first_writer_of_a_branch_suspended_across_the_delete_cannot_publish(store: Store) -> None:
    """No head row exists yet, so the row of the branch is all that its publication and the seal have in common."""
    create_branch(store, "feature")
    parked = WritingChild(
        Path(store.root.uri), LONG_LEASES, "publish.pre_commit=stop@1", ("late",), (A,), branch="feature"
    )
    parked.wait_stopped()
    ref = require_ref(store.root, "feature").name
    delete_branch(store, "feature")
    assert parked.resume().error == "BranchNotFound"
    sealed = manifest.peek(store.root, ref)
    assert sealed is not None
    assert sealed.state.graph_head is None


def test_an_intent_for_a_deleted_branch_does_not_concern_its_namesake(store: Store) -> None:
    create_branch(store, "feature")
    write(store, inserting(["f"], A), "feature")
    spec = "table_commit.ack_lost=kill@1"
    dead = WritingChild(Path(store.root.uri), LONG_LEASES, spec, ("late",), (A, B), branch="feature").finish()
    assert dead.exit_code == -signal.SIGKILL
    delete_branch(store, "feature")
    create_branch(store, "feature")
    namesake = manifest.load(store.root, "feature").state.version
    (recovered,) = recovery.sweep(store)
    assert recovered.kind == "OrphanedBranchDiscarded"
    assert manifest.load(store.root, "feature").state.version == namesake, (
        "no decision of another branch is noted in it"
    )
    write(store, inserting(["new"], A, B), "feature")
    assert set(contents(store, A, "feature")) == {"seed", "new"}
    assert violations(store) == []


@case("V15")
def test_the_first_write_forks_only_the_table_it_touches(store: Store, case: str) -> None:
    create_branch(store, "feature")
    before = entry(store, A, None)
    write(store, inserting(["f"], A), "feature")
    forked = entry(store, A, "feature")
    assert (forked.ref, forked.version) == (require_ref(store.root, "feature").name, before.version + 1)
    assert entry(store, K, "feature").ref is None
    assert entry(store, A, None) == before
    write(store, inserting(["g"], A), "feature")
    assert entry(store, A, "feature").version == before.version + 2
    assert (set(contents(store, A)), set(contents(store, A, "feature"))) == ({"seed"}, {"seed", "f", "g"})


@case("V16")
def test_a_delete_forks_only_tables_with_matching_rows(store: Store, case: str) -> None:
    write(store, inserting(["gone"], A, B))
    write(store, deleting(["gone"], B))
    create_branch(store, "feature")
    write(store, deleting(["gone"], A, B, K), "feature")
    ref = require_ref(store.root, "feature").name
    assert [entry(store, key, "feature").ref for key in (A, B, K)] == [ref, None, None]
    assert (table_refs(store, B), table_refs(store, K)) == (set(), set())
    assert ("gone" in contents(store, A), "gone" in contents(store, A, "feature")) == (True, False)


@case("V17")
def test_two_first_writers_of_a_branch_table_share_one_fork(store: Store, case: str) -> None:
    create_branch(store, "feature")
    parked = WritingChild(
        Path(store.root.uri), LONG_LEASES, "fork.post_create_pre_open=stop", ("late",), (A,), branch="feature"
    )
    parked.wait_stopped()
    end_lease(store)
    write(store, inserting(["mine"], A), "feature")  # reuses the other's ref
    assert parked.resume().commit is not None
    assert owners(table_refs(store, A)) == ["feature"]
    assert set(contents(store, A, "feature")) == {"seed", "mine", "late"}
    assert violations(store) == []


@case("V18")
def test_a_stale_ref_with_another_parent_is_left_alone(store: Store, case: str) -> None:
    trunk = tables.open_table(store.root.table(entry(store, A, None).location))
    create_branch(store, "feature")
    ref = require_ref(store.root, "feature").name
    tables.create_ref(trunk, ref, source=None, version=1)
    write(store, inserting(["f"], A), "feature")
    assert entry(store, A, "feature").ref == f"{ref}--2"
    assert set(contents(store, A, "feature")) == {"seed", "f"}
    write(store, updating(["f"], A, value=7), "feature")
    assert entry(store, A, "feature").ref == f"{ref}--2"
    assert contents(store, A, "feature")["f"] == ("", 7)


def test_an_untouched_fork_of_a_dead_writer_is_reused(store: Store) -> None:
    create_branch(store, "feature")
    dead = WritingChild(
        Path(store.root.uri), LONG_LEASES, "mutation.post_table_commit=kill@1", ("late",), (A, B), branch="feature"
    )
    dead.finish()
    write(store, inserting(["mine"], A, B), "feature")
    assert [entry(store, key, "feature").ref for key in (A, B)] == [require_ref(store.root, "feature").name] * 2
    assert set(contents(store, A, "feature")) == {"seed", "mine"} == set(contents(store, B, "feature"))
    assert violations(store) == []


def test_a_branch_of_a_branch_sees_its_parents_rows_and_not_the_reverse(store: Store) -> None:
    create_branch(store, "one")
    write(store, inserting(["a"], A), "one")
    create_branch(store, "two", source="one")
    write(store, inserting(["b"], A, B), "two")
    write(store, inserting(["c"], A), "one")
    assert set(contents(store, A, "two")) == {"seed", "a", "b"}
    assert set(contents(store, A, "one")) == {"seed", "a", "c"}
    assert violations(store) == []


def test_one_ref_read_alone_equals_the_same_ref_in_the_listing(store: Store) -> None:
    create_branch(store, "review/one")
    write(store, inserting(["x"], A), "review/one")
    create_branch(store, "two", source="review/one")
    listed = tables.list_refs(tables.open_table(store.root.manifest(), control=True))
    assert owners(set(listed)) == ["review/one", "two"]
    assert {name: read_ref(store.root.manifest(), name) for name in listed} == listed
    assert set(ref_names(store.root.manifest())) == set(listed)
    assert read_ref(store.root.manifest(), "nope") is None


def test_a_branch_that_another_was_created_from_is_not_deleted(store: Store) -> None:
    create_branch(store, "parent")
    create_branch(store, "child", source="parent")
    with pytest.raises(Conflict, match="branch 'child' still depends on it"):
        delete_branch(store, "parent")
    assert list_branches(store) == ["main", "child", "parent"]
    delete_branch(store, "child")
    delete_branch(store, "parent")
    assert list_branches(store) == ["main"]


def test_control_held_elsewhere_is_waited_for_and_then_named(store: Store) -> None:
    impatient = replace(store, settings=replace(LONG_LEASES, writer_wait_ms=50))
    with hold_control(store, "cleanup"), pytest.raises(Conflict, match="another cleanup"):
        create_branch(impatient, "feature")
    create_branch(impatient, "feature")


def _sleep_in(place: tuple[str, str, str]) -> None:
    """Create or delete a branch in a process that stops at a failpoint, so that its claim can be ended."""
    root, results, point = place
    slept = store_for(root, LONG_LEASES)
    try:
        with failpoints.armed(f"{point}=stop"):
            (create_branch if point.startswith("branch_create") else delete_branch)(slept, "feature")
        answer = "done"
    except ReadSetChanged as error:
        answer = f"refused {error}"
    Path(results).write_text(answer)


def test_a_deleter_that_slept_through_its_claim_cannot_seal_the_branch_that_others_kept(
    store: Store, tmp_path: Path
) -> None:
    create_branch(store, "feature")
    place = store.root.uri, str(tmp_path / "answer"), "branch_delete.pre_seal"
    deleter = Child(_sleep_in, place, tmp_path / "none")
    deleter.wait_stopped()
    end_control(store)
    create_branch(store, "another")  # takes over, and finds a delete without its seal
    deleter.resume()
    assert (tmp_path / "answer").read_text().startswith("refused")
    write(store, inserting(["x"], A), "feature")
    recovery.sweep(store)
    assert violations(store) == []
    delete_branch(store, "feature")
    assert list_branches(store) == ["main", "another"]


def test_a_creator_that_slept_through_its_claim_takes_its_branch_back(store: Store, tmp_path: Path) -> None:
    """Whoever took control meanwhile was told that there is no such branch, and may have removed what it needs."""
    place = store.root.uri, str(tmp_path / "answer"), "branch_create.pre_native"
    creator = Child(_sleep_in, place, tmp_path / "none")
    creator.wait_stopped()
    end_control(store)
    with hold_control(store, "cleanup"):
        pass
    creator.resume()
    assert (tmp_path / "answer").read_text().startswith("refused")
    recovery.sweep(store)
    assert list_branches(store) == ["main"]
    assert violations(store) == []


def test_deletes_left_unfinished_keep_nobody_from_opening(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    create_branch(store, "feature")
    with failpoints.armed("branch_delete.post_seal=raise"), pytest.raises(StorageError):
        delete_branch(store, "feature")
    impatient = replace(store, settings=replace(LONG_LEASES, writer_wait_ms=50))
    # Control is free at a first look and taken by somebody else before it can be taken.
    monkeypatch.setattr(branches, "control_is_held", lambda _store, _holder: False)
    with hold_control(store, "cleanup"):
        assert recovery.sweep(impatient) == []
        assert list_branches(store) == ["main", "feature"]
    recovery.sweep(store)
    assert list_branches(store) == ["main"]


def test_a_claim_is_renewed_while_there_is_much_to_do_and_not_when_it_was_lost(store: Store) -> None:
    hasty = replace(store, settings=replace(LONG_LEASES, control_ttl_ms=0))
    with hold_control(store, "branch_delete") as control:
        control.acquired -= control.ttl_ms / 1_000
        control.require()
        assert control.acquired > time.monotonic() - control.ttl_ms / 2_000
    with hold_control(hasty, "branch_delete") as lost:
        manifest.publish_rows(manifest.load(store.root), [ControlRow(99)])
        with pytest.raises(ReadSetChanged, match="graph_control"):
            lost.require()


def test_a_schema_change_that_lasts_is_waited_for_and_then_refuses_writes(store: Store) -> None:
    impatient = replace(store, settings=replace(LONG_LEASES, writer_wait_ms=50))
    with hold_control(store, "schema_apply"), failpoints.armed() as plan:
        with pytest.raises(Conflict, match="schema apply is in progress"):
            write(impatient, inserting(["x"], A))
        with pytest.raises(Conflict, match="another schema_apply is in progress"):
            create_branch(impatient, "feature")
        assert plan.hits["capture.awaits_schema_change"] > 0
    write(impatient, inserting(["x"], A))


def test_a_branch_created_by_a_process_that_died_before_registering_it_still_works(store: Store) -> None:
    with failpoints.armed("branch_create.post_native=raise"), pytest.raises(Exception, match="branch_create"):
        create_branch(store, "feature")
    assert manifest.load(store.root, "feature").state.branch_row is None
    write(store, inserting(["x"], A), "feature")
    registered = manifest.load(store.root, "feature").state.branch_row
    assert registered is not None
    assert registered.identifier == require_ref(store.root, "feature").identifier
    delete_branch(store, "feature")
    assert list_branches(store) == ["main"]
    assert sidecar.pending(store.objects) == []
