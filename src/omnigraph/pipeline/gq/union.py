"""Unions on Spark: the result rows of several plans under one set of columns, ordered by part and place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.plan import ResultColumn
from omnigraph.compiler.types import PropType
from omnigraph.pipeline.gq.carry import carrier
from omnigraph.pipeline.gq.frame import Frame, Lowering, NodeColumns, Order, Output, Rows

_PLACE = "place"


def united(low: Lowering, parts: Sequence[Rows], columns: Sequence[ResultColumn]) -> Rows:
    """The rows of the parts, one after the other, each in its own order."""
    outputs: dict[str, Output] = {}
    kinds: dict[str, PropType] = {}
    for column in columns:
        first = parts[0].outputs[column.name]
        if isinstance(first, NodeColumns):
            outputs[column.name] = NodeColumns({name: low.names.fresh() for name in first.columns})
            kinds |= {new: parts[0].kinds[first.columns[name]] for name, new in _of(outputs[column.name]).items()}
        else:
            name = outputs[column.name] = low.names.fresh()
            kinds[name] = column.type if isinstance(column.type, PropType) else ir.STRING
    part, place = low.names.fresh(), low.names.fresh()
    types = {name: _spark_type(kind) for name, kind in kinds.items()}
    frames = [
        _selected(rows, outputs, types).withColumn(part, F.lit(at).cast("long")).withColumnRenamed(_PLACE, place)
        for at, rows in enumerate(parts)
    ]
    frame = reduce(lambda one, other: one.unionByName(other), frames)
    order = (Order(part), Order(place))
    return Rows(frame, {}, {**kinds, part: ir.INT64, place: ir.INT64}, order, outputs)


def _selected(rows: Rows, outputs: Mapping[str, Output], types: Mapping[str, Any]) -> Frame:
    ordered = Window.orderBy(*(each.expr for each in rows.order))
    number = F.row_number().over(ordered).cast("long") if rows.order else F.lit(0).cast("long")
    chosen = [
        F.col(_of(rows.outputs[name])[key]).cast(types[new]).alias(new)
        for name, output in outputs.items()
        for key, new in _of(output).items()
    ]
    return rows.frame.select(*chosen, number.alias(_PLACE))


def _of(output: Output) -> Mapping[str, str]:
    return output.columns if isinstance(output, NodeColumns) else {"": output}


def _spark_type(kind: PropType) -> Any:
    return from_arrow_schema(pa.schema([pa.field("x", carrier(kind))])).fields[0].dataType
