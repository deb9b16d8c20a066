"""A fully checked load through Spark against the unchecked floor: one process, pyarrow → lance; and against peers.

`OMNIGRAPH_BENCH_SPARK=1000000,10000000` sets the numbers of nodes and edges; a tenth of them is loaded first, and with
`OMNIGRAPH_BENCH_SPARK_GROWN=10000000,100000000` so many at the end, so that the cost of a row can be compared: in
processor seconds of this process and of everything it started, because wall time is noise on a machine that others use.
"Ready" is a load with everything that it leaves built, and a first query over two hops. The first two sizes are loaded
by the peers as well. What was found goes into `docs/benchmarks.md`.

Every load is made in a process of its own (`bench/spark_one.py`), whose session is started before the clock; that is a
line of its own. So are those of the peers: ladybug and kuzu (which has ended and is in no group of ours:
`uv pip install kuzu`) COPY the same Parquet files, and DuckDB fills two tables with keys. Peak memory is that of a
process and of everything it started, sampled while a load runs; what tasks send to the driver is added up by the load.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.measure import Measurement
from bench.processes import Spent
from bench.report import circumstances, write_section
from bench.spark_data import write_jsonl, write_parquet
from bench.spark_page import Load, Merged, Sitting, section

_SIZES = "OMNIGRAPH_BENCH_SPARK"
_GROWN = "OMNIGRAPH_BENCH_SPARK_GROWN"
_PEER_SECONDS = 120.0


def run(nodes: int = 100_000, edges: int = 1_000_000) -> Iterator[Measurement]:
    """Session start, then size by size: the floor, the load as a ratio of it, ready, merge, JSON lines, peers."""
    if os.environ.get(_SIZES):
        nodes, edges = (int(part) for part in os.environ[_SIZES].split(","))
    before = circumstances()
    sittings: list[Sitting] = []
    with tempfile.TemporaryDirectory(prefix="omnigraph-bench-spark-") as folder:
        place = Path(folder)
        for size, part in (((nodes // 10, edges // 10), "small"), ((nodes, edges), "main"), (_grown(), "grown")):
            if size is None:
                continue
            here = place / part
            here.mkdir()
            sittings.append(_sitting(here, *size, part))
            yield from sittings[-1].measurements()
            shutil.rmtree(here)
    write_section("spark_load", section(sittings, before))


def _grown() -> tuple[int, int] | None:
    given = os.environ.get(_GROWN)
    return (int(given.split(",")[0]), int(given.split(",")[1])) if given else None


def _sitting(place: Path, nodes: int, edges: int, part: str) -> Sitting:
    """Everything that is measured of one size; of the largest only the load and what it leaves built."""
    mapping = write_parquet(place, nodes, edges)
    found = Sitting(nodes, edges)
    if part != "grown":
        found.floor = _spent(_one("floor", place / "floor")["spent"])
        shutil.rmtree(place / "floor")
    load = _one("load", place / "load.omni", {"mapping": mapping})
    found.load, found.started, found.warmed = _load(load), _spent(load["started"]), _spent(load["warmed"])
    if part == "main":
        found.merge = _load(_one("load", place / "load.omni", {"mapping": mapping}, "merge"))
    shutil.rmtree(place / "load.omni")
    ready = _one("ready", place / "ready.omni", {"mapping": mapping})
    found.ready, found.first, found.disk_mb = _load(ready), _spent(ready["first"]), ready["disk_mb"]
    shutil.rmtree(place / "ready.omni")
    if part != "small":
        merged = _one("branch", place / "branch.omni", {"mapping": mapping})
        found.branch = Merged(_spent(merged["merge"]), merged["merge_memory"])
        shutil.rmtree(place / "branch.omni")
    if part != "grown":
        found.peers = {peer: _peer(place, peer) for peer in ("ladybug", "kuzu", "duckdb")}
    if part == "main":
        found.lines = _load(_one("load", place / "lines.omni", {"data": str(write_jsonl(place))}))
    return found


def _one(what: str, root: Path, source: dict[str, Any] | None = None, mode: str = "append") -> dict[str, Any]:
    """What a process of its own has measured."""
    asked = json.dumps({"what": what, "root": str(root), "source": source, "mode": mode})
    command = [sys.executable, "-m", "bench.spark_one", asked]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{what} of {root.name} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _spent(found: dict[str, float]) -> Spent:
    return Spent(**found)


def _load(found: dict[str, Any]) -> Load:
    stages = {name: (seconds, tasks, skew) for name, (seconds, tasks, skew) in found["stages"].items()}
    return Load(_spent(found["spent"]), stages, found["memory"], found["sent"])


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
