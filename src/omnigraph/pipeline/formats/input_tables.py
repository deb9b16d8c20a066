"""The inputs of `infer`: what each holds, which column names its rows, and which columns hold keys of another input."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.types import INTEGER, PropType
from omnigraph.engine.intake.files import is_remote
from omnigraph.engine.intake.forms import SUFFIXES, Form, format_of
from omnigraph.engine.intake.mapping_sources import FileSource
from omnigraph.engine.intake.table_files import Columns, table_pieces
from omnigraph.errors import BadRequest
from omnigraph.pipeline.formats.draft import distinct_name, holds_references, kind_of, property_name, texts, type_name

_KEY_NAMES = ("id", "key", "uuid", "guid", "code", "slug", "handle", "login", "username", "email", "isbn", "name")
_UNNAMED = len(_KEY_NAMES) + 2
_TAILS = ("_id", "id", "_key", "_code", "_ref", "_uuid")
_TAIL_ENDS = ("from", "src", "source", "start", "tail", "a", "subject", "parent")
_HEAD_ENDS = ("to", "dst", "target", "end", "head", "b", "object", "child")


@dataclass(slots=True)
class InputTable:
    """One source: its columns, what they hold, and what became of them."""

    name: str
    source: dict[str, Any]
    columns: dict[str, pa.ChunkedArray]
    kinds: dict[str, PropType]
    type: str = ""
    key: str | None = None
    references: dict[str, InputTable] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values()), ()))


def read_inputs(
    paths: Sequence[str], relative_to: str | os.PathLike[str] | None, *, enums: bool, notes: list[str]
) -> tuple[list[InputTable], list[InputTable]]:
    """The inputs whose rows are nodes, and those whose rows are edges; what a person should know goes to `notes`."""
    tables = [_read(path, relative_to, enums=enums, notes=notes) for path in paths]
    _name_types(tables)
    for table in tables:
        table.key = _key(table)
    for table in tables:
        table.references = _references(table, tables)
    _find_links(tables)
    edges = [table for table in tables if _is_edge(table)]
    return [table for table in tables if table not in edges], edges


def ends_of(table: InputTable) -> tuple[str, str]:
    """Which reference is the source of an edge and which the target: by name, else in column order."""
    columns = list(table.references)
    tail = next((column for column in columns if base_of(column) in _TAIL_ENDS), None)
    head = next((column for column in columns if base_of(column) in _HEAD_ENDS and column != tail), None)
    tail = tail or next(column for column in columns if column != head)
    return tail, head or next(column for column in columns if column != tail)


def ends_by_content(table: InputTable, tables: Sequence[InputTable], *, itself: bool = False) -> dict[str, InputTable]:
    """Columns of texts all of which are keys of one other table, or of the table `itself`."""
    found: dict[str, InputTable] = {}
    others = [other for other in tables if (itself or other is not table) and other.key is not None]
    for column, values in table.columns.items():
        if _is_text(table, column) and not table.kinds[column].list:
            known = pc.unique(texts(values)).drop_null()
            target = next((other for other in others if len(known) and _holds(other, known)), None)
            if target is not None:
                found[column] = target
    return found


def base_of(column: str) -> str:
    lower = column.lower()
    for tail in _TAILS:
        if lower.endswith(tail) and len(lower) > len(tail):
            return lower[: -len(tail)].rstrip("_")
    head, _, tail = lower.partition("_")
    return head if tail and head in (*_TAIL_ENDS, *_HEAD_ENDS) else lower


def _read(path: str, relative_to: str | os.PathLike[str] | None, *, enums: bool, notes: list[str]) -> InputTable:
    form = Form(_directory_format(path) if os.path.isdir(path) and not path.rstrip("/").endswith(".lance") else None)
    source = FileSource(path, form)
    files = source.files()
    text = form.of(files[0].path) == "csv"
    pieces = [piece for file in files for piece in table_pieces(file.path, form, Columns(as_text=text))]
    if not pieces:
        raise BadRequest(f"'{path}' contains no rows to learn from")
    table = pa.concat_tables(pieces, promote_options="permissive")
    shown = path if is_remote(path) or relative_to is None else os.path.relpath(path, relative_to)
    name = property_name(Path(path.rstrip("/")).name.partition(".")[0].replace("*", ""))
    described = {"path": shown} | ({"format": form.format} if form.format else {})
    if format_of(files[0].path) == "json" and form.format is None:
        described["format"] = "json"
    kinds: dict[str, PropType] = {}
    for column in table.column_names:
        kind = kind_of(table[column], text=text, enums=enums)
        if kind is None:
            notes.append(f"{name}.{column} is left out: no property type holds {table[column].type}")
            continue
        kinds[column] = kind
        if holds_references(table[column]):
            notes.append(f"{name}.{column} refers to objects outside; the graph must be opened with external_blobs")
    return InputTable(name, described, {column: table[column] for column in kinds}, kinds)


def _directory_format(path: str) -> str:
    plain = {form for form in map(format_of, os.listdir(path)) if form != "csv"}
    known = plain | ({"csv"} if any(".csv" in name or ".tsv" in name for name in os.listdir(path)) else set())
    if len(known) == 1:
        return known.pop()
    if known:
        raise BadRequest(f"'{path}' holds files of several formats ({', '.join(sorted(known))}); name them one by one")
    raise BadRequest(f"'{path}' contains no files of a known format ({', '.join(SUFFIXES)})")


def _name_types(tables: Sequence[InputTable]) -> None:
    taken: list[str] = []
    for table in tables:
        table.type = distinct_name(type_name(table.name, singular=True), taken)
        taken.append(table.type)
        table.name = property_name(table.name, [other.name for other in tables if other is not table])


def _key(table: InputTable) -> str | None:
    """The column that names a row: distinct, never null, text or whole numbers, and called like a name at best."""
    bases = {base_of(column) for column in table.kinds}
    linking = {*_TAIL_ENDS, *_HEAD_ENDS} if bases & set(_TAIL_ENDS) and bases & set(_HEAD_ENDS) else set()
    fitting = [
        column
        for column, kind in table.kinds.items()
        if not kind.nullable
        and not kind.list
        and kind.enum is None
        and _key_like(kind)
        and base_of(column) not in linking
    ]
    distinct = [column for column in fitting if pc.count_distinct(table.columns[column]).as_py() == table.rows]
    mine, first = table.type.lower(), next(iter(table.kinds))
    ranks = {column: _key_rank(column.lower(), mine) for column in distinct}
    # A first column of distinct texts is a name whatever it is called.
    named = [column for column in distinct if ranks[column] < _UNNAMED or (column == first and _is_text(table, column))]
    return min(named, key=lambda column: ranks[column], default=None)


def _key_rank(column: str, type_lower: str) -> int:
    plain = column.replace("_", "")
    if plain in (f"{type_lower}id", f"{type_lower}key", f"{type_lower}code"):
        return 0
    if column in _KEY_NAMES:
        return 1 + _KEY_NAMES.index(column)
    ends = column.endswith(("_id", "_key", "_code", "_uuid")) or plain == type_lower
    return _UNNAMED - 1 if ends else _UNNAMED


def _is_text(table: InputTable, column: str) -> bool:
    return table.kinds[column].scalar == "String"


def _references(table: InputTable, tables: Sequence[InputTable]) -> dict[str, InputTable]:
    found: dict[str, InputTable] = {}
    for column, values in table.columns.items():
        if column == table.key or table.kinds[column].list or not _key_like(table.kinds[column]):
            continue
        known = pc.unique(texts(values)).drop_null()
        if not len(known):
            continue
        fitting = [
            other for other in tables if other.key is not None and _called_like(column, other) and _holds(other, known)
        ]
        if fitting:
            base = base_of(column)
            found[column] = next((other for other in fitting if base == other.type.lower()), fitting[0])
    return found


def _find_links(tables: Sequence[InputTable]) -> None:
    """Make references of the columns of a table that only links; keys of links say nothing about other tables."""
    suspects = [table for table in tables if _only_links(table, tables)]
    sure = [table for table in tables if table not in suspects]
    for table in suspects:
        ends = ends_by_content(table, sure)
        both = {**ends, **table.references}
        found = {column: both[column] for column in table.kinds if column in both}
        if len(found) > 1:
            table.key = None if table.key in ends else table.key
            table.references = found


def _only_links(table: InputTable, tables: Sequence[InputTable]) -> bool:
    """Whether two columns or more hold keys of others and nothing names the rows, or only such a column does."""
    ends = ends_by_content(table, tables)
    if len(ends) < 2:
        return False
    key = table.key
    if key is None or key.lower() == "id":
        return True
    # A key that is called like the other table's own key makes these rows the same things, told more about.
    return key in ends and key.lower() != (ends[key].key or "").lower()


def _holds(other: InputTable, values: pa.Array) -> bool:
    """Whether all values are keys of a table."""
    assert other.key is not None
    return bool(pc.all(pc.is_in(values, value_set=texts(other.columns[other.key]).combine_chunks())).as_py())


def _called_like(column: str, other: InputTable) -> bool:
    base, target = base_of(column), other.type.lower()
    if base == target or base == other.name.lower() or base in (*_TAIL_ENDS, *_HEAD_ENDS):
        return True
    assert other.key is not None
    # manager_id, boss_login: any word before the name of the other's key.
    return column.lower().endswith((f"_{other.key.lower()}", *(tail for tail in _TAILS if tail.startswith("_"))))


def _is_edge(table: InputTable) -> bool:
    """Whether rows link rather than are: two references, and beside a plain id nothing that names them."""
    if len(table.references) < 2:
        return False
    bases = {base_of(column) for column in table.references}
    if table.key is None or (bases & set(_TAIL_ENDS) and bases & set(_HEAD_ENDS)):
        return True
    linking = all(other is not table for other in table.references.values())
    return linking and table.key.lower() == "id" and len(table.references) * 2 >= len(table.columns) - 1


def _key_like(kind: PropType) -> bool:
    return kind.scalar == "String" or kind.scalar in INTEGER
