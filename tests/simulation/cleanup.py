"""Cleanup of a simulated graph, put together from the same parts as the verb of the engine, in the same order."""

from __future__ import annotations

from omnigraph.storage.base.store import Store
from omnigraph.storage.intent.control import hold_control
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.reclaim import existing_versions, reclaim_versions
from omnigraph.storage.maintenance.orphans import reclaim_files, reclaim_orphans
from omnigraph.storage.maintenance.retention import needs_of
from omnigraph.storage.manifest.branch_refs import address_of
from omnigraph.storage.protocol.quiesce import require_clean
from omnigraph.storage.protocol.trim import trim_manifest


def clean(store: Store) -> None:
    """Remove every version that no live branch shows, and what deleted branches have left."""
    require_clean(store, "cleanup")
    with hold_control(store, "cleanup") as control:
        reclaim_orphans(store, control)
        reclaim_files(store, control)
        require_clean(store, "cleanup")
        needs = needs_of(store)
        for location in sorted(entry.location for entry in needs.states["main"].snapshot):
            trunk = store.root.table(location)
            refs = tables.list_refs(tables.open_table(trunk, control=True)).values()
            for ref in needs.refs(location):
                newest = tables.open_table(trunk.on(ref), control=True)
                forked = {other.parent_version for other in refs if other.parent == ref}
                doomed = needs.removable(location, ref, existing_versions(newest)[:-1], newest.version) - forked
                control.require()
                reclaim_versions(newest, sorted(doomed))
    for state in needs.states.values():
        trim_manifest(address_of(store.root, state.branch), keep=1)
