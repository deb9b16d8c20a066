"""A second process on a graph in a bucket beside one on the same graph on a disk: two hops and a text search.

The server is SeaweedFS on this machine. Each process opens the graph and asks each question once (cold), then others
like it (warm). An earlier process on the same machine has asked before, so its cache has what they need.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import omnigraph as og
from bench.copies import load_social
from bench.measure import Measurement
from bench.social import chosen_size, seeds
from omnigraph.testing.services.s3server import running_s3

TWO_HOP = """query q($p: String) {
  match { $a: Person { handle: $p } $a knows $b $b knows $c } return { $c.name, $c.age } order { $c.name } limit 20
}"""
TEXT = "query q($p: String) { match { $a: Person } return { $a.handle } order { bm25($a.name, $p) desc } limit 10 }"
_ROUNDS = 5
_WARM = 40


def run() -> Iterator[Measurement]:
    """Warm both places up, then start processes at either in turns."""
    size = chosen_size()
    with tempfile.TemporaryDirectory(prefix="bench-remote-") as home, running_s3() as server:
        environment = os.environ | server.environment | {"OMNIGRAPH_CACHE_DIR": f"{home}/cache"}
        os.environ.update(server.environment)
        places = {"disk": f"{home}/graph.omni", "bucket": server.fresh_root().uri}
        load_social(Path(places["disk"]), size)
        with og.open(places["disk"]) as graph:
            graph.optimize()
        og.clone(places["disk"], places["bucket"])
        asked = json.dumps(seeds(size)[: _WARM + 1])
        for place in places.values():
            for _ in range(2):
                _process(place, asked, environment)
        found = [{name: _process(place, asked, environment) for name, place in places.items()} for _ in range(_ROUNDS)]
    for case in found[0]["disk"]:
        disk, bucket = (statistics.median(each[name][case] for each in found) for name in ("disk", "bucket"))
        yield Measurement("remote", case, bucket, "disk", bucket / disk, f"{disk:.2f} ms on the disk")


def _process(place: str, asked: str, environment: dict[str, str]) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.remote", place, asked]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    times: dict[str, float] = json.loads(done.stdout)
    return times


def _child(place: str, asked: list[str]) -> dict[str, float]:
    started = time.perf_counter()
    graph = og.open(place, read_only=True)
    times = {"opened": time.perf_counter() - started}
    questions = {"two hops": (TWO_HOP, asked), "text": (TEXT, [f"Person {number}" for number in range(len(asked))])}
    for name, (text, values) in questions.items():
        taken = []
        for value in values:
            begin = time.perf_counter()
            graph.query(text, params={"p": value}).rows()
            taken.append(time.perf_counter() - begin)
        times[f"{name}, first in a process"] = taken[0]
        times[f"{name}, after that"] = statistics.median(taken[1:])
    return {name: seconds * 1e3 for name, seconds in times.items()}


if __name__ == "__main__":
    print(json.dumps(_child(sys.argv[1], json.loads(sys.argv[2]))))
