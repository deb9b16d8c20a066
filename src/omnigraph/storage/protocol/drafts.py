"""Drafts of a write set: the data files of its tables, written before the writer's turn comes.

A draft depends on the version it was drawn up on only through the rows of its own ids, so it outlives every commit that
leaves those alone; what is left to do in the turn is to describe it on the newest version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from omnigraph.memory.cache import CacheKind
from omnigraph.storage.base.layout import Address
from omnigraph.storage.base.store import Store
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.intent.writeset import TableWrite, WriteSet
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.datasets import is_current
from omnigraph.storage.lance.staged import Draft
from omnigraph.storage.lance.tables import TableHandle
from omnigraph.storage.lance.version_files import FileIdentity, newest_local_file
from omnigraph.storage.manifest.snapshot import TableEntry
from omnigraph.storage.protocol import fence, table_steps


@dataclass(frozen=True, slots=True)
class Drawn:
    """The draft of a table's first step, on a version whose content is that of the published one.

    `newest` says that nothing was above that version.
    """

    draft: Draft
    base: TableHandle
    pin: int
    newest: bool


Drafts: TypeAlias = Mapping[str, Drawn]


def draw_up(store: Store, txn: Txn, write: WriteSet) -> Drafts:
    """What can be written ahead of a write set, by table key; the rest is staged in the turn."""

    def draw(table: TableWrite) -> Drawn | None:
        entry = txn.snapshot.entries.get(table.table_key)
        return _draw(store, table, entry) if entry is not None and is_own(txn.branch, entry) else None

    drawn = store.side_by_side(draw, write.tables)
    return {table.table_key: each for table, each in zip(write.tables, drawn, strict=True) if each is not None}


def is_own(branch: str | None, entry: TableEntry) -> bool:
    """Whether a branch writes to the lineage of an entry, or has to fork it first."""
    return branch is None or entry.owner == branch


def note_newest(handle: TableHandle, pin: int) -> None:
    """Spare the next writers of a table from opening its newest version, which this process has just made.

    `pin` is the published version that has the same content.
    """
    found = newest_local_file(handle.address) if handle.address.root.is_local else None
    if found is not None and found.version == handle.version and is_current(handle):
        handle.address.root.memory.cache(_NEWEST).put(handle.address.uri, _Newest(found, handle, pin))


@dataclass(frozen=True, slots=True)
class _Newest:
    file: FileIdentity
    handle: TableHandle
    pin: int


_NEWEST: CacheKind[_Newest] = CacheKind("newest tables", lambda known: 64 << 10, entries=64)


def _draw(store: Store, table: TableWrite, entry: TableEntry) -> Drawn | None:
    base, newest = _base_of(entry.address(store.root), entry.version)
    draft = table_steps.draft_step(base, table.table_key, table.steps[0])
    return None if draft is None else Drawn(draft, base, entry.version, newest)


def _base_of(address: Address, pin: int) -> tuple[TableHandle, bool]:
    """A version with the content of the published one, and whether it is the newest; storage is asked which one is."""
    known = address.root.memory.cache(_NEWEST).get(address.uri)
    if known is not None and known.pin == pin and newest_local_file(address) == known.file:
        return known.handle, True
    base = tables.open_table(address, at_least=pin)
    if base.version >= pin and fence.content_equal(base, pin):
        note_newest(base, pin)
        return base, True
    return tables.open_table(address, pin), False  # what is above it is dealt with in the turn
