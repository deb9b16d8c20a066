"""Committed rows for a check inside a worker: those of one partition, or of whole tables read in long chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.values.arrow import table_types
from omnigraph.engine.values.rowset import tuple_codes
from omnigraph.engine.write.change_set import EdgeColumn
from omnigraph.engine.write.committed import PinnedRows
from omnigraph.pipeline.tasks.key_rows import KeyRows

# A membership test builds a table of the wanted values once per chunk, so chunks are long.
_CHUNK_ROWS = 4 << 20
_LOOKUPS = 16_384
_EDGE_COLUMNS = ("id", "src", "dst")


class PartitionRows:
    """The committed rows of one partition; implements CommittedView.

    Values asked for belong to the partition, and so do the edges that are listed or found by id; of edges that were
    found by an end only the id and that end are known.
    """

    def __init__(self, rows: KeyRows, number: int) -> None:
        self.rows = rows
        self._number = number
        self._view = rows.view
        self._pinned = PinnedRows(self._view)
        self._types = table_types(rows.job.catalog)

    def present(self, table_key: str, ids: pa.Array | pa.ChunkedArray) -> pa.Array:
        """Those of the ids that exist."""
        if self.rows.is_whole and len(ids) <= _LOOKUPS:
            return self._pinned.present(table_key, ids)
        chunks = self._chunks(table_key, ["id"], ["id"])
        return _joined([_among(chunk, "id", ids) for chunk in chunks], ["id"])["id"].combine_chunks()

    def ids(self, table_key: str) -> pa.Array:
        """Every id of the partition."""
        return _joined(list(self._chunks(table_key, ["id"], ["id"])), ["id"])["id"].combine_chunks()

    def holders(self, table_key: str, tuples: pa.Table) -> pa.Table:
        """The rows that hold one of these distinct, null-free tuples."""
        if self.rows.is_whole and tuples.num_rows <= _LOOKUPS:
            return self._pinned.holders(table_key, tuples)
        names = tuples.column_names
        found = []
        for chunk in self._chunks(table_key, names, ["id", *names]):
            pooled = [pa.chunked_array([*tuples[name].chunks, *chunk[name].chunks]) for name in names]
            codes = tuple_codes(pooled)
            wanted, codes = codes[: tuples.num_rows], codes[tuples.num_rows :]
            found.append(chunk.filter(pa.array(np.isin(codes, wanted) & (codes >= 0))))
        return pa.concat_tables(found) if found else self._pinned.holders(table_key, tuples.slice(0, 0))

    def edges(self, table_key: str, column: EdgeColumn, values: pa.Array) -> pa.Table:
        """The edges whose column is among the values."""
        if self.rows.is_whole and len(values) <= _LOOKUPS:
            return self._pinned.edges(table_key, column, values)
        # By id only those of the partition's own sources are wanted.
        columns = _EDGE_COLUMNS if self.rows.is_whole else ["id", "src" if column == "id" else column]
        chunks = self._chunks(table_key, ["src"] if column == "id" else [column], columns)
        return _joined([_among(chunk, column, values) for chunk in chunks], columns)

    def all_edges(self, table_key: str) -> pa.Table:
        """Every edge whose source belongs to the partition."""
        return _joined(list(self._chunks(table_key, ["src"], ["id", "src"])), ["id", "src"])

    def _chunks(self, table_key: str, spread: Sequence[str], columns: Sequence[str]) -> Iterator[pa.Table]:
        if not self.rows.is_whole:
            held = list(self.rows.committed(table_key, spread, self._number))
            if held:
                yield pa.concat_tables(held).select(list(columns))
            return
        info = self._types[table_key]
        entry = self._view.find(info)
        if entry is None or not entry.row_count:
            return
        batches: list[pa.RecordBatch] = []
        for batch in self._view.table(info).batches(list(columns)):
            batches.append(batch)
            if sum(part.num_rows for part in batches) >= _CHUNK_ROWS:
                yield pa.Table.from_batches(batches)
                batches = []
        if batches:
            yield pa.Table.from_batches(batches)


def _among(rows: pa.Table, column: str, values: pa.Array) -> pa.Table:
    return rows.filter(pc.is_in(rows[column], value_set=values))


def _joined(parts: list[pa.Table], columns: Sequence[str]) -> pa.Table:
    return pa.concat_tables(parts) if parts else pa.table({name: pa.array([], pa.utf8()) for name in columns})
