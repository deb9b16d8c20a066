"""Files that users asked for: each appears under its name only when it is complete and on disk, or in its store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from omnigraph.errors import BadRequest, StorageError
from omnigraph.storage.base.clouds import is_remote
from omnigraph.storage.base.errors import kind_of
from omnigraph.storage.base.layout import is_storable

StrPath = str | os.PathLike[str]


@contextmanager
def output_file(target: StrPath) -> Iterator[BinaryIO]:
    """A file to write; the name is replaced when the block ends, and left as it was when it raises."""
    if is_remote(os.fspath(target)):
        with _object(os.fspath(target)) as stored:
            yield stored
        return
    path = Path(target)
    if not path.name or not is_storable(str(path)):
        raise BadRequest(f"{str(path)!r} is not the name of a file")
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with unfinished.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
        _sync_directory(path.parent)
    except OSError as error:
        raise StorageError(f"'{path}' cannot be written: {error.strerror or error}", kind=kind_of(error)) from error
    finally:
        with suppress(OSError):
            unfinished.unlink()


@contextmanager
def _object(uri: str) -> Iterator[BinaryIO]:
    from omnigraph.storage.base.object_files import ObjectWriter

    writer = ObjectWriter(uri)
    try:
        yield cast("BinaryIO", writer)
    except BaseException:
        writer.abandon()
        raise
    writer.close()


def _sync_directory(directory: Path) -> None:
    # Only after this does the name itself survive a power cut.
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
