"""Constants: known parameters become constants, and arithmetic on constants becomes its result."""

from __future__ import annotations

import math
from typing import Any

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.passes.context import Context
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.compiler.ir.walk import rebuild
from omnigraph.compiler.types import INTEGER_RANGE

_LOW, _HIGH = INTEGER_RANGE["I64"]


def bind_constants(plan: ReadPlan, context: Context) -> ReadPlan:
    """The plan with every value that is known already in its place."""

    def bound(node: Any) -> Any:
        node = rebuild(node, bound)
        if isinstance(node, ir.Param) and node.name in context.values:
            value = context.values[node.name]
            return ir.Const(tuple(value) if isinstance(value, list) else value, node.type)
        if isinstance(node, ir.Arithmetic):
            return folded(node)
        return node

    return rebuild(plan, bound)


def folded(node: ir.Arithmetic) -> ir.Expr:
    """The result of arithmetic on two constants; the same node where there is none."""
    if not (isinstance(node.left, ir.Const) and isinstance(node.right, ir.Const)):
        return node
    left, right = node.left.value, node.right.value
    if left is None or right is None:
        return ir.Const(None, node.type)
    assert isinstance(left, int | float)
    assert isinstance(right, int | float)
    if node.type.scalar == "F64":
        # Exactly what evaluation does: both sides become doubles first.
        left, right = float(left), float(right)
    value = _computed(node.op, left, right)
    if value is not None and not _representable(value):
        return node  # evaluation reports it, with the row's context
    return ir.Const(value, node.type)


def _computed(op: str, left: float, right: float) -> float | None:
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case _ if right == 0:
            return None
        case "/":
            return left / right
        case _:
            return _remainder(left, right)


def _remainder(left: float, right: float) -> float:
    """The remainder with the sign of the dividend, as in Arrow and SQL."""
    if isinstance(left, int) and isinstance(right, int):
        return left - right * (abs(left) // abs(right)) * (1 if (left < 0) == (right < 0) else -1)
    return math.fmod(left, right)


def _representable(value: float) -> bool:
    return _LOW <= value <= _HIGH if isinstance(value, int) else math.isfinite(value)
