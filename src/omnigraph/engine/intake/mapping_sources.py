"""The sources of a mapping: files, tables of stores, frames, and what only Spark can read."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from omnigraph.engine.intake.columns.cells import PLAIN_CELLS, Cells
from omnigraph.engine.intake.columns.date_formats import check_format
from omnigraph.engine.intake.frames import arrow_table
from omnigraph.engine.intake.inputs.files import InputFile, list_files
from omnigraph.engine.intake.inputs.forms import STORES, SUFFIXES, Form, format_of
from omnigraph.engine.intake.mapping_text import flag
from omnigraph.errors import BadRequest, NotFound
from omnigraph.storage.base.clouds import is_remote

_CELL_MEMBERS = {"nulls", "trim", "thousands", "decimal", "whole", "text", "dates", "true_words", "false_words"}
_TEXT_MEMBERS = {"header", "names", "delimiter", "encoding", "skip_rows"}
FILE_MEMBERS = {"format", "path", "table", *_TEXT_MEMBERS, *_CELL_MEMBERS}
_SPARK_MEMBERS = {"format", "path", "options", "table"}
_DEFAULT_SUFFIXES = tuple(end for name, endings in SUFFIXES.items() if name != "lance" for end in endings)


@dataclass(frozen=True, slots=True)
class FileSource:
    """Files that every runner reads, a table of a store among them, or a frame in memory."""

    path: str
    form: Form
    frame: pa.Table | None = None

    def files(self) -> list[InputFile]:
        """What the path stands for right now."""
        if self.frame is not None:
            return [InputFile(self.path, self.frame.nbytes)]
        if self.form.format == "database":
            return [InputFile(self.path, 0)]
        if self.form.of(self.path) == "lance":
            return list(_datasets(self.path))
        endings = SUFFIXES[self.form.format] if self.form.format else _DEFAULT_SUFFIXES
        found = list_files(self.path, endings)
        # Others may write to a database: it is read in one go, as of one moment.
        return [replace(file, written=None) if self.form.of(file.path) in STORES else file for file in found]


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


def source_of(name: str, given: Any, home: str) -> AnySource:
    """One source as a mapping describes it; its paths are relative to `home`."""
    what = f"source '{name}'"
    if not isinstance(given, Mapping):
        raise BadRequest(f"{what} is a table with a path, a url, a table or sql")
    if "sql" in given:
        require_known(what, given, {"sql"})
        return SqlSource(str(given["sql"]))
    if "frame" in given:
        require_known(what, given, {"frame", *_CELL_MEMBERS})
        return FileSource(name, Form("parquet", cells=_cells(what, given)), arrow_table(given["frame"]))
    if "url" in given:
        require_known(what, given, {"url", "table", *_CELL_MEMBERS})
        return FileSource(
            str(given["url"]), Form("database", table=_text(what, given, "table"), cells=_cells(what, given))
        )
    wanted = given.get("format")
    in_store = wanted in STORES or (wanted is None and format_of(str(given.get("path", ""))) in STORES)
    if ("table" in given and not in_store) or "options" in given or wanted == "jdbc":
        require_known(what, given, _SPARK_MEMBERS)
        options = {str(key): str(value) for key, value in (given.get("options") or {}).items()}
        return SparkSource(wanted, given.get("path"), given.get("table"), options)
    require_known(what, given, FILE_MEMBERS)
    if wanted is not None and wanted not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise BadRequest(f"source '{name}': unknown format '{wanted}' (expected {known}; Spark's own need options:)")
    if not isinstance(given.get("path"), str):
        raise BadRequest(f"source '{name}' has a path")
    path = given["path"] if "://" in given["path"] else _beside(home, given["path"])
    return FileSource(path, _form(name, given, wanted or format_of(path)))


def _beside(home: str, path: str) -> str:
    """A path in the mapping's directory, without the detour through it where that leads to the same place."""
    if is_remote(home) and not os.path.isabs(path):
        scheme, _, place = f"{home}/{path}".partition("://")
        return f"{scheme}://{os.path.normpath(place)}"
    joined = str(Path(home) / path)
    plain = os.path.normpath(joined)
    same = os.path.realpath(os.path.dirname(joined)) == os.path.realpath(os.path.dirname(plain))
    return plain if same else joined


def _form(name: str, given: Mapping[str, Any], found: str) -> Form:
    what, names, skipped = f"source '{name}'", given.get("names"), given.get("skip_rows", 0)
    header = flag(what, given, "header", default=names is None)
    if not header and names is None:
        raise BadRequest(f"{what} has no header, so it needs the names of its columns: names: [a, b, …]")
    if header:
        names = None
    if found != "csv":
        for pair in (("names", "delimiter"), ("encoding", "skip_rows")):
            if set(given) & set(pair):
                raise BadRequest(f"{what} is {found}; {' and '.join(pair)} are for csv")
    if names is not None and not isinstance(names, list):
        raise BadRequest(f"{what}: names is a list of column names")
    if not isinstance(skipped, int) or isinstance(skipped, bool) or skipped < 0:
        raise BadRequest(f"{what}: skip_rows is a number of lines")
    return Form(
        given.get("format"),
        given.get("delimiter"),
        None if names is None else tuple(map(str, names)),
        _text(what, given, "encoding"),
        skipped,
        _text(what, given, "table"),
        _cells(what, given),
    )


def _text(what: str, given: Mapping[str, Any], member: str) -> str | None:
    value = given.get(member)
    if value is not None and not isinstance(value, str):
        raise BadRequest(f"{what}: {member} is a text")
    return value


def _cells(what: str, given: Mapping[str, Any]) -> Cells:
    if not set(given) & _CELL_MEMBERS:
        return PLAIN_CELLS
    nulls = given.get("nulls")
    by_column = isinstance(nulls, Mapping)
    dates = given.get("dates") or {}
    if not isinstance(dates, Mapping):
        raise BadRequest(f'{what}: dates is a table of formats by column, as in dates: {{born: "%d/%m/%Y"}}')
    for form in dates.values():
        check_format(str(form))
    if ("true_words" in given) != ("false_words" in given):
        raise BadRequest(f"{what} has only one of true_words and false_words; it needs both")
    return Cells(
        nulls=() if by_column else _words(what, "nulls", nulls),
        column_nulls={str(k): _words(what, "nulls", v) for k, v in nulls.items()} if isinstance(nulls, Mapping) else {},
        trim=flag(what, given, "trim"),
        thousands=_text(what, given, "thousands"),
        decimal=_text(what, given, "decimal"),
        whole=frozenset(_words(what, "whole", given.get("whole"))),
        text=frozenset(_words(what, "text", given.get("text"))),
        dates={str(column): str(form) for column, form in dates.items()},
        true=_words(what, "true_words", given.get("true_words")),
        false=_words(what, "false_words", given.get("false_words")),
    )


def _words(what: str, member: str, given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    values = given if isinstance(given, list) else [given]
    if not all(isinstance(value, str | int | float | bool | None) for value in values):
        raise BadRequest(f"{what}: {member} is a list of words")
    return tuple(map(_word, values))


def _word(value: str | float | bool | None) -> str:
    """What was written, where YAML has read it as something else."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def require_known(what: str, given: Mapping[str, Any], members: set[str]) -> None:
    """BadRequest when something has a member that nothing reads."""
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
