"""What a commit costs beside the bare Lance operations it stands on, and a batch of mutations beside single ones.

Both sides of a comparison take turns within one run, so that what else the machine does weighs on both.
`OMNIGRAPH_BENCH_FLOOR=200` is the number of rounds (100).
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import lance
import pyarrow as pa

import omnigraph as og
from bench.measure import Measurement
from omnigraph.storage.manifest.rows import MANIFEST_SCHEMA

SCHEMA = """
node Person { name: String @key  age: I64? }
node Note { text: String }
"""
QUERIES = """
query note($text: String) { insert Note { text: $text } }
query put($name: String, $age: I64) { insert Person { name: $name, age: $age } }
query set_age($name: String, $age: I64) { update Person set { age: $age } where name = $name }
query drop($name: String) { delete Person where name = $name }
"""
BATCH = 5_000
_WARM = 10
# As often as a graph folds what its own commits leave, so that neither side has more files to look at.
_FOLD = 24


def run() -> Iterator[Measurement]:
    """The floor, then batches; everything is thrown away."""
    place = Path(tempfile.mkdtemp(prefix="omnigraph-bench-"))
    rounds = int(os.environ.get("OMNIGRAPH_BENCH_FLOOR", "100"))
    try:
        # Lance does not wait for the disk, so neither does the graph that is compared with it first.
        with og.init(place / "graph.omni", SCHEMA, settings=og.Settings(sync=False)) as graph:
            yield from floor(graph, _Bare(place / "bare"), rounds)
            with og.init(place / "synced.omni", SCHEMA, settings=og.Settings(sync=True)) as synced:
                yield from floor(synced, _Bare(place / "durable", durable=True), rounds, ", both on the disk")
                yield from waiting(synced, graph, rounds)
            yield from batches(graph, rounds // 4)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def floor(graph: og.Graph, bare: _Bare, rounds: int, how: str = "") -> Iterator[Measurement]:
    """A one-row insert, and an append with one conditional insert into a manifest, by turns."""
    sides: dict[str, Callable[[], object]] = {
        "bare": bare.commit,
        "graph": lambda: graph.mutate(QUERIES, "note", {"text": "x"}),
    }
    wall: dict[str, list[float]] = {name: [] for name in sides}
    processor: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + _WARM):
        for name, work in sides.items():
            started, used = time.perf_counter(), time.process_time()
            work()
            if number >= _WARM:
                wall[name].append((time.perf_counter() - started) * 1_000)
                processor[name].append((time.process_time() - used) * 1_000)
        bare.fold(number)
    peer = "lance append and conditional insert"
    for what, times in ((f"one-row commit{how}", wall), (f"one-row commit{how}, processor time", processor)):
        found, base = statistics.median(times["graph"]), statistics.median(times["bare"])
        mean = sum(times["graph"]) / sum(times["bare"])
        note = f"bare {base:.1f} ms; {mean:.2f}x of means, which have the folding of a graph and not that of its peer"
        yield Measurement("commit_floor", what, found, peer, found / base, note)


def waiting(synced: og.Graph, graph: og.Graph, rounds: int) -> Iterator[Measurement]:
    """What it takes to wait for the disk: the same insert with and without, by turns."""
    wall: dict[str, list[float]] = {"synced": [], "not": []}
    for number in range(rounds + _WARM):
        for name, each in (("synced", synced), ("not", graph)):
            started = time.perf_counter()
            each.mutate(QUERIES, "note", {"text": "x"})
            if number >= _WARM:
                wall[name].append((time.perf_counter() - started) * 1_000)
    found, base = statistics.median(wall["synced"]), statistics.median(wall["not"])
    yield Measurement("commit_floor", "one-row commit on the disk", found, "without waiting for it", found / base, "")


def batches(graph: og.Graph, rounds: int) -> Iterator[Measurement]:
    """Mutations a second in one commit, beside the same ones a commit each."""
    for name in ("put", "set_age", "drop"):
        single = []
        for number in range(max(rounds, 3)):
            started = time.perf_counter()
            graph.mutate(QUERIES, "put", {"name": f"s{number}", "age": number})
            single.append(time.perf_counter() - started)
        started, used = time.perf_counter(), time.process_time()
        params = [{"name": f"p{number}", **({} if name == "drop" else {"age": number})} for number in range(BATCH)]
        graph.mutate_many([{"name": name, "params": each} for each in params], QUERIES)
        seconds, busy = time.perf_counter() - started, time.process_time() - used
        rate, alone = BATCH / seconds, 1 / statistics.median(single)
        note = f"{rate:,.0f} a second, {BATCH / busy:,.0f} a second of processor time; {alone:.0f} a second one by one"
        case = f"{BATCH} x {name} in one commit"
        yield Measurement("commit_floor", case, seconds * 1_000, "rate one by one", rate / alone, note)


class _Bare:
    """A table and a manifest of the same shape with nothing around them; durable ones wait for the disk."""

    def __init__(self, place: Path, *, durable: bool = False) -> None:
        self._durable, self._known = durable, set[str]()
        self._table, self._manifest = str(place / "table.lance"), str(place / "manifest.lance")
        self._numbers = count(1)
        for path, rows in ((self._table, self._row(0)), (self._manifest, self._rows(0))):
            lance.write_dataset(rows, path, data_storage_version="2.2", enable_stable_row_ids=True)

    def commit(self) -> None:
        number = next(self._numbers)
        self._bring_to_disk(lance.write_dataset(self._row(number), self._table, mode="append"), self._table)
        manifest = lance.dataset(self._manifest)
        insert = manifest.merge_insert("object_id").when_matched_update_all()
        insert.when_not_matched_insert_all().conflict_retries(0).use_index(False).execute(self._rows(number))
        self._bring_to_disk(manifest, self._manifest)

    def _bring_to_disk(self, dataset: lance.LanceDataset, path: str) -> None:
        """What is new in a version, then its version file, each with its directory."""
        if not self._durable:
            return
        parts = [fragment.metadata for fragment in dataset.get_fragments()]
        files = {f"{path}/data/{file.path}" for part in parts for file in part.files}
        files |= {f"{path}/{gone.path(part.id)}" for part in parts if (gone := part.deletion_file) is not None}
        version = f"{path}/_versions/{(1 << 64) - 1 - dataset.version:020d}.manifest"
        for wanted in (files - self._known, {version}):
            for name in [*sorted(wanted), *sorted({os.path.dirname(each) for each in wanted})]:
                descriptor = os.open(name, os.O_RDONLY)
                os.fsync(descriptor)
                os.close(descriptor)
        self._known |= files

    def fold(self, number: int) -> None:
        if number % _FOLD == 0:
            for path in (self._table, self._manifest):
                lance.dataset(path).optimize.compact_files()

    def _row(self, number: int) -> pa.Table:
        return pa.table({"id": [f"{number:026d}"], "text": ["x"]})

    def _rows(self, number: int) -> pa.Table:
        """The rows that one commit publishes: a version, the commit, and the head in place."""
        said = '{"created_at":1763300000000000,"kind":"mutate","query":"note","counts":{"Note":[1,0,0]}}'
        evidence = '{"manifest_path":"_versions/18446744073709551614.manifest","manifest_size":900,"e_tag":null}'
        version = {"object_type": "table_version", "metadata": evidence, "table_key": "node:Note"}
        rows = [
            {"object_id": f"node:Note${number:020d}", **version, "table_version": number + 1, "row_count": number},
            {"object_id": f"{number:026d}", "object_type": "graph_commit", "metadata": said, "table_key": ""},
            {"object_id": "graph_head:main", "object_type": "graph_head", "metadata": said, "table_key": ""},
        ]
        return pa.Table.from_pylist(rows, schema=MANIFEST_SCHEMA)
