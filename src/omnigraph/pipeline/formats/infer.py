"""`infer`: a schema and a mapping for data without a description, such that it loads, and why they are what they are.

Each input is one source. Its key is the distinct column that other inputs refer to, or that is called like a key; where
edges need one and no column is distinct, a few columns together. A column whose values are mostly keys of an input is
an edge; an input of two references without a name of its own is an edge type.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.display import DisplayedText
from omnigraph.errors import BadRequest
from omnigraph.pipeline.formats.draft import (
    DraftProperty,
    DraftType,
    distinct_name,
    property_names,
    schema_text,
    type_name,
    unique_ends,
    words_of,
)
from omnigraph.pipeline.formats.inference.inputs import SAMPLE_ROWS, read_inputs
from omnigraph.pipeline.formats.inference.keys import spelled
from omnigraph.pipeline.formats.inference.relations import Found, Reference, base_of, ends_of, find_relations
from omnigraph.pipeline.formats.inference.report import evidence, report

if TYPE_CHECKING:
    from omnigraph.render.drawing import Drawing

_LINE = "@line"
# What spreadsheets call the first sheet of a new workbook; the file has the better name.
_UNNAMED_SHEET = re.compile(r"(sheet|tabelle|feuil|hoja|foglio|planilha|blad|ark|arkusz|лист) ?1", re.IGNORECASE)


@dataclass(frozen=True, slots=True, repr=False)
class Inference(DisplayedText):
    """What was found: schema text, a mapping for `load`, what a person should look at, and the reasons.

    `report` says in a few sentences what became of each input, `evidence` what was looked at for every column.
    """

    schema: str
    mapping: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    report: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()

    @property
    def mapping_text(self) -> str:
        """The mapping as YAML."""
        import yaml  # type: ignore[import-untyped,unused-ignore]

        if any("frame" in source for source in self.mapping["sources"].values()):
            raise BadRequest("a mapping of frames cannot be written to a file; load it with load(mapping=….mapping)")
        found: str = yaml.safe_dump(
            dict(self.mapping), sort_keys=False, default_flow_style=None, width=110, allow_unicode=True
        )
        return found

    def write(self, directory: str | os.PathLike[str]) -> tuple[Path, Path]:
        """Write `schema.pg` and `mapping.yaml` into a directory; neither may exist yet."""
        place = Path(directory)
        wanted = {place / "schema.pg": self.schema, place / "mapping.yaml": self.mapping_text}
        place.mkdir(parents=True, exist_ok=True)
        for path in wanted:
            if path.exists():
                raise BadRequest(f"'{path}' exists already; infer does not overwrite it")
        for path, text in wanted.items():
            path.write_text(text, encoding="utf-8")
        return place / "schema.pg", place / "mapping.yaml"

    def draw(self) -> Drawing:
        """The proposed schema as SVG, which notebooks show."""
        from omnigraph.compiler.catalog import compile_schema
        from omnigraph.render.drawing import Drawing
        from omnigraph.render.types import draw_schema

        return Drawing.of(draw_schema(compile_schema(self.schema), self.schema))

    def __str__(self) -> str:
        return "\n".join((*self.report, *(f"note: {note}" for note in self.notes)))


def infer(
    *files: str | os.PathLike[str] | Mapping[str, Any],
    relative_to: str | os.PathLike[str] | None = None,
    enums: bool = True,
    sample: int | None = SAMPLE_ROWS,
) -> Inference:
    """A schema and a mapping for files, databases and frames.

    A file is CSV, TSV, JSON, Parquet, ORC, Lance, Excel, SQLite or DuckDB, a glob or a directory of one format; a
    database is named by a URL of SQLAlchemy; frames (Arrow, pandas, Polars) are given by name, as in
    `infer({"people": frame})`. Paths in the mapping are relative to `relative_to`, the directory where the mapping will
    be kept. At most `sample` rows of an input are looked at; None looks at all of them.
    """
    if not files:
        raise BadRequest("name at least one file")
    if sample is not None and sample < 1:
        raise BadRequest("sample is a number of rows, or None for all of them")
    tables = read_inputs(files, relative_to, sample=sample)
    taken: list[str] = []
    for table in tables:
        name = table.table or table.name
        if _UNNAMED_SHEET.fullmatch(name) and "path" in table.source:
            name = Path(table.source["path"]).stem
        table.type = distinct_name(type_name(name, singular=True), taken)
        taken.append(table.type)
    found = find_relations(tables)
    if all(each.is_edge for each in found):
        raise BadRequest("every input only links others, so nothing could be a node; add a file of nodes")
    return _Drafting(found, enums=enums).result()


class _Drafting:
    """Turns inputs that know what they are into declarations and mapping entries."""

    def __init__(self, found: Sequence[Found], *, enums: bool) -> None:
        self.found = found
        self.enums = enums
        self.notes = [note for each in found for note in each.table.notes]
        self.types: list[DraftType] = []
        self.edge_names: list[str] = []
        self.edge_of: dict[tuple[str, str], str] = {}
        self.mapping: dict[str, Any] = {
            "sources": {each.name: each.table.source for each in found},
            "nodes": {},
            "edges": {},
        }

    def result(self) -> Inference:
        nodes = [each for each in self.found if not each.is_edge]
        for each in nodes:
            self._node(each)
        for each in self.found:
            if each.is_edge:
                self._edge_table(each)
        for each in nodes:
            for column, reference in each.references.items():
                self._reference(each, column, reference)
            for composite in each.composites:
                self._composite(each, composite)
        if not self.mapping["edges"]:
            del self.mapping["edges"]
        told = report(self.found, self.edge_of)
        return Inference(
            schema_text(self.types), self.mapping, tuple(self.notes), told, evidence(self.found, self.edge_of)
        )

    def _node(self, each: Found) -> None:
        table = each.table
        entry: dict[str, Any] = {"from": table.name}
        # What some rows would lose stays a property, and so does what names the rows.
        skip = {column for column, found in each.references.items() if found.whole and column not in each.key}
        skip |= {
            column
            for found in each.composites
            for column in found.columns
            if found.whole and column not in each.key and column not in each.references
        }
        if len(each.key) == 1 and each.key[0].lower() == "id":
            entry["id"] = each.key[0]
            skip.add(each.key[0])
        elif each.by_line:
            entry["id"] = _LINE
            self.notes.append(f"nothing names the rows of {table.type}, so their ids are their files and lines")
        elif not each.key:
            self.notes.append(f"{table.type} has no column of distinct values; its nodes get generated ids")
        properties, columns = self._properties(each, skip, edge=False)
        named = property_names(column for column in table.kinds if column not in skip)
        keys = tuple(named[column] for column in each.key if column not in skip)
        constraints = (f"@key({', '.join(keys)})",) if len(keys) > 1 else ()
        if constraints:
            properties = tuple(replace(prop, key=False) for prop in properties)
        self.types.append(DraftType(table.type, properties, None, constraints))
        self.mapping["nodes"][table.type] = entry | ({"columns": columns} if columns else {})

    def _edge_table(self, each: Found) -> None:
        table = each.table
        tail, head = ends_of(each)
        references = each.references[tail], each.references[head]
        ends = (references[0].target.type, references[1].target.type)
        name = self._edge_name(table.type, table.type, ends[1])
        self.edge_of[table.name, tail] = self.edge_of[table.name, head] = name
        entry: dict[str, Any] = {"from": table.name, "src": tail, "dst": head}
        skip = {tail, head}
        if len(each.key) == 1 and each.key[0].lower() == "id":
            entry["id"] = each.key[0]
            skip.add(each.key[0])
        properties, columns = self._properties(each, skip, edge=True)
        if table.columns[tail].null_count or table.columns[head].null_count:
            entry["optional"] = True
            self.notes.append(f"rows of {table.name} without {tail} or {head} are skipped")
        if not all(reference.whole for reference in references):
            entry["missing"] = "skip"
        plain = tuple(DraftProperty(prop.name, prop.kind) for prop in properties)
        constraints = unique_ends(table.columns[tail], table.columns[head]) if not table.sampled else ()
        self.types.append(DraftType(name, plain, ends, constraints))
        self.mapping["edges"][name] = entry | ({"columns": columns} if columns else {})

    def _reference(self, each: Found, column: str, reference: Reference) -> None:
        table, target = each.table, reference.target
        base = type_name(base_of(column))
        nodes = {other.table.type.lower() for other in self.found}
        same = any(
            spelled(column) == spelled(key) for other in self.found if other.table is target for key in other.key
        )
        name = f"{table.type}{target.type}" if base.lower() in nodes or same else base
        name = self._edge_name(name, table.type, target.type)
        self.edge_of[table.name, column] = name
        entry: dict[str, Any] = {"from": table.name, "src": _named_rows(each), "dst": column}
        if table.columns[column].null_count:
            entry["optional"] = True
        if not reference.whole or table.sampled or target.sampled:
            entry["missing"] = "skip"
        single = len(each.key) == 1 and not table.sampled
        constraints = (
            unique_ends(table.columns[each.key[0]], table.columns[column]) if single else ("@unique(src, dst)",)
        )
        self.types.append(DraftType(name, (), (table.type, target.type), constraints))
        self.mapping["edges"][name] = entry

    def _composite(self, each: Found, reference: Reference) -> None:
        table, target = each.table, reference.target
        name = self._edge_name(f"{table.type}{target.type}", table.type, target.type)
        self.edge_of[table.name, " and ".join(reference.columns)] = name
        entry: dict[str, Any] = {"from": table.name, "src": _named_rows(each), "dst": list(reference.columns)}
        if reference.known < reference.rows:
            entry["optional"] = True
        if not reference.whole or table.sampled or target.sampled:
            entry["missing"] = "skip"
        self.types.append(DraftType(name, (), (table.type, target.type), ("@unique(src, dst)",)))
        self.mapping["edges"][name] = entry

    def _edge_name(self, wanted: str, owner: str, target: str) -> str:
        """A name that no other type has; one that is taken gets its owner in front."""
        taken = [*self.edge_names, *(each.table.type for each in self.found if not each.is_edge)]
        name = wanted
        if name.lower() in {each.lower() for each in taken}:
            name = f"{owner}{wanted}" if not wanted.startswith(owner) else f"{owner}{target}"
        name = distinct_name(name, taken)
        self.edge_names.append(name)
        return name

    def _properties(
        self, each: Found, skip: set[str], *, edge: bool
    ) -> tuple[tuple[DraftProperty, ...], dict[str, str]]:
        table = each.table
        named = property_names((column for column in table.kinds if column not in skip), edge=edge)
        found = []
        for column, name in named.items():
            kind = table.kinds[column]
            if table.sampled and column not in each.key:
                kind = replace(kind, nullable=True)
            elif self.enums and kind.scalar == "String" and not kind.list and kind.enum is None:
                referring = column in each.references or column in each.key
                words = None if referring or column in table.cells.text else words_of(table.columns[column])
                kind = replace(kind, enum=words) if words is not None else kind
            found.append(DraftProperty(name, kind, key=(column,) == each.key and not edge))
        return tuple(found), {name: column for column, name in named.items() if name != column}


def _named_rows(each: Found) -> str | list[str]:
    """What names the rows of an input in a mapping."""
    if each.by_line:
        return _LINE
    return list(each.key) if len(each.key) > 1 else each.key[0]
