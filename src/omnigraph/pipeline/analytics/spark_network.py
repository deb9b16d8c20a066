"""A selection as two Spark frames: nodes (n, type, id) and edges (s, t, w), where n orders nodes as positions do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.display import counted
from omnigraph.engine.read.columns.held import ROW_ID
from omnigraph.engine.values.arrow import TableType
from omnigraph.errors import BadRequest, NotFound
from omnigraph.pipeline.analytics.network import Selection, check_weights
from omnigraph.pipeline.analytics.spark_lists import SLICE, KeptLists, ListedEdges
from omnigraph.pipeline.spark.lists import mapped_lists
from omnigraph.pipeline.spark.session import is_connect, parallelism, without_warnings
from omnigraph.storage.lance.tables import open_table

# A node's number is its type's place and its row id: ascending numbers are ascending positions.
_TYPE_SHIFT = 48


# Fewer rows in a partition than this, and starting its task takes longer than its work.
_PARTITION_ROWS = 250_000
_MOST_PARTITIONS = 2_000
_SHUFFLE = "spark.sql.shuffle.partitions"
_ADAPTIVE = "spark.sql.adaptive.enabled"
_BROADCAST = "spark.sql.autoBroadcastJoinThreshold"
# What a caller may have set in a running session, and what it says about values and how they travel.
_SAME = ("spark.sql.session.timeZone", "spark.sql.execution.arrow.maxRecordsPerBatch")


def session_for(spark: Any, rows: int) -> Any:
    """A session beside the given one, for algorithms of many small rounds: shuffles have the partitions that rows need.

    Spark plans two hundred whatever the size and looks at each plan again while it runs; rounds over few rows are the
    same plan over and over, and spend their time on that. Of many rows none are sent to every task: a million ids take
    little room where Spark keeps them compressed, by which it decides, and too much where they are joined. The settings
    of the caller's session stay as they are: others may run in it meanwhile. Spark Connect joins no frames of two
    sessions and looks for what a session beside has kept in the active one: everything runs in the caller's there.
    """
    if is_connect(spark):
        return spark
    wanted = {_SHUFFLE: str(min(max(parallelism(spark), rows // _PARTITION_ROWS), _MOST_PARTITIONS))}
    if rows <= _PARTITION_ROWS * parallelism(spark):
        wanted[_ADAPTIVE] = "false"
    else:
        wanted[_BROADCAST] = "-1"
    beside = spark.newSession()
    for name in _SAME:
        beside.conf.set(name, spark.conf.get(name))
    for name, value in wanted.items():
        beside.conf.set(name, value)
    return beside


@dataclass(frozen=True, slots=True)
class SparkEdges:
    """Edges as rows of a frame (s, t, w), which is made when it is asked for, and as neighbour lists if these are kept.

    `direction` is that of a walker who follows them (`out`), goes against them (`in`) or does both.
    """

    rows: Callable[[], Any]
    listed: ListedEdges | None = None
    direction: str = "out"

    def turned(self, direction: str) -> SparkEdges:
        """The same edges as another walker sees them."""
        listed = None if self.listed is None else ListedEdges(self.listed.lists, direction)
        return SparkEdges(self.rows, listed, direction)

    @property
    def frame(self) -> Any:
        """The rows, turned."""
        from pyspark.sql import functions as f

        rows = self.rows()
        back = rows.select(f.col("t").alias("s"), f.col("s").alias("t"), "w")
        return rows if self.direction == "out" else back if self.direction == "in" else rows.unionByName(back)


class SparkNetwork:
    """The frames of one selection in one session; executors read the tables themselves."""

    def __init__(self, spark: Any, selection: Selection) -> None:
        self.spark = spark
        self.selection = selection
        self._rows: Any = None

    @cached_property
    def nodes(self) -> Any:
        """Every node: its number, its type and its id."""
        with without_warnings():
            parts = [self._type_nodes(place) for place in range(len(self.selection.nodes))]
        return _united(parts).cache()

    def _type_nodes(self, place: int) -> Any:
        from pyspark.sql import functions as f

        info = self.selection.nodes[place]
        rows = self._scan(info, {"n": ROW_ID, "id": "id"}, "n bigint, id string")
        return rows.select((f.col("n") + (place << _TYPE_SHIFT)).alias("n"), f.lit(info.name).alias("type"), "id")

    @cached_property
    def edges(self) -> SparkEdges:
        """Every edge between the numbers of its ends, with a weight of 1 unless a property weighs it."""
        kept = None if self.selection.weight is not None else [self._kept_lists(info) for info in self.selection.edges]
        listed = None if kept is None or None in kept else ListedEdges(tuple(each for each in kept if each is not None))
        return SparkEdges(self._edge_rows, listed)

    def _edge_rows(self) -> Any:
        if self._rows is None:
            with without_warnings():
                self._rows = _united([self._type_edges(info) for info in self.selection.edges]).cache()
        return self._rows

    def _kept_lists(self, info: EdgeType) -> KeptLists | None:
        """The neighbour lists of an edge type, where they are kept beside the graph for this version of its tables."""
        lists = mapped_lists(self.selection.view, info)
        if lists is None:
            return None
        names = [each.name for each in self.selection.nodes]
        return KeptLists(lists, *(names.index(end) << _TYPE_SHIFT for end in (info.from_type, info.to_type)))

    def _type_edges(self, info: EdgeType) -> Any:
        kept = self._kept_lists(info)
        if kept is None:
            return self._joined_edges(info)
        return self._listed(kept) if self.selection.weight is None else self._weighed(info, kept, self.selection.weight)

    def _joined_edges(self, info: EdgeType) -> Any:
        from pyspark.sql import functions as f

        weight = self.selection.weight
        columns, shape = {"src": "src", "dst": "dst"}, "src string, dst string"
        if weight is not None:
            columns, shape = columns | {"w": self._stored(info, weight)}, f"{shape}, w double"
        rows = self._scan(info, columns, shape)
        if weight is None:
            rows = rows.withColumn("w", f.lit(1.0))
        else:
            self._check_weights(info, weight, rows)
        ends = [self.nodes.where(f.col("type") == end) for end in (info.from_type, info.to_type)]
        tails = ends[0].select(f.col("n").alias("s"), f.col("id").alias("src"))
        heads = ends[1].select(f.col("n").alias("t"), f.col("id").alias("dst"))
        return rows.join(tails, "src").join(heads, "dst").select("s", "t", "w")

    def _listed(self, kept: KeptLists, *, edges: bool = False) -> Any:
        slices = max(1, -(-kept.lists.along().numbered // SLICE))

        def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for at in batch.column(0).to_pylist():
                    yield from kept.batches(at, edges=edges)

        last = "e bigint" if edges else "w double"
        return self.spark.range(0, slices, 1, slices).mapInArrow(read, f"s bigint, t bigint, {last}")

    def _weighed(self, info: EdgeType, kept: KeptLists, weight: str) -> Any:
        """The entries of lists with the weights of their edges, joined by row ids."""
        weights = self._scan(info, {"e": ROW_ID, "w": self._stored(info, weight)}, "e bigint, w double")
        self._check_weights(info, weight, weights)
        return self._listed(kept, edges=True).join(weights, "e").select("s", "t", "w")

    def _stored(self, info: EdgeType, name: str) -> str:
        """What a property was called when its table was written."""
        view = self.selection.view
        return name if view.find(info) is None else view.columns(info)[name] or name

    def _check_weights(self, info: EdgeType, weight: str, rows: Any) -> None:
        from pyspark.sql import functions as f

        missing = f.sum(f.col("w").isNull().cast("long"))
        wrong = (f.col("w") < 0) | f.isnan("w") | (f.col("w") == float("inf"))
        found = rows.agg(missing.alias("missing"), f.sum(wrong.cast("long")).alias("wrong")).first()
        if found.missing:
            raise BadRequest(
                f"{counted(found.missing, 'edge')} of '{info.name}' without '{weight}', so without a weight"
            )
        check_weights(info.name, weight, not found.wrong)

    def numbers_of(self, type_name: str, ids: Sequence[str]) -> list[int]:
        """The numbers of nodes, by id; NotFound names the first that is not there."""
        from pyspark.sql import functions as f

        mine = self.nodes.where((f.col("type") == type_name) & f.col("id").isin(list(ids)))
        known = {row.id: row.n for row in mine.select("id", "n").collect()}
        for node in ids:
            if node not in known:
                raise NotFound(f"there is no {type_name} '{node}'")
        return [known[node] for node in ids]

    def shown(self, values: Any, name: str) -> Any:
        """Values by number (n, value) as type, id and value, in node order; null where a node has none."""
        from pyspark.sql import functions as f

        joined = self.nodes.join(values, "n", "left").orderBy("n")
        return joined.select("type", "id", f.col("value").alias(name))

    def _scan(self, info: TableType, columns: Mapping[str, str], shape: str) -> Any:
        """Some stored columns of a type under other names, one task per fragment."""
        entry = self.selection.view.find(info)
        if entry is None or not entry.row_count:
            return self.spark.createDataFrame([], shape)
        address, version = entry.address(self.selection.view.tables.root), entry.version
        fragments = sorted(self.selection.view.table(info).fragment_rows())
        stored = dict(columns)

        def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            table = open_table(address, version)
            for batch in batches:
                for at in batch.column(0).to_pylist():
                    for found in table.batches(list(stored.values()), fragments=[fragments[at]]):
                        yield _named(found, stored)

        return self.spark.range(0, len(fragments), 1, len(fragments)).mapInArrow(read, shape)


def _named(batch: pa.RecordBatch, stored: Mapping[str, str]) -> pa.RecordBatch:
    kinds = {"n": pa.int64(), "e": pa.int64(), "w": pa.float64()}
    arrays = [pc.cast(batch.column(column), kinds.get(name, pa.utf8())) for name, column in stored.items()]
    return pa.RecordBatch.from_arrays(arrays, names=list(stored))


def _united(parts: Sequence[Any]) -> Any:
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.unionByName(part)
    return whole
