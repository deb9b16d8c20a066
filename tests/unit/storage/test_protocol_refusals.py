"""A storage that keeps refusing is named after a few tries: no loop goes on for ever, and no race is blamed for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omnigraph.errors import StorageError
from omnigraph.ids import new_ulid, now_micros
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches.branches import create_branch, delete_branch
from omnigraph.storage.intent import sidecar
from omnigraph.storage.intent.control import hold_control
from omnigraph.storage.intent.publication import Publication
from omnigraph.storage.lance.tables import CommitOutcome, Unknown
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.manifest import Loaded
from omnigraph.storage.manifest.rows import ControlRow
from omnigraph.storage.protocol import fence
from omnigraph.storage.protocol.fence import Abort
from omnigraph.storage.protocol.publish import publish
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.graphs.tiny import A, contents, create_tiny, inserting, write

FULL = StorageError("No space left on device", kind="Permanent")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = create_tiny(tmp_path / "graph")
    write(made, inserting(["seed"]))
    create_branch(made, "feature")
    return made


def take_control(store: Store) -> None:
    with hold_control(store, "cleanup"):
        raise AssertionError("control was never taken")


def settle(store: Store) -> None:
    fence.settle(store, None, new_ulid(), Abort("Mutation", "recovery", "test"))


def publish_nothing(store: Store) -> None:
    publish(store, Publication(branch=None, commit_id=new_ulid(), created_at=now_micros(), token=None))


@pytest.mark.parametrize(
    "work",
    [
        take_control,
        settle,
        publish_nothing,
        lambda store: create_branch(store, "other"),
        lambda store: delete_branch(store, "feature"),
    ],
    ids=["control", "settle", "publish", "create-branch", "delete-branch"],
)
def test_a_manifest_that_cannot_be_written_is_reported_as_what_it_is(
    store: Store, monkeypatch: pytest.MonkeyPatch, work: Callable[[Store], None]
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(manifest, "publish_rows", lambda _loaded, _rows: Unknown(FULL))
        with pytest.raises(StorageError, match="No space left"):
            work(store)
    write(store, inserting(["later"], A))
    assert set(contents(store, A)) == {"seed", "later"}
    assert violations(store) == []


def test_control_whose_answer_was_lost_is_held_all_the_same(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    real = manifest.publish_rows

    def landing_silently(loaded: Loaded, rows: Any) -> CommitOutcome:
        real(loaded, rows)
        return Unknown(FULL) if isinstance(rows[0], ControlRow) else real(loaded, rows)

    with monkeypatch.context() as broken:
        broken.setattr(manifest, "publish_rows", landing_silently)
        with hold_control(store, "cleanup") as control:
            assert control.operation_id
    write(store, inserting(["later"], A))


def test_a_write_whose_publication_keeps_failing_names_the_storage_and_can_be_repeated(store: Store) -> None:
    with failpoints.armed({"publish.pre_commit": _raising}), pytest.raises(StorageError, match="No space left"):
        write(store, inserting(["late"], A))
    assert sidecar.pending(store.objects) == []
    write(store, inserting(["late"], A))
    assert set(contents(store, A)) == {"seed", "late"}


def _raising() -> None:
    raise FULL
