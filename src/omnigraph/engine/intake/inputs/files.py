"""Files wherever they are: local paths, globs, directories and places on object stores, through one interface."""

from __future__ import annotations

import fnmatch
import glob
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from stat import S_ISREG
from typing import Any, cast

import pyarrow as pa
import pyarrow.fs as pafs

from omnigraph.errors import BadRequest, NotFound, OmnigraphError, StorageError
from omnigraph.storage.base.clouds import is_remote
from omnigraph.storage.base.errors import kind_of

RECORD_SUFFIXES = (".jsonl", ".ndjson")
TABLE_SUFFIXES = (".parquet", ".csv", ".orc")
_COMPRESSED = ("", ".gz", ".zst", ".bz2", ".lz4")
_GLOB_CHARACTERS = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file to read: its name as messages show it, its size in bytes, and when it was written last, if that is
    looked at while it is loaded."""

    path: str
    size: int
    written: str | None = None

    @property
    def compressed(self) -> bool:
        return self.path.endswith(_COMPRESSED[1:])


def list_files(path: str | os.PathLike[str], suffixes: Sequence[str] = RECORD_SUFFIXES) -> list[InputFile]:
    """The files behind one path: itself, the fitting files of a directory, or what a glob matches, by name."""
    text = os.fspath(path)
    endings = tuple(suffix + packed for suffix in suffixes for packed in _COMPRESSED)
    if "://" in text and not is_remote(text) and not os.path.exists(text):
        scheme = text.partition("://")[0]
        raise BadRequest(f"'{text}': unsupported storage scheme '{scheme}' (use a path, s3://, az:// or gs://)")
    try:
        found = _list_remote(text, endings) if is_remote(text) else _list_local(Path(text), endings)
    except (OSError, ValueError) as error:  # a name that is too long, a NUL, a directory without permission
        raise unreadable(text, error) from error
    if not found and text.endswith(endings) and not _GLOB_CHARACTERS & set(text):
        raise NotFound(f"there is no file '{text}'")
    if not found:
        raise NotFound(f"'{text}' contains no record files ({', '.join(suffixes)})")
    return found


def each_once(files: Iterable[InputFile]) -> list[InputFile]:
    """The files in their order, without those that were named before under another path or pattern."""
    found: dict[str, InputFile] = {}
    for file in files:
        found.setdefault(file.path if is_remote(file.path) else os.path.abspath(file.path), file)
    return list(found.values())


def require_unchanged(file: InputFile, shown: str | None = None) -> None:
    """BadRequest when a file is another one than it was when it was listed: some of it may have been read before."""
    if file.written is None:
        return
    try:
        now = _list_remote(file.path, ()) if is_remote(file.path) else _list_local(Path(file.path), ())
    except (OSError, ValueError) as error:
        raise unreadable(file.path, error) from error
    if [(each.size, each.written) for each in now] != [(file.size, file.written)]:
        raise BadRequest(
            f"'{shown or file.path}' was changed while it was loaded, so nothing was written; load it again when it is"
            " complete"
        )


def names_in(directory: str) -> list[str] | None:
    """The names of the files in a directory; None when there is no such directory."""
    if not is_remote(directory):
        return os.listdir(directory) if os.path.isdir(directory) else None
    from omnigraph.storage.base.object_files import find_object, list_objects

    if find_object(directory) is not None:
        return None
    return [each.uri.rpartition("/")[2] for each in list_objects(directory, recursive=False)] or None


def written_at(path: str) -> str:
    """When a file was written last, as far as its store knows."""
    if is_remote(path):
        from omnigraph.storage.base.object_files import find_object, list_objects, missing

        alone = find_object(path)
        found = list_objects(path, recursive=True) if alone is None else [alone]  # a dataset is a directory
        if not found:
            raise missing(path)
        return str(max(each.modified_at for each in found))
    try:
        return str(pafs.LocalFileSystem().get_file_info(path).mtime_ns)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def open_input(path: str) -> pa.NativeFile:
    """The bytes of a file with random access, as they are stored; an object that is missing is noticed when read."""
    if is_remote(path):
        from omnigraph.storage.base.object_files import ObjectReader

        return _Download(ObjectReader(path), mode="r")
    try:
        return pafs.LocalFileSystem().open_input_file(path)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def open_stream(path: str) -> pa.NativeFile:
    """The bytes of a file from the front, decompressed; an object that is missing is noticed when read."""
    if is_remote(path):
        from omnigraph.storage.base.object_files import ObjectReader

        plain = pa.PythonFile(ObjectReader(path, ahead=True), mode="r")
        return pa.CompressedInputStream(plain, _codec(path)) if path.endswith(_COMPRESSED[1:]) else plain
    try:
        return pafs.LocalFileSystem().open_input_stream(path, compression="detect")
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def open_output(path: str) -> pa.NativeFile:
    """A new file to write; directories on the way are made. On an object store it is there when it is complete."""
    if is_remote(path):
        from omnigraph.storage.base.object_files import ObjectWriter

        return _Upload(ObjectWriter(path), mode="w")
    try:
        if parent := os.path.dirname(path):
            os.makedirs(parent, exist_ok=True)
        return pafs.LocalFileSystem().open_output_stream(path, compression=None)
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from error


def discard_tree(directory: str) -> None:
    """Remove a directory that was written here, with all that is in it."""
    if is_remote(directory):
        from omnigraph.storage.base.object_files import delete_objects

        delete_objects(directory)
    else:
        shutil.rmtree(directory, ignore_errors=True)


class _Download(pa.PythonFile):  # type: ignore[misc,unused-ignore]
    """An object that is read; `failure` is what went wrong."""

    def __init__(self, reader: Any, mode: str) -> None:
        self._reader = reader  # the rest is done where Arrow makes the object

    @property
    def failure(self) -> OmnigraphError | None:
        return cast("OmnigraphError | None", self._reader.failure)


class _Upload(pa.PythonFile):  # type: ignore[misc,unused-ignore]
    """An object that is written; an error in between leaves none behind."""

    def __init__(self, writer: Any, mode: str) -> None:
        self._writer = writer

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is not None:
            self._writer.abandon()
        self.close()


def _codec(path: str) -> str:
    return str(pa.Codec.detect(path).name)


def unreadable(path: str, error: Exception) -> BadRequest | NotFound:
    """What to raise for a file that cannot be read, or whose compressed data is not what its name says."""
    if isinstance(error, FileNotFoundError):
        return NotFound(f"there is no file '{path}'")
    if path.endswith(_COMPRESSED[1:]):
        if "Truncated" in str(error):
            return BadRequest(f"'{path}' cannot be read: its compressed data is cut off; copy or download it again")
        if " failed: " in str(error):
            codec = _codec(path)
            return BadRequest(f"'{path}' cannot be read: it is not what {codec} writes, or it is damaged ({error})")
    return BadRequest(f"'{path}' cannot be read: {error}")


def _unwritable(path: str, error: OSError | ValueError) -> OmnigraphError:
    told = f"'{path}' cannot be written: {getattr(error, 'strerror', None) or error}"
    kind = kind_of(error)
    return StorageError(told, kind=kind) if kind in ("Permanent", "Transient") else BadRequest(told)


def _list_local(place: Path, endings: tuple[str, ...]) -> list[InputFile]:
    if place.is_dir():
        found = sorted(file for file in place.iterdir() if file.name.endswith(endings))
    elif not place.exists() and _GLOB_CHARACTERS & set(str(place)):
        found = sorted(Path(name) for name in glob.glob(str(place), recursive=True) if os.path.isfile(name))
    else:
        found = [place]
    return [_local_file(file) for file in found]


def _local_file(place: Path) -> InputFile:
    try:
        state = place.stat()
    except FileNotFoundError:
        return InputFile(str(place), 0)
    return InputFile(str(place), state.st_size, str(state.st_mtime_ns) if S_ISREG(state.st_mode) else None)


def _list_remote(text: str, endings: tuple[str, ...]) -> list[InputFile]:
    from omnigraph.storage.base.object_files import ObjectName, find_object, list_objects

    alone = None if text.endswith("/") else find_object(text)
    if alone is not None:
        return [InputFile(text, alone.size, str(alone.modified_at))]
    name = ObjectName.parse(text)
    fixed = list(takewhile(lambda segment: not _GLOB_CHARACTERS & set(segment), name.key.split("/")))
    found = list_objects(text, recursive=False)
    if found or "/".join(fixed) == name.key:  # like a file, a directory may have signs of a glob in its name
        found = [each for each in found if each.uri.endswith(endings)]
    else:
        pattern, bucket = name.key.split("/"), f"{name.bucket.uri}/"
        listed = list_objects("/".join([name.bucket.uri, *fixed]), recursive=True)
        found = [each for each in listed if _matches(pattern, each.uri.removeprefix(bucket).split("/"))]
    files = (InputFile(each.uri, each.size, str(each.modified_at)) for each in found)
    return sorted(files, key=lambda file: file.path)


def _matches(pattern: Sequence[str], names: Sequence[str]) -> bool:
    """Whether a glob matches, as on a disk: no sign stands for a slash, or for a dot at the beginning of a name.

    >>> [_matches(["in", "**", "*.csv"], key.split("/")) for key in ("in/a.csv", "in/x/y/a.csv", "in/.a.csv")]
    [True, True, False]
    """
    if not pattern:
        return not names
    head, rest = pattern[0], pattern[1:]
    if head == "**":
        plain = len(list(takewhile(lambda name: not name.startswith("."), names)))
        return any(_matches(rest, names[skipped:]) for skipped in range(plain + 1))
    if not names or (names[0].startswith(".") and not head.startswith(".")):
        return False
    return fnmatch.fnmatchcase(names[0], head) and _matches(rest, names[1:])
