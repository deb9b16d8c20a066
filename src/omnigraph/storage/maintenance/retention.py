"""What cleanup must keep: the versions that live branches, their common past, and tags depend on.

Everything is read fresh. A branch that cannot be read is a reason to keep everything, never to remove something.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from omnigraph.errors import BranchNotFound, Conflict, OmnigraphError
from omnigraph.storage.base.layout import normalize_branch
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches import tags
from omnigraph.storage.branches.branches import readable_branches
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.reclaim import existing_versions
from omnigraph.storage.lance.version_files import has_version_file
from omnigraph.storage.maintenance.drift import refuse_drift, subject
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.branch_refs import address_of
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.schema_archive import kept_schemas
from omnigraph.storage.manifest.snapshot import Snapshot
from omnigraph.storage.manifest.trimmed import schema_boundaries

Lineage: TypeAlias = tuple[str, str | None]
"""The location of a dataset and the ref, None for the main lineage."""


@dataclass(slots=True)
class Needs:
    """Versions that must stay, by lineage: those above the floor, and some below it."""

    states: dict[str, ManifestState] = field(default_factory=dict)
    floors: dict[Lineage, int] = field(default_factory=dict)
    kept: dict[Lineage, set[int]] = field(default_factory=dict)
    schemas: set[str | None] = field(default_factory=set)

    def keep(self, snapshot: Snapshot) -> None:
        """Keep what one snapshot pins, and the schema it is read with."""
        self.schemas.add(snapshot.schema_hash)
        for entry in snapshot:
            self.kept.setdefault((entry.location, entry.ref), set()).add(entry.version)

    def refs(self, location: str) -> list[str | None]:
        """The lineages of a dataset that live branches show; the main one first, whether or not they do."""
        return [None, *sorted(ref for place, ref in self.floors if place == location and ref is not None)]

    def removable(self, location: str, ref: str | None, versions: Iterable[int], newest: int) -> set[int]:
        """Those of a lineage's versions that nothing here asks for."""
        floor = self.floors.get((location, ref), newest)
        return {version for version in versions if version < floor} - self.kept.get((location, ref), set())


def needs_of(store: Store) -> Needs:
    """Read every live branch and every tag; refuses when one cannot be read, or when main has drifted."""
    needs = Needs()
    for name in readable_branches(store):
        state = needs.states[name] = _classified(store, name)
        for entry in state.snapshot:
            lineage = entry.location, entry.ref
            needs.floors[lineage] = min(entry.version, needs.floors.get(lineage, entry.version))
        needs.keep(state.snapshot)
    for entry in needs.states["main"].snapshot:
        refuse_drift(store, entry)
    for tag in tags.list_tags(store):
        try:
            needs.keep(manifest.load_commit(store.root, tag.branch, tag.manifest_version, tag.graph_commit_id).snapshot)
        except BranchNotFound:
            continue  # its branch was deleted, so nothing can read it any more
    return needs


def unneeded_schemas(store: Store, needs: Needs) -> list[str]:
    """The kept schemas under which nothing can be read any more; asked under graph control, once versions have gone.

    Versions of a table go oldest first, so the last state under a schema is the one of which something may be left.
    """
    needed = set(needs.schemas)
    for state in needs.states.values():
        newest = tables.open_table(address_of(store.root, state.branch), control=True)
        for version in schema_boundaries(newest, existing_versions(newest)):
            last = manifest.load_version(store.root, state.branch, version).snapshot
            if any(has_version_file(store.objects, entry.address(store.root), entry.version) for entry in last):
                needed.add(last.schema_hash)
    return [found for found in kept_schemas(store.objects) if found not in needed]


def _classified(store: Store, name: str) -> ManifestState:
    try:
        state = manifest.load(store.root, normalize_branch(name)).state
    except OmnigraphError as error:
        raise Conflict(f"could not classify live branch '{name}': {error}") from error
    for entry in state.snapshot:
        try:
            tables.open_table(entry.address(store.root), entry.version, control=True)
        except OmnigraphError as error:
            raise Conflict(
                f"could not classify live branch '{name}': {subject(entry.table_key)} is unreadable ({error})"
            ) from error
    return state
