"""Which values an integer expression can have, and whether computing it can overflow."""

from __future__ import annotations

from typing import TypeAlias

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.walk import expressions
from omnigraph.compiler.types import INTEGER, INTEGER_RANGE, PropType

Range: TypeAlias = tuple[int, int]

_LOW, _HIGH = INTEGER_RANGE["I64"]


def can_fail(*nodes: object) -> bool:
    """Whether anything in expressions, conditions or operators may overflow for some row."""
    parts = (part for node in nodes for part in expressions(node))
    return any(isinstance(part, ir.Arithmetic) and _can_overflow(part) for part in parts)


def _can_overflow(expr: ir.Arithmetic) -> bool:
    if expr.type.scalar not in INTEGER:
        return False
    sides = (_range(expr.left), _range(expr.right))
    return not all(map(_fits, sides)) or not _fits(_computed(expr.op, *sides))


def _range(expr: ir.Expr) -> Range:
    """The least and the greatest value; of what overflows on the way, those that it can have otherwise."""
    if isinstance(expr, ir.Const) and isinstance(expr.value, int):
        return expr.value, expr.value
    if isinstance(expr, ir.Arithmetic) and expr.type.scalar in INTEGER:
        low, high = _computed(expr.op, _range(expr.left), _range(expr.right))
        return max(low, _LOW), min(high, _HIGH)
    kind = expr.type
    return INTEGER_RANGE.get(kind.scalar, (_LOW, _HIGH)) if isinstance(kind, PropType) else (_LOW, _HIGH)


def _computed(op: str, left: Range, right: Range) -> Range:
    match op:
        case "+":
            return left[0] + right[0], left[1] + right[1]
        case "-":
            return left[0] - right[1], left[1] - right[0]
        case "*":
            corners = [a * b for a in left for b in right]
            return min(corners), max(corners)
        case _:
            # A remainder is no larger than the dividend and has its sign.
            return min(left[0], 0), max(left[1], 0)


def _fits(found: Range) -> bool:
    return found[0] >= _LOW and found[1] <= _HIGH
