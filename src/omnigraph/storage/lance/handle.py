"""Reading one dataset at one exact version: scans, ordered batches, lookups by id, blobs and searches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.storage.base.errors import Missing, is_failure, kind_of, translate, translated
from omnigraph.storage.base.layout import Address
from omnigraph.storage.lance.blob_cells import BLOB_CELL, blob_columns, read_cells
from omnigraph.storage.lance.transaction_log import TransactionInfo, describe_transaction
from omnigraph.storage.lance.version_files import newest_local_version

ID_CHUNK = 8_192
# Beyond this, reading the column beats planning IN lists: 800,000 ids in lists cost 12 s, even on an empty table.
_PROBE_LIMIT = 2 * ID_CHUNK
_ROW_ADDRESS = "_rowaddr"
# "cells" is ours: bytes or a URI per value. Lance's own "all_binary" is left out because it opens external objects.
BlobHandling = Literal["cells", "all_descriptions"]
Filter: TypeAlias = Any  # a SQL predicate (str) or a pyarrow.compute.Expression


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """One index of a table version: lance's type name, its columns and what it covers."""

    name: str
    index_type: str
    columns: tuple[str, ...]
    rows: int
    fragments: frozenset[int]
    segment_ids: tuple[str, ...]
    inherited: bool  # part of it lives in the tree of the lineage this ref was forked from

    @property
    def segments(self) -> int:
        """How many pieces it consists of."""
        return len(self.segment_ids)


@dataclass(frozen=True, slots=True)
class NearestRows:
    """The `count` rows nearest to a vector: `probes` partitions are searched; of `refine` times as many rows as wanted
    the exact distance is taken. Without `refine` the index alone decides, and no vector is read.
    """

    query: Any
    count: int
    metric: str
    probes: int
    refine: int | None


class TableHandle:
    """One dataset lineage at one exact version; immutable and safe to share between threads.

    Row ids are available as the column `_rowid`, versions as `_row_created_at_version` and
    `_row_last_updated_at_version`; name them in `columns`.
    """

    __slots__ = ("_schema", "_stamp", "address", "dataset", "missing", "version")

    def __init__(self, address: Address, dataset: Any, missing: Missing | None = None) -> None:
        self.address = address
        self.missing = missing  # says what it means when a file of this version is not there
        self.version: int = dataset.version
        self.dataset = dataset  # lance.LanceDataset; only storage modules look inside
        self._schema: pa.Schema | None = None
        self._stamp: str | None = None

    def __repr__(self) -> str:
        return f"TableHandle({self.address.uri!r}, version={self.version})"

    # --- shape ---------------------------------------------------------------------------------

    @property
    def schema(self) -> pa.Schema:
        if self._schema is None:
            with self.translated():
                self._schema = self.dataset.schema
        return self._schema

    @property
    def stamp(self) -> str:
        """Identifies the content of this version across a deleted and re-created dataset of the same path."""
        if self._stamp is None:
            with self.translated():
                self._stamp = str(self.dataset.get_version()["timestamp"])
        return self._stamp

    def fragment_count(self) -> int:
        return len(self.dataset.fragment_ids())

    def fragment_ids(self) -> frozenset[int]:
        return frozenset(self.dataset.fragment_ids())

    def fragment_rows(self) -> dict[int, int]:
        """How many rows each fragment holds, deleted ones included, by fragment id."""
        with self.translated():
            return {found.fragment_id: int(found.physical_rows) for found in self.dataset.get_fragments()}

    def count_rows(self, filter: Filter | None = None, *, fragments: Collection[int] | None = None) -> int:
        """How many rows there are, or are in some fragments."""
        with self.translated():
            if fragments is None:
                return int(self.dataset.count_rows(filter=filter))
            return sum(self.dataset.get_fragment(number).count_rows(filter) for number in fragments)

    # --- rows ----------------------------------------------------------------------------------

    def scan(
        self,
        columns: Sequence[str] | dict[str, str] | None = None,
        filter: Filter | None = None,
        *,
        limit: int | None = None,
        offset: int | None = None,
        blobs: BlobHandling | None = None,
        **options: Any,
    ) -> pa.Table:
        """Rows as one table, in storage order unless `options` (passed to the lance scanner) say otherwise."""
        if blobs == "cells" and (held := self._blobs_among(columns)):
            with self.translated():
                wanted = [*self._named(columns), _ROW_ADDRESS]
                rows = self._scanner(wanted, filter, limit=limit, offset=offset, **options).to_table()
                parts = [self._with_cells(batch, held) for batch in rows.to_batches()]
                return pa.Table.from_batches(parts, self._cell_schema(rows.schema, held))
        handling = blobs if blobs != "cells" else None
        with self.translated():
            scanner = self._scanner(columns, filter, limit=limit, offset=offset, blob_handling=handling, **options)
            return scanner.to_table()

    def batches(
        self,
        columns: Sequence[str] | dict[str, str] | None = None,
        filter: Filter | None = None,
        *,
        batch_size: int | None = None,
        blobs: BlobHandling | None = None,
        fragments: Sequence[int] | None = None,
        **options: Any,
    ) -> Iterator[pa.RecordBatch]:
        """Rows as a stream of batches in storage order, of some fragments or all; the batch size bounds the memory."""
        with self.translated():
            if fragments is not None:
                options["fragments"] = [self.dataset.get_fragment(number) for number in fragments]
            options |= {"batch_size": batch_size, "scan_in_order": True}
            if blobs == "cells" and (held := self._blobs_among(columns)):
                wanted = [*self._named(columns), _ROW_ADDRESS]
                for batch in self._scanner(wanted, filter, **options).to_batches():
                    yield self._with_cells(batch, held)
                return
            handling = blobs if blobs != "cells" else None
            yield from self._scanner(columns, filter, blob_handling=handling, **options).to_batches()

    def require_filter(self, filter: str) -> None:
        """Fail as a scan with this filter would, if it cannot be planned; nothing is read."""
        with self.translated():
            self._scanner(None, filter).explain_plan()

    def take_ids(
        self, ids: Sequence[str] | pa.Array | pa.ChunkedArray, columns: Sequence[str] | None = None, *, key: str = "id"
    ) -> pa.Table:
        """The rows whose `key` is among `ids`, in no particular order; a scalar index on `key` is used when present."""
        if columns is not None and len(ids) > _PROBE_LIMIT:
            return self._scan_ids(ids, columns, key)
        parts = [self.scan(columns, in_list(key, chunk)) for chunk in _chunks(ids)]
        return pa.concat_tables(parts) if parts else self.scan(columns, limit=0)

    def take_rows(self, row_ids: Sequence[int] | pa.Array, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows with these stable row ids, in the order asked; ids that no longer exist are left out."""
        wanted = row_ids.to_pylist() if isinstance(row_ids, pa.Array) else list(row_ids)
        with self.translated():
            if not wanted:
                return self._scanner(columns, None, limit=0).to_table()
            return self.dataset._take_rows(wanted, columns=list(columns) if columns is not None else None)

    def take_positions(self, positions: pa.Array, columns: Sequence[str]) -> pa.Table:
        """The rows at these places of an unfiltered scan."""
        with self.translated():
            return self.dataset.take(positions, columns=list(columns))

    def nearest(self, column: str, wanted: NearestRows, among: bytes | None = None) -> pa.Table:
        """`_rowid` of about the wanted rows; refined ones with their vectors. Only those of a `row_mask` are found.

        The index answers where it covers; rows that it does not cover are looked at one by one.
        """
        search = {
            "column": column,
            "q": wanted.query,
            "k": wanted.count,
            "metric": wanted.metric,
            "nprobes": wanted.probes,
            "refine_factor": wanted.refine,
        }
        with self.translated():
            names = ["_rowid", "_distance"] if wanted.refine is None else [column, "_rowid", "_distance"]
            # Lance calls them addresses; in tables with stable row ids they are those.
            return self._scanner(names, None, nearest=search, prefilter=True, row_addr_allowlist=among).to_table()

    def partition_centres(self, name: str) -> pa.Array | None:
        """The centre of each partition of a vector index, of the first of its segments."""
        with self.translated():
            return self.dataset.centroids(index_name=name)

    def read_blobs(self, column: str, row_ids: pa.Array, descriptors: pa.Array) -> pa.Array:
        """The cells of a blob column (`BLOB_CELL`) whose descriptors and row ids are known already."""
        with self.translated():
            return read_cells(self.dataset, column, descriptors, ids=row_ids)

    def read_blob_range(self, column: str, row_id: int, offset: int, length: int) -> bytes:
        """Some bytes of one stored blob."""
        with self.translated():
            (blob,) = self.dataset.take_blobs(column, ids=[row_id])
            with blob:
                return bytes(blob.read_range(offset, length))

    # --- history -------------------------------------------------------------------------------

    def latest_version(self) -> int:
        """The newest version of this lineage right now; one cheap probe, never cached."""
        with self.translated():
            known = newest_local_version(self.address) if self.address.root.is_local else None
            return int(self.dataset.latest_version) if known is None else known

    def transaction(self, version: int | None = None) -> TransactionInfo | None:
        """The transaction that made a version of this lineage, or None when it is unreadable or was reclaimed."""
        number = self.version if version is None else version
        try:
            transaction = self.dataset.read_transaction(number)
        except TypeError as error:
            if "RewrittenIndex" not in str(error):
                raise
            # pylance 14 cannot build the Python value of a compaction that remapped an index; it is still a Rewrite.
            return TransactionInfo(number, number - 1, uuid="", operation="Rewrite")
        except BaseException as error:
            if not is_failure(error):
                raise
            if kind_of(error) == "NotFound":
                return None
            raise translate(error, self.address.uri) from error
        return None if transaction is None else describe_transaction(number, transaction)

    def find_transaction(self, uuid: str, *, after: int) -> int | None:
        """The version above `after`, up to this one, that a transaction made."""
        for version in range(after + 1, self.version + 1):
            found = self.transaction(version)
            if found is not None and found.uuid == uuid:
                return version
        return None

    # --- indexes -------------------------------------------------------------------------------

    def indices(self) -> list[IndexInfo]:
        """Every index of this version."""
        with self.translated():
            return [
                IndexInfo(
                    name=found.name,
                    index_type=found.index_type,
                    columns=tuple(found.field_names),
                    rows=found.num_rows_indexed,
                    fragments=frozenset(number for segment in found.segments for number in segment.fragment_ids),
                    segment_ids=tuple(str(segment.uuid) for segment in found.segments),
                    inherited=any(segment.base_id is not None for segment in found.segments),
                )
                for found in self.dataset.describe_indices()
            ]

    def unindexed_rows(self, name: str) -> int:
        """How many rows of this version an index does not cover."""
        with self.translated():
            return int(self.dataset.stats.index_stats(name)["num_unindexed_rows"])

    def _scan_ids(self, ids: Any, columns: Sequence[str], key: str) -> pa.Table:
        rows = self.scan(list(dict.fromkeys([*columns, key])))
        wanted = ids if isinstance(ids, pa.Array | pa.ChunkedArray) else pa.array(ids, pa.utf8())
        if rows.num_rows < len(wanted):  # the smaller side is hashed
            wanted = wanted.filter(pc.is_in(wanted, value_set=rows[key]))
        return rows.filter(pc.is_in(rows[key], value_set=wanted)).select(list(columns))

    def _named(self, columns: Sequence[str] | dict[str, str] | None) -> list[str]:
        return self.schema.names if columns is None else list(columns)

    def _blobs_among(self, columns: Sequence[str] | dict[str, str] | None) -> list[str]:
        return [name for name in blob_columns(self.schema) if columns is None or name in columns]

    def _with_cells(self, batch: pa.RecordBatch, held: Sequence[str]) -> pa.RecordBatch:
        """Descriptors replaced by cells; rows are found by address, which needs no index of row ids."""
        schema = self._cell_schema(batch.schema, held)
        addresses = batch.column(_ROW_ADDRESS)
        columns = [
            read_cells(self.dataset, name, batch.column(name), addresses=addresses)
            if name in held
            else batch.column(name)
            for name in schema.names
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    @staticmethod
    def _cell_schema(found: pa.Schema, held: Sequence[str]) -> pa.Schema:
        return pa.schema(
            [
                pa.field(field.name, BLOB_CELL, field.nullable) if field.name in held else field
                for field in found
                if field.name != _ROW_ADDRESS
            ]
        )

    def _scanner(self, columns: Any, filter: Any, **options: Any) -> Any:
        if columns is not None and not isinstance(columns, dict):
            columns = list(columns)
        return self.dataset.scanner(columns=columns, filter=filter, **options)

    def translated(self) -> Any:
        return translated(self.address.uri, missing=self.missing)


def in_list(column: str, values: Iterable[str]) -> str:
    """A filter for `column IN (…)` with every value quoted.

    >>> in_list("id", ["a", "it's"])
    "id IN ('a','it''s')"
    """
    return f"{column} IN ({','.join(quote(value) for value in values)})"


def quote(value: str) -> str:
    """A string literal for a filter."""
    return "'" + value.replace("'", "''") + "'"


def _chunks(ids: Sequence[str] | pa.Array | pa.ChunkedArray) -> Iterator[list[str]]:
    plain = ids.to_pylist() if isinstance(ids, pa.Array | pa.ChunkedArray) else list(ids)
    for start in range(0, len(plain), ID_CHUNK):
        yield plain[start : start + ID_CHUNK]
