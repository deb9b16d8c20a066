"""The part of the crash matrix where branches are created, renamed, deleted and reclaimed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from omnigraph.errors import Conflict
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches import branches
from omnigraph.storage.intent.control import hold_control
from omnigraph.storage.maintenance.orphans import reclaim_files, reclaim_orphans
from omnigraph.testing.graphs.tiny import A, contents, inserting, upserting, write

DOOMED, RENAMED = "doomed", "renamed"
ROW = "d"  # what only the branch has that is renamed or deleted


def _create(store: Store) -> None:
    branches.create_branch(store, "fresh")


def _rename(store: Store) -> None:
    branches.rename_branch(store, DOOMED, RENAMED)


def _delete(store: Store) -> None:
    branches.delete_branch(store, DOOMED)


def _delete_renamed(store: Store) -> None:
    """A branch that goes takes the refs of its former names along."""
    _rename(store)
    branches.delete_branch(store, RENAMED)


def _reclaim(store: Store) -> None:
    _delete(store)
    with hold_control(store, "cleanup") as control:
        reclaim_orphans(store, control)
        reclaim_files(store, control)


ACTIONS: Mapping[str, Callable[[Store], None]] = {
    "create": _create,
    "rename": _rename,
    "delete": _delete,
    "delete renamed": _delete_renamed,
    "reclaim": _reclaim,
}

# A rename seals as a deletion does: of its own, the first hit of that hook is the rename's. Of the deletion that
# follows, each hook but that of the seal is passed twice: for the present name and for the former one.
POINTS: tuple[tuple[str, str], ...] = (
    ("create", "branch_create.pre_native=kill"),
    ("create", "branch_create.post_native=kill"),
    ("create", "branch_create.post_registry=kill"),
    ("rename", "branch_rename.post_native=kill"),
    ("rename", "branch_rename.pre_seal=kill"),
    ("rename", "branch_delete.pre_seal=kill"),
    ("rename", "branch_rename.post_seal=kill"),
    ("delete", "branch_delete.pre_seal=kill"),
    ("delete", "branch_delete.post_seal=kill"),
    ("delete", "branch_delete.post_native=kill"),
    ("delete", "branch_delete.before_table_cleanup=kill"),
    ("delete renamed", "branch_delete.pre_seal=kill@2"),
    ("delete renamed", "branch_delete.post_seal=kill@1"),
    ("delete renamed", "branch_delete.post_native=kill@1"),
    ("delete renamed", "branch_delete.post_seal=kill@2"),
    ("delete renamed", "branch_delete.post_native=kill@2"),
    ("delete renamed", "branch_delete.before_table_cleanup=kill@2"),
    ("reclaim", "cleanup.mid_reclaim=kill"),
)


def prepare(store: Store) -> None:
    """The branch that is renamed or deleted, with a row of its own."""
    branches.create_branch(store, DOOMED)
    write(store, inserting([ROW], A), DOOMED)


def problems(store: Store) -> list[str]:
    """What is wrong after a crash: names that show the wrong rows, cannot be written to, cannot go or come again."""
    found = []
    with suppress(Conflict):
        branches.create_branch(store, "fresh")
    write(store, upserting(["after"], A), "fresh")
    there = branches.list_branches(store)
    for name in (RENAMED, DOOMED):  # the new name first: where both are left, the former one is its parent
        if name not in there:
            continue
        if ROW not in contents(store, A, name):
            found.append(f"'{name}' has lost its row")
        write(store, upserting(["after"], A), name)
        if name == DOOMED and RENAMED not in there:
            branches.rename_branch(store, DOOMED, RENAMED)  # nothing that was left keeps it from being renamed
            name = RENAMED
        branches.delete_branch(store, name)
    branches.create_branch(store, DOOMED)
    if ROW in contents(store, A, DOOMED):
        found.append("a re-created branch shows rows of its predecessor")
    return found
