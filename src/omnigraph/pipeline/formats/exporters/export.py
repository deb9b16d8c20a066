"""Which format writes what: one file, or a directory of files that load again."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import BinaryIO, TypeAlias

from omnigraph.engine.changes.export import export_types
from omnigraph.engine.changes.output_file import StrPath, output_file
from omnigraph.engine.intake.inputs.files import names_in
from omnigraph.engine.values.arrow import TableType
from omnigraph.engine.views.view import View
from omnigraph.errors import BadRequest
from omnigraph.pipeline.formats.exporters.graphml import write_graphml
from omnigraph.pipeline.formats.exporters.neo4j import write_neo4j_csv
from omnigraph.pipeline.formats.exporters.tables import write_csv, write_parquet

Directory: TypeAlias = Callable[[View, Sequence[TableType], str, str], int]

_DIRECTORIES: dict[str, Directory] = {"csv": write_csv, "parquet": write_parquet, "neo4j-csv": write_neo4j_csv}
FORMATS = ("graphml", *_DIRECTORIES)


def export_view(view: View, schema: str, target: StrPath | BinaryIO, types: Sequence[str], format: str) -> int:
    """Write the selected types in a format; returns the number of bytes. GraphML is one file, the rest directories."""
    if format not in FORMATS:
        raise BadRequest(f"unknown export format '{format}' (expected jsonl, {', '.join(FORMATS)})")
    selected = export_types(view.catalog, types)
    if format == "graphml":
        with ExitStack() as held:
            file = held.enter_context(output_file(target)) if isinstance(target, str | os.PathLike) else target
            return write_graphml(view, selected, file)
    if not isinstance(target, str | os.PathLike):
        raise BadRequest(f"a {format} export is a directory of files; name one")
    place = os.fspath(target).rstrip("/")
    if os.path.isfile(place) or names_in(place):
        raise BadRequest(f"'{place}' exists already; name an empty or a new directory")
    return _DIRECTORIES[format](view, selected, place, schema)
