"""What must hold of a graph at rest, whatever was killed on the way there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pyarrow.compute as pc

from omnigraph.errors import BranchNotFound
from omnigraph.storage.base.layout import normalize_branch
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches.branches import list_branches
from omnigraph.storage.intent import sidecar
from omnigraph.storage.intent.capture import control_is_held
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.tables import TableHandle
from omnigraph.storage.maintenance.orphans import left_lineages
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.snapshot import TableEntry
from omnigraph.storage.protocol import audit
from omnigraph.storage.protocol.recovery import RECOVERY_ACTOR


def violations(store: Store) -> list[str]:
    """Every broken promise found in the graph, in words; empty when all is well. Call it after a sweep."""
    found = [f"sidecar {operation} is still there" for operation in sidecar.pending(store.objects)]
    states = []
    for name in list_branches(store):
        try:
            states.append(manifest.load(store.root, normalize_branch(name)).state)
        except BranchNotFound:
            found.append(f"{name}: the branch is sealed, but its deletion was never finished")
    for state in states:
        found += _of_branch(store, state)
    return found + list(_of_audit(store, states))


def _of_branch(store: Store, state: ManifestState) -> Iterator[str]:
    name = state.branch or "main"
    holder = state.control.holder if state.control is not None and state.branch is None else None
    if holder is not None and control_is_held(store, holder):
        yield f"graph control is held by {holder.operation_id}"
    chain = [] if state.effective_head is None else list(state.lineage.first_parents(state.effective_head))
    if len(chain) != len(state.lineage):
        yield f"{name}: {len(state.lineage)} commits, but the chain from the head has {len(chain)}"
    for entry in state.snapshot:
        address = entry.address(store.root)
        pinned = tables.open_table(address, entry.version)
        ids = pinned.scan(["id"])["id"]
        counts = pc.value_counts(ids)  # by Arrow: tables of proofs at scale have ten million rows
        repeated = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
        if len(repeated):
            yield f"{name}: {entry.table_key} holds '{repeated[0]}' twice"
        if len(ids) != entry.row_count:
            yield f"{name}: {entry.table_key} has {len(ids)} rows, its entry says {entry.row_count}"
        if state.branch is None or entry.owner == state.branch:
            yield from _undecided(state, tables.open_table(address), entry)


def _undecided(state: ManifestState, newest: TableHandle, entry: TableEntry) -> Iterator[str]:
    """Versions above the published one belong to aborted operations, or keep its content."""
    for version in range(entry.version + 1, newest.version + 1):
        info = newest.transaction(version)
        if info is None or (info.operation_id is None and not tables.preserves_content(newest.address, info)):
            yield f"{state.branch or 'main'}: {entry.table_key} version {version} has no owner"
        elif info.operation_id is not None and info.restored is None and state.decision(info.operation_id) != "aborted":
            yield f"{state.branch or 'main'}: {entry.table_key} version {version} belongs to an open operation"


def _of_audit(store: Store, states: list[ManifestState]) -> Iterator[str]:
    records = audit.records(store.root)
    for operation, count in Counter(record.operation_id for record in records).items():
        if count > 1:
            yield f"operation {operation} has {count} audit rows"
    deleted = any(True for _ in left_lineages(store))  # what was decided there can no longer be looked up
    for record in records:
        wanted = {"RolledForward": "published", "RolledBack": "aborted"}.get(record.kind)
        decided = {state.decision(record.operation_id) for state in states} - {None}
        if wanted is not None and decided != {wanted} and (decided or not deleted):
            yield f"operation {record.operation_id} was {record.kind}, but the branches say {sorted(map(str, decided))}"
    recorded = {record.graph_commit_id for record in records}
    for state in states:
        for commit in state.lineage.newest_first():
            if commit.actor_id == RECOVERY_ACTOR and commit.graph_commit_id not in recorded:
                yield f"recovery commit {commit.graph_commit_id} has no audit row"
