"""Row deltas: the rows in which one version of a table differs from another, whatever refs they are on.

Normally both versions descend from a common one, and only rows written since then are read. Where that line is
unknown, or most of the table was rewritten, both versions are compared from end to end in the order of their ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.values.equality import differing_values
from omnigraph.engine.views.partners import Partners, partners_of
from omnigraph.engine.views.view import OpenTables
from omnigraph.memory.cache import CacheKind
from omnigraph.storage.lance.blob_cells import BLOB_CELL, blob_columns, is_blob
from omnigraph.storage.lance.refs import LazyRefs
from omnigraph.storage.lance.tables import TableHandle, open_table
from omnigraph.storage.lance.version_tree import ROW_ID, UPDATED, changes_along, common_ancestor, fresh_row_count
from omnigraph.storage.manifest.snapshot import TableEntry

_BATCH_ROWS = 8_192
_BLOB_BATCH_ROWS = 256
# Above this many rewritten rows a comparison from end to end needs less memory and hardly more time.
_REWRITE_ROWS = 500_000


@dataclass(frozen=True, slots=True)
class RowIds:
    """Under which row ids the first version had what was written since, and the second has it: `id` and `_rowid`.

    Rows written again with equal values are among them. Known where the second version continues the first.
    """

    before: pa.Table
    after: pa.Table


@dataclass(frozen=True)
class RowDelta:
    """Rows of the first version that are gone or different in the second, and the rows of the second that are new or
    different; both by ascending id, no equal pair among them. The last column says in which version of the table a row
    was written last."""

    before: pa.Table
    after: pa.Table
    row_ids: RowIds | None = None
    partners: Partners | None = None  # where the columns of the sides are not the same, which belong together

    @property
    def nbytes(self) -> int:
        """How much memory the rows take."""
        return int(self.before.nbytes + self.after.nbytes)

    @property
    def is_empty(self) -> bool:
        return not (self.before.num_rows or self.after.num_rows)

    @cached_property
    def columns(self) -> list[str]:
        """The stored columns, without the version."""
        return [name for name in self.after.column_names if name != UPDATED]

    @cached_property
    def ids(self) -> pa.Array:
        """Every id that differs, ascending."""
        both = pc.unique(pa.concat_arrays([one_column(self.before, "id"), one_column(self.after, "id")]))
        return both.take(pc.sort_indices(both))

    @cached_property
    def inserted(self) -> pa.Table:
        """Rows whose id the first version does not have."""
        return self.after.filter(pc.invert(pc.is_in(self.after["id"], value_set=one_column(self.before, "id"))))

    @cached_property
    def updated(self) -> pa.Table:
        """Rows of the second version that the first has with other values."""
        return self.after.filter(pc.is_in(self.after["id"], value_set=one_column(self.before, "id")))

    @cached_property
    def deleted(self) -> pa.Table:
        """Rows whose id the second version does not have."""
        return self.before.filter(pc.invert(pc.is_in(self.before["id"], value_set=one_column(self.after, "id"))))

    def reversed(self) -> RowDelta:
        """The delta in the other direction."""
        partners = None if self.partners is None else self.partners.reversed()
        return RowDelta(self.after, self.before, partners=partners)


def row_delta(tables: OpenTables, old: TableEntry, new: TableEntry) -> RowDelta:
    """The rows in which a published version differs from another one of the same table."""
    if (old.location, old.ref, old.version) == (new.location, new.ref, new.version):
        return _nothing(tables.get(old))
    deltas = tables.memory.cache(_DELTAS)
    return deltas.get_or_build((tables.canonical, old, new), lambda: _row_delta(tables, old, new))


# A preview before a merge, or the next page of the same commit, asks for what was worked out a moment ago.
_DELTAS: CacheKind[RowDelta] = CacheKind(
    "deltas", lambda delta: delta.nbytes, share=1 / 16, largest=1.0, entries=16, by_name=True
)


def _row_delta(tables: OpenTables, old: TableEntry, new: TableEntry) -> RowDelta:
    partners = partners_of(tables.get(old).schema, tables.get(new).schema)
    if not partners.same_names:
        return replace(_end_to_end(tables, old, new), partners=partners)
    shared = _shared_version(tables, old, new)
    # Both sides may have renamed, added or dropped the same columns since.
    if shared is None or not partners_of(shared.schema, tables.get(new).schema).same_names:
        return _end_to_end(tables, old, new)
    if _mostly_rewritten(shared, tables.get(old), tables.get(new)):
        return _end_to_end(tables, old, new)
    left, right = _along(shared, tables.get(old)), _along(shared, tables.get(new))
    # What one side did not touch is, on that side, still what the shared version says: the other side's "before".
    before = _stacked(left.after, _untouched(right.before, left))
    after = _stacked(right.after, _untouched(left.before, right))
    # An id keeps its row id until it is deleted, so what the shared version says of untouched rows holds for `old`.
    return replace(net(before, after), row_ids=right.row_ids if left.is_empty else None)


def _end_to_end(tables: OpenTables, old: TableEntry, new: TableEntry) -> RowDelta:
    if _is_large(tables, old, new):
        return tables.tasks.compare(tables.get(old), tables.get(new))
    return compared(tables.get(old), tables.get(new))


def _is_large(tables: OpenTables, old: TableEntry, new: TableEntry) -> bool:
    limit = tables.distribute_rows
    return limit is not None and old.row_count + new.row_count >= limit and tables.tasks.is_installed()


def all_rows(table: TableHandle) -> pa.Table:
    """Every row of a table, by id, as a delta from or to nothing carries them."""
    parts = [pa.Table.from_batches([batch]) for batch in _ordered_batches(table)]
    return pa.concat_tables(parts) if parts else _empty(table)


def net(before: pa.Table, after: pa.Table, partners: Partners | None = None) -> RowDelta:
    """The delta between two sets of rows with distinct ids: pairs that are equal drop out.

    Columns are compared with those of their names, or with their partners; a missing one counts as null.
    """
    positions = pc.index_in(after["id"], value_set=one_column(before, "id"))
    paired = np.flatnonzero(_flags(positions.is_valid()))
    places = pc.drop_null(positions).to_numpy()
    columns = {name: name for name in after.column_names if name != UPDATED} if partners is None else partners.paired
    old, new = before.take(places), after.take(paired)
    differs = np.zeros(len(paired), bool)
    for name, former in columns.items():
        differs |= differing_values(new[name], old[former])
    for rows, names in ((old, partners.dropped), (new, partners.added)) if partners is not None else ():
        for name in names:
            differs |= _flags(rows[name].is_valid())
    return RowDelta(
        by_id(_without(before, places[~differs])),
        by_id(_without(after, paired[~differs])),
    )


def one_column(rows: pa.Table, name: str) -> pa.Array:
    """A column as one array."""
    column = rows[name]
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def by_id(rows: pa.Table) -> pa.Table:
    """Rows in ascending order of their ids, compared as bytes."""
    return rows.take(pc.sort_indices(rows["id"])) if rows.num_rows > 1 else rows


# --- along the line of versions ------------------------------------------------------------------------


def _shared_version(tables: OpenTables, old: TableEntry, new: TableEntry) -> TableHandle | None:
    if old.location != new.location:
        return None
    one, other = (old.ref, old.version), (new.ref, new.version)
    trunk = tables.root.table(old.location)
    found = common_ancestor(LazyRefs(trunk), one, other)
    if found is None:
        return None
    for entry in (old, new):
        if found == (entry.ref, entry.version):
            return tables.get(entry)
    return open_table(trunk.on(found[0]), found[1])


def _mostly_rewritten(shared: TableHandle, *sides: TableHandle) -> bool:
    for side in sides:
        fresh = fresh_row_count(shared, side)
        if fresh > _REWRITE_ROWS and 2 * fresh > side.count_rows():
            return True
    return False


def _along(shared: TableHandle, side: TableHandle) -> RowDelta:
    """What one side wrote since the shared version, equal rewrites included."""
    if shared.version == side.version:
        return _nothing(side)
    names = side.schema.names
    changes = changes_along(shared, side, names)
    return RowDelta(changes.before, changes.after, RowIds(changes.rows_before, changes.rows_after))


def _nothing(table: TableHandle) -> RowDelta:
    rows, numbers = _empty(table), pa.table({"id": pa.array([], pa.utf8()), ROW_ID: pa.array([], pa.uint64())})
    return RowDelta(rows, rows, RowIds(numbers, numbers))


def _untouched(rows: pa.Table, by: RowDelta) -> pa.Table:
    return rows.filter(pc.invert(pc.is_in(rows["id"], value_set=by.ids)))


# --- end to end ----------------------------------------------------------------------------------------


def compared(old: TableHandle, new: TableHandle, inside: str | None = None) -> RowDelta:
    """The delta of two versions, or of the rows of both that a predicate over ids keeps, from end to end."""
    partners = partners_of(old.schema, new.schema)
    pieces = _in_step(_ordered_batches(old, inside), _ordered_batches(new, inside))
    found = [net(left, right, partners) for left, right in pieces]
    before = [part.before for part in found if part.before.num_rows]
    after = [part.after for part in found if part.after.num_rows]
    return RowDelta(_stacked(_empty(old), *before), _stacked(_empty(new), *after))


def _in_step(left: Iterator[pa.RecordBatch], right: Iterator[pa.RecordBatch]) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Two ordered streams cut at the same ids, so that equal ids always meet in one pair of pieces."""
    one, other = _Ordered(left), _Ordered(right)
    while one.rows.num_rows and other.rows.num_rows:
        bound = min(one.last, other.last, key=str.encode)
        yield one.up_to(bound), other.up_to(bound)
    while one.rows.num_rows:
        yield one.up_to(one.last), other.rows
    while other.rows.num_rows:
        yield one.rows, other.up_to(other.last)


class _Ordered:
    """One ordered stream with the batch that is being looked at; an exhausted stream keeps an empty one."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        first = next(batches)
        self.rows = pa.Table.from_batches([first])
        self._refill()

    @property
    def last(self) -> str:
        return str(self.rows["id"][-1].as_py())

    def up_to(self, bound: str) -> pa.Table:
        count = int(pc.sum(pc.less_equal(self.rows["id"], bound)).as_py() or 0)
        taken, self.rows = self.rows.slice(0, count), self.rows.slice(count)
        self._refill()
        return taken

    def _refill(self) -> None:
        while not self.rows.num_rows and (batch := next(self._batches, None)) is not None:
            self.rows = pa.Table.from_batches([batch])


def _ordered_batches(table: TableHandle, inside: str | None = None) -> Iterator[pa.RecordBatch]:
    """Every row by id, after one empty batch that shows the columns; blobs are fetched a few rows at a time."""
    blobs = blob_columns(table.schema)
    names = table.schema.names
    yield pa.RecordBatch.from_pylist([], plain_schema(table.schema))
    size = _BLOB_BATCH_ROWS if blobs else _BATCH_ROWS
    wanted = [*names, UPDATED, *([ROW_ID] if blobs else [])]
    for batch in table.batches(wanted, inside, batch_size=size, order_by=["id"]):
        for start in range(0, batch.num_rows, size):
            yield _with_blobs(table, batch.slice(start, size), blobs)


def _with_blobs(table: TableHandle, batch: pa.RecordBatch, blobs: list[str]) -> pa.RecordBatch:
    schema = plain_schema(table.schema)
    arrays = [
        table.read_blobs(name, batch.column(ROW_ID), batch.column(name)) if name in blobs else batch.column(name)
        for name in schema.names
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


# --- rows ----------------------------------------------------------------------------------------------


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """A stored schema with blobs as cells, followed by the version column."""
    fields = [
        pa.field(field.name, BLOB_CELL, field.nullable) if is_blob(field) else field.remove_metadata()
        for field in schema
    ]
    return pa.schema([*fields, pa.field(UPDATED, pa.uint64())])


def _empty(table: TableHandle) -> pa.Table:
    return plain_schema(table.schema).empty_table()


def _stacked(*parts: pa.Table) -> pa.Table:
    """The rows of all parts under the columns of the first."""
    schema = parts[0].schema
    aligned = [parts[0], *(part.select(schema.names).cast(schema) for part in parts[1:] if part.num_rows)]
    return pa.concat_tables(aligned).combine_chunks()


def _without(rows: pa.Table, positions: np.ndarray) -> pa.Table:
    if not len(positions):
        return rows
    keep = np.ones(rows.num_rows, bool)
    keep[positions] = False
    return rows.filter(pa.array(keep))


def _flags(mask: pa.Array | pa.ChunkedArray) -> np.ndarray:
    flags: np.ndarray = mask.to_numpy(zero_copy_only=False) if isinstance(mask, pa.Array) else mask.to_numpy()
    return flags
