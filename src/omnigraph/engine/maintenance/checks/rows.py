"""The rows of heads: every value can be read, ids are unique and agree with keys, and edges have both ends."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import EdgeType, NodeType
from omnigraph.display import counted
from omnigraph.engine.intake.columns.identity import key_texts
from omnigraph.engine.maintenance.checks.history import pin_of
from omnigraph.engine.maintenance.checks.report import Checking, Pin
from omnigraph.engine.values.arrow import TableType, table_types
from omnigraph.engine.views.view import View

_SHOWN = 5
_BATCH_ROWS = 65_536


class RowChecks:
    """Checks heads one after the other; tables that several of them show are read once."""

    def __init__(self, checking: Checking) -> None:
        self._checking = checking
        self._ids: dict[Pin, pa.Array | None] = {}
        self._ends: set[tuple[Pin, ...]] = set()

    def check(self, view: View, branch: str) -> None:
        """Every table of one head: nodes first, because edges need their ids."""
        for info in sorted(table_types(view.catalog).values(), key=lambda each: isinstance(each, EdgeType)):
            with self._checking.looking("unreadable", type_key=info.table_key, branch=branch):
                if isinstance(info, NodeType):
                    self._node_ids(view, info, branch)
                elif _pin(view, info) not in self._checking.damaged:
                    self._edges(view, info, branch)
            self._checking.done()

    def _node_ids(self, view: View, info: NodeType, branch: str) -> pa.Array | None:
        pin = _pin(view, info)
        if pin in self._checking.damaged:
            return None
        if pin not in self._ids:
            self._ids[pin] = None  # so that what cannot be read is read and reported once
            rows = self._read(view, info, branch, ["id", *(info.key or ())])
            ids = _one(rows["id"])
            self._given(info, rows, branch)
            self._unique(info, ids, branch)
            if info.key is not None:
                self._keys(info, rows, ids, branch)
            self._ids[pin] = ids
        return self._ids[pin]

    def _edges(self, view: View, info: EdgeType, branch: str) -> None:
        nodes = [view.catalog.nodes[name] for name in (info.from_type, info.to_type)]
        pins = (_pin(view, info), *(_pin(view, each) for each in nodes))
        if pins in self._ends:
            return
        self._ends.add(pins)
        rows = self._read(view, info, branch, ["id", "src", "dst"])
        self._given(info, rows, branch)
        self._unique(info, _one(rows["id"]), branch)
        for column, node in zip(("src", "dst"), nodes, strict=True):
            known = self._node_ids(view, node, branch)
            if known is None:
                continue
            lost = rows.filter(pc.invert(pc.is_in(rows[column], value_set=known)))
            if lost.num_rows:
                shown = ", ".join(f"'{name}'" for name in lost["id"][:_SHOWN].to_pylist())
                message = f"{counted(lost.num_rows, 'edge')} without a {node.name} at '{column}': {shown}"
                self._checking.found("orphan_edge", message, type_key=info.table_key, branch=branch)

    def _read(self, view: View, info: TableType, branch: str, wanted: list[str]) -> pa.Table:
        """Decode every column of a table, and keep some."""
        table, entry = view.table(info), view.entry(info)
        parts, count = [], 0
        for batch in table.batches(batch_size=_BATCH_ROWS):
            count += batch.num_rows
            parts.append(pa.Table.from_batches([batch]).select(wanted))
        self._checking.counts.rows += count
        if count != entry.row_count:
            message = f"the table has {counted(count, 'row')}, but the manifest says {entry.row_count}"
            self._checking.found("row_count", message, type_key=info.table_key, branch=branch, version=entry.version)
        return pa.concat_tables(parts) if parts else table.scan(wanted, limit=0)

    def _given(self, info: TableType, rows: pa.Table, branch: str) -> None:
        for message in without_values(rows):
            self._checking.found("null", message, type_key=info.table_key, branch=branch)

    def _unique(self, info: TableType, ids: pa.Array, branch: str) -> None:
        if pc.count_distinct(ids).as_py() == len(ids):
            return
        counts = pc.value_counts(ids)
        repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
        shown = ", ".join(f"'{name}'" for name in repeated[:_SHOWN].to_pylist())
        message = f"{len(repeated)} ids occur more than once: {shown}"
        self._checking.found("duplicate_id", message, type_key=info.table_key, branch=branch)

    def _keys(self, info: NodeType, rows: pa.Table, ids: pa.Array, branch: str) -> None:
        derived = key_texts(info, {name: _one(rows[name]) for name in info.key or ()})
        differs = pc.fill_null(pc.not_equal(ids, derived), fill_value=True)
        wrong = ids.filter(differs)
        if len(wrong):
            pairs = zip(wrong[:_SHOWN].to_pylist(), derived.filter(differs)[:_SHOWN].to_pylist(), strict=True)
            shown = ", ".join(f"'{found}' (its key says '{said}')" for found, said in pairs)
            message = f"{len(wrong)} ids do not agree with their keys: {shown}"
            self._checking.found("key", message, type_key=info.table_key, branch=branch)


def without_values(rows: pa.Table) -> list[str]:
    """Which of some ids, keys and ends are null; none ever may be."""
    nulls = {name: rows[name].null_count for name in rows.column_names}
    return [f"{counted(count, 'row')} without '{name}'" for name, count in nulls.items() if count]


def _pin(view: View, info: TableType) -> Pin:
    return pin_of(view.entry(info))


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
