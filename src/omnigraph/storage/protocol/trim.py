"""Trimming the manifest: version files that nothing needs go, because each of them repeats the whole history.

Lance writes the row versions of a dataset into every version file, so the files of ten thousand commits are together a
thousand times the history itself. What an old version said can be rebuilt from a later one (`manifest_past`), so
trimming loses nothing: no commit, no time travel, no branch point.

But lance compares a commit only with those versions since its base that still exist. So a barrier goes on top first,
which refuses every commit based on an earlier version, however long its process has slept. And while anybody is at
work, versions of the last seconds stay: a commit that has chosen its number may not find that number free again. On
object stores they always stay: readers ask whether a version has a successor (`tips`), so that may not be gone at once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection

from omnigraph.errors import HistoricalVersionReclaimed, StorageError
from omnigraph.storage.base.layout import Address
from omnigraph.storage.base.objects import Objects, open_objects
from omnigraph.storage.intent import sidecar
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.reclaim import Reclaimed, existing_versions, reclaim_versions
from omnigraph.storage.lance.tables import Landed, TableHandle
from omnigraph.storage.lance.version_files import LONG_COMMIT_SECONDS, version_modified_at
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.branch_refs import forks_of
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.tips import forget_tip
from omnigraph.storage.manifest.trimmed import schema_boundaries

# A commit that takes half of it looks again whether it was published (`tables.merge_rows`).
_AT_WORK_SECONDS = 2 * LONG_COMMIT_SECONDS
_ATTEMPTS = 4


def trim_manifest(
    manifest_of: Address,
    *,
    keep: int,
    at_least: int = 1,
    state: ManifestState | None = None,
    own: Collection[str] = (),
) -> Reclaimed:
    """Let old versions of a manifest lineage go, if there are `at_least` that many beyond the newest `keep`.

    The newest ones stay because readers and writers of other processes may be at work on them. `state` is what a
    recent version was known to say; it is remembered for the barrier if that says the same. `own` are the operations on
    whose behalf this happens: they are published, whether or not their sidecars are still there.
    """
    for _ in range(_ATTEMPTS):
        try:
            return _trim(tables.open_table(manifest_of, control=True), keep, at_least, state, own)
        except (HistoricalVersionReclaimed, StorageError) as error:
            # Others trim as well: the version that was the newest when it was opened is gone by now, or its branch is.
            if isinstance(error, StorageError) and error.kind != "NotFound":
                raise
    return Reclaimed()


def _trim(
    newest: TableHandle, keep: int, at_least: int, state: ManifestState | None, own: Collection[str]
) -> Reclaimed:
    versions = existing_versions(newest)
    beyond = max(len(versions) - max(keep, 1), 0)
    settled = _settled(newest, versions[: beyond + 1], own)
    if len(settled[:beyond]) < at_least:
        return Reclaimed()
    needed = schema_boundaries(newest, versions) | _branch_points(newest)
    barrier = _barrier(newest) if set(settled[:beyond]) - needed else None
    if barrier is None:
        return Reclaimed()
    if state is not None:
        manifest.carry_over(state, barrier)
    # One more than was asked about: the barrier is among those that stay.
    return reclaim_versions(barrier, [version for version in settled if version not in needed])


def _settled(newest: TableHandle, versions: list[int], own: Collection[str]) -> list[int]:
    """Those versions on whose successors no writer can be about to commit; asked after the newest one was opened.

    A writer that announces itself later begins with that one or a later one.
    """
    root = newest.address.root
    objects = open_objects(root)
    control = manifest.load(root).state.control
    others = [operation for operation in sidecar.pending(objects) if operation not in own]
    if root.is_local and not others and (control is None or control.holder is None):
        return versions
    # By the clock of the store alone, which dated both: that of this machine may be ahead of it by more than that.
    limit = version_modified_at(objects, newest.address, newest.version) - _AT_WORK_SECONDS
    return versions[: bisect_left(versions, True, key=lambda version: _changed_since(objects, newest, version, limit))]


def _changed_since(objects: Objects, newest: TableHandle, version: int, limit: float) -> bool:
    try:
        return version_modified_at(objects, newest.address, version) > limit
    except StorageError as error:
        if error.kind != "NotFound":
            raise
        return False  # another process trims as well


def _barrier(newest: TableHandle) -> TableHandle | None:
    """A version on top that says the same and lets no commit pass that is based on an earlier one."""
    forget_tip(newest.address)
    for _ in range(_ATTEMPTS):
        outcome = tables.commit(tables.stage_barrier(newest))
        if isinstance(outcome, Landed):
            return outcome.handle
        newest = tables.open_table(newest.address, control=True)
    return None


def _branch_points(newest: TableHandle) -> set[int]:
    """Versions that other lineages were forked from; lance reads them when it opens those."""
    return set(forks_of(newest.address.root, newest.address.ref).values())
