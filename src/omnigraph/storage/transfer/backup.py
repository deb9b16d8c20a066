"""Backups: consistent states of a graph in a store of their own, where equal files are kept once.

A backup directory has `objects/`, every file under its SHA-256, and `snapshots/`, a document per backup that says which
file has which content. A backup sends only what the store lacks. A restore is a clone out of such a document.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from omnigraph.display import Displayed
from omnigraph.errors import BadRequest, Conflict, Corrupt, NotFound, StorageError
from omnigraph.ids import new_ulid
from omnigraph.storage.base.layout import MANIFEST, Root
from omnigraph.storage.base.objects import Objects, open_objects
from omnigraph.storage.base.store import Store
from omnigraph.storage.transfer.clone import CopyReport, Place, refuse_same_place, unless_reclaimed
from omnigraph.storage.transfer.copy import Item, Report, copy_items, digest_of, digests_of
from omnigraph.storage.transfer.listing import Listing, capture_listing

_FORMAT = 1
_SNAPSHOTS = "snapshots"
_OBJECTS = "objects"
# Files of these directories have names that are never used again, so an earlier backup of one need not be read again.
_UNIQUE = ("/data/", "/_indices/", "/_deletions/")


@dataclass(frozen=True, slots=True, repr=False)
class BackupSnapshot(Displayed):
    """One backup: when it was made, of what, and at which commits."""

    id: str
    created_at: datetime
    source: str
    heads: Mapping[str, str | None]
    files: Mapping[str, tuple[int, str]]
    texts: Mapping[str, str]

    @property
    def bytes(self) -> int:
        """The size of the graph in this backup."""
        return sum(size for size, _ in self.files.values())

    def to_json(self) -> dict[str, Any]:
        """What lists of backups show."""
        return {
            "id": self.id,
            "created_at": self.created_at.isoformat(),
            "source": self.source,
            "files": len(self.files),
            "bytes": self.bytes,
            "heads": dict(self.heads),
        }


def back_up(source: Store, target: Root, *, verify: bool = True, report: Report | None = None) -> CopyReport:
    """Add a backup of the newest state of every branch; the graph may be written to meanwhile."""
    refuse_same_place(source.root, target)
    started = perf_counter()
    objects = open_objects(target)
    if objects.exists(MANIFEST):
        raise Conflict(f"'{target.uri}' holds a graph; backups need a place of their own")
    known = {name: (size, digest) for each in list_backups(target) for name, (size, digest) in each.files.items()}

    def send() -> tuple[Listing, dict[str, tuple[int, str]], list[str]]:
        listing = capture_listing(source)
        return listing, *_send(source.objects, objects, listing, known, verify=verify, report=report)

    listing, files, sent = unless_reclaimed(send)
    # The document comes last: a backup that breaks off leaves objects that the next one takes over, and no snapshot.
    document = {
        "format": _FORMAT,
        "created_at": datetime.now(UTC).isoformat(),
        "source": source.root.uri,
        "heads": dict(listing.heads),
        "files": {name: list(found) for name, found in sorted(files.items())},
        "texts": dict(listing.texts),
    }
    objects.write(f"{_SNAPSHOTS}/{new_ulid()}.json", json.dumps(document))
    seconds = perf_counter() - started
    sizes = [files[name][0] for name in sent]
    return CopyReport(target.uri, len(files), listing.total, len(sent), sum(sizes), seconds, dict(listing.heads))


def list_backups(target: Root) -> list[BackupSnapshot]:
    """Every backup at a place, oldest first."""
    objects = open_objects(target)
    names = sorted(name for name in objects.list_dir(_SNAPSHOTS) if name.endswith(".json"))
    return [_decoded(name.removesuffix(".json"), objects.read(f"{_SNAPSHOTS}/{name}")) for name in names]


def find_backup(target: Root, wanted: str | None) -> BackupSnapshot:
    """The backup of an id or of the beginning of one; the newest without a name."""
    found = list_backups(target)
    if not found:
        raise NotFound(f"there are no backups at '{target.uri}'")
    if wanted is None:
        return found[-1]
    fitting = [each for each in found if each.id.startswith(wanted.upper())]
    if len(fitting) != 1:
        problem = "is ambiguous" if fitting else "is not the id of a backup"
        raise NotFound(f"'{wanted}' {problem} at '{target.uri}' (newest: {found[-1].id})")
    return fitting[0]


def restore(
    source: Root,
    target: Root,
    *,
    backup: str | None = None,
    resume: bool = False,
    verify: bool = True,
    report: Report | None = None,
) -> CopyReport:
    """Make a graph of a backup at a place where nothing is yet; every file is checked against its checksum."""
    refuse_same_place(source, target)
    snapshot = find_backup(source, backup)
    place = Place(target, resume=resume)
    place.begin({"source": source.uri, "backup": snapshot.id})
    listing = Listing({name: size for name, (size, _) in snapshot.files.items()}, snapshot.texts, snapshot.heads)
    items = [Item(_object(snapshot.files[name][1]), name, *snapshot.files[name]) for name in listing.ordered()]
    return place.fill(open_objects(source), listing, items, verify=verify, report=report)


def prune_backups(target: Root, *, keep: int) -> tuple[list[str], int]:
    """Remove all but the newest `keep` backups and what only they needed; their ids, and the bytes that were freed."""
    if keep < 1:
        raise BadRequest("keep at least one backup; to remove all of them, remove the directory")
    found = list_backups(target)
    objects = open_objects(target)
    gone = found[:-keep]
    # Documents first: objects that are still listed when this breaks off go with the next run.
    for each in gone:
        objects.delete(f"{_SNAPSHOTS}/{each.id}.json")
    needed = {digest for each in found[-keep:] for _, digest in each.files.values()}
    freed = 0
    for name, size in objects.list_sizes(_OBJECTS).items():
        if name.rpartition("/")[2] not in needed:
            objects.delete(name)
            freed += size
    return [each.id for each in gone], freed


def verify_backup(target: Root, snapshot: BackupSnapshot, report: Report | None = None) -> list[str]:
    """The files of a backup that are missing or damaged."""
    objects = open_objects(target)
    wrong, done = [], 0
    for name, (size, digest) in snapshot.files.items():
        try:
            if digest_of(objects, _object(digest)) != digest:
                wrong.append(name)
        except StorageError as error:
            if error.kind != "NotFound":
                raise
            wrong.append(name)
        done += size
        if report is not None:
            report(done, snapshot.bytes)
    return wrong


def _send(
    source: Objects,
    target: Objects,
    listing: Listing,
    known: Mapping[str, tuple[int, str]],
    *,
    verify: bool,
    report: Report | None,
) -> tuple[dict[str, tuple[int, str]], list[str]]:
    """Send what the store lacks; the digest of every file, and the names of those that were sent."""
    held = {name.rpartition("/")[2] for name in target.list_sizes(_OBJECTS)}
    files = dict(_digests(source, listing, known, held))
    wanted: dict[str, Item] = {}
    for name, (size, digest) in files.items():
        if digest not in held:
            wanted.setdefault(digest, Item(name, _object(digest), size, digest))
    copy_items(source, target, list(wanted.values()), present={}, verify=verify, report=report)
    return files, [item.source for item in wanted.values()]


def _digests(
    source: Objects, listing: Listing, known: Mapping[str, tuple[int, str]], held: set[str]
) -> Iterator[tuple[str, tuple[int, str]]]:
    unknown = []
    for name, size in listing.files.items():
        before = known.get(name)
        if before is not None and before[0] == size and before[1] in held and any(part in name for part in _UNIQUE):
            yield name, before
        else:
            unknown.append(name)
    for name, digest in zip(unknown, digests_of(source, unknown), strict=True):
        yield name, (listing.files[name], digest)


def _object(digest: str) -> str:
    return f"{_OBJECTS}/{digest[:2]}/{digest}"


def _decoded(id: str, text: str) -> BackupSnapshot:
    try:
        found = json.loads(text)
        if found["format"] != _FORMAT:
            raise BadRequest(f"backup {id} has format {found['format']}; this release reads format {_FORMAT}")
        files = {name: (int(size), str(digest)) for name, (size, digest) in found["files"].items()}
        created = datetime.fromisoformat(found["created_at"])
        return BackupSnapshot(id, created, found["source"], found["heads"], files, found["texts"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Corrupt(f"the document of backup {id} is damaged: {error}") from error
