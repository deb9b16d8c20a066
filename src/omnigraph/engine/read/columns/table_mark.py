"""One table at one version, as something derived from it remembers it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from omnigraph.engine.read.columns.entities import Entities
from omnigraph.errors import OmnigraphError
from omnigraph.storage.lance.tables import open_table

UPDATED = "_row_last_updated_at_version"
CREATED = "_row_created_at_version"


@dataclass(frozen=True, slots=True)
class Mark:
    """A version of a table; `stamp` tells a re-created lineage from the one that was seen."""

    location: str
    ref: str | None
    version: int
    stamp: str
    rows: int

    @classmethod
    def of(cls, table: Entities) -> Mark:
        """The table as it is now."""
        entry, handle = table.entry, table.handle
        return cls(entry.location, entry.ref, entry.version, handle.stamp, handle.count_rows())

    def precedes(self, table: Entities) -> bool:
        """Whether the table descends from this mark: the same lineage, the marked version still part of it."""
        entry = table.entry
        if (entry.location, entry.ref) != (self.location, self.ref) or entry.version < self.version:
            return False
        if entry.version == self.version:
            return table.handle.stamp == self.stamp
        try:
            return open_table(table.handle.address, self.version).stamp == self.stamp
        except OmnigraphError:
            return False


def marks_text(marks: Sequence[Mark]) -> str:
    """The form in which marks are kept beside what was derived."""
    return json.dumps([astuple(mark) for mark in marks])


def parse_marks(text: str) -> tuple[Mark, ...] | None:
    """The marks that `marks_text` wrote; None for anything else."""
    try:
        return tuple(Mark(*fields) for fields in json.loads(text))
    except (TypeError, ValueError):
        return None
