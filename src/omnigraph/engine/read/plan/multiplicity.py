"""Whether an answer depends on how often a row of the match occurs; if not, equal rows may collapse on the way.

Where it depends on nothing but the number of equal rows, they are counted instead of being made.
"""

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
    LeftJoin,
    Mark,
    NodeScan,
    Project,
    Sort,
)
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.compiler.types import INTEGER, PropType

_SETWISE = ("min", "max")
_COUNTED_OPS = (NodeScan, Expand, ExpandTest, Filter, AntiJoin, Mark, LeftJoin, Either)


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


def counts_rows(plan: ReadPlan) -> bool:
    """Whether equal rows may be carried on as one with their number: they are grouped first of all, and counted."""
    if plan.source is not None or plan.parts or not plan.result:
        return False
    if not all(isinstance(op, _COUNTED_OPS) for op in plan.match):
        return False
    first = plan.result[0]
    return isinstance(first, Aggregate) and all(is_countable(column.expr) for column in first.columns)


def is_countable(expr: ir.Expr) -> bool:
    """Whether a column of an aggregate depends on which rows there are and how often, but not on their order."""
    if not isinstance(expr, ir.AggregateCall) or _is_setwise(expr) or expr.function == "count":
        return True
    # Doubles are added up in an order of their own.
    return expr.function in ("sum", "avg") and not expr.distinct and _is_integer(expr.arg)


def _is_integer(expr: ir.Expr | None) -> bool:
    return expr is not None and isinstance(expr.type, PropType) and expr.type.scalar in INTEGER and not expr.type.list


def _is_setwise(expr: ir.Expr) -> bool:
    if not isinstance(expr, ir.AggregateCall):
        return True  # a group key
    return expr.function in _SETWISE or (expr.function == "count" and expr.distinct)
