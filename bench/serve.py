"""The server under load on loopback: a stored two-hop read beside `/healthz`, writers, and what runs next to it.

`OMNIGRAPH_BENCH_SERVE_SECONDS` is the length of one case (2). Any answer of 500 or above fails the run.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa

import omnigraph as og
from bench.hammer import Answers, for_seconds, hammer, request
from bench.measure import Measurement

PEOPLE, FRIENDS, BRANCHES = 20_000, 10, 8
WRITERS, _TURNS = 8, 3
CONNECTIONS = (1, 8, 64)
SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person
"""
QUERIES = """
query two_hop($name: String) {
  match { $p: Person { name: $name }  $p knows $f  $f knows $g }
  return { count(distinct $g) as n }
}
"""
PUT = "query put($name: String, $age: I32) { insert Person { name: $name, age: $age } }"
COUNT = "query total() { match { $p: Person } return { count($p) as n } }"
_LOADED = 2_000
_HEAVY = "query big() { match { $p: Person  $p knows $f  $f knows $g  $g knows $h } return { count($h) as n } }"
_GRAPH = "/graphs/default"
_HEALTH = [request("/healthz")]
_READS = [request(f"{_GRAPH}/queries/two_hop", {"params": {"name": f"p{at * 97}"}}) for at in range(200)]


def run() -> Iterator[Measurement]:
    """Every case on one graph; the graph is thrown away."""
    place = Path(tempfile.mkdtemp(prefix="omnigraph-bench-"))
    seconds = float(os.environ.get("OMNIGRAPH_BENCH_SERVE_SECONDS", "2"))
    try:
        store = _build(place)
        yield from _workers(place, seconds)  # before anything is written: the graph is the same for all
        with _serving(place, workers=1) as (address, pid):
            yield from _reads(address, seconds, "1 worker")
            yield from _writes(address, seconds)
            yield from _fairness(address, seconds * 2)
            yield from _writers(store, address, seconds * 2)
            yield from _one_branch(address, pid, seconds * 2)
            yield from _beside(place, address, seconds * 2)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _build(place: Path) -> Path:
    store, generator = place / "people.omni", np.random.default_rng(5)
    (place / "queries.gq").write_text(QUERIES, encoding="utf-8")
    names = [f"p{at}" for at in range(PEOPLE)]
    ends = generator.integers(0, PEOPLE, (2, PEOPLE * FRIENDS))
    with og.init(store, SCHEMA) as graph:
        graph.load(pa.table({"name": names}), type="Person", runner="inline")
        pairs = {end: pa.array(names).take(pa.array(of)) for end, of in zip(("from", "to"), ends, strict=True)}
        graph.load(pa.table(pairs), edge="Knows", runner="inline")
        graph.ensure_indices()
        for number in range(BRANCHES):
            graph.branches.create(f"w{number}")
        graph.branches.create("shared")
    return store


@contextmanager
def _serving(place: Path, *, workers: int) -> Iterator[tuple[str, int]]:
    """A server process: its address and its id."""
    options = ["--store", str(place / "people.omni"), "--queries", str(place / "queries.gq"), "--unauthenticated"]
    command = [sys.executable, "-m", "omnigraph.cli", "serve", *options, "--bind", "127.0.0.1:0"]
    with open(place / "server.log", "a", encoding="utf-8") as log:
        server = subprocess.Popen([*command, "--workers", str(workers)], stdout=subprocess.PIPE, stderr=log, text=True)
        assert server.stdout is not None
        try:
            listening = next((line for line in server.stdout if line.startswith("OMNIGRAPH_LISTEN_ADDR=")), None)
            if listening is None:
                raise RuntimeError(f"the server did not start: {(place / 'server.log').read_text()[-2000:]}")
            yield listening.strip().partition("=")[2], server.pid
        finally:
            server.terminate()
            server.wait(60)


def _reads(address: str, seconds: float, what: str) -> Iterator[Measurement]:
    """Reads per second as a share of what the same server manages without any work."""
    _measured(address, [_READS] * 8, for_seconds(seconds / 2))  # the first reads open tables and map the topology
    for connections in CONNECTIONS:
        idle = _measured(address, [_HEALTH] * connections, for_seconds(seconds / 2))
        read = _measured(address, [_turned(number) for number in range(connections)], for_seconds(seconds))
        share = read.per_second / idle.per_second
        yield Measurement(
            "serve",
            f"two-hop, {connections} connections, {what}",
            read.percentile(50),
            "rate of /healthz",
            share,
            f"{read.note()}; healthz {idle.per_second:.0f}/s",
        )


def _workers(place: Path, seconds: float) -> Iterator[Measurement]:
    """Reads with one worker and with two, by turns; the generator of the load needs a processor as well."""
    rates: dict[tuple[int, int], list[float]] = {}
    busy: dict[tuple[int, int], list[float]] = {}
    for _ in range(_TURNS):
        for workers in (1, 2):
            with _serving(place, workers=workers) as (address, pid):
                _measured(address, [_turned(number) for number in range(16)], for_seconds(seconds / 2))
                for connections in CONNECTIONS:
                    before = _processor_seconds(pid)
                    read = _measured(address, [_turned(each) for each in range(connections)], for_seconds(seconds / 2))
                    used = _processor_seconds(pid) - before
                    rates.setdefault((connections, workers), []).append(read.per_second)
                    busy.setdefault((connections, workers), []).append(used / len(read.times) * 1_000)
    for connections in CONNECTIONS:
        one, two = (statistics.median(rates[connections, workers]) for workers in (1, 2))
        spent = [statistics.median(busy[connections, workers]) for workers in (1, 2)]
        note = f"{two:.0f}/s, one worker {one:.0f}/s; {spent[1]:.2f} and {spent[0]:.2f} ms of processor time a read"
        case = f"two-hop, {connections} connections, 2 workers"
        yield Measurement("serve", case, 1_000 / two, "rate of one worker", two / one, note)


def _writes(address: str, seconds: float) -> Iterator[Measurement]:
    """One-row mutations of one branch by some clients, as a share of what the server manages without any work."""
    names = count(10_000_000)
    for clients in CONNECTIONS:
        idle = _measured(address, [_HEALTH] * clients, for_seconds(seconds / 2))
        streams = [[_put("shared", next(names)) for _ in range(500)] for _ in range(clients)]
        found = hammer(address, streams, for_seconds(seconds))
        share = found.statuses[200] / found.seconds / idle.per_second
        note = f"{found.note()}; healthz {idle.per_second:.0f}/s"
        case = f"one-row mutations, {clients} connections"
        yield Measurement("serve", case, found.percentile(50), "rate of /healthz", share, note)


def _fairness(address: str, seconds: float) -> Iterator[Measurement]:
    """The tail of a light reader beside a heavy one at another address, and of probes; alone and beside, by turns."""
    heavy = request(f"{_GRAPH}/query", {"query": _HEAVY, "params": {}})
    light = [_turned(0)]
    alone: list[float] = []
    beside: list[float] = []
    probes: list[float] = []
    for _ in range(_TURNS):
        alone += _measured(address, light, for_seconds(seconds / 2)).times
        with _running(lambda: hammer(address, [[heavy]] * 16, for_seconds(seconds), source="127.0.0.2")) as still:
            enough = for_seconds(seconds / 2)
            beside += _measured(address, light, lambda enough=enough: still() and enough()).times
            enough = for_seconds(seconds / 4)
            probes += _measured(address, [_HEALTH], lambda enough=enough: still() and enough()).times
    p99 = [sorted(times)[int(len(times) * 0.99)] for times in (alone, beside, probes)]
    medians = [statistics.median(times) for times in (alone, beside, probes)]
    note = f"p99 {p99[1]:.1f} ms, alone {p99[0]:.1f} ms; medians {medians[1]:.1f} and {medians[0]:.1f} ms"
    yield Measurement(
        "serve", "two-hop beside 16 three-hop counts of another", medians[1], "p99 alone", p99[1] / p99[0], note
    )
    note = f"p99 {p99[2]:.1f} ms, longest {max(probes):.1f} ms of {len(probes)}"
    yield Measurement("serve", "healthz beside 16 three-hop counts", medians[2], note=note)


def _writers(store: Path, address: str, seconds: float) -> Iterator[Measurement]:
    """One writer per branch; afterwards every acknowledged row is there."""
    streams = [[_put(f"w{number}", at) for at in range(2_000)] for number in range(BRANCHES)]
    found = _measured(address, streams, for_seconds(seconds))
    with og.open(store) as graph:
        counts = [int(graph.query(COUNT, branch=f"w{number}").scalar()) for number in range(BRANCHES)]
    rows = sum(counts) - BRANCHES * PEOPLE
    if rows != found.statuses[200]:
        raise RuntimeError(f"{found.statuses[200]} writes were acknowledged and {rows} rows are there")
    yield Measurement("serve", f"one-row mutations on {BRANCHES} branches", found.percentile(50), note=found.note())


def _one_branch(address: str, pid: int, seconds: float) -> Iterator[Measurement]:
    """Writers of one branch: many against one, by turns; and the same rows as lines of one batch."""
    rates: dict[int, list[float]] = {1: [], WRITERS: []}
    busy: dict[int, list[float]] = {1: [], WRITERS: []}
    names = count()
    for _ in range(_TURNS):
        for clients, found in rates.items():
            streams = [[_put("shared", next(names)) for _ in range(500)] for _ in range(clients)]
            before = _processor_seconds(pid)
            done = _written(address, streams, for_seconds(seconds / 2))
            found.append(done.per_second)
            busy[clients].append((_processor_seconds(pid) - before) / done.statuses[200] * 1_000)
    one, many = (statistics.median(found) for found in rates.values())
    ratios = ", ".join(f"{more / less:.1f}" for less, more in zip(*rates.values(), strict=True))
    alone, shared = (statistics.median(found) for found in busy.values())
    note = (
        f"{many:.0f}/s, one client {one:.0f}/s (by turns {ratios}); {shared:.1f} and {alone:.1f} ms of processor time"
    )
    case = f"one-row mutations on one branch, {WRITERS} clients"
    yield Measurement("serve", case, 1_000 / many, "rate of one client", many / one, note)
    lines = "".join(
        json.dumps({"query": PUT, "params": {"name": f"b{number}", "age": 1}}) + "\n" for number in range(_LOADED)
    )
    batch = request(f"{_GRAPH}/mutate/ndjson?branch=shared", lines.encode(), "application/x-ndjson")
    found = _written(address, [[batch]], for_seconds(seconds))
    rate = found.per_second * _LOADED
    note = f"{rate:,.0f} mutations a second; {found.note()}"
    yield Measurement("serve", f"{_LOADED} mutations a batch", found.percentile(50), "one by one", rate / one, note)


def _processor_seconds(pid: int) -> float:
    """What a process, its threads and its workers have used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    workers = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(_processor_seconds(int(each)) for each in workers)


def _beside(place: Path, address: str, seconds: float) -> Iterator[Measurement]:
    """The tail of a read when something large happens next to it."""
    streams = [_turned(number) for number in range(8)]
    _measured(address, streams, for_seconds(seconds / 2))
    alone = _measured(address, streams, for_seconds(seconds))
    yield Measurement("serve", "two-hop beside nothing", alone.percentile(50), note=alone.note())
    for what, task in _tasks(place, address).items():
        with _running(task) as still:
            enough = for_seconds(seconds)
            busy = _measured(address, streams, lambda still=still, enough=enough: still() or enough())
        ratio = busy.percentile(99) / alone.percentile(99)
        yield Measurement("serve", f"two-hop beside {what}", busy.percentile(50), "p99 alone", ratio, busy.note())


def _tasks(place: Path, address: str) -> dict[str, Callable[[], object]]:
    store = str(place / "people.omni")
    batch = _records(place / "batch.jsonl", _LOADED)
    load = request(f"{_GRAPH}/load/ndjson?mode=merge", batch.read_bytes(), "application/x-ndjson")
    tasks: dict[str, Callable[[], object]] = {
        f"loads of {_LOADED} records": lambda: _measured(address, [[load]], for_seconds(2)),
        "optimize": lambda: _command("optimize", "--store", store),
    }
    if find_spec("pyspark") is not None:
        spark = ("load", "--store", store, "--data", str(batch), "--mode", "merge", "--runner", "spark")
        tasks["a Spark load"] = lambda: _command(*spark)
    return tasks


@contextmanager
def _running(task: Callable[[], object]) -> Iterator[Callable[[], bool]]:
    """Run a task in a thread; the block gets to know whether it still runs, and its failure is ours."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            task()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield thread.is_alive
    finally:
        thread.join()
    if failed:
        raise failed[0]


def _command(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "omnigraph.cli", *arguments, "--yes"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{arguments[0]} ended with {done.returncode}: {done.stderr[-2000:]}")


def _measured(address: str, streams: list[list[bytes]], going_on: Callable[[], bool]) -> Answers:
    found = hammer(address, streams, going_on)
    if found.failures:
        raise RuntimeError(f"the server failed: {dict(found.statuses)}")
    return found


def _written(address: str, streams: list[list[bytes]], going_on: Callable[[], bool]) -> Answers:
    """The same for writes that must all have been done."""
    found = _measured(address, streams, going_on)
    if set(found.statuses) != {200}:
        raise RuntimeError(f"writes were refused: {dict(found.statuses)}")
    return found


def _turned(number: int) -> list[bytes]:
    """The reads, begun at another place for each connection."""
    at = number * 7 % len(_READS)
    return _READS[at:] + _READS[:at]


def _put(branch: str, number: int) -> bytes:
    params = {"name": f"{branch}-{number}", "age": number % 90}
    return request(f"{_GRAPH}/mutate", {"query": PUT, "params": params, "branch": branch})


def _records(path: Path, count: int) -> Path:
    lines = (json.dumps({"type": "Person", "data": {"name": f"p{at}", "age": at % 90}}) for at in range(count))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
