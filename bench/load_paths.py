"""Small and middle loads by both ways of this process, side by side: all at once, and as tasks with one split.

Processor times stand in the notes: on a machine that does other things as well they say more.
"""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import omnigraph as og
from bench.measure import Measurement

SCHEMA = "node Person { name: String @key  age: I32?  city: String? } edge Knows: Person -> Person"
SIZES = {1: 15, 1_000: 11, 100_000: 3}
WAYS = {"at once": {}, "as tasks": {"max_errors": 1}}


def lines(count: int) -> bytes:
    """Records of new people; every second one knows somebody."""
    people = ({"type": "Person", "data": {"name": f"p{n}", "age": n % 90, "city": f"c{n % 50}"}} for n in range(count))
    known = ({"edge": "Knows", "from": f"p{n}", "to": f"p{n // 2}"} for n in range(0, count, 2))
    return "".join(json.dumps(each) + "\n" for each in (*people, *known)).encode()


def measured(template: Path, place: Path, data: Path, mode: str, options: dict[str, int]) -> tuple[float, float]:
    """Seconds and processor seconds of one load into a copy of a graph."""
    shutil.copytree(template, place)
    with og.open(place) as graph:
        graph.query("query q() { match { $p: Person } return { count(*) as n } }")
        started, used = time.perf_counter(), time.process_time()
        graph.load(str(data), mode=mode, runner="inline", **options)
        found = time.perf_counter() - started, time.process_time() - used
    shutil.rmtree(place)
    return found


def run() -> Iterator[Measurement]:
    """Each size and mode by both ways, in turns."""
    with tempfile.TemporaryDirectory(prefix="omnigraph-bench-") as directory:
        home = Path(directory)
        with og.init(home / "template", SCHEMA) as graph:
            graph.load([{"type": "Person", "data": {"name": f"old{n}", "age": n % 90}} for n in range(10_000)])
        for size, mode in product(SIZES, ("append", "merge")):
            data = home / f"{size}.jsonl"
            data.write_bytes(lines(size))
            taken: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
            for turn in range(SIZES[size]):
                for way in sorted(WAYS, reverse=bool(turn % 2)):
                    taken[way].append(measured(home / "template", home / "copy", data, mode, WAYS[way]))
            yield from _compared(f"{mode} {size:,} rows", taken)


def _compared(case: str, taken: dict[str, list[tuple[float, float]]]) -> Iterator[Measurement]:
    at_once = statistics.median(wall for wall, _ in taken["at once"]) * 1_000
    for way, found in taken.items():
        wall, cpu = (statistics.median(kind) * 1_000 for kind in zip(*found, strict=True))
        note = f"{cpu:.1f} ms of processor time"
        if way == "at once":
            yield Measurement("load_paths", f"{case}, {way}", wall, note=note)
        else:
            yield Measurement("load_paths", f"{case}, {way}", wall, "at once", wall / at_once, note)
