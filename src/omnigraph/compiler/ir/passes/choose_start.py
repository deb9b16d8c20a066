"""Every connected part of a pattern is entered at the variable with the fewest estimated rows."""

from __future__ import annotations

from math import prod

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Link, ReadPlan
from omnigraph.compiler.ir.passes.context import Context
from omnigraph.compiler.ir.pattern import Pattern, compose, decompose, map_match
from omnigraph.compiler.ir.walk import variables


def choose_start(plan: ReadPlan, context: Context) -> ReadPlan:
    """The plan with its scans on the most selective anchors; hops keep their order."""

    def fewest_rows(pattern: Pattern, unbound: list[str], frame: frozenset[str]) -> str:
        # A part that an equality ties to the rows at hand comes before an independent one.
        def cost(var: str) -> tuple[bool, float, bool, str]:
            return not _tied(pattern, var, frame), _rows(pattern, var, context), ir.is_hidden(var), var

        return min(unbound, key=cost)

    return map_match(plan, lambda ops, bound: compose(decompose(ops, bound), fewest_rows, first_link))


def first_link(pattern: Pattern, links: list[Link], frame: frozenset[str]) -> Link:
    """The hop that was written first."""
    return links[0]


def _rows(pattern: Pattern, var: str, context: Context) -> float:
    type_name = pattern.nodes[var]
    estimates = context.estimates
    return estimates.rows(type_name) * prod(estimates.selectivity(type_name, test) for test in pattern.of(var))


def _tied(pattern: Pattern, var: str, frame: frozenset[str]) -> bool:
    return any(
        isinstance(condition, ir.Compare | ir.SameNode)
        and var in variables(condition)
        and variables(condition) - {var} <= frame
        for condition in pattern.filters
    )
