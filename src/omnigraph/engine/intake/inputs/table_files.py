"""Reading one columnar file as Arrow tables: Parquet by row groups, ORC by stripes, CSV, JSON and Lance as streams."""

from __future__ import annotations

import base64
import codecs
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from omnigraph.compiler.types import FLOATING, INTEGER, PropType
from omnigraph.engine.intake.columns.views import schema_without_views, without_views
from omnigraph.engine.intake.inputs.csv_lines import BlankLines, unclosed_quote
from omnigraph.engine.intake.inputs.files import open_input, open_stream, unreadable
from omnigraph.engine.intake.inputs.forms import BY_NAME, STORES, Form
from omnigraph.engine.intake.inputs.ragged_rows import RaggedRow, RaggedRows
from omnigraph.engine.intake.inputs.read_ahead import ReadAheadFile
from omnigraph.errors import BadRequest, StorageError
from omnigraph.storage.base.clouds import is_remote
from omnigraph.storage.base.layout import Address, normalize_root
from omnigraph.storage.lance.blob_cells import BLOB_CELL
from omnigraph.storage.lance.tables import open_table

# Text is read in blocks, and in larger ones where a row is longer than a block.
_BLOCKS = (16 << 20, 256 << 20, (1 << 31) - 1)
_LONGER_THAN_A_BLOCK = "straddl"
_NO_HEADER = "Empty CSV file"
_SEVERAL_KINDS = "changed from"
_SNIFFED = 1 << 20
_SHOWN = 60
_BLOB_TEXTS = pa.struct([(name, pa.utf8()) for name in BLOB_CELL.names])


def _all(names: Sequence[str]) -> list[str] | None:
    return None


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns are wanted of those a file has (None: all), and as what, where their property is known.

    With `as_text` the cells of a CSV file stay text; otherwise Arrow guesses their types. `named` ones are shown even
    where a piece of a JSON file has no value for them; those `in_text` are text whatever a JSON file has there. `blank`
    collects where a CSV file has blank lines, and `ragged` its rows with more or fewer columns than the header;
    without it they are an error.
    """

    wanted: Callable[[Sequence[str]], list[str] | None] = _all
    kinds: Mapping[str, PropType] = field(default_factory=dict)
    as_text: bool = False
    blank: BlankLines | None = None
    ragged: RaggedRows | None = None
    named: frozenset[str] = frozenset()
    in_text: frozenset[str] = frozenset()


ALL_COLUMNS = Columns()


def table_pieces(
    path: str, form: Form = BY_NAME, columns: Columns = ALL_COLUMNS, groups: range | None = None
) -> Iterator[pa.Table]:
    """The pieces of a file in order; `groups` picks row groups of a Parquet file."""
    try:
        match form.of(path):
            case "parquet":
                yield from _parquet(path, columns, groups)
            case "orc":
                yield from _orc(path)
            case "json":
                yield from _json_pieces(path, columns)
            case "lance":
                yield from _lance(path, columns)
            case found if found in STORES:
                from omnigraph.engine.intake.inputs.table_stores import store_pieces

                yield from store_pieces(path, found, form.table)
            case _:
                yield from _in_blocks(lambda block: _csv(path, form, columns, block))
    except pa.ArrowInvalid as error:
        raise BadRequest(f"'{path}' cannot be read: {error}{_advice(str(error))}") from error
    except OSError as error:  # what is compressed, or the values of a Parquet file
        raise unreadable(path, error) from error
    except UnicodeDecodeError as error:
        told = f"byte {error.start} is not {error.encoding}"
        raise BadRequest(f"'{path}' cannot be read: {told}; name the encoding that it has") from error


def file_schema(path: str, form: Form) -> pa.Schema | None:
    """The columns of a file as a load reads them; None where only reading shows them (JSON, an empty file)."""
    format = form.of(path)
    if format == "json":
        return None
    if format == "parquet":
        with open_input(path) as file:
            return schema_without_views(open_parquet(path, file).schema_arrow)
    columns = Columns(as_text=True, ragged=RaggedRows(whole=False, begins=False))
    piece = next(table_pieces(path, form, columns), None)
    return None if piece is None else piece.schema


def _advice(told: str) -> str:
    if _LONGER_THAN_A_BLOCK in told:
        return "; a row is longer than a cell may be: is a quote not closed?"
    if "UTF8" not in told:
        return ""
    return "; if it is written in another encoding, name it in the mapping, for example encoding: cp1252"


def open_parquet(path: str, file: pa.NativeFile, **options: Any) -> pq.ParquetFile:
    """A file as Parquet; BadRequest where it is not, or not all of it."""
    try:
        return pq.ParquetFile(file, **options)
    except (pa.ArrowInvalid, OSError) as error:
        raise BadRequest(f"'{path}' is not a Parquet file, or only a part of one: {error}") from error


def _parquet(path: str, columns: Columns, groups: range | None) -> Iterator[pa.Table]:
    with open_input(path) as file:
        # Spark writes instants in 96 bits; as nanoseconds, which Arrow makes of them, years before 1678 would wrap.
        # On an object store columns that lie side by side are one request, and not one each.
        parquet = open_parquet(path, file, coerce_int96_timestamp_unit="us", pre_buffer=is_remote(path))
        wanted = columns.wanted(parquet.schema_arrow.names)
        for at in range(parquet.num_row_groups) if groups is None else groups:
            yield without_views(parquet.read_row_group(at, columns=wanted))


def _orc(path: str) -> Iterator[pa.Table]:
    from pyarrow import orc

    with open_input(path) as file:
        try:
            stripes = orc.ORCFile(file)
            for at in range(stripes.nstripes):
                yield pa.Table.from_batches([stripes.read_stripe(at)])
        except OSError as error:  # it makes texts of other errors
            raise getattr(file, "failure", None) or BadRequest(f"'{path}' cannot be read: {error}") from error


def _lance(path: str, columns: Columns) -> Iterator[pa.Table]:
    parent, _, name = path.rstrip("/").rpartition("/")
    try:
        table = open_table(Address(normalize_root(parent or "."), name))
    except StorageError as error:
        raise BadRequest(f"'{path}' is not a Lance dataset: {error}") from error
    for batch in table.batches(columns.wanted(table.schema.names)):
        yield pa.Table.from_batches([batch])


# --- text ------------------------------------------------------------------------------------------


def _in_blocks(read: Callable[[int], Iterator[pa.Table]]) -> Iterator[pa.Table]:
    """What `read` gives for a size of blocks; with the next size, only what was not handed out before."""
    done = 0
    for size in _BLOCKS:
        seen = 0
        try:
            for table in read(size):
                fresh = table.slice(max(done - seen, 0))
                seen += table.num_rows
                if seen >= done and (fresh.num_rows or not table.num_rows):
                    done = seen
                    yield fresh
            return
        except pa.ArrowInvalid as error:
            if _LONGER_THAN_A_BLOCK not in str(error) or size == _BLOCKS[-1]:
                raise


def _csv(path: str, form: Form, columns: Columns, block: int) -> Iterator[pa.Table]:
    names = list(form.names) if form.names is not None else None
    # In one thread Arrow counts rows. It converts a stream in one anyhow: 8 MB took as long either way.
    reading = pcsv.ReadOptions(block_size=block, column_names=names, skip_rows=form.skip_rows, use_threads=False)
    parsing = pcsv.ParseOptions(newlines_in_values=True, delimiter=form.separator(path))
    convert = pcsv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    convert.null_values = [""]
    blank, ragged, rows = columns.blank or BlankLines(), columns.ragged, 0
    if columns.as_text:
        with ReadAheadFile(_open_text(path, form)) as file:
            parsing.invalid_row_handler = None if ragged is None else lambda row: "skip"
            try:
                first = pcsv.open_csv(file, reading, parsing)
            except pa.ArrowInvalid as error:
                if _NO_HEADER in str(error):
                    require_closed_quotes(path, form)
                raise
            convert.column_types = dict.fromkeys(first.schema.names, pa.utf8())
    blank.restart()
    if ragged is not None:
        ragged.restart(form.skip_rows + (names is None))
        parsing.invalid_row_handler = ragged.refuse
    try:
        with ReadAheadFile(_open_text(path, form), blank.feed) as file:
            stream = pcsv.open_csv(file, reading, parsing, convert)
            for batch in stream:
                rows += batch.num_rows
                yield pa.Table.from_batches([batch])
            if not rows:
                yield stream.schema.empty_table()
    except pa.ArrowInvalid:
        if ragged is not None and (found := ragged.hopeless()) is not None:
            raise _none_fits(path, found) from None
        raise
    if blank.odd_quotes:
        require_closed_quotes(path, form)
    if ragged is not None and (found := ragged.hopeless(rows)) is not None:
        raise _none_fits(path, found)


def _none_fits(path: str, first: RaggedRow) -> BadRequest:
    return BadRequest(
        f"'{path}' cannot be read: its rows do not have as many columns as its header ({first.reason}:"
        f" {first.text[:_SHOWN]}); does a mapping have to name its delimiter?"
    )


def require_closed_quotes(path: str, form: Form, shown: str | None = None) -> None:
    """BadRequest when a cell in quotes does not end, so that the lines after it would be taken for a part of it."""
    with _open_text(path, form) as file:
        line = unclosed_quote(file.read, form.separator(path).encode(), form.skip_rows)
    if line is not None:
        raise BadRequest(
            f"'{shown or path}' cannot be read: the quote that begins a cell on line {line} is not closed, so the lines"
            ' after it would be part of the cell; close it, or write a quote inside a cell in quotes as ""'
        )


def _open_text(path: str, form: Form) -> pa.NativeFile:
    """The text of a file as UTF-8."""
    stream = open_stream(path)
    if form.encoding is None or codecs.lookup(form.encoding).name in ("utf-8", "utf-8-sig"):
        return stream
    return pa.transcoding_input_stream(stream, form.encoding, "utf-8")


def _json_pieces(path: str, columns: Columns) -> Iterator[pa.Table]:
    """By Arrow, or value by value from where a column turns out to hold values of several kinds."""
    if _is_array(path):
        yield _whole_array(path, columns)
        return
    done = 0
    if not columns.in_text:
        try:
            for table in _in_blocks(lambda block: _json(path, columns, block)):
                done += table.num_rows
                yield table
            return
        except pa.ArrowInvalid as error:
            if _SEVERAL_KINDS not in str(error):
                raise
    from omnigraph.engine.intake.inputs.mixed_json import mixed_pieces

    with open_stream(path) as file:
        yield from mixed_pieces(path, file, columns.in_text, done)


def _json(path: str, columns: Columns, block: int) -> Iterator[pa.Table]:
    """One object per line."""
    import pyarrow.json as pj

    objects = _names_of_objects(path) if any(kind.scalar == "Blob" for kind in columns.kinds.values()) else set()
    shape = pa.schema([(name, _read_as(prop, in_object=name in objects)) for name, prop in columns.kinds.items()])
    parsing = pj.ParseOptions(explicit_schema=shape, unexpected_field_behavior="infer", newlines_in_values=False)
    with ReadAheadFile(open_stream(path)) as file:
        for batch in pj.open_json(file, pj.ReadOptions(block_size=block), parsing):
            table = pa.Table.from_batches([batch])
            # A column of the explicit schema appears whether or not the file has it.
            absent = (name for name in shape.names if table[name].null_count == len(table))
            yield table.drop_columns([name for name in absent if name not in columns.named])


def _is_array(path: str) -> bool:
    """Whether a JSON file is one array, whatever blanks or mark it begins with."""
    with open_stream(path) as file:
        return bool(file.read(_SNIFFED).removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"[")


def _whole_array(path: str, columns: Columns) -> pa.Table:
    with open_stream(path) as file:
        try:
            found: Any = json.loads(file.read().removeprefix(codecs.BOM_UTF8))
        except ValueError as error:
            raise BadRequest(f"'{path}' is not JSON: {error}") from error
    if not all(isinstance(row, dict) for row in found):
        raise BadRequest(f"'{path}' holds an array of something else than objects")
    from omnigraph.engine.intake.inputs.mixed_json import rows_table

    return rows_table(found, columns.in_text)


def _names_of_objects(path: str) -> set[str]:
    """The columns that hold an object in one of the first lines."""
    with open_stream(path) as file:
        lines = file.read(_SNIFFED).split(b"\n")
    found: set[str] = set()
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue  # the last of them is cut; others are reported when the file is read
        found |= {name for name, value in row.items() if isinstance(value, dict)} if isinstance(row, dict) else set()
    return found


def _read_as(kind: PropType, *, in_object: bool) -> pa.DataType:
    """The Arrow type to read JSON values as; without it Arrow would take any text that looks like a time for one."""
    if kind.scalar == "Blob" and in_object:
        return _BLOB_TEXTS
    if kind.dim is not None:
        return pa.list_(pa.float64())
    if kind.scalar in INTEGER:
        scalar = pa.uint64() if kind.scalar == "U64" else pa.int64()
    elif kind.scalar in FLOATING:
        scalar = pa.float64()
    elif kind.scalar == "Bool":
        scalar = pa.bool_()
    else:
        scalar = pa.utf8()
    return pa.list_(scalar) if kind.list else scalar


def cell_in_json(value: Any) -> str:
    """A cell that JSON has no form of its own for, as a load takes it: the `default` of `json.dumps`."""
    if isinstance(value, bytes):
        return f"base64:{base64.b64encode(value).decode()}"
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)
