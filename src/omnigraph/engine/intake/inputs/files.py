"""Input files wherever they are: local paths, globs, directories and `s3://` places, opened through one interface."""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs

from omnigraph.errors import BadRequest, NotFound
from omnigraph.storage.base.layout import normalize_root

RECORD_SUFFIXES = (".jsonl", ".ndjson")
TABLE_SUFFIXES = (".parquet", ".csv", ".orc")
_COMPRESSED = ("", ".gz", ".zst", ".bz2", ".lz4")
_GLOB_CHARACTERS = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file to read: its name as messages show it, and its size in bytes."""

    path: str
    size: int

    @property
    def compressed(self) -> bool:
        return self.path.endswith(_COMPRESSED[1:])


def list_files(path: str | os.PathLike[str], suffixes: Sequence[str] = RECORD_SUFFIXES) -> list[InputFile]:
    """The files behind one path: itself, the fitting files of a directory, or what a glob matches, by name."""
    text = os.fspath(path)
    endings = tuple(suffix + packed for suffix in suffixes for packed in _COMPRESSED)
    try:
        found = _list_remote(text, endings) if is_remote(text) else _list_local(Path(text), endings)
    except (OSError, ValueError) as error:  # a name that is too long, a NUL, a directory without permission
        raise _unreadable(text, error) from error
    if not found:
        raise NotFound(f"'{text}' contains no record files ({', '.join(suffixes)})")
    return found


def is_remote(path: str) -> bool:
    """Whether a path is on an object store."""
    return path.startswith("s3://")


def written_at(path: str) -> str:
    """When a file was written last, as far as its store knows."""
    system, place = _located(path)
    try:
        return str(system.get_file_info(place).mtime_ns)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def open_input(path: str) -> pa.NativeFile:
    """The bytes of a file with random access, as they are stored."""
    system, place = _located(path)
    try:
        return system.open_input_file(place)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def open_stream(path: str) -> pa.NativeFile:
    """The bytes of a file from the front, decompressed."""
    system, place = _located(path)
    try:
        return system.open_input_stream(place, compression="detect")
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def open_output(path: str) -> pa.NativeFile:
    """A new file to write; directories on the way are made."""
    system, place = _located(path)
    if not is_remote(path) and (parent := os.path.dirname(place)):
        system.create_dir(parent, recursive=True)
    return system.open_output_stream(place, compression=None)


def _unreadable(path: str, error: OSError | ValueError) -> BadRequest | NotFound:
    if isinstance(error, FileNotFoundError):
        return NotFound(f"there is no file '{path}'")
    return BadRequest(f"'{path}' cannot be read: {error}")


def _list_local(place: Path, endings: tuple[str, ...]) -> list[InputFile]:
    if place.is_dir():
        found = sorted(file for file in place.iterdir() if file.name.endswith(endings))
    elif not place.exists() and _GLOB_CHARACTERS & set(str(place)):
        found = sorted(Path(name) for name in glob.glob(str(place), recursive=True) if os.path.isfile(name))
    else:
        found = [place]
    return [InputFile(str(file), file.stat().st_size if file.exists() else 0) for file in found]


def _list_remote(text: str, endings: tuple[str, ...]) -> list[InputFile]:
    system, place = _located(text)
    fixed = place
    if _GLOB_CHARACTERS & set(place):
        fixed = place[: min(place.index(sign) for sign in _GLOB_CHARACTERS if sign in place)].rpartition("/")[0]
    else:
        info = system.get_file_info(place)
        if info.type == pafs.FileType.File:
            return [InputFile(text, info.size)]
    selector = pafs.FileSelector(fixed, recursive=fixed != place, allow_not_found=True)
    files = [info for info in system.get_file_info(selector) if info.type == pafs.FileType.File]
    if fixed == place:
        chosen = [info for info in files if info.path.endswith(endings)]
    else:
        chosen = [info for info in files if fnmatch.fnmatchcase(info.path, place)]
    return sorted((InputFile(f"s3://{info.path}", info.size) for info in chosen), key=lambda file: file.path)


def _located(path: str) -> tuple[pafs.FileSystem, str]:
    if not is_remote(path):
        return pafs.LocalFileSystem(), path
    options = normalize_root(path).storage_options or {}
    endpoint = options.get("aws_endpoint")
    settings = {
        "access_key": options.get("aws_access_key_id"),
        "secret_key": options.get("aws_secret_access_key"),
        "session_token": options.get("aws_session_token"),
        "region": options.get("aws_region"),
        "endpoint_override": endpoint,
        "scheme": "http" if endpoint is not None and endpoint.startswith("http://") else None,
    }
    return pafs.S3FileSystem(**{name: value for name, value in settings.items() if value}), path[len("s3://") :]
