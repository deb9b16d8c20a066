"""Running one Python function over many items: a task per item, small answers back, readable failure.

On Spark only the DataFrame API is used, so the same code runs on a local session, a cluster and a Spark Connect server.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

import pyarrow as pa

from omnigraph.checkpoints import checkpoint
from omnigraph.engine.values.load_profile import LoadClock, Progress, Report
from omnigraph.errors import OmnigraphError, StorageError
from omnigraph.pipeline.spark.counters import counted, declared, shown
from omnigraph.pipeline.spark.session import parallelism
from omnigraph.pipeline.spark.stores import reaching_stores
from omnigraph.pipeline.tasks.shared import FEW_BYTES
from omnigraph.pipeline.tasks.watching import spark_job

Item = TypeVar("Item")
Answer = TypeVar("Answer")

Counts: TypeAlias = Mapping[str, Callable[[Any], int]]
"""Numbers of an answer, by the names under which Spark shows their sums."""

_ANSWERS = "answer binary"


@dataclass(frozen=True, slots=True)
class Measured:
    """What one run of tasks took: wall time, that of its tasks together and of the longest, bytes of their answers."""

    stage: str
    tasks: int
    seconds: float
    task_seconds: float
    longest_seconds: float
    answer_bytes: int


class Tasks(Protocol):
    """Where the tasks of a load run."""

    name: str
    measured: list[Measured]

    @property
    def cores(self) -> int:
        """How many tasks run at once, as far as is known."""
        ...

    def run(
        self,
        work: Callable[[Item], Answer],
        items: Sequence[Item],
        *,
        stage: str,
        report: Report | None,
        about: str = "",
        counts: Counts | None = None,
    ) -> list[Answer]:
        """The answer for each item, in order; an OmnigraphError of an item is raised here, the first item's first.

        `work` may be shipped elsewhere and may run more than once for an item. `about` says what the items concern,
        and `counts` which numbers of the answers matter, for people who watch. What a checkpoint raises while tasks run
        ends them first.
        """
        ...


class LocalTasks:
    """Tasks in this process, so many at a time: the same work without a JVM, for input that is not worth one."""

    name = "inline"

    def __init__(self, cores: int = 1) -> None:
        self.cores = cores
        self.measured: list[Measured] = []

    def run(
        self,
        work: Callable[[Item], Answer],
        items: Sequence[Item],
        *,
        stage: str,
        report: Report | None,
        about: str = "",
        counts: Counts | None = None,
    ) -> list[Answer]:
        found: list[Answer] = []
        spent: list[float] = []
        begin = time.perf_counter()

        def timed(item: Item) -> tuple[Answer, float]:
            checkpoint()
            start = time.perf_counter()
            return work(item), time.perf_counter() - start

        with ThreadPoolExecutor(self.cores) if self.cores > 1 and len(items) > 1 else nullcontext() as pool:
            for answer, seconds in (map if pool is None else pool.map)(timed, items):
                if report is not None:
                    report(Progress(stage, len(found), len(items)))
                found.append(answer)
                spent.append(seconds)
        took = time.perf_counter() - begin
        self.measured.append(Measured(stage, len(items), took, sum(spent), max(spent, default=0.0), 0))
        return found


class SparkTasks:
    """One Spark task per item; a task that fails for no fault of the input is repeated by Spark."""

    name = "spark"

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        self.cores = parallelism(spark)
        self.measured: list[Measured] = []

    def run(
        self,
        work: Callable[[Item], Answer],
        items: Sequence[Item],
        *,
        stage: str,
        report: Report | None,
        about: str = "",
        counts: Counts | None = None,
    ) -> list[Answer]:
        if not items:
            return []
        begin = time.perf_counter()
        with spark_job(self.spark, stage, len(items), report=report, about=about):
            rows = self._frame(reaching_stores(work), items, stage, counts or {}).collect()
        found = {at: (answer, seconds) for at, answer, seconds in (pickle.loads(row.answer) for row in rows)}
        spent = [seconds for _, seconds in found.values()]
        took, size = time.perf_counter() - begin, sum(len(row.answer) for row in rows)
        self.measured.append(Measured(stage, len(items), took, sum(spent), max(spent), size))
        return [_unpacked(found[at][0]) for at in range(len(items))]

    def _frame(self, work: Callable[[Item], Answer], items: Sequence[Item], stage: str, counts: Counts) -> Any:
        """A frame whose partitions are the tasks; many items travel as its rows, each to the task that works on it."""
        packed, names = [pickle.dumps(item) for item in items], tuple(counts)
        answers = declared(_ANSWERS, names)
        if sum(map(len, packed)) <= FEW_BYTES:

            def numbered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
                for batch in batches:
                    for at in batch.column(0).to_pylist():
                        yield _answer(work, counts, at, packed[at])

            numbers = self.spark.range(0, len(items), 1, len(items))
            return shown(numbers.mapInArrow(numbered, answers), stage, names)

        def carried(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for at, item in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    yield _answer(work, counts, at, item)

        rows = pa.table({"at": pa.array(range(len(items)), pa.int64()), "item": pa.array(packed, pa.binary())})
        frame = self.spark.createDataFrame(rows).repartitionByRange(len(items), "at")
        return shown(frame.mapInArrow(carried, answers), stage, names)


class ClockedTasks:
    """Tasks whose stages are followed by the clock of a load."""

    def __init__(self, tasks: Tasks, clock: LoadClock) -> None:
        self.name = tasks.name
        self.measured = tasks.measured
        self._tasks = tasks
        self._clock = clock

    @property
    def cores(self) -> int:
        before = len(self.measured)
        found = self._tasks.cores
        for waited in self.measured[before:]:  # for a session of which that is not known before it is there
            self._clock.shift("read", waited.stage, waited.seconds)
        return found

    def run(
        self,
        work: Callable[[Item], Answer],
        items: Sequence[Item],
        *,
        stage: str,
        report: Report | None,
        about: str = "",
        counts: Counts | None = None,
    ) -> list[Answer]:
        if not items:
            return []
        before = len(self.measured)
        with self._clock.stage(stage):
            found = self._tasks.run(work, items, stage=stage, report=report, about=about, counts=counts)
            for each in self.measured[before:]:
                if each.stage == stage:
                    spent = (each.task_seconds, each.longest_seconds)
                    self._clock.note_tasks(stage, each.tasks, spent, each.answer_bytes)
                else:  # waiting for the session
                    self._clock.shift(stage, each.stage, each.seconds)
        if report is not None:
            report(Progress(stage, len(items), len(items)))
        return found


def _answer(work: Callable[[Any], Any], counts: Counts, at: int, item: bytes) -> pa.RecordBatch:
    begin = time.perf_counter()
    answer = _attempt(work, pickle.loads(item))
    packed = pickle.dumps((at, answer, time.perf_counter() - begin))
    kind, value = answer
    numbers = [count(value) if kind == "answer" else 0 for count in counts.values()]
    return pa.RecordBatch.from_pydict({"answer": [packed], **counted(numbers)})


def _attempt(work: Callable[[Item], Answer], item: Item) -> tuple[str, Any]:
    try:
        return "answer", work(item)
    except StorageError:
        raise  # may pass: Spark tries again
    except OmnigraphError as error:
        return "error", (type(error), error.args, error.__dict__)


def _unpacked(answer: tuple[str, Any]) -> Any:
    kind, value = answer
    if kind == "answer":
        return value
    cls, args, state = value
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    raise error
