"""Constants that are computed before a query runs: what stands as the default of a parameter."""

from __future__ import annotations

from typing import Any

from omnigraph.compiler.functions import FUNCTIONS, Failure
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.passes.bind_constants import folded
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check.operands import Place, operand
from omnigraph.compiler.query.check.scope import Scope
from omnigraph.compiler.temporal import Date, DateTime

_PLACE = Place("a default", aggregate_code="T27", blob_param_code="T7")


def folded_default(expr: ast.Expr, scope: Scope) -> ast.Expr:
    """A default as the literal that it comes to; a literal stays what it is."""
    if isinstance(expr, ast.Literal | ast.ListLiteral):
        return expr
    found = operand(expr, scope, _PLACE)
    try:
        value = _value(found)
    except Failure as failure:
        raise scope.error("T3", str(failure), expr.span) from None
    if value is NotImplemented:
        message = "a default is computed from literals alone"
        raise scope.error("T27", message, expr.span, "make the parameter optional, and use coalesce($parameter, …)")
    return _literal(value, expr)


def _value(expr: ir.Expr) -> Any:
    match expr:
        case ir.Const(value):
            return value
        case ir.Arithmetic():
            sides = [_value(side) for side in (expr.left, expr.right)]
            if NotImplemented in sides:
                return NotImplemented
            constants = [ir.Const(value, side.type) for value, side in zip(sides, (expr.left, expr.right), strict=True)]  # type: ignore[arg-type]
            computed = folded(ir.Arithmetic(expr.op, constants[0], constants[1], expr.type))
            if not isinstance(computed, ir.Const):
                raise Failure(f"integer overflow in '{expr.op}'")
            return computed.value
        case ir.Function(name, args) if name not in ("coalesce", "nullif"):
            values = [_value(arg) for arg in args]
            if NotImplemented in values:
                return NotImplemented
            return None if None in values else FUNCTIONS[name].compute(*values)
        case _:
            return NotImplemented


def _literal(value: Any, expr: ast.Expr) -> ast.Expr:
    match value:
        case tuple():
            return ast.ListLiteral(tuple(_literal(item, expr) for item in value), expr.span)
        case Date():
            return ast.Literal(str(value), "date", expr.span)
        case DateTime():
            return ast.Literal(str(value), "datetime", expr.span)
        case bool():
            return ast.Literal(value, "bool", expr.span)
        case int():
            return ast.Literal(value, "int", expr.span)
        case float():
            return ast.Literal(value, "float", expr.span)
        case str():
            return ast.Literal(value, "string", expr.span)
        case _:
            return ast.Literal(None, "null", expr.span)
