"""Spark frames as input: executors write their partitions as Parquet into the load's scratch directory.

The rows are then read like every columnar file, so there is one decoder, and retried partitions cannot mix.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.engine.intake.inputs.files import open_output
from omnigraph.errors import BadRequest
from omnigraph.ids import new_ulid
from omnigraph.pipeline.spark.counters import counted, declared, shown
from omnigraph.pipeline.spark.stores import reaching_stores
from omnigraph.pipeline.tasks.watching import spark_job

_GROUP_ROWS = 1 << 17
_ANSWER = "answer string"
_STAGE, _SHOWN = "read the frame", ("rows", "bytes")


Spilled: TypeAlias = tuple[int, str, int, int]
"""(number of the partition, path, bytes, rows)"""


@dataclass(frozen=True, slots=True)
class SpilledPart:
    """One partition as a file; rows are numbered through the partitions."""

    path: str
    size: int
    first_row: int


@dataclass(frozen=True, slots=True)
class SpilledFrame:
    """A frame whose partitions are files already."""

    parts: tuple[SpilledPart, ...]


def is_spark_frame(data: Any) -> bool:
    """Whether data is a Spark DataFrame, without importing PySpark; frames of ours are subclasses of Spark's."""
    return hasattr(data, "mapInArrow") and any(each.__module__.startswith("pyspark.") for each in type(data).__mro__)


def spilled_parts(frame: Any, directory: str) -> list[SpilledPart]:
    """Write every partition of a frame; partitions without rows are left out."""
    # On the way columns are numbered: Spark confuses names that differ in case only unless its session is set not to.
    names = list(frame.columns)
    if not names:  # of its rows Spark sends nothing, not even how many
        raise BadRequest("the frame has no columns")

    def spill(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        spilled = spill_partition((batch.rename_columns(names) for batch in batches), directory)
        _, _, size, rows = spilled
        yield pa.RecordBatch.from_pydict({"answer": [json.dumps(spilled)], **counted((rows, size))})

    with spark_job(frame.sparkSession, _STAGE):
        numbered_columns = frame.toDF(*(f"c{at}" for at in range(len(names))))
        spilled = shown(numbered_columns.mapInArrow(reaching_stores(spill), declared(_ANSWER, _SHOWN)), _STAGE, _SHOWN)
        answers = [json.loads(row.answer) for row in spilled.collect()]
    return numbered(answers)


def spill_partition(batches: Iterator[pa.RecordBatch], directory: str) -> Spilled:
    """Write one partition, inside its task."""
    from pyspark import TaskContext

    context = TaskContext.get()
    path = f"{directory}/frame-{new_ulid()}.parquet"
    number = context.partitionId() if context is not None else 0
    rows = size = 0
    first = next(batches, None)  # a task that was ended may be told so here, after the directory has been removed
    if first is None:
        return number, path, size, rows
    with open_output(path) as file, pq.ParquetWriter(file, first.schema) as writer:
        for batch in chain((first,), batches):
            writer.write_table(pa.Table.from_batches([batch]), row_group_size=_GROUP_ROWS)
            rows, size = rows + batch.num_rows, size + batch.nbytes
    return number, path, size, rows


def numbered(spilled: Iterable[Spilled]) -> list[SpilledPart]:
    """The partitions that have rows, in order."""
    found: list[Spilled] = sorted((number, path, size, rows) for number, path, size, rows in spilled if rows)
    firsts = accumulate((rows for *_, rows in found), initial=1)
    return [SpilledPart(path, size, first) for (_, path, size, _), first in zip(found, firsts, strict=False)]
