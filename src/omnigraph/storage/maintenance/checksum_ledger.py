"""What outlives removed versions of a table: checksums that their transactions kept, and that they were removed.

A data file lives on in later versions after the version that added it was removed, and the transaction with it. What it
kept is written down before, in one small object per lineage of a table under `__checksums/`; in another one, which
versions were removed on purpose, so that a version file which is lost can be told from those.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Sequence

from omnigraph.errors import OmnigraphError
from omnigraph.storage.base.layout import CHECKSUMS_DIR, Address
from omnigraph.storage.base.objects import Objects
from omnigraph.storage.base.store import Store
from omnigraph.storage.lance.checksums import Checksums, from_document, from_property, to_document
from omnigraph.storage.lance.reclaim import Reclaimed, existing_versions, reclaim_versions
from omnigraph.storage.lance.tables import TableHandle

_log = logging.getLogger("omnigraph.storage")


def remove_versions(store: Store, newest: TableHandle, versions: Sequence[int]) -> Reclaimed:
    """Remove versions of one lineage of a table and the files that only they need; checksums of the others stay."""
    try:
        _carry_over(store, newest, versions)
    except OmnigraphError as error:
        # Without them those files can still be read, only not be verified; a full disk must not stop a cleanup.
        _log.warning("checksums of %s could not be kept: %s", newest.address.path, error)
    recorded = _record(store, newest.address, versions)
    gone = reclaim_versions(newest, versions)
    if not recorded:
        _record(store, newest.address, versions)  # now that there is space again
    return gone


def removed_versions(objects: Objects, address: Address) -> frozenset[int]:
    """The versions of one lineage that were removed on purpose; what cannot be understood counts as absent."""
    text = objects.read_if_exists(_removed_name(address))
    try:
        ranges = json.loads(text or "[]")
        return frozenset(version for first, last in ranges for version in range(int(first), int(last) + 1))
    except (TypeError, ValueError):
        return frozenset()


def _record(store: Store, address: Address, versions: Iterable[int]) -> bool:
    """Note that versions are removed; False when there was no space for it."""
    try:
        known = removed_versions(store.objects, address)
        removed = known | set(versions)
        if removed != known:
            store.objects.write(_removed_name(address), json.dumps(_ranges(removed), separators=(",", ":")))
    except OmnigraphError as error:
        _log.warning("which versions of %s are removed could not be noted: %s", address.path, error)
        return False
    return True


def _ranges(versions: Iterable[int]) -> list[list[int]]:
    """Ranges of versions, first and last included.

    >>> _ranges([4, 1, 2, 3, 9])
    [[1, 4], [9, 9]]
    """
    found: list[list[int]] = []
    for version in sorted(versions):
        if found and found[-1][1] == version - 1:
            found[-1][1] = version
        else:
            found.append([version, version])
    return found


def known_checksums(objects: Objects, newest: TableHandle) -> Checksums:
    """Every checksum that is kept of files of one lineage."""
    return _carried(objects, newest.address) | _in_transactions(newest, existing_versions(newest))


def _carry_over(store: Store, newest: TableHandle, versions: Iterable[int]) -> None:
    if not newest.address.root.is_local:
        return
    found = _carried(store.objects, newest.address)
    kept = found | _in_transactions(newest, versions)
    there = {name: known for name, known in kept.items() if os.path.exists(f"{newest.address.uri}/{name}")}
    if there != found:
        store.objects.write(_name(newest.address), json.dumps(to_document(there), separators=(",", ":")))


def _in_transactions(newest: TableHandle, versions: Iterable[int]) -> Checksums:
    found: Checksums = {}
    for version in versions:
        made = newest.transaction(version)
        if made is not None:
            found |= from_property(made.properties)
    return found


def _carried(objects: Objects, address: Address) -> Checksums:
    text = objects.read_if_exists(_name(address))
    try:
        return from_document(json.loads(text or "{}"))
    except ValueError:
        return {}


def _removed_name(address: Address) -> str:
    return _name(address).removesuffix(".json") + ".removed.json"


def _name(address: Address) -> str:
    return f"{CHECKSUMS_DIR}/{address.path.replace('/', '%2F')}.json"
