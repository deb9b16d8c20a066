"""Changes of rows as one staged transaction each, for tests of single tables; commits draft first and stage later."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from omnigraph.storage.lance.patch import Places
from omnigraph.storage.lance.row_changes import draft_change, draft_insert, stage_draft
from omnigraph.storage.lance.staged import Staged
from omnigraph.storage.lance.tables import TableHandle


def stage_insert(base: TableHandle, rows: pa.Table) -> Staged:
    """New rows whose ids must be absent from base; a present id raises KeyConflict with that id."""
    return stage_draft(base, draft_insert(base, rows))


def stage_upsert(
    base: TableHandle, rows: pa.Table, deleted: pa.Array | None = None, known: pa.Table | None = None
) -> Staged:
    """Whole rows to insert or replace by id and, in the same transaction, ids to remove; no id is named twice.

    `known` spares looking the ids up: the `id` and `_rowid` of exactly those that base has.
    """
    return stage_draft(base, draft_change(Places(base, rows, deleted, known), rows))


def stage_update(base: TableHandle, rows: pa.Table) -> Staged:
    """Whole rows that replace existing ones; StorageError(kind=Precondition) unless every id exists."""
    return stage_draft(base, draft_change(Places(base, rows).complete(rows), rows))


def stage_delete(base: TableHandle, ids: pa.Array | Sequence[str]) -> Staged | None:
    """Remove rows by id; None when no id is present, because then there is nothing to commit."""
    places = Places(base, None, ids if isinstance(ids, pa.Array) else pa.array(ids, pa.utf8()))
    return stage_draft(base, draft_change(places, None)) if len(places.ids) else None
