"""The stored values of one table of a view, by row id; a column is read when asked for, for few rows only those."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from omnigraph.engine.read.adjacency import Rows
from omnigraph.engine.read.cache import ByteCache
from omnigraph.engine.read.rowindex import RowIndex, distinct, row_ids
from omnigraph.engine.view import OpenTables
from omnigraph.storage.layout import Root
from omnigraph.storage.snapshot import TableEntry
from omnigraph.storage.tables import TableHandle

ROW_ID = "_rowid"
# Measured: fetching rows one by one costs about as much as scanning two hundred times as many.
_SCAN_RATIO = 200
_WIDE_SCAN_RATIO = 20
_SMALL_TABLE = 4_096
_COLUMN_CACHE_BYTES = 512 << 20
_NARROW_TEXT = 1 << 31


@dataclass(frozen=True, slots=True)
class Held:
    """The values of one column for an ascending set of rows."""

    index: RowIndex
    values: pa.Array

    def take(self, rows: Rows) -> pa.Array:
        if len(rows) == len(self.index) and np.array_equal(rows, self.index.rows):
            return self.values
        return self.values.take(pa.array(self.index.positions(rows)))


def _held_bytes(held: Held) -> int:
    return int(held.values.nbytes + held.index.rows.nbytes)


HOT_COLUMNS: ByteCache[Held] = ByteCache(_COLUMN_CACHE_BYTES, _held_bytes)


class Entities:
    """One table at the view's version; opens it on first use and reads no column twice."""

    def __init__(self, entry: TableEntry, tables: OpenTables) -> None:
        self.entry = entry
        self.row_count = entry.row_count
        self._tables = tables
        self._held: dict[str, list[Held]] = {}
        self.rows_read = 0
        self.bytes_read = 0

    @cached_property
    def handle(self) -> TableHandle:
        """The table, opened now if it was not yet."""
        return self._tables.get(self.entry)

    @property
    def root(self) -> Root:
        """The graph this table belongs to."""
        return self._tables.root

    @cached_property
    def content_key(self) -> Hashable:
        """Names this table's exact content within its graph; branches that share it share the name."""
        entry = self.entry
        # Without an e-tag only the dataset itself can tell a deleted and re-created lineage from the old one.
        evidence = self.handle.stamp if entry.evidence.e_tag is None else entry.evidence
        return (entry.identity, entry.location, entry.ref, entry.version, evidence)

    @cached_property
    def version_key(self) -> Hashable:
        """Names this table's exact content among all graphs of the process."""
        return (self.root.canonical, self.content_key)

    def values(self, name: str, rows: Rows) -> pa.Array:
        """The column's value for each row."""
        self.load((name,), rows)
        held = self._holder(name, rows)
        assert held is not None
        return held.take(rows)

    def load(self, names: Iterable[str], rows: Rows) -> None:
        """Read the columns for these rows, together, unless they are at hand."""
        missing = [name for name in dict.fromkeys(names) if self._holder(name, rows) is None]
        if not missing:
            return
        wanted, _ = distinct(rows)
        if self._scan_is_cheaper(missing, len(wanted)):
            self._scan(missing)
        else:
            # Ascending order keeps the reads sequential.
            self.keep(wanted, self.handle.take_rows(pa.array(wanted), missing))

    def keep(self, rows: Rows, columns: pa.Table) -> None:
        """Hold columns that were read for these ascending rows."""
        self.rows_read += len(rows)
        self.bytes_read += columns.nbytes
        index = RowIndex(rows)
        for name in columns.column_names:
            self._held.setdefault(name, []).append(Held(index, one_chunk(columns[name])))

    def whole(self, name: str) -> Held:
        """The whole column, from the process-wide cache when it is there."""
        held = HOT_COLUMNS.get((self.version_key, name))
        if held is None:
            self._scan([name])
            held = self._held[name][-1]
        return held

    def _holder(self, name: str, rows: Rows) -> Held | None:
        for held in self._held.get(name, ()):
            if held.index.covers(rows):
                return held
        held_everywhere = HOT_COLUMNS.get((self.version_key, name))
        if held_everywhere is not None:
            self._held.setdefault(name, []).insert(0, held_everywhere)
        return held_everywhere

    def _scan_is_cheaper(self, names: Sequence[str], wanted: int) -> bool:
        if self.row_count <= _SMALL_TABLE:
            return True
        schema = self.handle.schema
        wide = any(pa.types.is_nested(schema.field(name).type) for name in names)
        return wanted * (_WIDE_SCAN_RATIO if wide else _SCAN_RATIO) >= self.row_count

    def _scan(self, names: list[str]) -> None:
        table = self.handle.scan([*names, ROW_ID])
        rows, table = ascending(table)
        self.keep(rows, table)
        for name in names:
            HOT_COLUMNS.put((self.version_key, name), self._held[name][-1])


def ascending(table: pa.Table) -> tuple[Rows, pa.Table]:
    """A scanned table without its `_rowid` column, and those row ids; both in ascending order of row id."""
    rows = row_ids(table[ROW_ID])
    table = table.drop_columns([ROW_ID])
    if len(rows) > 1 and bool((rows[1:] < rows[:-1]).any()):
        order = np.argsort(rows, kind="stable")
        return rows[order], table.take(pa.array(order))
    return rows, table


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """The column as one contiguous array; text beyond 2 GiB gets wider offsets."""
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_string(column.type) and column.nbytes >= _NARROW_TEXT:
        column = column.cast(pa.large_utf8())
    return column.combine_chunks()
