"""A merged table as steps of a write set."""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph.engine.merge.combine import TableMerge
from omnigraph.engine.values.arrow import to_stored
from omnigraph.storage.intent.writeset import Delete, Patch, Step, TakeOver, Upsert

# One staged transaction holds this many rows at most, so that staging a large merge needs bounded memory.
CHUNK_ROWS = 262_144


def table_steps(merge: TableMerge) -> Iterable[Step]:
    """The steps that turn our rows into the merged ones; a change of ordinary size is one version of its table."""
    if merge.taken is not None:
        yield TakeOver(merge.taken)
        return
    rows = to_stored(merge.info, merge.rows)
    if not rows.num_rows:
        yield Delete(merge.deleted)
        return
    last = (rows.num_rows - 1) // CHUNK_ROWS * CHUNK_ROWS
    for start in range(0, last, CHUNK_ROWS):
        yield Upsert(rows.slice(start, CHUNK_ROWS))
    yield Patch(rows.slice(last), merge.deleted, None if last else merge.known)
