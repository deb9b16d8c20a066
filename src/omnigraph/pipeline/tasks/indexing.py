"""Indexes of large tables by many tasks: each builds segments over a group of fragments, the commit adopts them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from omnigraph.engine.maintenance.indexes import part_of
from omnigraph.engine.read.search.vector_index import INDEX_TYPE
from omnigraph.engine.values.arrow import TableType
from omnigraph.engine.views.table_tasks import RunTasks, SparkPlace
from omnigraph.pipeline.spark.session import spark_session
from omnigraph.pipeline.tasks.jobs import SparkTasks, Tasks
from omnigraph.storage.lance.tables import IndexSpec, TableHandle, build_segment, join_segments, open_table

# Every segment of a vector index is searched by every query, and extensions add more of them.
_VECTOR_SEGMENTS = 4

_Wanted = tuple[str, int, tuple[tuple[str, tuple[int, ...] | None], ...]]


class SpreadBuilder:
    """Builds the indexes of tables from some size on; those of one version only once, however often they are asked for.

    The session is taken when the builder is made: Spark knows the active one by thread, and tables are many threads'.
    """

    def __init__(self, least_rows: int, spark: SparkPlace = None, tasks: Tasks | None = None) -> None:
        self._least = least_rows
        self._tasks: Any = tasks if tasks is not None else SparkTasks(_session(spark))
        self._built: dict[_Wanted, list[IndexSpec]] = {}

    def __call__(self, info: TableType, table: TableHandle, specs: Sequence[IndexSpec]) -> list[IndexSpec]:
        if table.count_rows() < self._least or not specs:
            return list(specs)
        key = table.address.uri, table.version, tuple((spec.name, spec.fragments) for spec in specs)
        if key not in self._built:
            self._built[key] = self._build(info, table, specs)
        return self._built[key]

    def _build(self, info: TableType, table: TableHandle, specs: Sequence[IndexSpec]) -> list[IndexSpec]:
        parts = [(at, part) for at, spec in enumerate(specs) for part in _parts(info, table, spec, self._tasks.cores)]
        address, version = table.address, table.version

        def build(part: tuple[int, IndexSpec]) -> tuple[int, Any]:
            table = open_table(address, version)
            return table.count_rows(fragments=part[1].fragments), build_segment(table, part[1])

        built = self._tasks.run(build, parts, stage="index", report=None, counts={"rows": itemgetter(0)})
        done = zip((at for at, _ in parts), (segment for _, segment in built), strict=True)
        found = {at: [each for _, each in mine] for at, mine in groupby(done, key=lambda pair: pair[0])}
        return [join_segments(table, spec, found.get(at, ())) for at, spec in enumerate(specs)]


def task_runner(stage: str, spark: SparkPlace) -> RunTasks:
    """Runs a function for each item as Spark tasks."""
    tasks = SparkTasks(_session(spark))
    return lambda work, items: tasks.run(work, items, stage=stage, report=None)


def _session(spark: SparkPlace) -> Any:
    return spark_session(spark) if spark is None or isinstance(spark, str) else spark


def _parts(info: TableType, table: TableHandle, spec: IndexSpec, cores: int) -> list[IndexSpec]:
    """One index as indexes over groups of fragments; those without a vector to learn from join one that has some."""
    most = min(cores, _VECTOR_SEGMENTS) if spec.index_type == INDEX_TYPE else cores
    rows = table.fragment_rows()
    wanted = rows if spec.fragments is None else {number: rows[number] for number in spec.fragments}
    found = [(group, part_of(info, table, spec, group)) for group in _groups(wanted, most)]
    untrained = [number for group, part in found if part is None for number in group]
    parts = [part for _, part in found if part is not None]
    if untrained and parts:
        assert parts[0].fragments is not None
        parts[0] = replace(parts[0], fragments=(*parts[0].fragments, *untrained))
    return parts


def _groups(rows: Mapping[int, int], most: int) -> Iterable[tuple[int, ...]]:
    """The fragments in their order, in at most so many groups of about equal size."""
    total, before = sum(rows.values()), 0
    groups: dict[int, list[int]] = {}
    for number, count in rows.items():
        # A fragment belongs where its middle lies.
        groups.setdefault((2 * before + count) * most // (2 * total + 1), []).append(number)
        before += count
    return [tuple(group) for group in groups.values()]
