"""Objects on a local file system: temporary name plus rename to replace, hard link to create if absent."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from omnigraph.errors import Corrupt, OmnigraphError, StorageError
from omnigraph.storage.base.errors import kind_of
from omnigraph.storage.base.objects import ObjectInfo

_FLOCK = ".ledger.flock"
_PIECE_BYTES = 8 << 20
_COPIED_BYTES = 64 << 20
_COMPARED_BYTES = 1 << 20
_ABSENT = (errno.ENOENT, errno.ENOTDIR)
_NOT_BY_THE_KERNEL = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF)


class LocalObjects:
    """The storage adapter below one directory."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def read(self, name: str) -> str:
        with self._translated(name), open(self._path(name), "rb") as file:
            return _text(name, file.read())

    def read_if_exists(self, name: str) -> str | None:
        try:
            return self.read(name)
        except StorageError as error:
            if error.kind == "NotFound":
                return None
            raise

    def write(self, name: str, text: str, *, durable: bool = True) -> None:
        with self._translated(name), self._temporary(name, [text.encode()], durable=durable) as temporary:
            os.replace(temporary, self._path(name))
            if durable:
                self._sync_directory(name)

    def write_if_absent(self, name: str, text: str, *, durable: bool = True) -> bool:
        # A hard link publishes a complete file under a name that must be free, in one atomic step.
        with self._translated(name), self._temporary(name, [text.encode()], durable=durable) as temporary:
            try:
                os.link(temporary, self._path(name))
            except FileExistsError:
                return False
            if durable:
                self._sync_directory(name)
            return True

    def read_tagged(self, name: str) -> tuple[str, str] | None:
        text = self.read_if_exists(name)
        return None if text is None else (text, _tag(text))

    def write_if_match(self, name: str, text: str, tag: str) -> bool:
        with self._translated(name), self._exclusive(name):
            found = self.read_tagged(name)
            if found is None or found[1] != tag:
                return False
            self.write(name, text)
            return True

    def exists(self, name: str) -> bool:
        with self._translated(name):
            path = self._path(name)
            try:
                os.stat(path)
            except OSError as error:
                if error.errno in _ABSENT:
                    return False
                raise
            return not os.path.isdir(path) or any(files for _, _, files in os.walk(path, onerror=_loud))

    def stat(self, name: str) -> ObjectInfo | None:
        with self._translated(name):
            try:
                found = os.stat(self._path(name))
                return ObjectInfo(found.st_size, None, found.st_mtime)
            except OSError as error:
                if error.errno in _ABSENT:
                    return None
                raise

    def delete(self, name: str) -> None:
        with self._translated(name):
            try:
                os.unlink(self._path(name))
            except OSError as error:
                if error.errno not in _ABSENT:
                    raise

    def list_dir(self, name: str) -> list[str]:
        return [entry.name for entry in self._entries(name) if entry.is_file()]

    def list_entries(self, name: str) -> list[str]:
        return [entry.name for entry in self._entries(name)]

    def _entries(self, name: str) -> list[os.DirEntry[str]]:
        with self._translated(name):
            try:
                with os.scandir(self._path(name)) as entries:
                    return [entry for entry in entries if not _is_temporary(entry.name)]
            except OSError as error:
                if error.errno in _ABSENT:
                    return []
                raise

    def list_tree(self, name: str) -> list[str]:
        with self._translated(name):
            top = self._path(name)
            if not os.path.isdir(top):
                return []
            return [
                os.path.relpath(os.path.join(folder, file), self._directory).replace(os.sep, "/")
                for folder, _, files in os.walk(top, onerror=_loud)
                for file in files
                if not _is_temporary(file)
            ]

    def list_sizes(self, name: str) -> dict[str, int]:
        return {each: info.size for each, info in self.list_infos(name).items()}

    def list_infos(self, name: str) -> dict[str, ObjectInfo]:
        found = {each: self.stat(each) for each in self.list_tree(name)}
        return {each: info for each, info in found.items() if info is not None}  # None: removed since it was listed

    def read_pieces(self, name: str) -> Iterator[bytes]:
        with self._translated(name), open(self._path(name), "rb") as file:
            while piece := file.read(_PIECE_BYTES):
                yield piece

    def write_pieces(self, name: str, pieces: Iterable[bytes]) -> None:
        with self._translated(name), self._temporary(name, pieces) as temporary:
            os.replace(temporary, self._path(name))
            self._sync_directory(name)

    # --- copies between directories -------------------------------------------------------------

    def copy_in(self, name: str, source: LocalObjects, origin: str, advance: Callable[[int], None]) -> None:
        """Store a copy of a file of another directory, on the disk when this returns; its name follows by `sync_names`.

        The file system copies by itself where it can, without sending the bytes through this process, and may share
        them. `advance` is called with the number of bytes of each step.
        """
        with (
            source._translated(origin),
            open(source._path(origin), "rb", buffering=0) as file,
            self._translated(name),
            self._filled(name, lambda copy: _transfer(file, copy, advance)) as temporary,
        ):
            os.replace(temporary, self._path(name))

    def equals(self, name: str, other: LocalObjects, origin: str) -> bool:
        """Whether a file has the same bytes as one of another directory."""
        ours, theirs = bytearray(_COMPARED_BYTES), bytearray(_COMPARED_BYTES)
        with (
            self._translated(name),
            open(self._path(name), "rb", buffering=0) as one,
            other._translated(origin),
            open(other._path(origin), "rb", buffering=0) as two,
        ):
            while (read := one.readinto(ours)) == two.readinto(theirs) and ours == theirs:
                if not read:
                    return True
        return False

    def sync_names(self, names: Iterable[str]) -> None:
        """Make sure that files are found under their names after a power cut; their directories may be new as well."""
        folders = {""}
        for name in names:
            while name := name.rpartition("/")[0]:
                folders.add(name)
        for folder in sorted(folders, reverse=True):
            with self._translated(folder):
                self._sync_directory(f"{folder}/" if folder else "")

    def rename(self, source: str, target: str) -> None:
        with self._translated(source):
            os.makedirs(os.path.dirname(self._path(target)), exist_ok=True)
            os.replace(self._path(source), self._path(target))
            self._sync_directory(target)

    def copy(self, source: str, target: str) -> None:
        with self._translated(source):
            os.makedirs(os.path.dirname(self._path(target)), exist_ok=True)
            try:
                os.link(self._path(source), self._path(target))
            except FileExistsError:
                return  # it may be in use: the same file, because it is immutable and its name is random
            except OSError as error:
                if error.errno in _ABSENT:
                    raise
                self._copy_bytes(source, target)  # a file system without hard links

    def _copy_bytes(self, source: str, target: str) -> None:
        """All of a file under another name, or nothing."""
        with (
            open(self._path(source), "rb") as file,
            self._filled(target, lambda copy: shutil.copyfileobj(file, copy)) as temporary,
        ):
            os.replace(temporary, self._path(target))

    def delete_prefix(self, name: str) -> None:
        with self._translated(name):
            try:
                shutil.rmtree(self._path(name))
            except OSError as error:
                if error.errno not in _ABSENT:
                    raise

    @contextmanager
    def _exclusive(self, name: str) -> Iterator[None]:
        """No other process compares and replaces in this directory; files know no conditional rename."""
        folder = os.path.dirname(self._path(name))
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, _FLOCK), "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _path(self, name: str) -> str:
        return os.path.join(self._directory, *name.split("/"))

    @contextmanager
    def _temporary(self, name: str, pieces: Iterable[bytes], *, durable: bool = True) -> Iterator[str]:
        """The bytes, written under a temporary name that is gone afterwards in every case."""
        with self._filled(name, lambda file: file.writelines(pieces), durable=durable) as path:
            yield path

    @contextmanager
    def _filled(self, name: str, fill: Callable[[BinaryIO], None], *, durable: bool = True) -> Iterator[str]:
        path = f"{self._path(name)}#{int.from_bytes(os.urandom(8), 'big')}"
        folder = os.path.dirname(path)
        made = not os.path.isdir(folder)
        os.makedirs(folder, exist_ok=True)
        try:
            with open(path, "xb") as file:
                fill(file)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            yield path
        except BaseException:
            _remove(path)
            if made:
                with suppress(OSError):  # not empty: somebody else uses it already
                    os.rmdir(folder)
            raise
        _remove(path)

    def _sync_directory(self, name: str) -> None:
        # The new name itself must survive a power cut, not only the bytes behind it.
        descriptor = os.open(os.path.dirname(self._path(name)), os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    @contextmanager
    def _translated(self, name: str) -> Iterator[None]:
        try:
            yield
        except OmnigraphError:
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise StorageError(f"{self._path(name)}: {reason}", kind=kind_of(error)) from error


def _transfer(source: BinaryIO, target: BinaryIO, advance: Callable[[int], None]) -> None:
    """Copy one file into another, inside the kernel as far as that works."""
    try:
        while moved := os.copy_file_range(source.fileno(), target.fileno(), _COPIED_BYTES):
            advance(moved)
    except (AttributeError, OSError) as error:  # not on this system, or not between these file systems
        if isinstance(error, OSError) and error.errno not in _NOT_BY_THE_KERNEL:
            raise
    while piece := source.read(_PIECE_BYTES):  # both files stand where the kernel has stopped
        target.write(piece)
        advance(len(piece))


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _tag(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _text(name: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Corrupt(f"'{name}' is not UTF-8 text") from error


def _is_temporary(name: str) -> bool:
    stem, separator, suffix = name.rpartition("#")
    return bool(stem and separator) and suffix.isdigit()


def _loud(error: OSError) -> None:
    raise error
