"""Work on large tables that can be spread over tasks: what the engine needs, and what it does without a runner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

from omnigraph.engine.values.arrow import TableType
from omnigraph.errors import BadRequest
from omnigraph.storage.lance.tables import IndexSpec, TableHandle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from omnigraph.engine.views.delta import RowDelta

Runner = Literal["auto", "inline", "spark"]


def parse_runner(runner: str) -> Runner:
    """The runner a caller named."""
    match runner:
        case "auto" | "inline" | "spark":
            return runner
    raise BadRequest(f"unknown runner '{runner}' (expected auto, inline or spark)")


SparkPlace: TypeAlias = "SparkSession | str | None"
"""A session, the URL of a master or a Connect server, or None for this process's own session."""

RunTasks = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
"""Runs a function for each item and returns the answers in the order of the items."""


ItemT = TypeVar("ItemT")


def grouped(items: Iterable[tuple[ItemT, int]], most: int) -> Iterator[tuple[ItemT, ...]]:
    """Items and how many rows each has: the items in their order, together up to so many rows."""
    group: list[ItemT] = []
    rows = 0
    for item, count in items:
        if group and rows + count > most:
            yield tuple(group)
            group, rows = [], 0
        group.append(item)
        rows += count
    if group:
        yield tuple(group)


class IndexBuilder(Protocol):
    """Builds what it can of some indexes ahead of the commit that adopts them."""

    def __call__(self, info: TableType, table: TableHandle, specs: Sequence[IndexSpec]) -> list[IndexSpec]:
        """The specs, with the segments that exist now; a spec without any is built by the commit."""
        ...


class TableTasks(Protocol):
    """Who spreads work on large tables over tasks."""

    def is_installed(self) -> bool:
        """Whether tasks can be run at all."""
        ...

    def is_running(self) -> bool:
        """Whether tasks can be run without starting a JVM for them first."""
        ...

    def compare(self, old: TableHandle, new: TableHandle) -> RowDelta:
        """The rows in which two versions of a table differ."""
        ...

    def index_builder(self, least_rows: int, spark: SparkPlace) -> IndexBuilder:
        """A builder for the indexes of tables that have at least so many rows."""
        ...

    def task_runner(self, stage: str, spark: SparkPlace) -> RunTasks:
        """Something that runs tasks; `stage` is their name in logs and errors."""
        ...


class NoTasks:
    """No runner: everything happens in this process."""

    def is_installed(self) -> bool:
        return False

    def is_running(self) -> bool:
        return False

    def compare(self, old: TableHandle, new: TableHandle) -> RowDelta:
        raise _no_runner()

    def index_builder(self, least_rows: int, spark: SparkPlace) -> IndexBuilder:
        raise _no_runner()

    def task_runner(self, stage: str, spark: SparkPlace) -> RunTasks:
        raise _no_runner()


def _no_runner() -> BadRequest:
    return BadRequest("this graph was opened without a runner of tasks")
