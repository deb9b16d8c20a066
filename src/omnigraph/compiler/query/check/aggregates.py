"""Typing of aggregates, most of which come down to a few that the engines fold."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.compiler.functions import AGGREGATES
from omnigraph.compiler.functions.aggregates import AggregateInfo
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.walk import expressions
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check.calls import Typed
from omnigraph.compiler.query.check.objects import node_record
from omnigraph.compiler.query.check.scope import Scope
from omnigraph.compiler.query.check.values import describe
from omnigraph.compiler.types import PropType
from omnigraph.display import counted

# What nodes and records can be given to.
_TAKE_OBJECTS = ("collect", "first", "last")
_ORDERED = ("String", "Date", "DateTime")
_NEEDED = {
    "Number": "numbers",
    "Ordered": "numbers, strings or dates",
    "Bool": "truth values",
    "Value": "single values",
}


@dataclass(frozen=True, slots=True)
class _Rows:
    """Which rows count, and the order they are taken in."""

    where: ir.Condition | None
    key: ir.Expr | None


def has_aggregate(expr: ir.Expr) -> bool:
    """Whether an expression is computed from groups."""
    return any(isinstance(part, ir.AggregateCall) for part in expressions(expr))


def check_aggregate(agg: ast.Agg, scope: Scope, typed: Typed) -> ir.Expr:
    """An aggregate over rows; `typed` resolves what stands inside."""
    info = AGGREGATES[agg.name]
    if len(agg.more) != len(info.more):
        what = f"{agg.name}(value, {', '.join(info.more)})" if info.more else f"{agg.name}(value)"
        raise scope.error(
            "T38", f"{agg.name}(…) does not take {counted(1 + len(agg.more), 'argument')}", agg.span, what
        )
    where = None if agg.where is None else _where(agg.where, scope, typed)
    key = None if agg.key is None else _key(agg, agg.key, scope, typed)
    if agg.arg is None:
        return ir.AggregateCall("count", None, False, ir.INT64, where)
    arg = typed(agg.arg)
    if isinstance(arg, ir.Node) and agg.name in _TAKE_OBJECTS:
        arg = node_record(arg, scope)
    if has_aggregate(arg):
        raise scope.error("T8", "aggregates do not nest", agg.span)
    if arg.type == ir.NULL:
        raise scope.error("T8", "null cannot be aggregated", agg.arg.span)
    if info.takes != "Any":
        _check_argument(info, agg.arg, arg, scope)
    if agg.name == "count":
        return ir.AggregateCall("count", arg, agg.distinct, ir.INT64, where)
    return _folded(agg, arg, _Rows(where, key), scope, typed)


def _folded(agg: ast.Agg, arg: ir.Expr, rows: _Rows, scope: Scope, typed: Typed) -> ir.Expr:
    where, key = rows.where, rows.key
    kind = arg.type
    assert isinstance(kind, PropType)
    item = kind.with_nullable(True)
    match agg.name:
        case "sum" | "avg" | "stddev" | "variance":
            return ir.AggregateCall(agg.name, arg, agg.distinct, ir.FLOAT64, where)
        case "min" | "max":
            return ir.AggregateCall(agg.name, arg, False, item, where)
        case "any" | "all":
            return ir.AggregateCall("max" if agg.name == "any" else "min", arg, False, item, where)
    values = ir.AggregateCall("collect", arg, agg.distinct, kind.listed, where, key, agg.descending)
    match agg.name:
        case "collect":
            return values
        case "first" | "last":
            return ir.Function("element", (values, ir.Const(0 if agg.name == "first" else -1, ir.INT64)), item)
        case "mode":
            return ir.Function("list_mode", (values,), item)
        case _:
            share = ir.Const(0.5, ir.FLOAT64) if agg.name == "median" else _share(agg.more[0], scope, typed)
            return ir.Function("list_percentile", (values, share), ir.FLOAT64.with_nullable(True))


def _check_argument(info: AggregateInfo, expr: ast.Expr, arg: ir.Expr, scope: Scope) -> None:
    kind = arg.type
    if info.name in _TAKE_OBJECTS and isinstance(arg, ir.Record):
        return
    single = isinstance(kind, PropType) and kind.is_plain_scalar
    fits = single and (
        info.takes == "Value"
        or (kind.is_numeric and info.takes in ("Number", "Ordered"))  # type: ignore[union-attr]
        or (kind.scalar in _ORDERED and info.takes == "Ordered")  # type: ignore[union-attr]
        or (kind.scalar == "Bool" and info.takes == "Bool")  # type: ignore[union-attr]
    )
    if not fits:
        help_text = f"name one of its properties: {info.name}(${arg.var}.id)" if isinstance(arg, ir.Node) else None
        message = f"{info.name}(…) works on {_NEEDED[info.takes]}, not on {describe(arg)}"
        raise scope.error("T8", message, expr.span, help_text)


def _where(expr: ast.Expr, scope: Scope, typed: Typed) -> ir.Condition:
    found = typed(expr)
    if has_aggregate(found):
        raise scope.error("T8", "aggregates do not nest", expr.span)
    if not (isinstance(found.type, PropType) and found.type.scalar == "Bool" and not found.type.list):
        raise scope.error("T7", f"a condition is true or false, not {describe(found)}", expr.span)
    return ir.as_condition(found)


def _key(agg: ast.Agg, expr: ast.Expr, scope: Scope, typed: Typed) -> ir.Expr:
    if agg.name not in ("first", "last", "collect"):
        raise scope.error("T8", f"'order' goes with first, last and collect, not with {agg.name}", expr.span)
    found = typed(expr)
    if has_aggregate(found):
        raise scope.error("T8", "aggregates do not nest", expr.span)
    if not (isinstance(found.type, PropType) and found.type.is_plain_scalar and found.type != ir.NULL):
        raise scope.error("T27", f"{describe(found)} has no order", expr.span)
    return found


def _share(expr: ast.Expr, scope: Scope, typed: Typed) -> ir.Expr:
    found = typed(expr)
    if not isinstance(found, ir.Const | ir.Param) or not found.type.is_numeric:
        raise scope.error("T7", "the share of a percentile is a number, a literal or a parameter", expr.span)
    if isinstance(found, ir.Const) and not (isinstance(found.value, int | float) and 0 <= found.value <= 1):
        raise scope.error("T3", "the share of a percentile lies between 0 and 1", expr.span)
    return found
