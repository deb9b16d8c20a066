"""Where indexes are built: by the commit itself, or before it by Spark tasks over groups of fragments."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, Protocol

from omnigraph.engine.values.arrow import TableType
from omnigraph.engine.views.view import OpenTables
from omnigraph.errors import BadRequest
from omnigraph.storage.lance.tables import IndexSpec, TableHandle

IndexRunner = Literal["auto", "inline", "spark"]
# Imported by name when a table is large: the engine does not know the pipeline.
_PIPELINE = "omnigraph.pipeline.tasks.indexing"


class IndexBuilder(Protocol):
    """Builds what it can of some indexes ahead of the commit that adopts them."""

    def __call__(self, info: TableType, table: TableHandle, specs: Sequence[IndexSpec]) -> list[IndexSpec]:
        """The specs, with the segments that exist now; a spec without any is built by the commit."""
        ...


def index_builder(tables: OpenTables, runner: str, rows: Collection[int], spark: Any = None) -> IndexBuilder:
    """Who builds the indexes of tables that have so many rows.

    `auto` asks Spark from `Settings.distribute_rows` rows of a table on, if a session runs already or a master is
    named: a JVM of this machine alone would build no faster than this process does.
    """
    if not spreads(tables, runner, max(rows, default=0), spark):
        return _built_by_the_commit
    least = 1 if runner == "spark" else tables.distribute_rows
    made: IndexBuilder = import_module(_PIPELINE).SpreadBuilder(least, spark)
    return made


def spreads(tables: OpenTables, runner: str, rows: int, spark: Any = None) -> bool:
    """Whether what is derived from so many rows is made by Spark tasks."""
    if runner not in ("auto", "inline", "spark"):
        raise BadRequest(f"unknown runner '{runner}' (expected auto, inline or spark)")
    installed = find_spec("pyspark") is not None
    if runner == "spark" and not installed:
        raise BadRequest("the spark runner needs pyspark: install omnigraph[spark]")
    least = 1 if runner == "spark" else tables.distribute_rows
    if runner == "inline" or least is None or not installed or rows < least:
        return False
    return (
        runner == "spark" or spark is not None or bool(import_module("omnigraph.pipeline.spark.session").is_running())
    )


def _built_by_the_commit(info: TableType, table: TableHandle, specs: Sequence[IndexSpec]) -> list[IndexSpec]:
    return list(specs)
