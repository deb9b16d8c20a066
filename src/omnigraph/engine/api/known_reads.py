"""Reads whose answers are in memory: a server gives them at once instead of handing them to another thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnigraph.compiler.source import Source
from omnigraph.engine.api.branch_reader import BranchReader
from omnigraph.engine.api.drawn_results import pictured_by
from omnigraph.engine.read.frames.budget import Limits
from omnigraph.engine.read.query import ReadCall, run_known
from omnigraph.engine.read.shape.result import Result
from omnigraph.engine.views.targets import branch_named


def answer_known(
    graph: BranchReader,
    source: Source,
    name: str | None,
    params: Mapping[str, Any] | None,
    *,
    branch: str | None = None,
    limits: Limits | None = None,
) -> Result | None:
    """What `graph.query` would answer, if all it takes is in memory and nothing was published since; None otherwise.

    It opens no file of a table, compiles and plans nothing, and waits for no other thread. What a direct read answers
    (decision 0058) takes less than a millisecond that way, but the JSON of so many rows takes longer.
    """
    core, call = graph._core, ReadCall(source, name, params, limits=limits)
    known = core.known_view(branch_named(branch, graph._branch))
    if known is None:
        return None
    state, view = known
    return run_known(view, call, pictured_by(core, graph._runners, state, call))
