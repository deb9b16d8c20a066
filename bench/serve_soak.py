"""A soak of a server: readers, writers and abusers for some minutes, while memory and descriptors are watched.

`python -m bench.serve_soak --seconds 600` (`make soak-server`). Every writer counts up a number of its own, so the
graph stays as large as it is. It fails when an acknowledged write is lost, an answer is 500, or the last third of the
run holds more memory or descriptors than the second by more than is allowed below.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import omnigraph as og
from bench.hammer import hammer, request
from bench.serve import _HEAVY, _build, _serving, _turned

GROWTH, MORE_DESCRIPTORS = 1.05, 40
_READERS, _WRITERS = 6, 2
_BRANCH = "shared"
_COUNT_UP = "query up($name: String) { update Person set { age: age + 1 } where name = $name }"
_BEGIN = "query begin($name: String) { update Person set { age: 0 } where name = $name }"
_COUNTED = [f"p{number}" for number in range(_WRITERS)]  # a person of each writer


def main() -> int:
    """0 when everything stayed flat and nothing was lost."""
    parser = argparse.ArgumentParser(prog="python -m bench.serve_soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    seconds = parser.parse_args().seconds
    place = Path(tempfile.mkdtemp(prefix="omnigraph-soak-"))
    try:
        store = _build(place)
        with og.open(store) as graph:
            for name in _COUNTED:
                graph.mutate(_BEGIN, params={"name": name}, branch=_BRANCH)
        with _serving(place, workers=1) as (address, process):
            found = _soak(address, process, seconds)
        with og.open(store) as graph:
            people = [graph.get("Person", name, branch=_BRANCH) for name in _COUNTED]
        failures = _failures(place / "server.log")
        counted = sum(person["age"] for person in people if person is not None)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(json.dumps({**found, "counted": counted}, indent=2))
    wrong = _wrong(found, counted)
    print("\n".join([*failures, *wrong]) or "every promise held")
    return 1 if wrong else 0


def _soak(address: str, process: int, seconds: float) -> dict[str, object]:
    end = time.monotonic() + seconds
    statuses: Counter[int] = Counter()
    written: Counter[int] = Counter()
    streams = [_turned(number) for number in range(_READERS)]
    writes = [
        [request("/graphs/default/mutate", {"query": _COUNT_UP, "params": {"name": name}, "branch": _BRANCH})]
        for name in _COUNTED
    ]
    abuse = threading.Thread(target=_abuse, args=(address, end))
    abuse.start()

    def going_on() -> bool:
        return time.monotonic() < end

    readers = threading.Thread(target=lambda: statuses.update(hammer(address, streams, going_on).statuses))
    writers = threading.Thread(target=lambda: written.update(hammer(address, writes, going_on).statuses))
    readers.start()
    writers.start()
    memory, descriptors = [], []
    while time.monotonic() < end:
        time.sleep(min(1.0, seconds / 60))
        memory.append(_resident(process))
        descriptors.append(len(os.listdir(f"/proc/{process}/fd")))
    for thread in (abuse, readers, writers):
        thread.join()
    return {
        "seconds": seconds,
        "reads": dict(statuses),
        "writes": dict(written),
        "memory_mib": _thirds([size / (1 << 20) for size in memory]),
        "descriptors": _thirds([float(count) for count in descriptors]),
    }


def _failures(log: Path) -> list[str]:
    """What the server wrote about failures of its own; a 500 says nothing about its cause."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line for line in lines if line.startswith("{") and json.loads(line)["level"] == "error"][:5]


def _abuse(address: str, end: float) -> None:
    """Clients that leave in the middle, say nothing, or ask for what is refused."""
    host, _, port = address.rpartition(":")
    pieces = [
        request("/graphs/default/query", {"query": _HEAVY}),
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        request("/graphs/default/query", {"query": "this is not a query"}),
        request("/graphs/default/export", {}),
        b"\x16\x03\x01",
    ]
    held: list[socket.socket] = []
    while time.monotonic() < end:
        with suppress(OSError):
            connection = socket.create_connection((host, int(port)), timeout=5)
            connection.sendall(random.choice(pieces))
            held.append(connection)
        if len(held) > 20:
            held.pop(random.randrange(len(held))).close()
        time.sleep(0.02)
    for connection in held:
        connection.close()


def _resident(process: int) -> int:
    with open(f"/proc/{process}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _thirds(values: list[float]) -> list[float]:
    """The medians of the three thirds of the run; in the first one caches fill."""
    size = max(1, len(values) // 3)
    return [round(statistics.median(values[start : start + size]), 1) for start in (0, size, 2 * size)]


def _wrong(found: dict[str, object], counted: int) -> list[str]:
    memory, descriptors = found["memory_mib"], found["descriptors"]
    writes, reads = found["writes"], found["reads"]
    assert isinstance(memory, list)
    assert isinstance(descriptors, list)
    assert isinstance(writes, dict)
    assert isinstance(reads, dict)
    wrong = []
    if memory[2] > memory[1] * GROWTH:
        wrong.append(f"memory grew from {memory[1]} to {memory[2]} MiB")
    if descriptors[2] > descriptors[1] + MORE_DESCRIPTORS:
        wrong.append(f"descriptors grew from {descriptors[1]} to {descriptors[2]}")
    if writes.get(200, 0) != counted:
        wrong.append(f"{writes.get(200, 0)} writes were acknowledged and {counted} were counted")
    if any(status >= 500 and status != 503 for status in (*writes, *reads)):
        wrong.append("some answers were 500")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
