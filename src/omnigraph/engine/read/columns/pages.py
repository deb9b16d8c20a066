"""Columns of data files in memory, page by page, for reads of single rows.

A page of some thousand rows takes lance little longer than one row, so a table whose rows are asked for one at a time
is soon in memory. Pages belong to data files, which never change: commits, branches and older versions share them.

Reading ahead is a bet that more will be asked for. Each column of a file may lose some pages at it outright, and beyond
that one for each time that its rows were fetched without. Pages are counted, not the time they take, so that a busy
machine does as a quiet one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
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
_MOST_ROWS = 1 << 15
# Rows so wide that a page has fewer of them would hardly meet on one.
_FEWEST_ROWS = 1 << 10
# So many pages are read in place of single rows; who needs more of them is better off with the whole column.
_FEW_PAGES = 2
# Twice a file of a million rows.
_FREE_PAGES = 64
# So many pages are read after single rows.
_PAGES_AHEAD = 2
# Of so many pages or more the second half is read together: a million people are looked up all over their table, and
# each of 31 pages made one of the first 120 look-ups take 3 ms.
_MANY_PAGES = 8
_ASKED = 0.5
# … and of one of many files after fewer: ten million people are in ten files, and half of each would take 250 look-ups.
_MANY_FILES, _ASKED_OF_MANY = 4, 0.125
_EMPTY_BYTES = 4 << 10
_REMEMBERED = 4_096


# How many more pages may be read of each column; outlasts the pages, which others may push out.
_SPARE: CacheKind[int] = CacheKind("pages to spare", lambda pages: 256, entries=_REMEMBERED)
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
        if self.whole is not None:
            return []
        if len(offsets) == 1:
            number = int(offsets[0]) // self._rows
            return [number] if self._pages[number] is None else []
        numbers, counts = np.unique(offsets // self._rows, return_counts=True)
        wanted = numbers[np.argsort(-counts, kind="stable")].tolist()
        return [number for number in wanted if self._pages[number] is None]

    def read(self, number: int) -> pa.Array | None:
        """Read a page, if one is left to this column and there is room for it."""
        if self._spare() <= 0 or not self._memory.cache(PAGES).accepts(self.nbytes + _PAGE_BYTES):
            return None
        self.allow(-1)
        page = self._file.read(*self._range(number))
        self._put(number, page)
        return page

    def complete(self, asked: float) -> Iterator[pa.Array]:
        """Read what is missing, in few pieces, once such a share of many pages was asked for one by one."""
        pages, missing = len(self._pages), self._left
        size = int(self.nbytes * pages / max(pages - missing, 1))
        if not 0 < missing <= pages * (1 - asked) or pages < _MANY_PAGES or self._spare() < missing:
            return
        if not self._memory.cache(PAGES).accepts(size):
            return
        self.allow(-missing)
        for first, last in _runs([number for number, page in enumerate(self._pages) if page is None]):
            start = first * self._rows
            found = self._file.read(start, min((last + 1) * self._rows, self._file.rows) - start)
            for number in range(first, last + 1):
                # In memory of its own: a slice would keep everything that was read with it.
                page = pa.concat_arrays([found.slice((number - first) * self._rows, self._rows)])
                self._put(number, page)
                yield page

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
        with self._lock:
            if self._pages[number] is None:
                self._pages[number] = page
                self.nbytes += page.nbytes
                self._left -= 1
                if not self._left:
                    self._join()

    def allow(self, pages: int) -> None:
        """So many more pages may be read."""
        self._memory.cache(_SPARE).put(self.key, self._spare() + pages)

    def _spare(self) -> int:
        left = self._memory.cache(_SPARE).get(self.key)
        return _FREE_PAGES if left is None else left

    def take(self, offsets: Rows) -> pa.Array:
        """The values at these offsets, whose pages are all here."""
        if len(offsets) == 1:
            number, place = divmod(int(offsets[0]), self._rows)
            return self._page(number).slice(place, 1)
        if self.whole is not None:
            return self.whole.take(pa.array(offsets))
        numbers = offsets // self._rows
        places = offsets - numbers * self._rows
        ends = (np.flatnonzero(numbers[1:] != numbers[:-1]) + 1).tolist()
        bounds = zip([0, *ends], [*ends, len(offsets)], strict=True)
        return pa.concat_arrays([self._part(int(numbers[low]), places[low:high]) for low, high in bounds])

    def _part(self, number: int, places: Rows) -> pa.Array:
        page = self._page(number)
        return page.slice(int(places[0]), 1) if len(places) == 1 else page.take(pa.array(places))

    def _page(self, number: int) -> pa.Array:
        page = self._pages[number]
        assert page is not None, "asked for before it was read"
        return page

    def _join(self) -> None:
        """All pages in one piece, from which many rows are taken faster."""
        whole = pa.concat_arrays([self._page(number) for number in range(len(self._pages))])
        self._pages = [whole.slice(start, self._rows) for start in range(0, len(whole), self._rows)]
        self.whole, self.nbytes = whole, _EMPTY_BYTES + whole.nbytes


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Ascending numbers as ranges, the last one included."""
    for _, group in groupby(enumerate(numbers), lambda each: each[1] - each[0]):
        run = [number for _, number in group]
        yield run[0], run[-1]


def _page_rows(file: ColumnFile) -> int:
    return min(_MOST_ROWS, _PAGE_BYTES * file.rows // max(file.stored_bytes, 1))


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
            column.allow(1)
            for number in column.missing(each.offsets)[:room]:
                room -= 1
                if not self._read(column, number, read):
                    break
        return True

    def _read(self, column: PagedColumn, number: int, read: OnRead) -> bool:
        try:
            page = column.read(number)
        except StorageError:
            return False  # the fetch of the rows reports what is wrong
        if page is None:
            return False
        read(page)
        try:
            for more in column.complete(_ASKED if len(self._places.gapless) < _MANY_FILES else _ASKED_OF_MANY):
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
