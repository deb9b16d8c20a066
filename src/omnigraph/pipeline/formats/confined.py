"""Files that somebody else has sent: the names they may have, what they may unpack to, and mappings of them alone.

A mapping that came over HTTP may read what its sender has uploaded and nothing else: no path, directory, pattern or
object store, no database, nothing that only Spark reads. A file of SQLite or DuckDB is a program for its engine (a view
of DuckDB reads any file of the machine, one of SQLite need not end), so these are not taken either.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.checkpoints import checkpoint
from omnigraph.engine.intake.inputs.files import open_input, open_stream
from omnigraph.engine.intake.inputs.forms import SUFFIXES, format_of
from omnigraph.engine.intake.mapping_sources import FILE_MEMBERS, require_known
from omnigraph.engine.intake.mapping_text import parse_yaml
from omnigraph.errors import BadRequest, NotFound, OmnigraphError, ResourceLimitExceeded

_PACKED = (".gz", ".zst", ".bz2", ".lz4")
_TEXTS = tuple(end + packed for form in ("csv", "json") for end in SUFFIXES[form] for packed in ("", *_PACKED))
_TABLES = tuple(end for form in ("parquet", "orc", "excel") for end in SUFFIXES[form])
_LONGEST = 200
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f/\\*?\[\]:"<>|]')
_LONGEST_TEXT = 256 << 10  # YAML is parsed in Python: some seconds
_PIECE = 1 << 20
_CELL_BYTES = 8  # of a column that one repeated value fills: nothing in the file says how large it becomes
_OVERLAP = 64
# Where a row or a cell of a sheet is: <row r="12">, <c r="AB12">. A reader fills what lies before it.
_PLACE = re.compile(rb"""\br\s*=\s*["']([A-Za-z]{0,8})([0-9]{1,18})["']""")
_UNREADABLE = (pa.ArrowException, OSError, RecursionError, UnicodeError, zipfile.BadZipFile, NotImplementedError)


def file_name(given: str) -> str:
    """The name of a file that may be uploaded: one part, nothing hidden, no pattern, and a format that is read.

    >>> file_name("people.csv.gz")
    'people.csv.gz'
    """
    if not given or len(given.encode(errors="replace")) > _LONGEST or given.startswith(".") or _FORBIDDEN.search(given):
        raise BadRequest(
            f"the name of a file has 1 to {_LONGEST} bytes, does not begin with '.' and has none of"
            ' / \\ * ? [ ] : " < > | in it'
        )
    if not given.endswith((*_TEXTS, *_TABLES)):
        raise BadRequest(
            f"'{given}' is not a file that is read here; by their endings these are: .csv, .tsv, .json, .jsonl and"
            " .ndjson (also with .gz, .zst, .bz2 or .lz4), .parquet, .orc, .xlsx and .xlsm"
        )
    return given


def require_bounded(path: Path, limit: int) -> None:
    """ResourceLimitExceeded for a file that becomes more bytes than the limit when it is read."""
    with readable(path.parent):
        for size in _expanded(path):
            checkpoint()
            if size > limit:
                raise ResourceLimitExceeded("upload_expanded_bytes", limit=limit, actual=size)


def confined(mapping: Mapping[str, Any], directory: Path) -> dict[str, Any]:
    """A mapping whose sources are files of one directory by their names; anything else is refused."""
    sources = mapping.get("sources") or {}
    if not isinstance(sources, Mapping):
        raise BadRequest("'sources' of a mapping is a table of names, as in sources: {people: {path: people.csv}}")
    return {**mapping, "sources": {name: _confined(str(name), given, directory) for name, given in sources.items()}}


def mapping_of(text: str) -> dict[str, Any]:
    """A mapping from its text, YAML or JSON; aliases are refused, because a few of them stand for very much."""
    import yaml  # type: ignore[import-untyped,unused-ignore]

    if len(text) > _LONGEST_TEXT:
        raise BadRequest(f"the text of the mapping has more than {_LONGEST_TEXT} characters; send it as a JSON object")
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            raise BadRequest("the mapping has an alias (*name); write what it stands for")
        found = parse_yaml(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = "" if mark is None else f" (line {mark.line + 1}, column {mark.column + 1})"
        raise BadRequest(f"the mapping is not YAML: {getattr(error, 'problem', error)}{place}") from None
    except (RecursionError, ValueError):  # a date that no calendar has
        raise BadRequest("the mapping is not YAML that can be read") from None
    if not isinstance(found, dict):
        raise BadRequest("a mapping has the members sources, nodes and edges")
    return found


@contextmanager
def readable(directory: Path) -> Iterator[None]:
    """What goes wrong with files of this directory, as an error about the files that does not say where they are."""
    try:
        yield
    except OmnigraphError as error:
        error.reword(lambda text: without_place(text, directory))
        raise
    except _UNREADABLE as error:
        raise BadRequest(f"a file cannot be read: {without_place(str(error), directory)}") from error


def without_place(text: str, directory: Path) -> str:
    """A text that names files of a directory by their names alone."""
    return text.replace(f"{directory}/", "")


def _confined(name: str, given: Any, directory: Path) -> dict[str, Any]:
    what = f"source '{name}'"
    if not isinstance(given, Mapping) or not isinstance(given.get("path"), str):
        raise BadRequest(f"{what} is a file that was uploaded, as in {{path: people.csv}}")
    require_known(what, given, FILE_MEMBERS)
    file = file_name(given["path"])
    if given.get("format") not in (None, format_of(file)):
        raise BadRequest(
            f"{what}: '{file}' is {format_of(file)} by its name; upload it under another one to change that"
        )
    path = directory / file
    if not path.is_file():
        raise NotFound(f"{what}: there is no uploaded file '{file}'; upload it first")
    return {**given, "path": str(path)}


def _expanded(path: Path) -> Iterator[int]:
    """How large the content of a file is, as far as is known so far."""
    match format_of(path.name):
        case "parquet":
            with open_input(str(path)) as file:
                found = pq.ParquetFile(file).metadata
                groups = (found.row_group(at).total_byte_size for at in range(found.num_row_groups))
                yield max(sum(groups), found.num_rows * found.num_columns * _CELL_BYTES)
        case "orc":
            from pyarrow import orc

            with open_input(str(path)) as file:
                stripes = orc.ORCFile(file)
                yield stripes.nrows * max(len(stripes.schema.names), 1) * _CELL_BYTES
        case "excel":
            yield from _workbook(path)
        case _:
            if path.name.endswith(_PACKED):
                yield from _stream(path)


def _stream(path: Path) -> Iterator[int]:
    size = 0
    with open_stream(str(path)) as file:
        while piece := file.read(_PIECE):
            size += len(piece)
            yield size


def _workbook(path: Path) -> Iterator[int]:
    size, sheets = 0, 0
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            size += entry.file_size  # what is read of an entry ends there, whatever is packed into it
            yield size
        for entry in archive.infolist():
            if "worksheets/" in entry.filename:
                rows = columns = 0
                with archive.open(entry) as sheet:
                    before = b""
                    while piece := sheet.read(_PIECE):
                        for letters, digits in _PLACE.findall(before + piece):
                            rows, columns = max(rows, int(digits)), max(columns, _column(letters))
                        before = piece[-_OVERLAP:]
                        yield sheets + rows * max(columns, 1) * _CELL_BYTES
                sheets += rows * max(columns, 1) * _CELL_BYTES


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - ord("A") + 1
    return number
