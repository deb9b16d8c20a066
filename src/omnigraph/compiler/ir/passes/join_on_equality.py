"""A scan beside other rows joins on equalities instead of multiplying first and filtering afterwards."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Filter, MatchOp, NodeScan
from omnigraph.compiler.ir.passes.context import Context
from omnigraph.compiler.ir.pattern import map_match
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.compiler.ir.walk import variables


def join_on_equality(plan: ReadPlan, context: Context) -> ReadPlan:
    """The plan with equality filters that directly follow a scan inside that scan."""
    return map_match(plan, lambda ops, _: _joined(ops))


def _joined(ops: tuple[MatchOp, ...]) -> tuple[MatchOp, ...]:
    joined: list[MatchOp] = []
    scan_at: int | None = None
    for op in ops:
        scan = joined[scan_at] if scan_at is not None else None
        if isinstance(op, Filter) and isinstance(scan, NodeScan) and _joins(op.condition, scan.var):
            assert scan_at is not None
            joined[scan_at] = replace(scan, joins=(*scan.joins, op.condition))
            continue
        if isinstance(op, NodeScan):
            scan_at = len(joined)
        elif not isinstance(op, Filter):
            scan_at = None
        joined.append(op)
    return tuple(joined)


def _joins(condition: ir.Condition, var: str) -> bool:
    match condition:
        case ir.SameNode(left, right, False):
            return var in (left.var, right.var) and left.var != right.var
        case ir.Compare("=", ir.Property() as left, ir.Property() as right):
            # Different numeric widths compare by mathematical value, which a plain hash join would not.
            return variables(condition) > {var} and left.type.scalar == right.type.scalar
        case _:
            return False
