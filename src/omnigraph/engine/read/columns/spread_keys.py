"""The key index of a node table that is too large to be sorted at once: tasks sort ranges of hashes, disk joins them.

A build in one piece holds every id several times over. Here one round of tasks hashes the ids of some fragments each
and leaves them cut by ranges of hashes; the next round sorts one range each. What remains for this process is to put
the ranges one after the other, in files that it maps.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from omnigraph.engine.intake.inputs.partitioned import PartitionedFile, write_partitioned
from omnigraph.engine.read.columns.array_files import file_array, map_arrays, write_arrays
from omnigraph.engine.read.columns.arrays import narrow_type
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.held import ROW_ID, one_chunk
from omnigraph.engine.read.columns.key_index import KeyPart
from omnigraph.engine.read.columns.key_index_store import key_artifact
from omnigraph.engine.read.columns.rowindex import row_ids
from omnigraph.engine.values.text_hashes import text_hashes
from omnigraph.engine.views.table_tasks import RunTasks, grouped
from omnigraph.ids import new_ulid
from omnigraph.storage.base.layout import Address
from omnigraph.storage.lance.tables import open_table

_HASH_BITS = 64
_MOST_BITS = 14


@dataclass(frozen=True, slots=True)
class _Job:
    """What every task knows; the first `bits` of a hash number its range."""

    address: Address
    version: int
    bits: int
    scratch: str


def build_spread_keys(table: Entities, run: RunTasks, scratch: str, *, range_rows: int = 2 << 20) -> None:
    """Keep the index of a table's ids beside the graph, as a build in one piece would.

    Tasks exchange files in the directory `scratch`, which the caller removes.
    """
    fragments = table.handle.fragment_rows()
    bits = min((-(-sum(fragments.values()) // range_rows) - 1).bit_length(), _MOST_BITS)
    job = _Job(table.handle.address, table.entry.version, bits, scratch)
    cuts = run(lambda group: _cut(job, group), list(grouped(fragments.items(), range_rows)))
    paths = run(lambda number: _sort(job, cuts, number), range(1 << bits))
    with tempfile.TemporaryDirectory(prefix="omnigraph-keys-") as directory:
        place = Path(directory)
        parts = [KeyPart(**map_arrays(path, place / f"range-{number}")) for number, path in enumerate(paths)]
        key_artifact(table).save(_joined(parts, place).arrays())


# --- inside a task ---------------------------------------------------------------------------------------


def _cut(job: _Job, fragments: tuple[int, ...]) -> str:
    """Hash the ids of some fragments; the file that has them by range."""
    ids, rows = [pa.array([], pa.utf8())], [np.empty(0, np.int64)]  # the fragments may be without rows
    for batch in open_table(job.address, job.version).batches(["id", ROW_ID], fragments=fragments):
        ids.append(batch.column("id"))
        rows.append(row_ids(batch.column(ROW_ID)))
    texts = pa.chunked_array(ids)
    hashes = text_hashes(one_chunk(texts))
    numbers = (hashes >> np.uint64(_HASH_BITS - job.bits)).astype(np.int64) if job.bits else np.zeros(len(hashes), int)
    path = f"{job.scratch}/{new_ulid()}"
    table = pa.table({"id": texts, "row": np.concatenate(rows), "hash": hashes})
    write_partitioned(path, table, numbers, 1 << job.bits)
    return path


def _sort(job: _Job, cuts: Sequence[str], number: int) -> str:
    """The ids of one range in the order of their hashes, from every task's share of it; the file."""
    found = [share for path in cuts for share in PartitionedFile.open(path).read(number, number + 1).values()]
    if found:
        rows = pa.Table.from_batches(found)
        part = KeyPart.of(one_chunk(rows["id"]), rows["row"].to_numpy(), rows["hash"].to_numpy())
    else:
        part = KeyPart.of(pa.array([], pa.utf8()), np.empty(0, np.int64))
    return write_arrays(f"{job.scratch}/{new_ulid()}", part.arrays())


# --- back in this process --------------------------------------------------------------------------------


def _joined(parts: Sequence[KeyPart], place: Path) -> KeyPart:
    """The ranges one after the other, in files of this machine that are mapped."""
    count, letters = sum(len(part) for part in parts), sum(len(part.data) for part in parts)
    last = max((int(part.rows.max()) for part in parts if len(part)), default=0)
    whole = KeyPart(
        file_array(place / "hashes", np.uint64, count),
        file_array(place / "rows", narrow_type(last), count),
        file_array(place / "offsets", narrow_type(letters), count + 1),
        file_array(place / "data", np.uint8, letters),
    )
    at = begin = 0
    for part in parts:
        stop, end = at + len(part), begin + len(part.data)
        whole.hashes[at:stop], whole.rows[at:stop], whole.data[begin:end] = part.hashes, part.rows, part.data
        whole.offsets[at : stop + 1] = part.offsets.astype(np.int64) + begin
        at, begin = stop, end
    return whole
