"""A mapping as a whole, before any row is read: its types, fields, files, headers, keys and expressions."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from omnigraph.compiler.catalog.model import Catalog, NodeType
from omnigraph.engine.intake.frames import missing_column, require_field
from omnigraph.engine.intake.inputs.table_files import file_schema
from omnigraph.engine.intake.mapping import Described
from omnigraph.engine.intake.mapping_sources import FileSource
from omnigraph.engine.intake.row_expressions import RowExpressions
from omnigraph.engine.intake.shape_reader import LINE_COLUMN, ShapeReader
from omnigraph.errors import BadRequest, OmnigraphError


def check_mapping(found: Described, catalog: Catalog) -> None:
    """Raise the first thing that is wrong with a mapping; the others are notes on it."""
    problems = list(_problems(found, catalog))
    if not problems:
        return
    first = problems[0]
    told = {str(first)}
    for other in problems[1:]:
        if str(other) not in told:
            told.add(str(other))
            first.add_note(f"also: {other}")
    raise first


def _problems(found: Described, catalog: Catalog) -> Iterator[OmnigraphError]:
    headers: dict[str, list[tuple[str, pa.Schema | None]]] = {}
    for name, shape in found.entries:
        try:
            reader = ShapeReader.of(catalog, shape)
        except OmnigraphError as error:
            yield error
            continue
        for field in (*(shape.columns or {}), *shape.composite, *shape.computed, *shape.constants):
            try:
                require_field(reader.info, field)
            except OmnigraphError as error:
                yield error
        source = found.sources[name]
        if not isinstance(source, FileSource):
            continue
        try:
            if name not in headers:
                headers[name] = list(_headers(source))
        except OmnigraphError as error:
            headers[name] = []
            yield error
        for file, schema in headers[name]:
            if schema is not None:
                yield from _columns(reader, file, schema)


def _headers(source: FileSource) -> Iterator[tuple[str, pa.Schema | None]]:
    """The columns of every file, as far as they are known without reading it."""
    if source.frame is not None:
        yield source.path, source.frame.schema
        return
    for file in source.files():
        yield file.path, file_schema(file.path, source.form)


def _columns(reader: ShapeReader, file: str, schema: pa.Schema) -> Iterator[OmnigraphError]:
    shape = reader.shape
    missing = False
    for column, field in reader.named().items():
        if column not in schema.names and column != LINE_COLUMN:
            missing = True
            entry = {"type_name": shape.name, "mapping": shape.mapping, "names": schema.names}
            yield missing_column(file, column, field, **entry)
    if missing:
        return
    given = {*schema.names, *(shape.columns or {}), *shape.computed, *shape.constants}
    if isinstance(reader.info, NodeType) and reader.info.key is not None:
        for name in reader.info.key:
            if name not in given:
                yield BadRequest(
                    f"{file} has no column for '{name}', the key of '{shape.name}': name one in the mapping, as in"
                    f" columns: {{{name}: …}} (it has {', '.join(schema.names)})"
                )
    if shape.computed or shape.where is not None:
        texts = {**shape.computed, **({} if shape.where is None else {"where": shape.where})}
        try:
            RowExpressions.of(schema, texts, f"the mapping of '{shape.name}'")
        except OmnigraphError as error:
            yield error
