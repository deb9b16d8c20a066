"""`infer`: a schema and a mapping for files without a description, such that they load.

Each input is one source. A source with a column of distinct values is a node type, and that column its key; a column
that holds keys of a source, and is called like a reference, is an edge; a source of references only is an edge type,
and so is one with two columns of texts that are all keys of other sources, whatever they are called.
Everything is read, because one row decides whether a column may be null.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omnigraph.errors import BadRequest
from omnigraph.pipeline.formats.draft import (
    DraftProperty,
    DraftType,
    distinct_name,
    property_names,
    schema_text,
    type_name,
    unique_ends,
)
from omnigraph.pipeline.formats.input_tables import InputTable, base_of, ends_by_content, ends_of, read_inputs


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


def infer(
    *files: str | os.PathLike[str], relative_to: str | os.PathLike[str] | None = None, enums: bool = True
) -> Inference:
    """A schema and a mapping for CSV, Parquet, ORC, JSON and Lance inputs; each may be a file, a glob or a directory.

    Paths in the mapping are relative to `relative_to`, the directory where the mapping will be kept.
    """
    if not files:
        raise BadRequest("name at least one file")
    notes: list[str] = []
    nodes, edges = read_inputs([os.fspath(path) for path in files], relative_to, enums=enums, notes=notes)
    if not nodes:
        raise BadRequest("no input has a column of distinct values, so nothing could be a node; add a file of nodes")
    return _Drafting(nodes, edges, notes).result()


class _Drafting:
    """Turns tables that know what they are into declarations and mapping entries."""

    def __init__(self, nodes: Sequence[InputTable], edges: Sequence[InputTable], notes: Sequence[str]) -> None:
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

    def _node(self, table: InputTable) -> None:
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

    def _edge_table(self, table: InputTable) -> None:
        tail, head = ends_of(table)
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
            self.notes.append(f"rows of {table.name} without {tail} or {head} are skipped")
        plain = tuple(DraftProperty(prop.name, prop.kind) for prop in properties)
        constraints = unique_ends(table.columns[tail], table.columns[head])
        self.types.append(DraftType(name, plain, ends, constraints))
        self.mapping["edges"][name] = entry | ({"columns": columns} if columns else {})

    def _reference(self, table: InputTable, column: str, target: InputTable) -> None:
        if table.key is None:
            self.notes.append(f"{table.name}.{column} refers to {target.type}, but {table.type} has no key")
            return
        base = type_name(base_of(column))
        name = base if base.lower() not in {node.type.lower() for node in self.nodes} else f"{table.type}{base}"
        name = distinct_name(name, self.edge_names)
        self.edge_names.append(name)
        entry: dict[str, Any] = {"from": table.name, "src": table.key, "dst": column}
        if table.kinds[column].nullable:
            entry["optional"] = True
        constraints = unique_ends(table.columns[table.key], table.columns[column])
        self.types.append(DraftType(name, (), (table.type, target.type), constraints))
        self.mapping["edges"][name] = entry

    def _unnamed_references(self, table: InputTable) -> None:
        """Tell about columns that could be edges by what they hold, but are not called like references."""
        for column, target in ends_by_content(table, self.nodes, itself=True).items():
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
        self, table: InputTable, skip: set[str], *, edge: bool
    ) -> tuple[tuple[DraftProperty, ...], dict[str, str]]:
        named = property_names((column for column in table.kinds if column not in skip), edge=edge)
        found = [DraftProperty(name, table.kinds[column], key=column == table.key) for column, name in named.items()]
        return tuple(found), {name: column for column, name in named.items() if name != column}
