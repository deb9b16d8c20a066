"""The publication door: what a commit's rows are, and what it refuses to make visible."""

from __future__ import annotations

from dataclasses import replace

import pytest

from omnigraph.errors import BadRequest, Corrupt, ExpectedVersionMismatch, OperationAborted, ReadSetChanged
from omnigraph.ids import new_ulid, now_micros
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.store import Store
from omnigraph.storage.intent.capture import capture
from omnigraph.storage.intent.control import hold_control
from omnigraph.storage.intent.publication import Publication, Published
from omnigraph.storage.intent.writeset import ManifestDelta, Rename
from omnigraph.storage.lance.evidence import VersionEvidence
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.rows import SchemaRow, TombstoneRow, VersionRow
from omnigraph.storage.protocol import fence
from omnigraph.storage.protocol.fence import Abort
from omnigraph.storage.protocol.publish import publish
from omnigraph.testing.graphs.tiny import A, B

EVIDENCE = VersionEvidence("somewhere")


def state_of(store: Store) -> ManifestState:
    return manifest.load(store.root).state


def publishing(store: Store, **changes: object) -> Published:
    publication = Publication(
        branch=None, commit_id=new_ulid(), created_at=now_micros(), token=capture(store, None).token
    )
    return publish(store, replace(publication, **changes))  # type: ignore[arg-type]


def test_a_commit_names_its_parents_and_becomes_the_head(store: Store) -> None:
    before = state_of(store)
    merged = new_ulid()
    done = publishing(store, merged_parent=merged, actor_id="act-ana")
    assert (done.commit.parent_commit_id, done.commit.merged_parent_commit_id) == (before.graph_head, merged)
    assert state_of(store).graph_head == done.commit.graph_commit_id
    assert done.commit.manifest_version == before.version + 1


def test_publishing_an_operation_twice_returns_the_first_commit(store: Store) -> None:
    operation = new_ulid()
    first = publishing(store, commit_id=operation)
    again = publishing(store, commit_id=operation)
    assert first.commit == again.commit
    assert len(state_of(store).lineage) == 3


def test_an_aborted_operation_cannot_be_published(store: Store) -> None:
    operation = new_ulid()
    fence.settle(store, None, operation, Abort("Mutation", "writer", "test"))
    with pytest.raises(OperationAborted):
        publishing(store, commit_id=operation)


@pytest.mark.parametrize(
    ("field", "value", "member"),
    [
        ("graph_head", "01J00000000000000000000000", "graph_head:main"),
        ("graph_head", None, "graph_head:main"),
        ("schema_ir_hash", "sha256:other", "schema_ir_hash"),
        ("branch_identifier", ((1, "x"),), "branch_identifier:main"),
    ],
)
def test_a_token_that_no_longer_holds_names_what_moved(store: Store, field: str, value: object, member: str) -> None:
    stale = replace(capture(store, None).token, **{field: value})  # type: ignore[arg-type]
    with pytest.raises(ReadSetChanged) as caught:
        publishing(store, token=stale)
    assert caught.value.member == member


def test_a_head_that_moves_between_load_and_commit_is_never_silently_reparented(store: Store) -> None:
    moved = [False]

    def move() -> None:
        if not moved[0]:
            moved[0] = True
            publishing(store)

    with failpoints.armed({"publish.pre_commit": move}), pytest.raises(ReadSetChanged, match="graph_head:main"):
        publishing(store)


@pytest.mark.parametrize("moved", [-1, 1])
def test_a_table_that_moved_since_the_plan_is_named(store: Store, moved: int) -> None:
    current = state_of(store).snapshot.entry(A).version
    with pytest.raises(ExpectedVersionMismatch) as caught:
        publishing(store, expected={A: current + moved})
    assert (caught.value.table_key, caught.value.actual) == (A, current)


def test_a_version_cannot_go_back(store: Store) -> None:
    current = state_of(store).snapshot.entry(A)
    with pytest.raises(ExpectedVersionMismatch):
        publishing(store, versions=(VersionRow(A, current.version - 1, None, 0, EVIDENCE),))


@pytest.mark.parametrize(
    "change", [{"ref": "elsewhere"}, {"row_count": 7}, {"evidence": EVIDENCE}], ids=lambda c: next(iter(c))
)
def test_a_version_is_published_once(store: Store, change: dict[str, object]) -> None:
    before = state_of(store)
    other = replace(before.published[A], **change)  # type: ignore[arg-type]
    with pytest.raises(ExpectedVersionMismatch) as caught:
        publishing(store, versions=(other,))
    assert caught.value.actual == before.published[A].version
    assert state_of(store).published == before.published


def test_a_hidden_table_comes_back_above_the_version_it_was_hidden_at(store: Store) -> None:
    hidden = state_of(store).published[B]
    publishing(store, delta=ManifestDelta(tombstones=(TombstoneRow(B, hidden.version + 3),)))
    with pytest.raises(ExpectedVersionMismatch):
        publishing(store, versions=(replace(hidden, version=hidden.version + 3),))
    done = publishing(store, versions=(replace(hidden, version=hidden.version + 4),))
    assert done.state.snapshot.entry(B).version == hidden.version + 4


def test_the_version_that_is_published_already_needs_no_row(store: Store) -> None:
    current = state_of(store).published[A]
    done = publishing(store, versions=(current,))
    assert done.state.published[A] == current


def test_two_versions_of_one_table_in_one_commit_are_refused(store: Store) -> None:
    rows = (VersionRow(A, 7, None, 0, EVIDENCE), VersionRow(A, 8, None, 0, EVIDENCE))
    with pytest.raises(BadRequest, match="two versions"):
        publishing(store, versions=rows)


def test_a_state_that_could_not_be_read_back_is_refused_before_it_is_written(store: Store) -> None:
    before = state_of(store).version
    with pytest.raises(Corrupt, match="unregistered"):
        publishing(store, versions=(VersionRow("node:Ghost", 1, None, 0, EVIDENCE),))
    assert state_of(store).version == before


def test_a_rename_hides_the_old_key_and_keeps_place_version_and_identity(store: Store) -> None:
    old = state_of(store).snapshot.entry(A)
    done = publishing(store, delta=ManifestDelta(renames=(Rename(A, "node:Renamed"),)))
    new = done.state.snapshot.entry("node:Renamed")
    assert A not in done.state.snapshot.entries
    assert replace(new, table_key=A) == old
    assert done.state.registrations["node:Renamed"].renamed_from == A
    store.memory.clear()
    assert state_of(store).snapshot == done.state.snapshot


def test_a_tombstone_hides_a_table(store: Store) -> None:
    pin = state_of(store).snapshot.entry(B).version
    done = publishing(store, delta=ManifestDelta(tombstones=(TombstoneRow(B, pin),)))
    assert B not in done.state.snapshot.entries
    assert done.state.current_version(B) == pin


def test_only_the_holder_of_control_publishes_a_schema(store: Store) -> None:
    target = SchemaRow("sha256:shape2", "sha256:ir2", new_ulid())
    operation = new_ulid()
    with pytest.raises(ReadSetChanged, match="graph_control"):
        publishing(store, commit_id=operation, delta=ManifestDelta(target_schema=target))
    with hold_control(store, "schema_apply", operation_id=operation):
        token = capture(store, None, control_operation=operation).token
        done = publishing_as(store, operation, token, target)
    assert done.state.schema == target
    assert state_of(store).control is not None


def test_control_that_another_operation_holds_publishes_no_schema(store: Store) -> None:
    before, mine, other = state_of(store), new_ulid(), new_ulid()
    target = SchemaRow("sha256:shape2", "sha256:ir2", new_ulid())
    with hold_control(store, "schema_apply", operation_id=other):
        token = capture(store, None, control_operation=other).token
        with pytest.raises(ReadSetChanged, match="graph_control") as caught:
            publishing_as(store, mine, token, target)
    assert (caught.value.expected, caught.value.actual) == (mine, other)
    assert state_of(store).schema == before.schema


def publishing_as(store: Store, operation: str, token: object, target: SchemaRow) -> Published:
    publication = Publication(
        branch=None,
        commit_id=operation,
        created_at=now_micros(),
        token=token,  # type: ignore[arg-type]
        delta=ManifestDelta(target_schema=target),
    )
    return publish(store, publication)
