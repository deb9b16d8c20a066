"""Numbers that tasks count, where people look for them: on Spark's page of a stage, beside each task, in the event log.

Spark shows accumulators of the JVM that have a name. A task in Python cannot add to one, but what reads its answer can:
the expression with which Spark sets the properties of a Java bean, over a column of the answer (decision 0077). Answers
are collected, and Spark adds up what tasks of such a stage add once for each task, however often it is attempted.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from omnigraph.pipeline.spark.session import is_connect

_log = logging.getLogger(__name__)
_COLUMN = "count"
_BEAN = "InitializeJavaBean"


def declared(schema: str, names: Sequence[str]) -> str:
    """A schema of Spark, with columns for numbers of these names at its end."""
    return ", ".join([schema, *(f"{column} bigint" for column in _columns(names))])


def counted(numbers: Sequence[int]) -> dict[str, list[int]]:
    """Numbers of one answer, as the columns of its row."""
    return {column: [number] for column, number in zip(_columns(numbers), numbers, strict=True)}


def shown(frame: Any, stage: str, names: Sequence[str]) -> Any:
    """A frame of answers whose numbers Spark adds up while they are collected, each under its name.

    Nobody reaches the JVM of a Connect server: there listeners get the sums, as the observation `omnigraph <stage>`.
    """
    if not names:
        return frame
    if is_connect(frame.sparkSession):
        return _observed(frame, stage, names)
    columns = dict(zip(_columns(names), names, strict=True))
    try:
        totals = [_added(frame, column, name).alias(column) for column, name in columns.items()]
    except Exception:  # fewer numbers on a page are no reason to stop
        _log.warning("this Spark cannot show the numbers of tasks", exc_info=True)
        return frame
    return frame.select(*(column for column in frame.columns if column not in columns), *totals)


def _columns(names: Sequence[Any]) -> list[str]:
    return [f"{_COLUMN}{at}" for at in range(len(names))]


def _observed(frame: Any, stage: str, names: Sequence[str]) -> Any:
    from pyspark.sql import functions as f

    sums = [f.sum(column).alias(name) for column, name in zip(_columns(names), names, strict=True)]
    return frame.observe(f"omnigraph {stage}", *sums)


def _added(frame: Any, column: str, name: str) -> Any:
    """A column that adds a number to a new accumulator of that name when it is evaluated, and is the id of that."""
    from pyspark.sql.classic.column import Column

    context = frame.sparkSession.sparkContext
    spark = context._jvm.org.apache.spark
    types, expressions, scala = spark.sql.types, spark.sql.catalyst.expressions, spark.api.python.PythonUtils
    total, nothing = context._jsc.sc().longAccumulator(name), scala.toSeq([])
    number = spark.sql.classic.ExpressionUtils.expression(frame[column]._jc)
    held = expressions.Literal(total, types.ObjectType(total.getClass()))
    adding = getattr(expressions.objects, _BEAN)(held, scala.toScalaMap({"add": number}))
    told = expressions.objects.Invoke(adding, "id", types.DataTypes.LongType, nothing, nothing, True, False, True)
    return Column(spark.sql.classic.ExpressionUtils.column(told))
