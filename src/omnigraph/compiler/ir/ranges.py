"""Which values an integer expression can have, and whether computing it can overflow."""

from __future__ import annotations

from typing import TypeAlias

from omnigraph.compiler.functions import FUNCTIONS
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.walk import expressions
from omnigraph.compiler.types import INTEGER, INTEGER_RANGE, PropType

Range: TypeAlias = tuple[int, int]

_LOW, _HIGH = INTEGER_RANGE["I64"]


def can_fail(*nodes: object) -> bool:
    """Whether anything in expressions, conditions or operators may have no value for some row."""
    return any(_fails(part) for node in nodes for part in expressions(node))


def _fails(part: object) -> bool:
    match part:
        case ir.Arithmetic():
            return _can_overflow(part)
        case ir.Function(name):
            return FUNCTIONS[name].fails or any(_narrows(part, at) for at in range(len(part.args)))
        case ir.Choice(type=kind):
            return kind.scalar == "I64" and any(_is_unsigned(each) for each in (*part.values, part.otherwise))
        case _:
            return False


def _narrows(call: ir.Function, at: int) -> bool:
    """Whether an argument is taken as a signed integer that may be none."""
    kind = FUNCTIONS[call.name].param(at).kind
    narrow = kind in ("Integer", "Number") or (kind == "T" and call.type.scalar != "U64")
    return narrow and _is_unsigned(call.args[at])


def _is_unsigned(expr: ir.Expr) -> bool:
    return isinstance(expr.type, PropType) and expr.type.scalar == "U64" and not expr.type.list


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
