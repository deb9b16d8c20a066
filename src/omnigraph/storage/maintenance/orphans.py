"""Orphans: what deleted branches, and creations that broke off, have left of refs and files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from omnigraph.display import Displayed
from omnigraph.host import wall_time
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.base.layout import MANIFEST, SCHEMA_LOCK_REF, TABLE_DIRS, is_table_location, normalize_branch
from omnigraph.storage.base.ref_names import LANCE_ENTRIES, branch_of, epoch_of, owner_of, ref_of_file
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches.branches import readable_branches
from omnigraph.storage.branches.private_branches import discard_unannounced, live_transactions
from omnigraph.storage.branches.retire import forget_refs
from omnigraph.storage.intent.control import Control
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.refs import ref_names
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.manifest import ManifestState


@dataclass(frozen=True, slots=True)
class Lineage:
    """The files of one ref in one dataset, relative to the root, with their sizes."""

    location: str
    ref: str
    files: dict[str, int] = field(default_factory=dict, compare=False)

    @property
    def path(self) -> str:
        return f"{self.location}/tree/{self.ref}"


@dataclass(frozen=True, slots=True, repr=False)
class FreedBranch(Displayed):
    """What only a deleted branch had held: its files and their bytes, over all datasets."""

    branch: str
    files: int
    bytes: int


def reclaim_orphans(store: Store, control: Control) -> list[str]:
    """Take away those tables, and refs of tables, that no live branch has; returns what was removed.

    A ref that a live branch's snapshot still names is kept, whichever branch it belonged to.
    """
    discard_unannounced(store)
    live = _live_owners(store)
    used = _shown(store)
    known = _tables(store)
    removed = _reclaim_tables(store, set(known), control)
    for location in known:
        refs = tables.list_refs(tables.open_table(store.root.table(location), control=True))
        parents = {ref.parent for ref in refs.values()}
        for name in sorted(refs, key=lambda name: (-len(name), name)):
            if owner_of(name) in live or (location, name) in used or name in parents:
                continue
            forget_refs(store, location, [name], control)
            removed.append(f"{location}/{name}")
    return removed


def _reclaim_tables(store: Store, known: set[str], control: Control) -> list[str]:
    """Remove the tables that no live branch has, or had: their branch is gone, or never got them.

    Tables are only made under graph control, which is held here; one that was changed within the grace is left.
    """
    removed = []
    for kind in sorted(TABLE_DIRS):
        for name in sorted(store.objects.list_entries(kind)):
            location = f"{kind}/{name}"
            if location in known or not is_table_location(location):
                continue
            files = store.objects.list_sizes(location)
            if _age(store, Lineage(location, "", files)) >= store.settings.retire_grace_ms / 1_000:
                control.require()
                store.objects.delete_prefix(location)
                removed.append(location)
    return removed


def deleted_branches(store: Store) -> list[FreedBranch]:
    """What removing the files of deleted branches would free now, by branch."""
    return _freed(_reclaimable(store))


def reclaim_files(store: Store, control: Control) -> list[FreedBranch]:
    """Remove the files of branches that were deleted longer than the grace ago; called once their refs are gone."""
    found = _reclaimable(store)
    # The manifest's last: while it is there, the next cleanup knows how long the branch has been deleted.
    for lineage in sorted(found, key=lambda each: (each.location == MANIFEST, each.path)):
        control.require()
        _remove(store, lineage)
        hit("cleanup.mid_reclaim")
    return _freed(found)


def left_lineages(store: Store, places: Iterable[str] = ()) -> Iterator[Lineage]:
    """The lineages that have files and no ref, of the manifest and of the tables at these places."""
    for location in (MANIFEST, *places):
        live = set(ref_names(store.root.table(location)))
        yield from (each for each in _lineages(store, location) if each.ref not in live)


def _reclaimable(store: Store) -> list[Lineage]:
    """Lineages without a ref whose branch is not live and has been sealed for longer than the grace."""
    places = _tables(store)
    live, left = _live_owners(store), list(left_lineages(store, places))
    grace = store.settings.retire_grace_ms / 1_000
    resting = {each.ref for each in left if each.location == MANIFEST and _age(store, each) < grace}
    kept, needed = live | resting, _parents(store, places) | _shown(store)
    return [each for each in left if owner_of(each.ref) not in kept and (each.location, each.ref) not in needed]


def _live_owners(store: Store) -> set[str]:
    """Refs of the manifest that branches have, and those that a transaction may be about to make."""
    return {*ref_names(store.root.manifest()), *live_transactions(store), SCHEMA_LOCK_REF}


def _shown(store: Store) -> set[tuple[str, str | None]]:
    """The lineages of tables that live branches show."""
    return {(entry.location, entry.ref) for state in _states(store) for entry in state.snapshot}


def _parents(store: Store, places: list[str]) -> set[tuple[str, str | None]]:
    """Lineages that a ref was forked from: its older files are theirs."""
    found: set[tuple[str, str | None]] = set()
    for location in (MANIFEST, *places):
        trunk = tables.open_table(store.root.table(location), control=True)
        found |= {(location, ref.parent) for ref in tables.list_refs(trunk).values()}
    return found


def _lineages(store: Store, location: str) -> list[Lineage]:
    """The directories below a dataset's `tree` that hold files of lance, each with what is its own."""
    found: dict[str, Lineage] = {}
    prefix = f"{location}/tree/"
    for name, size in store.objects.list_sizes(f"{location}/tree").items():
        ref = ref_of_file(name.removeprefix(prefix))
        if ref is not None:
            found.setdefault(ref, Lineage(location, ref)).files[name] = size
    return list(found.values())


def _age(store: Store, lineage: Lineage) -> float:
    """Seconds since the last change of a lineage, which is the seal if its branch was deleted."""
    stats = (store.objects.stat(name) for name in lineage.files if "/_versions/" in name)
    return wall_time() - max((stat.modified_at for stat in stats if stat is not None), default=0.0)


def _remove(store: Store, lineage: Lineage) -> None:
    entries = set(store.objects.list_entries(lineage.path))
    if epoch_of(lineage.ref) or entries <= LANCE_ENTRIES:
        store.objects.delete_prefix(lineage.path)
        return
    for entry in entries & LANCE_ENTRIES:  # the rest belongs to branches whose names begin with this one's
        store.objects.delete_prefix(f"{lineage.path}/{entry}")


def _freed(lineages: list[Lineage]) -> list[FreedBranch]:
    found: dict[str, list[int]] = {}
    for lineage in lineages:
        found.setdefault(branch_of(owner_of(lineage.ref)), []).extend(lineage.files.values())
    return [FreedBranch(branch, len(sizes), sum(sizes)) for branch, sizes in sorted(found.items())]


def _tables(store: Store) -> list[str]:
    """Where the tables of all branches are; a type may be known to some of them only."""
    return sorted({row.location for state in _states(store) for row in state.registrations.values()})


def _states(store: Store) -> Iterator[ManifestState]:
    for name in readable_branches(store):
        yield manifest.load(store.root, normalize_branch(name)).state
