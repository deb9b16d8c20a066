"""Committed rows for a check inside a worker: read in long chunks, and only those that belong to the check's bucket."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.values.arrow import table_types
from omnigraph.engine.values.rowset import one_array, tuple_codes
from omnigraph.engine.views.view import View
from omnigraph.engine.write.change_set import EdgeColumn
from omnigraph.engine.write.committed import PinnedRows
from omnigraph.pipeline.tasks.buckets import bucket_mask

# A membership test builds a table of the wanted values once per chunk, so chunks are long.
_CHUNK_ROWS = 4 << 20
_LOOKUPS = 16_384
_EDGE_COLUMNS = ("id", "src", "dst")


class BucketRows:
    """The committed rows of one view that concern one bucket; implements CommittedView.

    Lookups answer for the values asked, whatever their bucket. What lists everything, and the source of an edge found
    by its id, is limited to the bucket.
    """

    def __init__(self, view: View, bucket: int = 0, buckets: int = 1) -> None:
        self._view = view
        self._bucket = bucket
        self._buckets = buckets
        self._pinned = PinnedRows(view)
        self._types = table_types(view.catalog)

    def present(self, table_key: str, ids: pa.Array) -> pa.Array:
        """Those of the ids that exist."""
        if len(ids) <= _LOOKUPS:
            return self._pinned.present(table_key, ids)
        found = [chunk.filter(pc.is_in(chunk["id"], value_set=ids)) for chunk in self._chunks(table_key, ["id"])]
        return _joined(found, ["id"])["id"].combine_chunks()

    def ids(self, table_key: str) -> pa.Array:
        """Every id of the bucket."""
        found = [self._own(chunk, "id") for chunk in self._chunks(table_key, ["id"])]
        return _joined(found, ["id"])["id"].combine_chunks()

    def holders(self, table_key: str, tuples: pa.Table) -> pa.Table:
        """The rows that hold one of these distinct, null-free tuples."""
        if tuples.num_rows <= _LOOKUPS:
            return self._pinned.holders(table_key, tuples)
        names = tuples.column_names
        found = []
        for chunk in self._chunks(table_key, ["id", *names]):
            pooled = [pa.chunked_array([*tuples[name].chunks, *chunk[name].chunks]) for name in names]
            codes = tuple_codes(pooled)
            wanted, codes = codes[: tuples.num_rows], codes[tuples.num_rows :]
            found.append(chunk.filter(pa.array(np.isin(codes, wanted) & (codes >= 0))))
        return pa.concat_tables(found) if found else self._pinned.holders(table_key, tuples.slice(0, 0))

    def edges(self, table_key: str, column: EdgeColumn, values: pa.Array) -> pa.Table:
        """The edges whose column is among the values."""
        if len(values) <= _LOOKUPS:
            found = self._pinned.edges(table_key, column, values)
        else:
            chunks = self._chunks(table_key, _EDGE_COLUMNS)
            found = _joined([c.filter(pc.is_in(c[column], value_set=values)) for c in chunks], _EDGE_COLUMNS)
        return self._own(found, "src") if column == "id" else found

    def all_edges(self, table_key: str) -> pa.Table:
        """Every edge whose source belongs to the bucket."""
        return _joined([self._own(chunk, "src") for chunk in self._chunks(table_key, _EDGE_COLUMNS)], _EDGE_COLUMNS)

    def _own(self, rows: pa.Table, column: str) -> pa.Table:
        if self._buckets == 1:
            return rows
        return rows.filter(pa.array(bucket_mask([one_array(rows[column])], self._bucket, self._buckets)))

    def _chunks(self, table_key: str, columns: Sequence[str]) -> Iterator[pa.Table]:
        info = self._types[table_key]
        entry = self._view.find(info)
        if entry is None or not entry.row_count:
            return
        held: list[pa.RecordBatch] = []
        for batch in self._view.table(info).batches(list(columns)):
            held.append(batch)
            if sum(part.num_rows for part in held) >= _CHUNK_ROWS:
                yield pa.Table.from_batches(held)
                held = []
        if held:
            yield pa.Table.from_batches(held)


def _joined(parts: list[pa.Table], columns: Sequence[str]) -> pa.Table:
    return pa.concat_tables(parts) if parts else pa.table({name: pa.array([], pa.utf8()) for name in columns})
