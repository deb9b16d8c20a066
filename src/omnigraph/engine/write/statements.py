"""Runs the statements of a mutation against one pinned view and says what they would write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import EdgeType, NodeType
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.plan import MutationPlan
from omnigraph.compiler.ir.write_ops import (
    DeleteEdge,
    DeleteNode,
    ForEach,
    InsertEdge,
    InsertNode,
    MutationOp,
    PlainWrite,
    UpdateEdge,
    UpdateNode,
    Value,
)
from omnigraph.compiler.query.params import ParamValue
from omnigraph.compiler.temporal import DateTime
from omnigraph.engine.intake.columns.json_value import missing_message
from omnigraph.engine.intake.columns.property_columns import Offence, column_from_arrow, column_from_json
from omnigraph.engine.intake.embedding import Filling, FillPlan
from omnigraph.engine.intake.records import Intake, RawRows, required_endpoints, type_rows
from omnigraph.engine.intake.violations import Violation, raise_first
from omnigraph.engine.values.arrow import TableType
from omnigraph.engine.values.fixed import Fixed
from omnigraph.engine.values.json_values import json_texts
from omnigraph.engine.values.predicate import Bindings, Evaluator
from omnigraph.engine.values.rowset import last_positions, one_array, repeats, tuple_codes
from omnigraph.engine.views.view import View
from omnigraph.engine.write.change_set import ChangeSet, EdgeColumn
from omnigraph.engine.write.driven import Matched, find, whole_rows
from omnigraph.engine.write.pending import PendingTable, Staging, without_ids
from omnigraph.engine.write.reads import Reads
from omnigraph.errors import ValueViolation
from omnigraph.ids import new_ulid, now_micros
from omnigraph.policy.external_blobs import ExternalBlobPolicy
from omnigraph.storage.lance.blob_cells import references


@dataclass(slots=True)
class Request:
    """One call of a mutation; the instant and the ids of new entities are fixed once, whatever is prepared again.

    `external` says which objects outside the graph its blobs may refer to.
    """

    params: Mapping[str, ParamValue]
    external: ExternalBlobPolicy | None = None
    now: DateTime = field(default_factory=lambda: DateTime(now_micros() // 1_000))
    _minted: dict[int, list[str]] = field(default_factory=dict)

    @property
    def bindings(self) -> Bindings:
        return Bindings.of(self.params, self.now)

    def ids_for(self, position: int, count: int = 1) -> list[str]:
        """The ids of the entities that the statement at this position creates."""
        minted = self._minted.setdefault(position, [])
        minted += [new_ulid() for _ in range(count - len(minted))]
        return minted[:count]


@dataclass(frozen=True, slots=True)
class Effects:
    """What a mutation does: its pending tables, how many entities it touches, and the URIs that it brings in."""

    tables: tuple[PendingTable, ...]
    nodes: int
    edges: int
    referred: tuple[str, ...] = ()

    @property
    def changes(self) -> ChangeSet:
        """What the validator looks at."""
        return {table.info.table_key: table.change() for table in self.tables}


def execute(
    plan: MutationPlan, view: View, request: Request, filling: Filling | None = None, reads: Reads | None = None
) -> Effects:
    """Run every statement in order; later ones see what earlier ones did. Nothing is written.

    What the statements look at is noted in `reads`.
    """
    refuse_mixture(plan)
    run = StatementRun(view, request, filling or FillPlan().filling(), reads or Reads())
    for position, op in enumerate(plan.ops):
        run.statement(position, op)
    return Effects(tuple(run.staging), run.nodes, run.edges, tuple(run.referred))


def refuse_mixture(plan: MutationPlan) -> None:
    """A mutation inserts and updates, or it deletes (W022)."""
    writes = (op.write if isinstance(op, ForEach) else op for op in plan.ops)
    deletes = {isinstance(write, DeleteNode | DeleteEdge) for write in writes}
    if len(deletes) > 1:
        raise ValueViolation("W022", "a mutation either inserts and updates, or deletes; split it into two queries")


class StatementRun:
    """One execution of one plan, or of several of a batch."""

    def __init__(self, view: View, request: Request, filling: Filling, reads: Reads) -> None:
        self.view = view
        self.reads = reads
        self.request = request
        self.filling = filling
        self.intake = Intake(filling, request.external)
        self.referred: list[str] = []
        self.bindings = request.bindings
        self.staging = Staging(view, self.bindings, reads)
        self.nodes = 0
        self.edges = 0

    def statement(self, position: int, op: MutationOp) -> None:
        if isinstance(op, ForEach):
            self.reads.match(op, self.view.catalog)
            self._driven(position, op.write, find(self.view, op, self.bindings))
        else:
            self._plain(position, op)

    def _plain(self, position: int, op: PlainWrite) -> None:
        match op:
            case InsertNode():
                self._insert_node(position, op)
            case InsertEdge():
                self._insert_edge(position, op)
            case UpdateNode(name, values, predicate):
                self.nodes += self._update(self.view.catalog.nodes[name], values, predicate)
            case UpdateEdge(name, values, predicate):
                self.edges += self._update(self.view.catalog.edges[name], values, predicate)
            case DeleteNode():
                self._delete_node(op)
            case DeleteEdge(name, predicate):
                info = self.view.catalog.edges[name]
                self.edges += self._delete(info, self.staging.matching_ids(info, predicate))

    def _driven(self, position: int, op: PlainWrite, found: Matched) -> None:
        match op:
            case InsertNode(name, values):
                self.nodes += self._insert_nodes(position, self.view.catalog.nodes[name], values, found.evaluator)
            case InsertEdge():
                self.edges += self._insert_edges(position, op, found.evaluator)
            case UpdateNode(name, values):
                self.nodes += self._update_found(self.view.catalog.nodes[name], values, found)
            case UpdateEdge(name, values):
                self.edges += self._update_found(self.view.catalog.edges[name], values, found)
            case DeleteNode():
                self._delete_nodes(op, self._not_gone(self.view.catalog.nodes[op.type_name], found))
            case DeleteEdge(name):
                info = self.view.catalog.edges[name]
                self.edges += self._delete(info, self._not_gone(info, found))

    # --- insert ----------------------------------------------------------------------------------

    def _insert_node(self, position: int, op: InsertNode) -> None:
        info = self.view.catalog.nodes[op.type_name]
        self.nodes += self._insert_nodes(position, info, op.values, Evaluator(_no_row, 1, self.bindings))

    def _insert_edge(self, position: int, op: InsertEdge) -> None:
        self.edges += self._insert_edges(position, op, Evaluator(_no_row, 1, self.bindings))

    def _insert_nodes(self, position: int, info: NodeType, values: tuple[Value, ...], rows: Evaluator) -> int:
        if not rows.length:
            return 0
        ids = pa.nulls(rows.length, pa.utf8())
        if info.key is None:
            ids = pa.array(self.request.ids_for(position, rows.length), pa.utf8())
        return self._insert(info, ids, None, values, rows)

    def _insert_edges(self, position: int, op: InsertEdge, rows: Evaluator) -> int:
        if not rows.length:
            return 0
        info = self.view.catalog.edges[op.type_name]
        ends = []
        for name, end in (("from", op.source), ("to", op.target)):
            column = rows.column(end, pa.utf8())
            if column.null_count:
                raise ValueViolation("W001", f"{info.name}: '{name}' is null", type_name=info.name, property_name=name)
            ends.append(column)
        ids = pa.array(self.request.ids_for(position, rows.length), pa.utf8())
        return self._insert(info, ids, required_endpoints(info, *ends), op.values, rows)

    def _insert(
        self,
        info: TableType,
        ids: pa.Array,
        endpoints: tuple[pa.Array, pa.Array] | None,
        values: tuple[Value, ...],
        rows: Evaluator,
    ) -> int:
        columns = {value.property: _given(rows, value.expr) for value in values}
        raw = RawRows(info, ids, endpoints, columns, np.zeros(rows.length, np.int64))
        typed, violations = type_rows(raw, self.intake)
        raise_first([replace(violation, line=None) for violation in violations])
        keyed = bool(ids.null_count)
        new = _one_per_key(info, typed.rows) if keyed and rows.length > 1 else typed.rows
        self._refer(info, {name: new[name] for name in columns})
        self.staging.table(info).write(new, "keyed" if keyed else "fresh")
        return int(new.num_rows)

    def _refer(self, info: TableType, written: Mapping[str, pa.Array | pa.ChunkedArray]) -> None:
        """Note the references among values that are new; those of rows that are only carried over are known already."""
        for name in info.blobs & written.keys():
            self.referred += references(written[name]).to_pylist()

    # --- update ----------------------------------------------------------------------------------

    def _update(self, info: TableType, values: tuple[Value, ...], predicate: ir.Condition) -> int:
        self._refuse_key_change(info, values)
        rows = self.staging.matching(info, predicate)
        # Constants are judged even when nothing matches: a wrong value is wrong whatever the data.
        judged = Evaluator.over(rows, self.bindings)
        columns = {value.property: self._assigned(info, value, judged, rows["id"]) for value in values}
        return self._write_over(info, rows, columns)

    def _update_found(self, info: TableType, values: tuple[Value, ...], found: Matched) -> int:
        self._refuse_key_change(info, values)
        columns = {value.property: self._assigned(info, value, found.evaluator, found.ids) for value in values}
        if not found.count:
            return 0
        for name, column in columns.items():
            found.refuse_ambiguity(info, name, column)
        first = found.targets()
        chosen = {name: column.take(pa.array(first)) for name, column in columns.items()}
        return self._write_over(info, whole_rows(self.view, info, found, first), chosen)

    def _write_over(self, info: TableType, rows: pa.Table, columns: Mapping[str, pa.Array]) -> int:
        """Old rows with some of their columns replaced."""
        if not rows.num_rows:
            return 0
        self._refer(info, columns)
        for name, column in columns.items():
            at = rows.schema.get_field_index(name)
            rows = rows.set_column(at, rows.schema.field(at), column)
        self.staging.table(info).write(self._with_new_vectors(info, rows, columns), "existing")
        return int(rows.num_rows)

    def _with_new_vectors(self, info: TableType, rows: pa.Table, assigned: Mapping[str, pa.Array]) -> pa.Table:
        """Rows whose text was set get the vector of the new text, unless the vector was set as well."""
        if not isinstance(info, NodeType):
            return rows
        for target, embed in info.embeds.items():
            if embed.source in assigned and target not in assigned:
                columns = {name: one_array(rows[name]) for name in (embed.source, target)}
                at = rows.schema.get_field_index(target)
                rows = rows.set_column(at, rows.schema.field(at), self.filling.renewed(info, target, columns))
        return rows

    def _refuse_key_change(self, info: TableType, values: tuple[Value, ...]) -> None:
        key = info.key if isinstance(info, NodeType) and info.key is not None else ()
        for value in values:
            if value.property in key:
                message = f"{info.name}.{value.property} is part of the key and cannot change"
                raise ValueViolation("W021", message, type_name=info.name, property_name=value.property)

    def _assigned(self, info: TableType, value: Value, rows: Evaluator, ids: pa.Array | pa.ChunkedArray) -> pa.Array:
        """The new column of one property: every old row as the expression maps it, converted to the property's type."""
        name, kind = value.property, info.properties[value.property]
        found = rows.value(value.expr)
        if isinstance(found, Fixed):
            plain = list(found.value) if isinstance(found.value, tuple) else found.value
            column, offences = column_from_json(name, kind, [plain], self.intake.external)
        else:
            column, offences = column_from_arrow(name, kind, found, self.intake.external)
        if column.null_count and not kind.nullable and not offences:
            offences = [Offence(column.is_null().index(True).as_py(), "W001", missing_message(name, kind))]
        raise_first([_violation(info, name, offence, ids) for offence in offences])
        # `pa.repeat` knows no nested types; taking row 0 over and over works for all of them.
        return column.take(pa.array(np.zeros(rows.length, np.int64))) if isinstance(found, Fixed) else column

    # --- delete ----------------------------------------------------------------------------------

    def _delete_node(self, op: DeleteNode) -> None:
        info = self.view.catalog.nodes[op.type_name]
        self._delete_nodes(op, self.staging.matching_ids(info, op.predicate))

    def _not_gone(self, info: TableType, found: Matched) -> pa.Array:
        ids = pa.table({"id": pc.unique(found.ids)})
        return one_array(without_ids(ids, self.staging.table(info).deleted)["id"])

    def _delete_nodes(self, op: DeleteNode, gone: pa.Array) -> None:
        info = self.view.catalog.nodes[op.type_name]
        self.nodes += self._delete(info, gone)
        for cascade in op.cascades:
            edge = self.view.catalog.edges[cascade.edge]
            ends: list[EdgeColumn] = []
            if cascade.at_source:
                ends.append("src")
            if cascade.at_target:
                ends.append("dst")
            self.edges += self._delete(edge, self.staging.edges_at(edge, gone, ends))

    def _delete(self, info: NodeType | EdgeType, ids: pa.Array) -> int:
        if len(ids):
            self.staging.delete(info, ids)
        return len(ids)


def _given(rows: Evaluator, expr: ir.Expr) -> pa.Array | list[Any]:
    """The values of an inserted property: a column, or the same constant over and over as JSON would have it."""
    value = rows.value(expr)
    if not isinstance(value, Fixed):
        return value
    return [list(value.value) if isinstance(value.value, tuple) else value.value] * rows.length


def _one_per_key(info: TableType, rows: pa.Table) -> pa.Table:
    """Equal rows once; different rows under one key have no order that could decide between them (W023)."""
    distinct = rows.take(pa.array(last_positions(one_array(rows["id"]))))
    if distinct.num_rows == rows.num_rows:
        return rows
    codes = tuple_codes([json_texts(one_array(column)) for column in rows.columns])
    ids = tuple_codes([rows["id"]])
    if len(np.unique(codes)) > len(np.unique(ids)):
        again, first = repeats(ids)
        clash = int(again[codes[again] != codes[first]][0])
        entity = rows["id"][clash].as_py()
        message = f"{info.name} '{entity}': the match gives this key more than one row"
        raise ValueViolation("W023", message, type_name=info.name, entity_id=entity)
    return distinct


def _violation(info: TableType, name: str, offence: Offence, ids: pa.Array | pa.ChunkedArray) -> Violation:
    known = (ids[offence.row].as_py(),) if offence.row < len(ids) else ()
    subject = f"{info.name} '{known[0]}'" if known else info.name
    return Violation(offence.code, f"{subject}: {offence.message}", info.table_key, name, known)


def _no_row(expr: ir.Expr) -> pa.Array:
    raise ir.IllTyped(f"{type(expr).__name__} where no row is in scope")
