"""What `load` accepts: files, directories, globs, bytes, lines and frames, each turned into a way to decode it."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.engine.write.frames import decode_frame
from omnigraph.engine.write.ndjson import decode_ndjson
from omnigraph.engine.write.records import Decoded, merge_decoded
from omnigraph.errors import BadRequest, NotFound

Decode: TypeAlias = Callable[[Catalog], Decoded]
"""Decodes one input under a catalog; called once more when the schema has changed in between."""

_RECORD_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".jsonl.zst", ".ndjson.zst")
_GLOB_CHARACTERS = frozenset("*?[")


def decoder_of(
    data: Any, *, type: str | None = None, edge: str | None = None, columns: Mapping[str, str] | None = None
) -> Decode:
    """How to decode what a caller handed to `load`; `type` or `edge` says that it is a frame."""
    if type is not None or edge is not None:
        return lambda catalog: decode_frame(data, catalog, type=type, edge=edge, columns=columns)
    if columns is not None:
        raise BadRequest("columns= belongs to a frame; say type= or edge= as well")
    if isinstance(data, bytes | bytearray | memoryview):
        whole = bytes(data)
        return lambda catalog: decode_ndjson(whole, catalog)
    if isinstance(data, str | os.PathLike):
        return _text_or_files(data)
    if hasattr(data, "__arrow_c_stream__") or isinstance(data, pa.RecordBatch):
        raise BadRequest("loading a frame needs exactly one of type= (nodes) or edge= (edges)")
    if isinstance(data, Iterable):
        return _paths_or_lines(list(data))
    raise BadRequest(f"cannot load a {data.__class__.__qualname__}; give paths, records or a frame")


def _text_or_files(data: str | os.PathLike[str]) -> Decode:
    if isinstance(data, str) and (data.lstrip().startswith("{") or "\n" in data):
        text = data.encode()
        return lambda catalog: decode_ndjson(text, catalog)
    return _files(_expand(data))


def _paths_or_lines(items: list[Any]) -> Decode:
    """A list of paths, or an iterator over records, as lines or as dicts; a path never starts with a brace."""
    if items and all(isinstance(item, os.PathLike) or _is_path(item) for item in items):
        return _files([file for item in items for file in _expand(item)])
    whole = b"".join(_line(item) for item in items)
    return lambda catalog: decode_ndjson(whole, catalog)


def _line(item: Any) -> bytes:
    if isinstance(item, Mapping):
        item = json.dumps(item, ensure_ascii=False)
    if not isinstance(item, str | bytes):
        raise BadRequest(f"cannot load a sequence of {item.__class__.__qualname__}; give paths, records or lines")
    piece = item.encode() if isinstance(item, str) else item
    return piece if piece.endswith(b"\n") else piece + b"\n"


def _is_path(item: Any) -> bool:
    return isinstance(item, str) and bool(item.strip()) and not item.lstrip().startswith("{") and "\n" not in item


def _expand(path: str | os.PathLike[str]) -> list[Path]:
    """The files behind one path: itself, the record files of a directory, or what a glob matches, by name."""
    place = Path(path)
    if place.is_dir():
        found = sorted(file for file in place.iterdir() if file.name.endswith(_RECORD_SUFFIXES))
    elif not place.exists() and _GLOB_CHARACTERS & set(str(place)):
        found = sorted(Path(name) for name in glob.glob(str(place), recursive=True) if os.path.isfile(name))
    else:
        found = [place]
    if not found:
        raise NotFound(f"'{place}' holds no record files ({', '.join(_RECORD_SUFFIXES[:2])})")
    return found


def _files(paths: list[Path]) -> Decode:
    def decode(catalog: Catalog) -> Decoded:
        return merge_decoded([decode_ndjson(_read(path), catalog, file=str(path)) for path in paths])

    return decode


def _read(path: Path) -> bytes:
    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            return bytes(stream.read())
    except FileNotFoundError:
        raise NotFound(f"there is no file '{path}'") from None
    except OSError as error:
        raise BadRequest(f"'{path}' cannot be read: {error}") from error
