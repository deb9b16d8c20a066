"""Drafts of a write set: the data files of its tables, written before the writer's turn comes.

A draft depends on the version it was drawn up on only through the rows of its own ids, so it outlives every commit that
leaves those alone; what is left to do in the turn is to describe it on the newest version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from omnigraph.storage.base.store import Store
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.intent.writeset import TableWrite, WriteSet
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.staged import Draft
from omnigraph.storage.lance.tables import TableHandle
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


def _draw(store: Store, table: TableWrite, entry: TableEntry) -> Drawn | None:
    address = entry.address(store.root)
    base = tables.open_table(address, at_least=entry.version)
    newest = base.version >= entry.version and fence.content_equal(base, entry.version)
    if not newest:
        base = tables.open_table(address, entry.version)  # what is above it is dealt with in the turn
    draft = table_steps.draft_step(base, table.table_key, table.steps[0])
    return None if draft is None else Drawn(draft, base, entry.version, newest)
