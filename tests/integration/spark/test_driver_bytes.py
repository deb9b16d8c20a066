"""What passes between the driver of a load and its tasks does not grow with rows, and closures not with parts."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from load_cases import edge, lines, node

import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.pipeline.tasks import jobs, shared
from omnigraph.pipeline.tasks.jobs import LocalTasks, SparkTasks
from omnigraph.pipeline.tasks.load import load
from omnigraph.pipeline.tasks.stage_driver import Tuning
from omnigraph.storage.base import failpoints
from omnigraph.storage.lance.handle import TableHandle
from omnigraph.storage.protocol import table_steps

SCHEMA = "node P { name: String @key  mail: String? @unique }  edge K: P -> P @card(0..2)"


class SentTasks(LocalTasks):
    """Tasks whose functions, items and answers are packed as for another process, and weighed."""

    def __init__(self) -> None:
        super().__init__()
        self.closures: list[int] = []
        self.answers = 0

    def run(self, work: Any, items: Any, **options: Any) -> list[Any]:
        sent = cloudpickle.dumps(work)
        self.closures.append(len(sent))

        def packed(item: Any) -> bytes:
            return pickle.dumps(pickle.loads(sent)(pickle.loads(pickle.dumps(item))))

        answers = super().run(packed, items, **options)
        self.answers += sum(map(len, answers))
        return [pickle.loads(answer) for answer in answers]


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of scratch parts that are read while a load is committed, when its tasks are done."""
    seen: list[int] = []
    plain, staged = TableHandle.scan, table_steps.stage_step

    def counted(table: TableHandle, *args: Any, **options: Any) -> Any:
        rows = plain(table, *args, **options)
        seen.append(rows.nbytes if "__loads" in table.address.uri else 0)
        return rows

    def committing(*args: Any, **options: Any) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(TableHandle, "scan", counted)
            return staged(*args, **options)

    monkeypatch.setattr(table_steps, "stage_step", committing)
    return seen


def people(count: int) -> bytes:
    rows = [node("P", name=f"p{at:06d}", mail=f"{at}@x") for at in range(count)]
    return lines(*rows, *(edge("K", f"p{at:06d}", f"p{at // 2:06d}", id=f"k{at:06d}") for at in range(count)))


def merged(place: Path, before: bytes, data: bytes, splits: int, **options: Any) -> tuple[SentTasks, Any]:
    """What a merge sends and gets, over an input of so many splits."""
    tasks = SentTasks()
    with og.init(place, SCHEMA) as graph:
        if before:
            graph.load(before, runner="inline")
        request = LoadRequest(data=data, mode="merge", **options)
        tuning = Tuning(split_bytes=-(-len(data) // splits), bucket_rows=1_000, partition_rows=500, keyed_rows=0)
        done = load(access(graph), request, tasks, tuning)
    return tasks, done


def test_replaced_rows_stay_in_files(tmp_path: Path, scanned: list[int]) -> None:
    found, read = [], []
    for count in (1_000, 4_000):
        data = people(count)
        found.append(merged(tmp_path / str(count), data, data, 4)[0].answers)
        read.append(sum(scanned))
        scanned.clear()
        with og.open(tmp_path / str(count)) as graph:
            assert graph.query("query q() { match { $p: P } return { count($p) as n } }").rows() == [{"n": count}]
    assert found[1] < 2 * found[0], "six thousand rows more"
    assert 0 < read[1] < read[0] + 1_000


def test_of_rows_in_any_order_only_what_lance_keeps_is_read(tmp_path: Path, scanned: list[int]) -> None:
    count = 4_000
    rows = people(count).splitlines(keepends=True)
    random.Random(3).shuffle(rows)
    kept = [row for row in rows if b'"edge"' not in row][: count // 2]
    merged(tmp_path / "g", people(count), b"".join(kept), 4)
    assert sum(scanned) < len(kept) * 4 + count // 8 + 1_000, "an offset of four bytes each, and a bit for each row"


BAD = {
    "missing ends": lambda count: [edge("K", f"p{at:06d}", "nobody", id=f"b{at:06d}") for at in range(count)],
    "unique values": lambda count: [node("P", name=f"q{at:06d}", mail=f"{at}@x") for at in range(count)],
    "too many edges": lambda count: [edge("K", "p000000", f"p{at:06d}", id=f"b{at:06d}") for at in range(count)],
    "superseded": lambda count: [edge("K", f"p{at:06d}", "p000000", id=f"k{at:06d}") for at in range(count)],
}


@pytest.mark.parametrize("rejects", [False, True], ids=["counted", "reported"])
@pytest.mark.parametrize("kind", BAD)
def test_rows_that_are_left_out_stay_in_files(tmp_path: Path, kind: str, rejects: bool) -> None:
    """The source of edges that are too many has one already, and may have two."""
    found = []
    for count in (100, 1_000):
        options: dict[str, Any] = {"rejects": str(tmp_path / f"{count}.jsonl")} if rejects else {}
        data = people(1_000) + lines(*BAD[kind](count))
        tasks, done = merged(tmp_path / str(count), b"", data, 4, on_error="skip", **options)
        found.append(tasks.answers)
        refused = sum(done.rejected.values())
        more = kind == "too many edges"
        assert (done.total_entities, refused) == (2_000 + more, 0 if kind == "superseded" else count - more)
        if rejects:
            assert len((tmp_path / f"{count}.jsonl").read_bytes().splitlines()) == refused
    assert found[1] < found[0] + 4_000, "nine hundred rows more"


def test_what_every_task_is_sent_does_not_grow_with_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (shared, jobs):
        monkeypatch.setattr(module, "FEW_BYTES", 1_000)
    data = people(1_000) + lines(*BAD["missing ends"](200))
    largest = []
    for splits in (2, 60):
        tasks, _ = merged(tmp_path / str(splits), people(500), data, splits, on_error="skip")
        largest.append(max(tasks.closures))
    assert largest[1] < largest[0] + 200, largest


def test_workers_of_spark_fetch_what_is_large(tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "FEW_BYTES", 1_000)
    seen: list[str] = []
    data = people(400) + lines(*BAD["missing ends"](50))
    with og.init(tmp_path / "g", SCHEMA) as graph:

        def look() -> None:
            seen.extend(path.name for path in (tmp_path / "g").glob("__loads/*/shared-*"))

        with failpoints.armed({"load.pre_discard": look}):
            request = LoadRequest(data=data, mode="merge", on_error="skip")
            done = load(access(graph), request, SparkTasks(spark), Tuning(split_bytes=8_000, bucket_rows=100))
        assert (done.total_entities, done.rejected) == (800, {"W013": 50})
        assert graph.check().ok
    assert seen, "a file was written, and what was checked came out of it"
