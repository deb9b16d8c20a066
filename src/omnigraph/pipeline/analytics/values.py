"""What an algorithm gives back: one value per node, as Arrow, as a frame, or as the Spark frame it was computed in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import BadRequest
from omnigraph.storage.manifest.commits import GraphCommit


@dataclass(frozen=True)
class NodeValues:
    """A value per node: columns `type`, `id` and the value's own, node types by name, nodes in storage order.

    `commit` is the commit that wrote the values into the graph, when that was asked for.
    """

    column: str
    runner: str
    collect: Callable[[], pa.Table]
    frame: Any = None
    iterations: int | None = None
    commit: GraphCommit | None = None

    @cached_property
    def table(self) -> pa.Table:
        """The values as an Arrow table; a Spark result is collected here, when it is first asked for."""
        return self.collect()

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    def rows(self) -> list[dict[str, Any]]:
        """One dict per node."""
        found: list[dict[str, Any]] = self.table.to_pylist()
        return found

    def to_arrow(self) -> pa.Table:
        """The values as an Arrow table."""
        return self.table

    def to_pandas(self) -> Any:
        """The values as a pandas frame; needs pandas."""
        try:
            return self.table.to_pandas()
        except ImportError as error:
            raise BadRequest("to_pandas() needs pandas; install it with: pip install pandas") from error

    def to_polars(self) -> Any:
        """The values as a Polars frame; needs polars."""
        try:
            import polars
        except ImportError as error:
            raise BadRequest("to_polars() needs polars; install it with: pip install polars") from error
        return polars.from_arrow(self.table)

    def to_spark(self) -> Any:
        """The values as a Spark frame; what ran in memory is handed to this process's session."""
        if self.frame is not None:
            return self.frame
        from omnigraph.pipeline.spark.session import spark_session, without_warnings

        with without_warnings():
            return spark_session().createDataFrame(self.table)

    def top(self, count: int = 10) -> list[dict[str, Any]]:
        """The nodes with the largest values, largest first; equal values by type and id."""
        keys = [(self.column, "descending"), ("type", "ascending"), ("id", "ascending")]
        order = pc.select_k_unstable(self.table, count, keys)
        found: list[dict[str, Any]] = self.table.take(order).to_pylist()
        return found

    def __repr__(self) -> str:
        return f"NodeValues(column={self.column!r}, runner={self.runner!r})"
