"""Rewriting a table for another schema: the same entities with columns added, renamed or left out."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from omnigraph.engine.intake.records import default_scalar
from omnigraph.engine.values.arrow import TableType, row_schema, stored_schema, to_stored
from omnigraph.engine.views.view import View
from omnigraph.storage.intent.writeset import Rewrite
from omnigraph.storage.lance.tables import TableHandle

_BATCH_ROWS = 8_192
_BLOB_BATCH_ROWS = 64


def needs_rewrite(old: TableType, new: TableType) -> bool:
    """Whether the stored columns of two forms of one type differ."""
    return not stored_schema(old).equals(stored_schema(new), check_metadata=True)


def rewrite_table(view: View, old: TableType, new: TableType) -> Rewrite:
    """The rows of a type in its new form, made when the files are written.

    Columns are matched by property identity. A new column holds its default, or null.
    """
    table = view.table(old)
    return Rewrite(stored_schema(new), lambda: _converted(table, old, new))


def _converted(table: TableHandle, old: TableType, new: TableType) -> Iterator[pa.RecordBatch]:
    kept, target = _kept_columns(old, new), row_schema(new)
    size = _BLOB_BATCH_ROWS if new.blobs else _BATCH_ROWS
    for batch in table.batches(list(kept.values()), batch_size=size, blobs="cells"):
        arrays = [column_of(batch, new, field, kept.get(field.name)) for field in target]
        yield from to_stored(new, pa.Table.from_arrays(arrays, schema=target)).to_batches()


def _kept_columns(old: TableType, new: TableType) -> dict[str, str]:
    """New name → old name of every column that the table has already."""
    by_identity = {identity: name for name, identity in old.property_ids.items()}
    kept = {name: name for name in row_schema(new).names if name not in new.properties}
    for name, identity in new.property_ids.items():
        if identity in by_identity:
            kept[name] = by_identity[identity]
    return kept


def column_of(
    rows: pa.RecordBatch | pa.Table, new: TableType, field: pa.Field, source: str | None
) -> pa.Array | pa.ChunkedArray:
    """One column of a type's new form: cast from the one that rows have of it, else its default, or null."""
    if source is not None:
        return rows.column(source).cast(field.type)
    if field.name in new.defaults:
        return pa.repeat(default_scalar(new, field.name), rows.num_rows)
    return pa.nulls(rows.num_rows, field.type)
