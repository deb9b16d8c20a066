"""PageRank and components of the whole graph against igraph and networkx on the same edges, answers compared.

`OMNIGRAPH_BENCH_ANALYTICS=1000000,10000000` sets the numbers of edges; there are ten edges a node. What is timed is the
algorithm: ours from a graph whose topology is built, igraph from its own graph object, networkx (up to a million edges,
because of its memory) from one of its own. Building each of these is a line of its own.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import omnigraph as og
from bench.measure import Measurement

SCHEMA = "node Person { handle: String @key }\nedge Knows: Person -> Person\n"
_SIZES = "OMNIGRAPH_BENCH_ANALYTICS"
_NETWORKX_EDGES = 1_000_000
_TOLERANCE = 1e-8


def run() -> Iterator[Measurement]:
    """Each size in turn."""
    for edges in map(int, os.environ.get(_SIZES, "1000000").split(",")):
        place = Path(tempfile.mkdtemp(prefix="omnigraph-bench-analytics-"))
        try:
            yield from _compared(place, edges // 10, edges)
        finally:
            shutil.rmtree(place, ignore_errors=True)


def _compared(place: Path, nodes: int, edges: int) -> Iterator[Measurement]:
    import igraph

    ends = np.random.default_rng(3).integers(0, nodes, (edges, 2))
    graph = _loaded(place, nodes, ends)
    shape = f"{edges:,} edges"
    built, _ = _timed(lambda: graph.analytics.degree("Knows", runner="inline"))
    yield Measurement("analytics", f"read the topology, {shape}", built)
    other_built, other = _timed(lambda: igraph.Graph(n=nodes, edges=ends, directed=True))
    yield Measurement("analytics", f"igraph builds its graph, {shape}", other_built)

    ours, ranks = _timed(lambda: graph.analytics.pagerank("Knows", runner="inline", tolerance=1e-10))
    theirs, expected = _timed(lambda: other.pagerank(damping=0.85))
    apart = float(np.abs(_values(ranks) - np.array(expected)).sum())
    assert apart < _TOLERANCE, f"PageRank differs from igraph's by {apart}"
    note = f"{ranks.iterations} rounds, L1 distance {apart:.1e}"
    yield Measurement("analytics", f"PageRank, {shape}", ours, "igraph", ours / theirs, note)

    ours_c, groups = _timed(lambda: graph.analytics.components("Knows", runner="inline"))
    theirs_c, found = _timed(lambda: other.connected_components(mode="weak"))
    assert _same_partition(_values(groups), np.array(found.membership)), "the components differ from igraph's"
    yield Measurement("analytics", f"components, {shape}", ours_c, "igraph", ours_c / theirs_c, f"{len(found)} found")
    if edges <= _NETWORKX_EDGES:
        yield from _networkx(ends, nodes, shape, ours, ours_c)
    taken, _ = _timed(lambda: graph.analytics.triangles("Knows", runner="inline"))
    yield Measurement("analytics", f"triangles, {shape}", taken)
    taken, _ = _timed(lambda: graph.analytics.label_propagation("Knows", runner="inline", iterations=5))
    yield Measurement("analytics", f"label propagation, 5 rounds, {shape}", taken)
    graph.close()


def _networkx(ends: np.ndarray, nodes: int, shape: str, ours: float, ours_c: float) -> Iterator[Measurement]:
    import networkx

    def build() -> Any:
        made = networkx.MultiDiGraph()
        made.add_nodes_from(range(nodes))
        made.add_edges_from(ends.tolist())
        return made

    built, other = _timed(build)
    yield Measurement("analytics", f"networkx builds its graph, {shape}", built)
    taken, _ = _timed(lambda: sum(1 for _ in networkx.weakly_connected_components(other)))
    yield Measurement("analytics", f"networkx components, {shape}", taken, "ours", taken / ours_c)
    try:
        taken, _ = _timed(lambda: networkx.pagerank(other, tol=1e-10 / nodes))
    except ImportError:
        return  # networkx ranks with scipy, which is not everywhere
    yield Measurement("analytics", f"networkx PageRank, {shape}", taken, "ours", taken / ours)


def _loaded(place: Path, nodes: int, ends: np.ndarray) -> og.Graph:
    handles = pc.binary_join_element_wise("p", pa.array(np.arange(nodes)).cast(pa.utf8()), "")
    graph = og.init(place / "g.omni", SCHEMA)
    graph.load(pa.table({"handle": handles}), type="Person", runner="inline")
    knows = {name: handles.take(pa.array(ends[:, at])) for at, name in enumerate(("from", "to"))}
    graph.load(pa.table(knows), edge="Knows", runner="inline")
    return graph


def _values(found: Any) -> np.ndarray:
    """Values by the number in the handle, which is igraph's vertex number."""
    number = pc.utf8_slice_codeunits(found.table["id"], 1).cast(pa.int64()).to_numpy()
    values = np.empty(len(number), found.table.column(2).to_numpy().dtype)
    values[number] = found.table.column(2).to_numpy()
    return values


def _same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    pairs = np.unique(one.astype(np.int64) * (int(other.max()) + 1) + other)
    return len(pairs) == len(np.unique(one)) == len(np.unique(other))


def _timed(action: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    value = action()
    return (time.perf_counter() - begin) * 1_000, value
