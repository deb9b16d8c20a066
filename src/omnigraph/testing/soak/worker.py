"""One worker of the soak: an endless stream of random writes, each logged before, and after it is answered.

Beside them it creates and deletes branches and does what maintenance does; of that only refusals are logged.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from omnigraph.errors import OmnigraphError
from omnigraph.settings import Settings
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches import branches
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.intent.writeset import Delete, Step, StrictInsert, TableWrite, Upsert, WriteSet
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.branch_refs import address_of
from omnigraph.storage.protocol import recovery
from omnigraph.storage.protocol.commit import Committed, commit
from omnigraph.storage.protocol.trim import trim_manifest
from omnigraph.testing.graphs.tiny import TABLES, inserting, open_tiny, rows_of, write

BRANCHES: tuple[str | None, ...] = (None, "b1", "b2")
HOT = "hot"
RACES = 40

Kind = Literal["insert", "hot", "update", "race", "delete"]


@dataclass(frozen=True, slots=True)
class Chaos:
    """How rough the run is, as probabilities."""

    kill: float
    pause: float
    stall: float

    def spec(self) -> str:
        """The failpoints of a worker."""
        return f"*=kill~{self.kill};*=sleep:0.05~{self.pause};*=sleep:1.2~{self.pause / 4}"


@dataclass(frozen=True, slots=True)
class Try:
    """One write as it was attempted; its name is the id of the row it leaves in each of its tables."""

    name: str
    branch: str | None
    tables: tuple[str, ...]
    kind: Kind
    race: str | None = None
    removes: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What a worker is told when it starts."""

    root: str
    log: str
    worker: str
    until: float
    chaos: Chaos
    settings: Settings
    environment: Mapping[str, str]


class Log:
    """An append-only log that survives the death of its writer."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def add(self, event: str, name: str, **details: object) -> None:
        os.write(self._file, (json.dumps({"event": event, "name": name, **details}) + "\n").encode())


def events(directory: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """Everything that was logged below a directory; a line that its writer did not finish is left out."""
    for path in sorted(Path(directory).glob("*.log")):
        for line in path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                yield json.loads(line)


def work(orders: Orders) -> None:
    """Write until the time is up; dies whenever a failpoint says so."""
    os.environ.update(orders.environment)
    random.seed(f"{orders.worker}-{time.time_ns()}")
    store, log = open_tiny(orders.root, orders.settings), Log(orders.log)
    number = 0
    with failpoints.armed(orders.chaos.spec()):
        while time.time() < orders.until:
            number += 1
            chance = random.random()
            if chance < 0.04:
                _aside(log, f"tmp-{orders.worker}-{number}", lambda name: _churn(store, name))
            elif chance < 0.08:
                _aside(log, f"tidy-{orders.worker}-{number}", lambda _: _tidy(store))
            else:
                _write(store, log, _choose(f"{orders.worker}-{number}"))


def _choose(name: str) -> Try:
    touched = tuple(key for key in TABLES if random.random() < 0.6) or (random.choice(TABLES),)
    kind: Kind = random.choice(("insert", "insert", "insert", "hot", "update", "race", "delete"))
    race = f"race-{random.randrange(RACES)}" if kind == "race" else None
    removes = f"{name}-trash" if kind == "delete" else None
    return Try(name, random.choice(BRANCHES), touched, kind, race, removes)


def _write(store: Store, log: Log, attempt: Try) -> None:
    if attempt.removes is not None:
        try:
            write(store, inserting([attempt.removes], *attempt.tables), attempt.branch)
        except OmnigraphError:
            return
    log.add("try", **asdict(attempt))
    try:
        done = commit(store, attempt.branch, lambda _txn: _write_set(attempt, _txn))
    except OmnigraphError as error:
        log.add("refused", attempt.name, error=type(error).__name__, text=str(error))
        time.sleep(random.uniform(0, 0.05))
    except Exception as error:
        log.add("broken", attempt.name, error=repr(error))
        raise
    else:
        log.add("ack", attempt.name, commit=_commit_id(done))


def _commit_id(done: Committed) -> str | None:
    return None if done.commit is None else done.commit.graph_commit_id


def _write_set(attempt: Try, _txn: Txn) -> WriteSet:
    return WriteSet(
        writer_kind="Mutation",
        tables=tuple(TableWrite(key, _steps(attempt)) for key in attempt.tables),
        actor_id=attempt.name,
        reads={},
    )


def _steps(attempt: Try) -> tuple[Step, ...]:
    marker = rows_of([attempt.name], op=attempt.name)
    match attempt.kind:
        case "insert":
            return (StrictInsert(marker),)
        case "hot" | "update":
            return (Upsert(rows_of([attempt.name, HOT], op=attempt.name)),)
        case "race":
            assert attempt.race is not None
            return (StrictInsert(rows_of([attempt.name, attempt.race], op=attempt.name)),)
        case "delete":
            return (StrictInsert(marker), Delete(pa.array([attempt.removes], pa.utf8())))


def _aside(log: Log, name: str, work: Callable[[str], None]) -> None:
    """Something beside the writes; it may be refused, but nothing else may happen to it."""
    try:
        work(name)
    except OmnigraphError as error:
        log.add("aside", name, error=type(error).__name__, text=str(error))
    except Exception as error:
        log.add("broken", name, error=repr(error))
        raise


def _churn(store: Store, name: str) -> None:
    """A branch that is created, written and deleted again, if all goes well."""
    branches.create_branch(store, name, source=random.choice(("main", "b1")))
    write(store, inserting([name]), name)
    branches.delete_branch(store, name)


def _tidy(store: Store) -> None:
    """What opening a graph, `optimize` and `cleanup` do to the manifest."""
    branch = random.choice(BRANCHES)
    recovery.sweep(store)
    place = address_of(store.root, branch)
    manifest.compact_manifest(place, whole=True)
    trim_manifest(place, keep=1)
