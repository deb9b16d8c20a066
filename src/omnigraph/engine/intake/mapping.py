"""Mappings: one description of many columnar inputs, which source is which type and which column is which field."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from omnigraph.engine.intake.files import InputFile, is_remote, list_files
from omnigraph.engine.intake.forms import BY_NAME, SUFFIXES, Form, format_of
from omnigraph.engine.intake.tabular import FrameShape
from omnigraph.errors import BadRequest, NotFound

_MEMBERS = {"sources", "nodes", "edges"}
_EXAMPLES = {
    "sources": "sources: {people: {path: people.csv}}",
    "nodes": "nodes: {Person: {from: people}}",
    "edges": "edges: {Follows: {from: follows, src: who, dst: whom}}",
}
_FILE_MEMBERS = {"format", "path", "header", "names", "delimiter"}
_SPARK_MEMBERS = {"format", "path", "options", "table"}
_ENTRY_MEMBERS = {
    "nodes": {"from", "columns", "id"},
    "edges": {"from", "columns", "id", "src", "dst", "optional"},
}


@dataclass(frozen=True, slots=True)
class MappedFile:
    """One file to read and what its rows are."""

    file: InputFile
    frame: FrameShape


@dataclass(frozen=True, slots=True)
class FileSource:
    """Files that every runner reads."""

    path: str
    form: Form

    def files(self) -> list[InputFile]:
        """What the path stands for right now."""
        if self.form.of(self.path) == "lance":
            return list(_datasets(self.path))
        endings = SUFFIXES[self.form.format] if self.form.format else _DEFAULT_SUFFIXES
        return list_files(self.path, endings)


@dataclass(frozen=True, slots=True)
class SparkSource:
    """A table, a JDBC query or any other format that Spark knows how to read."""

    format: str | None
    path: str | None
    table: str | None
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SqlSource:
    """Rows that Spark SQL makes of the other sources, each a view under its own name."""

    sql: str


AnySource: TypeAlias = FileSource | SparkSource | SqlSource


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

    def inputs(self) -> Iterator[MappedFile | SparkInput]:
        """What has to be read, in order."""
        for name, frame in self.entries:
            source = self.sources[name]
            if isinstance(source, FileSource):
                yield from (MappedFile(file, frame) for file in source.files())
            else:
                yield SparkInput(name, source, frame, self.sources)


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
    given, home = (mapping, Path()) if isinstance(mapping, Mapping) else _read(Path(mapping))
    named = None if isinstance(mapping, Mapping) else str(mapping)
    unknown = sorted(map(str, set(given) - _MEMBERS)) if isinstance(given, Mapping) else []
    if not isinstance(given, Mapping) or unknown:
        more = f", and no '{unknown[0]}'" if unknown else ""
        raise BadRequest(f"a mapping has the members {', '.join(sorted(_MEMBERS))}{more}")
    sources = {str(name): _source(str(name), value, home) for name, value in _member(given, "sources").items()}
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


def _read(path: Path) -> tuple[Any, Path]:
    try:
        text = path.read_text()
    except FileNotFoundError:
        raise NotFound(f"there is no mapping '{path}'") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"'{path}' cannot be read: {error}") from error
    if path.suffix == ".json":
        try:
            return json.loads(text), path.parent
        except ValueError as error:
            raise BadRequest(f"'{path}' is not JSON: {error}") from error
    import yaml  # type: ignore[import-untyped,unused-ignore]

    try:
        return yaml.safe_load(text), path.parent
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = "" if mark is None else f" (line {mark.line + 1}, column {mark.column + 1})"
        raise BadRequest(f"'{path}' is not YAML: {getattr(error, 'problem', error)}{place}") from error


def _member(described: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = described.get(name) or {}
    if not isinstance(value, Mapping):
        raise BadRequest(f"'{name}' of a mapping is a table of names, as in {_EXAMPLES[name]}")
    return value


def _frame(kind: str, name: str, entry: Any) -> FrameShape:
    if isinstance(entry, Mapping):
        _known(f"mapping of '{name}'", entry, _ENTRY_MEMBERS[kind])
    if not isinstance(entry, Mapping) or not isinstance(entry.get("from"), str):
        raise BadRequest(f"mapping of '{name}' says where its rows come from: from: <source>")
    columns = {str(field): str(column) for field, column in (entry.get("columns") or {}).items()}
    columns |= {field: str(entry[field]) for field in ("id", "src", "dst") if field in entry}
    if kind == "nodes":
        return FrameShape(type=name, columns=columns)
    return FrameShape(edge=name, columns=columns, optional=bool(entry.get("optional", False)))


# --- sources ---------------------------------------------------------------------------------------

_DEFAULT_SUFFIXES = tuple(end for name, endings in SUFFIXES.items() if name != "lance" for end in endings)


def _source(name: str, given: Any, home: Path) -> AnySource:
    if not isinstance(given, Mapping):
        raise BadRequest(f"source '{name}' is a table with a path, a table or sql")
    if "sql" in given:
        _known(f"source '{name}'", given, {"sql"})
        return SqlSource(str(given["sql"]))
    wanted = given.get("format")
    if "table" in given or "options" in given or wanted == "jdbc":
        _known(f"source '{name}'", given, _SPARK_MEMBERS)
        options = {str(key): str(value) for key, value in (given.get("options") or {}).items()}
        return SparkSource(wanted, given.get("path"), given.get("table"), options)
    _known(f"source '{name}'", given, _FILE_MEMBERS)
    if wanted is not None and wanted not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise BadRequest(f"source '{name}': unknown format '{wanted}' (expected {known}; Spark's own need options:)")
    if not isinstance(given.get("path"), str):
        raise BadRequest(f"source '{name}' has a path")
    path = given["path"] if is_remote(given["path"]) else _beside(home, given["path"])
    return FileSource(path, _form(name, given, wanted or format_of(path)))


def _beside(home: Path, path: str) -> str:
    """A path in the mapping's directory, without the detour through it where that leads to the same place."""
    joined = str(home / path)
    plain = os.path.normpath(joined)
    same = os.path.realpath(os.path.dirname(joined)) == os.path.realpath(os.path.dirname(plain))
    return plain if same else joined


def _form(name: str, given: Mapping[str, Any], found: str) -> Form:
    names = given.get("names")
    if given.get("header", True) is False and names is None:
        raise BadRequest(f"source '{name}' has no header, so it needs the names of its columns: names: [a, b, …]")
    if given.get("header") is True:
        names = None
    if (names is not None or "delimiter" in given) and found != "csv":
        raise BadRequest(f"source '{name}' is {found}; names and delimiter are for csv")
    if names is not None and not isinstance(names, list):
        raise BadRequest(f"source '{name}': names is a list of column names")
    return Form(given.get("format"), given.get("delimiter"), None if names is None else tuple(map(str, names)))


def _known(what: str, given: Mapping[str, Any], members: set[str]) -> None:
    unknown = sorted(map(str, set(given) - members))
    if unknown:
        raise BadRequest(f"{what} has an unknown member '{unknown[0]}' (known: {', '.join(sorted(members))})")


def _datasets(path: str) -> Iterator[InputFile]:
    if is_remote(path):
        yield InputFile(path, 0)
        return
    found = [path] if os.path.isdir(path) else sorted(place for place in glob.glob(path) if os.path.isdir(place))
    if not found:
        raise NotFound(f"there is no Lance dataset '{path}'")
    for place in found:
        yield InputFile(place, sum(file.stat().st_size for file in Path(place).rglob("*") if file.is_file()))
