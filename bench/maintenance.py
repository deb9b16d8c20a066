"""Whether a graph without manual maintenance stays fast and small: many small commits, then the same work once more.

`OMNIGRAPH_BENCH_COMMITS=10000` makes the run as long as the promise; the default shows the trend in a minute.
"""

from __future__ import annotations

import io
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import omnigraph as og
from bench.measure import Measurement, median_ms

SCHEMA = """
node Person { name: String @key  age: I32?  note: String? }
edge Knows: Person -> Person
"""
_UPSERT = "query q($n: String, $a: I32, $t: String) { insert Person { name: $n, age: $a, note: $t } }"
_KNOWS = "query q($a: String, $b: String) { insert Knows { from: $a, to: $b } }"
_PEOPLE = 100_000
_SAMPLES = 40
_WARMUP = 5


def run(commits: int = 1_000) -> Iterator[Measurement]:
    """A small commit and a cold open beside those of a fresh graph, then disk use before and after cleanup."""
    commits = int(os.environ.get("OMNIGRAPH_BENCH_COMMITS", commits))
    place = Path(tempfile.mkdtemp(prefix="omnigraph-bench-"))
    try:
        old = _Writer(_fresh(place / "old.omni"))
        start = time.perf_counter()
        while old.commits < commits:
            old.write()
        total = (time.perf_counter() - start) * 1_000
        yield Measurement("maintenance", f"{commits:,} small commits, each", total / commits)
        yield from _speeds(old, _Writer(_fresh(place / "fresh.omni")))
        yield from _disk(place, old.graph, commits)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _disk(place: Path, graph: og.Graph, commits: int) -> Iterator[Measurement]:
    exported = io.BytesIO()
    graph.export(exported)
    with og.init(place / "copy.omni", SCHEMA) as copy:
        copy.load(exported.getvalue(), mode="overwrite", runner="inline")
    fair = _bytes_in(place / "copy.omni")
    unattended = _bytes_in(place / "old.omni")
    start = time.perf_counter()
    graph.cleanup(keep=1, confirm=True)
    took = (time.perf_counter() - start) * 1_000
    cleaned = _bytes_in(place / "old.omni")
    peer = "bytes of a reloaded copy"
    for case, size in ((f"disk after {commits:,} commits", unattended), ("disk after cleanup", cleaned)):
        yield Measurement("maintenance", case, took, peer, size / fair, f"{size / 1e6:.1f} MB of {fair / 1e6:.1f} MB")


def _speeds(old: _Writer, fresh: _Writer) -> Iterator[Measurement]:
    """The same work on both graphs in turn, so that whatever else the machine does concerns both."""
    cases: dict[str, Callable[[_Writer], object]] = {
        "small commit": _Writer.write,
        "cold open": lambda writer: _cold_open(writer.graph.uri),
    }
    commits = old.commits
    for case, work in cases.items():
        times: dict[_Writer, list[float]] = {old: [], fresh: []}
        for _ in range(_WARMUP + _SAMPLES):
            for writer, taken in times.items():
                taken.append(median_ms(partial(work, writer), repeats=1, warmup=0))
        after, before = (statistics.median(taken[_WARMUP:]) for taken in times.values())
        yield Measurement("maintenance", f"{case} after {commits:,} commits", after, "fresh graph", after / before)


def _fresh(place: Path) -> og.Graph:
    graph = og.init(place, SCHEMA)
    numbers = np.arange(_PEOPLE)
    names = pc.binary_join_element_wise("p", pa.array(numbers).cast(pa.utf8()), "")
    notes = pa.array([f"{number * 7_919:x} was here before {number * 104_729:x}" for number in numbers.tolist()])
    graph.load(pa.table({"name": names, "age": pa.array(numbers, pa.int32()), "note": notes}), type="Person")
    return graph


class _Writer:
    """What an application does: mostly changes of what is there, some arrivals, some edges."""

    def __init__(self, graph: og.Graph) -> None:
        self.graph = graph
        self.commits = 1
        self._random = np.random.default_rng(11)

    def write(self) -> None:
        some, other = (int(number) for number in self._random.integers(_PEOPLE, size=2))
        match self.commits % 4:
            case 0:
                self.graph.mutate(_KNOWS, params={"a": f"p{some}", "b": f"p{other}"})
            case 1:
                self._person(f"n{self.commits}")
            case _:
                self._person(f"p{some}")
        self.commits += 1

    def _person(self, name: str) -> None:
        params = {"n": name, "a": self.commits, "t": f"commit {self.commits} wrote {self.commits * 7_919:x}"}
        self.graph.mutate(_UPSERT, params=params)


def _cold_open(uri: str) -> None:
    og.open(uri).close()


def _bytes_in(place: Path) -> int:
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
