"""Copies files between two stores in parallel, skips what is there already, and proves each by its checksum."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from threading import Lock

from omnigraph.errors import Corrupt, StorageError
from omnigraph.storage.base.objects import Objects

Report = Callable[[int, int], None]
"""Called with the bytes that are done, and all of them."""

THREADS = 8


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


def copy_items(
    source: Objects,
    target: Objects,
    items: Sequence[Item],
    *,
    present: Mapping[str, int],
    verify: bool = True,
    report: Report | None = None,
    stage: Callable[[Item], object] | None = None,
) -> dict[str, str]:
    """Copy every item, and return the SHA-256 of each by its name at the target.

    `present` are files at the target with their sizes: one of the right size is taken over after its checksum was
    compared with the source's. With `stage`, neighbours of one stage are copied side by side and stages one after the
    other; without it everything is copied side by side.
    """
    work = _Copy(source, target, present, verify=verify, report=report, total=sum(item.size for item in items))
    with ThreadPoolExecutor(THREADS, thread_name_prefix="omnigraph-copy") as pool:
        for _, group in groupby(items, key=stage or (lambda item: None)):
            for item, digest in zip(batch := list(group), pool.map(work.one, batch), strict=True):
                work.digests[item.target] = digest
    return work.digests


class _Copy:
    def __init__(
        self,
        source: Objects,
        target: Objects,
        present: Mapping[str, int],
        *,
        verify: bool,
        report: Report | None,
        total: int,
    ) -> None:
        self._source, self._target, self._present = source, target, present
        self._verify, self._report, self._total = verify, report, total
        self._done = 0
        self._lock = Lock()
        self.digests: dict[str, str] = {}

    def one(self, item: Item) -> str:
        if self._present.get(item.target) == item.size:
            found = digest_of(self._target, item.target)
            if found == (item.digest or digest_of(self._source, item.source)):
                self._advance(item.size)
                return found
        sent = hashlib.sha256()
        self._target.write_pieces(item.target, self._hashed(item, sent))
        digest = sent.hexdigest()
        if item.digest is not None and digest != item.digest:
            self._target.delete(item.target)
            raise Corrupt(f"'{item.source}' is damaged: its checksum is {digest[:16]}…, expected {item.digest[:16]}…")
        if self._verify and digest_of(self._target, item.target) != digest:
            raise StorageError(f"'{item.target}' does not read back as it was written; the target cannot be trusted")
        return digest

    def _hashed(self, item: Item, sent: hashlib._Hash) -> Iterator[bytes]:
        for piece in self._source.read_pieces(item.source):
            sent.update(piece)
            self._advance(len(piece))
            yield piece

    def _advance(self, amount: int) -> None:
        if self._report is None:
            return
        with self._lock:
            self._done += amount
            self._report(min(self._done, self._total), self._total)
