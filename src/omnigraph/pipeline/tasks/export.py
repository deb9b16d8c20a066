"""Export by many tasks: each writes a range of ids of one type, and the files in order are the plain export."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.engine.changes.export import export_type, export_types
from omnigraph.engine.intake.inputs.files import discard_tree, open_input, open_output
from omnigraph.engine.values.arrow import TableType, table_types
from omnigraph.engine.views.view import OpenTables, View
from omnigraph.pipeline.tasks.jobs import Counts, Tasks
from omnigraph.storage.base.layout import Root
from omnigraph.storage.manifest.snapshot import Snapshot

RANGE_ROWS = 1 << 19
_SAMPLE = 4_096
# What Spark shows of the tasks.
_WRITTEN: Counts = {"rows": attrgetter("rows"), "bytes": attrgetter("bytes")}


@dataclass(frozen=True, slots=True)
class ExportJob:
    """What every export task knows."""

    root: Root
    catalog: Catalog
    snapshot: Snapshot
    directory: str

    @property
    def view(self) -> View:
        return View(self.snapshot, self.catalog, None, OpenTables(self.root))


@dataclass(frozen=True, slots=True)
class IdRange:
    """The entities of a type whose ids lie in [low, high); None is an open end."""

    number: int
    table_key: str
    low: str | None
    high: str | None

    @property
    def file(self) -> str:
        return f"part-{self.number:06d}.jsonl"


@dataclass(frozen=True, slots=True)
class Written:
    """What a task has written: rows, which are lines, and bytes."""

    rows: int = 0
    bytes: int = 0

    def __add__(self, other: Written) -> Written:
        return Written(self.rows + other.rows, self.bytes + other.bytes)


def export_files(view: View, target: str, types: Sequence[str], tasks: Tasks, *, range_rows: int = RANGE_ROWS) -> int:
    """Export to one file (`….jsonl`) or to a directory of parts; returns the number of bytes."""
    selected = export_types(view.catalog, types)
    whole = target.endswith(".jsonl")
    directory = f"{target}.parts" if whole else target
    snapshot = replace(view.snapshot, entries=dict(view.snapshot.entries), heads={})
    job = ExportJob(view.tables.root, view.catalog, snapshot, directory)
    found = (each for info in selected for each in _ranges(view, info, range_rows))
    ranges = [replace(each, number=number) for number, each in enumerate(found)]
    written = tasks.run(lambda each: write_range(job, each), ranges, stage="export", report=None, counts=_WRITTEN)
    if whole:
        _join(target, directory, ranges)
    return sum(each.bytes for each in written)


def write_range(job: ExportJob, wanted: IdRange) -> Written:
    """Write one part; repeating it writes the same bytes under the same name."""
    info = table_types(job.catalog)[wanted.table_key]
    written = Written()
    with open_output(f"{job.directory}/{wanted.file}") as file:
        for chunk in export_type(job.view, info, low=wanted.low, high=wanted.high):
            file.write(chunk)
            written += Written(chunk.count(b"\n"), len(chunk))
    return written


def _ranges(view: View, info: TableType, range_rows: int) -> Iterator[IdRange]:
    entry = view.find(info)
    if entry is None or not entry.row_count:
        return
    cuts = _cuts(view, info, -(-entry.row_count // range_rows)) if entry.row_count > range_rows else []
    for low, high in zip([None, *cuts], [*cuts, None], strict=True):
        yield IdRange(0, info.table_key, low, high)


def _cuts(view: View, info: TableType, count: int) -> list[str]:
    """Ids that cut a type into about equal parts, from a sample of every batch."""
    step = max(1, view.entry(info).row_count // (_SAMPLE * count))
    sampled = [batch.column(0)[::step] for batch in view.table(info).batches(["id"])]
    ids = pa.concat_arrays(sampled)
    ordered = ids.take(pc.sort_indices(ids))
    at = np.linspace(0, len(ordered), count + 1)[1:-1].astype(np.int64)
    return sorted(set(ordered.take(pa.array(at)).to_pylist()))


def _join(target: str, directory: str, ranges: Sequence[IdRange]) -> None:
    with open_output(target) as file:
        for each in ranges:
            with open_input(f"{directory}/{each.file}") as part:
                while chunk := part.read(8 << 20):
                    file.write(chunk)
    discard_tree(directory)
