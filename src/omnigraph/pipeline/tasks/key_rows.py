"""Where a check in a worker gets its rows from: whole parts while all rows are few, else partitions of key columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.engine.intake.inputs.partitioned import PartitionedFile
from omnigraph.engine.values.arrow import empty_rows, table_types
from omnigraph.engine.values.result import LoadMode
from omnigraph.engine.values.rowset import one_array
from omnigraph.engine.views.view import OpenTables, View
from omnigraph.pipeline.tasks.buckets import partition_numbers
from omnigraph.pipeline.tasks.key_files import key_path
from omnigraph.pipeline.tasks.key_sets import POSITION, KeySet, Part, set_of
from omnigraph.storage.base.layout import Root
from omnigraph.storage.lance import parts as scratch
from omnigraph.storage.manifest.snapshot import Snapshot

# A row's place in the input as one number, while a check runs: split, then position among its table's rows.
_SPLIT_SHIFT = 40

Coded = tuple[pa.Table, np.ndarray]
"""Rows, and the code of each."""


@dataclass(frozen=True, slots=True)
class CheckJob:
    """What every check knows: the parts by table, the pinned tables, and where it may write.

    It answers with `samples` findings, and puts no more into words unless all are wanted `in_words`, for a report.
    `splits` is how many the input has. With more than one partition, `committed` says where the key columns of
    committed rows are, by table and by the columns that they are partitioned by; `moved` where the edges are to which
    this load gives another source.
    """

    root: Root
    catalog: Catalog
    snapshot: Snapshot
    mode: LoadMode
    parts: Mapping[str, tuple[Part, ...]]
    scratch: str
    samples: int
    in_words: bool = False
    splits: int = 1
    partitions: int = 1
    held_rows: int = 8 << 20
    committed: Mapping[tuple[str, tuple[str, ...]], tuple[str, ...]] = field(default_factory=dict)
    moved: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def view(self) -> View:
        return View(self.snapshot, self.catalog, None, OpenTables(self.root))

    @property
    def limit(self) -> int | None:
        """How many findings of a partition are put into words; None for all."""
        return None if self.in_words else self.samples

    @property
    def merges(self) -> bool:
        """Whether rows may have ids that exist."""
        return self.mode in ("merge", "patch")

    @property
    def replaces(self) -> bool:
        return self.mode == "overwrite"

    def key_set(self, table_key: str, spread: Sequence[str]) -> KeySet:
        return set_of(self.catalog, table_key, self.mode, spread)


def place_of_code(code: int) -> tuple[int, int]:
    """(split, position) of a row."""
    return code >> _SPLIT_SHIFT, code & ((1 << _SPLIT_SHIFT) - 1)


def place_of_codes(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(split, position) of many rows."""
    return codes >> _SPLIT_SHIFT, codes & ((1 << _SPLIT_SHIFT) - 1)


def code_of(part: Part) -> int:
    """The code of the first row of a part."""
    return (part.split << _SPLIT_SHIFT) + part.start


def codes_of(part: Part, positions: np.ndarray) -> np.ndarray:
    """The codes of the rows at some positions of a part.

    >>> part = Part("node:P", "", split=0, start=7, rows=4, fresh=False, further=((2, 5),))
    >>> [place_of_code(code) for code in codes_of(part, np.arange(4)).tolist()]
    [(0, 7), (0, 8), (5, 0), (5, 1)]
    """
    found: np.ndarray
    if not part.further:
        found = code_of(part) + positions
        return found
    begins, offsets = _pieces(part)
    found = offsets[np.searchsorted(begins, positions, side="right") - 1] + positions
    return found


def positions_of(part: Part, codes: np.ndarray) -> np.ndarray:
    """The positions of the rows of a part that have some codes."""
    begins, offsets = _pieces(part)
    found: np.ndarray = codes - offsets[np.searchsorted(begins + offsets, codes, side="right") - 1]
    return found


def _pieces(part: Part) -> tuple[np.ndarray, np.ndarray]:
    """Where the rows of each split begin in a part, and what is added to positions there to get codes."""
    begins = np.array([0, *(at for at, _ in part.further)], np.int64)
    firsts = np.array([code_of(part), *(split << _SPLIT_SHIFT for _, split in part.further)], np.int64)
    return begins, firsts - begins


def explicit(mine: Sequence[Part]) -> list[Part]:
    """The parts whose ids may clash: generated ones are new by construction."""
    return [part for part in mine if not part.fresh]


class KeyRows:
    """The rows of a range of partitions, read once and given out partition by partition."""

    def __init__(self, job: CheckJob, low: int, high: int) -> None:
        self.job = job
        self.view = job.view
        self.low, self.high = low, high
        self._staged: dict[tuple[str, tuple[str, ...]], dict[int, list[Coded]]] = {}
        self._committed: dict[tuple[str, tuple[str, ...]], dict[int, list[pa.Table]]] = {}

    @property
    def is_whole(self) -> bool:
        """Whether there is one partition, so that rows come from the parts and tables themselves."""
        return self.job.partitions == 1

    # --- staged rows ---------------------------------------------------------------------------

    def staged(self, table_key: str, columns: Sequence[str], spread: Sequence[str], number: int) -> Coded:
        """Some columns of the staged rows of a partition, with the code of each row."""
        mine = self._parts(table_key, spread)
        if self.is_whole:
            return self._joined(table_key, columns, [_whole(self.job.root, part, columns) for part in mine])
        key = (table_key, tuple(spread))
        if key not in self._staged:
            self._staged[key] = {}
            for chunk in self._chunks(mine, self.job.key_set(*key), self.low, self.high):
                for at, found in chunk.items():
                    self._staged[key].setdefault(at, []).extend(found)
        held = self._staged[key].get(number, [])
        return self._joined(table_key, columns, [(rows.select(list(columns)), codes) for rows, codes in held])

    def chunks(self, table_key: str, spread: Sequence[str]) -> Iterator[dict[int, Coded]]:
        """The values of staged rows, a bounded number of rows at a time whatever the values are."""
        columns = list(spread)
        if self.is_whole:
            yield {0: self.staged(table_key, columns, spread, 0)}
            return
        for chunk in self._chunks(
            self._parts(table_key, spread), self.job.key_set(table_key, spread), self.low, self.high
        ):
            yield {
                number: self._joined(table_key, columns, [(rows.select(columns), codes) for rows, codes in found])
                for number, found in chunk.items()
            }

    def rows_at(self, table_key: str, columns: Sequence[str], codes: np.ndarray) -> Coded:
        """Some columns of the rows with these codes, from the parts."""
        found: list[Coded] = []
        for part in self.job.parts.get(table_key, ()):
            first, last = codes_of(part, np.array([0, part.rows - 1])).tolist()
            mine = np.sort(codes[(codes >= first) & (codes <= last)])
            if len(mine):
                table = scratch.open_part(self.job.root, part.location)
                found.append((table.take_positions(pa.array(positions_of(part, mine)), list(columns)), mine))
        return self._joined(table_key, columns, found)

    def with_ids(self, table_key: str, ids: pa.Array) -> Coded:
        """The staged rows that have one of these ids, of whatever partition; only those that may have one are read."""
        mine = explicit(self.job.parts.get(table_key, ()))
        found: list[Coded] = []
        if self.is_whole:
            found = [_whole(self.job.root, part, ["id"]) for part in mine]
        else:
            keys = self.job.key_set(table_key, ["id"])
            for number in np.unique(partition_numbers([ids], self.job.partitions)).tolist():
                for chunk in self._chunks(mine, keys, number, number + 1):
                    found += [_among(rows.select(["id"]), codes, ids) for rows, codes in chunk.get(number, [])]
        rows, codes = self._joined(table_key, ["id"], found)
        return _among(rows, codes, ids)

    def _parts(self, table_key: str, spread: Sequence[str]) -> Sequence[Part]:
        mine = self.job.parts.get(table_key, ())
        return explicit(mine) if tuple(spread) == ("id",) else mine

    def _chunks(self, mine: Sequence[Part], keys: KeySet, low: int, high: int) -> Iterator[dict[int, list[Coded]]]:
        held: dict[int, list[Coded]] = {}
        rows = 0
        for part in mine:
            file = PartitionedFile.open(key_path(self.job.root, part.keys, keys.number))
            count = int(file.counts[low:high].sum())
            if rows and rows + count > self.job.held_rows:
                yield held
                held, rows = {}, 0
            rows += count
            for number, batch in file.read(low, high).items():
                codes = codes_of(part, batch.column(POSITION).to_numpy().astype(np.int64))
                held.setdefault(number, []).append((pa.Table.from_batches([batch]), codes))
        if held:
            yield held

    def _joined(self, table_key: str, columns: Sequence[str], found: Sequence[Coded]) -> Coded:
        if not found:
            info = table_types(self.job.catalog)[table_key]
            return empty_rows(info).select(list(dict.fromkeys(columns))), np.zeros(0, np.int64)
        return pa.concat_tables(rows for rows, _ in found), np.concatenate([codes for _, codes in found])

    # --- committed rows ------------------------------------------------------------------------

    def committed(self, table_key: str, spread: Sequence[str], number: int) -> Iterator[pa.Table]:
        """The committed rows of a partition: the columns that it is made by, and what goes along."""
        key = (table_key, tuple(spread))
        if key not in self._committed:
            places = self.job.committed.get(key, ())
            self._committed[key] = self._tables(places, self.job.key_set(*key).number, self.low, self.high)
        yield from self._committed[key].get(number, [])

    def moved(self, table_key: str, number: int) -> pa.Array:
        """Ids of committed edges whose source is in a partition, and to which this load gives a source elsewhere."""
        found = self._tables(self.job.moved.get(table_key, ()), 0, number, number + 1).get(number, [])
        return one_array(pa.concat_tables(found)["id"]) if found else pa.array([], pa.utf8())

    def _tables(self, places: Sequence[str], set_number: int, low: int, high: int) -> dict[int, list[pa.Table]]:
        found: dict[int, list[pa.Table]] = {}
        for place in places:
            for number, batch in (
                PartitionedFile.open(key_path(self.job.root, place, set_number)).read(low, high).items()
            ):
                found.setdefault(number, []).append(pa.Table.from_batches([batch]))
        return found


def _whole(root: Root, part: Part, columns: Sequence[str]) -> Coded:
    rows = scratch.open_part(root, part.location).scan(list(dict.fromkeys(columns)))
    return rows, codes_of(part, np.arange(part.rows, dtype=np.int64))


def _among(rows: pa.Table, codes: np.ndarray, ids: pa.Array) -> Coded:
    mask = pc.is_in(rows["id"], value_set=ids)
    return rows.filter(mask), codes[mask.to_numpy()]
