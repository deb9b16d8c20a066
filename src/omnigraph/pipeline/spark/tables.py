"""Sources of a mapping that only Spark reads: tables, JDBC, other formats, and SQL over the rest of the sources."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from omnigraph.engine.intake.inputs.table_files import table_pieces
from omnigraph.engine.intake.mapping import SparkInput
from omnigraph.engine.intake.mapping_sources import AnySource, FileSource, SparkSource, SqlSource
from omnigraph.errors import BadRequest, OmnigraphError
from omnigraph.pipeline.spark.session import spark_session, without_warnings
from omnigraph.pipeline.spark.stores import reaching_stores
from omnigraph.pipeline.tasks.splits import absolute
from omnigraph.storage.base.clouds import is_remote

# Formats that Spark reads by itself, and faster than through Python.
_SPARK_READS = frozenset({"parquet", "orc", "csv", "json"})


def spark_table(wanted: SparkInput, session: Any = None) -> Any:
    """The rows of one source as a Spark frame."""
    spark = spark_session(session) if session is None or isinstance(session, str) else session
    try:
        with without_warnings():
            if isinstance(wanted.source, SqlSource):
                return _query(spark, wanted)
            return _frame(spark, wanted.source)
    except OmnigraphError:
        raise
    except Exception as error:
        told = str(error).strip().partition("\n")[0]
        raise BadRequest(f"source '{wanted.name}' cannot be read by Spark: {told}") from error


def _query(spark: Any, wanted: SparkInput) -> Any:
    """Other sources are views while the query is analysed; a view of SQL may stand on earlier ones."""
    assert isinstance(wanted.source, SqlSource)
    made: list[str] = []
    try:
        for name, source in wanted.sources.items():
            if name == wanted.name:
                break
            frame = spark.sql(source.sql) if isinstance(source, SqlSource) else _frame(spark, source)
            frame.createOrReplaceTempView(name)
            made.append(name)
        return spark.sql(wanted.source.sql)
    finally:
        for name in made:
            spark.catalog.dropTempView(name)


def _frame(spark: Any, source: AnySource) -> Any:
    if isinstance(source, SparkSource):
        if source.table is not None:
            return spark.table(source.table)
        reader = spark.read if source.format is None else spark.read.format(source.format)
        reader = reader.options(**source.options)
        return reader.load(_absolute(source.path)) if source.path is not None else reader.load()
    assert isinstance(source, FileSource)
    files = [absolute(file).path for file in source.files()]
    form = source.form.of(files[0])
    if form not in _SPARK_READS or any(map(is_remote, files)):
        return _through_python(spark, source, files)
    reader = spark.read.format(form)
    if form == "csv":
        reader = reader.option("header", source.form.names is None).option("inferSchema", True)
        reader = reader.option("sep", source.form.separator(files[0]))
    frame = reader.load(files)
    return frame.toDF(*source.form.names) if source.form.names is not None else frame


def _absolute(path: str) -> str:
    """A path by a name that means the same to a server or a worker elsewhere; Spark's own schemes stay."""
    return path if "://" in path else os.path.abspath(path)


def _through_python(spark: Any, source: FileSource, files: list[str]) -> Any:
    """What the JVM has no reader or no credentials for, read by the workers as a plain load would."""
    from pyspark.sql.pandas.types import from_arrow_schema

    first = next(table_pieces(files[0], source.form), None)
    if first is None:
        raise BadRequest(f"'{files[0]}' contains no rows, so its columns are unknown")
    shape, form = first.schema, source.form

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for at in batch.column(0).to_pylist():
                for piece in table_pieces(files[at], form):
                    yield from piece.select(shape.names).cast(shape).to_batches()

    return spark.range(0, len(files), 1, len(files)).mapInArrow(reaching_stores(read), from_arrow_schema(shape))
