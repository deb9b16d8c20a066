"""From each start, the hop that is expected to multiply rows least comes first."""

from __future__ import annotations

from math import prod
from typing import Any

from omnigraph.compiler.ir.compose import compose
from omnigraph.compiler.ir.estimates import reached
from omnigraph.compiler.ir.expr import Condition
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.ops import MatchOp
from omnigraph.compiler.ir.passes.context import Context
from omnigraph.compiler.ir.pattern import Pattern, decompose, map_match
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.compiler.types import union_members


def order_expansions(plan: ReadPlan, context: Context) -> ReadPlan:
    """The plan with its hops in order of estimated growth; starts stay where they are."""

    def ordered(ops: tuple[MatchOp, ...], bound: frozenset[str]) -> tuple[MatchOp, ...]:
        pattern = decompose(ops, bound)
        # Variables are listed as they were introduced, so the first of each part is the start chosen before.
        introduced = {var: at for at, var in enumerate(pattern.nodes)}

        def start_cost(var: str) -> tuple[Any, ...]:
            return (introduced[var],)

        def link_cost(link: Link, source: str) -> tuple[Any, ...]:
            return _growth(pattern, link, source, context), link.edge, link.tail, link.head

        return compose(pattern, start_cost, link_cost)

    return map_match(plan, ordered)


def _growth(pattern: Pattern, link: Link, source: str, context: Context) -> float:
    target = link.other(source)
    kept = prod(_kept(context, link.type_of(target), test) for test in pattern.of(target))
    kept *= prod(_kept(context, link.edge, test) for test in pattern.of(link.edge_var))
    return reached(context.estimates, link, forward=source == link.tail) * kept


def _kept(context: Context, type_name: str, test: Condition) -> float:
    shares = [context.estimates.selectivity(name, test) for name in union_members(type_name)]
    return sum(shares) / max(len(shares), 1)
