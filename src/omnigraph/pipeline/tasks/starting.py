"""Tasks while Spark starts: work begins in this process at once, and moves to Spark when its JVM and workers are there.

Starting takes seconds in which nothing would happen otherwise, and input that is done by then needs no Spark at all.
Tasks of a cluster are left to it, because its workers may be nearer to the input and have credentials of their own:
there only what this process does in any case goes on meanwhile, such as listing and cutting the input.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from omnigraph.checkpoints import checkpoint
from omnigraph.engine.values.load_profile import Progress, Report
from omnigraph.errors import StorageError
from omnigraph.pipeline.spark.session import activated, spark_session
from omnigraph.pipeline.tasks.jobs import Answer, Counts, Item, Measured, SparkTasks

_LOOK_SECONDS = 0.25


class StartingTasks:
    """Spark tasks with a session that starts in the background; `here` says that they run on this machine."""

    name = "spark"

    def __init__(
        self, master: str | None, start: Callable[[str | None], Any] = spark_session, *, here: bool = True
    ) -> None:
        self.measured: list[Measured] = []
        self._here = here
        self._spark: SparkTasks | None = None
        self._failure: BaseException | None = None
        self._ready = threading.Event()
        self._starter = threading.Thread(target=self._start, args=(master, start), name="omnigraph-spark", daemon=True)
        self._starter.start()

    @property
    def cores(self) -> int:
        return os.cpu_count() or 1 if self._here else self._session().cores

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
        done = self._run_here(work, items, stage, report) if self._here else []
        rest = items[len(done) :]
        if not rest:
            return done
        spark = self._session()
        before = len(spark.measured)
        found = spark.run(work, rest, stage=stage, report=report, about=about, counts=counts)
        self.measured += spark.measured[before:]
        return [*done, *found]

    def _run_here(
        self, work: Callable[[Item], Answer], items: Sequence[Item], stage: str, report: Report | None
    ) -> list[Answer]:
        """The first items one by one, until there is somebody else to work on the rest."""
        done: list[Answer] = []
        spent: list[float] = []
        while len(done) < len(items) and not self._ready.is_set():
            checkpoint()
            if report is not None:
                report(Progress(stage, len(done), len(items)))
            begin = time.perf_counter()
            try:
                done.append(work(items[len(done)]))
            except StorageError:
                break  # Spark repeats a task that fails like this
            spent.append(time.perf_counter() - begin)
        if done:
            self.measured.append(Measured(stage, len(done), sum(spent), sum(spent), max(spent), 0))
        return done

    def _session(self) -> SparkTasks:
        begin = time.perf_counter()
        while not self._ready.wait(_LOOK_SECONDS):
            checkpoint()
        self.measured.append(Measured("start", 0, time.perf_counter() - begin, 0.0, 0.0, 0))
        if self._failure is not None:
            raise self._failure
        assert self._spark is not None
        activated(self._spark.spark)
        return self._spark

    def _start(self, master: str | None, start: Callable[[str | None], Any]) -> None:
        try:
            spark = SparkTasks(start(master))
            # The first task of a worker waits for its imports; these happen now.
            spark.run(_import_worker, list(range(spark.cores)), stage="start", report=None)
            self._spark = SparkTasks(spark.spark)  # more of the cluster may be there by now
        except BaseException as error:  # told where the session is needed
            self._failure = error
        finally:
            self._ready.set()


def _import_worker(item: int) -> int:
    import omnigraph.pipeline.tasks.checks
    import omnigraph.pipeline.tasks.stage  # noqa: F401

    return item
