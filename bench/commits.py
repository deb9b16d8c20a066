"""Whether history and size are free: a small commit, a branch and an open on short and long, small and large graphs.

`OMNIGRAPH_BENCH_DEPTHS=10,1000` and `OMNIGRAPH_BENCH_ROWS=1000,100000` shrink the run; the defaults take a while.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import lance
import pyarrow as pa

import omnigraph as og
from bench.measure import Measurement, median_ms

SCHEMA = """
node Person { name: String @key  age: I32? }
node Note { text: String }
edge Knows: Person -> Person
"""
UPSERT = "query q($n: String, $a: I32) { insert Person { name: $n, age: $a } }"
_SAMPLES = 25
_KEYS = 200


def run(
    depths: tuple[int, ...] = (10, 1_000, 10_000), sizes: tuple[int, ...] = (10_000, 1_000_000)
) -> Iterator[Measurement]:
    """Commits and opens by depth of history, branches by number of rows."""
    place = Path(tempfile.mkdtemp(prefix="omnigraph-bench-"))
    try:
        yield from by_depth(place, _numbers("OMNIGRAPH_BENCH_DEPTHS", depths))
        yield from by_rows(place, _numbers("OMNIGRAPH_BENCH_ROWS", sizes))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def by_depth(place: Path, depths: tuple[int, ...]) -> Iterator[Measurement]:
    """One graph that grows; at each depth the same one-row mutation and the same open are timed."""
    graph = og.init(place / "depth.omni", SCHEMA)
    writer = _Writer(graph)
    bare = _bare_commit_ms(place / "bare.lance")
    first: dict[str, float] = {}
    for depth in depths:
        while writer.commits < depth:
            writer.write()
        commit = median_ms(writer.write, repeats=_SAMPLES, warmup=2)
        opening = median_ms(lambda: _cold_open(graph.uri), repeats=_SAMPLES, warmup=1)
        for case, found in (("one-row mutation", commit), ("open", opening)):
            ratio = found / first.setdefault(case, found)
            yield Measurement("commits", f"{case} after {depth} commits", found, f"after {depths[0]} commits", ratio)
        yield Measurement(
            "commits", f"graph commit after {depth} commits", commit, "one bare lance merge_insert", commit / bare
        )
    graph.close()


def by_rows(place: Path, sizes: tuple[int, ...]) -> Iterator[Measurement]:
    """Creating a branch, and the first write on it, on graphs of different sizes."""
    first: dict[str, float] = {}
    for size in sizes:
        graph = og.init(place / f"rows-{size}.omni", SCHEMA)
        graph.load(pa.table({"name": [f"p{at}" for at in range(size)]}), type="Person")
        created: list[str] = []

        def create(graph: og.Graph = graph, created: list[str] = created) -> None:
            graph.branches.create(f"b{len(created)}")
            created.append(f"b{len(created)}")

        def first_write(graph: og.Graph = graph, created: list[str] = created) -> None:
            graph.mutate(UPSERT, params={"n": "p1", "a": 1}, branch=created.pop())

        for case, found in {
            "branch create": median_ms(create, repeats=10, warmup=2),
            "first write on a branch": median_ms(first_write, repeats=8, warmup=2),
        }.items():
            start = first.setdefault(case, found)
            yield Measurement("commits", f"{case}, {size} rows", found, f"{sizes[0]} rows", found / start)
        graph.close()


class _Writer:
    """Inserts and replaces among a few keys, so that the tables stay small while the history grows."""

    def __init__(self, graph: og.Graph) -> None:
        self.graph = graph
        self.commits = 1

    def write(self) -> None:
        self.graph.mutate(UPSERT, params={"n": f"p{self.commits % _KEYS}", "a": self.commits})
        self.commits += 1


def _cold_open(uri: str) -> None:
    og.open(uri).close()


def _bare_commit_ms(place: Path) -> float:
    """The floor: what one upsert of one row costs with nothing around it."""
    rows = pa.table({"id": [f"p{at}" for at in range(_KEYS)], "age": pa.array(range(_KEYS), pa.int32())})
    lance.write_dataset(rows, str(place), data_storage_version="2.2", enable_stable_row_ids=True)
    step = iter(range(1_000_000))

    def upsert() -> None:
        at = next(step)
        row = pa.table({"id": [f"p{at % _KEYS}"], "age": pa.array([at], pa.int32())})
        dataset = lance.dataset(str(place))
        dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(row)

    return median_ms(upsert, repeats=_SAMPLES, warmup=2)


def _numbers(variable: str, default: tuple[int, ...]) -> tuple[int, ...]:
    text = os.environ.get(variable)
    return tuple(int(part) for part in text.split(",")) if text else default
