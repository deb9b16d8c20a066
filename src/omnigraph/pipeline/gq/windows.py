"""Windows on Spark: its own window functions over the columns of groups and keys."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyspark.sql import Window
from pyspark.sql import functions as F

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import WindowColumns
from omnigraph.compiler.types import INTEGER
from omnigraph.engine.read.frames.made import PLACE
from omnigraph.pipeline.gq.frame import Lowering, Order, Rows, value_kind
from omnigraph.pipeline.gq.sums import Stats, exact_total, running_total, with_window_stats


def windowed(low: Lowering, rows: Rows, op: WindowColumns) -> Rows:
    """The rows with one more variable, whose properties are the windows."""
    ties = [Order(column).expr for var in op.ties for column in rows.ties(var)]
    columns, kinds = dict(rows.columns), dict(rows.kinds)
    for output in op.columns:
        call = output.expr
        assert isinstance(call, ir.WindowCall)
        rows, per = low.computed(rows, call.per)
        rows, keys = low.computed(rows, [key.expr for key in call.keys])
        ordered = [Order(column, key.descending).expr for column, key in zip(keys, call.keys, strict=True)]
        parts = [part for part in (call.arg, call.where) if part is not None]
        rows, found = low.computed(rows, parts)
        name = low.names.fresh()
        window = Window.partitionBy(*(F.col(column) for column in per))
        value = None if call.arg is None else F.col(found[0])
        if call.where is not None:
            value = F.when(F.col(found[-1]), F.lit(1) if value is None else value)
        stats = None
        if call.function in ("sum", "avg") and value is not None and not _whole(call):
            value, stats = value.cast("double"), Stats(low.names.fresh(), low.names.fresh())
            rows = rows.with_frame(with_window_stats(rows.frame, value, window, stats))
        rows = rows.with_frame(rows.frame.withColumn(name, _value(call, value, window, ordered, ties, stats)))
        columns[op.var, output.name], kinds[name] = name, call.type
        kinds = {**rows.kinds, **kinds}
    place = low.names.fresh()
    frame = rows.frame.withColumn(place, F.lit(0).cast("long"))  # nothing is ordered by it
    columns[op.var, PLACE] = place
    return replace(rows, frame=frame, columns={**rows.columns, **columns}, kinds={**kinds, place: ir.INT64})


def _whole(call: ir.WindowCall) -> bool:
    return call.arg is not None and value_kind(call.arg).scalar in INTEGER


def _value(  # noqa: PLR0917
    call: ir.WindowCall, value: Any, window: Any, ordered: list[Any], ties: list[Any], stats: Stats | None
) -> Any:
    in_order = [*ordered, *ties] or [F.lit(0)]
    match call.function:
        case "row_number":
            return F.row_number().over(window.orderBy(*in_order)).cast("long")
        case "rank":
            return F.rank().over(window.orderBy(*ordered)).cast("long")
        case "dense_rank":
            return F.dense_rank().over(window.orderBy(*ordered)).cast("long")
        case "lag":
            return F.lag(value, call.offset).over(window.orderBy(*in_order))
        case "lead":
            return F.lead(value, call.offset).over(window.orderBy(*in_order))
    if ordered:
        window = window.orderBy(*in_order).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    if call.function == "count":
        return F.count(F.lit(1) if value is None else value).over(window)
    if call.function in ("min", "max"):
        return (F.min if call.function == "min" else F.max)(value).over(window)
    over = lambda found: found.over(window)  # noqa: E731
    total = exact_total(value, over) if stats is None else running_total(value, stats, over)
    return total if call.function == "sum" else total / F.count(value).over(window)
