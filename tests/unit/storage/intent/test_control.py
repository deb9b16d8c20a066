"""Graph control: one holder at a time, and whoever lost it learns so before the next destructive step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from omnigraph.errors import ReadSetChanged
from omnigraph.ids import new_ulid
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches.branches import create_branch, list_branches
from omnigraph.storage.branches.retire import is_sealed, seal
from omnigraph.storage.intent.control import Control, hold_control
from omnigraph.storage.lance.tables import Landed
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.branch_refs import require_ref
from omnigraph.testing.graphs.tiny import create_tiny


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return create_tiny(tmp_path / "graph")


def handed_over(store: Store) -> str:
    """Give control to another operation, as if its holder had been taken for dead."""
    loaded, successor = manifest.load(store.root), new_ulid()
    row = loaded.state.control
    assert row is not None
    assert row.holder is not None
    other = replace(row, epoch=row.epoch + 1, holder=replace(row.holder, operation_id=successor))
    assert isinstance(manifest.publish_rows(loaded, [other]), Landed)
    return successor


@pytest.mark.parametrize("step", [Control.confirm, Control.save])
def test_whoever_lost_control_to_another_is_told_so(store: Store, step: Callable[[Control], None]) -> None:
    with hold_control(store, "cleanup") as control:
        step(control)
        successor = handed_over(store)
        with pytest.raises(ReadSetChanged, match="graph_control") as caught:
            step(control)
    assert (caught.value.expected, caught.value.actual) == (control.operation_id, successor)
    row = manifest.load(store.root).state.control
    assert row is not None
    assert row.holder is not None
    assert row.holder.operation_id == successor, "leaving the block takes control from nobody"


def test_whoever_lost_control_seals_nothing(store: Store) -> None:
    create_branch(store, "feature")
    ref = require_ref(store.root, "feature")
    with hold_control(store, "branch_delete") as control:
        handed_over(store)
        with pytest.raises(ReadSetChanged, match="graph_control"):
            seal(store, ref, control)
    assert not is_sealed(store, ref.name)


def test_a_seal_is_meant_for_one_branch_and_not_for_its_name(store: Store) -> None:
    create_branch(store, "feature")
    ref = require_ref(store.root, "feature")
    with hold_control(store, "branch_delete") as control, pytest.raises(ReadSetChanged, match="branch_identifier"):
        seal(store, replace(ref, identifier=((1, "another"),)), control)
    assert not is_sealed(store, ref.name)
    assert list_branches(store) == ["main", "feature"]
