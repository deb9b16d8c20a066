"""Jobs of Spark as they run: named by their stage, followed, ended when time is over, told plainly when they fail."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any

from omnigraph.checkpoints import checkpoint, is_checked
from omnigraph.display import counted
from omnigraph.engine.values.load_profile import Progress, Report
from omnigraph.errors import OmnigraphError, StorageError
from omnigraph.ids import new_ulid
from omnigraph.pipeline.spark.session import is_connect, log_file, without_warnings

_log = logging.getLogger(__name__)
_POLL_SECONDS = 0.25
# Spark looks every two seconds whether a Python task was ended, and gives it two more.
_KILL_SECONDS = 30.0
_JOB_GROUP = "spark.jobGroup.id"
_JOB_DESCRIPTION = "spark.job.description"
_TOO_LARGE = re.compile(
    r"of serialized results of \d+ tasks \((.+?)\) is bigger than spark\.driver\.maxResultSize \((.+?)\)"
)
_REASON = re.compile(
    r"^(?:Caused by: |: )?(?:[\w.]+\.)?(\w+(?:Error|Exception|Exceeded|NotFound)): (.*)$", re.MULTILINE
)


@contextmanager
def spark_job(
    spark: Any, stage: str, tasks: int | None = None, *, report: Report | None = None, about: str = ""
) -> Iterator[None]:
    """Run the jobs of the block as a stage of so many tasks, whose failure is one line.

    What a checkpoint raises ends them, and their tasks, before it is raised here.
    """
    checkpoint()
    watch = _Watch(spark, stage, tasks or 0, report)
    with without_warnings(), _described(watch, about, tasks), _watched(watch), translated(stage):
        yield


@contextmanager
def translated(stage: str) -> Iterator[None]:
    """Turn what Spark raises into one line about what went wrong; the stack goes to the log."""
    try:
        yield
    except OmnigraphError:
        raise
    except Exception as error:
        _log.debug("Spark failed while %s", stage, exc_info=True)
        if too_large := _TOO_LARGE.search(str(error)):
            told = "the tasks of '{}' answered with {}, more than the session takes (spark.driver.maxResultSize, {})"
            raise StorageError(told.format(stage, *too_large.groups()), kind="Configuration") from error
        reasons = _REASON.findall(str(error))
        told = f"{reasons[-1][0]}: {reasons[-1][1]}" if reasons else str(error).strip().partition("\n")[0]
        raise StorageError(f"the Spark job '{stage}' failed: {told}; see {log_file()}", kind="Transient") from error


@contextmanager
def _described(watch: _Watch, about: str, tasks: int | None) -> Iterator[None]:
    """Call the jobs of a stage by its name and by what it works on, where Spark shows them; what was set comes back."""
    spark, stage = watch.spark, watch.stage
    size = "" if tasks is None else f" ({counted(tasks, 'task')})"
    told = f"omnigraph {stage}{f' of {about}' if about else ''}{size}"
    if is_connect(spark):
        spark.addTag(watch.tag)
        try:
            yield
        finally:
            spark.removeTag(watch.tag)
        return
    context = spark.sparkContext
    before = {name: context.getLocalProperty(name) for name in (_JOB_GROUP, _JOB_DESCRIPTION)}
    context.setLocalProperty(_JOB_GROUP, f"omnigraph-{stage}")
    context.setLocalProperty(_JOB_DESCRIPTION, told)
    context.addJobTag(watch.tag)
    try:
        yield
    finally:
        context.removeJobTag(watch.tag)
        for name, value in before.items():
            context.setLocalProperty(name, value)


@contextmanager
def _watched(watch: _Watch) -> Iterator[None]:
    """Watch the jobs of the block from a thread of its own, if anybody wants to know or may have them ended."""
    if watch.report is not None:
        watch.report(Progress(watch.stage, 0, watch.total))
    if watch.report is None and not is_checked():
        yield
        return
    watcher = threading.Thread(target=copy_context().run, args=(watch.run,), daemon=True)
    watcher.start()
    try:
        yield
    except StorageError:
        if watch.reason is None:
            raise
    finally:
        watch.over.set()
        watcher.join()
    if watch.reason is not None:
        watch.await_tasks()
        raise watch.reason


class _Watch:
    """What happens beside the jobs of one stage: they are followed, and ended when a checkpoint says so.

    All of them, and no others, have its tag.
    """

    def __init__(self, spark: Any, stage: str, total: int, report: Report | None) -> None:
        self.spark = spark
        self.tag = f"omnigraph-{stage.replace(' ', '-')}-{new_ulid()}"
        self.stage = stage
        self.total = total
        self.report = report
        self.over = threading.Event()
        self.reason: BaseException | None = None

    def run(self) -> None:
        """Look several times a second, until it is over or has to be."""
        seen = 0
        while self.reason is None and not self.over.wait(_POLL_SECONDS):
            try:
                checkpoint()
            except BaseException as error:  # raised by the thread that waits for the jobs
                self.reason = error
                self._end()
            else:
                seen = self._reported(seen)

    def await_tasks(self) -> None:
        """Wait until no task of ended jobs runs any more: Spark does not, and they would go on writing files."""
        deadline = time.monotonic() + _KILL_SECONDS
        while not is_connect(self.spark) and self._active_tasks() and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)

    def _end(self) -> None:
        if is_connect(self.spark):
            self.spark.interruptTag(self.tag)
        else:
            self.spark.sparkContext.cancelJobsWithTag(self.tag)

    def _active_tasks(self) -> int:
        context = self.spark.sparkContext
        tracker = context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in context._jsc.sc().statusTracker().getJobIdsForTag(self.tag)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
        return sum(stage.numActiveTasks for stage in stages if stage is not None)

    def _reported(self, seen: int) -> int:
        """Tell how many tasks have ended, if there are more than were told."""
        if self.report is None or is_connect(self.spark):
            return seen
        tracker = self.spark.sparkContext.statusTracker()
        infos = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
        done = max((info.numCompletedTasks for info in infos if info is not None), default=seen)
        if not seen < done < self.total:
            return seen
        self.report(Progress(self.stage, done, self.total))
        return done
