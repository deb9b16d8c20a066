"""Runs the statements of a mutation against one pinned view and says what they would write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.compiler.catalog.model import EdgeType, NodeType
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import (
    DeleteEdge,
    DeleteNode,
    InsertEdge,
    InsertNode,
    MutationOp,
    MutationPlan,
    UpdateEdge,
    UpdateNode,
    Value,
)
from omnigraph.compiler.query.params import ParamValue
from omnigraph.compiler.temporal import DateTime
from omnigraph.engine.arrow import TableType
from omnigraph.engine.predicate import Bindings, Evaluator, Fixed
from omnigraph.engine.view import View
from omnigraph.engine.write.changes import ChangeSet, EdgeColumn
from omnigraph.engine.write.embedding import Filling, FillPlan
from omnigraph.engine.write.json_value import missing_message
from omnigraph.engine.write.records import RawRows, required_endpoints, type_rows
from omnigraph.engine.write.rowset import one_array
from omnigraph.engine.write.staging import PendingTable, Staging
from omnigraph.engine.write.values import Offence, column_from_arrow, column_from_json
from omnigraph.engine.write.violations import Violation, raise_first
from omnigraph.errors import ValueViolation
from omnigraph.ids import new_ulid, now_micros


@dataclass(slots=True)
class Request:
    """One call of a mutation; the instant and the ids of new entities are fixed once, whatever is prepared again."""

    params: Mapping[str, ParamValue]
    now: DateTime = field(default_factory=lambda: DateTime(now_micros() // 1_000))
    _minted: dict[int, str] = field(default_factory=dict)

    @property
    def bindings(self) -> Bindings:
        return Bindings.of(self.params, self.now)

    def id_for(self, position: int) -> str:
        """The id of the entity that the statement at this position creates."""
        return self._minted.setdefault(position, new_ulid())


@dataclass(frozen=True, slots=True)
class Effects:
    """What a mutation does: its pending tables and how many entities it touches."""

    tables: tuple[PendingTable, ...]
    nodes: int
    edges: int

    @property
    def changes(self) -> ChangeSet:
        """What the validator looks at."""
        return {table.info.table_key: table.change() for table in self.tables}


def execute(plan: MutationPlan, view: View, request: Request, filling: Filling | None = None) -> Effects:
    """Run every statement in order; later ones see what earlier ones did. Nothing is written."""
    _refuse_mixture(plan)
    run = _Run(view, request, filling or FillPlan().filling())
    for position, op in enumerate(plan.ops):
        run.statement(position, op)
    return Effects(tuple(run.staging), run.nodes, run.edges)


def _refuse_mixture(plan: MutationPlan) -> None:
    deletes = {isinstance(op, DeleteNode | DeleteEdge) for op in plan.ops}
    if len(deletes) > 1:
        raise ValueViolation("W022", "a mutation either inserts and updates, or deletes; split it into two queries")


class _Run:
    """One execution of one plan."""

    def __init__(self, view: View, request: Request, filling: Filling) -> None:
        self.view = view
        self.request = request
        self.filling = filling
        self.bindings = request.bindings
        self.staging = Staging(view, self.bindings)
        self.nodes = 0
        self.edges = 0

    def statement(self, position: int, op: MutationOp) -> None:
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

    # --- insert ----------------------------------------------------------------------------------

    def _insert_node(self, position: int, op: InsertNode) -> None:
        info = self.view.catalog.nodes[op.type_name]
        given = None if info.key is not None else self.request.id_for(position)
        self._insert(info, given, None, op.values)
        self.nodes += 1

    def _insert_edge(self, position: int, op: InsertEdge) -> None:
        info = self.view.catalog.edges[op.type_name]
        ends = []
        for name, end in (("from", op.source), ("to", op.target)):
            value = self._constant(end)
            if value is None:
                raise ValueViolation("W001", f"{info.name}: '{name}' is null", type_name=info.name, property_name=name)
            ends.append(pa.array([value], pa.utf8()))
        self._insert(info, self.request.id_for(position), required_endpoints(info, *ends), op.values)
        self.edges += 1

    def _insert(
        self,
        info: TableType,
        entity_id: str | None,
        endpoints: tuple[pa.Array, pa.Array] | None,
        values: tuple[Value, ...],
    ) -> None:
        columns = {value.property: [self._constant(value.expr)] for value in values}
        raw = RawRows(info, pa.array([entity_id], pa.utf8()), endpoints, columns, np.zeros(1, np.int64))
        typed, violations = type_rows(raw, self.filling)
        raise_first([replace(violation, line=None) for violation in violations])
        self.staging.table(info).write(typed.rows, "keyed" if entity_id is None else "fresh")

    def _constant(self, expr: ir.Expr) -> Any:
        """The value of an expression that reads no row, as JSON would have it."""
        value = Evaluator(_no_row, 1, self.bindings).value(expr)
        plain = value.value if isinstance(value, Fixed) else value[0].as_py()
        return list(plain) if isinstance(plain, tuple) else plain

    # --- update ----------------------------------------------------------------------------------

    def _update(self, info: TableType, values: tuple[Value, ...], predicate: ir.Condition) -> int:
        self._refuse_key_change(info, values)
        rows = self.staging.matching(info, predicate)
        # Constants are judged even when nothing matches: a wrong value is wrong whatever the data.
        columns = {value.property: self._assigned(info, value, rows) for value in values}
        if not rows.num_rows:
            return 0
        for name, column in columns.items():
            at = rows.schema.get_field_index(name)
            rows = rows.set_column(at, rows.schema.field(at), column)
        self.staging.table(info).write(self._with_new_vectors(info, rows, columns), "existing")
        return int(rows.num_rows)

    def _with_new_vectors(self, info: TableType, rows: pa.Table, assigned: Mapping[str, pa.Array]) -> pa.Table:
        """Rows whose text was set get the vector of the new text, unless the vector was set as well."""
        for target, embed in info.embeds.items() if isinstance(info, NodeType) else ():
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

    def _assigned(self, info: TableType, value: Value, rows: pa.Table) -> pa.Array:
        """The new column of one property: every old row as the expression maps it, converted to the property's type."""
        name, kind = value.property, info.properties[value.property]
        found = Evaluator.over(rows, self.bindings).value(value.expr)
        if isinstance(found, Fixed):
            plain = list(found.value) if isinstance(found.value, tuple) else found.value
            column, offences = column_from_json(name, kind, [plain])
        else:
            column, offences = column_from_arrow(name, kind, found)
        if column.null_count and not kind.nullable and not offences:
            offences = [Offence(column.is_null().index(True).as_py(), "W001", missing_message(name, kind))]
        raise_first([_violation(info, name, offence, rows) for offence in offences])
        # `pa.repeat` knows no nested types; taking row 0 over and over works for all of them.
        return column.take(pa.array(np.zeros(rows.num_rows, np.int64))) if isinstance(found, Fixed) else column

    # --- delete ----------------------------------------------------------------------------------

    def _delete_node(self, op: DeleteNode) -> None:
        info = self.view.catalog.nodes[op.type_name]
        gone = self.staging.matching_ids(info, op.predicate)
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
            self.staging.table(info).delete(ids)
        return len(ids)


def _violation(info: TableType, name: str, offence: Offence, rows: pa.Table) -> Violation:
    ids = (rows["id"][offence.row].as_py(),) if offence.row < rows.num_rows else ()
    subject = f"{info.name} '{ids[0]}'" if ids else info.name
    return Violation(offence.code, f"{subject}: {offence.message}", info.table_key, name, ids)


def _no_row(expr: ir.Expr) -> pa.Array:
    raise ir.IllTyped(f"{type(expr).__name__} where no row is in scope")
