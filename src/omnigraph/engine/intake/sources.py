"""What `load` accepts: files, directories, globs, bytes, lines and frames, each turned into a way to decode it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.engine.intake.frame_shape import FrameShape
from omnigraph.engine.intake.frames import decode_frame
from omnigraph.engine.intake.inputs.files import (
    RECORD_SUFFIXES,
    TABLE_SUFFIXES,
    InputFile,
    each_once,
    list_files,
    open_stream,
    require_unchanged,
    unreadable,
)
from omnigraph.engine.intake.mapping import MappedFile, described, mapped_files
from omnigraph.engine.intake.mapping_check import check_mapping
from omnigraph.engine.intake.ndjson import decode_ndjson
from omnigraph.engine.intake.records import Decoded, Intake, merge_decoded
from omnigraph.engine.intake.tabular import decode_table_file
from omnigraph.errors import BadRequest

Decode: TypeAlias = Callable[[Catalog, Intake], Decoded]
"""Decodes one input under a catalog; called once more when the schema has changed in between."""


def decoder_of(
    data: Any, *, type: str | None = None, edge: str | None = None, columns: Mapping[str, str] | None = None
) -> Decode:
    """How to decode what a caller handed to `load`; `type` or `edge` says that it is a frame."""
    if type is not None or edge is not None:
        if is_paths(data):
            shape = FrameShape(type, edge, columns)
            return _tables([MappedFile(file, shape) for file in input_files(data, TABLE_SUFFIXES)])
        return lambda catalog, intake: decode_frame(data, catalog, type=type, edge=edge, columns=columns, intake=intake)
    if columns is not None:
        raise BadRequest("columns= belongs to a frame; also pass type= or edge=")
    data = given(data)
    if is_paths(data):
        return _files(input_files(data))
    whole = record_bytes(data)
    return lambda catalog, intake: decode_ndjson(whole, catalog, intake)


def mapping_decoder(mapping: Any) -> Decode:
    """How to decode everything a mapping names; it is checked as a whole first."""
    files = _tables(mapped_files(mapping))

    def decode(catalog: Catalog, intake: Intake) -> Decoded:
        check_mapping(described(mapping), catalog)
        return files(catalog, intake)

    return decode


def given(data: Any) -> Any:
    """What a caller handed over, fit to be looked at more than once: an iterator becomes a list."""
    if isinstance(data, str | os.PathLike | bytes | bytearray | memoryview) or hasattr(data, "__arrow_c_stream__"):
        return data
    return list(data) if isinstance(data, Iterable) and not isinstance(data, pa.RecordBatch | Mapping) else data


def record_bytes(data: Any) -> bytes:
    """Records given as bytes, as text, or one by one as lines or dicts."""
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    if isinstance(data, str):
        return _utf8(data)
    if hasattr(data, "__arrow_c_stream__") or isinstance(data, pa.RecordBatch):
        raise BadRequest("loading a frame needs exactly one of type= (nodes) or edge= (edges)")
    if isinstance(data, list):
        return b"".join(_line(item) for item in data)
    raise BadRequest(f"cannot load an object of type {data.__class__.__qualname__}; give paths, records or a frame")


def input_files(data: Any, suffixes: Sequence[str] = RECORD_SUFFIXES) -> list[InputFile]:
    """The files behind a path or a list of paths, each once."""
    paths = [data] if isinstance(data, str | os.PathLike) else list(data)
    found = each_once(file for path in paths for file in list_files(path, suffixes))
    if suffixes == RECORD_SUFFIXES:
        _require_records(found)
    return found


def _require_records(files: Sequence[InputFile]) -> None:
    """A table among files of records would be refused at its first line, for a misleading reason."""
    for file in files:
        if file.path.endswith((*TABLE_SUFFIXES, ".tsv")):
            raise BadRequest(
                f"'{file.path}' is a table, and a table does not say of which type its rows are:"
                " describe it in a mapping (`omnigraph infer` drafts one), or pass type= or edge= in Python"
            )


def is_paths(data: Any) -> bool:
    """Whether a caller handed over places to read from, not data; a path never starts with a brace."""
    if isinstance(data, str | os.PathLike):
        return isinstance(data, os.PathLike) or _is_path(data)
    if not isinstance(data, list | tuple) or not data:
        return False
    return all(isinstance(item, os.PathLike) or _is_path(item) for item in data)


def _line(item: Any) -> bytes:
    if isinstance(item, Mapping):
        item = _json(item)
    if not isinstance(item, str | bytes):
        raise BadRequest(f"cannot load a sequence of {item.__class__.__qualname__}; give paths, records or lines")
    piece = _utf8(item) if isinstance(item, str) else item
    return piece if piece.endswith(b"\n") else piece + b"\n"


def _json(record: Mapping[str, Any]) -> str:
    try:
        return json.dumps(record, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadRequest(f"a record cannot be written as JSON: {error}") from error


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise BadRequest("records contain an unpaired surrogate, which is not a character") from error


def _is_path(item: Any) -> bool:
    return isinstance(item, str) and bool(item.strip()) and not item.lstrip().startswith("{") and "\n" not in item


def _files(files: list[InputFile]) -> Decode:
    def decode(catalog: Catalog, intake: Intake) -> Decoded:
        found = [decode_ndjson(_read(file.path), catalog, intake, file=file.path) for file in files]
        for file in files:
            require_unchanged(file)
        return merge_decoded(found)

    return decode


def _read(path: str) -> bytes:
    with open_stream(path) as stream:
        try:
            return bytes(stream.read())
        except OSError as error:
            raise unreadable(path, error) from error


def _tables(files: list[MappedFile]) -> Decode:
    def decode(catalog: Catalog, intake: Intake) -> Decoded:
        found: list[Decoded] = []
        for each in files:
            path = each.file.path
            found += decode_table_file(path, catalog, each.frame, file=path, intake=intake, table=each.table)
            require_unchanged(each.file)
        return merge_decoded(found)

    return decode
