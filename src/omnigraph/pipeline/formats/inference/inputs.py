"""The inputs of `infer`: files, tables of stores and frames, read as columns with what was assumed about them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.checkpoints import checkpoint
from omnigraph.compiler.types import INTEGER, PropType
from omnigraph.engine.intake.columns.cells import PLAIN_CELLS, Cells
from omnigraph.engine.intake.columns.text_cells import from_text
from omnigraph.engine.intake.frames import arrow_table, require_one_of_each
from omnigraph.engine.intake.inputs.files import names_in
from omnigraph.engine.intake.inputs.forms import STORES, SUFFIXES, Form, format_of
from omnigraph.engine.intake.inputs.mixed_json import MIXED
from omnigraph.engine.intake.inputs.ragged_rows import RaggedRows
from omnigraph.engine.intake.inputs.table_files import Columns, table_pieces
from omnigraph.engine.intake.inputs.table_stores import ForeignKey, shown_url, stored_tables
from omnigraph.engine.intake.mapping_sources import FileSource
from omnigraph.errors import BadRequest
from omnigraph.memory.working import need_more
from omnigraph.pipeline.formats.draft import holds_references, kind_of, property_name
from omnigraph.pipeline.formats.inference.cell_rules import find_rules
from omnigraph.pipeline.formats.inference.text_forms import delimiter_of, encoding_of
from omnigraph.storage.base.clouds import is_remote

SAMPLE_ROWS = 1_000_000
_COPIES = 2  # values as they were read, and cleaned
_URLS = ("postgresql", "mysql", "mariadb", "sqlite", "oracle", "mssql", "duckdb", "snowflake", "redshift", "bigquery")

Given: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"


@dataclass(slots=True, eq=False)
class InputTable:
    """One input: its columns, cleaned, and what they hold; what a mapping says about it, and what was assumed."""

    name: str
    shown: str
    source: dict[str, Any]
    columns: dict[str, pa.ChunkedArray]
    kinds: dict[str, PropType]
    cells: Cells = PLAIN_CELLS
    sampled: bool = False
    assumed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    declared_key: tuple[str, ...] = ()
    declared_references: tuple[ForeignKey, ...] = ()
    table: str | None = None
    type: str = ""
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)  # columns that could be enums

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values()), ()))


def read_inputs(
    given: Sequence[Given], relative_to: str | os.PathLike[str] | None, *, sample: int | None = SAMPLE_ROWS
) -> list[InputTable]:
    """Every table behind what a caller named; a store has several."""
    found = [table for each in given for table in _tables(each, relative_to, sample)]
    for table in found:
        others = [other.name for other in found if other is not table]
        table.name = property_name(table.name, others) if table.name in others else table.name
    return found


def _tables(given: Given, relative_to: str | os.PathLike[str] | None, sample: int | None) -> Iterator[InputTable]:
    if isinstance(given, Mapping):
        for name, frame in given.items():
            yield _finished(_named(str(name)), f"frame {name}", {"frame": frame}, [arrow_table(frame)], sample=sample)
        return
    if hasattr(given, "__arrow_c_stream__"):
        raise BadRequest("give frames by name, as in infer({'people': frame}): a type is called after it")
    path = os.fspath(given)
    if _is_url(path):
        yield from _stored(path, "database", {"url": path}, sample)
        return
    if format_of(path) in STORES and not os.path.isdir(path):
        yield from _stored(path, format_of(path), {"path": _shown(path, relative_to)}, sample)
        return
    yield _file(path, relative_to, sample)


def _is_url(path: str) -> bool:
    return "://" in path and path.partition("://")[0].partition("+")[0] in _URLS


def _stored(path: str, format: str, place: dict[str, Any], sample: int | None) -> Iterator[InputTable]:
    tables = stored_tables(path, format)
    if not tables:
        raise BadRequest(f"'{shown_url(path)}' contains no tables")
    for each in tables:
        pieces = _taken(table_pieces(path, Form(format, table=each.name)), sample)
        if not sum(piece.num_rows for piece in pieces[0]):
            continue
        place_of_it = {**place, "table": each.name}
        if format != "database" and format_of(path) != format:
            place_of_it["format"] = format
        shown = f"{each.name} of {Path(shown_url(path)).name}"
        found = _finished(_named(each.name), shown, place_of_it, pieces[0], sample=sample, cut=pieces[1])
        found.declared_key, found.declared_references, found.table = each.key, each.references, each.name
        yield found


def _file(path: str, relative_to: str | os.PathLike[str] | None, sample: int | None) -> InputTable:
    names = None if path.rstrip("/").endswith(".lance") else names_in(path)
    format = None if names is None else _directory_format(path, names)
    files = FileSource(path, Form(format)).files()
    described: dict[str, Any] = {"path": _shown(path, relative_to)} | ({"format": format} if format else {})
    form, text = Form(format), Form(format).of(files[0].path) == "csv"
    assumed: list[str] = []
    if text:
        encoding = encoding_of(files[0].path)
        delimiter = delimiter_of(files[0].path, encoding)
        form = Form(format, delimiter, None, encoding)
        if encoding is not None:
            described["encoding"] = encoding
            assumed.append(f"the text is {encoding}, because it is not UTF-8")
        if delimiter is not None:
            described["delimiter"] = delimiter
            assumed.append(f"cells are separated by {'tabs' if delimiter == chr(9) else repr(delimiter)}")
    if format_of(files[0].path) == "json" and format is None:
        described["format"] = "json"
    pieces, cut = _taken(
        (
            piece
            for file in files
            for piece in table_pieces(file.path, form, Columns(as_text=text, ragged=RaggedRows()))
        ),
        sample,
    )
    if not sum(piece.num_rows for piece in pieces):
        raise BadRequest(f"'{path}' contains no rows to learn from")
    for piece in pieces:
        require_one_of_each(f"'{path}'", piece.column_names)
    name = _named(Path(path.rstrip("/")).name.partition(".")[0].replace("*", ""))
    found = _finished(name, Path(path.rstrip("/")).name, described, pieces, sample=sample, cut=cut, text=text)
    found.assumed = (*assumed, *found.assumed)
    return found


def _named(text: str) -> str:
    return property_name(text)


def _shown(path: str, relative_to: str | os.PathLike[str] | None) -> str:
    return path if is_remote(path) or relative_to is None else os.path.relpath(path, relative_to)


def _taken(pieces: Iterator[pa.Table], sample: int | None) -> tuple[list[pa.Table], bool]:
    """The first pieces up to so many rows, and whether there were more."""
    found: list[pa.Table] = []
    rows = 0
    for piece in pieces:
        checkpoint()
        need_more(_COPIES * piece.nbytes)
        if sample is not None and rows + piece.num_rows > sample:
            found.append(piece.slice(0, sample - rows))
            return found, True
        found.append(piece)
        rows += piece.num_rows
    return found, False


def _finished(
    name: str,
    shown: str,
    source: dict[str, Any],
    pieces: Sequence[pa.Table],
    *,
    sample: int | None,
    cut: bool = False,
    text: bool = False,
) -> InputTable:
    """Columns cleaned by the rules that were found, each with the narrowest type that takes it."""
    table, mixed = _joined(pieces)
    if sample is not None and table.num_rows > sample:
        table, cut = table.slice(0, sample), True
    columns = {column: _decoded(table[column]) for column in table.column_names}
    rules = find_rules(columns, mixed)
    notes = [f"{name}.{note}" for note in rules.notes]
    kinds: dict[str, PropType] = {}
    for column in list(columns):
        checkpoint()
        cleaned = [rules.cells.cleaned(column, chunk) for chunk in columns[column].chunks]
        values = pa.chunked_array(cleaned, cleaned[0].type) if cleaned else columns[column]
        # Texts of Excel, JSON and databases stand for values only where rules say so.
        as_text = pa.types.is_string(values.type) and (text or _has_rule(rules.cells, column, values))
        kind = kind_of(values, text=as_text, cells=rules.cells, column=column)
        if kind is None:
            notes.append(f"{name}.{column} is left out: {_unfit(values.type)}")
            continue
        columns[column], kinds[column] = (_numbers(values, kind, rules.cells, column) if as_text else values), kind
        if holds_references(values):
            notes.append(f"{name}.{column} refers to objects outside; the graph must be opened with external_blobs")
    return InputTable(
        name,
        shown,
        source | rules.described(),
        {column: columns[column] for column in kinds},
        kinds,
        rules.cells,
        cut,
        tuple(rules.assumed),
        tuple(notes),
    )


def _unfit(kind: pa.DataType) -> str:
    """Why values of this type cannot be a property."""
    if pa.types.is_struct(kind):
        return f"its values are objects ({', '.join(kind.names)}), and a property is one value"
    return f"no property type takes {kind}"


def _numbers(values: pa.ChunkedArray, kind: PropType, cells: Cells, column: str) -> pa.ChunkedArray:
    """Whole numbers that were text: however one is written, it is one key."""
    if kind.scalar not in INTEGER or kind.list:
        return values
    typed = [from_text(kind, chunk, cells, column) for chunk in values.chunks]
    return values if any(each is None for each in typed) else pa.chunked_array(typed)


def _has_rule(cells: Cells, column: str, values: pa.ChunkedArray) -> bool:
    if column in cells.text:
        return False
    if column in cells.dates or column in cells.whole:
        return True
    if cells.true and _all_in(values, (*cells.true, *cells.false)):
        return True
    return bool(cells.nulls or cells.column_nulls.get(column) or cells.thousands or cells.decimal)


def _all_in(values: pa.ChunkedArray, words: Sequence[str]) -> bool:
    known = pc.utf8_lower(pc.unique(values).drop_null())
    return bool(pc.all(pc.is_in(known, value_set=pa.array(words, pa.utf8())), min_count=0).as_py())


def _joined(pieces: Sequence[pa.Table]) -> tuple[pa.Table, frozenset[str]]:
    """One table of all pieces; a column that is of several kinds in them is text."""
    mixed = {each.name for piece in pieces for each in piece.schema if (each.metadata or {}).get(MIXED)}
    try:
        table = pa.concat_tables(pieces, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        kinds: dict[str, set[pa.DataType]] = {}
        for piece in pieces:
            for each in piece.schema:
                if not pa.types.is_null(each.type):
                    kinds.setdefault(each.name, set()).add(each.type)
        mixed |= {column for column, found in kinds.items() if len(found) > 1 and pa.utf8() in found}
        table = pa.concat_tables([_as_text(piece, mixed) for piece in pieces], promote_options="permissive")
    return table, frozenset(mixed & set(table.column_names))


def _as_text(piece: pa.Table, columns: set[str]) -> pa.Table:
    for at, name in enumerate(piece.column_names):
        if name in columns and not pa.types.is_string(piece[name].type):
            piece = piece.set_column(at, name, piece[name].cast(pa.utf8()))
    return piece


def _decoded(values: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_large_string(values.type) or pa.types.is_string_view(values.type):
        values = values.cast(pa.utf8())
    return values


def _directory_format(path: str, names: Sequence[str]) -> str:
    plain = {form for form in map(format_of, names) if form != "csv"}
    known = plain | ({"csv"} if any(".csv" in name or ".tsv" in name for name in names) else set())
    if len(known) == 1:
        return known.pop()
    if known:
        raise BadRequest(f"'{path}' holds files of several formats ({', '.join(sorted(known))}); name them one by one")
    raise BadRequest(f"'{path}' contains no files of a known format ({', '.join(SUFFIXES)})")
