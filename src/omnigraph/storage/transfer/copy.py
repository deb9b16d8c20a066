"""Copies files between two stores in parallel, skips what is there already, and proves that each is what was sent."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from threading import Lock

from omnigraph.errors import Corrupt, StorageError
from omnigraph.storage.base.objects import Objects
from omnigraph.storage.base.objects_local import LocalObjects

Report = Callable[[int, int], None]
"""Called with the bytes that are done, and all of them."""

_THREADS = 8  # they wait for answers
_LOCAL_THREADS = 4  # they work


@dataclass(frozen=True, slots=True)
class Item:
    """One file to copy: its name at the source, its name at the target, its size, its SHA-256 where it is known."""

    source: str
    target: str
    size: int
    digest: str | None = None


def digest_of(objects: Objects, name: str) -> str:
    """The SHA-256 of one object."""
    found = hashlib.sha256()
    for piece in objects.read_pieces(name):
        found.update(piece)
    return found.hexdigest()


def digests_of(objects: Objects, names: Sequence[str]) -> Iterator[str]:
    """The SHA-256 of each object, several at a time."""
    with _pool(_LOCAL_THREADS if isinstance(objects, LocalObjects) else _THREADS) as pool:
        yield from pool.map(lambda name: digest_of(objects, name), names)


def copy_items(
    source: Objects,
    target: Objects,
    items: Sequence[Item],
    *,
    present: Mapping[str, int],
    verify: bool = True,
    report: Report | None = None,
    stage: Callable[[Item], object] | None = None,
) -> None:
    """Copy every item; all of them are stored for good when this returns.

    `present` are files at the target with their sizes: one of the right size is taken over after it was compared with
    the source. With `stage`, neighbours of one stage are copied side by side and stages one after the other; without it
    everything is copied side by side.
    """
    progress = _Progress(report, sum(item.size for item in items))
    if isinstance(source, LocalObjects) and isinstance(target, LocalObjects):
        local = _LocalCopy(source, target, present, verify=verify, progress=progress)
        with _pool(_LOCAL_THREADS) as pool:
            list(pool.map(local.one, items))  # a directory is complete once it is under its name: stages mean nothing
        target.sync_names(item.target for item in items)
        return
    work = _Copy(source, target, present, verify=verify, progress=progress)
    with _pool(_THREADS) as pool:
        for _, group in groupby(items, key=stage or (lambda item: None)):
            list(pool.map(work.one, group))


def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="omnigraph-copy")


class _Progress:
    def __init__(self, report: Report | None, total: int) -> None:
        self._report, self._total = report, total
        self._done = 0
        self._lock = Lock()

    def advance(self, amount: int) -> None:
        if self._report is None:
            return
        with self._lock:
            self._done += amount
            self._report(min(self._done, self._total), self._total)


class _Copy:
    """Between stores of any kind: bytes are hashed on their way, and once more as they read back."""

    def __init__(
        self, source: Objects, target: Objects, present: Mapping[str, int], *, verify: bool, progress: _Progress
    ) -> None:
        self._source, self._target, self._present = source, target, present
        self._verify, self._progress = verify, progress

    def one(self, item: Item) -> None:
        if self._present.get(item.target) == item.size and self._is_right(item):
            return self._progress.advance(item.size)
        sent = hashlib.sha256()
        self._target.write_pieces(item.target, self._hashed(item, sent))
        digest = sent.hexdigest()
        if item.digest is not None and digest != item.digest:
            self._target.delete(item.target)
            raise _damaged(item, digest)
        if self._verify and digest_of(self._target, item.target) != digest:
            raise _untrusted(item)
        return None

    def _is_right(self, item: Item) -> bool:
        return digest_of(self._target, item.target) == (item.digest or digest_of(self._source, item.source))

    def _hashed(self, item: Item, sent: hashlib._Hash) -> Iterator[bytes]:
        for piece in self._source.read_pieces(item.source):
            sent.update(piece)
            self._progress.advance(len(piece))
            yield piece


class _LocalCopy:
    """Between two directories: the file system copies, and what is on the disk then is compared with what it should be.

    A checksum that is known is compared with that of the copy; without one the copy is compared with the source byte by
    byte, which says more and costs a fraction of hashing both.
    """

    def __init__(
        self,
        source: LocalObjects,
        target: LocalObjects,
        present: Mapping[str, int],
        *,
        verify: bool,
        progress: _Progress,
    ) -> None:
        self._source, self._target, self._present = source, target, present
        self._verify, self._progress = verify, progress

    def one(self, item: Item) -> None:
        if self._present.get(item.target) == item.size and self._is_right(item):
            return self._progress.advance(item.size)
        self._target.copy_in(item.target, self._source, item.source, self._progress.advance)
        if (self._verify or item.digest is not None) and not self._is_right(item):
            self._target.delete(item.target)
            found = digest_of(self._source, item.source)
            raise _untrusted(item) if item.digest in (None, found) else _damaged(item, found)
        return None

    def _is_right(self, item: Item) -> bool:
        if item.digest is not None:
            return digest_of(self._target, item.target) == item.digest
        return self._target.equals(item.target, self._source, item.source)


def _damaged(item: Item, found: str) -> Corrupt:
    return Corrupt(f"'{item.source}' is damaged: its checksum is {found[:16]}…, expected {str(item.digest)[:16]}…")


def _untrusted(item: Item) -> StorageError:
    return StorageError(f"'{item.target}' does not read back as it was written; the target cannot be trusted")
