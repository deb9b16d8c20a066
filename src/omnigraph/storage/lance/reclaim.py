"""Physical removal of old versions of one dataset lineage, and of the files that only they need.

Lance keeps what a ref was forked from and what younger files of unfinished transactions may be, so a list of versions
is all that is handed over. Which versions may go is decided elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from omnigraph.display import counted
from omnigraph.errors import StorageError
from omnigraph.storage.base.errors import translated
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.base.layout import Address
from omnigraph.storage.base.objects import open_objects
from omnigraph.storage.lance.tables import TableHandle
from omnigraph.storage.lance.transaction_log import TRANSACTIONS_DIR


@dataclass(frozen=True, slots=True)
class Reclaimed:
    """How many versions went, and how many bytes with them."""

    versions: int = 0
    bytes: int = 0

    def __add__(self, other: Reclaimed) -> Reclaimed:
        return Reclaimed(self.versions + other.versions, self.bytes + other.bytes)


def existing_versions(table: TableHandle) -> list[int]:
    """The versions of a lineage that are still there, oldest first; earlier removals leave gaps."""
    with translated(table.address.uri):
        return sorted(int(ref["version"]) for ref in table.dataset.version_refs())


def version_times(table: TableHandle) -> dict[int, datetime]:
    """When each existing version was committed (local time, as lance gives it); reads every version file."""
    with translated(table.address.uri):
        return {int(known["version"]): known["timestamp"] for known in table.dataset.versions()}


def reclaim_versions(table: TableHandle, versions: Sequence[int], *, preview: bool = False) -> Reclaimed:
    """Remove exactly these versions; `table` is the newest one and stays. A preview only says what would go."""
    if not versions:
        return Reclaimed()
    wanted = list(versions)
    with translated(table.address.uri):
        if preview:
            stats = table.dataset.explain_cleanup_old_versions(
                versions=wanted, error_if_tagged_old_versions=False
            ).stats
        else:
            hit("cleanup.table_gc")
            stats = table.dataset.cleanup_old_versions(versions=wanted, error_if_tagged_old_versions=False)
    if stats.failed_deletes:
        raise StorageError(f"{table.address.uri}: {counted(stats.failed_deletes, 'file')} could not be deleted")
    return Reclaimed(int(stats.old_versions), int(stats.bytes_removed))


def drop_transactions(address: Address, *, at_least: int = 1) -> None:
    """Remove the transaction files of a lineage, if there are that many on a local disk.

    Lance (14, the oldest one that graphs were written with) writes every transaction twice: into a file, before the
    version is named, and into the version file, from where it reads it. So nothing needs the first one any more, not
    even a commit that is under way.
    """
    if not address.root.is_local:
        open_objects(address.root).delete_prefix(f"{address.path}/{TRANSACTIONS_DIR}")  # many at once
        return
    # Not through the objects of the root: this is asked after every commit.
    directory = f"{address.uri}/{TRANSACTIONS_DIR}"
    with suppress(OSError):
        names = os.listdir(directory)
        for name in names if len(names) >= at_least else ():
            os.unlink(f"{directory}/{name}")
