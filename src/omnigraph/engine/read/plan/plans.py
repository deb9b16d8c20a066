"""The plan of a compiled read for one view, remembered: row counts decide its order, parameter values do not."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from omnigraph.compiler.compile import CompiledQuery
from omnigraph.compiler.ir.ops import Plan, ReadPlan
from omnigraph.compiler.ir.optimize import optimize
from omnigraph.compiler.ir.passes.context import Context
from omnigraph.engine.read.frames.expected import Expected, expected_rows
from omnigraph.engine.read.plan.estimates import SnapshotEstimates
from omnigraph.engine.read.plan.outline import Outline, outline
from omnigraph.engine.views.view import View

_REMEMBERED = 512


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, how many rows each of its operators is expected to yield, and its outline."""

    plan: ReadPlan
    expected: Expected
    outline: Outline


def plan_for(view: View, compiled: CompiledQuery, values: Mapping[str, Any]) -> ReadPlan:
    """The compiled plan in the best order for this view."""
    return planned(view, compiled, values).plan


def planned(view: View, compiled: CompiledQuery, values: Mapping[str, Any]) -> Planned:
    """The same with its estimates; parameters stay parameters, only the lengths of lists matter."""
    lengths = {name: len(value) for name, value in values.items() if isinstance(value, list | tuple)}
    # The order of magnitude is enough, and every further distinction is a plan to make and to keep.
    shape = tuple(sorted((name, length.bit_length()) for name, length in lengths.items()))
    state = (view.tables.canonical, view.branch, view.version, view.head, view.catalog.ir_hash)
    key = (id(compiled.plan), state, shape)
    found = _PLANS.get(key, compiled.plan)
    if found is None:
        estimates = SnapshotEstimates(view, lengths)
        plan = cast("ReadPlan", optimize(compiled.plan, Context(estimates)))
        found = Planned(plan, expected_rows(plan, estimates), outline(plan))
        _PLANS.put(key, compiled.plan, found)
    return found


class _Plans:
    """Finished plans, least recently used out first; the compiled plan is kept too, so that its id stays its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[Hashable, tuple[Plan, Planned]] = OrderedDict()

    def get(self, key: Hashable, compiled: Plan) -> Planned | None:
        with self._lock:
            held = self._held.get(key)
            if held is None or held[0] is not compiled:
                return None
            self._held.move_to_end(key)
            return held[1]

    def put(self, key: Hashable, compiled: Plan, plan: Planned) -> None:
        with self._lock:
            self._held[key] = (compiled, plan)
            self._held.move_to_end(key)
            while len(self._held) > _REMEMBERED:
                self._held.popitem(last=False)


_PLANS = _Plans()
