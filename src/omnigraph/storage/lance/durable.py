"""Which files of a dataset have to be on the disk before a step may count: data ahead of the version that shows it.

Transactions are left out, because each version file repeats its own, and so is the hint at the newest version, which is
not believed when it is wrong. Versions of tables are synced when they are published, all of a commit at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from omnigraph.storage.base.layout import Address, Root, ref_file
from omnigraph.storage.base.syncing import sync_paths, with_directories
from omnigraph.storage.lance.checksums import written_files
from omnigraph.storage.lance.version_files import version_name

_INDICES = "_indices"


def sync_data(address: Address, fragments: Iterable[Any]) -> None:
    """Wait for the files that were just written for fragments."""
    if address.root.syncs:
        _sync(address, {name for fragment in fragments for name in written_files(address, fragment)})


def sync_staged(address: Address, files: Iterable[str], indexes: Iterable[str]) -> None:
    """Wait for files of a transaction that were not written as data, and for its indexes, before it is committed."""
    if address.root.syncs:
        _sync(address, {*files, *_index_files(address, indexes)})


def sync_versions(root: Root, lineages: Iterable[tuple[str, Iterable[int]]]) -> None:
    """Wait for version files of several datasets at once; each lineage by its path below the root."""
    if root.syncs:
        found = [(f"{root.uri}/{path}", [version_name(each) for each in versions]) for path, versions in lineages]
        sync_paths(path for directory, names in found for path in with_directories(directory, names) - {directory})


def sync_created(address: Address, version: int) -> None:
    """Wait for the first version of a dataset, and for the directories on the way to it."""
    if address.root.syncs:
        sync_paths(with_directories(address.root.uri, [f"{address.path}/{version_name(version)}"]))


def sync_successor(address: Address, before: Any, after: Any, indexes: Iterable[str] = ()) -> None:
    """Wait for everything that one version of a lineage has and an earlier one has not."""
    if not address.root.syncs:
        return
    known = {fragment.fragment_id: fragment.metadata for fragment in before.get_fragments()}
    changed = [found for each in after.get_fragments() if _files(found := each.metadata) != _files(known.get(found.id))]
    names = {name for fragment in changed for name in written_files(address, fragment)}
    _sync(address, names | _index_files(address, indexes))
    # Afterwards, so that a version which is on the disk has its data there; without it the version is not a file yet.
    _sync(address, {version_name(version) for version in range(before.version + 1, after.version + 1)})


def sync_whole(address: Address, version: Any) -> None:
    """Wait for all files of a version: another process, or an attempt that failed, may not have waited for them."""
    if address.root.syncs:
        _sync(address, {name for each in version.get_fragments() for name in written_files(address, each.metadata)})
        _sync(address, {version_name(version.version)})


def sync_ref(trunk: Address, name: str) -> None:
    """Wait for a new ref of a dataset: its file, and the version that its own lineage begins with."""
    if not trunk.root.syncs:
        return
    lineage = trunk.on(name).path
    versions = f"{lineage}/_versions"
    first = [f"{versions}/{found}" for found in _listed(f"{trunk.root.uri}/{versions}") if found.endswith(".manifest")]
    sync_paths(with_directories(trunk.root.uri, [f"{trunk.location}/{ref_file(name)}", *first]))


def index_names(address: Address) -> frozenset[str]:
    """The indexes that have files in a lineage now, for `sync_successor`; none where nothing is synced."""
    return frozenset(_listed(f"{address.uri}/{_INDICES}")) if address.root.syncs else frozenset()


def _files(fragment: Any) -> tuple[Any, ...] | None:
    """What is another file, or a further one, where a later version shows a fragment of the same number."""
    return None if fragment is None else (fragment.files, fragment.deletion_file)


def _sync(address: Address, names: set[str]) -> None:
    sync_paths(with_directories(address.uri, names) if names else ())


def _index_files(address: Address, indexes: Iterable[str]) -> set[str]:
    folders = [f"{_INDICES}/{name}" for name in indexes]
    return {f"{folder}/{name}" for folder in folders for name in _listed(f"{address.uri}/{folder}")}


def _listed(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return []
