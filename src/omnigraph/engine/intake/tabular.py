"""Columnar files as decoded rows, a piece at a time; a piece is a row group, a stripe, a block or a batch.

CSV cells are text. Each is turned into the value its property would have in JSON; a cell that is none is left as text,
so that the ordinary rules refuse it by row.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from omnigraph.compiler.catalog.model import Catalog, EdgeType
from omnigraph.compiler.types import FLOATING, INTEGER, PropType
from omnigraph.engine.intake.csv_lines import BlankLines
from omnigraph.engine.intake.files import open_input
from omnigraph.engine.intake.forms import BY_NAME, Form
from omnigraph.engine.intake.frames import decode_frame, named_type
from omnigraph.engine.intake.records import PLAIN, Decoded, Intake
from omnigraph.engine.intake.table_files import Columns, table_pieces
from omnigraph.engine.values.arrow import TableType
from omnigraph.errors import BadRequest


@dataclass(frozen=True, slots=True)
class FrameShape:
    """What the rows of a columnar input are: a node type or an edge type, and which column is which field.

    With `optional`, a row without one of its endpoints is not an edge and is skipped. `mapping` is the file that says
    all this, where one does.
    """

    type: str | None = None
    edge: str | None = None
    columns: Mapping[str, str] | None = None
    form: Form = BY_NAME
    optional: bool = False
    mapping: str | None = None


def decode_table_file(
    path: str,
    catalog: Catalog,
    frame: FrameShape,
    *,
    file: str | None,
    groups: range | None = None,
    first_row: int = 1,
    intake: Intake = PLAIN,
) -> Iterator[Decoded]:
    """A columnar file, or some row groups of a Parquet file, piece by piece; rows are numbered through.

    A row of a CSV file has the number of the line that it begins on.
    `file` is the name that messages show.
    """
    info = named_type(catalog, frame.type, frame.edge, frame.mapping)
    for table, lines in typed_pieces(path, info, frame, groups):
        yield decode_frame(
            table,
            catalog,
            type=frame.type,
            edge=frame.edge,
            columns=frame.columns,
            intake=intake,
            first_row=first_row,
            lines=lines,
            file=file,
            mapping=frame.mapping,
            optional_ends=frame.optional,
        )
        first_row += table.num_rows


def typed_pieces(
    path: str, info: TableType, frame: FrameShape, groups: range | None = None
) -> Iterator[tuple[pa.Table, np.ndarray | None]]:
    """The columns that a type can use, cells of text files as the values they stand for, their rows with lines."""
    sources = {source: target for target, source in (frame.columns or {}).items()}

    def kind_of(name: str) -> PropType | None:
        return info.properties.get(sources.get(name, name))

    def wanted(names: Sequence[str]) -> list[str] | None:
        return _needed(names, info, frame.columns)

    text = frame.form.of(path) == "csv"
    kinds = {name: kind for name in {*sources, *info.properties} if (kind := kind_of(name)) is not None}
    blank = BlankLines() if text else None
    columns = Columns(wanted, kinds, as_text=text, blank=blank, named=frozenset(sources))
    line: int | None = None
    for piece in table_pieces(path, frame.form, columns, groups):
        if blank is None:
            yield piece, None
            continue
        if line is None:
            line = 1 if frame.form.names is not None else 2 + sum(name.count("\n") for name in piece.column_names)
        for batch in piece.to_batches():
            counted, line = _lines(batch, line)
            lines = blank.shifted(counted)
            for run in _typed_runs(batch, {name: kind_of(name) for name in piece.column_names}):
                yield run, lines[: run.num_rows]
                lines = lines[run.num_rows :]


def group_rows(path: str) -> list[int]:
    """How many rows each row group of a Parquet file has."""
    with open_input(path) as file:
        try:
            found = pq.ParquetFile(file).metadata
        except pa.ArrowInvalid as error:
            raise BadRequest(f"'{path}' is not a Parquet file: {error}") from error
        return [found.row_group(at).num_rows for at in range(found.num_row_groups)]


def _needed(names: Sequence[str], info: TableType, columns: Mapping[str, str] | None) -> list[str] | None:
    """With a mapping, the columns it names or that are called like a field; the rest is not even read."""
    if columns is None:
        return None
    fields = {"id", *info.properties} | ({"from", "to", "src", "dst"} if isinstance(info, EdgeType) else set())
    return [name for name in names if name in fields or name in columns.values()]


def _lines(batch: pa.RecordBatch, first: int) -> tuple[np.ndarray, int]:
    """The line each row of text cells begins on, and the line after them, blank ones not counted; cells in quotes may
    hold line breaks."""
    heights = np.ones(batch.num_rows, np.int64)
    for cells in batch.columns:
        heights += pc.count_substring(cells, "\n").fill_null(0).to_numpy()
    ends = first + np.cumsum(heights)
    return ends - heights, int(ends[-1]) if len(ends) else first


def _typed_runs(batch: pa.RecordBatch, kinds: Mapping[str, PropType | None]) -> Iterator[pa.Table]:
    """The rows with typed cells; rows with a cell that does not convert come in runs of their own, it as text."""
    columns = {name: from_text(kind, batch.column(name)) for name, kind in kinds.items()}
    failed = [name for name, values in columns.items() if values is None]
    if not failed:
        yield pa.table(columns)
        return
    wrong = np.zeros(batch.num_rows, bool)
    for name in failed:
        cells = batch.column(name)
        wrong |= [from_text(kinds[name], cells.slice(at, 1)) is None for at in range(len(cells))]
    edges = np.flatnonzero(np.diff(wrong)) + 1
    for start, stop in itertools.pairwise([0, *edges.tolist(), batch.num_rows]):
        run = batch.slice(start, stop - start)
        typed = {name: from_text(kind, run.column(name)) for name, kind in kinds.items()}
        yield pa.table({name: run.column(name) if values is None else values for name, values in typed.items()})


def from_text(kind: PropType | None, texts: pa.Array) -> pa.Array | None:
    """Cells as JSON would have them, None when one of them is not such a value."""
    if kind is None or (not kind.list and kind.dim is None and kind.scalar in ("String", "Blob")):
        return texts
    try:
        if kind.list or kind.dim is not None:
            return _lists(kind, [None if text is None else json.loads(text) for text in texts.to_pylist()])
        if kind.scalar in INTEGER:
            return texts.cast(pa.uint64() if kind.scalar == "U64" else pa.int64())
        if kind.scalar in FLOATING:
            return texts.cast(pa.float64())
        if kind.scalar == "Bool":
            return pc.utf8_lower(texts).cast(pa.bool_())
    except (pa.ArrowInvalid, pa.ArrowTypeError, ValueError, OverflowError, RecursionError):
        return None
    # A calendar value is a text with rules of its own, or the number it is stored as.
    numbers = pc.all(pc.match_substring_regex(texts, "^-?[0-9]+$"), min_count=0).as_py()
    return texts.cast(pa.int64()) if numbers else texts


def _lists(kind: PropType, values: list[Any]) -> pa.Array:
    """Decoded cells; whole numbers that only U64 holds have to be told, where Arrow would guess a signed type."""
    try:
        return pa.array(values)
    except OverflowError:
        whole = all(type(item) is int for value in values if isinstance(value, list) for item in value)
        if kind.scalar != "U64" or not whole:
            raise
        return pa.array(values, pa.list_(pa.uint64()))
