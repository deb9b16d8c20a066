"""Comparing two large versions of a table by many tasks: each joins one range of ids with the engine's own rule."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.merge.delta import RowDelta, compared, plain_schema
from omnigraph.pipeline.jobs import SparkTasks, Tasks
from omnigraph.pipeline.session import spark_session
from omnigraph.storage.tables import TableHandle, open_table, quote

_RANGE_ROWS = 1 << 19
_SAMPLE = 1 << 16
Encoded = tuple[bytes, bytes]


def spread_delta(
    old: TableHandle, new: TableHandle, tasks: Tasks | None = None, *, range_rows: int = _RANGE_ROWS
) -> RowDelta:
    """The delta that a comparison in this process would find, rows by ascending id.

    Only rows that differ come back; what they were found among stays with the tasks.
    """
    rows = old.count_rows() + new.count_rows()
    ranges = _ranges(_cuts([old, new], -(-rows // range_rows)))
    places = [(table.address, table.version) for table in (old, new)]

    def compare(inside: str | None) -> Encoded:
        one, other = (open_table(address, version) for address, version in places)
        found = compared(one, other, inside)
        return _encoded(found.before), _encoded(found.after)

    runs: Any = tasks if tasks is not None else SparkTasks(spark_session())
    parts = runs.run(compare, ranges, stage="compare", report=None)
    return RowDelta(_joined(old, [part[0] for part in parts]), _joined(new, [part[1] for part in parts]))


def _cuts(tables: Sequence[TableHandle], count: int) -> list[str]:
    """Ids that cut both tables into about equal ranges, from a sample of every batch."""
    if count < 2:
        return []
    step = max(1, sum(table.count_rows() for table in tables) // _SAMPLE)
    sampled = [batch.column(0)[::step] for table in tables for batch in table.batches(["id"])]
    ids = pa.concat_arrays(sampled)
    ordered = ids.take(pc.sort_indices(ids))
    at = np.linspace(0, len(ordered), count + 1)[1:-1].astype(np.int64)
    return sorted(set(ordered.take(pa.array(at)).to_pylist()), key=str.encode)


def _ranges(cuts: Sequence[str]) -> list[str | None]:
    """Predicates of ranges that touch each other; one that keeps everything when there is nothing to cut."""
    if not cuts:
        return [None]
    ends = [None, *cuts, None]
    found: list[str | None] = []
    for low, high in pairwise(ends):
        bounds = [f"id >= {quote(low)}"] if low is not None else []
        bounds += [f"id < {quote(high)}"] if high is not None else []
        found.append(" AND ".join(bounds))
    return found


def _encoded(rows: pa.Table) -> bytes:
    if not rows.num_rows:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


def _joined(table: TableHandle, parts: Sequence[bytes]) -> pa.Table:
    empty = plain_schema(table.schema).empty_table()
    found = [pa.ipc.open_stream(part).read_all().cast(empty.schema) for part in parts if part]
    return pa.concat_tables([empty, *found]).combine_chunks()
