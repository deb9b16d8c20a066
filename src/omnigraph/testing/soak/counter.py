"""A soak of writers that must never be refused: each updates a row of its own and one counter that all of them share.

Workers are killed at random and started again; one that starts again finds out first whether its last update landed.
In the end every own row shows the last update of its worker, the counter shows how many there were, and no update was
refused.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess

from omnigraph.assembly import init, open
from omnigraph.engine.api.access import access
from omnigraph.engine.api.graph import Graph
from omnigraph.errors import OmnigraphError
from omnigraph.settings import Settings
from omnigraph.storage.base import failpoints
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.crash.processes import children
from omnigraph.testing.soak.verdict import Verdict
from omnigraph.testing.soak.worker import Log, events

SCHEMA = """
node Worker { name: String @key  done: I64 }
node Counter { name: String @key  n: I64 }
"""
UPDATE = """
query update_both($name: String, $number: I64) {
  update Worker set { done: $number } where name = $name
  update Counter set { n: n + 1 } where name = "all"
}
"""
_LAST_SECONDS = 1_800


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Where it happens (the graph, a directory for logs), who takes part, and how rough it is."""

    root: str
    log: str
    processes: int
    updates: int
    kill: float
    settings: Settings
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def workers(self) -> list[str]:
        """The names of those who take part."""
        return [f"worker{number}" for number in range(self.processes)]


def run_counter(trial: Trial) -> Verdict:
    """Let the workers do their updates, however often they die, and judge what is there."""
    os.environ.update(trial.environment)
    with init(trial.root, SCHEMA, settings=trial.settings) as graph:
        graph.load([{"type": "Worker", "data": {"name": name, "done": 0}} for name in trial.workers])
        graph.load([{"type": "Counter", "data": {"name": "all", "n": 0}}])
    verdict = Verdict()
    crew: dict[str, ForkServerProcess] = {}
    finished: set[str] = set()
    deadline = time.monotonic() + _LAST_SECONDS
    while len(finished) < trial.processes and time.monotonic() < deadline:
        for name in trial.workers:
            if name in crew and crew[name].exitcode == 0:
                finished.add(name)
            elif name not in crew or crew[name].exitcode is not None:
                verdict.counts["processes started"] += 1
                crew[name] = children().Process(target=work, args=(trial, name))
                crew[name].start()
        time.sleep(0.05)
    for name in set(trial.workers) - finished:
        verdict.problems.append(f"{name} did not finish in {_LAST_SECONDS} s")
        crew[name].kill()
        crew[name].join()
    _judge(trial, verdict)
    return verdict


def work(trial: Trial, worker: str) -> None:
    """Do the updates that are left; an error ends the process, and the next one goes on."""
    os.environ.update(trial.environment)
    random.seed(f"{worker}-{time.time_ns()}")
    log = Log(f"{trial.log}/{worker}.log")
    # Opening resolves what the predecessor of this process left.
    with open(trial.root, settings=trial.settings, actor=worker) as graph:
        done = _done(graph, worker)
        with failpoints.armed(f"*=kill~{trial.kill}" if trial.kill else ""):
            while done < trial.updates:
                _update(graph, log, worker, done + 1)
                done = _done(graph, worker)


def _update(graph: Graph, log: Log, worker: str, number: int) -> None:
    name = f"{worker}-{number}"
    log.add("try", name)
    try:
        graph.mutate(UPDATE, params={"name": worker, "number": number})
    except OmnigraphError as error:
        log.add("refused", name, error=type(error).__name__, text=str(error))
    else:
        log.add("ack", name)


def _done(graph: Graph, worker: str) -> int:
    row = graph.get("Worker", worker)
    assert row is not None
    return int(row["done"])


def _judge(trial: Trial, verdict: Verdict) -> None:
    acknowledged: Counter[str] = Counter()
    for event in events(trial.log):
        verdict.counts[{"try": "attempted", "ack": "acknowledged", "refused": "refused"}[event["event"]]] += 1
        if event["event"] == "ack":
            acknowledged[event["name"]] += 1
        if event["event"] == "refused":
            verdict.refusals[event["error"]] += 1
            verdict.problems.append(f"{event['name']} was refused with {event['error']}: {event['text']}")
    verdict.problems += [f"{name} was acknowledged {count} times" for name, count in acknowledged.items() if count > 1]
    with open(trial.root, settings=trial.settings) as graph:
        for name in trial.workers:
            if (done := _done(graph, name)) != trial.updates:
                verdict.problems.append(f"{name} shows {done} updates instead of {trial.updates}")
        counted = graph.get("Counter", "all")
        verdict.counts["counter"] = -1 if counted is None else int(counted["n"])
        if verdict.counts["counter"] != (total := trial.updates * trial.processes):
            verdict.problems.append(f"the counter shows {verdict.counts['counter']} instead of {total}")
        verdict.problems += violations(access(graph).store)
