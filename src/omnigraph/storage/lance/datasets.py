"""How dataset objects are made: with which session and block size, and with files looked for below the root."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import lance
from lance import LanceDataset

from omnigraph.memory.budget import Library, MemoryBudget
from omnigraph.storage.base.layout import MANIFEST, Address
from omnigraph.storage.lance.bases import misplaced, relocated
from omnigraph.storage.lance.handle import TableHandle
from omnigraph.storage.lance.transactions import library_of

_SESSION: Any = lance.Session  # type: ignore[attr-defined]  # documented, but missing from lance's __all__
_BLOCK_BYTES = 32 << 10
_ONE_COMMIT_BYTES = 8 << 20
# Lance remembers the description of each version and data file that it saw, and every commit leaves some behind that
# are not asked for again; a file of 200,000 rows and ten columns that are all read takes 110 KiB.
_TABLE_BYTES = 32 << 20
# The description of a version of `__manifest` grows with the history, and a commit leaves 70 KiB; only the newest few
# are looked at again.
_MANIFEST_BYTES = 4 << 20


def _table_session(memory: MemoryBudget) -> Any:
    return _SESSION(
        index_cache_size_bytes=memory.share(1 / 8, most=1 << 30),
        metadata_cache_size_bytes=memory.share(1 / 32, most=_TABLE_BYTES),
    )


def _manifest_session(memory: MemoryBudget) -> Any:
    return _SESSION(
        index_cache_size_bytes=memory.share(1 / 64, most=_MANIFEST_BYTES),
        metadata_cache_size_bytes=memory.share(1 / 64, most=_MANIFEST_BYTES),
    )


def _held_bytes(session: Any) -> int:
    return int(session.size_bytes())


_TABLES: Library[Any] = Library("lance", _table_session, _held_bytes)
_MANIFESTS: Library[Any] = Library("lance, manifests", _manifest_session, _held_bytes)


def shared_session(address: Address) -> Any:
    """The session in which Lance remembers what it read of a dataset for the opened graph."""
    return address.root.memory.library(_MANIFESTS if address.location == MANIFEST else _TABLES)


def drop_sessions(memory: MemoryBudget) -> None:
    """Let go of everything that Lance remembers for a graph."""
    for library in (_TABLES, _MANIFESTS):
        memory.drop_library(library)


@lru_cache(maxsize=1)
def control_session() -> Any:
    """A session that remembers nothing, for mutable tips."""
    return _SESSION(index_cache_size_bytes=0, metadata_cache_size_bytes=0)


def open_dataset(address: Address, version: int | None, session: Any) -> LanceDataset:
    """One version of a lineage, or the newest, with every file looked for below the root."""
    # Rows all over a large file are read in fewer and larger pieces than lance would by itself: a third less work.
    block = _BLOCK_BYTES if address.root.is_local else None
    options = address.root.lance_options
    dataset = library_of(address.root).dataset
    opened = dataset(address.uri, version, block_size=block, storage_options=options, session=session)
    return below_root(address, opened)


def below_root(address: Address, dataset: LanceDataset) -> LanceDataset:
    """The dataset with every file looked for below this root, wherever the graph was when the version was written."""
    moved = misplaced(address, dataset)
    if not moved:
        return dataset
    return LanceDataset(
        address.uri,
        block_size=_BLOCK_BYTES if address.root.is_local else None,
        serialized_manifest=relocated(dataset._ds.serialized_manifest(), moved),
        storage_options=address.root.lance_options,
        session=dataset.session(),
    )


def reopen(base: TableHandle) -> LanceDataset:
    """Another dataset object of the same version."""
    return open_dataset(base.address, base.version, base.dataset.session())


def is_current(handle: TableHandle) -> bool:
    """Whether a dataset uses the caches of its graph as they are now; one from before they were dropped holds on to
    the former ones, and so does every version that is committed on it.
    """
    return bool(handle.dataset.session().is_same_as(shared_session(handle.address)))


def private_copy(base: TableHandle) -> LanceDataset:
    """Another dataset object of the same version; on an object store no file of it is read twice."""
    if not base.address.root.is_remote:
        return reopen(base)
    return LanceDataset(
        base.address.uri,
        serialized_manifest=base.dataset._ds.serialized_manifest(),
        storage_options=base.address.root.lance_options,
        session=_SESSION(index_cache_size_bytes=0, metadata_cache_size_bytes=_ONE_COMMIT_BYTES),
    )
