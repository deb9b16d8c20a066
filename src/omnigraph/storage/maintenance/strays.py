"""Strays: data files that a load brought into tables, and that no version of a table came to refer to.

A load gives its parts a second name inside their tables before it commits. When it ends in between, these names are all
that is left of it, and lance would keep them for a week in case somebody is still about to commit them.
"""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.storage.base.layout import Address
from omnigraph.storage.base.store import Store
from omnigraph.storage.intent import sidecar
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.parts import discard_load, load_directory
from omnigraph.storage.lance.reclaim import existing_versions
from omnigraph.storage.manifest import manifest


def discard_with_strays(store: Store, load_id: str) -> bool:
    """Remove what a load without a living process has left, in its directory and in tables; False when it is too early.

    Safe even if the load is alive after all. A load looks for its parts once it is armed; here its parts go first, and
    then nothing else while any operation is armed. So either the load finds them gone, or it is seen.
    """
    strays = set(_strays(store, load_id))
    if strays and sidecar.pending(store.objects):
        return False
    discard_load(store.objects, load_id)
    if strays and not sidecar.pending(store.objects):
        # Looked for again: what was armed between the two looks may have committed.
        for address, name in strays - _referred({address for address, _ in strays}):
            store.objects.delete(f"{address.path}/{name}")
    return True


def referred_files(address: Address) -> set[str]:
    """The data files, relative to the table, that the existing versions of one lineage need."""
    found: set[str] = set()
    for version in existing_versions(tables.open_table(address, control=True)):
        table = tables.open_table(address, version)
        found |= {f"data/{file.path}" for piece in table.dataset.get_fragments() for file in piece.metadata.files}
    return found


def has_arrived(store: Store, load_id: str) -> bool:
    """Whether a version of a table refers to a file that the load has staged, so that its rows are in the graph."""
    parts = _files(store, load_id)
    registered = manifest.load(store.root).state.registrations if parts else {}
    return any(
        names & referred_files(address)
        for key, names in parts.items()
        if key in registered
        for address in _lineages(store.root.table(registered[key].location))
    )


def _files(store: Store, load_id: str) -> dict[str, set[str]]:
    """The data files of a load's parts, by table, as they would be called inside it."""
    parts: dict[str, set[str]] = {}
    for path in store.objects.list_tree(load_directory(load_id)):
        _, _, _, *inside = path.split("/")  # __loads/<load>/<split>/<table>-<number>/data/…
        if len(inside) > 2 and inside[1] == "data":
            parts.setdefault(_table_key(inside[0]), set()).add("/".join(inside[1:]))
    return parts


def _strays(store: Store, load_id: str) -> Iterator[tuple[Address, str]]:
    """Lineage and name of every part's file that a table has and no version of it needs."""
    parts = _files(store, load_id)
    if not parts:
        return
    registered = manifest.load(store.root).state.registrations
    for key, names in parts.items():
        if key in registered:
            for address in _lineages(store.root.table(registered[key].location)):
                here = {name for name in names if store.objects.exists(f"{address.path}/{name}")}
                yield from ((address, name) for name in here - (referred_files(address) if here else set()))


def _referred(lineages: set[Address]) -> set[tuple[Address, str]]:
    return {(address, name) for address in lineages for name in referred_files(address)}


def _lineages(trunk: Address) -> list[Address]:
    return [trunk, *(trunk.on(ref) for ref in tables.list_refs(tables.open_table(trunk, control=True)))]


def _table_key(part: str) -> str:
    """The table of a part, from the name of its directory.

    >>> _table_key("node-Person-0")
    'node:Person'
    """
    kind, _, rest = part.partition("-")
    return f"{kind}:{rest.rpartition('-')[0]}"
