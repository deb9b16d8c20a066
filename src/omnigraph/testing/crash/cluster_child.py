"""A process that applies a cluster under failpoints, for tests that kill it between two steps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from omnigraph.cluster.apply import apply
from omnigraph.storage.base import failpoints
from omnigraph.testing.crash.processes import Child, Outcome, answer_file


@dataclass(frozen=True, slots=True)
class ApplyJob:
    """One apply for a child process."""

    directory: str
    failpoints: str
    answer: str


def apply_and_die(directory: Path, scratch: Path, spec: str) -> Outcome:
    """Apply in a child process that is armed with `spec`, and wait for its end."""
    answer = answer_file(scratch)
    return Child(_apply, ApplyJob(str(directory), spec, str(answer)), answer).finish()


def _apply(job: ApplyJob) -> None:
    with failpoints.armed(job.failpoints):
        apply(job.directory, "act-child")
    Path(job.answer).write_text('{"commit": "applied"}')
