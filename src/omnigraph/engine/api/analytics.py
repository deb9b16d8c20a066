"""`graph.analytics`: whole-graph algorithms and their values; the pipeline implements the algorithms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.display import Displayed
from omnigraph.engine.values.data_frames import pandas_frame, polars_frame
from omnigraph.engine.views.table_tasks import Runner, SparkPlace
from omnigraph.storage.manifest.commits import GraphCommit

if TYPE_CHECKING:
    import pandas
    import polars
    from pyspark.sql import DataFrame

Direction = Literal["out", "in", "both"]


@dataclass(repr=False, frozen=True)
class NodeValues(Displayed):
    """A value per node: columns `type`, `id` and the value's own, node types by name, nodes in storage order.

    `commit` is the commit that wrote the values into the graph, when that was asked for.
    """

    column: str
    runner: str
    collect: Callable[[], pa.Table]
    frame: Callable[[NodeValues], DataFrame]
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

    def to_pandas(self) -> pandas.DataFrame:
        """The values as a pandas frame; needs pandas."""
        return pandas_frame(self.table)

    def to_polars(self) -> polars.DataFrame:
        """The values as a Polars frame; needs polars."""
        return polars_frame(self.table)

    def to_spark(self) -> DataFrame:
        """The values as a Spark frame; what ran in memory is handed to this process's session."""
        return self.frame(self)

    def top(self, count: int = 10) -> list[dict[str, Any]]:
        """The nodes with the largest values, largest first; equal values by type and id."""
        keys = [(self.column, "descending"), ("type", "ascending"), ("id", "ascending")]
        order = pc.select_k_unstable(self.table, count, keys)
        found: list[dict[str, Any]] = self.table.take(order).to_pylist()
        return found

    def __repr__(self) -> str:
        return f"NodeValues(column={self.column!r}, runner={self.runner!r})"


class Analytics(Protocol):
    """The algorithms on what a handle sees.

    Every one takes the edge types to follow; the nodes are all nodes of the types at their ends. `write_to` names a
    property (`"Person.rank"`), or where it makes sense an edge type (`"edge:SameGroup"`, whose edges are replaced), and
    the values are then written as one commit on `branch`, which is also the branch that is read, with this `message`.
    """

    def pagerank(
        self,
        edge: str | Sequence[str],
        *,
        damping: float = 0.85,
        tolerance: float = 1e-8,
        iterations: int = 100,
        weight: str | None = None,
        direction: Direction = "out",
        runner: Runner = "auto",
        write_to: str | None = None,
        branch: str | None = None,
        spark: SparkPlace = None,
        message: str | None = None,
    ) -> NodeValues:
        """PageRank: ranks that sum to 1; `weight` is a numeric edge property that makes some edges likelier."""
        ...

    def components(
        self,
        edge: str | Sequence[str],
        *,
        runner: Runner = "auto",
        write_to: str | None = None,
        branch: str | None = None,
        spark: SparkPlace = None,
        message: str | None = None,
    ) -> NodeValues:
        """Connected components, regardless of direction: 0 is the component of the first node, and so on.

        With `write_to="edge:Type"` every node gets an edge to the first node of its component.
        """
        ...

    def label_propagation(
        self,
        edge: str | Sequence[str],
        *,
        iterations: int = 10,
        runner: Runner = "auto",
        write_to: str | None = None,
        branch: str | None = None,
        spark: SparkPlace = None,
        message: str | None = None,
    ) -> NodeValues:
        """Communities: in every round each node takes the label that is most frequent among its neighbours and itself.

        All nodes move at once and the smallest of equal labels wins, so the answer is the same every time.
        """
        ...

    def triangles(
        self,
        edge: str | Sequence[str],
        *,
        runner: Runner = "auto",
        write_to: str | None = None,
        branch: str | None = None,
        spark: SparkPlace = None,
        message: str | None = None,
    ) -> NodeValues:
        """How many triangles each node is a corner of, regardless of direction and of parallel edges."""
        ...

    def degree(
        self,
        edge: str | Sequence[str],
        *,
        direction: Direction = "both",
        runner: Runner = "auto",
        write_to: str | None = None,
        branch: str | None = None,
        spark: SparkPlace = None,
        message: str | None = None,
    ) -> NodeValues:
        """How many edges leave each node, arrive there, or both; a loop leaves and arrives."""
        ...

    def distances(
        self,
        source: str | Sequence[str],
        edge: str | Sequence[str],
        *,
        source_type: str | None = None,
        direction: Direction = "out",
        depth: int | None = None,
        runner: Runner = "auto",
        write_to: str | None = None,
        branch: str | None = None,
        spark: SparkPlace = None,
        message: str | None = None,
    ) -> NodeValues:
        """The fewest edges from a node, or from the nearest of several, to every node; null where none leads.

        `source` is ids of one node type; where the edges link several types, `source_type` says which. With
        `write_to="edge:Type.hops"` the (single) source gets an edge to every node it reaches.
        """
        ...
