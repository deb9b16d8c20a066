"""Columns of data files in memory, page by page, for reads of single rows.

A page of a thousand rows takes lance as long as one row, whatever the size of the table, and after a few of them the
rest of the file is read in one piece: a table whose rows are asked for one at a time is soon in memory. Pages belong to
data files, which never change: commits, branches and older versions share them.

Reading ahead is a bet that more will be asked for. Each column of a file may lose some rows at it outright, and beyond
that some for each time that its rows were fetched without. Rows are counted, not the time they take, so that a busy
machine does as a quiet one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.errors import StorageError
from omnigraph.memory.budget import MemoryBudget
from omnigraph.memory.cache import CacheKind
from omnigraph.storage.base.layout import Root
from omnigraph.storage.lance.handle import TableHandle
from omnigraph.storage.lance.rows.column_file import ColumnFile
from omnigraph.storage.lance.rows.row_places import DataFile, RowPlaces

OnRead: TypeAlias = Callable[[pa.Array], None]
_Key: TypeAlias = tuple[str, int]  # the path of a data file, and a field of it

_PAGE_BYTES = 512 << 10
# Three columns of a million people: 1,024 rows take 0.27 ms, as one row does, and 32,768 take 1.8. On an object store
# the way there takes longer than either.
_MOST_ROWS, _MOST_ROWS_THERE = 1 << 10, 1 << 15
# Rows so wide that a page has fewer of them would hardly meet on one.
_FEWEST_ROWS = 1 << 10
# So many pages are read in place of single rows; who needs more of them is better off with the whole column.
_FEW_PAGES = 2
# Twice a file of a million rows; and as many for each time that rows were fetched.
_FREE_ROWS, _ROWS_FOR_A_FETCH = 1 << 21, 1 << 15
# So many pages are read after single rows.
_PAGES_AHEAD = 2
# Of so many pages or more the rest is read together, once half of them or so many were asked for: a million people are
# looked up all over their table, and pages would be missing for a thousand look-ups.
_MANY_PAGES, _ASKED = 8, 16
# … and of one of many files after fewer: ten million people are in ten files.
_MANY_FILES, _ASKED_OF_MANY = 4, 4
_EMPTY_BYTES = 4 << 10
_REMEMBERED = 4_096


# How many more rows may be read of each column; outlasts the pages, which others may push out.
_SPARE: CacheKind[int] = CacheKind("rows to spare", lambda rows: 256, entries=_REMEMBERED)
# Columns that have no pages.
_UNPAGED: CacheKind[bool] = CacheKind("columns without pages", lambda known: 256, entries=_REMEMBERED)


class PagedColumn:
    """One column of one file: the pages that were read so far, and all of them in one piece when none is left."""

    __slots__ = ("_file", "_left", "_lock", "_memory", "_pages", "_rows", "key", "nbytes", "whole")

    def __init__(self, key: _Key, file: ColumnFile, memory: MemoryBudget) -> None:
        self.key = key
        self._memory = memory
        self._file = file
        self._rows = _page_rows(file)
        self._left = -(-file.rows // self._rows)
        self._pages: list[pa.Array | None] = [None] * self._left
        self.whole: pa.Array | None = None
        self._lock = threading.Lock()
        self.nbytes = _EMPTY_BYTES

    @property
    def type(self) -> pa.DataType:
        return self._file.type

    def missing(self, offsets: Rows) -> list[int]:
        """The pages that rows at these offsets need and that are not here, the most wanted ones first."""
        pages = self._pages  # looked at before the whole: another thread may put one in the place of the other
        if self.whole is not None:
            return []
        if len(offsets) == 1:
            number = int(offsets[0]) // self._rows
            return [number] if pages[number] is None else []
        numbers, counts = np.unique(offsets // self._rows, return_counts=True)
        wanted = numbers[np.argsort(-counts, kind="stable")].tolist()
        return [number for number in wanted if pages[number] is None]

    def may_read(self) -> bool:
        """Whether a page is left to this column, and there is room for it."""
        return self._spare() >= self._rows and self._memory.cache(PAGES).accepts(self.nbytes + _PAGE_BYTES)

    def read(self, number: int, others: Sequence[PagedColumn] = ()) -> list[pa.Array]:
        """Read a page, and the same one of other columns of the file, whose pages are as long."""
        start, count = self._range(number)
        files = [other._file for other in others]
        pages = self._file.read_with(files, start, count) if files else [self._file.read(start, count)]
        for column, page in zip((self, *others), pages, strict=True):
            column.allow(-self._rows)
            column._put(number, page)
        return pages

    def is_like(self, other: PagedColumn) -> bool:
        """Whether both have pages of the same rows."""
        return self._rows == other._rows and self._file.rows == other._file.rows

    def complete(self, asked: int) -> Iterator[pa.Array]:
        """Read what is missing, in few pieces, once so many pages were asked for one by one, or half of them."""
        pages, missing = len(self._pages), self._left
        size = int(self.nbytes * pages / max(pages - missing, 1))
        if not missing or pages - missing < min(asked, pages / 2) or pages < _MANY_PAGES:
            return
        if self._spare() < missing * self._rows or not self._memory.cache(PAGES).accepts(size):
            return
        self.allow(-missing * self._rows)
        for first, last in _runs([number for number, page in enumerate(self._pages) if page is None]):
            start, end = first * self._rows, min((last + 1) * self._rows, self._file.rows)
            found = self._file.read(start, end - start)
            self._put_run(first, last, found)
            yield found

    def between(self, start: int, end: int) -> pa.Array:
        """The values at consecutive offsets; they are not kept."""
        return self._file.read(start, end - start) if self.whole is None else self.whole.slice(start, end - start)

    def recall(self, number: int) -> bool:
        """Take a page that an earlier process has left on this machine, if there is one and room for it."""
        if not self._memory.cache(PAGES).accepts(self.nbytes + _PAGE_BYTES):
            return False
        page = self._file.kept(*self._range(number))
        if page is not None:
            self._put(number, page)
            self._memory.cache(PAGES).put(self.key, self)  # it has grown
        return page is not None

    def _range(self, number: int) -> tuple[int, int]:
        start = number * self._rows
        return start, min(self._rows, self._file.rows - start)

    def _put(self, number: int, page: pa.Array) -> None:
        self._put_run(number, number, page)

    def _put_run(self, first: int, last: int, values: pa.Array) -> None:
        """Consecutive pages, none of which outlasts the others: soon all of them are one piece."""
        with self._lock:
            for number in range(first, last + 1):
                if self._left and self._pages[number] is None:
                    page = values.slice((number - first) * self._rows, self._rows)
                    self._pages[number] = page
                    self.nbytes += page.nbytes
                    self._left -= 1
                    if not self._left:
                        self._join()

    def allow(self, rows: int) -> None:
        """So many more rows may be read."""
        self._memory.cache(_SPARE).put(self.key, self._spare() + rows)

    def _spare(self) -> int:
        left = self._memory.cache(_SPARE).get(self.key)
        return _FREE_ROWS if left is None else left

    def take(self, offsets: Rows) -> pa.Array:
        """The values at these offsets, whose pages are all here."""
        pages, whole = self._pages, self.whole
        if len(offsets) == 1:
            at = int(offsets[0])
            held, place = (pages[at // self._rows], at % self._rows) if whole is None else (whole, at)
            assert held is not None, "asked for before it was read"
            return held.slice(place, 1)
        if whole is not None:
            return whole.take(pa.array(offsets))
        numbers = offsets // self._rows
        places = offsets - numbers * self._rows
        ends = (np.flatnonzero(numbers[1:] != numbers[:-1]) + 1).tolist()
        bounds = zip([0, *ends], [*ends, len(offsets)], strict=True)
        return pa.concat_arrays([_part(pages[int(numbers[low])], places[low:high]) for low, high in bounds])

    def _join(self) -> None:
        """All pages in one piece, from which many rows are taken faster."""
        self.adopt(pa.concat_arrays(self._pages))

    def adopt(self, whole: pa.Array) -> None:
        """All values, in the place of pages."""
        self.whole, self.nbytes = whole, _EMPTY_BYTES + whole.nbytes
        self._pages = []


def _part(page: pa.Array, places: Rows) -> pa.Array:
    return page.slice(int(places[0]), 1) if len(places) == 1 else page.take(pa.array(places))


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Ascending numbers as ranges, the last one included."""
    for _, group in groupby(enumerate(numbers), lambda each: each[1] - each[0]):
        run = [number for _, number in group]
        yield run[0], run[-1]


def _page_rows(file: ColumnFile) -> int:
    most = _MOST_ROWS if file.root.is_local else _MOST_ROWS_THERE
    return min(most, _PAGE_BYTES * file.rows // max(file.stored_bytes, 1))


PAGES: CacheKind[PagedColumn] = CacheKind("pages", lambda column: column.nbytes, share=1 / 8)


class PagedTable:
    """The rows of one table version in the pages of its files."""

    __slots__ = ("_memory", "_places", "_root")

    def __init__(self, places: RowPlaces, root: Root) -> None:
        self._places = places
        self._root = root
        self._memory = root.memory

    @property
    def nbytes(self) -> int:
        """What it takes to know where the rows are; the pages themselves are counted by themselves."""
        return self._places.nbytes

    @classmethod
    def of(cls, table: TableHandle) -> PagedTable | None:
        """None for a table that only lance finds its way in."""
        places = RowPlaces.of(table)
        return None if places is None else cls(places, table.address.root)

    def whole(self, name: str, kind: pa.DataType) -> tuple[int, list[pa.Array]] | None:
        """The first row id and all values of a column, file by file, if all of its pages are here."""
        field = self._places.fields.get(name)
        files = [file for _, file in self._places.gapless]
        if field is None or not files:
            return None
        cache, found = self._memory.cache(PAGES), []
        for file in files:
            column = cache.get((file.path, field))
            if column is None or column.whole is None or column.type != kind:
                return None
            found.append(column.whole)
        return self._places.gapless[0][0].first, found

    @property
    def span(self) -> tuple[int, int]:
        """The first row id and the one after the last, where files have all between them in order; else (0, 0)."""
        runs = [run for run, _ in self._places.gapless]
        return (runs[0].first, runs[-1].end) if runs else (0, 0)

    def between(self, name: str, first: int, end: int, kind: pa.DataType) -> pa.Array | None:
        """The values of consecutive rows of the span, which are not kept; None for a column without pages."""
        field, parts = self._places.fields.get(name), []
        for run, file in self._places.gapless:
            low, high = max(first, run.first), min(end, run.end)
            if field is None or low >= high:
                continue
            column = _column(self._root, file, field)
            if column is None or column.type != kind:
                return None
            parts.append(column.between(low - run.first, high - run.first))
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)

    def fill(self, names: Sequence[str], row: Rows, read: OnRead) -> None:
        """Read the pages that one row needs, of all columns at a time."""
        found = self._places.find(row) if len(names) > 1 and self._root.is_local else None
        if found is None:
            return
        (each,) = found
        fields = [field for name in names if (field := self._places.fields.get(name)) is not None]
        columns = [column for field in fields if (column := _column(self._root, each.file, field)) is not None]
        wanted = [column for column in columns if column.missing(each.offsets) and column.may_read()]
        together = [column for column in wanted if column.is_like(wanted[0])]
        if len(together) > 1:
            self._read_pages(together, together[0].missing(each.offsets)[0], read)

    def values(self, name: str, rows: Rows, kind: pa.DataType, read: OnRead) -> pa.Array | None:
        """The values of these rows, if their pages are here or few enough to be read now."""
        field = self._places.fields.get(name)
        found = None if field is None else self._places.find(rows)
        if field is None or found is None:
            return None
        parts, room = [], _FEW_PAGES
        for each in found:
            column = _column(self._root, each.file, field)
            if column is None or column.type != kind:
                return None
            missing = [number for number in column.missing(each.offsets) if not column.recall(number)]
            room -= len(missing)
            if missing and (room < 0 or not all(self._read(column, number, read) for number in missing)):
                return None
            parts.append(column.take(each.offsets))
        if found[0].positions is None:
            return parts[0]
        order = np.argsort(np.concatenate([each.positions for each in found]), kind="stable")
        return pa.concat_arrays(parts).take(pa.array(order))

    def fetched(self, name: str, rows: Rows, read: OnRead) -> bool:
        """Rows were fetched one by one, and some of their pages are read for the next time; whether they have any."""
        field = self._places.fields.get(name)
        found = None if field is None else self._places.find(rows)
        if field is None or found is None:
            return False
        room = _PAGES_AHEAD
        for each in found:
            column = _column(self._root, each.file, field)
            if column is None:
                return False
            column.allow(_ROWS_FOR_A_FETCH)
            for number in column.missing(each.offsets)[:room]:
                room -= 1
                if not self._read(column, number, read):
                    break
        return True

    def adopt(self, name: str, values: pa.Array) -> None:
        """Have the files share one array of all values, which was made of theirs."""
        field, start = self._places.fields[name], 0
        for _, file in self._places.gapless:
            column = self._memory.cache(PAGES).get((file.path, field))
            if column is not None:
                column.adopt(values.slice(start, file.rows))
            start += file.rows

    def _read(self, column: PagedColumn, number: int, read: OnRead) -> bool:
        return column.may_read() and self._read_pages([column], number, read)

    def _read_pages(self, columns: list[PagedColumn], number: int, read: OnRead) -> bool:
        first, *others = columns
        asked = _ASKED if len(self._places.gapless) < _MANY_FILES else _ASKED_OF_MANY
        try:
            for page in first.read(number, others):
                read(page)
        except StorageError:
            return False  # the fetch of the rows reports what is wrong
        for column in columns:
            try:
                for more in column.complete(asked):
                    read(more)
            except StorageError:
                pass  # as above
            self._memory.cache(PAGES).put(column.key, column)  # it has grown
        return True


def _column(root: Root, file: DataFile, field: int) -> PagedColumn | None:
    key, memory = (file.path, field), root.memory
    pages = memory.cache(PAGES)
    held = pages.get(key)
    if held is not None or key in memory.cache(_UNPAGED) or not pages.accepts(_PAGE_BYTES):
        return held
    try:
        return pages.get_or_build(key, lambda: _opened(root, file, field))
    except (LookupError, StorageError):
        memory.cache(_UNPAGED).put(key, True)
        return None


def _opened(root: Root, file: DataFile, field: int) -> PagedColumn:
    column = ColumnFile.open(root, file, field)
    if _page_rows(column) < _FEWEST_ROWS:
        raise LookupError(f"the values of field {field} are too long for pages")
    return PagedColumn((file.path, field), column, root.memory)
