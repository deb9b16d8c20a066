"""Stages and lists on Spark: rows of a plan that another one goes on from, and one row for each item of a list."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import Window
from pyspark.sql import functions as F

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import ITEM, Limit, Unwind
from omnigraph.compiler.ir.plan import Stage
from omnigraph.compiler.types import PropType
from omnigraph.engine.read.frames.made import PLACE
from omnigraph.pipeline.gq.frame import Lowering, Rows
from omnigraph.pipeline.gq.values import KEY


def staged(low: Lowering, rows: Rows, stage: Stage) -> Rows:
    """The rows of a stage, each with its place: what it keeps stays bound, its columns are those of a variable."""
    place = low.names.fresh()
    ordered = Window.orderBy(*(each.expr for each in rows.order)) if rows.order else Window.orderBy(F.lit(0))
    frame = rows.frame.withColumn(place, F.row_number().over(ordered).cast("long"))
    kept = {key: column for key, column in rows.columns.items() if key[0] in stage.keeps}
    made = {(stage.var, name): column for name, column in rows.outputs.items() if isinstance(column, str)}
    columns = {**kept, **made, (stage.var, PLACE): place}
    # A column may be there under two names, and joins need different ones.
    fresh = {key: low.names.fresh() for key in columns}
    kinds = {fresh[key]: rows.kinds[column] for key, column in columns.items() if column in rows.kinds}
    chosen = [F.col(column).alias(fresh[key]) for key, column in columns.items()]
    held = low.hold(frame.select(*chosen))
    return Rows(held, fresh, {**kinds, fresh[stage.var, PLACE]: ir.INT64})


def unwound(low: Lowering, rows: Rows, op: Unwind) -> Rows:
    """The rows with each item of a list; blocks tell items apart by their values."""
    rows, (lists,) = low.computed(rows, [op.expr])
    item, place, key = low.names.fresh(), low.names.fresh(), low.names.fresh()
    frame = rows.frame.select("*", F.posexplode(F.col(lists)).alias(place, item))
    frame = frame.withColumn(place, F.col(place).cast("long")).withColumn(key, F.col(item).cast("string"))
    kind = op.expr.type
    assert isinstance(kind, PropType)
    columns = {**rows.columns, (op.var, ITEM): item, (op.var, PLACE): place, (op.var, KEY): key}
    kinds = {**rows.kinds, item: PropType(kind.scalar, enum=kind.enum), place: ir.INT64, key: ir.STRING}
    return replace(rows, frame=frame, columns=columns, kinds=kinds)


def limited_per(low: Lowering, rows: Rows, op: Limit, limit: int | None, offset: int | None) -> Rows:
    """The first rows of each group, by the order of the rows."""
    rows, keys = low.computed(rows, op.per)
    place, begin = low.names.fresh(), offset or 0
    ordered = [each.expr for each in rows.order] or [F.lit(0)]
    frame = rows.frame.withColumn(place, F.row_number().over(Window.partitionBy(*keys).orderBy(*ordered)))
    kept = F.col(place) > begin
    if limit is not None:
        kept &= F.col(place) <= begin + limit
    return rows.with_frame(frame.where(kept).drop(place))
