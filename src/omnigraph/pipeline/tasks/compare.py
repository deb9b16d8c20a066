"""Comparing two large versions of a table by many tasks: each joins one range of ids with the engine's own rule."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.intake.inputs.files import open_input, open_output
from omnigraph.engine.views.delta import RowDelta, compared, plain_schema
from omnigraph.errors import OmnigraphError, StorageError
from omnigraph.ids import new_ulid
from omnigraph.pipeline.spark.session import spark_session
from omnigraph.pipeline.tasks.jobs import SparkTasks, Tasks
from omnigraph.storage.base.clouds import is_remote
from omnigraph.storage.base.objects import open_objects
from omnigraph.storage.lance.parts import discard_load, load_directory
from omnigraph.storage.lance.tables import TableHandle, open_table, quote
from omnigraph.storage.maintenance.load_claims import claim_for_others

_RANGE_ROWS = 1 << 19
_SAMPLE = 1 << 16
# What a task sends passes through the JVM of the driver, which has to hold what all of them send.
_SENT_BYTES = 1 << 18
_DAY_MS = 24 * 3_600_000
Sent: TypeAlias = bytes | str
"""Rows as a stream of Arrow, or the path of a file of them."""


def spread_delta(
    old: TableHandle,
    new: TableHandle,
    tasks: Tasks | None = None,
    *,
    range_rows: int = _RANGE_ROWS,
    sent_bytes: int | None = None,
) -> RowDelta:
    """The delta that a comparison in this process would find, rows by ascending id.

    Only rows that differ come back, many of them in files; on local storage these are mapped, so that memory holds
    what is looked at.
    """
    rows = old.count_rows() + new.count_rows()
    ranges = _ranges(_cuts([old, new], -(-rows // range_rows)))
    places = [(table.address, table.version) for table in (old, new)]
    root, scratch_id = old.address.root, new_ulid()
    scratch, most = root.child(load_directory(scratch_id)), _SENT_BYTES if sent_bytes is None else sent_bytes

    def compare(inside: str | None) -> tuple[Sent, Sent]:
        one, other = (open_table(address, version) for address, version in places)
        found = compared(one, other, inside)
        return _sent(found.before, scratch, most), _sent(found.after, scratch, most)

    runs: Any = tasks if tasks is not None else SparkTasks(spark_session())
    objects = open_objects(root)
    with suppress(StorageError):  # where nothing can be written, tasks send all they find
        claim_for_others(objects, scratch_id, _DAY_MS)
    try:
        parts = runs.run(compare, ranges, stage="compare", report=None)
        return RowDelta(_joined(old, [part[0] for part in parts]), _joined(new, [part[1] for part in parts]))
    finally:
        # A file that is mapped stays readable without its name.
        with suppress(StorageError):
            discard_load(objects, scratch_id)


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


def _sent(rows: pa.Table, scratch: str, most: int) -> Sent:
    if not rows.num_rows:
        return b""
    if rows.nbytes > most:
        path = f"{scratch}/{new_ulid()}.arrow"
        with suppress(OSError, OmnigraphError):
            with open_output(path) as file, pa.ipc.new_file(file, rows.schema) as writer:
                writer.write_table(rows)
            return path
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


def _joined(table: TableHandle, parts: Sequence[Sent]) -> pa.Table:
    empty = plain_schema(table.schema).empty_table()
    return pa.concat_tables([empty, *(_received(part).cast(empty.schema) for part in parts if part)])


def _received(part: Sent) -> pa.Table:
    if isinstance(part, bytes):
        return pa.ipc.open_stream(part).read_all()
    file = open_input(part) if is_remote(part) else pa.memory_map(part)
    return pa.ipc.open_file(file).read_all()
