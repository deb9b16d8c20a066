"""Every connected part of a pattern is entered at the variable with the fewest estimated rows."""

from __future__ import annotations

from math import prod
from typing import Any

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.compose import compose
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.ops import MatchOp
from omnigraph.compiler.ir.passes.context import Context
from omnigraph.compiler.ir.pattern import Pattern, decompose, map_match
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.compiler.types import union_members


def choose_start(plan: ReadPlan, context: Context) -> ReadPlan:
    """The plan with its scans on the most selective anchors; hops keep their order."""

    def started(ops: tuple[MatchOp, ...], bound: frozenset[str]) -> tuple[MatchOp, ...]:
        pattern = decompose(ops, bound)
        written = {link: at for at, link in reversed(list(enumerate(pattern.links)))}

        def start_cost(var: str) -> tuple[Any, ...]:
            return _rows(pattern, var, context), ir.is_hidden(var), var

        def link_cost(link: Link, source: str) -> tuple[Any, ...]:
            return (written[link],)

        return compose(pattern, start_cost, link_cost)

    return map_match(plan, started)


def _rows(pattern: Pattern, var: str, context: Context) -> float:
    estimates, tests = context.estimates, pattern.of(var)
    return sum(
        estimates.rows(name) * prod(estimates.selectivity(name, test) for test in tests)
        for name in union_members(pattern.nodes[var])
    )
