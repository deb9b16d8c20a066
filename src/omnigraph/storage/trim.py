"""Trimming the manifest: version files that nothing needs go, because each of them repeats the whole history.

Lance writes the row versions of a dataset into every version file, so the files of ten thousand commits are together a
thousand times the history itself. What an old version said can be rebuilt from a later one (`manifest_past`), so
trimming loses nothing: no commit, no time travel, no branch point.
"""

from __future__ import annotations

from omnigraph.storage import tables
from omnigraph.storage.layout import Root
from omnigraph.storage.manifest_past import schema_boundaries
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
    return reclaim_versions(newest, [version for version in old if version not in needed])


def _branch_points(newest: TableHandle, branch: str | None) -> set[int]:
    """Versions that other lineages were forked from; lance reads them when it opens those."""
    trunk = newest if branch is None else tables.open_table(newest.address.trunk, control=True)
    return {ref.parent_version for ref in tables.list_refs(trunk).values() if ref.parent == branch}
