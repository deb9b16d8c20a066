"""The proof of one commit at scale: loads through Spark while a reader looks on, with drivers and workers killed.

`python -m omnigraph.testing.one_commit.proof` prints one line per trial and exits with 1 when a promise was broken.
`OMNIGRAPH_ONE_COMMIT=1000000,10000000` sets how many nodes and edges a load has; a tenth of that is there before.
With `--speculation` the loads run on a cluster of two workers, where the first task that writes waits once it has
written, so that Spark starts it a second time on the other worker. With `--dynamic-allocation` the cluster has
executors only while there is something to do.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.engine.values.result import LoadMode
from omnigraph.storage.base import failpoints
from omnigraph.storage.maintenance.strays import referred_files
from omnigraph.storage.protocol.recovery import RECOVERY_ACTOR
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.one_commit.child import ACTOR, state_of
from omnigraph.testing.one_commit.data import MODES, Sizes, State, write_base, write_input
from omnigraph.testing.services.spark_cluster import (
    DYNAMIC_ALLOCATION,
    SPECULATION,
    Cluster,
    driver_environment,
    running_cluster,
)
from omnigraph.testing.services.spark_events import attempts, event_log, twice

Ending = Literal["old", "new"]
_CHILD = "omnigraph.testing.one_commit.child"
_MARK = "OMNIGRAPH_ONE_COMMIT_TRIAL"
_PATIENCE_SECONDS = 900

# The first attempt at the first split ends only when a second one has taken its place.
_SLOW = "load.split_staged_at_first=sleep:600@1"
# No attempt at the first split ends: the load would, or the attempt took the place of another that has still to write.
_ENDLESS = "load.split_staged=sleep:600@1"

# (what happens, at which moment the driver dies, failpoints, what must be left); see `child.drive`.
_ENDINGS: tuple[tuple[str, str, str, Ending], ...] = (
    ("undisturbed", "", "", "new"),
    ("every worker killed once", "", "load.split_staged_at_first=kill", "new"),
    ("driver killed: reading", "stage", "", "old"),
    ("driver killed: writing parts", "written", _ENDLESS, "old"),
    ("driver killed: parts written", "", "load.post_stage=kill", "old"),
    ("driver killed: checking", "check", "", "old"),
    ("driver killed: checked", "", "load.post_checks=kill", "old"),
    ("driver killed: staged in tables", "", "recovery.sidecar_write=kill", "old"),
    ("driver killed: armed", "", "mutation.post_sidecar_pre_fork=kill", "old"),
    ("driver killed: one table committed", "", "mutation.post_table_commit=kill@1", "old"),
    ("driver killed: tables committed", "", "mutation.post_effects_pre_publish=kill", "new"),
    ("driver killed: publishing", "", "publish.pre_commit=kill", "new"),
    ("driver killed: published", "", "publish.after_commit=kill", "new"),
    ("driver killed: tidying up", "", "load.pre_discard=kill", "new"),
)


@dataclass(frozen=True, slots=True)
class Trial:
    """One load with one ending."""

    mode: LoadMode
    what: str
    moment: str
    failpoints: str
    ending: Ending

    @property
    def name(self) -> str:
        return f"{self.mode}, {self.what}"

    @property
    def dies(self) -> bool:
        return self.what.startswith("driver")


@dataclass(slots=True)
class Report:
    """What became of a trial; `problems` is empty when every promise held."""

    trial: Trial
    seconds: float = 0.0
    looks: int = 0
    seen: list[str] = field(default_factory=list)
    commits: int = 0
    told: dict[str, Any] = field(default_factory=dict)
    twice: Counter[str] | None = None
    problems: list[str] = field(default_factory=list)

    def line(self) -> str:
        memory = f"{self.told['driver_mib']} MiB" if "driver_mib" in self.told else ""
        seen = "→".join(self.seen)
        verdict = "; ".join(self.problems) or "ok"
        return (
            f"{self.trial.name:48} {self.seconds:7.1f} s {memory:>9}  {self.looks:5} looks  "
            f"{seen:8} {self.commits} commit(s)  {self._attempted()}{verdict}"
        )

    def _attempted(self) -> str:
        if self.twice is None:
            return ""
        counts = ", ".join(f"{stage} {count}" for stage, count in sorted(self.twice.items()))
        return f"{f'twice: {counts}' if counts else 'no task twice':28}  "


def trials(*, speculation: bool = False) -> Iterator[Trial]:
    """Every mode with every ending; with speculation, the driver that dies while writing does so once two attempts
    have written."""
    for mode in MODES:
        for what, moment, spec, ending in _ENDINGS:
            if speculation:
                if moment == "written":
                    moment = "written twice"
                else:
                    spec = ";".join(filter(None, (_SLOW, spec)))
            yield Trial(mode, what, moment, spec, ending)


def run_trial(
    trial: Trial,
    place: Path,
    base: Path,
    mapping: Path,
    sizes: Sizes,
    *,
    cluster: Cluster | None = None,
    settings: Mapping[str, str] = SPECULATION,
) -> Report:
    """Play one trial on a copy of the base, then recover, compare, tidy up and write once more.

    In a cluster, tasks are speculated, unless there are other settings.
    """
    root, report = place / "graph", Report(trial)
    shutil.copytree(base, root)
    with og.open(root, read_only=True) as graph:
        known = graph.commits.head()
    begin = time.monotonic()
    with watching(root, place, report, sizes.before(), sizes.after(trial.mode)):
        driver = None if cluster is None else (cluster.master, {**settings, **event_log(_events(root))})
        _load(trial, root, mapping, report, driver)
        report.seconds = time.monotonic() - begin
        with og.open(root) as graph:
            graph.refresh()
    judge(trial, root, known, sizes, report)
    tidy(root, report)
    if cluster is not None and settings is SPECULATION:
        report.twice = twice(attempts(_events(root)))
        # Who dies before the first job has no tasks.
        if not report.twice["stage"] and trial.moment != "stage":
            report.problems.append("no task that writes was attempted twice")
    return report


@contextmanager
def watching(root: Path, place: Path, report: Report, old: State, new: State) -> Iterator[None]:
    """A reader in a process of its own; what it has seen goes into the report."""
    seen, stop = place / "seen", place / "stop"
    reader = subprocess.Popen([sys.executable, "-m", _CHILD, "watch", str(root), str(seen), str(stop)])
    try:
        _wait_for(lambda: (seen.exists() and seen.stat().st_size > 0) or reader.poll() is not None)
        yield
    finally:
        stop.touch()
        code = reader.wait()
    if code:
        report.problems.append(f"the reader ended with {code}")
    *states, last = (json.loads(line) for line in seen.read_text().splitlines())
    report.looks = last["looks"]
    for state in states:
        state.pop("commit")
        name = {old: "old", new: "new"}.get(State(**state))
        if name is None:
            report.problems.append(f"the reader saw {state}, which is neither the old state nor the new one")
        elif report.seen[-1:] != [name]:
            report.seen.append(name)
    wanted = ["old", "new"] if report.trial.ending == "new" else ["old"]
    if report.seen != wanted:
        report.problems.append(f"the reader saw {report.seen} instead of {wanted}")


def _load(
    trial: Trial, root: Path, mapping: Path, report: Report, driver: tuple[str, Mapping[str, str]] | None
) -> None:
    """Run the driver of a trial: on a master with settings for Spark, or by itself."""
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    environment = {**os.environ, _MARK: mark, failpoints.ENVIRONMENT: trial.failpoints}
    master = "local[2,4]"
    if driver is not None:
        # Its executors are children of the workers, and get the mark from Spark.
        master, settings = driver
        environment |= driver_environment({**settings, f"spark.executorEnv.{_MARK}": mark})
    command = [sys.executable, "-m", _CHILD, "drive", str(root), str(mapping), trial.mode, trial.moment, master]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    expected = -signal.SIGKILL if trial.dies else 0
    if done.returncode != expected:
        told = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        report.problems.append(f"the driver ended with {done.returncode} instead of {expected}: {told}")
    elif not trial.dies:
        report.told = json.loads(done.stdout)
    # The JVM and its workers notice by themselves that their driver is gone.
    if not _wait_for(lambda: not _marked(mark)):
        report.problems.append(f"processes {_marked(mark)} outlived their driver")


def _events(root: Path) -> Path:
    return root.with_name("events")


def _marked(mark: str) -> list[int]:
    """The processes that a trial has started and that are still there."""
    wanted = f"{_MARK}={mark}".encode()
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and wanted in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def judge(trial: Trial, root: Path, known: str | None, sizes: Sizes, report: Report) -> None:
    """Compare what the graph has, and its history, with what the trial must leave."""
    with og.open(root) as graph:
        wanted = sizes.after(trial.mode) if trial.ending == "new" else sizes.before()
        found = state_of(graph.view())
        if found != wanted:
            report.problems.append(f"the graph has {found}, not {wanted}")
        commits = graph.commits.list(maintenance=True)
        fresh = commits[: next(at for at, commit in enumerate(commits) if commit.graph_commit_id == known)]
        ours = [commit for commit in fresh if commit.actor_id == ACTOR]
        others = [commit for commit in fresh if commit.actor_id not in (ACTOR, RECOVERY_ACTOR)]
        report.commits = len(ours)
        if len(ours) != (trial.ending == "new") or others:
            report.problems.append(f"the history has {[commit.actor_id for commit in fresh]} since the load")
        report.problems += violations(access(graph).store)


def tidy(root: Path, report: Report) -> None:
    """After a cleanup nothing is left of the load but what versions refer to; and the graph takes the next write."""
    with og.open(root) as graph:
        graph.cleanup(keep=1, confirm=True)
        if left := [path.name for path in (root / "__loads").glob("*")]:
            report.problems.append(f"cleanup left {left} in __loads")
        if strays := stray_files(graph):
            report.problems.append(f"cleanup left {len(strays)} stray files, such as {strays[0]}")
        graph.load([{"type": "Person", "data": {"handle": "later", "name": "L", "generation": 3}}], runner="inline")
        if graph.get("Person", "later") is None:
            report.problems.append("a later write is not there")


def stray_files(graph: og.Graph) -> list[str]:
    """Data files in the tables of main that none of their versions refers to."""
    found = []
    for entry in graph.view().snapshot:
        address = entry.address(access(graph).store.root)
        there = {str(path.relative_to(address.uri)) for path in Path(address.uri, "data").rglob("*.lance")}
        found += [f"{entry.table_key} {name}" for name in sorted(there - referred_files(address))]
    return found


def _wait_for(holds: Any) -> bool:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def main(arguments: list[str] | None = None) -> int:
    """Run the trials and print them; the exit code says whether every promise held."""
    parser = argparse.ArgumentParser(prog="python -m omnigraph.testing.one_commit.proof", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[""], help="run trials whose name contains one of these texts")
    parser.add_argument("--speculation", action="store_true", help="on a cluster that attempts tasks twice")
    parser.add_argument("--dynamic-allocation", action="store_true", help="on a cluster whose executors come and go")
    chosen = parser.parse_args(arguments)
    if chosen.speculation and chosen.dynamic_allocation:
        parser.error("choose one of --speculation and --dynamic-allocation")
    settings = DYNAMIC_ALLOCATION if chosen.dynamic_allocation else SPECULATION
    every = trials(speculation=chosen.speculation)
    wanted = [trial for trial in every if any(text in trial.name for text in chosen.only)]
    sizes, failed = Sizes.chosen(), 0
    with ExitStack() as held:
        place = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="omnigraph-one-commit-")))
        clustered = chosen.speculation or chosen.dynamic_allocation
        cluster = held.enter_context(running_cluster(2, connect_server=False)) if clustered else None
        mapping = write_input(place / "input", sizes)
        for mode in {trial.mode: None for trial in wanted}:
            write_base(place / mode, sizes, mode)
        for number, trial in enumerate(wanted):
            (here := place / str(number)).mkdir()
            report = run_trial(trial, here, place / trial.mode, mapping, sizes, cluster=cluster, settings=settings)
            failed += bool(report.problems)
            print(report.line(), flush=True)
            shutil.rmtree(here)
    print(f"{failed} of {len(wanted)} trials broke a promise" if failed else "every promise held")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
