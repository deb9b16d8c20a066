"""Columnar files as decoded rows, a piece at a time; a piece is a row group, a stripe, a block or a batch.

CSV cells are text. Each is turned into the value its property would have in JSON; a cell that is none is left as text,
so that the ordinary rules refuse it by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.types import PropType
from omnigraph.engine.intake.columns.text_cells import typed_runs
from omnigraph.engine.intake.frame_shape import FrameShape
from omnigraph.engine.intake.frames import require_one_of_each
from omnigraph.engine.intake.inputs.csv_lines import BlankLines
from omnigraph.engine.intake.inputs.files import open_input
from omnigraph.engine.intake.inputs.forms import Form
from omnigraph.engine.intake.inputs.ragged_rows import RaggedRow, RaggedRows, placed
from omnigraph.engine.intake.inputs.table_files import Columns, open_parquet, table_pieces
from omnigraph.engine.intake.records import PLAIN, Decoded, Intake, merge_decoded, place_order
from omnigraph.engine.intake.shape_reader import ShapeReader
from omnigraph.engine.intake.violations import Violation
from omnigraph.engine.values.rowset import one_array


@dataclass(frozen=True, slots=True)
class RawPiece:
    """Some rows of a source; those of a text file with their lines, and with ragged ones and the lines of these."""

    rows: pa.RecordBatch | pa.Table
    lines: np.ndarray | None = None
    ragged: Sequence[tuple[RaggedRow, int]] = ()


def decode_table_file(
    path: str,
    catalog: Catalog,
    frame: FrameShape,
    *,
    file: str | None,
    groups: range | None = None,
    first_row: int = 1,
    line_shift: int = 0,
    intake: Intake = PLAIN,
    table: pa.Table | None = None,
    most: int | None = None,
    ragged: RaggedRows | None = None,
) -> Iterator[Decoded]:
    """A columnar file, or some row groups of a Parquet file, piece by piece; rows are numbered through.

    A row of a CSV file has the number of the line that it begins on, moved by `line_shift`.
    `file` is the name that messages show; `table` is its content, where that is in memory. With `most`, at most so
    many rows of the first piece are decoded. `ragged` is to collect rows of a CSV file that have too many or too few
    columns, where this is a piece of one.
    """
    readers = [ShapeReader.of(catalog, shape) for shape in (frame, *frame.also)]
    text = not frame.form.cells.are_plain or (table is None and frame.form.of(path) == "csv")
    pieces = raw_pieces(path, readers, frame.form, groups, table=table, ragged=ragged)
    for piece in pieces if most is None else islice(pieces, 1):
        batch, lines = _cleaned(piece.rows if most is None else piece.rows.slice(0, most), frame.form), piece.lines
        if lines is None:
            lines = np.arange(first_row, first_row + batch.num_rows, dtype=np.int64)
        else:
            lines = lines[: batch.num_rows] + line_shift
        parts = [
            part
            for reader in readers
            for part in reader.decoded(batch, lines, catalog, file=file, intake=intake, text=text)
        ]
        if piece.ragged:
            parts.append(
                Decoded({}, tuple(_refused(each, at + line_shift, readers, file) for each, at in piece.ragged))
            )
        decoded = parts[0] if len(parts) == 1 else merge_decoded(parts)
        yield (
            replace(decoded, violations=tuple(sorted(decoded.violations, key=place_order))) if piece.ragged else decoded
        )
        first_row += batch.num_rows


def _refused(row: RaggedRow, line: int, readers: Sequence[ShapeReader], file: str | None) -> Violation:
    table_key = readers[0].info.table_key if len(readers) == 1 else None
    return Violation("W019", f"line {line}: {row.reason}", table_key, line=line, file=file)


def source_rows(
    path: str,
    catalog: Catalog,
    frame: FrameShape,
    groups: range | None = None,
    ragged: RaggedRows | None = None,
) -> Iterator[RawPiece]:
    """The rows of a source as they came, in columns that the same mapping can load; cells without rules as values."""
    readers = [ShapeReader.of(catalog, shape) for shape in (frame, *frame.also)]
    for piece in raw_pieces(path, readers, frame.form, groups, ragged=ragged):
        table = piece.rows if isinstance(piece.rows, pa.Table) else pa.Table.from_batches([piece.rows])
        lines = piece.lines
        if lines is None or not frame.form.cells.are_plain:
            yield RawPiece(table, lines, piece.ragged)
            continue
        if piece.ragged:
            yield RawPiece(table.slice(0, 0), lines[:0], piece.ragged)
        found = {name: [reader.kind_of(name) for reader in readers] for name in table.column_names}
        kinds = {name: next((kind for kind in mine if kind is not None), None) for name, mine in found.items()}
        for run in typed_runs(table, kinds):
            yield RawPiece(run, lines[: run.num_rows])
            lines = lines[run.num_rows :]


def _cleaned(batch: pa.RecordBatch | pa.Table, form: Form) -> pa.RecordBatch | pa.Table:
    """The rows with null where a cell says so, and whole numbers where the mapping says so."""
    if form.cells.are_plain:
        return batch
    columns = [one_array(batch.column(at)) for at in range(batch.num_columns)]
    cleaned = [form.cells.cleaned(name, values) for name, values in zip(batch.schema.names, columns, strict=True)]
    return pa.Table.from_arrays(cleaned, names=batch.schema.names)


def raw_pieces(
    path: str,
    readers: Sequence[ShapeReader],
    form: Form,
    groups: range | None = None,
    *,
    table: pa.Table | None = None,
    ragged: RaggedRows | None = None,
) -> Iterator[RawPiece]:
    """The columns that some of the types can use; the rows of text files with their lines."""
    if table is not None:
        yield RawPiece(_of_one_name_each(table, path, readers))
        return

    def wanted(names: Sequence[str]) -> list[str] | None:
        needed = [reader.needed(names) for reader in readers]
        if any(each is None for each in needed):
            return None
        return [name for name in names if any(name in (each or ()) for each in needed)]

    text = form.of(path) == "csv"
    blank, ragged = (BlankLines(), ragged or RaggedRows()) if text else (None, None)
    named = frozenset(name for reader in readers for name in reader.sources)
    columns = Columns(
        wanted, _json_kinds(readers), as_text=text, blank=blank, ragged=ragged, named=named, in_text=form.cells.text
    )
    line: int | None = None
    rows, last = 0, pa.table({})
    for piece in table_pieces(path, form, columns, groups):
        if blank is None or ragged is None:
            yield RawPiece(_of_one_name_each(piece, path, readers))
            continue
        if line is None:
            header = 0 if form.names is not None else 1 + sum(name.count("\n") for name in piece.column_names)
            line = 1 + form.skip_rows + header
            last = _of_one_name_each(piece.slice(0, 0), path, readers)
        for batch in piece.to_batches():
            counted, line = _lines(batch, line)
            found, own = ragged.take(rows + batch.num_rows), counted[:0]
            if found:
                counted, own, line = placed(counted, line, rows, found)
            rows += batch.num_rows
            yield RawPiece(
                _of_one_name_each(batch, path, readers), blank.shifted(counted), _with_lines(found, own, blank)
            )
    if ragged is not None and blank is not None and line is not None and (found := ragged.take()):
        _, own, _ = placed(np.zeros(0, np.int64), line, rows, found)
        yield RawPiece(last, own[:0], _with_lines(found, own, blank))


def _with_lines(ragged: list[RaggedRow], lines: np.ndarray, blank: BlankLines) -> list[tuple[RaggedRow, int]]:
    return list(zip(ragged, blank.shifted(lines).tolist(), strict=True))


def _of_one_name_each(
    rows: pa.RecordBatch | pa.Table, path: str, readers: Sequence[ShapeReader]
) -> pa.RecordBatch | pa.Table:
    """The rows without columns that share their name, which no type may need."""
    names = rows.schema.names
    if len(set(names)) == len(names):
        return rows
    for reader in readers:
        require_one_of_each(f"'{path}'", names, reader.needed(names))
    return rows.select([name for name in names if names.count(name) == 1])


def _json_kinds(readers: Sequence[ShapeReader]) -> dict[str, PropType]:
    """What each column of a JSON file is read as; left to Arrow where types disagree or cells have rules."""
    found: dict[str, PropType] = {}
    unclear: set[str] = set()
    for reader in readers:
        for name in {*reader.sources, *reader.info.properties}:
            kind = reader.kind_of(name)
            if kind is None:
                continue
            if name in found and (found[name].scalar, found[name].list) != (kind.scalar, kind.list):
                unclear.add(name)
            found.setdefault(name, kind)
        unclear |= reader.read_loosely()
    return {name: kind for name, kind in found.items() if name not in unclear}


def group_rows(path: str) -> list[int]:
    """How many rows each row group of a Parquet file has."""
    with open_input(path) as file:
        found = open_parquet(path, file).metadata
        return [found.row_group(at).num_rows for at in range(found.num_row_groups)]


def _lines(batch: pa.RecordBatch, first: int) -> tuple[np.ndarray, int]:
    """The line each row of text cells begins on, and the line after them, blank ones not counted; cells in quotes may
    hold line breaks."""
    heights = np.ones(batch.num_rows, np.int64)
    for cells in batch.columns:
        heights += pc.count_substring(cells, "\n").fill_null(0).to_numpy()
    ends = first + np.cumsum(heights)
    return ends - heights, int(ends[-1]) if len(ends) else first
