"""Private branches: what a transaction that was given up by mistake still leaves behind does no harm."""

from __future__ import annotations

import pytest

from omnigraph.storage.base.layout import MANIFEST, RECOVERY_DIR, ref_file
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches.branches import create_branch, delete_branch
from omnigraph.storage.branches.private_branches import SUFFIX, PrivateBranch, open_private
from omnigraph.storage.intent.control import hold_control
from omnigraph.storage.lance.refs import read_ref
from omnigraph.storage.maintenance.orphans import reclaim_orphans


@pytest.fixture
def given_up(store: Store) -> PrivateBranch:
    """A transaction that slept inside of `create_ref`: others removed all of it, and its ref appears afterwards."""
    private = open_private(store, None)
    file = f"{MANIFEST}/{ref_file(private.branch)}"
    text = store.objects.read(file)
    store.objects.delete_prefix(f"{MANIFEST}/tree/{private.branch}")
    store.objects.delete(f"{RECOVERY_DIR}/{private.transaction_id}{SUFFIX}")
    store.objects.write(file, text)
    return private


def test_its_owner_removes_the_ref_when_it_fails(store: Store, given_up: PrivateBranch) -> None:
    given_up.drop()
    assert read_ref(store.root.manifest(), given_up.branch) is None


def test_a_cleanup_removes_the_ref_of_an_owner_that_died_as_well(store: Store, given_up: PrivateBranch) -> None:
    with hold_control(store, "cleanup") as control:
        reclaim_orphans(store, control)
    assert read_ref(store.root.manifest(), given_up.branch) is None


def test_branches_can_be_deleted_beside_it(store: Store, given_up: PrivateBranch) -> None:
    create_branch(store, "other")
    delete_branch(store, "other")
    assert read_ref(store.root.manifest(), given_up.branch) is None


def test_a_running_transaction_is_not_taken_for_one(store: Store) -> None:
    private = open_private(store, None)
    with hold_control(store, "cleanup") as control:
        reclaim_orphans(store, control)
    assert read_ref(store.root.manifest(), private.branch) is not None
    private.drop()
