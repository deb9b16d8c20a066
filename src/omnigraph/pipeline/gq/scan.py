"""Tables of a view as Spark frames: a task per group of fragments reads, filters and names the columns a plan needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.types import PropType
from omnigraph.engine.arrow import TableType, row_schema
from omnigraph.engine.predicate import Bindings, Evaluator
from omnigraph.engine.pushdown import push
from omnigraph.engine.view import View
from omnigraph.pipeline.datasource import TablePlan, table_plan
from omnigraph.pipeline.gq.carry import Batches, carrier, reporting, to_spark
from omnigraph.storage.tables import open_table

TEXT = PropType("String")


@dataclass(frozen=True, slots=True)
class Scan:
    """Which rows and columns of a table: `columns` names the frame's column of each stored one."""

    info: TableType
    columns: Mapping[str, str]
    conditions: tuple[ir.Condition, ...] = ()


def kind_of(info: TableType, name: str) -> PropType:
    """The type of a column; ids and endpoints are text."""
    return info.properties.get(name, TEXT)


def scan_frame(spark: Any, view: View, bindings: Bindings, scan: Scan) -> Any:
    """The rows that satisfy the conditions, as a frame."""
    reads = {column.name for condition in scan.conditions for column in _properties(condition)}
    plan = table_plan(view, scan.info, [*scan.columns, *sorted(reads - set(scan.columns))])
    where, rest = None, scan.conditions
    if all(stored == name for name, stored in plan.columns):  # a filter speaks about stored names
        pushed = push(ir.And(scan.conditions), bindings)
        if pushed.keeps_nothing:
            plan = _emptied(plan)
        where, rest = pushed.filter, () if pushed.rest is None else (pushed.rest,)
    job = _Job(plan, where, rest, bindings, dict(scan.columns), {n: kind_of(scan.info, n) for n, _ in plan.columns})
    schema = pa.schema([pa.field(column, carrier(job.kinds[name])) for name, column in scan.columns.items()])
    return frame_of(spark, job, schema)


def frame_of(spark: Any, job: _Job, schema: pa.Schema) -> Any:
    """A frame whose tasks run a scan job; one task per group of fragments."""
    from pyspark.sql.pandas.types import from_arrow_schema

    groups = job.plan.fragments

    def read(batches: Batches) -> Batches:
        for batch in batches:
            for at in batch.column(0).to_pylist():
                yield from job.read(groups[at], schema)

    tasks = max(1, len(groups))
    return spark.range(0, len(groups), 1, tasks).mapInArrow(reporting(read), from_arrow_schema(schema))


@dataclass(frozen=True, slots=True)
class _Job:
    """What a task of a scan knows."""

    plan: TablePlan
    where: str | None
    rest: tuple[ir.Condition, ...]
    bindings: Bindings
    columns: Mapping[str, str]
    kinds: Mapping[str, PropType]

    def read(self, fragments: Sequence[int], schema: pa.Schema) -> Batches:
        assert self.plan.address is not None
        table = open_table(self.plan.address, self.plan.version)
        stored = list(dict.fromkeys(name for _, name in self.plan.columns if name is not None)) or ["id"]
        for batch in table.batches(stored, self.where, fragments=fragments):
            rows = self._named(batch)
            for condition in self.rest:
                rows = rows.filter(Evaluator.over(rows, self.bindings).keep(condition))
            if rows.num_rows:
                yield from self._shown(rows, schema)

    def _named(self, batch: pa.RecordBatch) -> pa.Table:
        """The columns under their current names, in the engine's types; null where one did not exist yet."""
        kinds = {field.name: field.type for field in self.plan.row_schema}
        columns = {
            name: pa.nulls(batch.num_rows, kinds[name]) if stored is None else batch.column(stored).cast(kinds[name])
            for name, stored in self.plan.columns
        }
        return pa.table(columns)

    def _shown(self, rows: pa.Table, schema: pa.Schema) -> Batches:
        for batch in rows.to_batches():
            arrays = [to_spark(batch.column(name), self.kinds[name]) for name in self.columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _properties(condition: ir.Condition) -> list[ir.Property]:
    from omnigraph.compiler.ir.walk import expressions

    return [part for part in expressions(condition) if isinstance(part, ir.Property)]


def _emptied(plan: TablePlan) -> TablePlan:
    from dataclasses import replace

    return replace(plan, fragments=())


def stored_names(info: TableType) -> frozenset[str]:
    """The columns that a type has."""
    return frozenset(row_schema(info).names)
