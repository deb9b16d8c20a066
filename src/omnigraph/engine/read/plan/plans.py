"""The plan of a compiled read for one view, remembered: row counts decide its order, parameter values do not."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, cast

from omnigraph.compiler.compile import CompiledQuery
from omnigraph.compiler.ir.optimize import optimize
from omnigraph.compiler.ir.passes.context import Context
from omnigraph.compiler.ir.plan import Plan, ReadPlan
from omnigraph.engine.read.frames.expected import Expected, expected_rows
from omnigraph.engine.read.match.leading import expected_starts
from omnigraph.engine.read.plan.estimates import SnapshotEstimates
from omnigraph.engine.read.plan.outline import Outline, any_order, collapsing, outline
from omnigraph.engine.read.plan.refine import refined
from omnigraph.engine.read.plan.route import AnyRoute, route_of
from omnigraph.engine.views.view import View
from omnigraph.memory.cache import CacheKind

_PLAN_BYTES = 16 << 10


@dataclass(slots=True)
class Pace:
    """How long a plan took when it was run last; at first, and where it waited for storage, that is not known."""

    seconds: float = inf

    def remember(self, seconds: float, *, waited: bool) -> None:
        """It was run once more."""
        self.seconds = inf if waited else seconds


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, how many rows each of its operators is expected to yield, and its outline.

    The compiled plan it was made from is kept too, so that its id stays its own.
    """

    compiled: Plan
    plan: ReadPlan
    expected: Expected
    outline: Outline
    route: AnyRoute | None = None  # where it can be answered in one go
    pace: Pace = field(default_factory=Pace, compare=False)


def plan_for(view: View, compiled: CompiledQuery, values: Mapping[str, Any]) -> ReadPlan:
    """The compiled plan in the best order for this view."""
    return planned(view, compiled, values).plan


def planned(view: View, compiled: CompiledQuery, values: Mapping[str, Any]) -> Planned:
    """The same with its estimates; parameters stay parameters, only the lengths of lists matter."""
    lengths = _lengths(values)
    found = _known(view, compiled, lengths)
    if found is None:
        estimates = SnapshotEstimates(view, lengths)
        ordered = cast("ReadPlan", optimize(compiled.plan, Context(estimates)))
        plan = refined(ordered)
        known = replace(outline(plan), any_order=any_order(ordered))
        expected = expected_rows(plan, estimates, collapsing(known), expected_starts(plan, estimates))
        found = Planned(compiled.plan, plan, expected, known, route_of(plan, view.catalog))
        view.tables.memory.cache(_PLANS).put(_key(view, compiled, lengths), found)
    return found


def known_plan(view: View, compiled: CompiledQuery, values: Mapping[str, Any]) -> Planned | None:
    """The same if it was planned before and is still kept."""
    return _known(view, compiled, _lengths(values))


def _known(view: View, compiled: CompiledQuery, lengths: Mapping[str, int]) -> Planned | None:
    found = view.tables.memory.cache(_PLANS).get(_key(view, compiled, lengths))
    return None if found is None or found.compiled is not compiled.plan else found


def _lengths(values: Mapping[str, Any]) -> dict[str, int]:
    return {name: len(value) for name, value in values.items() if isinstance(value, list | tuple)}


def _key(view: View, compiled: CompiledQuery, lengths: Mapping[str, int]) -> Hashable:
    # The order of magnitude is enough, and every further distinction is a plan to make and to keep.
    shape = tuple(sorted((name, length.bit_length()) for name, length in lengths.items()))
    state = (view.tables.canonical, view.branch, view.version, view.head, view.catalog.ir_hash)
    return (id(compiled.plan), state, shape)


_PLANS: CacheKind[Planned] = CacheKind("plans", lambda planned: _PLAN_BYTES, share=1 / 16, entries=512)
