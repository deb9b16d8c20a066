"""A fully checked load through Spark against the unchecked floor: one process, pyarrow → lance; and against peers.

`OMNIGRAPH_BENCH_SPARK=1000000,10000000` sets the numbers of nodes and edges; a tenth of them is loaded first, and with
`OMNIGRAPH_BENCH_SPARK_GROWN=10000000,100000000` so many at the end, so that the cost of a row can be compared: in
processor seconds of this process and of everything it started, because wall time is noise on a machine that others use.
"Ready" is a load with everything that it leaves built, and a first query over two hops. The first two sizes are loaded
by the peers as well. What was found goes into `docs/benchmarks.md`.

The session is started before the clock and its start is a line of its own. Ladybug and kuzu (which has ended and is in
no group of ours: `uv pip install kuzu`) COPY the same Parquet files and DuckDB fills two tables with keys, each in a
process of its own. Peak memory is that of this process and of everything it started, sampled while a load runs; what
tasks send to the driver is added up by the load itself.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lance
import pyarrow.parquet as pq

import omnigraph as og
from bench.measure import Measurement
from bench.processes import TreeMemory, cpu_seconds
from bench.report import circumstances, write_section
from bench.spark_data import SCHEMA, write_jsonl, write_parquet
from bench.spark_page import Load, Sitting, Spent, section
from omnigraph.pipeline.spark.session import spark_session

_SIZES = "OMNIGRAPH_BENCH_SPARK"
_GROWN = "OMNIGRAPH_BENCH_SPARK_GROWN"
_PEER_SECONDS = 120.0
_FIRST = (
    'query q() { match { $a: Person { handle: "p7" }  $a knows $b  $b knows $c } return { count(distinct $c) as n } }'
)


def run(nodes: int = 100_000, edges: int = 1_000_000) -> Iterator[Measurement]:
    """Session start, then size by size: the floor, the load as a ratio of it, ready, merge, JSON lines, peers."""
    if os.environ.get(_SIZES):
        nodes, edges = (int(part) for part in os.environ[_SIZES].split(","))
    before = circumstances()
    sittings: list[Sitting] = []
    with tempfile.TemporaryDirectory(prefix="omnigraph-bench-spark-") as folder:
        place = Path(folder)
        start, spark = timed(lambda: spark_session("local[2,4]"))
        yield Measurement("spark_load", "start of a session", start.seconds * 1_000)
        warm, _ = timed(lambda: _warm(place, spark))
        yield Measurement("spark_load", "first job with Python workers", warm.seconds * 1_000)
        for size, part in (((nodes // 10, edges // 10), "small"), ((nodes, edges), "main"), (_grown(), "grown")):
            if size is None:
                continue
            here = place / part
            here.mkdir()
            sittings.append(_sitting(here, *size, part))
            yield from sittings[-1].measurements()
            shutil.rmtree(here)
    write_section("spark_load", section(sittings, before, start.seconds))


def _grown() -> tuple[int, int] | None:
    given = os.environ.get(_GROWN)
    return (int(given.split(",")[0]), int(given.split(",")[1])) if given else None


def _sitting(place: Path, nodes: int, edges: int, part: str) -> Sitting:
    """Everything that is measured of one size; of the largest only the load and what it leaves built."""
    mapping = write_parquet(place, nodes, edges)
    found = Sitting(nodes, edges)
    if part != "grown":
        found.floor, _ = timed(lambda: _floor(place, place / "floor"))
        shutil.rmtree(place / "floor")
    found.load = _loaded(place / "load.omni", {"mapping": mapping})
    if part == "main":
        found.merge = _loaded(place / "load.omni", {"mapping": mapping}, mode="merge")
    shutil.rmtree(place / "load.omni")
    found.ready, found.first, found.disk_mb = _ready(place / "ready.omni", mapping)
    if part != "grown":
        found.peers = {peer: _peer(place, peer) for peer in ("ladybug", "kuzu", "duckdb")}
    if part == "main":
        found.lines = _loaded(place / "lines.omni", {"data": str(write_jsonl(place))})
    return found


def _ready(root: Path, mapping: dict[str, Any]) -> tuple[Load, Spent, float]:
    """Until the first fast query has its answer, in a graph that was empty."""
    found = _loaded(root, {"mapping": mapping}, no_build=False)
    with og.open(root) as graph:
        first, _ = timed(lambda: graph.query(_FIRST).rows())
    disk = sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) / 1e6
    shutil.rmtree(root)
    return found, first, disk


def _loaded(root: Path, source: dict[str, Any], *, no_build: bool = True, **options: Any) -> Load:
    """A load with its stages, processor time, memory, and what came to the driver."""
    with og.open(root) if root.exists() else og.init(root, SCHEMA) as graph, TreeMemory() as memory:
        spent, done = timed(lambda: graph.load(**source, runner="spark", no_build=no_build, **options))
    assert done.runner == "spark", done
    stages = {stage.name: (stage.seconds, stage.tasks, stage.skew) for stage in done.profile.stages}
    return Load(spent, stages, memory.peak, sum(stage.answer_bytes for stage in done.profile.stages))


def _peer(place: Path, peer: str) -> Spent | str:
    """`COPY` of the same files by another database; in words why there is no time."""
    command = [sys.executable, "-m", "bench.copy_peer", peer, str(place)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PEER_SECONDS)
    except subprocess.TimeoutExpired:
        return f"not in {_PEER_SECONDS:.0f} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1][:80]
    told = json.loads(done.stdout)
    return Spent(told["seconds"], told["processor"])


def _floor(place: Path, out: Path) -> None:
    for name in ("people", "knows"):
        lance.write_dataset(pq.read_table(place / f"{name}.parquet"), str(out / name), data_storage_version="2.2")


def _warm(place: Path, spark: Any) -> None:
    graph = og.init(place / "warm.omni", SCHEMA)
    graph.load('{"type":"Person","data":{"handle":"a","name":"A"}}', runner="spark", spark=spark)
    graph.close()


def timed(action: Callable[[], Any]) -> tuple[Spent, Any]:
    """Time and processor time of this process and of everything that it has started."""
    begin, before = time.perf_counter(), cpu_seconds()
    value = action()
    return Spent(time.perf_counter() - begin, cpu_seconds() - before), value
