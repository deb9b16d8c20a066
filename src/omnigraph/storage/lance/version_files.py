"""Version files of a dataset: which one is newest, and the evidence that a pin records about one."""

from __future__ import annotations

import json
import logging
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from omnigraph import host
from omnigraph.errors import Corrupt, StorageError
from omnigraph.memory.cache import CacheKind
from omnigraph.storage.base.errors import translated
from omnigraph.storage.base.layout import Address
from omnigraph.storage.base.objects import ObjectInfo, Objects
from omnigraph.storage.base.syncing import machine_started_at
from omnigraph.storage.lance.checksums import checksum_of
from omnigraph.storage.lance.evidence import VersionEvidence

_log = logging.getLogger("omnigraph.storage")

_MAX_VERSION = (1 << 64) - 1
_HINT = "latest_version_hint.json"
_LONGEST_HINT = 4_096
_MAGIC = b"LANC"  # the last bytes of every version file
# Lance writes the hint milliseconds after the version it names. One that came later may be the work of a process that
# slept in between, while newer versions landed and those right above the named one were removed.
_LATE_HINT_NS = 500_000_000
# Versions that others may be committing on stay for twice as long (`trim`).
LONG_COMMIT_SECONDS = 2.5

# The newest version that was seen in a directory: a hint that says less is not believed.
_HINTS: CacheKind[int] = CacheKind("version hints", lambda version: 512, entries=256)
_SEEN: CacheKind[int] = CacheKind("newest versions", lambda version: 256, entries=16_384)


def version_evidence(objects: Objects, address: Address, version: int) -> VersionEvidence:
    """What identifies a version's file: its path below the root, size, checksum and, on object stores, its e-tag.

    Reading a few kilobytes back that were just written costs microseconds on a disk, and a round trip elsewhere.
    """
    scheme, path, info = _version_file(objects, address, version)
    if not address.root.is_local:
        return VersionEvidence(path, info.size, info.e_tag, scheme)
    with translated(address.uri, version=version):
        found = checksum_of(f"{address.root.uri}/{path}")
    return VersionEvidence(path, found.size, info.e_tag, scheme, found.crc32)


def has_version_file(objects: Objects, address: Address, version: int) -> bool:
    """Whether the file of a version is there."""
    try:
        _version_file(objects, address, version)
    except StorageError as error:
        if error.kind != "NotFound":
            raise
        return False
    return True


def listed_versions(objects: Objects, address: Address) -> frozenset[int]:
    """The versions of a lineage whose files are there; by one listing, and none of them is opened."""
    names = objects.list_dir(f"{address.path}/_versions")
    found = (_version_named(name) or _former_version(name) for name in names)
    return frozenset(version for version in found if version is not None)


def _former_version(name: str) -> int | None:
    stem, _, suffix = name.rpartition("/")[2].partition(".")
    return int(stem) if suffix == "manifest" and stem.isdecimal() else None


def version_modified_at(objects: Objects, address: Address, version: int) -> float:
    """When a version was committed, by the clock of the store, in seconds since 1970."""
    return _version_file(objects, address, version)[2].modified_at


def _version_file(objects: Objects, address: Address, version: int) -> tuple[str, str, ObjectInfo]:
    for scheme, name in (("V2", _v2_name(version)), ("V1", f"{version}.manifest")):
        path = f"{address.path}/_versions/{name}"
        info = objects.stat(path)
        if info is not None:
            return scheme, path, info
    raise StorageError(f"{address.uri}: version {version} has no version file", kind="NotFound")


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """A version and what identifies its file among those of the same name: its inode, on object stores its tag."""

    version: int
    tag: int | str
    modified_ns: int
    size: int


def newest_local_file(address: Address) -> FileIdentity | None:
    """The file of the newest version of a local dataset, or None when only opening it can tell."""
    version = newest_local_version(address)
    found = None if version is None else _stat(f"{address.uri}/_versions/{_v2_name(version)}")
    if version is None or found is None:
        return None
    return FileIdentity(version, found.st_ino, found.st_mtime_ns, found.st_size)


def newest_remote_file(objects: Objects, address: Address) -> FileIdentity | None:
    """The file of the newest version of a dataset on an object store, by one listing; None when that cannot tell."""
    found = objects.list_infos(f"{address.path}/_versions")
    known = [(version, info) for name, info in found.items() if (version := _version_named(name)) is not None]
    version, info = max(known, key=lambda each: each[0], default=(0, None))
    if info is None or info.e_tag is None:
        return None
    return FileIdentity(version, info.e_tag, int(info.modified_at * 1_000_000_000), info.size)


def has_successor(objects: Objects, address: Address, version: int) -> bool:
    """Whether the file of the version after this one is there, by one request for its description."""
    return objects.stat(f"{address.path}/_versions/{_v2_name(version + 1)}") is not None


def _version_named(path: str) -> int | None:
    """The version of a file in `_versions`; None for another file, and for one in the former naming."""
    stem, _, suffix = path.rpartition("/")[2].partition(".")
    return _MAX_VERSION - int(stem) if suffix == "manifest" and len(stem) == 20 and stem.isdecimal() else None


def newest_local_version(address: Address, *, at_least: int = 0) -> int | None:
    """The newest version of a local dataset in constant time, or None when only a listing can tell.

    Lance lists the whole version directory (4 ms at 10,000 versions). Versions are numbered without gaps at the
    top, so it is enough to start from the hint that lance leaves beside them and to walk up while files exist.
    """
    directory = address.uri
    versions = f"{directory}/_versions"
    hint, here = _read_hint(directory), _stat(versions)
    start = None if hint is None else _remembered_version(address, hint.text)
    named = None if start is None else _stat(f"{versions}/{_v2_name(start)}")
    if here is None or hint is None or start is None or named is None:
        return None
    if hint.written_ns - named.st_mtime_ns > _LATE_HINT_NS:
        return None
    newest = _climb(versions, start)
    seen, place = address.root.memory.cache(_SEEN), (directory, here.st_ino)
    before = seen.get(place) or 0
    if newest < max(at_least, before):
        return None
    if newest > before:
        seen.put(place, newest)
    return newest


def discard_unwritten(address: Address, *, above: int) -> bool:
    """Remove the newest version file of a local dataset if it is what a power cut has left; whether it was.

    Asked when the dataset could not be opened. `above` is a version that was published, and so was on the disk.

    Lance gives a version file its name when it is complete. One without any byte, from before this machine was started,
    is a commit that the disk never had: it was not acknowledged (`durable`). An empty file of later is damage.
    """
    if not address.root.is_local or address.root.read_only:
        return False
    versions = [_version_named(name) or 0 for name in _listed(f"{address.uri}/_versions")]
    path = f"{address.uri}/{version_name(max(versions, default=0))}"
    found = _stat(path)
    if max(versions, default=0) <= above or found is None or found.st_size or found.st_mtime > machine_started_at():
        return False
    _log.warning("%s is empty: a power cut took the commit before it was acknowledged; it is removed", path)
    for lost in (path, f"{address.uri}/_versions/{_HINT}"):  # the hint may name it
        with translated(address.uri), suppress(FileNotFoundError):
            os.unlink(lost)
    return True


def _listed(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def refuse_damaged(address: Address, version: int, crc32: int | None = None) -> None:
    """Raise Corrupt when the local file of a version is not what was written; one that is absent passes.

    Without a checksum it is only looked whether the file ends as every version file does.
    """
    path = f"{address.uri}/_versions/{_v2_name(version)}"
    if crc32 is not None:
        return _refuse_changed(path, crc32)
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        size = os.lseek(file, 0, os.SEEK_END)
        os.lseek(file, max(size - len(_MAGIC), 0), os.SEEK_SET)
        if os.read(file, len(_MAGIC)) != _MAGIC:
            raise Corrupt(f"{path} is damaged: it ends after {size} bytes; restore it from a backup")
    finally:
        os.close(file)


def _refuse_changed(path: str, crc32: int) -> None:
    try:
        found = checksum_of(path)
    except OSError:
        return
    if found.crc32 != crc32:
        raise Corrupt(
            f"{path} is damaged: CRC-32 {found.crc32:08x} instead of {crc32:08x}, in {found.size} bytes; "
            "restore it from a backup"
        )


def version_name(version: int) -> str:
    """The file of a version, relative to the directory of its lineage."""
    return f"_versions/{_v2_name(version)}"


def hinted_version(directory: str) -> int | None:
    """The version that lance noted down after committing it; a later one may exist, but this one did."""
    hint = _read_hint(directory)
    return None if hint is None else _version_in(hint.text)


def slept(address: Address, started: float) -> bool:
    """Whether a commit took so long that others may have gone far ahead; the hint it has left is then taken away."""
    if host.monotonic() - started < LONG_COMMIT_SECONDS:
        return False
    if address.root.is_local:
        with suppress(OSError):
            os.unlink(f"{address.uri}/_versions/{_HINT}")  # until the next commit every reader lists
    return True


class _Hint(NamedTuple):
    text: bytes
    written_ns: int


def _read_hint(directory: str) -> _Hint | None:
    try:
        # Asked before every read: a buffered text file would cost more than all the rest of the question.
        file = os.open(f"{directory}/_versions/{_HINT}", os.O_RDONLY)
        try:
            # Written beside its place and then moved there: only the second changes the time of the last status change.
            return _Hint(os.read(file, _LONGEST_HINT), os.fstat(file).st_ctime_ns)
        finally:
            os.close(file)
    except OSError:
        return None


def _remembered_version(address: Address, hint: bytes) -> int | None:
    """What a hint says; asked before every read, and the text is mostly the one of last time."""
    hints = address.root.memory.cache(_HINTS)
    known = hints.get(hint)
    if known is None:
        known = _version_in(hint)
        if known is not None:
            hints.put(hint, known)
    return known


def _version_in(hint: bytes) -> int | None:
    try:
        version = int(json.loads(hint)["version"])
    except (ValueError, KeyError, TypeError):
        return None
    return version if version >= 1 else None


def _climb(versions: str, start: int) -> int:
    """The greatest version reachable from `start` without a gap, by doubling steps and bisection."""
    low, step = start, 1
    while _exists(versions, low + step):
        low, step = low + step, step * 2
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _exists(versions, middle) else (low, middle)
    return low


def _exists(versions: str, version: int) -> bool:
    return _stat(f"{versions}/{_v2_name(version)}") is not None


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def _v2_name(version: int) -> str:
    return f"{_MAX_VERSION - version:020d}.manifest"
