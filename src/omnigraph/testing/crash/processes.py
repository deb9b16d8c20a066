"""Child processes for protocol tests: forked from a server that has imported everything and done nothing yet."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import util
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any

from omnigraph.errors import OmnigraphError
from omnigraph.settings import Settings
from omnigraph.storage.base import failpoints
from omnigraph.testing.crash import invariants
from omnigraph.testing.graphs import tiny

__all__ = ["Child", "Outcome", "WritingChild", "answer_file", "children", "invariants", "tiny"]

# Lance warns on every fork; the fork server only imports it and never starts its runtime.
warnings.filterwarnings("ignore", message="lance is not fork-safe", category=UserWarning)

_PATIENCE_SECONDS = 300


def children() -> ForkServerContext:
    """A context whose processes start in milliseconds because what they need is imported once for all of them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "omnigraph.testing.crash.graph_child"])
    return context


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a child ended: its commit or its error, or neither when it was killed."""

    exit_code: int | None
    commit: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One write for a child process."""

    root: str
    settings: Settings
    failpoints: str
    verb: str
    ids: tuple[str, ...]
    keys: tuple[str, ...]
    branch: str | None
    answer: str


class Child:
    """A process that does one thing under failpoints and answers; it may be killed, or stop and be resumed."""

    def __init__(self, target: Callable[..., None], job: Any, answer: Path) -> None:
        self._answer = answer
        self.process: ForkServerProcess = children().Process(target=target, args=(job,))
        self.process.start()
        # Python waits for its children at exit, and a stopped one would never end: a failed test must not hang the run.
        util.Finalize(None, _end, args=(self.process,), exitpriority=10)

    def wait_stopped(self) -> None:
        """Return when the process has suspended itself at a `stop` failpoint."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while self._state() != "T":
            if not self.process.is_alive() or time.monotonic() > deadline:
                raise AssertionError("the child did not stop at its failpoint")
            time.sleep(0.005)

    def resume(self) -> Outcome:
        """Let a stopped process go on and wait for its end."""
        assert self.process.pid is not None
        os.kill(self.process.pid, signal.SIGCONT)
        return self.finish()

    def finish(self) -> Outcome:
        """Wait for the end of the process."""
        self.process.join(_PATIENCE_SECONDS)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
            raise AssertionError("the child did not end")
        answer = json.loads(self._answer.read_text()) if self._answer.exists() else {}
        return Outcome(self.process.exitcode, **answer)

    def _state(self) -> str:
        try:
            return Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return "gone"


class WritingChild(Child):
    """A process that performs one write on a tiny graph."""

    def __init__(
        self,
        directory: Path,
        settings: Settings,
        spec: str,
        ids: tuple[str, ...],
        keys: tuple[str, ...] = (),
        *,
        verb: str = "inserting",
        branch: str | None = None,
    ) -> None:
        answer = answer_file(directory)
        job = Job(
            root=str(directory),
            settings=settings,
            failpoints=spec,
            verb=verb,
            ids=ids,
            keys=keys,
            branch=branch,
            answer=str(answer),
        )
        super().__init__(_perform, job, answer)


def _end(process: ForkServerProcess) -> None:
    if process.is_alive():
        process.kill()


def answer_file(directory: Path) -> Path:
    """A new place beside the graph for a child's answer."""
    return directory / f"answer-{time.monotonic_ns()}"


def _perform(job: Job) -> None:
    prepare = getattr(tiny, job.verb)(job.ids, *job.keys, op="child", actor="act-child")
    with failpoints.armed(job.failpoints):
        try:
            done = tiny.write(tiny.open_tiny(job.root, job.settings), prepare, job.branch)
            answer = {"commit": None if done.commit is None else done.commit.graph_commit_id}
        except OmnigraphError as error:
            answer = {"error": type(error).__name__}
    Path(job.answer).write_text(json.dumps(answer))
