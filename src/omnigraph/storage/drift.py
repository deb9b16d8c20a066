"""Drift: versions of a table above the published one, and whether anybody answers for them."""

from __future__ import annotations

from omnigraph.errors import Conflict, Corrupt
from omnigraph.storage import tables
from omnigraph.storage.snapshot import TableEntry
from omnigraph.storage.store import Store
from omnigraph.storage.tables import TableHandle


def newest_of(store: Store, entry: TableEntry) -> TableHandle:
    """The newest version behind an entry, read fresh; one below the published version fails closed."""
    newest = tables.open_table(entry.address(store.root), control=True)
    if newest.version < entry.version:
        raise Corrupt(f"{newest.address.uri} is at version {newest.version}, below {entry.version}, which is published")
    return newest


def is_uncovered(newest: TableHandle, pin: int) -> bool:
    """Whether some version above the published one was not made by this software, or cannot be read.

    Lance compacts without leaving a mark, so maintenance sets one on top; rewrites below a mark are its own. A rewrite
    without a mark above it was made by somebody else, or by a process that died; `repair` tells.
    """
    answered = False
    for version in range(newest.version, pin, -1):
        info = newest.transaction(version)
        if info is None:
            return True
        answered = answered or info.is_owned
        if not info.is_owned and not (answered and tables.preserves_content(newest.address, info)):
            return True
    return False


def refuse_drift(store: Store, entry: TableEntry) -> None:
    """Conflict when a table holds versions that nobody answers for."""
    newest = newest_of(store, entry)
    if is_uncovered(newest, entry.version):
        raise Conflict(
            f"{subject(entry.table_key)} has uncovered HEAD drift: version {newest.version} is not published "
            f"(published is {entry.version}); run repair"
        )


def subject(table_key: str) -> str:
    """A table in words: `dataset for node type 'Person'`."""
    kind, _, name = table_key.partition(":")
    return f"dataset for {kind} type '{name}'"
