"""The tables of two snapshots side by side, matched by identity, and whether their rows can be compared at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from omnigraph.engine.views.delta import RowDelta, all_rows, row_delta
from omnigraph.engine.views.partners import meaning
from omnigraph.engine.views.view import OpenTables
from omnigraph.errors import ChangeSchemaBoundary
from omnigraph.storage.base.layout import split_key
from omnigraph.storage.manifest.snapshot import Snapshot, TableEntry, TableIdentity


@dataclass(frozen=True, slots=True)
class TablePair:
    """One table before and after; at most one side is missing."""

    before: TableEntry | None
    after: TableEntry | None

    @property
    def entry(self) -> TableEntry:
        """The newer side that exists."""
        found = self.after or self.before
        assert found is not None
        return found

    @property
    def identity(self) -> TableIdentity:
        return self.entry.identity

    @property
    def kind(self) -> str:
        return split_key(self.entry.table_key)[0]

    @property
    def type_name(self) -> str:
        return split_key(self.entry.table_key)[1]

    @property
    def names(self) -> tuple[str, ...]:
        """What the type is called, and what it was called before."""
        former = () if self.before is None else (split_key(self.before.table_key)[1],)
        return (self.type_name, *former)

    def delta(self, tables: OpenTables) -> RowDelta:
        """The rows in which the sides differ; a missing side has none."""
        if self.before is not None and self.after is not None:
            return row_delta(tables, self.before, self.after)
        rows = all_rows(tables.get(self.entry))
        return RowDelta(rows.slice(0, 0), rows) if self.before is None else RowDelta(rows, rows.slice(0, 0))


def changed_pairs(before: Snapshot, after: Snapshot) -> Iterator[TablePair]:
    """Tables that are new, gone, or published at another version."""
    older = {entry.identity: entry for entry in before}
    for entry in after:
        known = older.pop(entry.identity, None)
        if known is None or (known.location, known.version, known.ref) != (entry.location, entry.version, entry.ref):
            yield TablePair(known, entry)
    for entry in older.values():
        yield TablePair(entry, None)


def require_comparable(tables: OpenTables, pair: TablePair, commit_id: str) -> None:
    """Raise ChangeSchemaBoundary when a table has other columns after than before, whatever they are called."""
    if pair.before is None or pair.after is None:
        return
    if meaning(tables.get(pair.before).schema) != meaning(tables.get(pair.after).schema):
        raise ChangeSchemaBoundary(commit_id, pair.type_name)
