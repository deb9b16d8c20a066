"""Lazy forks: the refs that give a branch its own lineage of a table it writes for the first time."""

from __future__ import annotations

from omnigraph.errors import Corrupt, ReadSetChanged, StorageError
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.layout import Address
from omnigraph.storage.base.store import Store
from omnigraph.storage.intent.sidecar import TablePlan
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.refs import read_ref
from omnigraph.storage.lance.tables import Ref, TableHandle

_MAX_SUFFIX = 10_000


def fork_ref(store: Store, trunk: Address, ref: str, *, source: str | None, version: int) -> tuple[str, bool]:
    """The name for a table's ref of a branch, forked from exactly (source, version), and whether it exists already.

    A ref with another parent, or a tree that a deleted ref left behind, keeps its name: a suspended writer may still
    be using it.
    """
    for name in [ref, *(f"{ref}--{k}" for k in range(2, _MAX_SUFFIX))]:
        found = read_ref(trunk, name)  # a listing would read the file of every other branch
        if found is not None:
            if _forked_from(found, source, version):
                return name, True
        elif not store.objects.exists(f"{trunk.location}/tree/{name}"):
            return name, False
    raise Corrupt(f"{trunk.uri} has no free name for a ref like '{ref}'")


def create_fork(plan: TablePlan, address: Address) -> TableHandle:
    """Create the planned ref and open it at its base; ReadSetChanged when another writer was faster."""
    assert plan.fork is not None
    assert plan.table_branch is not None
    trunk = tables.open_table(address.trunk, control=True)
    try:
        tables.create_ref(trunk, plan.table_branch, source=plan.fork.source_branch, version=plan.fork.source_version)
    except StorageError:
        # A lost race and a lost acknowledgement look alike; what counts is the ref that exists now.
        found = read_ref(address.trunk, plan.table_branch)
        if found is None:
            raise
        if not _forked_from(found, plan.fork.source_branch, plan.fork.source_version):
            raise ReadSetChanged(f"table:{plan.table_key}", expected=plan.fork, actual=found.parent_version) from None
    failpoints.hit("fork.post_create_pre_open")
    opened = tables.open_table(address)
    if opened.version != plan.base_version:
        raise ReadSetChanged(f"table:{plan.table_key}", expected=plan.base_version, actual=opened.version)
    return opened


def _forked_from(ref: Ref, source: str | None, version: int) -> bool:
    return ref.parent == source and ref.parent_version == version
