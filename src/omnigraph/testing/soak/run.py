"""A soak of the commit protocol: many processes write, die and stall at random; afterwards nothing may be missing.

`python -m omnigraph.testing.soak.run --seconds 60 --processes 6 [--root DIR] [--s3]` prints what was attempted,
acknowledged, refused, lost and partial, and exits with 1 when a promise was broken. With `--updates 200` every process
does so many updates of a row of its own and of a counter that all share; none may be refused.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from omnigraph.settings import Settings
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches import branches
from omnigraph.storage.protocol import recovery
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.crash.processes import children
from omnigraph.testing.graphs.tiny import create_tiny, inserting, open_tiny, write
from omnigraph.testing.soak.counter import Trial, run_counter
from omnigraph.testing.soak.verdict import Verdict, judge
from omnigraph.testing.soak.worker import BRANCHES, Chaos, Orders, work

# Short leases, so that a stalled process is given up within the run; waits long enough to outlast a recovery; and so
# few old versions that stalled commits meet a trimmed manifest.
SETTINGS = Settings(
    lease_ttl_ms=600,
    lease_skew_ms=200,
    writer_wait_ms=4_000,
    control_ttl_ms=2_000,
    retire_grace_ms=0,
    manifest_compact_fragments=8,
    manifest_keep_versions=4,
    table_compact_fragments=24,
)
# Writers that may not be refused: killed ones are known to be dead at once, and the wait outlasts any of them.
COUNTED = replace(SETTINGS, lease_ttl_ms=30_000, lease_skew_ms=10_000, reprepare_seconds=600.0)
_DRAIN_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Place:
    """Where a soak happens: the graph's root, a directory for logs, and what reaching the root takes."""

    root: str
    log: Path
    environment: Mapping[str, str]


@dataclass(slots=True)
class Crew:
    """The running workers: dead ones are replaced, some are stalled for longer than their lease."""

    root: str
    log: Path
    chaos: Chaos
    until: float
    environment: Mapping[str, str]
    generation: int = 0
    processes: dict[int, ForkServerProcess] = field(default_factory=dict)
    stalled: dict[int, float] = field(default_factory=dict)

    def keep_going(self, count: int) -> None:
        """One look at the crew."""
        for number in range(count):
            process = self.processes.get(number)
            if process is None or not process.is_alive():
                self._start(number)
        now = time.monotonic()
        for pid, wake in list(self.stalled.items()):
            if now >= wake:
                _signal(pid, signal.SIGCONT)
                del self.stalled[pid]
        if random.random() < self.chaos.stall:
            self._stall(random.choice(list(self.processes.values())))

    def drain(self) -> None:
        """Wake everybody and wait until all have finished their last write."""
        for pid in list(self.stalled):
            _signal(pid, signal.SIGCONT)
        deadline = time.monotonic() + _DRAIN_SECONDS
        for process in self.processes.values():
            process.join(max(0.1, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()

    def _start(self, number: int) -> None:
        self.generation += 1
        orders = Orders(
            root=self.root,
            log=str(self.log / f"{number}-{self.generation}.log"),
            worker=f"{number}.{self.generation}",
            until=self.until,
            chaos=self.chaos,
            settings=SETTINGS,
            environment=self.environment,
        )
        process = children().Process(target=work, args=(orders,))
        process.start()
        self.processes[number] = process

    def _stall(self, process: ForkServerProcess) -> None:
        if process.pid is not None and process.pid not in self.stalled and process.is_alive():
            _signal(process.pid, signal.SIGSTOP)
            self.stalled[process.pid] = time.monotonic() + random.uniform(0.3, 2.5)


def run(place: Place, *, seconds: float, processes: int, chaos: Chaos) -> Verdict:
    """Create a graph, let the crew loose on it, recover, and judge what is there."""
    os.environ.update(place.environment)
    root, log = place.root, place.log
    store = create_tiny(root, SETTINGS)
    write(store, inserting(["hot"]))
    for name in BRANCHES[1:]:
        assert name is not None
        branches.create_branch(store, name)
    crew = Crew(root, log, chaos, time.time() + seconds, place.environment)
    while time.time() < crew.until:
        crew.keep_going(processes)
        time.sleep(0.05)
    crew.drain()
    recovered = _settle(open_tiny(root, SETTINGS))
    verdict = judge(open_tiny(root, SETTINGS), log)
    verdict.problems.extend(violations(open_tiny(root, SETTINGS)))
    verdict.counts["processes started"] = crew.generation
    verdict.counts["recovered at the end"] = recovered
    return verdict


def _settle(store: Store) -> int:
    time.sleep((SETTINGS.lease_ttl_ms + SETTINGS.lease_skew_ms) / 1_000 + 0.2)
    return len(recovery.sweep(store))


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


@contextmanager
def _place(chosen: argparse.Namespace) -> Iterator[Place]:
    scratch = Path(tempfile.mkdtemp(prefix="omnigraph-soak-"))
    (scratch / "log").mkdir()
    try:
        if chosen.s3:
            from omnigraph.testing.services.s3server import running_s3

            with running_s3() as server:
                yield Place(server.fresh_root("soak").uri, scratch / "log", server.environment)
        else:
            yield Place(chosen.root or str(scratch / "graph"), scratch / "log", {})
    finally:
        if not chosen.keep:
            shutil.rmtree(scratch, ignore_errors=True)


def main(arguments: list[str] | None = None) -> int:
    """Run one soak and print the verdict."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--root", default="", help="where to create the graph; a temporary directory when absent")
    parser.add_argument("--s3", action="store_true", help="run against a local SeaweedFS server")
    parser.add_argument("--kill", type=float, default=0.003, help="probability of dying at each hook")
    parser.add_argument("--pause", type=float, default=0.003, help="probability of pausing at each hook")
    parser.add_argument("--stall", type=float, default=0.08, help="probability per look of stopping a process")
    parser.add_argument(
        "--updates", type=int, default=0, help="instead: so many updates of a row of its own and a counter per process"
    )
    parser.add_argument("--keep", action="store_true", help="keep the scratch directory")
    chosen = parser.parse_args(arguments)
    with _place(chosen) as place:
        chaos = Chaos(kill=chosen.kill, pause=chosen.pause, stall=chosen.stall)
        if chosen.updates:
            trial = Trial(
                root=place.root,
                log=str(place.log),
                processes=chosen.processes,
                updates=chosen.updates,
                kill=chosen.kill,
                settings=COUNTED,
                environment=place.environment,
            )
            verdict = run_counter(trial)
        else:
            verdict = run(place, seconds=chosen.seconds, processes=chosen.processes, chaos=chaos)
        print(verdict.text(), flush=True)
        if chosen.keep:
            print(f"root {place.root}, logs {place.log}")
    return 1 if verdict.problems else 0


if __name__ == "__main__":
    sys.exit(main())
