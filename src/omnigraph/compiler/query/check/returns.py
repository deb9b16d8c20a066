"""Checking of `return`, `having`, `limit` and `offset`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, cast

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.walk import children, expressions, rebuild, variables
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check.operands import Place, check_condition, operand
from omnigraph.compiler.query.check.scope import Scope
from omnigraph.compiler.query.check.values import parameter
from omnigraph.compiler.query.checked import Column
from omnigraph.compiler.source import Span
from omnigraph.compiler.types import INTEGER, PropType


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
        keys = {column.expr for column in columns if column.is_key}
        columns = [replace(each, expr=settled(each.expr, keys)) if each.is_aggregate else each for each in columns]
        _check_groupable(items, columns, scope)
    return tuple(columns)


def check_having(
    conditions: tuple[ast.Expr, ...], columns: tuple[Column, ...], scope: Scope
) -> tuple[ir.Condition, ...]:
    """Conditions on the columns that carry a name of their own."""
    aliases: dict[str, ir.Expr] = {
        column.alias: ir.Column(column.name, _column_type(column)) for column in columns if column.alias is not None
    }
    grouped = any(column.is_aggregate for column in columns)
    inside = aggregate_place({}) if grouped else None
    place = Place("having", aggregate_code="T27", aliases=aliases, columns_only=True, aggregates=inside)
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


def aggregate_place(aliases: dict[str, ir.Expr]) -> Place:
    """What may stand inside an aggregate."""
    return Place("an aggregate", aggregate_code="T8", aliases=aliases)


def _item(item: ast.Item, aliases: dict[str, ir.Expr], scope: Scope) -> ir.Expr:
    place = Place(
        "a computed column",
        aggregate_code="T27",
        rank_allowed=True,
        aliases=aliases,
        windows=True,
        aggregates=aggregate_place(aliases),
    )
    found = operand(item.expr, scope, place)
    if found.type == ir.NULL:
        raise scope.error("T7", "null can be assigned, but not returned", item.span)
    return found


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
    if isinstance(expr, ir.CONDITIONS):
        return True
    match expr:
        case ir.AggregateCall():
            return True
        case ir.WindowCall():
            return expr.type.nullable
        case ir.Property() | ir.Param() | ir.Arithmetic() | ir.Function() | ir.Choice():
            return expr.type.nullable
        case ir.Node():
            return expr.optional
        case _:
            return False


def _check_groupable(items: tuple[ast.Item, ...], columns: list[Column], scope: Scope) -> None:
    keys = {column.expr for column in columns if column.is_key}
    for item, column in zip(items, columns, strict=True):
        if any(isinstance(part, ir.WindowCall) for part in expressions(column.expr)):
            message = "beside an aggregate there are groups, and a window speaks about rows"
            raise scope.error("T34", message, item.span, "group in a 'with' first, and take the window after it")
        if isinstance(column.expr, ir.RankCall | ir.TextMatch):
            message = "beside an aggregate, a column must be a value to group by"
            raise scope.error("T34", message, item.span)
        if column.is_key:
            check_distinguished(column, item.span, scope)
        if column.is_aggregate and ungrouped(column.expr, keys):
            message = "beside an aggregate, a value must be one of the columns to group by"
            raise scope.error("T34", message, item.span, "return it as a column of its own, or aggregate it")


def check_distinguished(column: Column, span: Span, scope: Scope) -> None:
    """Rows are told apart by single values, nodes and lists, not by an object that was picked from a list."""
    kind = column.expr.type
    if isinstance(kind, PropType) and kind.members is not None and not kind.list:
        message = f"'{column.name}' is an object, and rows are not grouped or compared by objects"
        raise scope.error("T34", message, span, "return one of its values instead, such as its id")


def settled(expr: ir.Expr, keys: Collection[ir.Expr]) -> ir.Expr:
    """The same with properties of nodes to group by as aggregates: they have one value in each group."""
    nodes = {key.var for key in keys if isinstance(key, ir.Node)}

    def known(node: Any) -> Any:
        if isinstance(node, ir.AggregateCall) or (isinstance(node, ir.Expr) and node in keys):
            return node
        if isinstance(node, ir.Property) and node.var in nodes and node.type.is_plain_scalar:
            return ir.AggregateCall("min", node, False, node.type.with_nullable(True))
        return rebuild(node, known)

    return cast("ir.Expr", known(expr))


def ungrouped(expr: object, keys: Collection[ir.Expr]) -> bool:
    """Whether an expression reads something of single rows that is neither aggregated nor a group key."""
    if isinstance(expr, ir.AggregateCall) or expr in keys:
        return False
    if not children(expr):
        return bool(variables(expr)) or isinstance(expr, ir.Score)
    return isinstance(expr, ir.RankCall | ir.TextMatch) or any(ungrouped(part, keys) for part in children(expr))
