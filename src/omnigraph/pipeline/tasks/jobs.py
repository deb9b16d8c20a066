"""Running one Python function over many items: a task per item, small answers back, readable failure.

On Spark only the DataFrame API is used, so the same code runs on a local session, a cluster and a Spark Connect server.
"""

from __future__ import annotations

import logging
import pickle
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from omnigraph.errors import OmnigraphError, StorageError
from omnigraph.pipeline.spark.session import is_connect, log_file, parallelism, without_warnings

Item = TypeVar("Item")
Answer = TypeVar("Answer")

_log = logging.getLogger(__name__)
_ANSWERS = "answer binary"
_SCHEMA = pa.schema([pa.field("answer", pa.binary())])
_POLL_SECONDS = 0.25
_REASON = re.compile(r"^(?:[\w.]+\.)?(\w+(?:Error|Exception|Exceeded|NotFound)): (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a stage of a load is; `rows` and `bytes` are known when the stage is done."""

    stage: str
    done: int
    total: int
    rows: int = 0
    bytes: int = 0


Report = Callable[[Progress], None]


class Tasks(Protocol):
    """Where the tasks of a load run."""

    name: str
    cores: int

    def run(
        self, work: Callable[[Item], Answer], items: Sequence[Item], *, stage: str, report: Report | None
    ) -> list[Answer]:
        """The answer for each item, in order; an OmnigraphError of an item is raised here, the first item's first.

        `work` may be shipped elsewhere and may run more than once for an item.
        """
        ...


class LocalTasks:
    """One task after the other in this process: the same work without a JVM, for input that is not worth one."""

    name = "inline"
    cores = 1

    def run(
        self, work: Callable[[Item], Answer], items: Sequence[Item], *, stage: str, report: Report | None
    ) -> list[Answer]:
        found: list[Answer] = []
        for item in items:
            if report is not None:
                report(Progress(stage, len(found), len(items)))
            found.append(work(item))
        return found


class SparkTasks:
    """One Spark task per item; a task that fails for no fault of the input is repeated by Spark."""

    name = "spark"

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        self.cores = parallelism(spark)

    def run(
        self, work: Callable[[Item], Answer], items: Sequence[Item], *, stage: str, report: Report | None
    ) -> list[Answer]:
        if not items:
            return []

        def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for at in batch.column(0).to_pylist():
                    answer = pickle.dumps((at, _attempt(work, items[at])))
                    yield pa.RecordBatch.from_pydict({"answer": [answer]}, _SCHEMA)

        with without_warnings(), _watched(self.spark, stage, len(items), report), translated(stage):
            frame = self.spark.range(0, len(items), 1, len(items)).mapInArrow(each, _ANSWERS)
            found = dict(pickle.loads(row.answer) for row in frame.collect())
        return [_unpacked(found[at]) for at in range(len(items))]


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


@contextmanager
def translated(stage: str) -> Iterator[None]:
    """Turn what Spark raises into one line about what went wrong; the stack goes to the log."""
    try:
        yield
    except OmnigraphError:
        raise
    except Exception as error:
        _log.debug("Spark failed while %s", stage, exc_info=True)
        reasons = _REASON.findall(str(error))
        told = f"{reasons[-1][0]}: {reasons[-1][1]}" if reasons else str(error).strip().partition("\n")[0]
        raise StorageError(f"the Spark job '{stage}' failed: {told}; see {log_file()}", kind="Transient") from error


@contextmanager
def _watched(spark: Any, stage: str, total: int, report: Report | None) -> Iterator[None]:
    if report is None:
        yield
        return
    report(Progress(stage, 0, total))
    if is_connect(spark):
        yield
        return
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(spark, stage, total, report, over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _watch(spark: Any, stage: str, total: int, report: Report, over: threading.Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    seen = 0
    while not over.wait(_POLL_SECONDS):
        infos = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
        done = max((info.numCompletedTasks for info in infos if info is not None), default=seen)
        if seen < done < total:
            seen = done
            report(Progress(stage, done, total))
