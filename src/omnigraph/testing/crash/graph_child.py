"""Child processes that do one thing with a real graph under failpoints: write, change the schema, maintain."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from omnigraph.assembly import open
from omnigraph.engine.api.access import access
from omnigraph.engine.api.copies import pull, push
from omnigraph.engine.api.graph import Graph
from omnigraph.errors import OmnigraphError, RecoveryRequired, Retry
from omnigraph.settings import Settings
from omnigraph.storage.base import failpoints
from omnigraph.testing.crash.processes import Child, answer_file


@dataclass(frozen=True, slots=True)
class Job:
    """What a child does with the graph at `root`."""

    root: str
    settings: Settings
    failpoints: str
    verb: str
    argument: str
    answer: str


class GraphChild(Child):
    """One verb on one graph; failpoints count from after the opening."""

    def __init__(self, root: Path, settings: Settings, spec: str, verb: str, argument: str = "") -> None:
        answer = answer_file(root.parent)
        super().__init__(_perform, Job(str(root), settings, spec, verb, argument, str(answer)), answer)


def _apply(graph: Graph, schema: str) -> str | None:
    done = graph.schema.apply(schema)
    return None if done.commit is None else done.commit.graph_commit_id


def _load(graph: Graph, records: str) -> str | None:
    return graph.load(records.encode(), mode="merge").commit_id


def _churn(graph: Graph, argument: str) -> str | None:
    """Many small commits, each tried again until it lands; `name:count` says which rows."""
    name, _, count = argument.partition(":")
    commit = None
    for number in range(int(count)):
        while True:
            try:
                commit = _load(graph, f'{{"type":"Person","data":{{"name":"{name}{number}"}}}}')
                break
            except (Retry, RecoveryRequired):
                continue
    return commit


def _mutate_each(graph: Graph, argument: str) -> str | None:
    """One mutation with many parameters, each as a commit of its own and none tried again by this process."""
    job = json.loads(argument)
    commit = None
    for params in job["params"]:
        commit = graph.mutate(job["source"], params=params).commit_id
    return commit


def _transaction(graph: Graph, argument: str) -> str | None:
    """One person inserted inside a transaction."""
    with graph.transaction() as tx:
        tx.mutate("query q($n: String) { insert Person { name: $n } }", params={"n": argument})
    return None if tx.result is None or tx.result.commit is None else tx.result.commit.graph_commit_id


def _optimize(graph: Graph, _argument: str) -> str | None:
    graph.optimize()
    return None


def _cleanup(graph: Graph, _argument: str) -> str | None:
    graph.cleanup(keep=1, confirm=True)
    return None


def _open(graph: Graph, _argument: str) -> str | None:
    return open(graph.uri, settings=access(graph).store.settings).commits.head()


def _push(graph: Graph, argument: str) -> str | None:
    """A branch to a clone; `place:branch` says where and which."""
    place, _, branch = argument.rpartition(":")
    return push(graph.uri, place, branch=branch).head


def _pull(graph: Graph, argument: str) -> str | None:
    """A branch of a clone; `place:branch` says where and which."""
    place, _, branch = argument.rpartition(":")
    return pull(graph.uri, place, branch=branch).head


VERBS: dict[str, Callable[[Graph, str], str | None]] = {
    "apply": _apply,
    "load": _load,
    "churn": _churn,
    "mutate_each": _mutate_each,
    "transaction": _transaction,
    "optimize": _optimize,
    "cleanup": _cleanup,
    "open": _open,
    "push": _push,
    "pull": _pull,
}


def _perform(job: Job) -> None:
    answer: dict[str, str | None]
    # A graph that is opened for the verb must not be recovered before it.
    graph = open(job.root, read_only=job.verb == "open", settings=job.settings)
    with failpoints.armed(job.failpoints):
        try:
            answer = {"commit": VERBS[job.verb](graph, job.argument)}
        except OmnigraphError as error:
            answer = {"error": type(error).__name__}
    Path(job.answer).write_text(json.dumps(answer))
