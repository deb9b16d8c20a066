"""The newest version of a manifest, opened again only when its version file is another one than last time."""

from __future__ import annotations

from omnigraph.errors import Corrupt
from omnigraph.memory.cache import CacheKind
from omnigraph.storage.base.layout import Address
from omnigraph.storage.base.objects import client_of
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.handle import TableHandle
from omnigraph.storage.lance.version_files import FileIdentity, hinted_version, newest_local_file, newest_remote_file

_TIPS: CacheKind[tuple[FileIdentity, TableHandle]] = CacheKind("newest manifests", lambda tip: 64 << 10, entries=64)


def open_tip(address: Address) -> TableHandle:
    """The newest version of a manifest; refused when a newer one is known to have been there.

    Storage is asked every time which file is newest. Opening that file costs a millisecond, asking some microseconds;
    a version file never changes, so the same file means the same content. On an object store asking is one listing.
    """
    found = _newest_file(address)
    if found is None:
        return _opened(address)
    tips = address.root.memory.cache(_TIPS)
    known = tips.get(address.uri)
    if known is not None and known[0] == found:
        return known[1]
    handle = _opened(address)
    if handle.version == found.version:
        tips.put(address.uri, (found, handle))
    return handle


def _newest_file(address: Address) -> FileIdentity | None:
    if address.root.is_remote:
        return newest_remote_file(client_of(address.root), address)
    return newest_local_file(address) if address.root.is_local else None


def _opened(address: Address) -> TableHandle:
    """Opened now; an older manifest looks perfectly sound, and the next writer would undo what the lost one had."""
    known = hinted_version(address.uri) if address.root.is_local else None  # before opening: only later ones may come
    handle = tables.open_table(address, control=True)
    if known is not None and known > handle.version:
        raise Corrupt(f"{address.uri}: version {known} is missing; restore its file in _versions from a backup")
    return handle
