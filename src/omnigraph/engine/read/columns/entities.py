"""The stored values of one table of a view, by row id; a column is read when asked for, for few rows only those."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from omnigraph.compiler.types import ENGLISH
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.costs import add_cost, cost_kind, cost_of
from omnigraph.engine.read.columns.held import CODES, COLUMNS, ROW_ID, Codes, Held, ascending, one_chunk
from omnigraph.engine.read.columns.pages import PagedTable
from omnigraph.engine.read.columns.rowindex import RowIndex, RowSpan, distinct_rows
from omnigraph.engine.read.columns.table_facts import Layout, TableFacts, VersionKey
from omnigraph.engine.values.arrow import TableType
from omnigraph.engine.views.view import View
from omnigraph.memory.budget import MemoryBudget
from omnigraph.storage.base.layout import Root
from omnigraph.storage.lance.tables import NearestRows, TableHandle

# From the take and scan times in lance-facts: fetching a row costs about as much as scanning two hundred.
_SCAN_RATIO = 200
_WIDE_SCAN_RATIO = 20
SMALL_TABLE = 4_096
_LARGEST_IN_MEMORY = 1 << 20
_LARGEST_ARRAY = 1 << 31  # bytes of texts, whose offsets have 32 bits
SCAN_SECONDS_PER_ROW = 4e-8
_SHORT = 96  # bytes of a row, up to which texts move into memory as numbers do
_SCAN_SECONDS_PER_BYTE = 2e-9
_ASKED_AGAIN = 2
# What a row of a table that is read whole takes at least: its row id, and a value with what is made of it.
_HELD_BYTES = 24
_LEAST_BLOCK, _BLOCK_ROWS = 1 << 16, 1 << 22


_FETCHES = cost_kind("fetched rows")


class Entities:
    """One table at the view's version; opens it on first use and reads no column twice."""

    def __init__(self, view: View, info: TableType) -> None:
        self.entry = view.entry(info)
        self.row_count = self.entry.row_count
        self._view = view
        self._info = info
        self._facts = TableFacts.of(view, self.entry, info)
        self._columns = view.tables.memory.cache(COLUMNS)
        self._held: dict[str, list[Held]] = {}
        self.rows_read = 0
        self.bytes_read = 0

    @cached_property
    def handle(self) -> TableHandle:
        """The table, opened now if it was not yet."""
        return self._view.table(self._info)

    @property
    def root(self) -> Root:
        """The graph this table belongs to."""
        return self._view.tables.root

    @property
    def memory(self) -> MemoryBudget:
        """What the graph keeps in memory."""
        return self._view.tables.memory

    @property
    def _layout(self) -> Layout:
        if self._facts.layout is None:
            self._facts.layout = Layout.of(self._view, self._info)
        return self._facts.layout

    @property
    def as_named(self) -> bool:
        """Whether the stored columns are exactly those of the catalog; not so at a view from before a schema change."""
        return self._layout.as_named

    def property_id(self, name: str) -> str:
        """The identity of a property, which a rename keeps; empty for a column that is none."""
        return str(self._info.property_ids.get(name, ""))

    def language(self, name: str) -> str:
        """What the words of a text property are of."""
        return self._info.languages.get(name, ENGLISH)

    @property
    def content_key(self) -> Hashable:
        """Names this table's exact content within its graph; branches that share it share the name."""
        if self._facts.content_key is None:
            entry = self.entry
            # Without an e-tag only the dataset itself can tell a deleted and re-created lineage from the old one.
            evidence = self.handle.stamp if entry.evidence.e_tag is None else entry.evidence
            self._facts.content_key = (entry.identity, entry.location, entry.ref, entry.version, evidence)
        return self._facts.content_key

    @property
    def version_key(self) -> VersionKey:
        """Names this table's exact content among all graphs of the process."""
        if self._facts.version_key is None:
            # What is remembered about a table must not pass from a reader who sees a column to one who does not.
            self._facts.version_key = VersionKey(self._view.tables.canonical, self.content_key, self._facts.masks)
        return self._facts.version_key

    @property
    def lineage_key(self) -> Hashable:
        """Names the table and ref this version belongs to, among all graphs of the process."""
        entry = self.entry
        return (self._view.tables.canonical, entry.identity, entry.location, entry.ref)

    def values(self, name: str, rows: Rows) -> pa.Array:
        """The column's value for each row."""
        held = self._holder(name, rows)
        if held is None:
            self.load((name,), rows)
            held = self._holder(name, rows)
        assert held is not None
        return held.take(rows)

    def whole_values(self, name: str, rows: Rows) -> pa.Array | None:
        """The values of these rows if they are all rows and the column is in memory; nothing is looked at or copied."""
        held = self._hot(name)
        return held.values if held is not None and held.index.is_array(rows) else None

    def load(self, names: Iterable[str], rows: Rows) -> None:
        """Read the columns for these rows, together, unless they are in memory."""
        missing = [name for name in dict.fromkeys(names) if self._holder(name, rows) is None]
        if not missing:
            return
        wanted = distinct_rows(rows)
        pages = self._pages() if len(wanted) else None
        if pages is not None:
            missing = self._hold_pages(pages, missing, wanted)
        if missing and self._scan_is_cheaper(missing, len(wanted)):
            self._scan(missing)
        elif missing:
            self._fetch(missing, wanted, pages)

    def _pages(self) -> PagedTable | None:
        facts = self._facts
        if facts.pages is None:
            # A process that asks once gets what it asked for; who asks again is likely to go on. On an object store a
            # page takes no longer than a row, and an earlier process may have left it here.
            facts.fetches = asked = facts.fetches + 1
            if asked == (_ASKED_AGAIN if self.root.is_local else 1) and self.row_count > SMALL_TABLE and self.as_named:
                facts.keep_pages(self._view, PagedTable.of(self.handle))
        return facts.pages

    def _hold_pages(self, pages: PagedTable, names: list[str], rows: Rows) -> list[str]:
        """Hold what is kept in pages; the names of the other columns."""
        index, others = RowIndex(rows), []
        if len(rows) == 1:
            pages.fill(names, rows, self._count_page)
        for name in names:
            values = pages.values(name, rows, self._layout.types[name], self._count_page)
            if values is None:
                others.append(name)
            else:
                self._held.setdefault(name, []).append(Held(index, values))
        return others

    def _fetch(self, names: list[str], rows: Rows, pages: PagedTable | None) -> None:
        """Read columns of single rows; rows ascend, which keeps the reads sequential."""
        begin = time.perf_counter()
        self._hold(names, self.handle.take_rows(pa.array(rows), [*self._stored_names(names), ROW_ID]))
        seconds = (time.perf_counter() - begin) / len(names)
        for name in names:
            if pages is None or not pages.fetched(name, rows, self._count_page):
                size = self._held[name][-1].values.nbytes
                costs = self.memory.cache(_FETCHES)
                add_cost(costs, (self.version_key, name), seconds, rows=len(rows), size=size)

    def scan(self, names: Iterable[str], filter: str | None = None) -> Rows:
        """Read columns of the rows that a filter over stored columns keeps, hold them, and return those rows."""
        wanted = list(dict.fromkeys(names))
        return self._hold(wanted, self.handle.scan([*self._stored_names(wanted), ROW_ID], filter))

    def nearest(self, name: str, wanted: NearestRows, among: bytes | None = None) -> pa.Table:
        """Row ids and vectors of about the rows nearest to a query, as the vector index finds them in a `row_mask`."""
        found = self.handle.nearest(name, wanted, among)
        self.rows_read += found.num_rows
        self.bytes_read += found.nbytes
        return found

    @property
    def is_small(self) -> bool:
        """Whether reading everything costs less than asking for some of it."""
        return self.row_count <= SMALL_TABLE

    def in_memory(self, name: str) -> bool:
        """Whether the whole column is in memory."""
        return self._hot(name) is not None

    def would_stay(self, name: str, width: int) -> bool:
        """Whether a column with so many bytes per row would be kept in memory once it is read whole."""
        return self.as_named and self._columns.accepts(self.row_count * (width + 8))

    def _stored_names(self, names: Iterable[str]) -> list[str]:
        return [stored for name in names if (stored := self._layout.stored[name]) is not None]

    def count_read(self, table: pa.Table) -> None:
        """Remember that these rows were read from storage."""
        self.rows_read += table.num_rows
        self.bytes_read += table.nbytes

    def _count_page(self, page: pa.Array) -> None:
        self.rows_read += len(page)
        self.bytes_read += page.nbytes

    def _hold(self, names: list[str], table: pa.Table) -> Rows:
        self.count_read(table)
        rows, table = ascending(table)
        index = self._index(rows)
        for name in names:
            self._held.setdefault(name, []).append(Held(index, self._column(name, table, len(rows))))
        return index.rows

    def _index(self, rows: Rows) -> RowIndex:
        """The index of these rows; that of all rows is one object for every column, so that equality shows at once."""
        known = self._hot(ROW_ID) if len(rows) == self.row_count else None
        return known.index if known is not None and known.index.equals(rows) else RowIndex(rows)

    def _column(self, name: str, table: pa.Table, length: int) -> pa.Array:
        """A column under its current name and type; null where it did not exist yet."""
        kind, stored = self._layout.types[name], self._layout.stored[name]
        if stored is None:
            return pa.nulls(length, kind)  # a table without a stored column does not know how many rows it has
        column = one_chunk(table[stored])
        return column if self.as_named or column.type == kind else column.cast(kind)

    def all_rows(self) -> Rows:
        """Ascending row ids of every row."""
        held = self._hot(ROW_ID)
        if held is None:
            rows = self.scan(())
            held = Held(RowIndex(rows), pa.nulls(len(rows)))
            if self.as_named:
                self._columns.put((self.version_key, ROW_ID), held)
        return held.index.rows

    def index_of_all(self, rows: Rows) -> RowIndex | None:
        """The index of all rows, where these are all of them; it is seen by the array, nothing is looked at."""
        held = self._hot(ROW_ID)
        return held.index if held is not None and held.index.is_array(rows) else None

    def blocks(self) -> list[tuple[int, int]]:
        """All rows as ranges to be read one after the other, where memory may not keep a column of them; else none."""
        if self.is_small or not self.root.is_local or self._columns.accepts(_HELD_BYTES * self.row_count):
            return []
        pages = (self._facts.pages or PagedTable.of(self.handle)) if self.as_named else None
        first, end = (0, 0) if pages is None else pages.span
        if end - first != self.row_count:
            return []  # files also have the rows that were deleted
        self._facts.keep_pages(self._view, pages)
        size = min(_BLOCK_ROWS, max(self._columns.capacity // _HELD_BYTES, _LEAST_BLOCK))
        return [(low, min(low + size, end)) for low in range(first, end, size)]

    def hold_block(self, names: Iterable[str], first: int, end: int) -> Rows | None:
        """Hold columns of a block in the place of the one before, and return its rows; None where one is too wide."""
        pages = self._facts.pages
        for name in dict.fromkeys(names):
            values = None if pages is None else pages.between(name, first, end, self._layout.types[name])
            if values is None:
                return None
            self._count_page(values)
            self._held[name] = [Held(RowSpan(first, end), values)]
        return np.arange(first, end)

    def let_go(self) -> None:
        """Hold no values of this read any longer."""
        self._held.clear()

    def cached(self, names: Iterable[str]) -> bool:
        """Whether looking at every row of these columns in memory beats asking storage for some of them."""
        if self.row_count <= SMALL_TABLE:
            return True
        wanted = tuple(names)
        if not wanted:  # only the row ids, which every column that is read whole shares
            return self._columns.accepts(8 * self.row_count)
        return self.row_count <= _LARGEST_IN_MEMORY and all(self._hot(name) is not None for name in wanted)

    def whole(self, name: str) -> Held:
        """The whole column, from memory when it is there."""
        held = self._hot(name)
        if held is None:
            self._scan([name])
            held = self._held[name][-1]
        return held

    def codes(self, name: str, rows: Rows) -> tuple[Rows, int | None] | None:
        """Numbers for the values of a column of text, equal for equal values, if the whole column is in memory.

        And how many there are, where each of them occurs.
        """
        held = self.held_whole(name)
        if held is None or not pa.types.is_string(held.values.type) or not held.index.covers(rows):
            return None
        cache, key = self.memory.cache(CODES), (self.version_key, name)
        codes = cache.get(key)
        if codes is None:
            encoded = held.values.dictionary_encode(null_encoding="encode")
            codes = Codes(encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), len(encoded.dictionary))
            cache.put(key, codes)
        if held.index.equals(rows):
            return codes.numbers, codes.different
        return codes.numbers[held.index.positions(rows)], None

    def hold(self, names: Iterable[str], width: float | None = None) -> None:
        """Read whole columns into memory, as far as they are numbers or short texts and there is room for them.

        `width` is how many bytes a row of all of them was seen to take; without it texts stay where they are.
        """
        if not self.as_named or self.row_count > _LARGEST_IN_MEMORY:
            return
        wanted = [name for name in dict.fromkeys(names) if self._hot(name) is None]
        kinds = [self._layout.types[name] for name in wanted]
        short = width is not None and width <= _SHORT and all(map(_is_single, kinds))
        size = 16 if width is None else max(16, int(width) + 8)
        if (
            wanted
            and (short or all(map(pa.types.is_primitive, kinds)))
            and self._columns.accepts(size * self.row_count)
        ):
            self._scan(wanted)

    def _holder(self, name: str, rows: Rows) -> Held | None:
        for held in self._held.get(name, ()):
            if held.index.covers(rows):
                return held
        hot = self._hot(name)
        if hot is None:
            hot = self._all_pages(name)
            if hot is None or not hot.index.covers(rows):
                return None
        self._held.setdefault(name, []).insert(0, hot)
        return hot

    def held_whole(self, name: str) -> Held | None:
        """All values of a column if they are in memory."""
        return self._hot(name) or self._all_pages(name)

    def _all_pages(self, name: str) -> Held | None:
        pages = self._facts.pages
        found = None if pages is None else pages.whole(name, self._layout.types[name])
        if found is None:
            return None
        first, values = found
        if len(values) == 1:
            return Held(RowSpan(first, first + len(values[0])), values[0])
        rows, size = sum(map(len, values)), sum(each.nbytes for each in values)
        if rows != self.row_count or not self._columns.accepts(size) or size >= _LARGEST_ARRAY:
            return None  # files also have the rows that were deleted
        # In one piece from now on, for the files too.
        known, span = self._hot(ROW_ID), RowSpan(first, first + rows)
        index = known.index if known is not None and known.index.is_like(span) else span
        held = Held(index, pa.concat_arrays(values))
        assert pages is not None
        pages.adopt(name, held.values)
        self._columns.put((self.version_key, name), held)
        return held

    def _hot(self, name: str) -> Held | None:
        # Under another schema the same stored column may have another name and type here.
        return self._columns.get((self.version_key, name)) if self.as_named else None

    def _scan_is_cheaper(self, names: Sequence[str], wanted: int) -> bool:
        if self.row_count <= SMALL_TABLE:
            return True
        wide = any(pa.types.is_nested(self._layout.types[name]) for name in names)
        if wanted * (_WIDE_SCAN_RATIO if wide else _SCAN_RATIO) >= self.row_count:
            return True
        # Once fetching single rows has cost as much as reading the column would have, more of it is to be expected.
        return self.as_named and all(self._is_hot(name) for name in names)

    def _is_hot(self, name: str) -> bool:
        if pa.types.is_nested(self._layout.types[name]):
            return False
        fetched = cost_of(self.memory.cache(_FETCHES), (self.version_key, name))
        size = self.row_count * (fetched.bytes / max(fetched.rows, 1) + 8)
        whole = max(self.row_count * SCAN_SECONDS_PER_ROW, size * _SCAN_SECONDS_PER_BYTE)
        return fetched.seconds > whole and self._columns.accepts(int(size))

    def _scan(self, names: list[str]) -> None:
        self.scan(names)
        for name in names if self.as_named else ():
            self._columns.put((self.version_key, name), self._held[name][-1])
            self.memory.cache(_FETCHES).forget((self.version_key, name))  # the column is held now


def _is_single(kind: pa.DataType) -> bool:
    return bool(pa.types.is_primitive(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind))
