"""Files that clients have sent to be loaded: kept for a while, per graph and actor, within limits.

What is in the directory is all there is to know, so several workers, and a server that was started again, see the same
files. A file that was not used for some time is removed by whichever server looks next.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from omnigraph.errors import StartRefused
from omnigraph.ids import new_ulid
from omnigraph.server.http.refusal import refuse, resource_limit

DIRECTORY = "OMNIGRAPH_UPLOADS"
FILE_BYTES = "OMNIGRAPH_UPLOAD_BYTES_MAX"
EXPANDED_BYTES = "OMNIGRAPH_UPLOAD_EXPANDED_BYTES_MAX"
ACTOR_BYTES = "OMNIGRAPH_PER_ACTOR_UPLOAD_BYTES_MAX"
LIFETIME = "OMNIGRAPH_UPLOAD_LIFETIME_MS"

MOST_FILES = 64
_UNFINISHED = ".unfinished-"
_SCRATCH = "scratch-"
_DAY = 24 * 60 * 60.0


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """Where uploaded files are kept, how large one and all of an actor may be, and for how long they stay."""

    directory: str | None = None
    file_bytes: int = 256 << 20
    expanded_bytes: int = 1 << 30
    actor_bytes: int = 1 << 30
    seconds: float = 3600.0


@dataclass(frozen=True, slots=True)
class Uploaded:
    """One file as it can be named in a mapping."""

    name: str
    bytes: int
    expires_at: float


class Uploads:
    """The uploaded files of a server."""

    def __init__(self, limits: UploadLimits) -> None:
        self.limits = limits

    def directory(self, graph: str, actor: str | None) -> Path:
        """Where the files of one actor for one graph are."""
        owner = hashlib.sha256(f"{graph}\0{'' if actor is None else f'actor:{actor}'}".encode()).hexdigest()
        return self._root() / owner

    def listed(self, directory: Path) -> list[Uploaded]:
        """The files of an actor by name; what is too old goes first."""
        self.sweep()
        return sorted(self._found(directory), key=lambda each: each.name)

    def begin(self, directory: Path, name: str) -> Incoming:
        """Take in a file, within what its sender has left."""
        self.sweep()
        others = [each for each in self._found(directory, unfinished=True) if each.name != name]
        if len(others) >= MOST_FILES:
            raise resource_limit("upload_files", limit=MOST_FILES, actual=len(others) + 1)
        directory.mkdir(mode=0o700, exist_ok=True)
        return Incoming(self.limits, directory, name, lambda own: self._held(directory, {name, own}))

    def _held(self, directory: Path, without: Collection[str]) -> int:
        """What an actor keeps besides some files, those included that are on their way."""
        return sum(each.bytes for each in self._found(directory, unfinished=True) if each.name not in without)

    @contextmanager
    def scratch(self) -> Iterator[str]:
        """A directory for the block; what a server that was killed leaves of it is removed after a day."""
        with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=self._root()) as place:
            yield place

    def use(self, directory: Path) -> None:
        """Files that are used stay for as long again."""
        for path in _files(directory):
            os.utime(path)

    def remove(self, directory: Path, name: str) -> bool:
        """Remove a file; False when there is none."""
        try:
            (directory / name).unlink()
        except FileNotFoundError:
            return False
        return True

    def sweep(self) -> None:
        """Remove what is too old, of every actor."""
        now = time.time()
        for directory in self._root().iterdir():
            oldest = now - (_DAY if directory.name.startswith(_SCRATCH) else self.limits.seconds)
            for path in _files(directory, unfinished=True):
                if _changed(path) < oldest:
                    path.unlink(missing_ok=True)
            if not any(directory.iterdir()) and _changed(directory) < oldest:
                shutil.rmtree(directory, ignore_errors=True)

    def _found(self, directory: Path, *, unfinished: bool = False) -> list[Uploaded]:
        found = []
        for path in _files(directory, unfinished=unfinished):
            try:
                state = path.stat()
            except FileNotFoundError:
                continue  # removed by another worker
            found.append(Uploaded(path.name, state.st_size, state.st_mtime + self.limits.seconds))
        return found

    def _root(self) -> Path:
        """The directory, which has to be this user's own: where all may write, others could have made it."""
        given = self.limits.directory
        root = Path(given) if given else Path(tempfile.gettempdir()) / f"omnigraph-uploads-{os.getuid()}"
        root.mkdir(mode=0o700, parents=given is not None, exist_ok=True)
        state = root.lstat()
        if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid():
            raise StartRefused(f"'{root}' is not a directory of this user; name another one in {DIRECTORY}")
        return root


class Incoming:
    """A file on its way in: it gets its name when it is whole and was checked."""

    def __init__(self, limits: UploadLimits, directory: Path, name: str, held: Callable[[str], int]) -> None:
        self._limits = limits
        self._held = held
        self._target = directory / name
        # The ending decides how it is checked.
        self.path = directory / f"{_UNFINISHED}{new_ulid()}-{name[-40:]}"
        self.bytes = 0
        self._file: BinaryIO = self.path.open("xb")

    def require(self, size: int) -> None:
        """413 unless a file of this size may be kept."""
        if size > self._limits.file_bytes:
            raise resource_limit("upload_bytes", limit=self._limits.file_bytes, actual=size)
        held = self._held(self.path.name)  # asked again, because other files of the sender may arrive meanwhile
        if held + size > self._limits.actor_bytes:
            raise resource_limit("actor_upload_bytes", limit=self._limits.actor_bytes, actual=held + size)

    def write(self, data: bytes) -> None:
        """Append; 413 as soon as it is too much, 503 when the disk is full."""
        self.bytes += len(data)
        self.require(self.bytes)
        try:
            self._file.write(data)
            self._file.flush()  # its size counts for the other files of the sender
        except OSError as error:
            raise refuse(503, f"the upload cannot be stored: {error.strerror}") from error

    def finish(self) -> None:
        """Give it its name, in place of an earlier file of that name."""
        self._file.close()
        self.path.replace(self._target)

    def abandon(self) -> None:
        """Remove what has arrived; nothing happens after `finish`."""
        self._file.close()
        self.path.unlink(missing_ok=True)


def _files(directory: Path, *, unfinished: bool = False) -> list[Path]:
    try:
        return [path for path in directory.iterdir() if unfinished or not path.name.startswith(_UNFINISHED)]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _changed(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except FileNotFoundError:
        return time.time()
