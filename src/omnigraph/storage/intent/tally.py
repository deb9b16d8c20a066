"""Counts per type from what a writer knows: the rows of its steps and the sizes of a table before and after.

Which rows of an upsert are new is not looked up: a table that grew by so many rows got so many new ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.storage.intent.writeset import (
    AppendFragments,
    AppendParts,
    Delete,
    KnownUpdate,
    Overwrite,
    OverwriteParts,
    Patch,
    ReplaceParts,
    Step,
    StrictInsert,
    TakeOver,
    Upsert,
)
from omnigraph.storage.manifest.note import RowCounts
from omnigraph.storage.manifest.rows import VersionRow


@dataclass(frozen=True, slots=True)
class Tally:
    """What the steps of one table say about its rows; `upserted` ones are new or not, `replaced` is the whole table."""

    before: int
    inserted: int = 0
    upserted: int = 0
    updated: int = 0
    deleted: int = 0
    replaced: bool = False

    def counts(self, after: int) -> RowCounts:
        """What became of a table that now has so many rows."""
        if self.replaced:
            return RowCounts(after, 0, self.before)
        if not self.upserted:
            # Some of the ids to delete may have been gone already.
            return RowCounts(self.inserted, self.updated, max(self.before + self.inserted - after, 0))
        new = min(max(after - self.before - self.inserted + self.deleted, 0), self.upserted)
        return RowCounts(self.inserted + new, self.updated + self.upserted - new, self.deleted)


def tally(steps: Iterable[Step], before: int) -> Tally:
    """What these steps do to a table of so many rows."""
    found = dict.fromkeys(("inserted", "upserted", "updated", "deleted"), 0)
    replaced = False
    for step in steps:
        match step:
            case StrictInsert(rows):
                found["inserted"] += rows.num_rows
            case AppendFragments(_, count) | AppendParts(_, count):
                found["inserted"] += count
            case Upsert(rows):
                found["upserted"] += rows.num_rows
            case ReplaceParts(row_count=count):
                found["upserted"] += count
            case TakeOver(change):
                found["inserted"] += change.inserted
                found["updated"] += change.updated
            case Patch(rows, deleted):
                found["upserted"] += rows.num_rows
                found["deleted"] += len(deleted)
            case KnownUpdate(rows):
                found["updated"] += rows.num_rows
            case Delete(ids):
                found["deleted"] += len(ids)
            case Overwrite() | OverwriteParts():
                replaced = True
            case _:
                pass  # the rows stay what they are
    return Tally(before, **found, replaced=replaced)


def counts_of(tallies: Mapping[str, Tally], versions: Iterable[VersionRow]) -> dict[str, RowCounts]:
    """By type name, what the versions of an operation changed; types without a change are left out."""
    found = {}
    for row in versions:
        counts = tallies[row.table_key].counts(row.row_count) if row.table_key in tallies else RowCounts()
        if counts:
            found[type_name(row.table_key)] = counts
    return found


def type_name(table_key: str) -> str:
    """The name of the type in the key of its table."""
    return table_key.partition(":")[2]


def decode(stored: Mapping[str, Mapping[str, Any]]) -> dict[str, Tally]:
    """The tallies of a sidecar."""
    return {key: Tally(**each) for key, each in stored.items()}
