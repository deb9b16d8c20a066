"""A look at what a mapping would load: the first rows of every input, under the names of the type they become."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.engine.intake.inputs.table_files import cell_in_json, table_pieces
from omnigraph.engine.intake.mapping import MappedFile, described


@dataclass(frozen=True, slots=True)
class Preview:
    """The first rows of one input; none when only Spark can read it."""

    type_name: str
    source: str
    rows: tuple[Mapping[str, Any], ...]


def preview(mapping: Mapping[str, Any] | str | os.PathLike[str], rows: int = 3) -> list[Preview]:
    """What each input begins with; columns that the mapping does not mention keep their names."""
    found: list[Preview] = []
    for each in described(mapping).inputs():
        name = each.frame.type or each.frame.edge or ""
        if not isinstance(each, MappedFile):
            found.append(Preview(name, f"source {each.name}", ()))
            continue
        piece = next(table_pieces(each.file.path, each.frame.form), None)
        if piece is None:
            found.append(Preview(name, each.file.path, ()))
            continue
        named = {column: field for field, column in (each.frame.columns or {}).items()}
        shown = piece.slice(0, rows).rename_columns([named.get(column, column) for column in piece.column_names])
        rows_shown = json.loads(json.dumps(shown.to_pylist(), default=cell_in_json))
        found.append(Preview(name, each.file.path, tuple(rows_shown)))
    return found
