"""Which versions of one table a branch has published, and in which versions of its manifest, by one scan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.storage.lance.tables import TableHandle, quote
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.row_codec import parse_version
from omnigraph.storage.manifest.rows import TableRow
from omnigraph.storage.manifest.scan import CREATED_AT
from omnigraph.storage.manifest.snapshot import TableEntry

_CHANGED_AT = "_row_last_updated_at_version"
_COLUMNS = ("object_type", "table_version", "table_branch", "row_count", "metadata", CREATED_AT, _CHANGED_AT)


@dataclass(frozen=True, slots=True)
class PublishedVersions:
    """The versions that a branch has published of a table since the table has its key, oldest first.

    Published versions only grow along a branch, so places in this list are found by halving it.
    """

    registered: TableRow
    rows: pa.Table
    published_at: Any
    versions: Any

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def shown_at(self, commit: GraphCommit) -> int:
        """The place of what a commit shows; -1 when the table had no such key then."""
        within = None if commit.within is None else commit.within.shown.get(self.registered.table_key)
        if within is not None:
            return int(np.searchsorted(self.versions, within.version, side="right")) - 1
        return int(np.searchsorted(self.published_at, commit.manifest_version, side="right")) - 1

    def first_with(self, version: int) -> int:
        """The place of the oldest publication that a version of the table is part of."""
        return int(np.searchsorted(self.versions, version, side="left"))

    def entry(self, place: int) -> TableEntry:
        """The entry that snapshots had for this publication."""
        key = self.registered.table_key
        version, ref, count, text = (self.rows[name][place].as_py() for name in _COLUMNS[1:5])
        row = parse_version(key, version, ref, count, text)
        return TableEntry(key, self.registered.location, self.registered.identity, version, ref, count, row.evidence)


def published_versions(newest: TableHandle, registered: TableRow) -> PublishedVersions:
    """What a branch has published of a table, from the newest version of its manifest."""
    found = newest.scan(
        _COLUMNS,
        f"table_key = {quote(registered.table_key)} AND object_type IN ('table', 'table_version')",
    )
    own = pc.equal(found["object_type"], "table")
    since = pc.max(found.filter(own)[_CHANGED_AT]).as_py() or 0
    rows = found.filter(pc.and_(pc.invert(own), pc.greater_equal(found[CREATED_AT], since))).sort_by(
        [(CREATED_AT, "ascending"), ("table_version", "ascending")]
    )
    return PublishedVersions(registered, rows, rows[CREATED_AT].to_numpy(), rows["table_version"].to_numpy())
