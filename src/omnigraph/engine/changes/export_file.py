"""Exporting a view into a file or an open stream."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import BinaryIO

from omnigraph.engine.changes.export import export_jsonl, export_types
from omnigraph.engine.changes.output_file import StrPath, output_file
from omnigraph.engine.views.view import View


def write_export(view: View, target: StrPath | BinaryIO, types: Sequence[str] = ()) -> int:
    """Write JSON lines and return how many bytes; a file appears under its name only when it is complete."""
    export_types(view.catalog, types)  # an unknown type is refused before anything is created
    if not isinstance(target, str | os.PathLike):
        return _copy(view, target, types)
    with output_file(target) as file:
        return _copy(view, file, types)


def _copy(view: View, file: BinaryIO, types: Sequence[str]) -> int:
    written = 0
    for chunk in export_jsonl(view, types):
        file.write(chunk)
        written += len(chunk)
    return written
