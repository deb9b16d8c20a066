"""Space on a disk that only opening and cleanup may use, so that a graph can free space when the disk is full.

Both write before they free anything: opening settles what interrupted writers left, and cleanup takes graph control.
The reserve is a file of the size that they need. It is made as soon as a disk runs low, given up when there is no space
left, and made again afterwards. Object stores need none.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from omnigraph.errors import StorageError
from omnigraph.ids import new_ulid
from omnigraph.storage.base.derived import drop_everything
from omnigraph.storage.base.errors import is_full_disk
from omnigraph.storage.base.layout import RESERVE, Root
from omnigraph.storage.lance.version_files import newest_local_file

_LOW_BYTES = 256 << 20
_LEAST_BYTES = 1 << 20
# Every step of graph control is a commit of the manifest: a small data file, and a version file with the whole history.
_STEPS = 8
# A disk that is nearly full already keeps its space for the work itself.
_SHARE = 4

_T = TypeVar("_T")


def keep_reserve(root: Root) -> None:
    """Make the reserve if the disk runs low and has room for it; never raises."""
    if not root.is_local:
        return
    with suppress(OSError):
        space = os.statvfs(root.uri)
        free = space.f_bavail * space.f_frsize
        if free < _LOW_BYTES and not os.path.exists(root.child(RESERVE)):
            size = _size(root)
            if free >= _SHARE * size:
                _make(root.child(RESERVE), size)


def on_full_disk(root: Root, work: Callable[[], _T]) -> _T:
    """Do what frees space; without space once more with the reserve, then without what can be computed again."""
    for make_room in (_give_up_reserve, drop_everything):
        try:
            return work()
        except StorageError as error:
            if not root.is_local or not is_full_disk(error):
                raise
            make_room(root)
    try:
        return work()
    except StorageError as error:
        if not is_full_disk(error):
            raise
        needed = _size(root) >> 10
        raise StorageError(
            f"{error.message}; free about {needed} KiB on the disk of '{root.uri}', then run cleanup", kind=error.kind
        ) from error


def _give_up_reserve(root: Root) -> None:
    with suppress(OSError):
        os.unlink(root.child(RESERVE))


def _size(root: Root) -> int:
    newest = newest_local_file(root.manifest())
    return max(_LEAST_BYTES, _STEPS * (newest.size if newest is not None else 0))


def _make(path: str, size: int) -> None:
    draft = f"{path}#{new_ulid()}"
    try:
        with open(draft, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)
        os.replace(draft, path)
    except OSError:
        with suppress(OSError):
            os.unlink(draft)
        raise
