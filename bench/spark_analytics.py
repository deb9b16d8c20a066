"""The algorithms on Spark beside GraphX, on which GraphFrames runs most of its own, and igraph, whose answers count.

`OMNIGRAPH_BENCH_SPARK_ANALYTICS=100000,1000000` sets the numbers of nodes and edges. GraphFrames itself is a jar that
is not on PyPI; GraphX comes with Spark, and is called through its Java interface on a file of numbered edges. What is
timed on both sides ends with a value for every node, ours in a table with the ids in this process; ours begins with the
tables of the graph, GraphX with its graph in memory, whose building is a line of its own. The same algorithm in this
process, which `runner="auto"` takes at this size, has a line as well. Ratios are of processor seconds of this process,
the JVM and the workers.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import igraph
import numpy as np

from bench.analytics import _loaded, _same_partition, _timed, _values
from bench.measure import Measurement
from bench.processes import cpu_seconds
from omnigraph.pipeline.spark.session import spark_session

_SIZES = "OMNIGRAPH_BENCH_SPARK_ANALYTICS"
_ROUNDS = 10
_FIRST = 1 << 33  # numbers of nodes that Java takes for long ones
_CLOSE = 1e-6
_NEAR = 0.05  # ten rounds are not the end


def run() -> Iterator[Measurement]:
    """Each algorithm in turn."""
    nodes, edges = (int(part) for part in os.environ.get(_SIZES, "100000,1000000").split(","))
    place = Path(tempfile.mkdtemp(prefix="omnigraph-bench-spark-analytics-"))
    try:
        ends = np.random.default_rng(3).integers(0, nodes, (edges, 2))
        np.savetxt(place / "edges.txt", ends + _FIRST, fmt="%d")
        graph = _loaded(place, nodes, ends)
        spark = spark_session("local[2,4]")
        built, other = _timed(lambda: _GraphX(spark, place / "edges.txt"))
        yield Measurement("spark_analytics", f"GraphX builds its graph, {edges:,} edges", built)
        first = _spent(lambda: graph.analytics.degree("Knows", runner="spark").table)
        note = f"cpu {first.processor:.1f} s"
        yield Measurement("spark_analytics", "degrees on Spark, workers starting, lists built", first.wall, note=note)
        truth = igraph.Graph(n=nodes, edges=ends, directed=True)
        for case in _cases(graph.analytics, other, truth):
            yield from _compared(case, f"{edges:,} edges")
        graph.close()
    finally:
        shutil.rmtree(place, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Case:
    name: str
    ours: Callable[[str], Any]
    agrees: Callable[[Any], bool]
    theirs: Callable[[], Any]


def _cases(mine: Any, other: _GraphX, truth: Any) -> Iterator[_Case]:
    def ranks_agree(found: Any) -> bool:
        exact = mine.pagerank("Knows", runner="inline", tolerance=1e-12)
        near = np.abs(_values(exact) - _values(found)).sum() < _NEAR
        return bool(near and np.abs(_values(exact) - np.array(truth.pagerank())).sum() < _CLOSE)

    def distances_agree(found: Any) -> bool:
        ours = np.full(truth.vcount(), np.inf)
        numbers = [int(each[1:]) for each in found.table["id"].to_pylist()]
        ours[numbers] = [np.inf if each is None else each for each in found.table["distance"].to_pylist()]
        return bool((ours == np.array(truth.distances(source=[0])[0])).all())

    def triangles_agree(found: Any) -> bool:
        return int(_values(found).sum()) == 3 * len(truth.as_undirected().simplify().list_triangles())

    def parts_agree(found: Any) -> bool:
        return _same_partition(_values(found), np.array(truth.connected_components(mode="weak").membership))

    yield _Case(
        f"PageRank, {_ROUNDS} rounds",
        lambda runner: mine.pagerank("Knows", runner=runner, tolerance=0.0, iterations=_ROUNDS),
        ranks_agree,
        other.pagerank,
    )
    yield _Case("components", lambda runner: mine.components("Knows", runner=runner), parts_agree, other.components)
    yield _Case(
        "label propagation, 5 rounds",
        lambda runner: mine.label_propagation("Knows", runner=runner, iterations=5),
        lambda found: True,  # igraph moves one node at a time, so only both runners can be compared
        other.labels,
    )
    yield _Case("triangles", lambda runner: mine.triangles("Knows", runner=runner), triangles_agree, other.triangles)
    yield _Case(
        "distances", lambda runner: mine.distances("p0", "Knows", runner=runner), distances_agree, other.distances
    )


def _compared(case: _Case, shape: str) -> Iterator[Measurement]:
    theirs = _spent(case.theirs)
    ours, here = (_spent(lambda runner=runner: _complete(case.ours(runner))) for runner in ("spark", "inline"))
    for found in (ours, here):
        assert case.agrees(found.answer), f"{case.name} differs from igraph"
    assert case.name.startswith("PageRank") or ours.answer.table.equals(here.answer.table), (
        f"{case.name}: runners differ"
    )
    yield Measurement(
        "spark_analytics", f"GraphX: {case.name}, {shape}", theirs.wall, note=f"cpu {theirs.processor:.1f} s"
    )
    for name, found in (("on Spark", ours), ("in process", here)):
        ratio, note = found.processor / theirs.processor, f"cpu {found.processor:.1f} s"
        yield Measurement("spark_analytics", f"{name}: {case.name}, {shape}", found.wall, "GraphX", ratio, note)


def _complete(found: Any) -> Any:
    """Values that Spark has still to compute or to bring here are here then."""
    found.table  # noqa: B018
    return found


@dataclass(frozen=True, slots=True)
class _Spent:
    wall: float
    processor: float
    answer: Any


def _spent(action: Callable[[], Any]) -> _Spent:
    before = cpu_seconds()
    wall, answer = _timed(action)
    return _Spent(wall, max(cpu_seconds() - before, 0.01), answer)


class _GraphX:
    """A graph of GraphX in the JVM of a session; each algorithm until every node has its value."""

    def __init__(self, spark: Any, path: Path) -> None:
        self._jvm = spark._jvm
        self._spark = spark
        level = self._jvm.org.apache.spark.storage.StorageLevel.MEMORY_AND_DISK()
        loader = self._jvm.org.apache.spark.graphx.GraphLoader
        self._graph = loader.edgeListFile(spark.sparkContext._jsc.sc(), str(path), False, 2, level, level)
        self._tag = self._jvm.scala.reflect.ManifestFactory.Int()
        self._graph.vertices().count()

    def pagerank(self) -> Any:
        return self._lib.PageRank.run(self._graph, _ROUNDS, 0.15, self._tag, self._tag).vertices().count()

    def components(self) -> Any:
        return self._lib.ConnectedComponents.run(self._graph, self._tag, self._tag).vertices().count()

    def labels(self) -> Any:
        return self._lib.LabelPropagation.run(self._graph, 5, self._tag).vertices().count()

    def triangles(self) -> Any:
        return self._lib.TriangleCount.run(self._graph, self._tag, self._tag).vertices().count()

    def distances(self) -> Any:
        start = self._jvm.org.apache.spark.api.python.PythonUtils.toSeq([_FIRST])
        return self._lib.ShortestPaths.run(self._graph, start, self._tag).vertices().count()

    @property
    def _lib(self) -> Any:
        return self._jvm.org.apache.spark.graphx.lib
