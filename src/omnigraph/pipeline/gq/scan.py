"""Tables of a view as Spark frames: a task per group of fragments reads, filters and names the columns a plan needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_schema

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.walk import properties
from omnigraph.compiler.types import PropType
from omnigraph.engine.read.columns.held import ROW_ID
from omnigraph.engine.values.arrow import TableType
from omnigraph.engine.values.predicate import Bindings
from omnigraph.engine.values.pushdown import push
from omnigraph.engine.views.view import View
from omnigraph.errors import BadRequest
from omnigraph.pipeline.gq.carry import Batches, carrier, reported, to_spark
from omnigraph.pipeline.gq.values import ROW, Layout, Step, Values, keeping
from omnigraph.pipeline.spark.datasource import TablePlan, table_plan
from omnigraph.pipeline.spark.shares import shared_frame
from omnigraph.storage.lance.tables import open_table

TEXT = PropType("String")
_CELL = 16  # bytes, about


@dataclass(frozen=True, slots=True)
class Among:
    """Values, and the stored columns that they are looked for in."""

    columns: tuple[str, ...]
    values: pa.Array

    def keep(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that have one of the values."""
        found = [pc.is_in(rows.column(name), value_set=self.values) for name in self.columns]
        return rows.filter(reduce(pc.or_, found))


@dataclass(frozen=True, slots=True)
class Scan:
    """Which rows and columns of a table: `columns` names the frame's column of each stored one.

    `var` is what the conditions call the entity. With `among`, one of the columns that it names has one of its values.
    """

    info: TableType
    var: str
    columns: Mapping[str, str]
    conditions: tuple[ir.Condition, ...] = ()
    among: Among | None = None


def kind_of(info: TableType, name: str) -> PropType:
    """The type of a column; ids and endpoints are text."""
    return ir.INT64 if name == ROW else info.properties.get(name, TEXT)


def not_on_spark(what: str) -> BadRequest:
    """What a caller is told about something that only the engine itself can do."""
    return BadRequest(f"{what} cannot run on Spark; use runner='inline'")


def scan_frame(spark: Any, view: View, bindings: Bindings, scan: Scan, most: int | None = None) -> Any:
    """The rows that satisfy the conditions, as a frame; one task per group of fragments. `most` of them are enough."""
    job = _job(view, bindings, scan)
    groups = job.plan.fragments
    fields = [pa.field(column, carrier(job.kinds[name])) for name, column in scan.columns.items()]
    schema = pa.schema(fields)

    def read(at: int) -> Batches:
        return reported(job.read(groups[at], schema, most))

    size = job.rows * _CELL * len(fields) if most is None else 0
    frame = shared_frame(spark, read, len(groups), size, from_arrow_schema(schema))
    return frame if most is None else frame.limit(most + 1)  # a task that ends early would end its process


@dataclass(frozen=True, slots=True)
class _Job:
    """What a task of a scan knows."""

    plan: TablePlan
    columns: Mapping[str, str]
    kinds: Mapping[str, PropType]
    where: str | None
    keep: Step
    among: Among | None
    rows: int  # of the table

    def read(self, fragments: Sequence[int], schema: pa.Schema, most: int | None) -> Batches:
        assert self.plan.address is not None
        table = open_table(self.plan.address, self.plan.version)
        stored = list(dict.fromkeys(name for _, name in self.plan.columns if name is not None))
        stored = [*stored, ROW_ID] if ROW in self.columns else stored or ["id"]
        left = most
        for batch in table.batches(stored, self.where, fragments=fragments):
            rows = self._named(batch)
            rows = self.keep(rows if self.among is None else self.among.keep(rows)).slice(0, left)
            if rows.num_rows:
                arrays = [to_spark(rows.column(name), self.kinds[name]) for name in self.columns]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)
            left = None if left is None else left - rows.num_rows
            if left == 0:
                return

    def _named(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns under their current names, in the engine's types; null where one did not exist yet."""
        schema = self.plan.row_schema
        arrays = [
            pa.nulls(batch.num_rows, field.type) if stored is None else batch.column(stored).cast(field.type)
            for field, (_, stored) in zip(schema, self.plan.columns, strict=True)
        ]
        if ROW not in self.columns:
            return pa.RecordBatch.from_arrays(arrays, names=schema.names)
        return pa.RecordBatch.from_arrays([*arrays, batch.column(ROW_ID).cast(pa.int64())], names=[*schema.names, ROW])


def _job(view: View, bindings: Bindings, scan: Scan) -> _Job:
    reads = {name for condition in scan.conditions for _, name in properties(condition)}
    reads |= set(() if scan.among is None else scan.among.columns)
    stored = [name for name in scan.columns if name != ROW]
    plan = table_plan(view, scan.info, [*stored, *sorted(reads - set(stored))])
    where, rest = None, scan.conditions
    if all(stored == name for name, stored in plan.columns):  # a filter speaks about stored names
        pushed = push(ir.And(scan.conditions), bindings)
        if pushed.keeps_nothing:
            plan = replace(plan, fragments=())
        where, rest = pushed.filter, () if pushed.rest is None else (pushed.rest,)
    kinds = {name: kind_of(scan.info, name) for name in (*scan.columns, *(name for name, _ in plan.columns))}
    layout = Layout({(scan.var, name): name for name in kinds}, kinds)
    keep, entry = keeping(Values(layout, bindings), rest), view.find(scan.info)
    return _Job(plan, dict(scan.columns), kinds, where, keep, scan.among, 0 if entry is None else entry.row_count)
