"""Running a declared pipeline: load on a branch, check it there, merge it, and keep a record of all of that."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from omnigraph.checkpoints import checking, unchecked
from omnigraph.compiler.query.parse import parse_queries
from omnigraph.display import counted
from omnigraph.engine.api.access import access
from omnigraph.engine.api.graph import Graph
from omnigraph.engine.values.result import LoadResult
from omnigraph.errors import Conflict, MergeConflicts, NotFound, OmnigraphError, Retry, StorageError, TimedOut
from omnigraph.ids import new_ulid
from omnigraph.pipeline.runners import open_graph
from omnigraph.pipeline.runs.declared import Pipeline
from omnigraph.pipeline.runs.following import Following
from omnigraph.pipeline.runs.gates import measured
from omnigraph.pipeline.runs.leftover import drop_branches, said
from omnigraph.pipeline.runs.records import (
    DONE,
    Input,
    Run,
    Status,
    digest_of,
    history,
    inputs_of,
    instant,
    keep,
    previous,
)
from omnigraph.pipeline.tasks.resume import LoadArrived
from omnigraph.storage.base import lease
from omnigraph.storage.maintenance.load_claims import abandoned

_log = logging.getLogger(__name__)
# A branch per run under one name, and as many again: beyond this the template is at fault.
_MOST_NAMES = 100


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How one run is made: `force` repeats work that was done already, `dry_run` checks the data and writes nothing.

    `after` says in which graphs the pipelines keep their records that this one comes after; its own where it does not.
    """

    dry_run: bool = False
    force: bool = False
    rejects: str | None = None
    progress: Callable[[Any], None] | None = None
    spark: Any = None
    now: datetime | None = None
    sleep: Callable[[float], None] = time.sleep
    after: Mapping[str, str] = field(default_factory=dict)


def run_pipeline(pipeline: Pipeline, graph: Graph, options: RunOptions | None = None) -> Run:
    """One run on an opened graph; what goes wrong is in the record, and raised when it is not caused by the data."""
    return _Running(pipeline, graph, options or RunOptions()).run()


@dataclass(slots=True)
class _Running:
    """One run while it goes on."""

    pipeline: Pipeline
    graph: Graph
    options: RunOptions
    run_id: str = field(default_factory=new_ulid)
    begin: float = field(default_factory=time.monotonic)
    inputs: tuple[Input, ...] = ()
    digest: str | None = None
    branch: str | None = None
    loaded: bool = False
    attempts: int = 1
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    following: Following = field(init=False)

    def __post_init__(self) -> None:
        self.following = Following(self._keep_progress)

    @property
    def now(self) -> datetime:
        return self.options.now or self.started

    def run(self) -> Run:
        with lease.active(self.run_id), self._noted(), checking(self._require_time):
            missing = self._waits_for()
            if missing is not None:
                return self._kept(self._record("waiting", message=missing))
            self.inputs = inputs_of(self.pipeline)
            self.digest = digest_of(self.pipeline, self.inputs)
            done = previous(self.graph, self.pipeline.name, self.digest)
            if done is not None and not self.options.force:
                self._drop_earlier("failed", "lost")
                return self._unchanged(done)
            with self.following.shown() if not self.options.dry_run else nullcontext():
                ended = self._tried()
            return self._kept(ended)

    def _unchanged(self, done: Run) -> Run:
        """The record beside an earlier one; the branch of that is named only while it is there."""
        left = done.branch if done.branch in self.graph.branches.list() else None
        told = f"run {done.run_id} has taken in the same input"
        return self._record(
            "unchanged", message=told, commit_id=done.commit_id, branch=left, merged_into=done.merged_into
        )

    def _waits_for(self) -> str | None:
        """Why this run cannot begin yet: a pipeline that it comes after has not taken its input in."""
        for name in self.pipeline.after:
            newest = self._newest(name)
            if newest is None or newest.status not in DONE:
                state = "has not run" if newest is None else _state(newest)
                return f"it comes after '{name}', which {state}; run that first, or use --with-dependencies"
        return None

    def _newest(self, name: str) -> Run | None:
        """The newest run of another pipeline."""
        uri = self.options.after.get(name)
        if uri is None:
            return next(iter(history(self.graph, name)), None)
        with open_graph(uri, read_only=True) as other:
            return next(iter(history(other, name)), None)

    def _tried(self) -> Run:
        """The load, again where it failed for no fault of the data, as often as the declaration says."""
        while True:
            try:
                return self._load()
            except (StorageError, Retry) as error:
                if self.attempts > self.pipeline.retries or self.loaded or self._is_late():
                    raise
                _log.warning("attempt %d of pipeline '%s' failed: %s", self.attempts, self.pipeline.name, error.message)
                self._drop_branch()
                self.attempts += 1
                self.options.sleep(min(self.pipeline.retry_after, self._left()))
                self._require_time()

    def _left(self) -> float:
        """How many seconds this run may still take."""
        timeout = self.pipeline.timeout
        return math.inf if timeout is None else max(self.begin + timeout - time.monotonic(), 0.0)

    def _is_late(self) -> bool:
        return self._left() == 0.0

    def _require_time(self) -> None:
        if self._is_late():
            raise TimedOut(
                f"pipeline '{self.pipeline.name}' took longer than its timeout of {self.pipeline.timeout:g} s"
            )

    def _progress(self, found: Any) -> None:
        self.following.report(found)
        if self.options.progress is not None:
            self.options.progress(found)

    def _load(self) -> Run:
        into = self.pipeline.merge_into or "main"
        if not self.options.dry_run:
            self._make_branch(into)
        try:
            done = self._taken_in(self.branch or into, resume=self._left_over())
        except LoadArrived:
            if self.branch is None:
                raise
            done = self._taken_in(self.branch, resume=False)  # what arrived is on the branch of the run that died
        self.loaded = True
        self._drop_earlier("lost")  # not before: what it has staged may be there that it has brought into tables
        loaded = self._record("loaded", **_counts(done), branch=self.branch)
        if self.options.dry_run:
            planned = self.pipeline.branch_at(self.now, self.run_id)
            return replace(loaded, status="dry_run", branch=planned)
        if self.branch is None:
            return loaded
        self._require_time()
        checked = self._check(self._gated(replace(loaded, status="review"), done))
        self._require_time()
        return checked if checked.status == "rejected" or self.pipeline.merge_into is None else self._merge(checked)

    def _left_over(self) -> bool:
        """Whether a load died here: what it has staged of the same files need not be staged again."""
        return not self.options.dry_run and bool(abandoned(access(self.graph).store))

    def _taken_in(self, branch: str, *, resume: bool) -> LoadResult:
        return self.graph.load(
            mapping=self.pipeline.mapping,
            mode=self.pipeline.mode,
            branch=branch,
            runner=self.pipeline.runner,
            on_error=self.pipeline.on_error,
            max_errors=self.pipeline.max_errors,
            rejects=self.options.rejects,
            dry_run=self.options.dry_run,
            progress=self._progress,
            spark=self.options.spark,
            resume=resume,
            message=said(self.pipeline.name, self.run_id),
        )

    def _make_branch(self, source: str) -> None:
        """The branch of this run; a name that is taken, or was a moment ago, gets a number behind.

        It is on record before it is there, so that the next run finds it whatever becomes of this one.
        """
        name = self.pipeline.branch_at(self.now, self.run_id)
        if name is None:
            return
        self._drop_earlier("rejected", "conflict", "failed")
        taken = set(self.graph.branches.list())
        for number in range(1, _MOST_NAMES):
            tried = name if number == 1 else f"{name}-{number}"
            if tried in taken:
                continue
            self.branch = tried
            self.following.tell()
            try:
                self.graph.branches.create(tried, source)
            except Conflict:
                self.branch = None
            else:
                return
        raise Conflict(f"{_MOST_NAMES} branches are called like '{name}'; put {{time}} or {{run}} into the template")

    def _drop_earlier(self, *statuses: Status) -> None:
        if not self.options.dry_run:
            drop_branches(self.graph, self.pipeline, statuses, self.inputs, self.digest)

    def _gated(self, run: Run, done: LoadResult) -> Run:
        """Look at every gate of the loaded branch."""
        assert self.branch is not None
        if not self.pipeline.gates:
            return run
        self.following.step("gates")
        view = self.graph.branch(self.branch).view()
        counts = done.total_entities, sum(done.rejected.values())
        found = {gate: measured(gate, view, *counts, self.now) for gate in self.pipeline.gates}
        failed = [gate.told(value) for gate, value in found.items() if not gate.passes(value)]
        run = replace(run, gates={gate.name: value for gate, value in found.items()})
        if not failed:
            return run
        return replace(run, status="rejected", message=f"{'; '.join(failed)}; the data waits on branch '{self.branch}'")

    def _check(self, run: Run) -> Run:
        """Run every check on the loaded branch; one that returns rows has found something."""
        assert self.branch is not None
        if run.status == "rejected":
            return run
        self.following.step("checks")
        found: dict[str, int] = {}
        here = self.graph.branch(self.branch)
        for path in self.pipeline.checks:
            text = path.read_text()
            for query in parse_queries(text).queries:
                found[query.name] = len(here.query(text, query.name))
        failed = [f"{name} returned {counted(count, 'row')}" for name, count in found.items() if count]
        if failed:
            told = f"{'; '.join(failed)}; the data waits on branch '{self.branch}'"
            return replace(run, status="rejected", checks=found, message=told)
        return replace(run, checks=found)

    def _merge(self, run: Run) -> Run:
        assert self.branch is not None
        assert self.pipeline.merge_into is not None
        self.following.step("merge")
        try:
            into = self.pipeline.merge_into
            told = f"{said(self.pipeline.name, self.run_id)}: merge {self.branch} into {into}"
            with unchecked():
                done = self.graph.branches.merge(self.branch, into=into, delete=True, message=told)
        except MergeConflicts as error:
            told = f"{error.message}; the data waits on branch '{self.branch}'"
            return replace(run, status="conflict", message=told)
        head = self.graph.branch(self.pipeline.merge_into).refresh() if done.commit is None else done.commit_id
        return replace(run, status="merged", merged_into=self.pipeline.merge_into, commit_id=head)

    # --- the record ------------------------------------------------------------------------------

    def _record(self, status: Status, **more: Any) -> Run:
        return Run(
            run_id=self.run_id,
            pipeline=self.pipeline.name,
            status=status,
            started_at=instant(self.now),
            duration_ms=self._taken(),
            actor_id=self.graph.actor,
            digest=self.digest,
            inputs=self.inputs,
            attempts=self.attempts,
            **more,
        )

    def _keep_progress(self, found: Mapping[str, Any] | None) -> None:
        at = instant(datetime.now(UTC))
        owner = lease.process_owner()
        keep(self.graph, self._record("running", branch=self.branch, progress=found, updated_at=at, owner=owner))

    def _kept(self, run: Run) -> Run:
        run = replace(run, duration_ms=self._taken(), attempts=self.attempts)
        if run.status != "dry_run":
            keep(self.graph, run)
        return run

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """A run that raises is on record too, before the error goes on."""
        try:
            yield
        except OmnigraphError as error:
            late = isinstance(error, TimedOut)
            if late or not self.loaded:
                self._drop_branch()
            if not self.options.dry_run:
                status: Status = "timed_out" if late else "failed"
                self._kept(self._record(status, message=error.message, branch=self.branch))
            raise

    def _drop_branch(self) -> None:
        """The branch of this run contains nothing that a person would look into: no load, or one that was ended."""
        if self.branch is not None:
            with suppress(OmnigraphError):
                with suppress(NotFound):
                    self.graph.branches.delete(self.branch)
                self.branch = None

    def _taken(self) -> int:
        return int((time.monotonic() - self.begin) * 1_000)


def _state(run: Run) -> str:
    return f"{'is running' if run.status == 'running' else f'ended as {run.status}'} (run {run.run_id})"


def _counts(done: LoadResult) -> dict[str, Any]:
    return {
        "commit_id": done.commit_id,
        "runner": done.runner,
        "nodes": dict(done.nodes),
        "edges": dict(done.edges),
        "rejected": dict(done.rejected),
    }
