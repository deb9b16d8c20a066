"""Where the rows of one table version lie: data file and offset by row id, from its fragments' descriptions alone.

A row that was replaced is listed by the fragment it left as well as by the one it went to, and only deletion vectors
tell which of the two holds it. So a row counts as found where a single fragment lists it; the others are left to lance.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from omnigraph.memory.cache import Cache, CacheKind
from omnigraph.storage.lance.handle import TableHandle
from omnigraph.storage.lance.rows.row_id_sequence import Ids, Run, Scattered, parse_sequence

# Shorter lists of scattered row ids come from small replacements and are not worth a search each.
_LONG_LIST = 1 << 16


@dataclass(frozen=True, slots=True)
class DataFile:
    """One immutable data file: its fields in the order of its own schema, the column of each, and how many rows."""

    path: str
    fields: tuple[int, ...]
    columns: tuple[int, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class Found:
    """Rows in one file: at which positions of what was asked for they stand (None: all), and their offsets there."""

    file: DataFile
    positions: Ids | None
    offsets: Ids


class RowPlaces:
    """The places of all rows of one version; `fields` names its columns as its files do."""

    def __init__(self, fields: dict[str, int], listed: list[tuple[DataFile, tuple[Run, ...] | Scattered]]) -> None:
        self.fields = fields
        runs = [(run, file) for file, rows in listed if isinstance(rows, tuple) for run in rows]
        runs.sort(key=lambda found: found[0].first)
        self._runs = [run for run, _ in runs]
        self._files = [file for _, file in runs]
        self._first, self._end, self._shift = (
            np.array([(run.first, run.end, run.offset - run.first) for run, _ in runs], np.int64)
            .reshape(-1, 3)
            .T.copy()
        )
        scattered = [(file, rows) for file, rows in listed if isinstance(rows, Scattered)]
        self._long = [(file, rows) for file, rows in scattered if len(rows.ids) > _LONG_LIST]
        short = [rows.ids for _, rows in scattered if len(rows.ids) <= _LONG_LIST]
        self._elsewhere = np.sort(np.concatenate(short)) if short else np.empty(0, np.int64)
        self.only = runs[0] if len(runs) == 1 and not scattered else None
        """The run that has every row, and its file; None when there are more."""
        self.gapless = runs if not scattered and _follow_one_another(runs) else []
        """The runs that have every row, and their files, where each is a whole file and begins where the one before it
        ends; else nothing."""

    @property
    def nbytes(self) -> int:
        """How much memory the places take, but for the long lists, which are remembered by themselves."""
        return int(len(self._runs) * 512 + self._elsewhere.nbytes)

    @classmethod
    def of(cls, table: TableHandle) -> RowPlaces | None:
        """The places in a table; None where the descriptions do not tell them."""
        listed, known = [], table.address.root.memory.cache(_LISTS)
        for described in (fragment.metadata for fragment in table.dataset.get_fragments()):
            if len(described.files) != 1 or described.overlays:
                return None
            file = _file(table, described)
            rows = _listed(known, file, described)
            if rows is None:
                return None
            listed.append((file, rows))
        places = cls({field.name(): field.id() for field in table.dataset.lance_schema.fields()}, listed)
        return places if bool((places._first[1:] >= places._end[:-1]).all()) else None

    def find(self, rows: Ids) -> list[Found] | None:
        """Where these live rows are; None unless each of them is listed once."""
        if self.only is not None:
            return _in_one_run(*self.only, rows)
        if len(self._elsewhere) and bool(_contains(self._elsewhere, rows).any()):
            return None
        if len(rows) == 1 and not self._long:
            before = bisect_right(self._runs, rows.item(), key=_first) - 1
            return _in_one_run(self._runs[before], self._files[before], rows) if before >= 0 else None
        run = np.searchsorted(self._first, rows, side="right") - 1
        inside = np.zeros(len(rows), np.bool_)
        if len(self._files):
            inside = (run >= 0) & (rows < self._end[run])
        times = inside.astype(np.int64)
        found = []
        for number in np.unique(run[inside]).tolist():
            positions = np.flatnonzero(inside & (run == number))
            found.append(Found(self._files[number], positions, rows[positions] + self._shift[number]))
        for file, listed in self._long:
            positions = np.flatnonzero(_contains(listed.ids, rows))
            times[positions] += 1
            if len(positions):
                place = np.searchsorted(listed.ids, rows[positions])
                found.append(Found(file, positions, listed.offsets[place]))
        return found if bool((times == 1).all()) else None


def _follow_one_another(runs: list[tuple[Run, DataFile]]) -> bool:
    whole = all(run.offset == 0 and run.end - run.first == file.rows for run, file in runs)
    return whole and all(before.end == after.first for (before, _), (after, _) in pairwise(runs))


def _first(run: Run) -> int:
    return run.first


def _in_one_run(run: Run, file: DataFile, rows: Ids) -> list[Found] | None:
    low, high = (rows.item(), rows.item()) if len(rows) == 1 else (int(rows.min()), int(rows.max()))
    if low < run.first or high >= run.end:
        return None
    return [Found(file, None, rows if run.first == run.offset else rows + (run.offset - run.first))]


def _contains(ascending: Ids, rows: Ids) -> npt.NDArray[np.bool_]:
    place = np.minimum(np.searchsorted(ascending, rows), len(ascending) - 1)
    present: npt.NDArray[np.bool_] = ascending[place] == rows
    return present


def _file(table: TableHandle, described: Any) -> DataFile:
    held = described.files[0]
    # A fork reads its parent's files where they are.
    home = table.address.uri if held.base_id is None else str(table.dataset._ds.base_paths()[held.base_id].path)
    return DataFile(f"{home}/data/{held.path}", tuple(held.fields), tuple(held.column_indices), described.physical_rows)


_Listed: TypeAlias = tuple[Run, ...] | Scattered


def _listed_bytes(rows: _Listed) -> int:
    return 256 * len(rows) if isinstance(rows, tuple) else int(rows.ids.nbytes + rows.offsets.nbytes)


_LISTS: CacheKind[_Listed] = CacheKind("row ids of fragments", _listed_bytes, share=1 / 16)


def _listed(cache: Cache[_Listed], file: DataFile, described: Any) -> _Listed | None:
    """The row ids of a fragment; they never change, and a long list takes time, so each is looked at once."""
    known = cache.get((file.path, described.id))
    if known is None:
        content = None if described.row_id_meta is None else described.row_id_meta.asdict().get("Inline")
        if content is None:
            return None
        try:
            known = parse_sequence(bytes(content), file.rows)
        except ValueError:
            return None
        cache.put((file.path, described.id), known)
    return known
