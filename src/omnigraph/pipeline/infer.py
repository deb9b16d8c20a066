"""`infer`: a schema and a mapping for files that nobody has described yet, such that they load.

Each input is one source. A source with a column of distinct values is a node type, and that column its key; a column
that holds keys of a source, and is called like a reference, is an edge; a source of references only is an edge type,
and so is one with two columns of texts that are all keys of other sources, whatever they are called.
Everything is read, because one row decides whether a column may be null.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.types import INTEGER, PropType
from omnigraph.engine.write.files import is_remote
from omnigraph.engine.write.forms import SUFFIXES, Form, format_of
from omnigraph.engine.write.mapping import FileSource
from omnigraph.engine.write.table_files import Columns, table_pieces
from omnigraph.errors import BadRequest
from omnigraph.pipeline.draft import (
    DraftProperty,
    DraftType,
    distinct_name,
    holds_references,
    kind_of,
    property_name,
    schema_text,
    texts,
    type_name,
    unique_ends,
)

_KEY_NAMES = ("id", "key", "uuid", "guid", "code", "slug", "handle", "login", "username", "email", "isbn", "name")
_UNNAMED = len(_KEY_NAMES) + 2
_TAILS = ("_id", "id", "_key", "_code", "_ref", "_uuid")
_TAIL_ENDS = ("from", "src", "source", "start", "tail", "a", "subject", "parent")
_HEAD_ENDS = ("to", "dst", "target", "end", "head", "b", "object", "child")


@dataclass(frozen=True, slots=True)
class Inference:
    """What was found: schema text, a mapping for `load`, and what a person should look at."""

    schema: str
    mapping: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def mapping_text(self) -> str:
        """The mapping as YAML."""
        import yaml  # type: ignore[import-untyped,unused-ignore]

        found: str = yaml.safe_dump(dict(self.mapping), sort_keys=False, default_flow_style=None, width=110)
        return found

    def write(self, directory: str | os.PathLike[str]) -> tuple[Path, Path]:
        """Write `schema.pg` and `mapping.yaml` into a directory; neither may exist yet."""
        place = Path(directory)
        place.mkdir(parents=True, exist_ok=True)
        wanted = {place / "schema.pg": self.schema, place / "mapping.yaml": self.mapping_text}
        for path in wanted:
            if path.exists():
                raise BadRequest(f"'{path}' exists already; infer does not overwrite it")
        for path, text in wanted.items():
            path.write_text(text)
        return place / "schema.pg", place / "mapping.yaml"


@dataclass(slots=True)
class _Table:
    """One source: its columns, what they hold, and what became of them."""

    name: str
    source: dict[str, Any]
    columns: dict[str, pa.ChunkedArray]
    kinds: dict[str, PropType]
    type: str = ""
    key: str | None = None
    references: dict[str, _Table] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values()), ()))


def infer(
    *files: str | os.PathLike[str], relative_to: str | os.PathLike[str] | None = None, enums: bool = True
) -> Inference:
    """A schema and a mapping for CSV, Parquet, ORC, JSON and Lance inputs; each may be a file, a glob or a directory.

    Paths in the mapping are relative to `relative_to`, the directory where the mapping will be kept.
    """
    if not files:
        raise BadRequest("name at least one file")
    notes: list[str] = []
    tables = [_read(os.fspath(path), relative_to, enums=enums, notes=notes) for path in files]
    _name_types(tables)
    for table in tables:
        table.key = _key(table)
    for table in tables:
        table.references = _references(table, tables)
    _find_links(tables)
    edges = [table for table in tables if _is_edge(table)]
    nodes = [table for table in tables if table not in edges]
    if not nodes:
        raise BadRequest("no input has a column of distinct values, so nothing could be a node; add a file of nodes")
    return _Drafting(nodes, edges, notes).result()


# --- looking ---------------------------------------------------------------------------------------


def _read(path: str, relative_to: str | os.PathLike[str] | None, *, enums: bool, notes: list[str]) -> _Table:
    form = Form(_directory_format(path) if os.path.isdir(path) and not path.rstrip("/").endswith(".lance") else None)
    source = FileSource(path, form)
    files = source.files()
    text = form.of(files[0].path) == "csv"
    pieces = [piece for file in files for piece in table_pieces(file.path, form, Columns(as_text=text))]
    if not pieces:
        raise BadRequest(f"'{path}' holds no rows to learn from")
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
    return _Table(name, described, {column: table[column] for column in kinds}, kinds)


def _directory_format(path: str) -> str:
    plain = {form for form in map(format_of, os.listdir(path)) if form != "csv"}
    known = plain | ({"csv"} if any(".csv" in name or ".tsv" in name for name in os.listdir(path)) else set())
    if len(known) == 1:
        return known.pop()
    if known:
        raise BadRequest(f"'{path}' holds files of several formats ({', '.join(sorted(known))}); name them one by one")
    raise BadRequest(f"'{path}' holds no files of a known format ({', '.join(SUFFIXES)})")


def _name_types(tables: Sequence[_Table]) -> None:
    taken: list[str] = []
    for table in tables:
        table.type = distinct_name(type_name(table.name, singular=True), taken)
        taken.append(table.type)
        table.name = property_name(table.name, [other.name for other in tables if other is not table])


def _key(table: _Table) -> str | None:
    """The column that names a row: distinct, never null, text or whole numbers, and called like a name at best."""
    bases = {_base(column) for column in table.kinds}
    linking = {*_TAIL_ENDS, *_HEAD_ENDS} if bases & set(_TAIL_ENDS) and bases & set(_HEAD_ENDS) else set()
    fitting = [
        column
        for column, kind in table.kinds.items()
        if not kind.nullable
        and not kind.list
        and kind.enum is None
        and _key_like(kind)
        and _base(column) not in linking
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


def _is_text(table: _Table, column: str) -> bool:
    return table.kinds[column].scalar == "String"


def _references(table: _Table, tables: Sequence[_Table]) -> dict[str, _Table]:
    found: dict[str, _Table] = {}
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
            base = _base(column)
            found[column] = next((other for other in fitting if base == other.type.lower()), fitting[0])
    return found


def _find_links(tables: Sequence[_Table]) -> None:
    """Make references of the columns of a table that only links; keys of links say nothing about other tables."""
    suspects = [table for table in tables if _only_links(table, tables)]
    sure = [table for table in tables if table not in suspects]
    for table in suspects:
        ends = _ends_by_content(table, sure)
        both = {**ends, **table.references}
        found = {column: both[column] for column in table.kinds if column in both}
        if len(found) > 1:
            table.key = None if table.key in ends else table.key
            table.references = found


def _only_links(table: _Table, tables: Sequence[_Table]) -> bool:
    """Whether two columns or more hold keys of others and nothing names the rows, or only such a column does."""
    ends = _ends_by_content(table, tables)
    if len(ends) < 2:
        return False
    key = table.key
    if key is None or key.lower() == "id":
        return True
    # A key that is called like the other table's own key makes these rows the same things, told more about.
    return key in ends and key.lower() != (ends[key].key or "").lower()


def _ends_by_content(table: _Table, tables: Sequence[_Table], *, itself: bool = False) -> dict[str, _Table]:
    """Columns of texts all of which are keys of one other table, or of the table `itself`."""
    found: dict[str, _Table] = {}
    others = [other for other in tables if (itself or other is not table) and other.key is not None]
    for column, values in table.columns.items():
        if _is_text(table, column) and not table.kinds[column].list:
            known = pc.unique(texts(values)).drop_null()
            target = next((other for other in others if len(known) and _holds(other, known)), None)
            if target is not None:
                found[column] = target
    return found


def _holds(other: _Table, values: pa.Array) -> bool:
    """Whether all values are keys of a table."""
    assert other.key is not None
    return bool(pc.all(pc.is_in(values, value_set=texts(other.columns[other.key]).combine_chunks())).as_py())


def _called_like(column: str, other: _Table) -> bool:
    base, target = _base(column), other.type.lower()
    if base == target or base == other.name.lower() or base in (*_TAIL_ENDS, *_HEAD_ENDS):
        return True
    assert other.key is not None
    # manager_id, boss_login: any word before the name of the other's key.
    return column.lower().endswith((f"_{other.key.lower()}", *(tail for tail in _TAILS if tail.startswith("_"))))


def _base(column: str) -> str:
    lower = column.lower()
    for tail in _TAILS:
        if lower.endswith(tail) and len(lower) > len(tail):
            return lower[: -len(tail)].rstrip("_")
    head, _, tail = lower.partition("_")
    return head if tail and head in (*_TAIL_ENDS, *_HEAD_ENDS) else lower


def _is_edge(table: _Table) -> bool:
    """Whether rows link rather than are: two references, and beside a plain id nothing that names them."""
    if len(table.references) < 2:
        return False
    bases = {_base(column) for column in table.references}
    if table.key is None or (bases & set(_TAIL_ENDS) and bases & set(_HEAD_ENDS)):
        return True
    linking = all(other is not table for other in table.references.values())
    return linking and table.key.lower() == "id" and len(table.references) * 2 >= len(table.columns) - 1


def _key_like(kind: PropType) -> bool:
    return kind.scalar == "String" or kind.scalar in INTEGER


# --- drafting --------------------------------------------------------------------------------------


class _Drafting:
    """Turns tables that know what they are into declarations and mapping entries."""

    def __init__(self, nodes: Sequence[_Table], edges: Sequence[_Table], notes: Sequence[str]) -> None:
        self.nodes = nodes
        self.edges = edges
        self.notes = list(notes)
        self.types: list[DraftType] = []
        self.edge_names: list[str] = []
        self.mapping: dict[str, Any] = {
            "sources": {table.name: table.source for table in (*nodes, *edges)},
            "nodes": {},
            "edges": {},
        }

    def result(self) -> Inference:
        for table in self.nodes:
            self._node(table)
        for table in self.edges:
            self._edge_table(table)
        for table in self.nodes:
            for column, target in table.references.items():
                self._reference(table, column, target)
            self._unnamed_references(table)
        if not self.mapping["edges"]:
            del self.mapping["edges"]
        return Inference(schema_text(self.types), self.mapping, tuple(self.notes))

    def _node(self, table: _Table) -> None:
        entry: dict[str, Any] = {"from": table.name}
        skip = set(table.references)
        if table.key is not None and table.key.lower() == "id":
            entry["id"] = table.key
            skip.add(table.key)
        elif table.key is None:
            self.notes.append(f"{table.type} has no column of distinct values; its nodes get generated ids")
        properties, columns = self._properties(table, skip, edge=False)
        self.types.append(DraftType(table.type, properties))
        self.mapping["nodes"][table.type] = entry | ({"columns": columns} if columns else {})

    def _edge_table(self, table: _Table) -> None:
        tail, head = _ends(table)
        ends = (table.references[tail].type, table.references[head].type)
        name = distinct_name(table.type, self.edge_names)
        self.edge_names.append(name)
        entry: dict[str, Any] = {"from": table.name, "src": tail, "dst": head}
        skip = {tail, head}
        if table.key is not None and table.key.lower() == "id":
            entry["id"] = table.key
            skip.add(table.key)
        properties, columns = self._properties(table, skip, edge=True)
        if table.kinds[tail].nullable or table.kinds[head].nullable:
            entry["optional"] = True
            self.notes.append(f"rows of {table.name} without {tail} or {head} are passed over")
        plain = tuple(DraftProperty(prop.name, prop.kind) for prop in properties)
        constraints = unique_ends(table.columns[tail], table.columns[head])
        self.types.append(DraftType(name, plain, ends, constraints))
        self.mapping["edges"][name] = entry | ({"columns": columns} if columns else {})

    def _reference(self, table: _Table, column: str, target: _Table) -> None:
        if table.key is None:
            self.notes.append(f"{table.name}.{column} refers to {target.type}, but {table.type} has no key")
            return
        base = type_name(_base(column))
        name = base if base.lower() not in {node.type.lower() for node in self.nodes} else f"{table.type}{base}"
        name = distinct_name(name, self.edge_names)
        self.edge_names.append(name)
        entry: dict[str, Any] = {"from": table.name, "src": table.key, "dst": column}
        if table.kinds[column].nullable:
            entry["optional"] = True
        constraints = unique_ends(table.columns[table.key], table.columns[column])
        self.types.append(DraftType(name, (), (table.type, target.type), constraints))
        self.mapping["edges"][name] = entry

    def _unnamed_references(self, table: _Table) -> None:
        """Tell about columns that could be edges by what they hold, but are not called like references."""
        for column, target in _ends_by_content(table, self.nodes, itself=True).items():
            if column in (table.key, *table.references) or table.key is None:
                continue
            more = ", optional: true" if table.kinds[column].nullable else ""
            name = distinct_name(type_name(column), [*self.edge_names, *(node.type for node in self.nodes)])
            self.notes.append(
                f"{table.name}.{column} holds only keys of {target.type} but is not called like a reference; to make it"
                f" an edge, declare `edge {name}: {table.type} -> {target.type}` in the schema and write"
                f" `{name}: {{from: {table.name}, src: {table.key}, dst: {column}{more}}}` under edges: in the mapping"
            )

    def _properties(
        self, table: _Table, skip: set[str], *, edge: bool
    ) -> tuple[tuple[DraftProperty, ...], dict[str, str]]:
        found: list[DraftProperty] = []
        columns: dict[str, str] = {}
        for column, kind in table.kinds.items():
            if column in skip:
                continue
            name = property_name(column, [prop.name for prop in found], edge=edge)
            found.append(DraftProperty(name, kind, key=column == table.key))
            if name != column:
                columns[name] = column
        return tuple(found), columns


def _ends(table: _Table) -> tuple[str, str]:
    """Which reference is the source of an edge and which the target: by name, else in column order."""
    columns = list(table.references)
    tail = next((column for column in columns if _base(column) in _TAIL_ENDS), None)
    head = next((column for column in columns if _base(column) in _HEAD_ENDS and column != tail), None)
    tail = tail or next(column for column in columns if column != head)
    return tail, head or next(column for column in columns if column != tail)
