"""Whether costs follow the change: the same work beside 3 and 600 live branches, and after 25 and 5,000 commits.

`OMNIGRAPH_BENCH_BRANCHES` and `OMNIGRAPH_BENCH_HISTORY` are the larger numbers. Both graphs of a pair do the same work
in turn, so that whatever else the machine does concerns both; what is printed is the ratio of medians: of time, and of
CPU time, which a busy machine disturbs less.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

import omnigraph as og
from bench.measure import Measurement
from omnigraph.engine.api.access import access
from omnigraph.testing.graphs.storage_graph import create_branch

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person
"""
_INSERT = "query q($n: String, $a: I32) { insert Person { name: $n, age: $a } }"
_UPDATE = "query q($n: String, $a: I32) { update Person set { age: $a } where name = $n }"
_PEOPLE = 1_000
_SAMPLES = 15
_FEW_BRANCHES, _FEW_COMMITS, _UPDATES = 3, 25, 400


def run(branches: int = 600, commits: int = 5_000) -> Iterator[Measurement]:
    """Both tables, then what the history of one row costs, then the files that are left."""
    branches = int(os.environ.get("OMNIGRAPH_BENCH_BRANCHES", branches))
    commits = int(os.environ.get("OMNIGRAPH_BENCH_HISTORY", commits))
    place = Path(tempfile.mkdtemp(prefix="omnigraph-bench-"))
    try:
        small, large = (_with_branches(place / f"b{count}.omni", count) for count in (_FEW_BRANCHES, branches))
        yield from _compared(small, large, f"{branches} branches", f"{_FEW_BRANCHES} branches")
        small, large = (_with_commits(place / f"c{count}.omni", count) for count in (_FEW_COMMITS, commits))
        yield from _compared(small, large, f"{commits:,} commits", f"{_FEW_COMMITS} commits")
        yield from _blamed(place)
        for graph, count in ((small, _FEW_COMMITS), (large, commits)):
            files = sum(1 for path in Path(graph.uri).rglob("*") if path.is_file())
            yield Measurement("branches", f"files after {count:,} commits and this run", 0.0, note=f"{files:,} files")
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _compared(small: og.Graph, large: og.Graph, case: str, peer: str) -> Iterator[Measurement]:
    times: dict[str, tuple[list[float], list[float]]] = {}
    cpu: dict[str, tuple[list[float], list[float]]] = {}
    loads = [graph.commits.list()[-2].graph_commit_id for graph in (small, large)]
    for sample in range(_SAMPLES + 1):
        for side, graph in enumerate((small, large)):
            for name, work in _round(graph, loads[side], sample).items():
                started, used = time.perf_counter(), time.process_time()
                work()
                if sample:  # the first round fills caches
                    times.setdefault(name, ([], []))[side].append((time.perf_counter() - started) * 1_000)
                    cpu.setdefault(name, ([], []))[side].append((time.process_time() - used) * 1_000)
    for name, taken in times.items():
        before, after = map(statistics.median, taken)
        less, more = map(statistics.median, cpu[name])
        note = f"CPU {more / less:.2f} x ({more:.1f} of {less:.1f} ms)"
        yield Measurement("branches", f"{name}, {case}", after, peer, after / before, note)


def _round(graph: og.Graph, first: str, sample: int) -> dict[str, Callable[[], object]]:
    """One piece of work of each kind, in an order in which each finds what it needs."""

    def transaction() -> None:
        with graph.transaction() as tx:
            tx.mutate(_INSERT, params={"n": f"t{sample}", "a": 1})

    def read_first() -> None:
        with og.open(graph.uri, read_only=True) as fresh:
            fresh.at(first).get("Person", "p1")

    return {
        "open": lambda: og.open(graph.uri).close(),
        "list branches": graph.branches.list,
        "insert": lambda: graph.mutate(_INSERT, params={"n": f"i{sample}", "a": 1}),
        "create a branch": lambda: graph.branches.create("work"),
        "write on a branch": lambda: graph.mutate(_UPDATE, params={"n": f"p{sample}", "a": 7 + sample}, branch="work"),
        "merge": lambda: graph.branches.merge("work"),
        "delete a branch": lambda: graph.branches.delete("work"),
        "transaction": transaction,
        "open and read of the first commit": read_first,
        "ten newest commits": lambda: graph.commits.list(limit=10),
    }


def _blamed(place: Path) -> Iterator[Measurement]:
    """A row with few changes beside one with many, in a history that is long for both."""
    graph = _fresh(place / "blame.omni")
    for number in range(_UPDATES):
        graph.mutate(_UPDATE, params={"n": "p0", "a": number})
    for number in range(_UPDATES // 20):
        graph.mutate(_UPDATE, params={"n": "p1", "a": number})
    taken: dict[str, float] = {}
    for name in ("p1", "p0"):
        started = time.perf_counter()
        graph.commits.blame("Person", name)
        taken[name] = (time.perf_counter() - started) * 1_000
    note = f"{_UPDATES // 20} changes: {taken['p1']:.1f} ms"
    ratio = taken["p0"] / taken["p1"]
    yield Measurement("branches", f"blame of a row with {_UPDATES} changes", taken["p0"], "20 changes", ratio, note)


def _fresh(place: Path) -> og.Graph:
    graph = og.init(place, SCHEMA)
    names = pa.array([f"p{number}" for number in range(_PEOPLE)])
    graph.load(pa.table({"name": names, "age": pa.array(range(_PEOPLE), pa.int32())}), type="Person")
    return graph


def _with_branches(place: Path, count: int) -> og.Graph:
    graph = _fresh(place)
    root = access(graph).store.root
    for number in range(count):
        create_branch(root, f"b{number}")
    return graph


def _with_commits(place: Path, count: int) -> og.Graph:
    graph = _fresh(place)
    for number in range(count - 2):
        graph.mutate(_UPDATE, params={"n": f"p{number % _PEOPLE}", "a": number})
    return graph
