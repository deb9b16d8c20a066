"""What cleanup must keep: the versions that live branches, their common past, and tags depend on.

Everything is read fresh. A branch that cannot be read is a reason to keep everything, never to remove something.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from omnigraph.errors import BranchNotFound, Conflict, OmnigraphError
from omnigraph.storage import manifest, tables, tags
from omnigraph.storage.branches import list_branches
from omnigraph.storage.drift import refuse_drift, subject
from omnigraph.storage.layout import normalize_branch
from omnigraph.storage.manifest import ManifestState
from omnigraph.storage.snapshot import Snapshot
from omnigraph.storage.store import Store


@dataclass(slots=True)
class Needs:
    """Versions of main lineages that must stay, by dataset location."""

    states: dict[str, ManifestState] = field(default_factory=dict)
    floors: dict[str, int] = field(default_factory=dict)
    kept: dict[str, set[int]] = field(default_factory=dict)

    def keep(self, snapshot: Snapshot) -> None:
        """Keep what one snapshot pins; versions of forks are never removed, so only main lineages count."""
        for entry in snapshot:
            if entry.ref is None:
                self.kept.setdefault(entry.location, set()).add(entry.version)


def needs_of(store: Store) -> Needs:
    """Read every live branch and every tag; refuses when one cannot be read, or when main has drifted."""
    needs = Needs()
    for name in list_branches(store):
        state = needs.states[name] = _classified(store, name)
        for entry in state.snapshot:
            if entry.ref is None:
                needs.floors[entry.location] = min(entry.version, needs.floors.get(entry.location, entry.version))
        needs.keep(state.snapshot)
    for entry in needs.states["main"].snapshot:
        refuse_drift(store, entry)
    for tag in tags.list_tags(store):
        try:
            needs.keep(manifest.load_version(store.root, tag.branch, tag.manifest_version).snapshot)
        except BranchNotFound:
            continue  # its branch was deleted, so nothing can read it any more
    return needs


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
