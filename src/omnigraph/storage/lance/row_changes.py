"""Changes of rows in two halves: data files that can be written ahead, and the transaction on the newest version."""

from __future__ import annotations

import pyarrow as pa

from omnigraph.errors import KeyConflict
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.patch import Places, numbered
from omnigraph.storage.lance.staged import Draft, Staged
from omnigraph.storage.lance.tables import TableHandle


def draft_insert(base: TableHandle, rows: pa.Table) -> Draft:
    """The data files of new rows whose ids must be absent from base; a present id raises KeyConflict with that id."""
    clash = next(iter(base.take_ids(rows["id"], ["id"])["id"].to_pylist()), None)
    if clash is not None:
        raise KeyConflict(base.address.location, clash)
    # Proved absent, so no join with the whole table is needed; the exact slot guards against later inserts.
    return Draft(tuple(tables.write_fragments(base, rows, base.schema)))


def draft_change(places: Places, rows: pa.Table | None) -> Draft:
    """The data files of rows that take the places of those found; what was found and has no successor is removed."""
    if rows is None or not rows.num_rows:
        return Draft((), places)
    rows, row_ids = places.replaced_first(rows)
    written = numbered(tables.write_fragments(places.base, rows, places.base.schema), row_ids)
    return Draft(tuple(written), places, row_ids)


def stage_draft(base: TableHandle, draft: Draft) -> Staged:
    """A drafted change as a transaction on a version that has the same rows of its ids as where it was drafted."""
    places, replacing = draft.places, draft.replacing
    if places is not None:
        places = places.on(base)
    staged = tables.stage_change(base, draft.fragments, places, 0 if replacing is None else len(replacing))
    staged.created = places.created(replacing) if replacing is not None and len(replacing) else None
    return staged
