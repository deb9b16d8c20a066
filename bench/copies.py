"""`clone`, backups and a restore beside `cp -r` of one graph, in one run; `--size large` is 1,000,000 + 10,000,000.

`OMNIGRAPH_BENCH_ROUNDS` is how often each way of copying is measured (8).
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq

import omnigraph as og
from bench.measure import Measurement
from bench.social import Size, chosen_size, write_graph

SCHEMA = """
node Person { handle: String @key name: String age: I32 city: String }
edge Knows: Person -> Person { since: I64 }
"""
ROUNDS = int(os.environ.get("OMNIGRAPH_BENCH_ROUNDS", "8"))


def run() -> Iterator[Measurement]:
    """Copy a graph in several ways, each several times, taking turns."""
    size = chosen_size()
    with tempfile.TemporaryDirectory(prefix="bench-copies-", dir=os.environ.get("OMNIGRAPH_BENCH_HOME")) as home:
        source = Path(home, "graph.omni")
        load_social(source, size)
        ways: dict[str, Callable[[Path], object]] = {
            "cp -r": lambda place: subprocess.run(["cp", "-r", source, place], check=True),
            "cp -r and sync of its files": lambda place: subprocess.run(
                f"cp -r '{source}' '{place}' && find '{place}' -print0 | xargs -0 sync", shell=True, check=True
            ),
            "clone": lambda place: og.clone(source, place),
            "clone without reading back": lambda place: og.clone(source, place, verify=False),
        }
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for number in range(ROUNDS):
            for name, copy in [*ways.items()][number % len(ways) :] + [*ways.items()][: number % len(ways)]:
                place = Path(home, "copy.omni")
                os.sync()  # what was written and removed before is not waited for by the next one
                begin = time.perf_counter()
                copy(place)
                taken[name].append(time.perf_counter() - begin)
                shutil.rmtree(place)
        usual = {name: statistics.median(each) for name, each in taken.items()}
        held = sum(file.stat().st_size for file in source.rglob("*") if file.is_file()) / 1e6
        note = f"{size.people:,} + {size.knows:,}, {held:,.0f} MB"
        usual |= _backups(source, Path(home))
        for name, seconds in usual.items():
            yield Measurement("copies", name, seconds * 1e3, "cp -r", seconds / usual["cp -r"], note)


def _backups(source: Path, home: Path) -> dict[str, float]:
    """Seconds of a first backup, of one after a small commit, of checking it, and of restoring it; then of a push."""
    backups, taken = og.Backups(home / "backups"), {}

    def timed(name: str, work: Callable[[], object]) -> None:
        begin = time.perf_counter()
        work()
        taken[name] = time.perf_counter() - begin

    timed("backup, the first", lambda: backups.create(source))
    with og.open(source) as graph:
        graph.mutate('query q() { insert Person { handle: "new" name: "New" age: 1 city: "City" } }')
    timed("backup after a commit of one row", lambda: backups.create(source))
    timed("backup verify", backups.verify)
    timed("restore", lambda: backups.restore(home / "restored.omni"))
    with og.open(source) as graph:
        graph.mutate('query q() { insert Person { handle: "newer" name: "Newer" age: 1 city: "City" } }')
    timed("push of one commit of one row", lambda: og.push(source, home / "restored.omni"))
    return taken


def load_social(place: Path, size: Size) -> None:
    """People and whom they know."""
    data = write_graph(size)
    people = pq.read_table(data / "people.parquet", columns=["handle", "name", "age", "city"])
    with og.init(place, SCHEMA) as graph:
        graph.load(people, type="Person", runner="inline")
        knows = pq.read_table(data / "knows.parquet", columns=["from", "to", "since"])
        graph.load(knows, edge="Knows", runner="inline")
