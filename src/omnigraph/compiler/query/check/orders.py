"""Checking of `order`: plain keys, keys of groups, and a rank that comes first."""

from __future__ import annotations

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import SortKey
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check.operands import Place, operand
from omnigraph.compiler.query.check.returns import aggregate_place, settled, ungrouped
from omnigraph.compiler.query.check.scope import Scope
from omnigraph.compiler.query.checked import Column, EdgeVar, NodeVar
from omnigraph.compiler.types import PropType

_RANKS = (ir.Nearest, ir.Bm25, ir.Rrf)


def check_order(
    order: tuple[ast.Sort, ...], columns: tuple[Column, ...], scope: Scope, *, limited: bool
) -> tuple[ir.RankCall | None, tuple[SortKey, ...]]:
    """The rank, if the first key is one, and the plain keys."""
    aliases = {column.alias: column.expr for column in columns if column.alias is not None}
    grouped = any(column.is_aggregate for column in columns)
    rank: ir.RankCall | None = None
    keys: list[SortKey] = []
    for position, sort in enumerate(order):
        expr = _key(sort, aliases, scope, grouped=grouped)
        if isinstance(expr, _RANKS):
            rank = _check_rank(sort, expr, position, scope)
        elif rank is not None and grouped:
            raise scope.error("T27", "a ranked query with groups takes no further keys", sort.span)
        else:
            shown = _group_column(sort, expr, columns, scope) if grouped else expr
            check_orderable(sort, shown, scope)
            keys.append(SortKey(shown, sort.direction == "desc"))
    if rank is not None:
        _check_ranked_order(rank, order, scope, limited=limited)
    return rank, tuple(keys)


def check_per(
    written: tuple[ast.Expr, ...], columns: tuple[Column, ...], scope: Scope, *, distinct: bool
) -> tuple[ir.Expr, ...]:
    """What a limit is per: values of rows, or columns once rows have become groups or distinct rows."""
    aliases = {column.alias: column.expr for column in columns if column.alias is not None}
    grouped = any(column.is_aggregate for column in columns)
    place = Place("what a limit is per", aggregate_code="T27", aliases=aliases)
    keys: list[ir.Expr] = []
    for expr in written:
        found = operand(expr, scope, place)
        if isinstance(found.type, PropType) and found.type.members is not None:
            raise scope.error("T27", "a limit is not per object", expr.span, "name one of its values instead")
        if isinstance(found, ir.Const | ir.Param):
            raise scope.error("T27", "a limit per constant is a plain limit", expr.span)
        if grouped or distinct:
            named = expr.name if isinstance(expr, ast.Alias) else None
            shown = next((each for each in columns if each.expr == found or (named and each.alias == named)), None)
            if shown is None:
                message = "with groups or distinct rows, a limit is per column that is returned"
                raise scope.error("T27", message, expr.span, "return it as well")
            found = ir.Column(shown.name, shown.expr.type)
        keys.append(found)
    return tuple(keys)


def _key(sort: ast.Sort, aliases: dict[str, ir.Expr], scope: Scope, *, grouped: bool) -> ir.Expr:
    inside = aggregate_place(aliases) if grouped else None
    place = Place(
        "order", aggregate_code="T27", rank_allowed=True, aliases=aliases, windows=not grouped, aggregates=inside
    )
    match sort.expr:
        case ast.Call(name) if name in ir.TEXT_FUNCTIONS:
            raise scope.error("T27", "a key of order is a value or a rank", sort.span)
        case ast.Var(name) if isinstance(scope.find(name), NodeVar | EdgeVar):
            found = operand(sort.expr, scope, place)
        case ast.Literal() | ast.ListLiteral() | ast.Var() | ast.Now():
            raise scope.error(
                "T27", "a key of order is a property, a column name, a computed value or a rank", sort.span
            )
        case _:
            found = operand(sort.expr, scope, place)
    if isinstance(found, ir.Const) and not isinstance(sort.expr, ast.Alias):
        raise scope.error("T27", "a constant orders nothing", sort.span)
    return found


def _check_rank(sort: ast.Sort, rank: ir.RankCall, position: int, scope: Scope) -> ir.RankCall:
    if position > 0:
        raise scope.error("T27", "a rank can only be the first key of order", sort.span)
    if isinstance(rank, ir.Nearest) and sort.direction == "desc":
        raise scope.error("T27", "nearest comes first; it takes no 'desc'", sort.span)
    return rank


def _check_ranked_order(rank: ir.RankCall, order: tuple[ast.Sort, ...], scope: Scope, *, limited: bool) -> None:
    if not limited and isinstance(rank, ir.Nearest):
        raise scope.error("T17", "ordering by nearest(…) needs a limit", order[0].span, "add 'limit 10', for example")
    if not limited and isinstance(rank, ir.Rrf):
        raise scope.error("T21", "ordering by rrf(…) needs a limit", order[0].span, "add 'limit 10', for example")
    if isinstance(rank, ir.Nearest):
        for sort in order[1:]:
            if isinstance(sort.expr, ast.Alias):
                raise scope.error("T18", "nearest(…) cannot be combined with a column name in order", sort.span)


def _group_column(sort: ast.Sort, expr: ir.Expr, columns: tuple[Column, ...], scope: Scope) -> ir.Expr:
    for column in columns:
        named = isinstance(sort.expr, ast.Alias) and column.alias == sort.expr.name
        if named or (column.is_key and column.expr == expr):
            return ir.Column(column.name, column.expr.type)
    keys = {column.expr for column in columns if column.is_key}
    expr = settled(expr, keys)
    if ungrouped(expr, keys):
        message = "with groups, a key of order is a column name, an aggregate or one of the grouped values"
        raise scope.error("T27", message, sort.span)
    return expr


def check_orderable(sort: ast.Sort, expr: ir.Expr, scope: Scope) -> None:
    """A key of order must be of a type that has one."""
    kind = expr.type
    if isinstance(kind, PropType) and (kind.list or kind.is_vector or kind.members is not None):
        raise scope.error("T27", f"{kind} has no order", sort.span)
