"""Files of rows sorted by partition: a task writes one, and a reader of some partitions reads that range only.

The rows of each partition are one Arrow message. Behind the messages stand where each begins and how many rows it has,
then the schema; so a range costs two requests, whatever the number of partitions.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from omnigraph.engine.intake.inputs.files import open_input, open_output
from omnigraph.errors import Corrupt

# Read at once from the end of a file; a trailer of a thousand partitions is shorter.
_TAIL = 64 << 10
_LENGTHS = struct.Struct("<II")


def write_partitioned(path: str, rows: pa.Table, numbers: np.ndarray, partitions: int) -> None:
    """Write rows by the partition of each, within each in the order given; those of partition -1 are left out."""
    short = numbers.astype(np.int16) if partitions < 1 << 15 else numbers  # these are sorted by their digits
    order = np.argsort(short, kind="stable")
    counts = np.bincount(numbers + 1, minlength=partitions + 1)
    sorted_rows = rows.take(pa.array(order[counts[0] :])).combine_chunks()
    starts = np.zeros(partitions + 1, np.int64)
    at = 0
    with open_output(path) as file:
        for number, count in enumerate(counts[1:].tolist()):
            if count:
                message = sorted_rows.slice(at, count).to_batches()[0].serialize()
                file.write(message)
                starts[number + 1] = message.size
                at += count
        schema = sorted_rows.schema.serialize()
        trailer = np.cumsum(starts).tobytes() + counts[1:].astype(np.int64).tobytes()
        file.write(trailer)
        file.write(schema)
        file.write(_LENGTHS.pack(partitions, schema.size))


@dataclass(frozen=True, slots=True)
class PartitionedFile:
    """An opened file: its schema, and where its partitions begin and how many rows they have."""

    path: str
    schema: pa.Schema
    starts: np.ndarray
    counts: np.ndarray

    @classmethod
    def open(cls, path: str) -> PartitionedFile:
        """Read what stands at the end of a file."""
        with open_input(path) as file:
            size = file.size()
            tail = _read(file, max(0, size - _TAIL), size, path)
            partitions, length = _LENGTHS.unpack(tail[-_LENGTHS.size :])
            told = 8 * (2 * partitions + 1) + length + _LENGTHS.size
            if told > len(tail):
                tail = _read(file, size - told, size, path)
        numbers = np.frombuffer(tail[-told : -told + 8 * (2 * partitions + 1)], np.int64)
        schema = pa.ipc.read_schema(pa.py_buffer(tail[-_LENGTHS.size - length : -_LENGTHS.size]))
        return cls(path, schema, numbers[: partitions + 1], numbers[partitions + 1 :])

    def read(self, low: int, high: int) -> dict[int, pa.RecordBatch]:
        """The rows of the partitions from `low` to before `high` that have some."""
        begin, end = int(self.starts[low]), int(self.starts[high])
        if begin == end:
            return {}
        with open_input(self.path) as file:
            data = pa.py_buffer(_read(file, begin, end, self.path))
        found: dict[int, pa.RecordBatch] = {}
        for number in range(low, high):
            if self.counts[number]:
                start, stop = int(self.starts[number]) - begin, int(self.starts[number + 1]) - begin
                found[number] = pa.ipc.read_record_batch(data.slice(start, stop - start), self.schema)
        return found


def _read(file: pa.NativeFile, begin: int, end: int, path: str) -> bytes:
    data = bytes(file.read_at(end - begin, begin))
    if len(data) != end - begin:
        raise Corrupt(f"'{path}' ends before it should")
    return data
