"""Branches that earlier runs of a pipeline have left: which of them nothing needs any more, and their end."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import replace

from omnigraph.engine.api.graph import Graph
from omnigraph.errors import OmnigraphError
from omnigraph.pipeline.runs.declared import Pipeline
from omnigraph.pipeline.runs.records import Input, Run, Status, history, keep

_log = logging.getLogger(__name__)
_REFUSED: frozenset[str] = frozenset({"rejected", "conflict"})


def said(pipeline: str, run_id: str) -> str:
    """What the commit of a run's load says, by which it is known again."""
    return f"pipeline {pipeline}, run {run_id}"


def drop_branches(
    graph: Graph, pipeline: Pipeline, statuses: Collection[Status], inputs: tuple[Input, ...], digest: str | None
) -> None:
    """Delete the branches of earlier runs that ended like this, unless others have worked on them.

    Refused data waits for a person until the same input is tried again; what failed or died waits for the next run.
    """
    there = set(graph.branches.list())
    for run in history(graph, pipeline.name):
        if run.branch not in there:
            continue
        there.discard(run.branch)  # an older run with a branch of this name has left another one
        if run.status not in statuses or (run.status in _REFUSED and digest != run.digest and inputs != run.inputs):
            continue
        try:
            if _is_untouched(graph, run):
                graph.branches.delete(run.branch)
                keep(graph, replace(run, branch=None))
        except OmnigraphError as error:  # it is in the way of nothing
            _log.warning("branch '%s' of run %s is left: %s", run.branch, run.run_id, error.message)


def _is_untouched(graph: Graph, run: Run) -> bool:
    """Whether a branch has nothing but the load of its run; one that died may have come to nothing."""
    newest = next(iter(graph.commits.list(run.branch, limit=1, maintenance=True)), None)
    if newest is None or newest.manifest_branch != run.branch:
        return run.status == "lost" or run.commit_id is None
    return newest.graph_commit_id == run.commit_id or newest.message == said(run.pipeline, run.run_id)
