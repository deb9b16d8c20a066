"""The newest version of a manifest, opened again only when its version file is another one than last time."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph import host
from omnigraph.errors import Corrupt
from omnigraph.memory.cache import CacheKind
from omnigraph.storage.base.layout import Address
from omnigraph.storage.base.objects import client_of
from omnigraph.storage.base.watching import Watch, watch
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.datasets import is_current
from omnigraph.storage.lance.handle import TableHandle
from omnigraph.storage.lance.version_files import (
    FileIdentity,
    has_successor,
    hinted_version,
    newest_local_file,
    newest_remote_file,
    version_name,
)

# Versions of a manifest on an object store stay for at least five seconds after they were made (`trim`), by dates of
# whole seconds that some stores take when a file begins to arrive.
LISTING_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _Tip:
    file: FileIdentity
    handle: TableHandle
    listed: _Moment
    watch: Watch | None = None


@dataclass(frozen=True, slots=True)
class _Moment:
    """When storage was asked, by two clocks: one of them goes on while a machine sleeps, the other is never set."""

    monotonic: float
    wall: float

    def is_recent(self) -> bool:
        passed = max(host.monotonic() - self.monotonic, abs(host.time_ns() / 1e9 - self.wall))
        return passed < LISTING_SECONDS


_TIPS: CacheKind[_Tip] = CacheKind("newest manifests", lambda tip: 64 << 10, entries=64)


def open_tip(address: Address) -> TableHandle:
    """The newest version of a manifest; refused when a newer one is known to have been there.

    Storage is asked every time which file is newest. Opening that file costs a millisecond, asking some microseconds;
    a version file never changes, so the same file means the same content. On an object store asking is one request: a
    listing, and within seconds after it the question whether the next version is there, which costs half as much. On
    a disk a directory of versions in which nothing was changed for seconds is only asked whether that still holds.
    """
    unchanged = known_tip(address)
    if unchanged is not None:
        return unchanged
    known = address.root.memory.cache(_TIPS).get(address.uri)
    if known is not None and not address.root.is_local and _is_still_newest(address, known):
        return known.handle
    asked = _Moment(host.monotonic(), host.time_ns() / 1e9)
    found = _newest_file(address)
    if found is None:
        return _opened(address)
    handle = known.handle if known is not None and known.file == found else _opened(address)
    if handle.version == found.version:
        address.root.memory.cache(_TIPS).put(address.uri, _Tip(found, handle, asked))
    return handle


def known_tip(address: Address) -> TableHandle | None:
    """The same for a manifest on a disk whose newest version was opened before; None when there is more to do."""
    tips = address.root.memory.cache(_TIPS)
    known = tips.get(address.uri) if address.root.is_local else None
    if known is None or (known.watch is not None and known.watch.is_unchanged()):
        return None if known is None else known.handle
    # Before it is found out what is newest: what changes from here on shows.
    settled = _watched(address, known.file.version)
    if newest_local_file(address) != known.file:
        return None
    tips.put(address.uri, _Tip(known.file, known.handle, known.listed, settled))
    return known.handle


def watch_of(handle: TableHandle) -> Watch | None:
    """What shows that a version which was opened here is still the newest; None where storage has to be asked."""
    known = handle.address.root.memory.cache(_TIPS).get(handle.address.uri)
    return known.watch if known is not None and known.handle is handle else None


def note_tip(handle: TableHandle) -> None:
    """Spare the next one who asks from opening a version of a manifest that this process has just made."""
    address = handle.address
    found = newest_local_file(address) if address.root.is_local else None
    if found is not None and found.version == handle.version and is_current(handle):
        moment = _Moment(host.monotonic(), host.time_ns() / 1e9)
        address.root.memory.cache(_TIPS).put(address.uri, _Tip(found, handle, moment))


def _watched(address: Address, version: int) -> Watch | None:
    return watch(f"{address.uri}/_versions", f"{address.uri}/{version_name(version)}")


def forget_tip(address: Address) -> None:
    """A newer version is known to be there: the next one who asks need not ask for it by its name first."""
    if not address.root.is_local:
        address.root.memory.cache(_TIPS).forget(address.uri)


def _is_still_newest(address: Address, known: _Tip) -> bool:
    """Whether nothing came after a version that was the newest a moment ago.

    Versions come without gaps, and one that came after the listing cannot be gone yet.
    """
    if not known.listed.is_recent() or has_successor(client_of(address.root), address, known.file.version):
        return False
    return known.listed.is_recent()  # the answer may have taken long


def _newest_file(address: Address) -> FileIdentity | None:
    if address.root.is_local:
        return newest_local_file(address)
    return newest_remote_file(client_of(address.root), address)


def _opened(address: Address) -> TableHandle:
    """Opened now; an older manifest looks perfectly sound, and the next writer would undo what the lost one had.

    What a power cut took before it was acknowledged is not such a loss; its hint goes with it (`discard_unwritten`).
    """
    known = hinted_version(address.uri) if address.root.is_local else None  # before opening: only later ones may come
    handle = tables.open_table(address, control=True)
    if known is not None and known > handle.version and hinted_version(address.uri) is not None:
        raise Corrupt(f"{address.uri}: version {known} is missing; restore its file in _versions from a backup")
    return handle
