"""Where indexes and what is kept beside them are built: by this process, or by Spark tasks over groups of fragments."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from omnigraph.engine.values.arrow import TableType
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.table_tasks import IndexBuilder, RunTasks, SparkPlace, parse_runner
from omnigraph.engine.views.view import OpenTables
from omnigraph.errors import BadRequest
from omnigraph.ids import new_ulid
from omnigraph.storage.lance.parts import load_directory
from omnigraph.storage.lance.tables import IndexSpec, TableHandle
from omnigraph.storage.maintenance.load_claims import claimed


def index_builder(tables: OpenTables, runner: str, rows: Collection[int], spark: SparkPlace = None) -> IndexBuilder:
    """Who builds the indexes of tables that have so many rows.

    `auto` asks Spark from `Settings.distribute_rows` rows of a table on, if a session runs already or a master is
    named: a JVM of this machine alone would build no faster than this process does.
    """
    if not spreads(tables, runner, max(rows, default=0), spark):
        return _built_by_the_commit
    least = 1 if runner == "spark" else tables.distribute_rows
    return tables.tasks.index_builder(least or 1, spark)


def spreads(tables: OpenTables, runner: str, rows: int, spark: SparkPlace = None) -> bool:
    """Whether what is derived from so many rows is made by Spark tasks."""
    parse_runner(runner)
    installed = tables.tasks.is_installed()
    if runner == "spark" and not installed:
        raise BadRequest("the spark runner needs pyspark: install omnigraph[spark]")
    least = 1 if runner == "spark" else tables.distribute_rows
    if runner == "inline" or least is None or not installed or rows < least:
        return False
    return runner == "spark" or spark is not None or tables.tasks.is_running()


def _built_by_the_commit(info: TableType, table: TableHandle, specs: Sequence[IndexSpec]) -> list[IndexSpec]:
    return list(specs)


@contextmanager
def workshop(core: Core, stage: str, spark: SparkPlace, *, on_spark: bool) -> Iterator[tuple[RunTasks, str]]:
    """Who runs the tasks of a stage, and a directory that all of them reach."""
    if not on_spark:
        with tempfile.TemporaryDirectory(prefix=f"omnigraph-{stage}-") as place:
            yield lambda work, items: [work(item) for item in items], place
        return
    scratch_id = new_ulid()
    with claimed(core.store, scratch_id):
        run = core.tables.tasks.task_runner(stage, spark)
        yield run, core.store.root.child(load_directory(scratch_id))
