"""The scheduler: simulated processes take turns at every request to storage, and one seed decides everything.

Each task is a thread, but exactly one of them runs at any time: it hands over where it asks storage or sleeps, and the
random numbers of the seed choose who goes on. Time is a number that grows with every request and jumps while all sleep.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

EPOCH = 1_700_000_000.0


class Crashed(BaseException):
    """The process that runs this code is dead; it unwinds without touching anything."""


class Stopped(BaseException):
    """The simulation is over: an invariant was broken, or the run has ended."""


class Broken(AssertionError):
    """An invariant does not hold."""


@dataclass(slots=True)
class Chances:
    """How likely what is at each request; a seed chooses them, so that seeds differ in kind."""

    crash: float = 0.0
    pause: float = 0.0
    lost_request: float = 0.0
    lost_answer: float = 0.0
    repeated: float = 0.0
    late: float = 0.0
    outage: float = 0.0  # the store does not answer this process for a while
    skew: float = 0.0  # how wrong a clock may be, in seconds
    stay: float = 0.5  # the running task goes on without looking for another
    pauses: tuple[float, ...] = (0.2, 1.5, 4.0, 12.0)
    outages: tuple[float, ...] = (0.1, 0.6, 3.0, 8.0)
    crashes_at: tuple[str, ...] = ()  # parts of the names of requests at which crashes are likelier than elsewhere
    faults_at: tuple[str, ...] = ()  # the same for everything else that goes wrong
    focused: float = 1.0

    def at(self, label: str, places: tuple[str, ...]) -> float:
        """How much likelier something is at a request than elsewhere."""
        return self.focused if any(part in label for part in places) else 1.0

    def quiet(self) -> Chances:
        """The same without any fault."""
        return Chances(stay=self.stay)


def _held_lock() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


@dataclass(slots=True, eq=False)
class Task:
    """One thread of a simulated process."""

    name: str
    run: Callable[[], None]
    wake: float = 0.0
    go: threading.Lock = field(default_factory=_held_lock)
    done: bool = False
    daemon: bool = False  # the run does not wait for it


class Reading(NamedTuple):
    """What a process was told about an object, and when."""

    owner: str
    text: str | None
    at: float


class World:
    """One run: its clock, its chance, its tasks and what has happened so far."""

    def __init__(self, seed: int, chances: Chances, *, steps: int, mute: frozenset[int] = frozenset()) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.chances = chances
        self.limit = steps
        self.mute = mute  # numbers of faults to leave out, to find a smaller failure
        self.now = EPOCH
        self.steps = 0
        self.faults = 0
        self.counts: Counter[str] = Counter()
        self.schedule: list[str] = []
        self.failure: BaseException | None = None
        self.tasks: list[Task] = []
        self.running: Task | None = None
        self.living: set[str] = set()  # owners of processes that run
        self.read: dict[tuple[str, str], Reading] = {}  # what each task has read last, by name
        self.late = False
        self._over = threading.Event()
        self._late: list[tuple[float, str, Callable[[], Any]]] = []

    # --- running ---------------------------------------------------------------------------------

    def add(self, name: str, run: Callable[[], None], *, daemon: bool = False, wake: float = 0.0) -> Task:
        """A task that begins when its turn comes."""
        task = Task(name, run, wake=wake, daemon=daemon)
        self.tasks.append(task)
        threading.Thread(target=self._body, args=(task,), name=name, daemon=True).start()
        return task

    def play(self) -> None:
        """Run until every task but daemons has ended, or an invariant is broken; then raise that."""
        self._hand_over(None)
        self._over.wait()
        self._finish()
        if self.failure is not None:
            raise self.failure

    @property
    def draining(self) -> bool:
        """Whether nothing new is begun, because enough has happened."""
        return self.steps >= self.limit

    def fail(self, error: BaseException) -> None:
        """Remember what was broken first."""
        if self.failure is None:
            self.failure = error

    def broken(self, what: str) -> NoReturn:
        """End the run: an invariant does not hold. Nothing that the code under test catches comes of it."""
        self.note(f"BROKEN: {what}")
        self.fail(Broken(what))
        raise Stopped

    def require(self) -> None:
        """Raise when the run is over."""
        if self.failure is not None or self._over.is_set():
            raise Stopped

    def note(self, text: str) -> None:
        """A line of the schedule."""
        name = self.running.name if self.running is not None else "-"
        self.schedule.append(f"{self.steps:>6} {self.now - EPOCH:>9.3f} {name:<12} {text}")

    # --- handing over ----------------------------------------------------------------------------

    def turn(self, label: str) -> None:
        """A request is about to be made: time passes, and perhaps another task goes first."""
        self.require()
        self.steps += 1
        if self.steps > self.limit * 12 + 20_000:
            self.broken("the run does not end: waiting writers are never let through")
        self.now += self.random.uniform(0.002, 0.02)
        self._run_late()
        if self.random.random() >= self.chances.stay:
            self._switch()
        self.note(label)

    def sleep(self, seconds: float) -> None:
        """The running task does nothing for a while."""
        self.require()
        assert self.running is not None
        self.running.wake = self.now + seconds
        self._switch()

    def fault(self, chance: float) -> bool:
        """Whether something goes wrong here; each is numbered, so that it can be left out of a replay."""
        if chance <= 0 or self.draining or self.random.random() >= chance:
            return False
        self.faults += 1
        return self.faults not in self.mute

    def later(self, label: str, action: Callable[[], Any]) -> None:
        """A request that reaches storage only after its sender has given up on it."""
        self._late.append((self.now + self.random.choice((0.05, 1.0, 6.0)), label, action))

    def _run_late(self) -> None:
        due = [entry for entry in self._late if entry[0] <= self.now]
        for entry in due:
            self._late.remove(entry)
            self.note(f"late: {entry[1]}")
            self.counts["late requests"] += 1
            self.late = True  # of somebody who may be dead, not of the task that runs
            entry[2]()
            self.late = False

    def _switch(self) -> None:
        me = self.running
        assert me is not None
        chosen = self._choose()
        if chosen is me:
            return
        self._hand_over(chosen)
        me.go.acquire()
        self.require()

    def _choose(self) -> Task | None:
        live = [task for task in self.tasks if not task.done]
        if all(task.daemon for task in live):
            return None
        ready = [task for task in live if task.wake <= self.now]
        if not ready:
            self.now = min(task.wake for task in live)
            ready = [task for task in live if task.wake <= self.now]
        return ready[int(self.random.random() * len(ready))]

    def _hand_over(self, chosen: Task | None) -> None:
        chosen = chosen or self._choose()
        if chosen is None or self.failure is not None:
            self._over.set()
            return
        self.running = chosen
        chosen.go.release()

    def _body(self, task: Task) -> None:
        task.go.acquire()
        try:
            if not self._over.is_set() and self.failure is None:
                task.run()
        except Stopped:
            pass
        except BaseException as error:
            self.fail(error)
        task.done = True
        if not self._over.is_set():
            self._hand_over(None)

    def _finish(self) -> None:
        """Let every thread that still waits unwind."""
        for task in self.tasks:
            if not task.done and task.go.locked():
                task.go.release()
