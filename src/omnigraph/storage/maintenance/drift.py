"""Drift: versions of a table above the published one, and whether an operation is known to have made them."""

from __future__ import annotations

from omnigraph.errors import Conflict, Corrupt
from omnigraph.storage.base.store import Store
from omnigraph.storage.base.waiting import looks
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.tables import TableHandle
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.snapshot import TableEntry

_LOOK_AGAIN_SECONDS = (0.01, 0.05)


def newest_of(store: Store, entry: TableEntry) -> TableHandle:
    """The newest version behind an entry, read fresh; one below the published version fails closed."""
    newest = tables.open_table(entry.address(store.root), control=True, at_least=entry.version)
    if newest.version < entry.version:
        raise Corrupt(f"{newest.address.uri} is at version {newest.version}, below {entry.version}, which is published")
    return newest


def drift_of(store: Store, entry: TableEntry) -> TableHandle | None:
    """The newest version of a table when no operation answers for it, None when one does.

    Lance compacts without leaving a mark, so maintenance sets one right afterwards. What preserves content may thus be
    the work of a live process, and is given the time that a mark takes.
    """
    for more in looks(store.settings.mark_wait_ms / 1_000, _LOOK_AGAIN_SECONDS):
        newest = newest_of(store, entry)
        if not is_uncovered(newest, entry.version):
            return None
        pin = _published(store, entry)
        if not is_uncovered(newest, pin):
            return None
        if not more or not _awaits_its_mark(newest, pin):
            return newest
    raise AssertionError("the last look returns")


def is_uncovered(newest: TableHandle, pin: int) -> bool:
    """Whether some version above the published one was not made by this software, or cannot be read.

    Rewrites below a mark of maintenance are its own. A rewrite without a mark above it was made by somebody else, by a
    process that died, or a moment ago; `drift_of` tells the last, `repair` the others. The fragment ids that a
    compaction reserves stay behind when a writer overtakes it; they change nothing, so they need no answer.
    """
    answered = False
    for version in range(newest.version, pin, -1):
        info = newest.transaction(version)
        if info is None:
            return True
        answered = answered or info.is_owned
        if info.is_owned or (info.is_unmapped and tables.preserves_content(newest.address, info)):
            continue
        if not (answered and info.never_changes_rows):
            return True
    return False


def refuse_drift(store: Store, entry: TableEntry) -> None:
    """Conflict when a table has versions that no operation answers for."""
    newest = drift_of(store, entry)
    if newest is not None:
        raise Conflict(
            f"{subject(entry.table_key)} has uncovered HEAD drift: version {newest.version} is not published "
            f"(published is {entry.version}); run repair"
        )


def _published(store: Store, entry: TableEntry) -> int:
    """The version of a main table that is published by now; commits since the entry was read are not drift."""
    known = manifest.load(store.root).state.snapshot.entries.get(entry.table_key) if entry.ref is None else None
    return known.version if known is not None and known.location == entry.location else entry.version


def _awaits_its_mark(newest: TableHandle, pin: int) -> bool:
    """Whether a mark on top would answer for everything above the published version."""
    found = [newest.transaction(version) for version in range(pin + 1, newest.version + 1)]
    return all(info is not None and (info.is_owned or tables.preserves_content(newest.address, info)) for info in found)


def subject(table_key: str) -> str:
    """A table in words: `dataset for node type 'Person'`."""
    kind, _, name = table_key.partition(":")
    return f"dataset for {kind} type '{name}'"
