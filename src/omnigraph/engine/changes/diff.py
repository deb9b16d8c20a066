"""The net difference between two states of a graph: which entities one has that the other has not, or has otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.migrate import schema_changes
from omnigraph.compiler.catalog.steps import Step, fact_json, fact_text
from omnigraph.display import Displayed, ShownList, counted
from omnigraph.engine.changes.scope import OPS, ChangeScope
from omnigraph.engine.values.json_values import json_rows
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.delta import RowDelta, one_column
from omnigraph.engine.views.pairs import TablePair, changed_pairs
from omnigraph.engine.views.partners import Partners
from omnigraph.storage.lance.version_tree import UPDATED
from omnigraph.storage.manifest.manifest import ManifestState

_VALUES_AT_ONCE = 256
_SHOWN = 20  # changes in a notebook
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


@dataclass(frozen=True, slots=True, repr=False)
class EntityChange(Displayed):
    """One entity that differs; edges carry their endpoints."""

    kind: str
    type_name: str
    id: str
    op: str
    published_dataset_version: int
    endpoints: dict[str, str] | None = None

    def _displayed(self) -> list[tuple[str, Any]]:
        ends = self.endpoints or {}
        return [
            ("operation", self.op),
            ("type", self.type_name),
            ("id", self.id),
            *([("ends", f"{ends['src']} -> {ends['dst']}")] if ends else []),
        ]

    def document(self) -> dict[str, Any]:
        """The same as JSON."""
        ends = {} if self.endpoints is None else {"endpoints": self.endpoints}
        return {
            "kind": self.kind,
            "type_name": self.type_name,
            "id": self.id,
            "op": self.op,
            "published_dataset_version": self.published_dataset_version,
            **ends,
        }


class PropertyChange(NamedTuple):
    """A property, or an end of an edge, with its value before and after."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True, repr=False)
class ValueChange(Displayed):
    """One entity that differs, with its values on both sides; None is a side that does not have it.

    `before` and `after` use the names of their own time: where a schema change lies between them, `changed` says which
    values belong together.
    """

    change: EntityChange
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    partners: Partners | None = field(default=None, repr=False)

    @property
    def properties(self) -> list[str]:
        """The properties, and for an edge the ends, whose values differ; a renamed one under its new name."""
        return list(dict.fromkeys(each.name for each in self.changed))

    @property
    def changed(self) -> ShownList[PropertyChange]:
        """What differs, paired by identity: renamed properties under the new name, dropped and new ones apart."""
        return ShownList(PropertyChange(name, old, new) for name, old, new in self.pairs() if old != new)

    def document(self) -> dict[str, Any]:
        """The same as JSON, with the values that differ apart."""
        changed = [each._asdict() for each in self.changed]
        return {**self.change.document(), "before": self.before, "after": self.after, "changed": changed}

    def pairs(self) -> Iterator[tuple[str, Any, Any]]:
        """Each property with its value before and after; None where a side does not have it."""
        before, after = self.before or {}, self.after or {}
        if self.partners is None or not before or not after:
            for name in {**before, **after}:
                yield name, before.get(name), after.get(name)
            return
        for name in self.partners.dropped:
            yield name, before.get(name), None
        for name, value in after.items():
            yield name, before.get(self.partners.paired.get(name, "")), value


@dataclass(frozen=True, slots=True, repr=False)
class ChangeStats(Displayed):
    """How many entities differ, and of which types."""

    inserts: int
    updates: int
    deletes: int
    types_affected: list[str]


@dataclass(repr=False, frozen=True)
class Difference(Displayed):
    """A net diff; kept as an Arrow table, turned into objects when somebody looks at them.

    `schema_changes` are the steps from the schema of one side to that of the other.
    """

    from_graph_manifest_version: int
    to_graph_manifest_version: int
    graph_branch: str | None
    table: pa.Table
    schema_changes: tuple[Step, ...]
    _deltas: Callable[[], Iterator[tuple[pa.Table, RowDelta]]] = field(repr=False, compare=False)

    def __repr__(self) -> str:
        stats, versions = self.stats, (self.from_graph_manifest_version, self.to_graph_manifest_version)
        counts = f"{stats.inserts:,} inserted, {stats.updates:,} updated, {stats.deletes:,} deleted"
        schema = f", schema: {counted(len(self.schema_facts), 'change')}" if self.schema_facts else ""
        place = f"versions {versions[0]} and {versions[1]} of '{self.graph_branch or 'main'}'"
        return f"<{type(self).__name__} of {place}: {counts}{schema}>"

    def _displayed(self) -> list[tuple[str, Any]]:
        few = self.table.slice(0, _SHOWN).to_pylist()
        return [
            ("branch", self.graph_branch or "main"),
            ("versions", f"{self.from_graph_manifest_version} to {self.to_graph_manifest_version}"),
            *((name, getattr(self.stats, name)) for name in ("inserts", "updates", "deletes")),
            ("types", self.stats.types_affected),
            ("schema", [text for _, text in self.schema_facts]),
            ("the first changes" if len(self) > _SHOWN else "changes", [_entity_change(row) for row in few]),
        ]

    @cached_property
    def changes(self) -> ShownList[EntityChange]:
        """Every change: edge types before node types, then by name, then by id."""
        return ShownList(_entity_change(row) for row in self.table.to_pylist())

    @cached_property
    def stats(self) -> ChangeStats:
        counts = {op: int(pc.sum(pc.equal(self.table["op"], op)).as_py() or 0) for op in OPS}
        names = sorted(pc.unique(self.table["type_name"]).to_pylist())
        return ChangeStats(counts["insert"], counts["update"], counts["delete"], names)

    def to_arrow(self) -> pa.Table:
        """The changes as a table."""
        return self.table

    def with_values(self) -> Iterator[ValueChange]:
        """Every change with the values of its entity on both sides, a few hundred at a time, in the same order.

        The rows are read again when they are no longer in memory, so the graph has to be open still.
        """
        for changes, delta in self._deltas():
            yield from _with_values(changes, delta)

    def page(self, start: int, count: int) -> Iterator[ValueChange]:
        """So many of the same changes, from a position on."""
        for changes, delta in self._deltas():
            wanted = changes.slice(start, count) if start < changes.num_rows else changes.slice(0, 0)
            yield from _with_values(wanted, delta)
            start, count = max(0, start - changes.num_rows), count - wanted.num_rows
            if count <= 0:
                return

    def summary(self) -> dict[str, Any]:
        """The same as JSON, without its changes."""
        return {
            "from_graph_manifest_version": self.from_graph_manifest_version,
            "to_graph_manifest_version": self.to_graph_manifest_version,
            "graph_branch": self.graph_branch,
            "stats": asdict(self.stats),
            "schema_changes": [{"step": step, "text": text} for step, text in self.schema_facts],
        }

    @property
    def schema_facts(self) -> list[tuple[dict[str, Any], str]]:
        """The changes of the schema as JSON values and as one line each."""
        return [(fact_json(step), fact_text(step)) for step in self.schema_changes]

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[EntityChange]:
        return iter(self.changes)


def difference(core: Core, before: ManifestState, after: ManifestState, scope: ChangeScope) -> Difference:
    """What changed from one state to another one, on whatever branches they are."""
    core.require_everything_visible("a comparison")
    parts: list[pa.Table] = []
    compared: list[TablePair] = []
    pairs = sorted(changed_pairs(before.snapshot, after.snapshot), key=_order)
    for pair in pairs:
        if not (scope.has_kind(pair.kind) and any(map(scope.has_type, pair.names))):
            continue
        compared.append(pair)
        parts.append(_changes(core, pair, scope))
    table = pa.concat_tables([CHANGES.empty_table(), *parts])

    def deltas() -> Iterator[tuple[pa.Table, RowDelta]]:
        return ((part, pair.delta(core.tables)) for part, pair in zip(parts, compared, strict=True))

    return Difference(before.version, after.version, after.branch, table, _schema_changes(core, before, after), deltas)


def _schema_changes(core: Core, before: ManifestState, after: ManifestState) -> tuple[Step, ...]:
    if before.schema == after.schema:
        return ()
    return schema_changes(core.schemas.of(before), core.schemas.of(after))


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
    edge = pair.kind == "edge"  # a node may have properties that are called like the ends of an edge
    ends = [one_column(rows, name) if edge else pa.nulls(count, pa.utf8()) for name in ("src", "dst")]
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


def _with_values(changes: pa.Table, delta: RowDelta) -> Iterator[ValueChange]:
    ids = one_column(changes, "id")
    before, after = ((rows, pc.index_in(ids, value_set=one_column(rows, "id"))) for rows in (delta.before, delta.after))
    for start in range(0, len(ids), _VALUES_AT_ONCE):
        rows = changes.slice(start, _VALUES_AT_ONCE).to_pylist()
        sides = (_values(side, places.slice(start, _VALUES_AT_ONCE)) for side, places in (before, after))
        for row, old, new in zip(rows, *sides, strict=True):
            yield ValueChange(_entity_change(row), old, new, delta.partners)


def _values(rows: pa.Table, places: pa.Array) -> list[dict[str, Any] | None]:
    """The rows at these places as JSON; None where there is none."""
    shown = rows.select([name for name in rows.column_names if name not in ("id", UPDATED)])
    found = iter(json_rows(shown.take(places.drop_null())))
    return [next(found, {}) if there else None for there in places.is_valid().to_pylist()]


def _entity_change(row: dict[str, Any]) -> EntityChange:
    ends = {"src": row["src"], "dst": row["dst"]} if row["kind"] == "edge" else None
    return EntityChange(row["kind"], row["type_name"], row["id"], row["op"], row["published_dataset_version"], ends)
