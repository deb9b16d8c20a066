"""Attempts: what lance says about a commit is compared with what is there, before a write is tried once more."""

from __future__ import annotations

import gc
from dataclasses import replace

import pytest

from omnigraph import host
from omnigraph.errors import StorageError
from omnigraph.storage.base.gates import Gates
from omnigraph.storage.base.layout import MANIFEST
from omnigraph.storage.base.lease import Heartbeat
from omnigraph.storage.base.objects import Objects
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches.branches import create_branch
from omnigraph.storage.intent import sidecar
from omnigraph.storage.intent.sidecar import Sidecar
from omnigraph.storage.intent.writeset import ManifestDelta, WriteSet
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.tables import CommitOutcome, Landed, Refused, Staged
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.rows import VersionRow
from omnigraph.storage.protocol import audit, recovery
from omnigraph.storage.protocol.attempt import Attempt
from omnigraph.storage.protocol.commit import commit
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.graphs.tiny import A, B, contents, end_lease, inserting, write


class Elsewhere(host.Host):
    """Another machine."""

    def owner(self) -> str:
        return "elsewhere/1/x"


@pytest.mark.parametrize("recovered", [False, True])
def test_a_refused_commit_that_has_landed_counts_once(
    store: Store, monkeypatch: pytest.MonkeyPatch, recovered: bool
) -> None:
    """A client repeats a put whose answer was lost and is refused by its own version; meanwhile others may finish it."""
    real, asked = tables.commit, list[str]()

    def refused_by_itself(staged: Staged) -> CommitOutcome:
        outcome = real(staged)
        if staged.address.location == MANIFEST or asked:
            return outcome
        assert isinstance(outcome, Landed)
        asked.append(staged.uuid)
        if recovered:
            end_lease(store)
            with host.running_on(Elsewhere()):
                recovery.sweep(replace(store, gates=Gates()))
        return Refused("Commit conflict for version 3")

    before = len(manifest.load(store.root).state.lineage)
    with monkeypatch.context() as patched:
        patched.setattr(tables, "commit", refused_by_itself)
        done = write(store, inserting(["mine"], A))
    assert asked
    assert done.commit is not None
    state = manifest.load(store.root).state
    assert state.graph_head == done.commit.graph_commit_id
    assert len(state.lineage) == before + 1
    assert contents(store, A).keys() == {"seed", "mine"}


def test_a_commit_that_was_really_refused_is_tried_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    real, asked = tables.commit, list[str]()

    def refused_once(staged: Staged) -> CommitOutcome:
        if asked or staged.address.location == MANIFEST:
            return real(staged)
        asked.append(staged.uuid)
        return Refused("Commit conflict for version 3")

    with monkeypatch.context() as patched:
        patched.setattr(tables, "commit", refused_once)
        write(store, inserting(["mine"], A, B))
    assert asked
    assert contents(store, A).keys() == contents(store, B).keys() == {"seed", "mine"}


def test_a_version_that_landed_and_could_not_be_looked_at_is_not_published_after_a_failure(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tables.commit

    def landed_without_a_look(staged: Staged) -> CommitOutcome:
        outcome = real(staged)
        if staged.address.location == MANIFEST:
            return outcome
        raise StorageError("connection reset by peer", kind="Transient")

    def unanswered(*_: object) -> None:
        raise StorageError("connection reset by peer", kind="Transient")

    with monkeypatch.context() as patched:
        patched.setattr(tables, "commit", landed_without_a_look)
        patched.setattr(sidecar, "remove", unanswered)
        with pytest.raises(StorageError):
            write(store, inserting(["mine"], A))
    with host.running_on(Elsewhere()):
        end_lease(store)
        recovery.sweep(replace(store, gates=Gates()))
    assert contents(store, A).keys() == {"seed"}


def test_a_merge_by_pointer_that_was_reported_as_failed_is_not_published_later(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but the intent is needed to finish it, so it is decided before its writer is told of an error."""
    create_branch(store, "side")
    write(store, inserting(["theirs"], A), branch="side")
    taken = manifest.load(store.root, "side").state.snapshot.entry(A)
    pointer = VersionRow(A, taken.version, taken.ref, taken.row_count, taken.evidence)

    def armed_without_an_answer(objects: Objects, intent: Sidecar) -> None:
        arm(objects, intent)
        raise StorageError("connection reset by peer", kind="Transient")

    def unanswered(*_: object) -> None:
        raise StorageError("connection reset by peer", kind="Transient")

    arm = sidecar.arm
    merge = WriteSet(writer_kind="BranchMerge", delta=ManifestDelta(pointers=(pointer,)), merged_parent=None)
    with monkeypatch.context() as patched:
        patched.setattr(sidecar, "arm", armed_without_an_answer)
        patched.setattr(sidecar, "remove", unanswered)
        with pytest.raises(StorageError):
            commit(store, None, lambda _txn: merge)
    (left,) = sidecar.pending(store.objects)
    with host.running_on(Elsewhere()):
        end_lease(store)
        recovery.sweep(replace(store, gates=Gates()))
    assert sidecar.pending(store.objects) == []
    assert manifest.load(store.root).state.decision(left) == "aborted"
    assert contents(store, A).keys() == {"seed"}


def test_a_writer_that_slept_leaves_its_intent_to_whoever_takes_it_for_dead(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that has read the intent puts a commit into the history; should it die, another adds the row of the audit."""
    real, slept, read = Heartbeat.lapsed, list[Heartbeat](), list[Sidecar]()

    def lapsed(heartbeat: Heartbeat) -> bool:
        if not slept:
            slept.append(heartbeat)
            found = sidecar.load(store.objects, sidecar.pending(store.objects)[0])
            assert found is not None
            read.append(found)
        return heartbeat in slept or real(heartbeat)

    monkeypatch.setattr(Heartbeat, "lapsed", lapsed)
    done = write(store, inserting(["mine"], A))
    assert done.commit is not None
    assert read[0].operation_id != done.commit.graph_commit_id
    with monkeypatch.context() as patched:
        patched.setattr(audit, "record", _dies)
        with pytest.raises(KeyboardInterrupt):
            recovery._recover(store, read[0], eager_restore=True)
    recovery.sweep(store)
    assert read[0].rollback_commit_id in manifest.load(store.root).state.lineage
    assert violations(store) == []


def _dies(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_what_a_write_was_given_is_freed_when_it_is_done(store: Store) -> None:
    """Not when the garbage collector comes by: after a load of ten million rows their indexes are built first."""
    gc.collect()
    gc.disable()
    try:
        write(store, inserting(["mine"], A))
        left = [each for each in gc.get_objects() if isinstance(each, Attempt | WriteSet)]
    finally:
        gc.enable()
    assert left == []
