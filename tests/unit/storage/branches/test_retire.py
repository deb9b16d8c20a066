"""Interrupted deletions are finished or taken back by the ref that they concern, whatever its name stands for now."""

from __future__ import annotations

from omnigraph.ids import now_micros
from omnigraph.storage.base.ref_names import new_ref
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches.branches import create_branch, finish_deletes
from omnigraph.storage.intent.control import hold_control
from omnigraph.storage.lance import tables
from omnigraph.storage.manifest import manifest


def test_a_delete_of_a_ref_that_was_never_registered_and_has_a_successor_keeps_nobody_from_opening(
    store: Store,
) -> None:
    """Its creator slept through its claim; the graph is opened for writing only if this is finished."""
    trunk = tables.open_table(store.root.manifest(), control=True)
    former = new_ref("x", epoch=1, parent=None, version=trunk.version)
    create_branch(store, "x")
    tables.create_ref(trunk, former, source=None, version=trunk.version)
    with hold_control(store, "branch_delete") as control:
        control.retired[former] = now_micros()
    finish_deletes(store)
    left = manifest.load(store.root).state.control
    assert left is not None
    assert not left.retired
