"""What a load reads, cut into splits: byte ranges of record files, row groups of Parquet, whole files otherwise."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.engine.api.runners import LoadRequest
from omnigraph.engine.intake.frame_shape import FrameShape
from omnigraph.engine.intake.frames import arrow_table
from omnigraph.engine.intake.inputs.files import TABLE_SUFFIXES, InputFile, open_output
from omnigraph.engine.intake.inputs.forms import BY_NAME
from omnigraph.engine.intake.mapping import MappedFile, described
from omnigraph.engine.intake.sources import input_files, is_paths, record_bytes
from omnigraph.engine.intake.tabular import group_rows
from omnigraph.engine.views.table_tasks import grouped
from omnigraph.errors import BadRequest, NotFound
from omnigraph.pipeline.spark.frames import SpilledFrame, is_spark_frame, spilled_parts
from omnigraph.storage.base.clouds import is_remote

SPLIT_BYTES = 64 << 20
SPLIT_ROWS = 1 << 20
# Below this a task of its own costs more than it saves.
_FEWEST_BYTES = 8 << 20
_FEWEST_ROWS = 1 << 17
# What opening a file costs in rows is this share of a task's: a task reads at most so many files.
_MOST_FILES = 128
# About what a row takes in a file, where they were not counted; too many partitions cost less than too few.
_ROW_BYTES = 48
_PACKED_ROW_BYTES = 8


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """One input file; `shown` is its name in messages, None when the caller gave data instead of a file.

    `first_row` is the number of its first row, where rows are numbered through several files.
    """

    file: InputFile
    shown: str | None
    frame: FrameShape | None = None
    first_row: int = 1

    @property
    def is_csv(self) -> bool:
        return self.frame is not None and self.frame.form.of(self.file.path) == "csv"


@dataclass(frozen=True, slots=True)
class Unpacked:
    """One piece: where it is, which bytes of the file it holds, the line they begin on, and lines of header before."""

    path: str
    start: int
    size: int
    first_line: int
    header_lines: int


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Split:
    """The share of one task: lines that start in a byte range, or row groups, of one source.

    `first` is the number of its first line or row when that is known before reading. A `piece` is a file of its own
    that holds what lies in the byte range of a source; its lines are `shift` further down in the source.
    """

    index: int
    source: Source
    start: int
    stop: int | None
    first: int | None
    rows: int | None = None
    piece: str | None = None
    shift: int = 0

    @property
    def path(self) -> str:
        """The file to read."""
        return self.source.file.path if self.piece is None else self.piece

    @property
    def about_rows(self) -> int:
        """How many rows there are, counted or guessed from the size."""
        if self.rows is not None:
            return self.rows
        size = (self.source.file.size if self.stop is None else self.stop) - self.start
        packed = self.source.file.compressed and self.piece is None
        plain = not packed and (self.source.frame is None or self.source.is_csv)
        return size // (_ROW_BYTES if plain else _PACKED_ROW_BYTES)


def plan_sources(request: LoadRequest, scratch: str) -> list[Source]:
    """The files of a request; data given in memory is written to `scratch` for the workers to read."""
    if request.mapping is not None:
        return mapped_sources(request.mapping, scratch, request.spark)
    frame = None
    if request.type is not None or request.edge is not None:
        frame = FrameShape(request.type, request.edge, request.columns)
    if is_paths(request.data):
        files = input_files(request.data, TABLE_SUFFIXES) if frame is not None else input_files(request.data)
        return [Source(absolute(file), file.path, frame) for file in files]
    if frame is not None and (isinstance(request.data, SpilledFrame) or is_spark_frame(request.data)):
        parts = request.data.parts if isinstance(request.data, SpilledFrame) else spilled_parts(request.data, scratch)
        return [Source(InputFile(part.path, part.size), None, frame, part.first_row) for part in parts]
    if frame is not None:
        return [Source(_spilled_frame(arrow_table(request.data), f"{scratch}/input.parquet"), None, frame)]
    data = record_bytes(request.data)
    path = f"{scratch}/input.jsonl"
    with open_output(path) as file:
        file.write(data)
    return [Source(InputFile(path, len(data)), None)]


def absolute(file: InputFile) -> InputFile:
    """A file by a name that means the same in the directory of a worker; NotFound when it is not even here."""
    if _is_elsewhere(file.path):
        return file
    if not os.path.exists(file.path):
        raise NotFound(f"there is no file '{file.path}'")
    return replace(file, path=os.path.abspath(file.path))


def _is_elsewhere(path: str) -> bool:
    """Whether a path is not a file: an object of a store, or a database."""
    return is_remote(path) or "://" in path


def require_here(split: Split) -> None:
    """Say where a file was looked for when a task does not find what the driver has seen."""
    path = split.source.file.path
    if not _is_elsewhere(path) and not os.path.exists(path):
        raise BadRequest(
            f"'{split.source.shown or path}' is not on {socket.gethostname()}, where a task looked for {path}: workers"
            " of a cluster read their input from storage that all of them see, such as s3://"
        )


def mapped_sources(mapping: Any, scratch: str, spark: Any) -> list[Source]:
    """The files of a mapping; what only Spark can read is written to `scratch` first, and called by its source."""
    found: list[Source] = []
    for each in described(mapping).inputs():
        if isinstance(each, MappedFile) and each.table is not None:
            file = _spilled_frame(each.table, f"{scratch}/{each.file.path}.parquet")
            found.append(Source(file, f"source {each.file.path}", each.frame))
            continue
        if isinstance(each, MappedFile):
            found.append(Source(absolute(each.file), each.file.path, each.frame))
            continue
        from omnigraph.pipeline.spark.tables import spark_table

        parts = spilled_parts(spark_table(each, spark), f"{scratch}/{each.name}")
        frame = replace(each.frame, form=BY_NAME)
        found += [Source(InputFile(p.path, p.size), f"source {each.name}", frame, p.first_row) for p in parts]
    return found


def cut(
    sources: Sequence[Source],
    *,
    cores: int = 1,
    split_bytes: int = SPLIT_BYTES,
    split_rows: int = SPLIT_ROWS,
    unpacked: Mapping[Source, Sequence[Unpacked]] | None = None,
) -> list[Split]:
    """The splits of all sources, in input order; small input is cut finer, so that every core has something to do.

    Sources that were unpacked are read piece by piece.
    """
    groups = {source: group_rows(source.file.path) for source in sources if _is_parquet(source)}
    size = sum(source.file.size for source in sources if source.frame is None)
    split_bytes = min(split_bytes, max(_FEWEST_BYTES, size // (2 * cores)))
    split_rows = min(split_rows, max(_FEWEST_ROWS, sum(map(sum, groups.values())) // (2 * cores)))
    found: list[Split] = []
    for source in sources:
        if source in groups:
            found += _row_groups(source, groups[source], split_rows)
        elif unpacked is not None and source in unpacked:
            found += [_of_piece(source, piece) for piece in unpacked[source]]
        else:
            found += _byte_ranges(source, split_bytes)
    return [replace(split, index=index) for index, split in enumerate(found)]


def task_rows(
    splits: Sequence[Split], *, cores: int, split_bytes: int, split_rows: int, fewest: int = _FEWEST_ROWS
) -> int:
    """About how many rows of small splits one task reads, so that every core has something to do."""
    return min(split_rows, split_bytes // _ROW_BYTES, max(fewest, about_rows(splits) // (2 * cores)))


def in_tasks(items: Sequence[T], split_of: Callable[[T], Split | None], rows: int) -> list[tuple[T, ...]]:
    """Items as tasks take them, by the splits that they are about: those of small splits together, up to about so many
    rows, in their order."""
    return list(grouped(((item, _weight(split_of(item), rows)) for item in items), rows))


def _weight(split: Split | None, rows: int) -> int:
    """The rows of a split as far as they are known, at least those that opening its file is worth."""
    least = max(1, rows // _MOST_FILES)
    # Few rows may be large ones, whose file is packed besides.
    known = 0 if split is None else max(split.about_rows, split.source.file.size // _ROW_BYTES if split.rows else 0)
    return max(least, known)


def about_rows(splits: Sequence[Split]) -> int:
    """How many rows some splits have together, as far as is known without reading them."""
    return sum(split.about_rows for split in splits)


def _is_parquet(source: Source) -> bool:
    return source.frame is not None and source.frame.form.of(source.file.path) == "parquet"


def _byte_ranges(source: Source, split_bytes: int) -> Iterator[Split]:
    size = source.file.size
    if source.frame is not None or source.file.compressed or size <= split_bytes:
        yield Split(0, source, 0, None, 1)
        return
    for start in range(0, size, split_bytes):
        yield Split(0, source, start, min(start + split_bytes, size), 1 if start == 0 else None)


def _of_piece(source: Source, piece: Unpacked) -> Split:
    shift = piece.first_line - piece.header_lines - 1
    return Split(0, source, piece.start, piece.start + piece.size, piece.first_line, None, piece.path, shift)


def _row_groups(source: Source, counts: Sequence[int], split_rows: int) -> Iterator[Split]:
    start, first, rows = 0, source.first_row, 0
    for at, count in enumerate(counts):
        if rows and rows + count > split_rows:
            yield Split(0, source, start, at, first, rows)
            start, first, rows = at, first + rows, 0
        rows += count
    yield Split(0, source, start, len(counts), first, rows)


def _spilled_frame(table: pa.Table, path: str) -> InputFile:
    with open_output(path) as file:
        pq.write_table(table, file, row_group_size=SPLIT_ROWS // 4)
    return InputFile(path, table.nbytes)
