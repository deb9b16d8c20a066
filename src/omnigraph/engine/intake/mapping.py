"""Mappings: one description of many columnar inputs, which source is which type and which column is which field."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph.engine.intake.frame_shape import FrameShape
from omnigraph.engine.intake.inputs.files import InputFile, open_input
from omnigraph.engine.intake.inputs.forms import BY_NAME
from omnigraph.engine.intake.mapping_sources import (
    AnySource,
    FileSource,
    SparkSource,
    SqlSource,
    require_known,
    source_of,
)
from omnigraph.engine.intake.mapping_text import flag, parse_yaml
from omnigraph.errors import BadRequest, NotFound
from omnigraph.storage.base.clouds import is_remote

_MEMBERS = {"sources", "nodes", "edges"}
_EXAMPLES = {
    "sources": "sources: {people: {path: people.csv}}",
    "nodes": "nodes: {Person: {from: people}}",
    "edges": "edges: {Follows: {from: follows, src: who, dst: whom}}",
}
_ENTRY_MEMBERS = {
    "nodes": {"from", "columns", "id", "where"},
    "edges": {"from", "columns", "id", "where", "src", "dst", "optional", "missing"},
}


@dataclass(frozen=True, slots=True)
class MappedFile:
    """One file to read and what its rows are."""

    file: InputFile
    frame: FrameShape
    table: pa.Table | None = None


@dataclass(frozen=True, slots=True)
class SparkInput:
    """Rows that only Spark can read, what they are, and every source they may be made of."""

    name: str
    source: SparkSource | SqlSource
    frame: FrameShape
    sources: Mapping[str, AnySource]


@dataclass(frozen=True, slots=True)
class Described:
    """A mapping that was read and checked: its sources, and which of them fills which type, nodes before edges."""

    sources: Mapping[str, AnySource]
    entries: tuple[tuple[str, FrameShape], ...]

    @property
    def needs_spark(self) -> bool:
        """Whether something in it is not a plain file."""
        return any(not isinstance(self.sources[name], FileSource) for name, _ in self.entries)

    @property
    def skips_missing(self) -> frozenset[str]:
        """The edge types whose edges to nodes that are not there are left out."""
        return frozenset(frame.edge for _, frame in self.entries if frame.missing == "skip" and frame.edge is not None)

    def inputs(self) -> Iterator[MappedFile | SparkInput]:
        """What has to be read, in order; a source is read once, whatever number of types it fills."""
        for name, frame in self._by_source():
            source = self.sources[name]
            if isinstance(source, FileSource):
                yield from (MappedFile(file, frame, source.frame) for file in source.files())
            else:
                yield SparkInput(name, source, frame, self.sources)

    def _by_source(self) -> list[tuple[str, FrameShape]]:
        grouped: dict[str, list[FrameShape]] = {}
        for name, frame in self.entries:
            grouped.setdefault(name, []).append(frame)
        return [(name, replace(frames[0], also=tuple(frames[1:]))) for name, frames in grouped.items()]


def mapped_files(mapping: Mapping[str, Any] | str | os.PathLike[str]) -> list[MappedFile]:
    """The files of a mapping that needs no Spark."""
    found: list[MappedFile] = []
    for each in described(mapping).inputs():
        if isinstance(each, SparkInput):
            raise BadRequest(f"source '{each.name}' of the mapping is read by Spark; load it with the spark runner")
        found.append(each)
    return found


def described(mapping: Mapping[str, Any] | str | os.PathLike[str]) -> Described:
    """Read and check a mapping; paths are relative to the mapping's own file."""
    given, home = (mapping, "") if isinstance(mapping, Mapping) else read_mapping(os.fspath(mapping))
    named = None if isinstance(mapping, Mapping) else str(mapping)
    unknown = sorted(map(str, set(given) - _MEMBERS)) if isinstance(given, Mapping) else []
    if not isinstance(given, Mapping) or unknown:
        more = f", and no '{unknown[0]}'" if unknown else ""
        raise BadRequest(f"a mapping has the members {', '.join(sorted(_MEMBERS))}{more}")
    sources = {str(name): source_of(str(name), value, home) for name, value in _member(given, "sources").items()}
    entries: list[tuple[str, FrameShape]] = []
    for kind in ("nodes", "edges"):
        for name, value in _member(given, kind).items():
            for entry in value if isinstance(value, list) else [value]:
                frame = _frame(kind, name, entry)
                source = sources.get(entry["from"])
                if source is None:
                    raise BadRequest(f"mapping of '{name}': there is no source '{entry['from']}'")
                form = source.form if isinstance(source, FileSource) else BY_NAME
                entries.append((entry["from"], replace(frame, form=form, mapping=named)))
    if not entries and not {"nodes", "edges"} <= set(
        given
    ):  # the export of an empty graph has both, and nothing in them
        raise BadRequest("the mapping names neither nodes nor edges")
    return Described(sources, tuple(entries))


def read_mapping(path: str) -> tuple[Any, str]:
    """What the file of a mapping says, and the directory that its paths are relative to."""
    text = _text(path)
    home = path.rpartition("/")[0] if is_remote(path) else str(Path(path).parent)
    if path.endswith(".json"):
        try:
            return json.loads(text), home
        except ValueError as error:
            raise BadRequest(f"'{path}' is not JSON: {error}") from error
    import yaml  # type: ignore[import-untyped,unused-ignore]

    try:
        return parse_yaml(text), home
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = "" if mark is None else f" (line {mark.line + 1}, column {mark.column + 1})"
        raise BadRequest(f"'{path}' is not YAML: {getattr(error, 'problem', error)}{place}") from error


def _text(path: str) -> str:
    try:
        if is_remote(path):
            with open_input(path) as file:
                return bytes(file.read()).decode()
        return Path(path).read_text()
    except FileNotFoundError:
        raise NotFound(f"there is no mapping '{path}'") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"'{path}' cannot be read: {error}") from error


def _member(described: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = described.get(name) or {}
    if not isinstance(value, Mapping):
        raise BadRequest(f"'{name}' of a mapping is a table of names, as in {_EXAMPLES[name]}")
    return value


def _frame(kind: str, name: str, entry: Any) -> FrameShape:
    if isinstance(entry, Mapping):
        require_known(f"mapping of '{name}'", entry, _ENTRY_MEMBERS[kind])
    if not isinstance(entry, Mapping) or not isinstance(entry.get("from"), str):
        raise BadRequest(f"mapping of '{name}' says where its rows come from: from: <source>")
    fields = _fields(name, entry)
    where = entry.get("where")
    if where is not None and not isinstance(where, str):
        raise BadRequest(f"mapping of '{name}': where is a condition of the query language, as in $row.age > 17")
    shape = FrameShape(columns=fields.columns, composite=fields.composite, computed=fields.computed, where=where)
    shape = replace(shape, constants=fields.constants)
    if kind == "nodes":
        return replace(shape, type=name)
    if entry.get("missing", "refuse") not in ("refuse", "skip"):
        raise BadRequest(f"mapping of '{name}': missing is refuse or skip, and not {entry['missing']!r}")
    return replace(
        shape,
        edge=name,
        optional=flag(f"mapping of '{name}'", entry, "optional"),
        missing=entry.get("missing", "refuse"),
    )


@dataclass(frozen=True, slots=True)
class _Fields:
    columns: dict[str, str]
    composite: dict[str, tuple[str, ...]]
    computed: dict[str, str]
    constants: dict[str, Any]


def _fields(name: str, entry: Mapping[str, Any]) -> _Fields:
    """Where each field comes from: a column, several columns of a key, an expression or a constant."""
    given = entry.get("columns") or {}
    if not isinstance(given, Mapping):
        raise BadRequest(f"mapping of '{name}': columns is a table of fields, as in columns: {{name: full_name}}")
    found = _Fields({}, {}, {}, {})
    for field, value in (*given.items(), *((end, entry[end]) for end in ("id", "src", "dst") if end in entry)):
        if isinstance(value, list) and field in ("src", "dst", "id") and value:
            found.composite[str(field)] = tuple(map(str, value))
        elif isinstance(value, Mapping) and set(value) == {"expr"}:
            found.computed[str(field)] = str(value["expr"])
        elif isinstance(value, Mapping) and set(value) == {"value"}:
            found.constants[str(field)] = value["value"]
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            found.columns[str(field)] = str(value)
        else:
            raise BadRequest(
                f"mapping of '{name}': '{field}' comes from a column (its name), from {{expr: an expression}} or is"
                " {value: a constant}"
            )
    return found
