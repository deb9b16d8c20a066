"""One manifest version, read as far as it is looked at.

Nearly every row of a long history is a commit or an old version, and most bytes of both are metadata that opening a
graph never reads. So id, type and version of every row are scanned at once, whole rows are fetched only for the few
that decide the state, and commits only when somebody asks for history. An exact version never changes, so what is
fetched later belongs to the same moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import Corrupt, OmnigraphError, StorageError
from omnigraph.storage.base.errors import brief
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.handle import TableHandle

CREATED_AT = "_row_created_at_version"
SCAN_COLUMNS = (
    "object_id",
    "object_type",
    "location",
    "metadata",
    "table_key",
    "table_version",
    "table_branch",
    "row_count",
    CREATED_AT,
)
COMMIT_COLUMNS = ("object_id", CREATED_AT, "table_branch", "metadata")
_IS_COMMIT = "object_type = 'graph_commit'"
KEY_COLUMNS = ("object_id", "object_type", "table_version")
_TRIMMED_ATTEMPTS = 8
ROW_COLUMNS = tuple(name for name in SCAN_COLUMNS if name != CREATED_AT)


@dataclass(frozen=True, slots=True)
class Scan:
    """The rows of one manifest version: id, type and version of all, and the rest on demand."""

    keys: pa.Table
    rows_at: Callable[[pa.Array], pa.Table]
    commits: Callable[[], pa.Table]
    commit: Callable[[str], pa.Table] | None = None  # one of them by its id, where that is cheaper than all


@contextmanager
def naming_damage(handle: TableHandle) -> Iterator[None]:
    """Corrupt for whatever fails while a version of the manifest is decoded, unless storage says why.

    An exact version is only ever read, with columns that every manifest has: on a disk nothing else is left.
    """
    try:
        yield
    except OmnigraphError as error:
        unexplained = isinstance(error, StorageError) and not isinstance(error, Corrupt) and error.kind == "Unknown"
        if not (unexplained and handle.address.root.is_local):
            raise
        raise damaged_manifest(error.message) from error
    except (ValueError, TypeError, LookupError) as error:
        raise damaged_manifest(f"{handle.address.uri}: {brief(error)}") from error


def damaged_manifest(found: str) -> Corrupt:
    """A file of the manifest is missing or makes no sense."""
    return Corrupt(f"{found}; a file of this manifest is damaged, restore it from a backup")


def scan_manifest(handle: TableHandle) -> Scan:
    """What one version of a manifest holds."""
    if not handle.address.root.is_local:
        # Every further look is a round trip there, which costs more than the bytes it saves.
        return scan_of(handle.scan(SCAN_COLUMNS))
    keys = handle.scan(KEY_COLUMNS)
    return Scan(
        keys,
        lambda positions: _rows_at(handle, keys, positions),
        lambda: commits_of(handle),
        lambda commit_id: _commit_at(handle, keys, commit_id),
    )


def scan_of(table: pa.Table) -> Scan:
    """The same view of rows that are in memory already."""
    commits = table.select(list(COMMIT_COLUMNS)).filter(pc.equal(table["object_type"], "graph_commit"))
    return Scan(table.select(list(KEY_COLUMNS)), table.take, lambda: commits)


def _rows_at(handle: TableHandle, keys: pa.Table, positions: pa.Array) -> pa.Table:
    rows = handle.take_positions(positions, ROW_COLUMNS)
    if rows["object_id"].combine_chunks() != keys["object_id"].take(positions).combine_chunks():
        raise Corrupt("manifest corrupt: rows are not where the scan found them")
    return rows


def _commit_at(handle: TableHandle, keys: pa.Table, commit_id: str) -> pa.Table:
    """One commit from where the scan found it."""
    place = int(pc.index(keys["object_id"], pa.scalar(commit_id, pa.utf8())).as_py())
    wanted = [place] if place >= 0 and keys["object_type"][place].as_py() == "graph_commit" else []
    try:
        return handle.take_positions(pa.array(wanted, pa.int64()), COMMIT_COLUMNS)
    except StorageError as error:
        if error.kind != "NotFound":
            raise
        return commits_of(handle, only=commit_id)  # the version was trimmed since


def commits_of(handle: TableHandle, *, until: int | None = None, only: str | None = None) -> pa.Table:
    """The commits that a version of a manifest knows: those made `until` an earlier one, or `only` that of an id."""
    last = handle.version if until is None else until
    chosen = _IS_COMMIT if only is None else f"{_IS_COMMIT} AND object_id = {tables.quote(only)}"
    at, wanted = handle, chosen if until is None else f"{chosen} AND {CREATED_AT} <= {last}"
    for remaining in reversed(range(_TRIMMED_ATTEMPTS)):
        try:
            with naming_damage(at):
                return at.scan(COMMIT_COLUMNS, wanted)
        except StorageError as error:
            if error.kind != "NotFound":
                raise
            if not remaining:
                raise damaged_manifest(error.message) from error
        # The version was trimmed since it was opened; commits are never changed, so the newest one has them all.
        at = tables.open_table(handle.address, control=True)
        wanted = f"{chosen} AND {CREATED_AT} <= {last}"
    raise AssertionError("the last attempt returns or raises")
