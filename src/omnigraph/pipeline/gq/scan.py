"""Tables of a view as Spark frames: a task per group of fragments reads, filters and names the columns a plan needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.walk import properties
from omnigraph.compiler.types import PropType
from omnigraph.engine.values.arrow import TableType
from omnigraph.engine.values.predicate import Bindings
from omnigraph.engine.values.pushdown import push
from omnigraph.engine.views.view import View
from omnigraph.errors import BadRequest
from omnigraph.pipeline.gq.carry import Batches, carrier, reporting, to_spark
from omnigraph.pipeline.gq.values import Layout, Step, Values, keeping
from omnigraph.pipeline.spark.datasource import TablePlan, table_plan
from omnigraph.storage.lance.tables import open_table

TEXT = PropType("String")


@dataclass(frozen=True, slots=True)
class Scan:
    """Which rows and columns of a table: `columns` names the frame's column of each stored one.

    `var` is what the conditions call the entity.
    """

    info: TableType
    var: str
    columns: Mapping[str, str]
    conditions: tuple[ir.Condition, ...] = ()


def kind_of(info: TableType, name: str) -> PropType:
    """The type of a column; ids and endpoints are text."""
    return info.properties.get(name, TEXT)


def not_on_spark(what: str) -> BadRequest:
    """What a caller is told about something that only the engine itself can do."""
    return BadRequest(f"{what} cannot run on Spark; use runner='inline'")


def scan_frame(spark: Any, view: View, bindings: Bindings, scan: Scan) -> Any:
    """The rows that satisfy the conditions, as a frame; one task per group of fragments."""
    job = _job(view, bindings, scan)
    groups = job.plan.fragments
    fields = [pa.field(column, carrier(job.kinds[name])) for name, column in scan.columns.items()]
    schema = pa.schema(fields)

    def read(batches: Batches) -> Batches:
        for batch in batches:
            for at in batch.column(0).to_pylist():
                yield from job.read(groups[at], schema)

    numbers = spark.range(0, len(groups), 1, max(1, len(groups)))
    return numbers.mapInArrow(reporting(read), from_arrow_schema(schema))


@dataclass(frozen=True, slots=True)
class _Job:
    """What a task of a scan knows."""

    plan: TablePlan
    columns: Mapping[str, str]
    kinds: Mapping[str, PropType]
    where: str | None
    keep: Step

    def read(self, fragments: Sequence[int], schema: pa.Schema) -> Batches:
        assert self.plan.address is not None
        table = open_table(self.plan.address, self.plan.version)
        stored = list(dict.fromkeys(name for _, name in self.plan.columns if name is not None)) or ["id"]
        for batch in table.batches(stored, self.where, fragments=fragments):
            rows = self.keep(self._named(batch))
            if rows.num_rows:
                arrays = [to_spark(rows.column(name), self.kinds[name]) for name in self.columns]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _named(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns under their current names, in the engine's types; null where one did not exist yet."""
        schema = self.plan.row_schema
        arrays = [
            pa.nulls(batch.num_rows, field.type) if stored is None else batch.column(stored).cast(field.type)
            for field, (_, stored) in zip(schema, self.plan.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, names=schema.names)


def _job(view: View, bindings: Bindings, scan: Scan) -> _Job:
    reads = {name for condition in scan.conditions for _, name in properties(condition)}
    plan = table_plan(view, scan.info, [*scan.columns, *sorted(reads - set(scan.columns))])
    where, rest = None, scan.conditions
    if all(stored == name for name, stored in plan.columns):  # a filter speaks about stored names
        pushed = push(ir.And(scan.conditions), bindings)
        if pushed.keeps_nothing:
            plan = replace(plan, fragments=())
        where, rest = pushed.filter, () if pushed.rest is None else (pushed.rest,)
    kinds = {name: kind_of(scan.info, name) for name, _ in plan.columns}
    layout = Layout({(scan.var, name): name for name in kinds}, kinds)
    return _Job(plan, dict(scan.columns), kinds, where, keeping(Values(layout, bindings), rest))
