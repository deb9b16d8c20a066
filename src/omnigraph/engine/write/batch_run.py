"""Runs the mutations of a batch one after the other against one pinned view; later ones see what earlier ones did.

What many mutations have in common is done once: neighbours that run the same inserts are inserted together, and the
committed rows that conditions name by id or key are read ahead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.compiler.catalog.model import NodeType
from omnigraph.compiler.compile import CompiledQuery
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.plan import MutationPlan
from omnigraph.compiler.ir.write_ops import (
    DeleteEdge,
    DeleteNode,
    ForEach,
    InsertEdge,
    InsertNode,
    UpdateEdge,
    UpdateNode,
)
from omnigraph.compiler.query.params import ParamValue
from omnigraph.engine.intake.embedding import Filling
from omnigraph.engine.intake.records import RawRows, required_endpoints, type_rows
from omnigraph.engine.values.arrow import TableType
from omnigraph.engine.values.predicate import Bindings, fixed
from omnigraph.engine.values.rowset import last_positions, one_array
from omnigraph.engine.views.view import View
from omnigraph.engine.write.reads import Reads, matched_tables, named_ids
from omnigraph.engine.write.statements import Request, StatementRun, refuse_mixture
from omnigraph.errors import BadRequest, OmnigraphError, ValueViolation

_INSERTS = (InsertNode, InsertEdge)


@dataclass(frozen=True, slots=True)
class BatchItem:
    """One mutation of a batch, ready to run; `place` is how messages call it."""

    compiled: CompiledQuery
    params: Mapping[str, ParamValue]
    place: str
    first: int  # the number of its first statement among those of the batch

    @property
    def plan(self) -> MutationPlan:
        assert isinstance(self.compiled.plan, MutationPlan)
        return self.compiled.plan


@dataclass(slots=True)
class Writers:
    """Which mutation has written which entity last, to name the one that broke a rule of the whole."""

    _written: list[tuple[str, pa.Array, Sequence[BatchItem]]] = field(default_factory=list)

    def note(self, table_key: str, ids: pa.Array, items: Sequence[BatchItem]) -> None:
        """Rows with these ids were written: each by its own mutation, or all by one."""
        self._written.append((table_key, ids, items))

    def place_of(self, table_key: str | None, ids: Sequence[str]) -> str | None:
        """Where the last of these entities was written."""
        for key, written, items in reversed(self._written):
            known = written.to_pylist() if key == table_key else []
            for row in range(len(known) - 1, -1, -1):
                if known[row] in ids:
                    item: BatchItem = items[row if len(items) > 1 else 0]
                    return item.place
        return None


class BatchRun(StatementRun):
    """One execution of a batch."""

    def __init__(self, view: View, request: Request, filling: Filling, reads: Reads) -> None:
        super().__init__(view, request, filling, reads)
        self.writers = Writers()
        self._before: frozenset[str] = frozenset()

    def run(self, items: Sequence[BatchItem]) -> None:
        """Run all of them; an error names the one that raised it."""
        for plan in {id(item.plan): item for item in reversed(items)}.values():
            try:
                refuse_mixture(plan.plan)
            except OmnigraphError as error:
                raise error.at(plan.place) from None
        self._fetch(items)
        for _, same in groupby(items, key=lambda item: id(item.compiled)):
            run = list(same)
            if len(run) > 1 and _inserts_alike(run[0].plan):
                self._insert_run(run)
            else:
                for item in run:
                    self._one(item)

    def _one(self, item: BatchItem) -> None:
        self._before = frozenset(table.info.table_key for table in self.staging if not table.is_untouched)
        self._bind(self._bindings(item))
        try:
            for position, op in enumerate(item.plan.ops):
                if isinstance(op, ForEach):
                    self._require_unchanged(op)
                self.statement(item.first + position, op)
        except OmnigraphError as error:
            raise error.at(item.place) from None
        for table in self.staging:
            written = table.newest()
            if written is not None:
                self.writers.note(table.info.table_key, one_array(written["id"]), (item,))

    def _require_unchanged(self, op: ForEach) -> None:
        """A match reads committed rows, so what it may look at must not have been changed by an earlier mutation."""
        changed = self._before.intersection(matched_tables(op.match, self.view.catalog))
        if changed:
            name = min(changed).partition(":")[2]
            raise BadRequest(
                f"it matches on '{name}', which an earlier mutation of this batch changes; "
                "put it into a batch of its own, or use a transaction"
            )

    def _bindings(self, item: BatchItem) -> Bindings:
        return Bindings.of(item.params, self.request.now)

    def _bind(self, bindings: Bindings) -> None:
        self.bindings = self.staging.bindings = bindings

    # --- reading ahead ---------------------------------------------------------------------------

    def _fetch(self, items: Sequence[BatchItem]) -> None:
        """Read the committed rows that conditions name at once."""
        wanted: dict[str, tuple[TableType, set[str]]] = {}
        for item in items:
            conditions = [(op, info, op.predicate) for op, info in self._conditional(item.plan)]
            bindings = self._bindings(item) if conditions else None
            for _, info, condition in conditions:
                assert bindings is not None
                ids = named_ids(info, condition, bindings)
                if ids is not None:
                    wanted.setdefault(info.table_key, (info, set()))[1].update(ids)
        for table, names in wanted.values():
            self.staging.fetch(table, names)

    def _conditional(
        self, plan: MutationPlan
    ) -> Iterator[tuple[UpdateNode | UpdateEdge | DeleteNode | DeleteEdge, TableType]]:
        catalog = self.view.catalog
        for op in plan.ops:
            if isinstance(op, UpdateNode | DeleteNode):
                yield op, catalog.nodes[op.type_name]
            elif isinstance(op, UpdateEdge | DeleteEdge):
                yield op, catalog.edges[op.type_name]

    # --- inserting together ----------------------------------------------------------------------

    def _insert_run(self, items: Sequence[BatchItem]) -> None:
        """The same inserts with other parameters, all at a time; the last row of a key wins."""
        bindings = [self._bindings(item) for item in items]
        for position, op in enumerate(items[0].plan.ops):
            assert isinstance(op, _INSERTS)
            nodes = isinstance(op, InsertNode)
            info: TableType = (self.view.catalog.nodes if nodes else self.view.catalog.edges)[op.type_name]
            keyed = isinstance(info, NodeType) and info.key is not None
            ids = pa.nulls(len(items), pa.utf8())
            if not keyed:
                minted = [self.request.ids_for(item.first + position)[0] for item in items]
                ids = pa.array(minted, pa.utf8())
            ends = None if isinstance(op, InsertNode) else self._ends(info, op, items, bindings)
            columns = {value.property: [_plain(value.expr, each) for each in bindings] for value in op.values}
            typed, violations = type_rows(RawRows(info, ids, ends, columns, np.arange(len(items))), self.intake)
            for violation in violations:
                assert violation.line is not None
                raise replace(violation, line=None).error().at(items[violation.line].place)
            rows = typed.rows.take(pa.array(last_positions(one_array(typed.rows["id"]))))
            self._refer(info, {name: rows[name] for name in columns})
            self.writers.note(info.table_key, one_array(typed.rows["id"]), items)
            self.staging.table(info).write(rows, "keyed" if keyed else "fresh")
            self.nodes, self.edges = self.nodes + len(items) * nodes, self.edges + len(items) * (not nodes)

    def _ends(
        self, info: Any, op: InsertEdge, items: Sequence[BatchItem], bindings: Sequence[Bindings]
    ) -> tuple[pa.Array, pa.Array]:
        found = []
        for name, end in (("from", op.source), ("to", op.target)):
            values = [_plain(end, each) for each in bindings]
            if None in values:
                message = f"{info.name}: '{name}' is null"
                error = ValueViolation("W001", message, type_name=info.name, property_name=name)
                raise error.at(items[values.index(None)].place)
            found.append(pa.array(values, pa.utf8()))
        ends = required_endpoints(info, found[0], found[1])
        assert ends is not None
        return ends


def _inserts_alike(plan: MutationPlan) -> bool:
    """Whether a plan only inserts, each type once, values that need no computing."""
    if not all(isinstance(op, _INSERTS) for op in plan.ops):
        return False
    names = [op.type_name for op in plan.ops if isinstance(op, _INSERTS)]
    return len(set(names)) == len(names) and all(map(_is_fixed, _expressions(plan)))


def _expressions(plan: MutationPlan) -> Iterator[ir.Expr]:
    for op in plan.ops:
        if isinstance(op, _INSERTS):
            yield from (value.expr for value in op.values)
        if isinstance(op, InsertEdge):
            yield from (op.source, op.target)


def _is_fixed(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Const | ir.Param | ir.Now)


def _plain(expr: ir.Expr, bindings: Bindings) -> Any:
    known = fixed(expr, bindings)
    assert known is not None
    return list(known.value) if isinstance(known.value, tuple) else known.value
