"""Changing rows where they are: what one transaction needs in order to replace, add and remove rows of a table.

Lance's upsert joins the change with the whole table. Here the rows that give way are looked up by id once, marked as
deleted in their fragments, and the new rows are written beside them under the row ids of those that they replace. So
the cost follows the change.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import StorageError
from omnigraph.storage.lance.handle import ID_CHUNK, TableHandle
from omnigraph.storage.lance.row_versions import RowVersions
from omnigraph.storage.lance.wire import pb_field
from omnigraph.storage.lance.withdrawal import by_fragment, withdraw

ROW_IDS = "row_ids"
_LENGTHS, _VERSIONS = "created, rows", "created, versions"
_ROW_ID = "_rowid"
_ADDRESS = "_rowaddr"
_CREATED = "_row_created_at_version"
_FOUND = [_ROW_ID, _ADDRESS, _CREATED]
_NO_IDS = pa.array([], pa.utf8())
_NOWHERE = pa.table({"id": _NO_IDS, **dict.fromkeys(_FOUND, pa.array([], pa.uint64()))})
_CHUNK_ROWS = 4 << 20
_RUN_ROWS = 8  # ranges take less than an array when they are this long on average


class Places:
    """Where rows to be replaced or deleted are in one version of a table; ids that it does not have are left out."""

    def __init__(
        self,
        base: TableHandle,
        rows: pa.Table | None,
        deleted: pa.Array | None = None,
        known: pa.Table | None = None,
    ) -> None:
        if "id" not in base.schema.names:
            # The manifest has keys of another name, and only lance's one-step insert keeps those unique.
            raise StorageError(f"{base.address.uri}: rows without ids cannot be staged", kind="Precondition")
        named = [*(rows["id"].chunks if rows is not None else ()), *([] if deleted is None else [deleted])]
        wanted = pa.chunked_array([_NO_IDS, *named])
        found = None if known is None else _addressed(base, known)
        if found is None:
            found = base.take_ids(wanted, ["id", *_FOUND]) if len(wanted) and base.fragment_count() else _NOWHERE
        self.base = base
        self.ids = found["id"].combine_chunks()
        self.row_ids = found[_ROW_ID].to_numpy()
        self._addresses = found[_ADDRESS].to_numpy()
        self._created = found[_CREATED].to_numpy()

    @property
    def count(self) -> int:
        """How many rows were found."""
        return len(self.row_ids)

    def on(self, base: TableHandle) -> Places:
        """The same rows in another version of the table; StorageError(kind=Precondition) when one is gone or another.

        Row ids are stable, so they tell where the rows are now without looking at an id.
        """
        if base.version == self.base.version:
            return self
        known = pa.table({"id": self.ids, _ROW_ID: pa.array(self.row_ids, pa.uint64())})
        found = Places(base, None, self.ids, known)
        order, here = np.argsort(found.row_ids), np.argsort(self.row_ids)
        if not np.array_equal(found.row_ids[order], self.row_ids[here]):
            raise StorageError(f"{base.address.uri}: rows to replace are no longer there", kind="Precondition")
        return found

    def complete(self, rows: pa.Table) -> Places:
        """Itself, when each of the rows has a place; StorageError(kind=Precondition) otherwise."""
        if missing := rows.num_rows - self.count:
            told = f"{self.base.address.uri}: {missing} of {rows.num_rows} rows to update are absent"
            raise StorageError(told, kind="Precondition")
        return self

    def replaced_first(self, rows: pa.Table) -> tuple[pa.Table, np.ndarray]:
        """The rows with those that replace one ahead of the new ones, and the row ids of the former."""
        known = pc.index_in(rows["id"], value_set=self.ids)
        at = pc.fill_null(known, -1).to_numpy().astype(np.int64)
        replacing = np.flatnonzero(at >= 0)
        if len(replacing) in (0, rows.num_rows):
            return rows, self.row_ids[at[replacing]]
        # The order of rows within a table means nothing, and lance numbers only those at the end by itself.
        order = np.concatenate([replacing, np.flatnonzero(at < 0)])
        return rows.take(pa.array(order)), self.row_ids[at[replacing]]

    def created(self, row_ids: np.ndarray) -> RowVersions:
        """In which versions rows that were found came into being."""
        order = np.argsort(self.row_ids)
        return RowVersions.of(self._created[order[np.searchsorted(self.row_ids, row_ids, sorter=order)]])

    def withdrawn(self) -> tuple[list[Any], list[int]]:
        """The descriptions of fragments without these rows, and the ids of fragments that have none left."""
        return withdraw(self.base, by_fragment(self._addresses))


def place_of_ids(base: TableHandle, ids: pa.Array) -> pa.Table:
    """`row_id` and `address` of each of these distinct ids, in their order, and the version that it was `created` in;
    null where the table does not have it."""
    if len(ids) <= ID_CHUNK:
        chunks: Iterable[pa.Table] = [base.take_ids(ids, ["id", *_FOUND])]
    else:
        chunks = _chunks(base, ["id", *_FOUND])
    known = np.zeros(len(ids), np.bool_)
    columns = [np.zeros(len(ids), np.uint64) for _ in _FOUND]
    for chunk in chunks:
        at = pc.index_in(chunk["id"], value_set=ids).combine_chunks()
        found = at.is_valid()
        wanted = at.drop_null().to_numpy()
        known[wanted] = True
        for column, name in zip(columns, _FOUND, strict=True):
            column[wanted] = chunk[name].filter(found).to_numpy()
    return pa.table([pa.array(column, mask=~known) for column in columns], names=["row_id", "address", "created"])


def _chunks(base: TableHandle, columns: list[str]) -> Iterator[pa.Table]:
    """The rows of a table in long chunks: a look-up builds a table of the wanted values for each."""
    held: list[pa.RecordBatch] = []
    for batch in base.batches(columns):
        held.append(batch)
        if sum(map(len, held)) >= _CHUNK_ROWS:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def _addressed(base: TableHandle, known: pa.Table) -> pa.Table | None:
    """Where rows of known row ids are; None when some are not there, or are too many to be asked for one by one.

    The fragments' descriptions tell, so not one value is read: ids of rows all over a large table cost a block each.
    """
    if not known.num_rows:
        return _NOWHERE
    if known.num_rows > ID_CHUNK:
        return None
    found = base.scan(_FOUND, f"{_ROW_ID} IN ({','.join(map(str, known[_ROW_ID].to_pylist()))})")
    if found.num_rows != known.num_rows:
        return None
    at = pc.index_in(found[_ROW_ID], value_set=known[_ROW_ID].combine_chunks())
    return found.append_column("id", known["id"].combine_chunks().take(at.combine_chunks()))


def numbered(fragments: Iterable[str], row_ids: np.ndarray) -> list[str]:
    """New fragments whose first rows, in order, have these row ids; lance gives the rest theirs when it commits."""
    described = []
    for text in fragments:
        fragment = json.loads(text)
        taken, row_ids = np.split(row_ids, [fragment["physical_rows"]])
        if len(taken):
            fragment["row_id_meta"] = {"Inline": list(_sequence(taken))}
        described.append(json.dumps(fragment))
    return described


def succession(row_ids: np.ndarray, created: np.ndarray, sizes: Iterable[int]) -> pa.Table:
    """What the rows of fragments of so many rows take over: for each a sequence of row ids, and when those began."""
    bounds = list(pairwise(np.cumsum([0, *sizes]).tolist()))
    versions = [RowVersions.of(created[start:end]) for start, end in bounds]
    return pa.table(
        {
            ROW_IDS: pa.array([_sequence(row_ids[start:end]) for start, end in bounds], pa.binary()),
            _LENGTHS: pa.array([each.lengths for each in versions], pa.list_(pa.int64())),
            _VERSIONS: pa.array([each.versions for each in versions], pa.list_(pa.uint64())),
        }
    )


def created_of(taken_over: pa.Table) -> RowVersions:
    """When the rows that fragments take over were created."""
    lengths, versions = (taken_over[name].combine_chunks().flatten() for name in (_LENGTHS, _VERSIONS))
    return RowVersions(lengths.to_numpy(), versions.to_numpy())


def _sequence(row_ids: np.ndarray) -> bytes:
    """A RowIdSequence message: ranges, where rows come in the order of those that they replace, or else one segment,
    an array of 32-bit offsets from the smallest id, or of 64-bit ids."""
    starts = np.flatnonzero(np.diff(row_ids, prepend=row_ids[:1]) != 1)
    if len(starts) <= len(row_ids) // _RUN_ROWS:
        ends = [*row_ids[starts[1:] - 1].tolist(), int(row_ids[-1])]
        ranges = zip(row_ids[starts].tolist(), ends, strict=True)
        return b"".join(pb_field(1, pb_field(1, pb_field(1, low) + pb_field(2, high + 1))) for low, high in ranges)
    low = int(row_ids.min())
    if int(row_ids.max()) - low < 1 << 32:
        offsets = (row_ids - np.uint64(low)).astype("<u4").tobytes()
        array = pb_field(2, pb_field(1, low) + pb_field(2, offsets))
    else:
        array = pb_field(3, pb_field(2, row_ids.astype("<u8").tobytes()))
    return pb_field(1, pb_field(5, array))
