"""Whether merging and comparing follow the change: the same 1,000-row branch on small and large graphs, and a huge one.

`OMNIGRAPH_BENCH_MERGE_ROWS=1000,100000` and `OMNIGRAPH_BENCH_MERGE_CHANGED=100000` shrink the run. The branch that
changes everything is merged in a process of its own, so that its peak of memory is its own too.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import omnigraph as og
from bench.measure import Measurement, peak_mib

SCHEMA = """
node Person { name: String @key  age: I32?  note: String? }
edge Knows: Person -> Person { since: I32? }
"""
_DELETE = "query q($low: I32, $high: I32) { delete Person where age >= $low and age < $high }"
_UPDATED, _INSERTED, _DELETED = 600, 300, 100
_SAMPLES = 9


def run(sizes: tuple[int, ...] = (10_000, 1_000_000), changed: int = 1_000_000) -> Iterator[Measurement]:
    """Merges and diffs of a small branch by size of the graph, then the merge of a large branch."""
    place = Path(tempfile.mkdtemp(prefix="omnigraph-bench-"))
    try:
        text = os.environ.get("OMNIGRAPH_BENCH_MERGE_ROWS")
        yield from by_rows(place, tuple(map(int, text.split(","))) if text else sizes)
        yield from large_branch(place, int(os.environ.get("OMNIGRAPH_BENCH_MERGE_CHANGED", changed)))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def by_rows(place: Path, sizes: tuple[int, ...]) -> Iterator[Measurement]:
    """A branch of 600 updates, 300 inserts and 100 deletions; main has moved meanwhile, so nothing is a fast-forward.

    Updated rows lie together, as those of one import or one department do, or anywhere. Rows that lie anywhere cost
    more the larger the table is, because lance then reads and decodes a block of a column for each of them.
    """
    graphs = {size: _graph(place / f"rows-{size}.omni", size) for size in sizes}
    for number, layout in enumerate(("together", "scattered")):
        taken: dict[int, list[tuple[float, float]]] = {size: [] for size in sizes}
        # In turn, so that whatever else the machine does concerns every size.
        for sample in range(number * (_SAMPLES + 1), (number + 1) * (_SAMPLES + 1)):
            for size, graph in graphs.items():
                taken[size].append(_diff_and_merge(graph, size, sample, scattered=layout == "scattered"))
        for at, case in enumerate(("diff", "merge")):
            medians = {size: statistics.median(times[at] for times in taken[size][1:]) for size in sizes}
            for size, found in medians.items():
                name = f"{case} of 1,000 rows into {size:,}, {layout}"
                yield Measurement("merge", name, found, f"{sizes[0]:,} rows", found / medians[sizes[0]])
    for graph in graphs.values():
        graph.close()


def _diff_and_merge(graph: og.Graph, size: int, sample: int, *, scattered: bool) -> tuple[float, float]:
    branch = f"b{sample}"
    _small_branch(graph, branch, size, sample, scattered=scattered)
    compared = _timed(lambda: graph.diff("main", branch))
    merged = _timed(lambda: graph.branches.merge(branch))
    graph.branches.delete(branch)
    return compared, merged


def large_branch(place: Path, changed: int) -> Iterator[Measurement]:
    """Every row of a branch changed, and its merge, beside a load of as many rows; peaks are of separate processes."""
    graph = og.init(place / "large.omni", SCHEMA)
    graph.load(_people(0, changed), type="Person", runner="inline")
    graph.close()
    note = f"load {changed:,} rows"
    load = _apart(_load_rows, place / "loaded.omni", changed)
    yield Measurement("merge", note, load["ms"], note=f"peak {load['peak_mib']:.0f} MiB")
    _apart(_change_all, place / "large.omni", changed)
    merge = _apart(_merge_all, place / "large.omni", changed)
    case, peak = f"merge of {changed:,} changed rows", f"peak {merge['peak_mib']:.0f} MiB"
    yield Measurement("merge", case, merge["ms"], note, merge["ms"] / load["ms"], peak)


# --- the graphs ----------------------------------------------------------------------------------


def _graph(place: Path, size: int) -> og.Graph:
    graph = og.init(place, SCHEMA)
    graph.load(_people(0, size), type="Person", runner="inline")
    ends = np.random.default_rng(3).permutation(size)
    graph.load(
        pa.table({"from": _names(np.arange(size)), "to": _names(ends), "since": pa.array(ends, pa.int32())}),
        edge="Knows",
        runner="inline",
    )
    graph.optimize()
    return graph


def _small_branch(graph: og.Graph, branch: str, size: int, sample: int, *, scattered: bool) -> None:
    """600 people get another note, 300 arrive, 100 of those that arrived last time go; main gets ten other notes."""
    graph.branches.create(branch)
    random = np.random.default_rng(sample)
    together = np.arange(_UPDATED) + random.integers(size // 2 - _UPDATED)
    chosen = random.choice(size // 2, _UPDATED, replace=False) if scattered else together
    arriving = size + 1_000 * (sample + 1) + np.arange(_INSERTED)
    rows = pa.concat_tables([_noted(chosen, f"branch {sample}"), _noted(arriving, "new")])
    graph.load(rows, mode="merge", type="Person", branch=branch, runner="inline")
    leaving = size + 1_000 * sample if sample else size // 2
    graph.mutate(_DELETE, params={"low": leaving, "high": leaving + _DELETED}, branch=branch)
    ours = size // 2 + _DELETED + random.choice(size // 4, 10, replace=False)
    graph.load(_noted(ours, f"main {sample}"), mode="merge", type="Person", runner="inline")


def _people(start: int, count: int) -> pa.Table:
    return _noted(np.arange(start, start + count), "as loaded")


def _noted(numbers: np.ndarray, note: str) -> pa.Table:
    return pa.table(
        {
            "name": _names(numbers),
            "age": pa.array(numbers, pa.int32()),
            "note": pc.binary_join_element_wise(note, pa.array(numbers).cast(pa.utf8()), " "),
        }
    )


def _names(numbers: np.ndarray) -> pa.Array:
    return pc.binary_join_element_wise("p", pa.array(numbers).cast(pa.utf8()), "")


# --- one step in a process of its own ------------------------------------------------------------


def _load_rows(place: Path, count: int) -> float:
    graph = og.init(place, SCHEMA)
    return _timed(lambda: graph.load(_people(0, count), type="Person", runner="inline"))


def _change_all(place: Path, count: int) -> float:
    graph = og.open(place)
    graph.branches.create("all")
    rows = _noted(np.arange(count), "changed")
    return _timed(lambda: graph.load(rows, mode="merge", type="Person", branch="all", runner="inline"))


def _merge_all(place: Path, count: int) -> float:
    graph = og.open(place)
    took = _timed(lambda: graph.branches.merge("all"))
    assert graph.diff("all", "main").stats.updates == 0, count
    return took


def _apart(step: Callable[[Path, int], float], place: Path, count: int) -> dict[str, Any]:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_report, args=(sender, step, place, count))
    child.start()
    sender.close()
    try:
        found: dict[str, Any] = receiver.recv()
    finally:
        child.join()
    return found


def _report(sender: Any, step: Callable[[Path, int], float], place: Path, count: int) -> None:
    took = step(place, count)
    sender.send({"ms": took, "peak_mib": peak_mib()})


def _timed(step: Callable[[], object]) -> float:
    start = time.perf_counter_ns()
    step()
    return (time.perf_counter_ns() - start) / 1e6
