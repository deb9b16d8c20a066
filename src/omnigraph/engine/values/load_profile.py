"""Where the time of a load went: a clock that follows its stages, and what it has measured as data."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from omnigraph.display import Displayed

STAGES = ("start", "read", "unpack", "stage", "keys", "check", "replace", "index", "commit")
"""The stages of a load in their order; a load has those that it needs."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a stage of a load is; `rows` and `bytes` are known when the stage is done."""

    stage: str
    done: int
    total: int
    rows: int = 0
    bytes: int = 0


Report = Callable[[Progress], None]


@contextmanager
def reported(stage: str, report: Report | None) -> Iterator[None]:
    """Tell of a stage without tasks when it begins, and when it is done."""
    if report is not None:
        report(Progress(stage, 0, 1))
    yield
    if report is not None:
        report(Progress(stage, 1, 1))


@dataclass(frozen=True, slots=True, repr=False)
class StageProfile(Displayed):
    """One stage: its share of the wall time, and the tasks that ran in it.

    `answer_bytes` is what tasks have sent to the process that started them.
    """

    name: str
    seconds: float
    tasks: int = 0
    task_seconds: float = 0.0
    longest_task_seconds: float = 0.0
    answer_bytes: int = 0

    @property
    def skew(self) -> float | None:
        """How many times as long as the mean the longest task took; None without tasks."""
        return self.longest_task_seconds * self.tasks / self.task_seconds if self.task_seconds else None

    def to_json(self) -> dict[str, Any]:
        """Every field, numbers rounded to what can be measured."""
        skew = {} if self.skew is None else {"skew": round(self.skew, 2)}
        return {
            "name": self.name,
            "seconds": round(self.seconds, 3),
            "tasks": self.tasks,
            "task_seconds": round(self.task_seconds, 3),
            "longest_task_seconds": round(self.longest_task_seconds, 3),
            "answer_bytes": self.answer_bytes,
            **skew,
        }


@dataclass(frozen=True, slots=True, repr=False)
class LoadProfile(Displayed):
    """A load by stages: rows that were loaded, bytes of them as they were read.

    `resumed` says of a load with `resume` how many splits of its input, and of how many, an interrupted one had staged.
    """

    stages: tuple[StageProfile, ...]
    rows: int = 0
    bytes: int = 0
    resumed: tuple[int, int] | None = None

    def __repr__(self) -> str:
        """Seconds in full: cut off where the line ends, 5.2e-05 would read as five seconds.

        >>> LoadProfile((StageProfile("start", 5.2e-05), StageProfile("read", 1.25)), rows=10)
        LoadProfile(1.250 s for 10 rows: start 0.000 s, read 1.250 s)
        """
        stages = ", ".join(f"{stage.name} {stage.seconds:.3f} s" for stage in self.stages)
        return f"LoadProfile({self.seconds:.3f} s for {self.rows} rows: {stages})"

    @property
    def seconds(self) -> float:
        """All stages together."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def rows_per_second(self) -> float:
        """Rows by the time of all stages."""
        return self.rows / self.seconds if self.seconds else 0.0

    @property
    def bytes_per_second(self) -> float:
        """Bytes by the time of all stages."""
        return self.bytes / self.seconds if self.seconds else 0.0

    def to_json(self) -> dict[str, Any]:
        """The stages, the rates, and what was taken over if that was wanted."""
        resumed = {} if self.resumed is None else {"resumed": dict(zip(("splits", "of"), self.resumed, strict=True))}
        return {
            "seconds": round(self.seconds, 3),
            "rows": self.rows,
            "bytes": self.bytes,
            "rows_per_second": round(self.rows_per_second),
            "bytes_per_second": round(self.bytes_per_second),
            "stages": [stage.to_json() for stage in self.stages],
            **resumed,
        }


@dataclass(slots=True)
class LoadClock:
    """Adds up wall time by stage: a stage inside another stops the outer one, so every moment belongs to one."""

    bytes: int = 0
    resumed: tuple[int, int] | None = None
    _seconds: dict[str, float] = field(default_factory=dict)
    _tasks: dict[str, list[tuple[int, float, float, int]]] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)
    _since: float = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """The time inside the block belongs to this stage."""
        self._turn()
        self._open.append(name)
        self._seconds.setdefault(name, 0.0)
        try:
            yield
        finally:
            self._turn()
            self._open.pop()

    def note_tasks(self, name: str, tasks: int, spent: tuple[float, float], answer_bytes: int) -> None:
        """Some tasks of a stage: how many, their seconds together and those of the longest, bytes of their answers."""
        self._tasks.setdefault(name, []).append((tasks, *spent, answer_bytes))

    def shift(self, name: str, to: str, seconds: float) -> None:
        """Some of the time of a stage that is open belongs to another."""
        self._seconds[name] -= seconds
        self._seconds[to] = self._seconds.get(to, 0.0) + seconds

    def profile(self, rows: int) -> LoadProfile:
        """What was measured so far."""
        order = [*STAGES, *sorted(set(self._seconds) - set(STAGES))]
        stages = tuple(self._stage(name) for name in order if name in self._seconds)
        return LoadProfile(stages, rows, self.bytes, self.resumed)

    def _stage(self, name: str) -> StageProfile:
        runs = self._tasks.get(name, [])
        return StageProfile(
            name,
            self._seconds[name],
            sum(tasks for tasks, *_ in runs),
            sum(spent for _, spent, *_ in runs),
            max((longest for _, _, longest, _ in runs), default=0.0),
            sum(size for *_, size in runs),
        )

    def _turn(self) -> None:
        now = time.perf_counter()
        if self._open:
            self._seconds[self._open[-1]] += now - self._since
        self._since = now
