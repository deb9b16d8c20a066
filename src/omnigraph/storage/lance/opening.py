"""Opening one dataset: at an exact version or at its newest, through caches or past them; and copies of one."""

from __future__ import annotations

from typing import Any

from omnigraph.errors import OmnigraphError, StorageError
from omnigraph.storage.base.errors import Missing, lacks_version_file, translated
from omnigraph.storage.base.layout import Address, Root
from omnigraph.storage.lance.datasets import below_root, control_session, drop_sessions, open_dataset, shared_session
from omnigraph.storage.lance.durable import sync_created
from omnigraph.storage.lance.handle import TableHandle
from omnigraph.storage.lance.version_files import discard_unwritten, newest_local_version, refuse_damaged

_OVERTAKEN_ATTEMPTS = 8


def open_table(
    address: Address,
    version: int | None = None,
    *,
    control: bool = False,
    at_least: int = 0,
    crc32: int | None = None,
    missing: Missing | None = None,
) -> TableHandle:
    """The dataset lineage at a version (None: the newest); `control` bypasses every cache for mutable tips.

    An explicit version that is gone raises HistoricalVersionReclaimed, or what `missing` makes of that and of every
    file that reads of the version find missing later; a missing dataset raises StorageError(NotFound).
    `at_least` is a version that must have been there: the newest is looked for in the listing if it seems to be older.
    `crc32` is what was noted of the file of an explicit version; one that differs is Corrupt.
    """
    if version is not None:
        with translated(address.uri, version=version, missing=missing):
            # An exact local version is immutable and cached under its file's identity, so control reads may share it.
            handle = _opened(address, version, crc32, shared=not control or address.root.is_local)
        handle.missing = missing
        return handle
    for remaining in reversed(range(_OVERTAKEN_ATTEMPTS)):
        newest = newest_local_version(address, at_least=at_least) if address.root.is_local else None
        try:
            with translated(address.uri):
                return _opened(address, newest, shared=not control or newest is not None)
        except OmnigraphError as error:
            if discard_unwritten(address, above=at_least):
                continue
            # A cleanup lets go of what was the newest version a moment ago, when a newer one has landed since.
            if not remaining or not (isinstance(error, StorageError) and lacks_version_file(error)):
                raise
    raise AssertionError("the last attempt returns or raises")


def forget_cached(root: Root) -> None:
    """Start over with empty caches: versions that were reclaimed must not be served from memory."""
    drop_sessions(root.memory)


def dataset_exists(address: Address) -> bool:
    """Whether a dataset with at least one version is at this address; other storage trouble is loud."""
    try:
        open_table(address, control=True)
    except StorageError as error:
        if error.kind == "NotFound":
            return False
        raise
    return True


def latest_version(address: Address) -> int:
    """The newest version of a lineage, read fresh."""
    return open_table(address, control=True).version


def clone(source: TableHandle, address: Address) -> TableHandle:
    """A new dataset at `address` with the content and the version number of `source`, by reference."""
    place = (source.address.ref, source.version)
    with translated(address.uri):
        copied = source.dataset.shallow_clone(address.uri, place, storage_options=address.root.lance_options)
    sync_created(address, copied.version)
    return landed(address, copied)


def landed(address: Address, dataset: Any) -> TableHandle:
    """The version at which a commit has left a dataset object."""
    # Lance takes the bases of a restored, cloned or rebased version as they are in its file.
    with translated(address.uri):
        return TableHandle(address, below_root(address, dataset))


def _opened(address: Address, version: int | None, crc32: int | None = None, *, shared: bool) -> TableHandle:
    if version is not None and address.root.is_local:
        # Of a truncated file lance panics, and prints where in its source; a changed one may give other answers.
        refuse_damaged(address, version, crc32)
    session = shared_session(address) if shared else control_session()
    return TableHandle(address, open_dataset(address, version, session))
