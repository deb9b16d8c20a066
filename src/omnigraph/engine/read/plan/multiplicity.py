"""Whether an answer depends on how often a row of the match occurs; if not, equal rows may collapse on the way."""

from __future__ import annotations

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import (
    Aggregate,
    AntiJoin,
    Distinct,
    Either,
    Expand,
    ExpandTest,
    Filter,
    Mark,
    NodeScan,
    Project,
    ReadPlan,
    Sort,
)

_SETWISE = ("min", "max")


def ignores_repeats(plan: ReadPlan) -> bool:
    """True only for shapes known to be safe: distinct rows, or aggregates that look at the set of values."""
    if not all(isinstance(op, NodeScan | Expand | ExpandTest | Filter | AntiJoin | Mark | Either) for op in plan.match):
        return False
    for op in plan.result:
        match op:
            case Aggregate(columns):
                return all(_is_setwise(column.expr) for column in columns)
            case Distinct():
                return True
            case Project() | Sort(fetch=None):
                continue
            case _:
                return False
    return False


def _is_setwise(expr: ir.Expr) -> bool:
    if not isinstance(expr, ir.AggregateCall):
        return True  # a group key
    return expr.function in _SETWISE or (expr.function == "count" and expr.distinct)
