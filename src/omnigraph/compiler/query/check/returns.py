"""Checking of `return`, `having`, `limit` and `offset`."""

from __future__ import annotations

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check.conditions import check_condition
from omnigraph.compiler.query.check.operands import Place, describe, operand
from omnigraph.compiler.query.check.scope import Scope
from omnigraph.compiler.query.check.values import parameter
from omnigraph.compiler.query.checked import Column
from omnigraph.compiler.types import INTEGER, PropType

_ORDERED = ("String", "Date", "DateTime")


def check_return(items: tuple[ast.Item, ...], scope: Scope) -> tuple[Column, ...]:
    """The result columns, in return order."""
    columns: list[Column] = []
    names: set[str] = set()
    aliases: dict[str, ir.Expr] = {}
    for item in items:
        expr = _item(item, aliases, scope)
        name = item.alias if item.alias is not None else _derived_name(item.expr, expr)
        if name in names:
            raise scope.error("T26", f"two columns are called '{name}'", item.span, "name one of them with 'as'")
        names.add(name)
        columns.append(Column(name, expr, _is_nullable(expr), item.alias))
        if item.alias is not None:
            aliases[item.alias] = expr
    if any(column.is_aggregate for column in columns):
        _check_groupable(items, columns, scope)
    return tuple(columns)


def check_having(
    conditions: tuple[ast.Condition, ...], columns: tuple[Column, ...], scope: Scope
) -> tuple[ir.Condition, ...]:
    """Conditions on the columns that carry a name of their own."""
    aliases: dict[str, ir.Expr] = {
        column.alias: ir.Column(column.name, _column_type(column)) for column in columns if column.alias is not None
    }
    place = Place("having", aggregate_code="T27", aliases=aliases, columns_only=True)
    return tuple(check_condition(condition, scope, place) for condition in conditions)


def _column_type(column: Column) -> ir.ValueType:
    kind = column.expr.type
    return kind.with_nullable(column.nullable) if isinstance(kind, PropType) else kind


def check_count(value: ast.Literal | ast.Var | None, word: str, scope: Scope) -> ir.Const | ir.Param | None:
    """The number after `limit` or `offset`."""
    if value is None:
        return None
    if isinstance(value, ast.Literal):
        assert isinstance(value.value, int)
        return ir.Const(value.value, ir.INT64)
    param = parameter(value.name, scope)
    if param is None:
        message = f"${value.name} is not a parameter of this query"
        raise scope.error("T30", message, value.span, scope.suggest(value.name, scope.params))
    if param.type.scalar not in INTEGER or param.type.list or param.type.nullable:
        raise scope.error("T7", f"'{word}' needs an integer parameter, but ${param.name} is {param.type}", value.span)
    return param


def _item(item: ast.Item, aliases: dict[str, ir.Expr], scope: Scope) -> ir.Expr:
    if isinstance(item.expr, ast.Agg):
        return _aggregate(item.expr, aliases, scope)
    place = Place("a computed column", aggregate_code="T27", rank_allowed=True, aliases=aliases)
    found = operand(item.expr, scope, place)
    if found.type == ir.NULL:
        raise scope.error("T7", "null can be assigned, but not returned", item.span)
    return found


def _aggregate(agg: ast.Agg, aliases: dict[str, ir.Expr], scope: Scope) -> ir.AggregateCall:
    if agg.distinct and agg.name not in ("count", "collect"):
        raise scope.error("T8", f"'distinct' goes with count and collect, not with {agg.name}", agg.span)
    if agg.arg is None:
        return ir.AggregateCall("count", None, False, ir.INT64)
    place = Place("an aggregate", aggregate_code="T8", aliases=aliases)
    arg = operand(agg.arg, scope, place)
    if isinstance(arg, ir.AggregateCall):
        raise scope.error("T8", "aggregates do not nest", agg.span)
    if arg.type == ir.NULL:
        raise scope.error("T8", "null cannot be aggregated", agg.arg.span)
    if agg.name == "count":
        return ir.AggregateCall("count", arg, agg.distinct, ir.INT64)
    if agg.name == "collect":
        return _collected(agg, arg, scope)
    if not isinstance(arg.type, PropType) or not _fits(agg.name, arg.type):
        needed = "numbers" if agg.name in ("sum", "avg") else "numbers, strings or dates"
        raise scope.error("T8", f"{agg.name}(…) works on {needed}, not on {describe(arg)}", agg.arg.span)
    result = ir.FLOAT64 if agg.name in ("sum", "avg") else arg.type.with_nullable(True)
    return ir.AggregateCall(agg.name, arg, False, result)


def _collected(agg: ast.Agg, arg: ir.Expr, scope: Scope) -> ir.AggregateCall:
    kind = arg.type
    if not (isinstance(kind, PropType) and kind.is_plain_scalar):
        assert agg.arg is not None
        help_text = f"collect one of its properties: collect(${arg.var}.id)" if isinstance(arg, ir.Node) else None
        raise scope.error("T8", f"collect(…) works on single values, not on {describe(arg)}", agg.arg.span, help_text)
    return ir.AggregateCall("collect", arg, agg.distinct, PropType(kind.scalar, list=True, enum=kind.enum))


def _fits(function: str, kind: PropType) -> bool:
    return kind.is_numeric or (function in ("min", "max") and not kind.list and kind.scalar in _ORDERED)


def _derived_name(written: ast.Expr, found: ir.Expr) -> str:
    match written:
        case ast.Prop(var, name):
            return f"{var}.{name}"
        case ast.Var(name) | ast.Alias(name) | ast.Call(name) | ast.Agg(name):
            return name
        case ast.Now():
            return "now"
        case _:
            return "literal" if isinstance(found, ir.Const) else "expr"


def _is_nullable(expr: ir.Expr) -> bool:
    match expr:
        case ir.AggregateCall():
            return True
        case ir.Property() | ir.Param() | ir.Arithmetic():
            return expr.type.nullable
        case ir.Node():
            return expr.optional
        case _:
            return False


def _check_groupable(items: tuple[ast.Item, ...], columns: list[Column], scope: Scope) -> None:
    for item, column in zip(items, columns, strict=True):
        if not column.is_aggregate and not isinstance(column.expr, ir.Property | ir.Node | ir.Param | ir.Arithmetic):
            message = "beside an aggregate, a column must be a property, a node or a parameter to group by"
            raise scope.error("T34", message, item.span)
