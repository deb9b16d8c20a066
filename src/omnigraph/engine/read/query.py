"""The whole read in one place: compile, bind, plan for this view, execute, wrap the rows."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from omnigraph.checkpoints import checking
from omnigraph.compiler.compile import CompiledQuery, compile_query, known_query
from omnigraph.compiler.query.params import ParamValue
from omnigraph.compiler.source import Source
from omnigraph.compiler.temporal import DateTime
from omnigraph.cores import spread_over
from omnigraph.engine.read.direct import DirectAnswer, direct_answer, prepare_direct
from omnigraph.engine.read.execute import execute, match
from omnigraph.engine.read.frames.budget import Budget, Limits, limits_from
from omnigraph.engine.read.frames.explain import Explanation
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.match.expand import traversal_mode
from omnigraph.engine.read.match.leaves import frame_leaf
from omnigraph.engine.read.one_by_one import QUICK_READS
from omnigraph.engine.read.plan.plans import Planned, known_plan, planned
from omnigraph.engine.read.shape.result import Pictured, Result
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


def run_query(view: View, call: ReadCall, pictured: Pictured | None = None) -> Result:
    """The rows of a read at one view, computed in this process; compiling and planning take of its time."""
    started = time.monotonic()
    limits = limits_from() if call.limits is None else call.limits
    with checking(Budget(limits, cancel=call.cancel, started=started).check):
        compiled = compile_query(call.source, view.catalog, call.name, mutation=False, memory=view.tables.memory)
        values = compiled.bind(call.params)
        chosen = Chosen(compiled, planned(view, compiled, values), limits, started)
    return run_planned(view, call, chosen, values, pictured)


def run_known(view: View, call: ReadCall, pictured: Pictured | None = None) -> Result | None:
    """The rows of a read if text, plan and rows are in memory, in less than a millisecond; None otherwise.

    The caller is responsible for how many go at a time, and for parameters that are few and short.
    """
    memory = view.tables.memory
    compiled = known_query(call.source, view.catalog, call.name, memory)
    if compiled is None or compiled.is_mutation or view.masked:
        return None
    values = compiled.bind(call.params)
    found = known_plan(view, compiled, values)
    if found is None or found.route is None:
        return None
    direct = direct_answer(memory, found, values, limits_from() if call.limits is None else call.limits)
    return None if direct is None else _direct_result(view, compiled, direct, pictured)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is known about a read before it runs."""

    compiled: CompiledQuery
    found: Planned
    limits: Limits
    started: float | None = None  # when its time began, by the monotonic clock; None is now


def run_planned(
    view: View, call: ReadCall, chosen: Chosen, values: dict[str, ParamValue], pictured: Pictured | None = None
) -> Result:
    """The rows of a read whose plan is known."""
    memory, compiled, found = view.tables.memory, chosen.compiled, chosen.found
    if found.route is not None and (call.cancel is None or not call.cancel.is_set()) and not view.masked:
        with QUICK_READS:
            direct = direct_answer(memory, found, values, chosen.limits)
        if direct is not None:
            return _direct_result(view, compiled, direct, pictured)
    bindings = Bindings.of(values, DateTime(now_micros() // 1_000))
    with reservation() as reserved:
        budget = Budget(chosen.limits, memory=memory, cancel=call.cancel, reserved=reserved, started=chosen.started)
        run = Run(
            view, bindings, budget, frame_leaf, match, call.embedder, traversal_mode(), call.keep_derived, call.node_ids
        )
        spread = spread_over(view.tables.threads, budget.parts_at_once)
        with QUICK_READS.if_quick(found.pace.seconds), checking(budget.check), spread:
            began = time.perf_counter()
            table = execute(run, found.plan, found.outline)
            seconds = time.perf_counter() - began
    prepare_direct(run, found)
    run.profile.close()
    reads = run.reads()
    found.pace.remember(seconds, waited=any(read.rows for read in reads))
    explanation = Explanation(found.plan, run.profile, reads, found.expected)
    return Result(compiled.name, view.branch, view.version, view.head, table, explanation, pictured)


def _direct_result(view: View, compiled: CompiledQuery, direct: DirectAnswer, pictured: Pictured | None) -> Result:
    batch, explanation, row = direct
    return Result(compiled.name, view.branch, view.version, view.head, batch, explanation, pictured, row)


def explain_query(view: View, call: ReadCall) -> Explanation:
    """The plan a read would run at one view; parameters are optional here."""
    compiled = compile_query(call.source, view.catalog, call.name, mutation=False, memory=view.tables.memory)
    from omnigraph.engine.read.search.access_paths import search_paths  # the only user

    values = {} if call.params is None else compiled.bind(call.params)
    found = planned(view, compiled, values)
    return Explanation(found.plan, expected=found.expected, search=search_paths(view, found.plan))
