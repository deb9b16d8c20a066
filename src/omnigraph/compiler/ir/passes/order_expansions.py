"""From each start, the hop that is expected to multiply rows least comes first."""

from __future__ import annotations

from math import prod

from omnigraph.compiler.ir.ops import Link, ReadPlan
from omnigraph.compiler.ir.passes.context import Context
from omnigraph.compiler.ir.pattern import Pattern, compose, decompose, map_match

_FAR = 16


def order_expansions(plan: ReadPlan, context: Context) -> ReadPlan:
    """The plan with its hops in order of estimated growth; starts stay where they are."""

    def least_growth(pattern: Pattern, links: list[Link], frame: frozenset[str]) -> Link:
        return min(links, key=lambda link: (_growth(pattern, link, frame, context), link.edge, link.tail, link.head))

    return map_match(plan, lambda ops, bound: compose(decompose(ops, bound), _first_scan, least_growth))


def _first_scan(pattern: Pattern, unbound: list[str], frame: frozenset[str]) -> str:
    return next(var for var in pattern.scans if var in unbound)


def _growth(pattern: Pattern, link: Link, frame: frozenset[str], context: Context) -> float:
    source = link.tail if link.tail in frame else link.head
    target = link.other(source)
    direction = "both" if link.undirected else ("out" if source == link.tail else "in")
    kept = prod(context.estimates.selectivity(link.type_of(target), test) for test in pattern.of(target))
    kept *= prod(context.estimates.selectivity(link.edge, test) for test in pattern.of(link.edge_var))
    # Far bounds reach everything anyway; the cap keeps the number finite.
    hops = min(link.max_hops, _FAR)
    return float(context.estimates.degree(link.edge, direction) ** hops * kept)
