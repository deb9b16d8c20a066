"""A fully checked load through Spark against the unchecked floor: one process, pyarrow → lance; and against peers.

`OMNIGRAPH_BENCH_SPARK=1000000,10000000` sets the numbers of nodes and edges; a tenth of them is loaded first, so that
the cost of a row can be compared: in processor seconds of this process and of everything it started, because wall time
is noise on a machine that others use. `OMNIGRAPH_BENCH_SPARK_GROWN=10000000,100000000` loads so many at the end, and
nothing else of that size. "Ready" is a load with everything that it leaves built, and a first query over two hops.

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
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
import pyarrow.parquet as pq

import omnigraph as og
from bench.measure import Measurement
from omnigraph.pipeline.spark.session import spark_session

SCHEMA = """
node Person { handle: String @key  name: String  age: I32?  score: F64?  role: enum(admin, user, guest)? }
edge Knows: Person -> Person { weight: F64? }
"""
_SIZES = "OMNIGRAPH_BENCH_SPARK"
_GROWN = "OMNIGRAPH_BENCH_SPARK_GROWN"
_GROUP_ROWS = 1 << 18
_WRITTEN_ROWS = 1 << 23  # edges that are made at once
_PEER_SECONDS = 120.0
_FIRST = (
    'query q() { match { $a: Person { handle: "p7" }  $a knows $b  $b knows $c } return { count(distinct $c) as n } }'
)


def run(nodes: int = 100_000, edges: int = 1_000_000) -> Iterator[Measurement]:
    """Session start, then each format: the floor, and the load as a ratio of it."""
    if os.environ.get(_SIZES):
        nodes, edges = (int(part) for part in os.environ[_SIZES].split(","))
    place = Path(tempfile.mkdtemp(prefix="omnigraph-bench-spark-"))
    try:
        session, spark = _timed(lambda: spark_session("local[2,4]"))
        yield Measurement("spark_load", "start of a session", session)
        yield Measurement("spark_load", "first job with Python workers", _timed(lambda: _warm(place, spark))[0])
        smaller = _tenth(place, nodes // 10, edges // 10)
        mapping = write_parquet(place, nodes, edges)
        shape = f"{nodes:,} nodes + {edges:,} edges"
        for found in _compared(
            place, f"Parquet, {shape}", lambda out: _floor_parquet(place, out), {"mapping": mapping}
        ):
            yield found
        yield smaller
        yield Measurement(
            "spark_load", "cost of a row, ten times the rows", found.median_ms, "a tenth", _per_row(found, smaller)
        )
        yield from _ready(place, mapping, shape)
        yield from _peers(place, shape)
        yield from _merged(place, mapping, f"merge of the same, {shape}")
        records = write_jsonl(place)
        yield from _compared(place, f"JSONL, {shape}", lambda out: _floor_jsonl(place, out), {"data": str(records)})
        if os.environ.get(_GROWN):
            yield from _grown(place, found, nodes + edges)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def write_parquet(place: Path, nodes: int, edges: int) -> dict[str, Any]:
    """People and who knows whom, with text ids; returns the mapping that loads them."""
    generator = np.random.default_rng(7)
    numbers = np.arange(nodes)
    handles = pc.binary_join_element_wise("p", pa.array(numbers).cast(pa.utf8()), "")
    people = pa.table(
        {
            "handle": handles,
            "name": pc.binary_join_element_wise("Person number", pa.array(numbers).cast(pa.utf8()), " "),
            "age": pa.array(generator.integers(0, 100, nodes), pa.int32()),
            "score": generator.random(nodes),
            "role": pa.array(["admin", "user", "guest"]).take(pa.array(generator.integers(0, 3, nodes))),
        }
    )
    pq.write_table(people, place / "people.parquet", row_group_size=_GROUP_ROWS)
    shape = pa.schema([("a", pa.utf8()), ("b", pa.utf8()), ("weight", pa.float64())])
    with pq.ParquetWriter(place / "knows.parquet", shape) as file:
        for start in range(0, edges, _WRITTEN_ROWS):
            count = min(_WRITTEN_ROWS, edges - start)
            ends = [handles.take(pa.array(generator.integers(0, nodes, count))) for _ in range(2)]
            knows = pa.table([*ends, pa.array(generator.random(count))], schema=shape)
            file.write_table(knows, row_group_size=_GROUP_ROWS)
    return {
        "sources": {
            "people": {"path": str(place / "people.parquet")},
            "knows": {"path": str(place / "knows.parquet")},
        },
        "nodes": {"Person": {"from": "people"}},
        "edges": {"Knows": {"from": "knows", "src": "a", "dst": "b"}},
    }


def write_jsonl(place: Path) -> Path:
    """The same as graph records."""
    path = place / "records.jsonl"
    with path.open("wb") as file:
        for batch in pq.ParquetFile(place / "people.parquet").iter_batches():
            file.writelines(
                b'{"type":"Person","data":{"handle":"%s","name":"%s","age":%d,"score":%r,"role":"%s"}}\n'
                % (r["handle"].encode(), r["name"].encode(), r["age"], r["score"], r["role"].encode())
                for r in batch.to_pylist()
            )
        for batch in pq.ParquetFile(place / "knows.parquet").iter_batches():
            columns = [batch.column(name).to_pylist() for name in ("a", "b", "weight")]
            file.writelines(
                f'{{"edge":"Knows","from":"{a}","to":"{b}","data":{{"weight":{w!r}}}}}\n'.encode()
                for a, b, w in zip(*columns, strict=True)
            )
    return path


def _compared(place: Path, case: str, floor: Callable[[Path], None], source: dict[str, Any]) -> Iterator[Measurement]:
    bare, _ = _timed(lambda: floor(place / "floor"))
    shutil.rmtree(place / "floor")
    graph = og.init(place / f"{case[:4]}.omni", SCHEMA)
    taken, note = _measured(graph, source)
    graph.close()
    yield Measurement("spark_load", f"floor, {case}", bare)
    yield Measurement("spark_load", case, taken, "unchecked floor", taken / bare, note)


def _ready(place: Path, mapping: dict[str, Any], shape: str) -> Iterator[Measurement]:
    """Until the first fast query has its answer, in a graph that was empty."""
    graph = og.init(place / "ready.omni", SCHEMA)
    taken, note = _measured(graph, {"mapping": mapping}, no_build=False)
    first, _ = _timed(lambda: graph.query(_FIRST).rows())
    again, _ = _timed(lambda: graph.query(_FIRST).rows())
    graph.close()
    shutil.rmtree(place / "ready.omni")
    yield Measurement("spark_load", f"ready, {shape}", taken + first, note=note)
    yield Measurement("spark_load", "of that the first query", first, "the same again", first / again)


def _grown(place: Path, fewer: Measurement, rows: int) -> Iterator[Measurement]:
    """The load of many more rows, compared by the cost of a row."""
    for left in place.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    nodes, edges = (int(part) for part in os.environ[_GROWN].split(","))
    mapping = write_parquet(place, nodes, edges)
    graph = og.init(place / "grown.omni", SCHEMA)
    taken, note = _measured(graph, {"mapping": mapping})
    graph.close()
    found = Measurement("spark_load", f"Parquet, {nodes:,} nodes + {edges:,} edges", taken, note=note)
    yield found
    times = (nodes + edges) / rows
    yield Measurement(
        "spark_load", f"cost of a row, {times:.0f} times the rows", taken, "fewer", _per_row(found, fewer, times)
    )


def _measured(graph: Any, source: dict[str, Any], *, no_build: bool = True, **options: Any) -> tuple[float, str]:
    """A load with its stages, processor time, memory, and what came to the driver."""
    before = _cpu_seconds()
    with _Memory() as memory:
        taken, done = _timed(lambda: graph.load(**source, runner="spark", no_build=no_build, **options))
    spent = _cpu_seconds() - before
    assert done.runner == "spark", done
    stages = ", ".join(
        f"{stage.name} {stage.seconds:.1f} s"
        + (f" ({stage.tasks} tasks {stage.task_seconds:.1f} s, skew {stage.skew:.1f})" if stage.skew else "")
        for stage in done.profile.stages
    )
    sent = sum(stage.answer_bytes for stage in done.profile.stages)
    return taken, f"cpu {spent:.1f} s; {stages}; {memory}; {sent:,} bytes to the driver"


def _per_row(many: Measurement, few: Measurement, times: float = 10) -> float:
    """Processor seconds of a row among so many times as many rows."""
    spent = [float(found.note.split("cpu ")[1].split(" ")[0]) for found in (many, few)]
    return spent[0] / times / spent[1]


def _cpu_seconds() -> float:
    """What this process and everything it started has used so far; Linux only."""
    ticks = 0
    for process in (os.getpid(), *_descendants(os.getpid())):
        with suppress(OSError):
            ticks += sum(map(int, Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _tenth(place: Path, nodes: int, edges: int) -> Measurement:
    """The load of a tenth of the rows, from files of its own."""
    apart = place / "tenth"
    apart.mkdir()
    mapping = write_parquet(apart, nodes, edges)
    graph = og.init(apart / "g.omni", SCHEMA)
    taken, note = _measured(graph, {"mapping": mapping})
    graph.close()
    shutil.rmtree(apart)
    return Measurement("spark_load", f"Parquet, {nodes:,} nodes + {edges:,} edges", taken, note=note)


def _peers(place: Path, shape: str) -> Iterator[Measurement]:
    """COPY of the same files by other graph databases; one that fails is left out with its reason."""
    for peer in ("ladybug", "kuzu", "duckdb"):
        command = [sys.executable, "-m", "bench.copy_peer", peer, str(place)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PEER_SECONDS)
        except subprocess.TimeoutExpired:
            yield Measurement("spark_load", f"{peer} COPY, {shape}", _PEER_SECONDS * 1_000, note="stopped")
            continue
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
            yield Measurement("spark_load", f"{peer} COPY, {shape}", 0.0, note=reason[:120])
            continue
        told = json.loads(done.stdout)
        note = f"cpu {told['processor']:.1f} s; peak {told['peak_mib']} MiB"
        yield Measurement("spark_load", f"{peer} COPY, {shape}", told["seconds"] * 1_000, note=note)


class _Memory:
    """The largest resident memory of this process, of the JVM and of the Python workers, sampled; Linux only."""

    def __enter__(self) -> _Memory:
        self.peak = {"driver": 0, "JVM": 0, "workers": 0}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def __str__(self) -> str:
        return "peak " + ", ".join(f"{name} {kib // 1024} MiB" for name, kib in self.peak.items())

    def _watch(self) -> None:
        while not self._over.wait(0.2):
            seen = {"driver": _resident(os.getpid()), "JVM": 0, "workers": 0}
            for process in _descendants(os.getpid()):
                name = Path(f"/proc/{process}/comm")
                with suppress(OSError):
                    seen["JVM" if name.read_text().strip() == "java" else "workers"] += _resident(process)
            self.peak = {name: max(self.peak[name], kib) for name, kib in seen.items()}


def _resident(process: int) -> int:
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])
    return 0


def _descendants(process: int) -> Iterator[int]:
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, task.read_text().split()):
                yield child
                yield from _descendants(child)


def _merged(place: Path, mapping: dict[str, Any], case: str) -> Iterator[Measurement]:
    graph = og.open(place / "Parq.omni")
    taken, note = _measured(graph, {"mapping": mapping}, mode="merge")
    ready, _ = _timed(graph.ensure_indices)
    graph.close()
    yield Measurement("spark_load", case, taken, note=note)
    yield Measurement("spark_load", "indexes, keys and topology after that", ready)


def _floor_parquet(place: Path, out: Path) -> None:
    for name in ("people", "knows"):
        lance.write_dataset(pq.read_table(place / f"{name}.parquet"), str(out / name), data_storage_version="2.2")


def _floor_jsonl(place: Path, out: Path) -> None:
    reader = pj.open_json(place / "records.jsonl", pj.ReadOptions(block_size=16 << 20), _record_options())
    lance.write_dataset(reader, str(out / "records"), schema=reader.schema, data_storage_version="2.2")


def _record_options() -> pj.ParseOptions:
    data = {"handle": pa.utf8(), "name": pa.utf8(), "age": pa.int32(), "score": pa.float64(), "role": pa.utf8()}
    text = [(name, pa.utf8()) for name in ("type", "edge", "from", "to")]
    shape = pa.struct([*data.items(), ("weight", pa.float64())])
    return pj.ParseOptions(explicit_schema=pa.schema([*text, ("data", shape)]))


def _warm(place: Path, spark: Any) -> None:
    graph = og.init(place / "warm.omni", SCHEMA)
    graph.load('{"type":"Person","data":{"handle":"a","name":"A"}}', runner="spark", spark=spark)
    graph.close()


def _timed(action: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    value = action()
    return (time.perf_counter() - begin) * 1_000, value
