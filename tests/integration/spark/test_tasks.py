"""Tasks on Spark: one for each item however many there are, called by what they do, and measured."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.serializers import CloudPickleSerializer

import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.errors import BadRequest, StorageError
from omnigraph.pipeline.spark.session import without_warnings
from omnigraph.pipeline.tasks.jobs import LocalTasks, SparkTasks
from omnigraph.pipeline.tasks.load import load
from omnigraph.pipeline.tasks.shared import FEW_BYTES
from omnigraph.pipeline.tasks.stage_driver import Tuning

MAX_RESULT_SIZE = "spark.driver.maxResultSize"


def binary_bytes(frame: Any) -> int:
    """What Spark sends to an executor for the tasks of the last stage of a frame, as Java serializes it."""
    jvm = frame.sparkSession.sparkContext._jvm
    into = jvm.java.io.ByteArrayOutputStream()
    jvm.java.io.ObjectOutputStream(into).writeObject(frame._jdf.queryExecution().toRdd())
    return int(into.size())


@pytest.fixture
def functions(spark: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the functions that Spark is given, as it packs them: every task unpacks its own copy."""
    sizes: list[int] = []
    kind = type(spark.range(1))
    plain = kind.mapInArrow

    def weighed(frame: Any, function: Any, *args: Any, **options: Any) -> Any:
        sizes.append(len(CloudPickleSerializer().dumps(function)))
        return plain(frame, function, *args, **options)

    monkeypatch.setattr(kind, "mapInArrow", weighed)
    return sizes


@pytest.mark.parametrize("size", [30, 3_000])
def test_items_travel_to_their_own_tasks_only(spark: Any, functions: list[int], size: int) -> None:
    """A closure with all items would make what is sent grow with the square of their number."""
    tasks = SparkTasks(spark)

    def work(item: str) -> tuple[int, int]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        return int(item.partition("-")[0]), context.partitionId()

    def items(count: int) -> list[str]:
        return [f"{at}-{'x' * size}" for at in range(count)]

    found = tasks.run(work, items(60), stage="numbers", report=None)
    assert [at for at, _ in found] == list(range(60))
    assert len({partition for _, partition in found}) == 60
    assert tasks.measured[-1].tasks == 60
    assert 0 < tasks.measured[-1].answer_bytes < 60 * 200
    functions.clear()
    with without_warnings():
        binaries = [
            binary_bytes(tasks._frame(work, items(count), "numbers", {"items": len})) for count in (1, 60, 600, 6_000)
        ]
    assert max(functions) < functions[0] + FEW_BYTES, "items travel with every task while they are few"
    assert functions[3] < functions[0] + 200
    if size == 3_000:
        assert abs(functions[3] - functions[1]) < 200
        # Spark describes each partition, and tells an executor once.
        assert (binaries[3] - binaries[2]) / 5_400 < 64


def test_jobs_are_called_by_their_stage_and_what_was_set_comes_back(spark: Any) -> None:
    context = spark.sparkContext
    context.setLocalProperty("spark.job.description", "mine")
    before = set(context.statusTracker().getJobIdsForGroup("omnigraph-check"))
    SparkTasks(spark).run(lambda item: item, [1, 2], stage="check", report=None, about="edge:Knows")
    assert len(set(context.statusTracker().getJobIdsForGroup("omnigraph-check")) - before) == 1
    assert context.getLocalProperty("spark.job.description") == "mine"
    context.setLocalProperty("spark.job.description", None)


@pytest.fixture
def small_answers(spark: Any) -> Iterator[None]:
    """Spark takes 5 kB from the tasks of a job; it reads its own configuration whenever a stage begins."""
    settings = spark.sparkContext._jsc.sc().conf()
    before = settings.get(MAX_RESULT_SIZE, "1g")
    settings.set(MAX_RESULT_SIZE, "5k")
    yield
    settings.set(MAX_RESULT_SIZE, before)


REFUSED = (
    r"the tasks of 'check' answered with .* KiB, more than the session takes \(spark.driver.maxResultSize, 5.0 KiB\)"
)


@pytest.mark.usefixtures("small_answers")
def test_answers_of_tasks_are_guarded_in_size(spark: Any) -> None:
    def work(item: int) -> bytes:
        return os.urandom(item)  # Spark compresses answers

    tasks = SparkTasks(spark)
    assert list(map(len, tasks.run(work, [10, 20], stage="check", report=None))) == [10, 20]
    with pytest.raises(StorageError, match=REFUSED):
        tasks.run(work, [30_000, 30_000], stage="check", report=None)


@pytest.mark.usefixtures("small_answers")
def test_a_load_whose_tasks_answer_too_much_writes_nothing(spark: Any, tmp_path: Path) -> None:
    """Each of many splits answers with the rows that it has refused as samples."""
    graph = og.init(tmp_path / "g", "node P { name: String @key  age: I32? }")
    rows = b"".join(
        b'{"type":"P","data":{"name":"p%d","age":"%s"}}\n' % (at, os.urandom(200).hex().encode()) for at in range(300)
    )
    request = LoadRequest(data=rows, mode="append", on_error="skip")
    with pytest.raises(StorageError, match=REFUSED.replace("check", "stage")):
        load(access(graph), request, SparkTasks(spark), Tuning(split_bytes=20_000))
    assert (len(graph.commits.list()), list((tmp_path / "g").glob("__loads/*"))) == (1, [])


def test_tasks_in_this_process_may_run_side_by_side() -> None:
    """Each waits for the other, so that one after the other would never end."""
    begun: list[int] = []

    def work(item: int) -> int:
        begun.append(item)
        end = time.monotonic() + 30
        while len(begun) < 2 and time.monotonic() < end:
            time.sleep(0.001)
        assert len(begun) == 2, os.getpid()
        return item * 10

    tasks = LocalTasks(cores=2)
    assert tasks.run(work, [1, 2], stage="both", report=None) == [10, 20]
    assert (tasks.measured[0].stage, tasks.measured[0].tasks) == ("both", 2)


@pytest.mark.parametrize("cores", [1, 3])
def test_the_error_of_the_first_item_is_raised(cores: int) -> None:
    def work(item: int) -> int:
        if item:
            raise BadRequest(f"item {item}")
        return item

    with pytest.raises(BadRequest, match="item 1"):
        LocalTasks(cores).run(work, [0, 1, 2, 3], stage="some", report=None)
