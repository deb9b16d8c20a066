"""CSV files with `neo4j-admin import` headers: `id:ID(Person),name,age:int,:LABEL` and `:START_ID,:END_ID,:TYPE`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.types import PropType
from omnigraph.engine.intake.columns.text_cells import from_text
from omnigraph.engine.intake.inputs.files import InputFile, list_files, open_input
from omnigraph.engine.intake.inputs.forms import Form
from omnigraph.engine.intake.inputs.table_files import Columns, table_pieces
from omnigraph.errors import BadRequest
from omnigraph.pipeline.formats.importers.bundle import Bundle, Links, Nodes, attribute, bundle

_HEADER = re.compile(r"^(?P<name>[^:]*)(?::(?P<kind>[^({]*)(?:\((?P<space>[^)]*)\))?(?:\{.*\})?)?$")
_HEADER_FILE = re.compile(r"[-_.]header\.csv$")
_INTEGERS = {"int", "long", "byte", "short", "integer"}
_FLOATS = {"float", "double"}
_LIST = ";"


@dataclass(frozen=True, slots=True)
class _Field:
    """One column: its property name, its type as Neo4j spells it, and the id space it refers to."""

    column: str
    name: str
    kind: str
    space: str


@dataclass(frozen=True, slots=True)
class _File:
    """One data file with its columns as text."""

    path: str
    fields: tuple[_Field, ...]
    rows: pa.Table

    def of_kind(self, kind: str) -> _Field | None:
        return next((each for each in self.fields if each.kind == kind), None)


def read_neo4j_csv(sources: Sequence[str]) -> Bundle:
    """Node files and relationship files, told apart by their headers; a `….header.csv` heads the files beside it."""
    files = [_read(file, header) for source in sources for file, header in _paired(list_files(source, [".csv"]))]
    nodes = [file for file in files if file.of_kind("START_ID") is None]
    links = [file for file in files if file.of_kind("START_ID") is not None]
    if not nodes:
        raise BadRequest("none of the files has an :ID column, so there are no nodes to import")
    found, spaces = _nodes(nodes)
    return bundle(found, _links(links, spaces))


# --- files -----------------------------------------------------------------------------------------


def _paired(files: Sequence[InputFile]) -> list[tuple[str, str | None]]:
    """Data files, each with the header file of its name if there is one."""
    headers = {_HEADER_FILE.sub("", file.path): file.path for file in files if _HEADER_FILE.search(file.path)}
    found: list[tuple[str, str | None]] = []
    for file in files:
        if file.path in headers.values():
            continue
        fitting = [stem for stem in headers if file.path.startswith(stem)]
        found.append((file.path, headers[max(fitting, key=len)] if fitting else None))
    return found


def _read(path: str, header: str | None) -> _File:
    names = None
    if header is not None:
        with open_input(header) as file:
            names = tuple(bytes(file.read()).decode().strip().split(","))
    pieces = list(table_pieces(path, Form("csv", None, names), Columns(as_text=True)))
    if not pieces:
        raise BadRequest(f"'{path}' contains no rows")
    rows = pa.concat_tables(pieces)
    return _File(path, tuple(_field(path, column) for column in rows.column_names), rows)


def _field(path: str, column: str) -> _Field:
    found = _HEADER.match(column.strip())
    if found is None:
        raise BadRequest(f"'{path}' has a header that is not a name:type: '{column}'")
    kind = (found["kind"] or "string").strip()
    return _Field(column, found["name"].strip(), kind if kind.isupper() else kind.lower(), found["space"] or "")


# --- nodes -----------------------------------------------------------------------------------------


def _nodes(files: Sequence[_File]) -> tuple[list[Nodes], dict[str, pa.Table]]:
    """Nodes by label, and per id space which id is which label."""
    parts: dict[str, list[pa.Table]] = {}
    keys: dict[str, set[str | None]] = {}
    spaces: dict[str, list[pa.Table]] = {}
    for file in files:
        identity = file.of_kind("ID")
        if identity is None:
            raise BadRequest(f"'{file.path}' has neither an :ID nor a :START_ID column")
        labels = _labels(file)
        rows = _columns(file, {"id": file.rows[identity.column]}, keep=identity if identity.name else None)
        spaces.setdefault(identity.space, []).append(pa.table({"id": rows["id"], "label": labels}))
        for label in pc.unique(labels).to_pylist():
            parts.setdefault(label, []).append(rows.filter(pc.equal(labels, label)))
            keys.setdefault(label, set()).add(identity.name or None)
    found = []
    for label, tables in parts.items():
        names = keys[label]
        key = names.pop() if len(names) == 1 else None
        found.append(Nodes(label, pa.concat_tables(tables, promote_options="permissive"), key))
    return found, {space: pa.concat_tables(tables) for space, tables in spaces.items()}


def _labels(file: _File) -> pa.ChunkedArray:
    """The first label of each node; without a column of labels they are called like their file."""
    stem = Path(file.path).name.partition(".")[0]
    field = file.of_kind("LABEL")
    if field is None:
        return pa.chunked_array([pa.repeat(stem, file.rows.num_rows)])
    first = pc.list_element(pc.split_pattern(pc.fill_null(file.rows[field.column], stem), _LIST), 0)
    return pc.if_else(pc.equal(first, ""), stem, first)


# --- relationships ---------------------------------------------------------------------------------


def _links(files: Sequence[_File], spaces: dict[str, pa.Table]) -> list[Links]:
    parts: dict[str, list[pa.Table]] = {}
    for file in files:
        start, end, kind = file.of_kind("START_ID"), file.of_kind("END_ID"), file.of_kind("TYPE")
        if start is None or end is None:
            raise BadRequest(f"'{file.path}' has a :START_ID but no :END_ID")
        fixed = {"from": file.rows[start.column], "to": file.rows[end.column]}
        rows = _columns(file, fixed)
        for name, field in (("from", start), ("to", end)):
            rows = rows.append_column(f"{name}_label", _end_labels(file.path, rows[name], field, spaces))
        stem = Path(file.path).name.partition(".")[0]
        types = file.rows[kind.column] if kind is not None else pa.chunked_array([pa.repeat(stem, rows.num_rows)])
        for label in pc.unique(types).to_pylist():
            parts.setdefault(label or stem, []).append(rows.filter(pc.equal(types, label)))
    return [Links(label, pa.concat_tables(tables, promote_options="permissive")) for label, tables in parts.items()]


def _end_labels(path: str, ids: pa.ChunkedArray, field: _Field, spaces: dict[str, pa.Table]) -> pa.ChunkedArray:
    if field.space not in spaces:
        known = ", ".join(repr(space) for space in spaces)
        raise BadRequest(f"'{path}' refers to the id space '{field.space}', which no node file has (there are {known})")
    space = spaces[field.space]
    place = pc.index_in(ids, value_set=space["id"].combine_chunks())
    if place.null_count:
        missing = ids.filter(place.is_null())[0].as_py()
        raise BadRequest(f"'{path}': {place.null_count} relationships end at a node that is not there: '{missing}'")
    return space["label"].take(place)


# --- values ----------------------------------------------------------------------------------------


def _columns(file: _File, fixed: dict[str, pa.ChunkedArray], keep: _Field | None = None) -> pa.Table:
    """The properties of a file as typed columns, behind the fixed ones; `keep` is an id that is a property too."""
    found = dict(fixed)
    for field in file.fields:
        if field is keep or (field.name and not field.kind.isupper()):
            kind = "string" if field.kind.isupper() else field.kind
            found[attribute(field.name)] = _typed(file.path, field, kind, file.rows[field.column])
    return pa.table(found)


def _typed(path: str, field: _Field, kind: str, values: pa.ChunkedArray) -> pa.ChunkedArray:
    if kind.endswith("[]"):
        lists = pc.split_pattern(values, _LIST)
        inner = _carrier(kind.removesuffix("[]"))
        return _cast(path, field, lists, pa.list_(inner)) if inner != pa.utf8() else lists
    if kind in ("boolean", "bool"):
        typed = [from_text(PropType("Bool"), chunk) for chunk in values.chunks]
        if any(chunk is None for chunk in typed):
            raise BadRequest(f"'{path}': column '{field.column}' holds something else than true and false")
        return pa.chunked_array(typed, pa.bool_())
    return _cast(path, field, values, _carrier(kind))


def _carrier(kind: str) -> pa.DataType:
    if kind in _INTEGERS:
        return pa.int64()
    return pa.float64() if kind in _FLOATS else pa.bool_() if kind in ("boolean", "bool") else pa.utf8()


def _cast(path: str, field: _Field, values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    try:
        return values.cast(kind)
    except pa.ArrowInvalid as error:
        raise BadRequest(f"'{path}': column '{field.column}' holds a value that does not fit: {error}") from error
