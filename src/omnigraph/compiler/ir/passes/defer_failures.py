"""A condition that may overflow fails the query only for rows that nothing else excludes.

It is asked twice: early, where it drops rows like any other condition but lets those pass that it cannot judge, and at
the end of its pipeline, where it fails if such a row is still there. Most integer arithmetic cannot overflow, by the
types of its operands, and is left alone.
"""

from __future__ import annotations

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import AntiJoin, Filter, LeftJoin, MatchOp, NodeScan
from omnigraph.compiler.ir.passes.context import Context
from omnigraph.compiler.ir.pattern import map_match
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.compiler.ir.ranges import can_fail


def defer_failures(plan: ReadPlan, context: Context) -> ReadPlan:
    """The plan with conditions that may overflow split into an early and a late one."""
    return map_match(plan, lambda ops, _: _deferred(ops))


def _deferred(ops: tuple[MatchOp, ...]) -> tuple[MatchOp, ...]:
    failing = [op.condition for op in ops if isinstance(op, Filter) and can_fail(op)]
    if not failing or any(isinstance(op, Filter) and op.late for op in ops) or _is_alone(ops):
        return ops
    early = (Filter(ir.Possibly(op.condition)) if isinstance(op, Filter) and can_fail(op) else op for op in ops)
    return (*early, Filter(ir.And(tuple(failing)), late=True))


def _is_alone(ops: tuple[MatchOp, ...]) -> bool:
    """Whether nothing but the one condition can drop a row."""
    scans = [op for op in ops if isinstance(op, NodeScan) and not op.predicates and not op.joins]
    return len(ops) == len(scans) + 1 and len(scans) <= 1 and not any(isinstance(op, AntiJoin | LeftJoin) for op in ops)
