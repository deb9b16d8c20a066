"""Mappings: one description of many columnar inputs, which file is which type and which column is which field."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omnigraph.engine.write.files import TABLE_SUFFIXES, InputFile, is_remote, list_files
from omnigraph.engine.write.tabular import FrameShape
from omnigraph.errors import BadRequest, NotFound

_MEMBERS = {"sources", "nodes", "edges"}
_FORMATS = tuple(suffix.removeprefix(".") for suffix in TABLE_SUFFIXES)
_ENTRY_MEMBERS = {"nodes": {"from", "columns", "id"}, "edges": {"from", "columns", "id", "src", "dst"}}


@dataclass(frozen=True, slots=True)
class MappedFile:
    """One file to read and what its rows are."""

    file: InputFile
    frame: FrameShape


def mapped_files(mapping: Mapping[str, Any] | str | os.PathLike[str]) -> list[MappedFile]:
    """The files of a mapping, nodes before edges; paths are relative to the mapping's own file."""
    described, home = (mapping, Path()) if isinstance(mapping, Mapping) else _read(Path(mapping))
    if not isinstance(described, Mapping) or set(described) - _MEMBERS:
        raise BadRequest(f"a mapping has the members {', '.join(sorted(_MEMBERS))}")
    sources = _member(described, "sources")
    found: list[MappedFile] = []
    for kind in ("nodes", "edges"):
        for name, entry in _member(described, kind).items():
            frame = _frame(kind, name, entry)
            source = sources.get(entry["from"])
            if source is None:
                raise BadRequest(f"mapping of '{name}': there is no source '{entry['from']}'")
            found += [MappedFile(file, frame) for file in _files(entry["from"], source, home)]
    if not found:
        raise BadRequest("the mapping names neither nodes nor edges")
    return found


def _read(path: Path) -> tuple[Any, Path]:
    try:
        text = path.read_text()
    except FileNotFoundError:
        raise NotFound(f"there is no mapping '{path}'") from None
    if path.suffix == ".json":
        try:
            return json.loads(text), path.parent
        except ValueError as error:
            raise BadRequest(f"'{path}' is not JSON: {error}") from error
    import yaml  # type: ignore[import-untyped,unused-ignore]

    try:
        return yaml.safe_load(text), path.parent
    except yaml.YAMLError as error:
        raise BadRequest(f"'{path}' is not YAML: {error}") from error


def _member(described: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = described.get(name) or {}
    if not isinstance(value, Mapping):
        raise BadRequest(f"'{name}' of a mapping is a table of names")
    return value


def _frame(kind: str, name: str, entry: Any) -> FrameShape:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("from"), str):
        raise BadRequest(f"mapping of '{name}' says where its rows come from: from: <source>")
    unknown = set(entry) - _ENTRY_MEMBERS[kind]
    if unknown:
        raise BadRequest(f"mapping of '{name}' has an unknown member '{sorted(unknown)[0]}'")
    columns = {str(field): str(column) for field, column in (entry.get("columns") or {}).items()}
    columns |= {field: str(entry[field]) for field in ("id", "src", "dst") if field in entry}
    return FrameShape(type=name, columns=columns) if kind == "nodes" else FrameShape(edge=name, columns=columns)


def _files(name: str, source: Any, home: Path) -> list[InputFile]:
    if not isinstance(source, Mapping) or not isinstance(source.get("path"), str):
        raise BadRequest(f"source '{name}' has a path")
    wanted = source.get("format")
    if wanted is not None and wanted not in _FORMATS:
        raise BadRequest(f"source '{name}': unknown format '{wanted}' (expected {', '.join(_FORMATS)})")
    path = source["path"] if is_remote(source["path"]) else str(home / source["path"])
    return list_files(path, [f".{wanted}"] if wanted else TABLE_SUFFIXES)
