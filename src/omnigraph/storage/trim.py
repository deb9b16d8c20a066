"""Trimming the manifest: version files that nothing needs go, because each of them repeats the whole history.

Lance writes the row versions of a dataset into every version file, so the files of ten thousand commits are together a
thousand times the history itself. What an old version said can be rebuilt from a later one (`manifest_past`), so
trimming loses nothing: no commit, no time travel, no branch point.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection

from omnigraph.storage import tables
from omnigraph.storage.layout import Root
from omnigraph.storage.manifest_past import schema_boundaries
from omnigraph.storage.manifest_scan import CREATED_AT
from omnigraph.storage.reclaim import Reclaimed, existing_versions, reclaim_versions
from omnigraph.storage.tables import TableHandle


def trim_manifest(root: Root, branch: str | None = None, *, keep: int, at_least: int = 1) -> Reclaimed:
    """Let old versions of a manifest lineage go, if there are `at_least` that many beyond the newest `keep`.

    The newest ones stay because readers and writers of other processes may be at work on them.
    """
    newest = tables.open_table(root.manifest(branch), control=True)
    versions = existing_versions(newest)
    old = versions[: -max(keep, 1)]
    if len(old) < at_least:
        return Reclaimed()
    needed = schema_boundaries(newest, versions) | _branch_points(newest, branch)
    needed |= _witnesses(newest, needed.intersection(old))
    return reclaim_versions(newest, [version for version in old if version not in needed])


def _witnesses(newest: TableHandle, kept: Collection[int]) -> set[int]:
    """What refuses a writer that has slept since a kept version and publishes on it: all up to the next commit.

    Lance compares a commit with the versions that came after its base, as far as they are still there. Every commit
    moves the head, so the first one after the base is enough to tell that the head has moved.
    """
    if not kept:
        return set()
    rows = newest.scan([CREATED_AT], f"object_type = 'graph_commit' AND {CREATED_AT} > {min(kept)}")
    commits = sorted(rows[CREATED_AT].to_pylist())
    found: set[int] = set()
    for version in kept:
        place = bisect_right(commits, version)
        found.update(range(version + 1, (commits[place] if place < len(commits) else newest.version) + 1))
    return found


def _branch_points(newest: TableHandle, branch: str | None) -> set[int]:
    """Versions that other lineages were forked from; lance reads them when it opens those."""
    trunk = newest if branch is None else tables.open_table(newest.address.trunk, control=True)
    return {ref.parent_version for ref in tables.list_refs(trunk).values() if ref.parent == branch}
