"""Search on texts with vectors beside LanceDB, DuckDB, kuzu and tantivy, each in a process of its own.

`OMNIGRAPH_BENCH_SEARCH=1000000,256` says how many rows and dimensions there are, `OMNIGRAPH_BENCH_SEARCH_ENGINES` which
engines are asked, and `OMNIGRAPH_BENCH_SEARCH_SECONDS` how long loading, each index and the questions of one kind may
take. An engine that is not done by then keeps what it answered before, and is measured again with fewer rows, as many
as `OMNIGRAPH_BENCH_SEARCH_FEWER` says, with ours beside it. `OMNIGRAPH_BENCH_SEARCH_PYTHON` is an interpreter for those
that cannot be installed beside us: the extensions of DuckDB are published for an older release, and kuzu is archived.
`make bench-search` sets all of that up and writes what is found into `docs/benchmarks.md`.

Vectors are drawn around a thousand centres, as embeddings lie. Recall is measured against exact distances in double
precision. Rows behind a hop are those of one of a thousand topics; engines without hops filter by a column.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

from bench.measure import Measurement
from bench.report import circumstances, write_section
from bench.search_data import write_data
from bench.search_page import page

COUNT, DIM = (int(number) for number in os.environ.get("OMNIGRAPH_BENCH_SEARCH", "100000,128").split(","))
# With so many rows an engine is measured that did not finish more.
_FEWER = os.environ.get("OMNIGRAPH_BENCH_SEARCH_FEWER", "100000,20000,5000")
FEWER = tuple(count for count in map(int, _FEWER.split(",")) if count < COUNT)
OURS = "omnigraph"
_OWN_INTERPRETER = (OURS, "lancedb")
_SECONDS = float(os.environ.get("OMNIGRAPH_BENCH_SEARCH_SECONDS", "900"))


def run() -> Iterator[Measurement]:
    """All engines on the same data; times of omnigraph as a ratio to those of each."""
    names = os.environ.get("OMNIGRAPH_BENCH_SEARCH_ENGINES", "omnigraph,lancedb").split(",")
    began = circumstances()
    with tempfile.TemporaryDirectory(prefix="omnigraph-bench-") as folder:
        folders = {count: Path(folder) / str(count) for count in (COUNT, *FEWER)}
        begin = time.perf_counter()
        write_data(folders, DIM)
        print(f"data: {time.perf_counter() - begin:.0f} s", file=sys.stderr)
        sittings = _sittings(names, folders)
    for count, found in sittings.items():
        yield from _measurements(count, found)
    if os.environ.get("OMNIGRAPH_BENCH_SEARCH_PAGE"):
        write_section("search", page(sittings, DIM, _SECONDS, began))


def _sittings(names: list[str], folders: dict[int, Path]) -> dict[int, dict[str, Any]]:
    """By number of rows, what was found about each engine; fewer rows for those only that did not finish more."""
    sittings: dict[int, dict[str, Any]] = {}
    wanted = names
    for count, folder in folders.items():
        if not wanted:
            break
        sittings[count] = {name: _in_a_process(name, folder) for name in wanted}
        late = [name for name in wanted if "late" in sittings[count][name]]
        wanted = [OURS, *late] if late and late != [OURS] else []
    return sittings


def _in_a_process(name: str, folder: Path) -> dict[str, Any]:
    """What an engine tells until it is done, fails, or one of its phases takes too long."""
    other = os.environ.get("OMNIGRAPH_BENCH_SEARCH_PYTHON")
    interpreter = other if other and name not in _OWN_INTERPRETER else sys.executable
    found: dict[str, Any] = {"ms": {}, "recall": {}}
    with subprocess.Popen(
        [interpreter, "-m", "bench.search_one", name, str(folder), str(DIM)],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "RUST_LOG": "error"},
    ) as child:  # fmt: skip
        try:
            _follow(child, f"{name}, {folder.name}", found)
        finally:
            child.kill()
    return found


def _follow(child: subprocess.Popen[str], title: str, found: dict[str, Any]) -> None:
    lines: Queue[str] = Queue()
    Thread(target=_read, args=(child, lines), daemon=True).start()
    while True:
        line: str | None
        try:
            line = lines.get(timeout=_SECONDS)
        except Empty:
            line = None
        print(f"{title}: {'too late' if line is None else line.strip() or 'failed'}", file=sys.stderr)
        told = json.loads(line) if line else {}
        if not told:
            found["late"] = {"after": found.get("phase", "the start"), "failed": line is not None}
            return
        if told["phase"] == "done":
            return
        found["ms"] |= told.pop("ms", {})
        found["recall"] |= told.pop("recall", {})
        found |= told


def _read(child: subprocess.Popen[str], lines: Queue[str]) -> None:
    assert child.stdout is not None
    for line in child.stdout:
        lines.put(line)
    lines.put("")  # it ended


def _measurements(count: int, sitting: dict[str, Any]) -> Iterator[Measurement]:
    ours = sitting.get(OURS, {"ms": {}})
    for name, values in sitting.items():
        for case, taken in values["ms"].items():
            beside = ("", None) if name == OURS or case not in ours["ms"] else (name, ours["ms"][case] / taken)
            yield Measurement("search", f"{name}, {count} rows: {case}", taken, *beside)
        recalls = ", ".join(f"{case} {recall:.3f}" for case, recall in values["recall"].items())
        note = f"recall@10 {recalls or '-'}; peak memory {values.get('MB', 0):.0f} MB"
        yield Measurement("search", f"{name}, {count} rows: recall and memory", 0.0, note=note)
