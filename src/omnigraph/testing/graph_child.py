"""Child processes that do one thing with a real graph under failpoints: write, change the schema, maintain."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from omnigraph.engine.graph import Graph, open
from omnigraph.errors import OmnigraphError
from omnigraph.storage import failpoints
from omnigraph.storage.settings import Settings
from omnigraph.testing.processes import Child, answer_file


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


VERBS: dict[str, Callable[[Graph, str], str | None]] = {"apply": _apply, "load": _load}


def _perform(job: Job) -> None:
    answer: dict[str, str | None]
    graph = open(job.root, settings=job.settings)
    with failpoints.armed(job.failpoints):
        try:
            answer = {"commit": VERBS[job.verb](graph, job.argument)}
        except OmnigraphError as error:
            answer = {"error": type(error).__name__}
    Path(job.answer).write_text(json.dumps(answer))
