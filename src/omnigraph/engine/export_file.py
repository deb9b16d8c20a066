"""Exporting a view into a file or an open stream."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from omnigraph.engine.export import export_jsonl, export_types
from omnigraph.engine.view import View

StrPath = str | os.PathLike[str]


def write_export(view: View, target: StrPath | BinaryIO, types: Sequence[str] = ()) -> int:
    """Write JSON lines and return how many bytes; a file appears under its name only when it is complete."""
    export_types(view.catalog, types)  # an unknown type is refused before anything is created
    if not isinstance(target, str | os.PathLike):
        return _copy(view, target, types)
    path = Path(target)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with unfinished.open("wb") as file:
            written = _copy(view, file, types)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return written


def _copy(view: View, file: BinaryIO, types: Sequence[str]) -> int:
    written = 0
    for chunk in export_jsonl(view, types):
        file.write(chunk)
        written += len(chunk)
    return written
