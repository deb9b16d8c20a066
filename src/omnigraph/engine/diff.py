"""The net difference between two states of a graph: which entities one has that the other has not, or has otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.core import Core
from omnigraph.engine.feed.pairs import TablePair, changed_pairs, require_comparable
from omnigraph.engine.feed.scope import OPS, ChangeScope
from omnigraph.engine.merge.delta import one_column
from omnigraph.storage.manifest import ManifestState
from omnigraph.storage.version_tree import UPDATED

CHANGES = pa.schema(
    [
        pa.field("kind", pa.utf8()),
        pa.field("type_name", pa.utf8()),
        pa.field("id", pa.utf8()),
        pa.field("op", pa.utf8()),
        pa.field("published_dataset_version", pa.uint64()),
        pa.field("src", pa.utf8()),
        pa.field("dst", pa.utf8()),
    ]
)


@dataclass(frozen=True, slots=True)
class EntityChange:
    """One entity that differs; edges carry their endpoints."""

    kind: str
    type_name: str
    id: str
    op: str
    published_dataset_version: int
    endpoints: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class ChangeStats:
    """How many entities differ, and of which types."""

    inserts: int
    updates: int
    deletes: int
    types_affected: list[str]


@dataclass(frozen=True)
class Difference:
    """A net diff; kept as an Arrow table, turned into objects when somebody looks at them."""

    from_graph_manifest_version: int
    to_graph_manifest_version: int
    graph_branch: str | None
    table: pa.Table

    @cached_property
    def changes(self) -> list[EntityChange]:
        """Every change: edge types before node types, then by name, then by id."""
        return [_entity_change(row) for row in self.table.to_pylist()]

    @cached_property
    def stats(self) -> ChangeStats:
        counts = {op: int(pc.sum(pc.equal(self.table["op"], op)).as_py() or 0) for op in OPS}
        names = sorted(pc.unique(self.table["type_name"]).to_pylist())
        return ChangeStats(counts["insert"], counts["update"], counts["delete"], names)

    def to_arrow(self) -> pa.Table:
        """The changes as a table."""
        return self.table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[EntityChange]:
        return iter(self.changes)


def difference(core: Core, before: ManifestState, after: ManifestState, scope: ChangeScope) -> Difference:
    """What changed from one state to another one, on whatever branches they are."""
    core.require_everything_visible("a comparison")
    parts = []
    pairs = sorted(changed_pairs(before.snapshot, after.snapshot), key=_order)
    for pair in pairs:
        if not (scope.has_kind(pair.kind) and scope.has_type(pair.type_name)):
            continue
        require_comparable(core.tables, pair, after.effective_head or "")
        parts.append(_changes(core, pair, scope))
    table = pa.concat_tables([CHANGES.empty_table(), *parts])
    return Difference(before.version, after.version, after.branch, table)


def _order(pair: TablePair) -> tuple[str, int, int]:
    return pair.entry.table_key, pair.identity.stable_table_id, pair.identity.table_incarnation_id


def _changes(core: Core, pair: TablePair, scope: ChangeScope) -> pa.Table:
    delta = pair.delta(core.tables)
    sides = (("insert", delta.inserted), ("update", delta.updated), ("delete", delta.deleted))
    parts = [_rows(pair, op, rows) for op, rows in sides if scope.has_op(op)]
    table = pa.concat_tables([CHANGES.empty_table(), *parts])
    return table.take(pc.sort_indices(table["id"]))


def _rows(pair: TablePair, op: str, rows: pa.Table) -> pa.Table:
    count = rows.num_rows
    ends = [
        one_column(rows, name) if name in rows.column_names else pa.nulls(count, pa.utf8()) for name in ("src", "dst")
    ]
    # A row that one side has no longer is placed at the version it was last seen in.
    written = None if op == "delete" else one_column(rows, UPDATED)
    entry = pair.before if op == "delete" and pair.before is not None else pair.entry
    known = pa.array([entry.version], pa.uint64())[0]
    versions = pa.repeat(known, count) if written is None else pc.fill_null(written, known)
    columns = [
        pa.repeat(pair.kind, count),
        pa.repeat(pair.type_name, count),
        one_column(rows, "id"),
        pa.repeat(op, count),
        versions,
        *ends,
    ]
    return pa.Table.from_arrays(columns, schema=CHANGES)


def _entity_change(row: dict[str, Any]) -> EntityChange:
    ends = {"src": row["src"], "dst": row["dst"]} if row["kind"] == "edge" else None
    return EntityChange(row["kind"], row["type_name"], row["id"], row["op"], row["published_dataset_version"], ends)
