"""The algorithms of `kernels` on Spark for graphs whose nodes fit into one array, whatever their edges need.

A round is one job without a shuffle: the values of all nodes go to every task, each task works on its edges, and one
array of each task comes back. Edges are taken from the neighbour lists beside the graph, where these are kept for the
version that is looked at; else they are packed once as arrays, and Spark holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.engine.read.columns.rowindex import distinct_rows
from omnigraph.ids import new_ulid
from omnigraph.pipeline.analytics.kernels import Floats, Teleport, dense, joined, winners
from omnigraph.pipeline.analytics.spark_lists import ListedEdges, Positions, held_entries
from omnigraph.pipeline.analytics.spark_network import SparkEdges
from omnigraph.pipeline.spark.session import parallelism

# So many nodes are sent to every task, round by round; beyond, their values are frames that are joined.
MOST_NODES = 2_000_000
# What the tasks of one round may send together.
_ANSWERS = 256 << 20
_PACKED_ROWS = 4 << 20
_PACKED = "s binary, t binary, w binary"
_FOUND = "found binary"
_SCHEMA = pa.schema([(name, pa.binary()) for name in "stw"])

Array = npt.NDArray[Any]
# What a task computes from the sources, targets and weights of its edges; without weights all are 1.
Work = Callable[[Array, Array, Array | None], Array]


@dataclass(frozen=True, slots=True)
class NodeArray:
    """A value per node, by ascending numbers, in this process."""

    spark: Any
    numbers: Array
    values: Array

    @property
    def frame(self) -> Any:
        """The same as a frame of numbers and values."""
        return self.spark.createDataFrame(pa.table({"n": self.numbers, "value": self.values}))

    def dense(self) -> NodeArray:
        """Values replaced by their place among the distinct ones."""
        return NodeArray(self.spark, self.numbers, dense(self.values))

    def table(self, nodes: pa.Table, name: str) -> pa.Table:
        """Rows of nodes (n, type, id) with their values, in the order of their numbers; null where a node has none."""
        nodes = nodes.sort_by("n")
        wanted = nodes["n"].to_numpy()
        at = np.minimum(np.searchsorted(self.numbers, wanted), max(len(self.numbers) - 1, 0))
        known = self.numbers[at] == wanted if len(self.numbers) else np.zeros(len(wanted), np.bool_)
        found = self.values[at] if len(self.numbers) else np.zeros(len(wanted), self.values.dtype)
        return nodes.select(["type", "id"]).append_column(name, pa.array(found, mask=~known))


class Vectors:
    """The nodes of a network as positions 0 … count-1 in the order of their numbers, and where tasks have its edges.

    `whole` says that one task has all edges of a source.
    """

    def __init__(self, nodes: Any, edges: SparkEdges, *, whole: bool = False) -> None:
        self.spark = nodes.sparkSession
        self.numbers: Array = np.sort(nodes.select("n").toArrow()["n"].to_numpy())
        self.count = len(self.numbers)
        tasks = max(1, min(parallelism(self.spark), _ANSWERS // (8 * max(self.count, 1))))
        listed = edges.listed if self.count else None
        self._shares = (
            _Packed(edges.frame, self.numbers, tasks, by="s" if whole else None)
            if listed is None
            else _Mapped(self.spark, listed, self.numbers, tasks)
        )

    def run(self, work: Work, kind: Any) -> list[Array]:
        """What the work makes of the edges of each task."""
        answers = self._shares.answers(work).toArrow()["found"]
        return [_array(answer, kind) for answer in answers]

    def valued(self, values: Array) -> NodeArray:
        """Values by position."""
        return NodeArray(self.spark, self.numbers, values)


class _Packed:
    """Edges as arrays in rows of a frame, packed once; they pass from Spark to the task in every round."""

    def __init__(self, edges: Any, numbers: Array, tasks: int, *, by: str | None) -> None:
        parts = edges.coalesce(tasks) if by is None else edges.repartition(tasks, by)

        def packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for rows in _long(batches):
                ends = [np.searchsorted(numbers, rows[name].to_numpy()).astype(np.int32) for name in "st"]
                cells = [*ends, rows["w"].to_numpy()]
                yield pa.RecordBatch.from_arrays(
                    [pa.array([cell.tobytes()], pa.binary()) for cell in cells], schema=_SCHEMA
                )

        # The first round fills it.
        self._edges = parts.select("s", "t", "w").mapInArrow(packed, _PACKED).localCheckpoint(eager=False)

    def answers(self, work: Work) -> Any:
        def worked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            rows = [row for batch in batches for row in zip(*(batch.column(name) for name in "stw"), strict=True)]
            if rows:
                kinds = (np.int32, np.int32, np.float64)
                cells = (np.concatenate([_array(row[at], kind) for row in rows]) for at, kind in enumerate(kinds))
                yield _answer(work(*cells))

        return self._edges.mapInArrow(worked, _FOUND)


class _Mapped:
    """Edges in the neighbour lists beside the graph, which a task maps; its process keeps what it has looked up."""

    def __init__(self, spark: Any, edges: ListedEdges, numbers: Array, tasks: int) -> None:
        self._spark = spark
        self._edges = edges
        self._ranges = edges.ranges(numbers, tasks)
        self._positions = Positions.of(numbers)
        self._name = new_ulid()

    def answers(self, work: Work) -> Any:
        edges, ranges, positions, name = self._edges, self._ranges, self._positions, self._name

        def worked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for at in batch.column(0).to_pylist():
                    yield _answer(work(*held_entries(name, edges, ranges[at], positions), None))

        return self._spark.range(0, len(ranges), 1, len(ranges)).mapInArrow(worked, _FOUND)


def _answer(found: Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"found": pa.array([found.tobytes()], pa.binary())})


def pagerank(nodes: Any, edges: SparkEdges, walk: Teleport) -> tuple[NodeArray, int]:
    """Ranks and rounds, as in memory."""
    network = Vectors(nodes, edges)
    count = network.count
    if not count:
        return network.valued(np.zeros(0)), 0

    def added(values: Floats, *, arriving: bool) -> Floats:
        def work(sources: Array, targets: Array, weights: Array | None) -> Array:
            given = values[sources] if weights is None else values[sources] * weights
            return np.bincount(targets if arriving else sources, given, count)

        return sum(network.run(work, np.float64), np.zeros(count))

    leaving = added(np.ones(count), arriving=False)
    stuck = leaving == 0
    leaving[stuck] = 1.0
    ranks: Floats = np.full(count, 1.0 / count)
    for done in range(1, walk.iterations + 1):
        arriving = added(ranks / leaving, arriving=True)
        after = (1 - walk.damping) / count + walk.damping * (arriving + float(ranks[stuck].sum()) / count)
        moved = float(np.abs(after - ranks).sum())
        ranks = after
        if moved < walk.tolerance:
            return network.valued(ranks), done
    return network.valued(ranks), walk.iterations


def components(nodes: Any, edges: SparkEdges) -> NodeArray:
    """The smallest connected node of each: every task joins its edges, and then what the tasks have found is joined."""
    network = Vectors(nodes, edges)
    count = network.count

    def work(sources: Array, targets: Array, _: Array | None) -> Array:
        return joined(np.arange(count), [(sources, targets)])

    here = np.arange(count)
    parent = joined(here.copy(), [(here, found) for found in network.run(work, np.int64)])
    return network.valued(network.numbers[parent])


def label_propagation(nodes: Any, edges: SparkEdges, iterations: int) -> tuple[NodeArray, int]:
    """Labels and rounds, as in memory; a task has all votes for its nodes."""
    network = Vectors(nodes, edges.turned("both"), whole=True)
    count = network.count
    labels = np.arange(count)
    for done in range(1, iterations + 1):
        after = labels.copy()
        for found in network.run(_elected(labels, count), np.int64):
            voters, chosen = found.reshape(2, -1)
            after[voters] = chosen
        if np.array_equal(after, labels):
            return network.valued(network.numbers[labels]), done
        labels = after
    return network.valued(network.numbers[labels]), iterations


def _elected(labels: Array, count: int) -> Work:
    def work(near: Array, far: Array, _: Array | None) -> Array:
        voters = distinct_rows(near.astype(np.int64))
        # Every node has a vote of its own; without neighbours it keeps its label.
        votes = np.concatenate([near.astype(np.int64) * count + labels[far], voters * count + labels[voters]])
        return np.concatenate([voters, winners(votes, count)])

    return work


def distances(nodes: Any, edges: SparkEdges, start: Sequence[int], depth: int | None) -> NodeArray:
    """Hops from the start nodes; a node that is not reached has none."""
    network = Vectors(nodes, edges)
    found = np.full(network.count, -1, np.int64)
    found[np.searchsorted(network.numbers, np.array(start, np.int64))] = 0
    hops = 0
    while depth is None or hops < depth:
        reached = np.zeros(network.count, np.bool_)
        for each in network.run(_reached(found == hops), np.uint8):
            reached |= np.unpackbits(each, count=network.count).astype(np.bool_)
        hops += 1
        fresh = reached & (found < 0)
        if not fresh.any():
            break
        found[fresh] = hops
    return NodeArray(network.spark, network.numbers[found >= 0], found[found >= 0])


def degrees(nodes: Any, edges: SparkEdges, direction: str) -> NodeArray:
    """Edges at each node; a loop leaves and arrives."""
    network = Vectors(nodes, edges)
    count = network.count

    def work(sources: Array, targets: Array, _: Array | None) -> Array:
        ends = {"out": (sources,), "in": (targets,), "both": (sources, targets)}[direction]
        return sum((np.bincount(end, minlength=count) for end in ends), np.zeros(count, np.int64))

    return network.valued(sum(network.run(work, np.int64), np.zeros(count, np.int64)))


def _reached(frontier: Array) -> Work:
    def work(sources: Array, targets: Array, _: Array | None) -> Array:
        hit = np.zeros(len(frontier), np.bool_)
        hit[targets[frontier[sources]]] = True
        return np.packbits(hit)

    return work


def _long(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Spark's short batches as long tables."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= _PACKED_ROWS:
            yield pa.Table.from_batches(held)
            held, rows = [], 0
    if rows:
        yield pa.Table.from_batches(held)


def _array(cell: pa.BinaryScalar, kind: Any) -> Array:
    return np.frombuffer(cell.as_buffer(), kind)
