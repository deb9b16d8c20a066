"""The whole read in one place: compile, bind, plan for this view, execute, wrap the rows."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.source import Source
from omnigraph.compiler.temporal import DateTime
from omnigraph.engine.read.execute import execute, match
from omnigraph.engine.read.frames.budget import Budget, Limits, limits_from
from omnigraph.engine.read.frames.explain import Explanation
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.match.expand import traversal_mode
from omnigraph.engine.read.match.leaves import frame_leaf
from omnigraph.engine.read.plan.plans import planned
from omnigraph.engine.read.shape.result import Result
from omnigraph.engine.values.predicate import Bindings
from omnigraph.engine.views.table_tasks import Runner, parse_runner
from omnigraph.engine.views.view import View
from omnigraph.ids import now_micros
from omnigraph.memory.working import reservation

if TYPE_CHECKING:
    from omnigraph.embeddings.provider import Embedder


@dataclass(frozen=True, slots=True)
class ReadCall:
    """One call of a read query: what to run, with which values, and what it may spend."""

    source: Source
    name: str | None = None
    params: Mapping[str, Any] | None = None
    runner: Runner = "auto"
    limits: Limits | None = None
    embedder: Embedder | None = None
    cancel: threading.Event | None = None
    keep_derived: bool = False  # whether derived state may be written beside the graph
    node_ids: bool = False  # whether a returned node is its id instead of an object

    def __post_init__(self) -> None:
        parse_runner(self.runner)


def run_query(view: View, call: ReadCall) -> Result:
    """The rows of a read at one view, computed in this process."""
    memory = view.tables.memory
    compiled = compile_query(call.source, view.catalog, call.name, mutation=False, memory=memory)
    bindings = Bindings.of(compiled.bind(call.params), DateTime(now_micros() // 1_000))
    found = planned(view, compiled, bindings.params)
    limits = limits_from() if call.limits is None else call.limits
    with reservation() as reserved:
        budget = Budget(limits, memory=memory, cancel=call.cancel, reserved=reserved)
        run = Run(
            view, bindings, budget, frame_leaf, match, call.embedder, traversal_mode(), call.keep_derived, call.node_ids
        )
        table = execute(run, found.plan, found.outline)
    run.profile.close()
    explanation = Explanation(found.plan, run.profile, run.reads(), found.expected)
    return Result(compiled.name, view.branch, view.version, view.head, table, explanation)


def explain_query(view: View, call: ReadCall) -> Explanation:
    """The plan a read would run at one view; parameters are optional here."""
    compiled = compile_query(call.source, view.catalog, call.name, mutation=False, memory=view.tables.memory)
    from omnigraph.engine.read.search.access_paths import search_paths  # the only user

    values = {} if call.params is None else compiled.bind(call.params)
    found = planned(view, compiled, values)
    return Explanation(found.plan, expected=found.expected, search=search_paths(view, found.plan))
