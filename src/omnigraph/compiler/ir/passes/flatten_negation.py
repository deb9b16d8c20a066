"""A `not` block that only filters is a condition itself, and can be pushed down like one."""

from __future__ import annotations

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import AntiJoin, Filter, MatchOp
from omnigraph.compiler.ir.passes.context import Context
from omnigraph.compiler.ir.pattern import map_match
from omnigraph.compiler.ir.plan import ReadPlan


def flatten_negation(plan: ReadPlan, context: Context) -> ReadPlan:
    """The plan with anti-joins over mere filters turned into filters."""
    return map_match(plan, lambda ops, _: tuple(_flattened(op) for op in ops))


def _flattened(op: MatchOp) -> MatchOp:
    if not isinstance(op, AntiJoin):
        return op
    conditions = [inner.condition for inner in op.ops if isinstance(inner, Filter)]
    if len(conditions) != len(op.ops):
        return op
    if not conditions:
        return Filter(ir.NEVER)  # a block that asserts nothing holds for every row
    return Filter(ir.NotTrue(conditions[0] if len(conditions) == 1 else ir.And(tuple(conditions))))
