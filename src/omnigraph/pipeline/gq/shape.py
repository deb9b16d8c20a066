"""Shaping results on Spark: projections, groups, distinct rows, order and limits.

Order is kept as columns to sort by until a step needs it, because Spark keeps no order through joins and groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pyspark.sql import Window
from pyspark.sql import functions as F

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Aggregate, Distinct, Having, Limit, Project, Rank, ShapingOp, Sort, WindowColumns
from omnigraph.compiler.ir.ops import Output as OutputColumn
from omnigraph.compiler.ir.walk import expressions
from omnigraph.compiler.types import INTEGER, PropType
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import TYPE
from omnigraph.pipeline.gq.frame import Lowering, NodeColumns, Order, Output, Rows, value_kind
from omnigraph.pipeline.gq.rank import fuse, ranked
from omnigraph.pipeline.gq.stages import limited_per
from omnigraph.pipeline.gq.sums import (
    WHOLE,
    Stats,
    exact_total,
    total,
    total_of_distinct,
    variance_of_distinct,
    with_squares,
    with_stats,
)
from omnigraph.pipeline.gq.values import KEY
from omnigraph.pipeline.gq.windows import windowed


class Shaper:
    """Lowers result operators."""

    def __init__(self, low: Lowering, run: Run) -> None:
        self.low = low
        self.run = run

    def shape(self, rows: Rows, op: ShapingOp) -> Rows:
        """The rows after one operator."""
        match op:
            case Rank():
                return ranked(self.low, rows, op, self.run)
            case Sort(keys, ties):
                rows = self._fused(rows, [key.expr for key in keys])
                rows, columns = self.low.computed(rows, [key.expr for key in keys])
                first = [
                    Order(each, key.descending)
                    for column, key in zip(columns, keys, strict=True)
                    for each in _ordered_by(rows, key.expr, column)
                ]
                rest = [Order(column) for var in ties for column in rows.ties(var)]
                return replace(rows, order=(*first, *rest, *rows.order))
            case WindowColumns():
                return windowed(self.low, rows, op)
            case Project(columns):
                return self._project(rows, columns)
            case Aggregate():
                return self._aggregate(rows, op)
            case Having(condition):
                return self.low.keep(rows, (condition,))
            case Distinct(entities):
                return self._distinct(rows, entities)
            case Limit(limit, offset, per):
                counts = self.run.row_number(limit, "limit"), self.run.row_number(offset, "offset")
                return limited_per(self.low, rows, op, *counts) if per else self._limit(rows, *counts)

    def _fused(self, rows: Rows, exprs: Sequence[ir.Expr]) -> Rows:
        calls = [part for expr in exprs for part in expressions(expr) if isinstance(part, ir.Rrf)]
        return fuse(self.low, rows, calls, None, self.run)

    def _project(self, rows: Rows, columns: Sequence[OutputColumn]) -> Rows:
        plain = [column for column in columns if not isinstance(column.expr, ir.Node | ir.Column)]
        rows = self._fused(rows, [column.expr for column in plain])
        rows, found = self.low.computed(rows, [column.expr for column in plain])
        outputs: dict[str, Output] = dict(zip((column.name for column in plain), found, strict=True))
        for column in columns:
            if isinstance(column.expr, ir.Column):
                outputs[column.name] = rows.outputs[column.expr.name]
            elif isinstance(column.expr, ir.Node):
                rows = self._with_type(rows, column.expr)
                parts, wanted = rows.parts(column.expr.var), ("id", TYPE, KEY, *column.expr.properties)
                outputs[column.name] = NodeColumns(
                    {name: parts[name] for name in wanted if name in parts}, column.expr.kind == "edge"
                )
        return replace(rows, outputs={column.name: outputs[column.name] for column in columns})

    def _with_type(self, rows: Rows, node: ir.Node) -> Rows:
        """The object of a union names its type, also where the union has one member only."""
        if node.fields is None or (node.var, TYPE) in rows.columns:
            return rows
        column = self.low.names.fresh()
        own = F.when(F.col(rows.id(node.var)).isNotNull(), F.lit(node.type_name))
        return replace(
            rows,
            frame=rows.frame.withColumn(column, own),
            columns={**rows.columns, (node.var, TYPE): column},
            kinds={**rows.kinds, column: ir.STRING},
        )

    # --- groups ----------------------------------------------------------------------------------

    def _aggregate(self, rows: Rows, op: Aggregate) -> Rows:
        rows = self._project(rows, op.keys)
        calls = [column for column in op.columns if isinstance(column.expr, ir.AggregateCall)]
        given = [part for column in calls for part in _parts(column.expr)]
        rows = self._fused(rows, given)
        rows, found = self.low.computed(rows, given)
        arguments = dict(zip(map(id, given), found, strict=True))
        if not op.is_keyed and any(_looks_twice(each.expr) for each in calls):
            # Their grids depend on all values, which are looked at before they are added up: made once, read twice.
            used = dict.fromkeys([*found, *(each.column for each in rows.order)])
            rows = rows.with_frame(self.low.hold(rows.frame.select(*used)))
        order = _ascending(rows)
        folds, kinds, outputs = [], dict(rows.kinds), dict(rows.outputs)
        for column in calls:
            call, name = column.expr, self.low.names.fresh()
            assert isinstance(call, ir.AggregateCall)
            found_parts = [None if part is None else arguments[id(part)] for part in (call.arg, call.where, call.key)]
            inputs = _Inputs(found_parts[0], found_parts[1], found_parts[2], times=rows.times)
            keys = [*map(rows.key, op.entities), *(map(_key, rows.outputs.values()) if op.keys else ())]
            keys = list(dict.fromkeys(keys))
            if _is_spread(call):
                rows, inputs = self._with_squares(rows, call, inputs, keys)
            elif _adds_doubles(call):
                rows, stats = self._with_stats(rows, _doubles(inputs), keys)
                inputs = replace(inputs, stats=stats)
            folds.append(_fold(call, inputs, order).alias(name))
            assert isinstance(call.type, PropType)
            kinds[name], outputs[column.name] = call.type, name
        if order:
            # Groups come in the order of their first rows: the smallest of what rows are ordered by stands for it.
            folds.append(F.min(F.struct(*(part.alias(f"k{at}") for at, part in enumerate(order)))).alias("first"))
        frame = self._grouped(rows, folds, op.entities) if op.is_keyed else rows.frame.agg(*folds)
        return replace(
            rows,
            frame=frame,
            columns={key: column for key, column in rows.columns.items() if key[0] in op.entities},
            kinds=kinds,
            outputs={column.name: outputs[column.name] for column in op.columns},
            order=(Order("first"),) if order else (),
            score=None,
            unread={},
            times=None,
        )

    def _with_stats(self, rows: Rows, value: Any, keys: Sequence[str]) -> tuple[Rows, Stats]:
        stats = Stats(self.low.names.fresh(), self.low.names.fresh())
        return rows.with_frame(with_stats(rows.frame, value, keys, stats)), stats

    def _with_squares(
        self, rows: Rows, call: ir.AggregateCall, inputs: _Inputs, keys: Sequence[str]
    ) -> tuple[Rows, _Inputs]:
        """The rows with the squared distances that a variance adds up; groups are looked at twice more for the mean."""
        assert call.arg is not None
        value, square = _doubles(inputs), self.low.names.fresh()
        sums: Any = partial(exact_total, _counted(inputs))
        if value_kind(call.arg).scalar not in INTEGER:
            rows, stats = self._with_stats(rows, value, keys)
            sums = partial(total, value, stats)
        rows = rows.with_frame(with_squares(rows.frame, value, keys, sums, square))
        rows, stats = self._with_stats(rows, F.col(square), keys)
        return rows, replace(inputs, square=square, stats=stats)

    def _grouped(self, rows: Rows, folds: Sequence[Any], entities: Sequence[str]) -> Any:
        """One row per group; of a whole node, which is one group key, every part comes along."""
        keys = [rows.key(var) for var in entities]
        carried = [column for var in entities for column in rows.parts(var).values()]
        for output in rows.outputs.values():
            keys.append(_key(output))
            if isinstance(output, NodeColumns):
                carried += [column for column in output.columns.values() if column != output.key]
        kept = [F.first(F.col(column)).alias(column) for column in dict.fromkeys(carried) if column not in keys]
        return rows.frame.groupBy(*dict.fromkeys(keys)).agg(*folds, *kept)

    # --- distinct, limit -------------------------------------------------------------------------

    def _distinct(self, rows: Rows, entities: Sequence[str] = ()) -> Rows:
        keys = list(dict.fromkeys([*map(_key, rows.outputs.values()), *map(rows.key, entities)]))
        if not rows.order:
            return rows.with_frame(rows.frame.dropDuplicates(keys))
        place = self.low.names.fresh()
        window = Window.partitionBy(*map(F.col, keys)).orderBy(*(each.expr for each in rows.order))
        numbered = rows.frame.withColumn(place, F.row_number().over(window))
        return rows.with_frame(numbered.where(F.col(place) == 1).drop(place))

    def _limit(self, rows: Rows, limit: int | None, offset: int | None) -> Rows:
        frame = rows.frame.orderBy(*(each.expr for each in rows.order)) if rows.order else rows.frame
        if offset:
            frame = frame.offset(min(offset, _LARGEST))
        return rows.with_frame(frame if limit is None else frame.limit(min(limit, _LARGEST)))


_LARGEST = 2**31 - 1  # what Spark takes as a number of rows


def _ordered_by(rows: Rows, expr: ir.Expr, column: str) -> list[str]:
    """The columns behind a sort key: a node goes by its id, and where there are several types, by the type as well."""
    if isinstance(expr, ir.Node):
        return rows.ties(expr.var)
    output = rows.outputs[expr.name] if isinstance(expr, ir.Column) else column
    if isinstance(output, str):
        return [column]
    return [output.columns[name] for name in ("id", TYPE) if name in output.columns]


def _key(output: Output) -> str:
    return output if isinstance(output, str) else output.key


def _ascending(rows: Rows) -> list[Any]:
    """What rows are ordered by as columns that all ascend."""
    for each in rows.order:
        if each.descending and rows.kinds.get(each.column) != ir.FLOAT64:
            raise ir.IllTyped("rows are grouped after a descending order of something that is not a score")
    return [-F.col(each.column) if each.descending else F.col(each.column) for each in rows.order]


def _collected(value: Any, order: Sequence[Any], key: Any, *, distinct: bool, descending: bool) -> Any:
    """The values of a group by a key and the order of its rows, without null; of equal ones the first if distinct."""
    places = [part.alias(f"k{at}") for at, part in enumerate(order)]
    if key is not None and not descending:
        places.insert(0, key.alias("key"))
    placed = F.struct(*places, value.alias("value"), *(() if key is None else (key.alias("by"),)))
    gathered = F.sort_array(F.collect_list(F.when(value.isNotNull(), placed)))
    if descending and key is not None:
        # Rows with equal keys keep their order, so keys descend one after the other.
        keys = F.sort_array(F.array_distinct(F.transform(gathered, lambda each: each["by"])), asc=False)
        gathered = F.flatten(F.transform(keys, lambda key: F.filter(gathered, lambda each: each["by"].eqNullSafe(key))))
    values = F.transform(gathered, lambda each: each["value"])
    return F.array_distinct(values) if distinct else values


@dataclass(frozen=True, slots=True)
class _Inputs:
    """The columns that an aggregate reads: its argument, which rows count, the key they go by, and about its group.

    `square` is that of the distance to the mean of the group; `times` says how often a row counts.
    """

    value: str | None
    where: str | None = None
    key: str | None = None
    square: str | None = None
    stats: Stats | None = None
    times: str | None = None


def _adds_doubles(call: ir.AggregateCall) -> bool:
    """Whether the answer is a sum whose last digits could depend on the order of rows."""
    return (
        call.function in ("sum", "avg")
        and not call.distinct
        and call.arg is not None
        and value_kind(call.arg).scalar not in INTEGER
    )


def _looks_twice(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.AggregateCall) and (_is_spread(expr) or _adds_doubles(expr))


def _is_spread(call: ir.AggregateCall) -> bool:
    return call.function in ("stddev", "variance") and not call.distinct


def _counted(inputs: _Inputs) -> Any:
    """The values that count."""
    assert inputs.value is not None
    value = F.col(inputs.value)
    return value if inputs.where is None else F.when(F.col(inputs.where), value)


def _doubles(inputs: _Inputs) -> Any:
    return _counted(inputs).cast("double")


def _parts(call: ir.Expr) -> list[ir.Expr]:
    assert isinstance(call, ir.AggregateCall)
    return [part for part in (call.arg, call.where, call.key) if part is not None]


def _counts(kept: Any, inputs: _Inputs) -> Any:
    """How many rows count."""
    if inputs.times is None:
        return F.count(F.when(kept, F.lit(1)))
    return F.coalesce(F.sum(F.when(kept, F.col(inputs.times))), F.lit(0)).cast("bigint")


def _fold(call: ir.AggregateCall, inputs: _Inputs, order: Sequence[Any]) -> Any:
    kept = F.lit(True) if inputs.where is None else F.col(inputs.where)
    if inputs.value is None:
        return _counts(kept, inputs)
    assert call.arg is not None
    value, kind = F.col(inputs.value), value_kind(call.arg)
    if inputs.where is not None:
        value = F.when(kept, value)
    floating = kind.scalar in ("F32", "F64") and not kind.list and kind.dim is None
    if call.function == "collect":
        key = None if inputs.key is None else F.col(inputs.key)
        return _collected(value, order, key, distinct=call.distinct, descending=call.descending)
    if call.distinct and call.function == "count":
        # -0.0 and 0.0 are one number.
        return F.count_distinct(value + F.lit(0.0) if floating else value)
    match call.function:
        case "count":
            return _counts(value.isNotNull(), inputs)
        case "min":
            return F.min(value)
        case "max":
            return F.max(value)
        case "sum" | "avg" if kind.scalar in INTEGER:
            # Integers add up exactly and are rounded once.
            exact = value.cast(WHOLE)
            often = None if inputs.times is None else F.col(inputs.times)
            added = F.sum_distinct(exact).cast("double") if call.distinct else exact_total(value, times=often)
            count = F.count_distinct(exact) if call.distinct else _counts(value.isNotNull(), inputs)
            return added if call.function == "sum" else added / count
        case "sum" | "avg":
            if inputs.stats is None:
                added, count = total_of_distinct(value.cast("double"))
            else:
                added, count = total(_doubles(inputs), inputs.stats), F.count(value)
            return added if call.function == "sum" else added / count
        case "stddev" | "variance":
            if inputs.square is None or inputs.stats is None:
                variance = variance_of_distinct(value, integers=kind.scalar in INTEGER)
            else:
                count = F.count(value)
                variance = F.when(count > 1, total(F.col(inputs.square), inputs.stats) / (count - 1))
            return F.sqrt(variance) if call.function == "stddev" else variance
    raise ir.IllTyped(f"aggregate {call.function!r}")
