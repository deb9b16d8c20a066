"""Checking of `with`: what a read hands on to the match, or the return, after it."""

from __future__ import annotations

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check.clauses import check_clauses
from omnigraph.compiler.query.check.orders import check_order, check_per
from omnigraph.compiler.query.check.returns import check_count, check_distinguished, check_having, check_return
from omnigraph.compiler.query.check.scope import Scope
from omnigraph.compiler.query.checked import CheckedRead, CheckedStage, Column, RowVar
from omnigraph.compiler.types import PropType


def check_part(read: ast.Read | ast.Stage, scope: Scope, source: CheckedStage | None) -> CheckedRead:
    """One match with its result."""
    clauses = check_clauses(read.clauses, scope)
    known = len(scope.marks)
    columns = check_return(read.items, scope)
    for item, column in zip(read.items, columns, strict=True) if read.distinct else ():
        check_distinguished(column, item.span, scope)
    having = check_having(read.having, columns, scope)
    rank, keys = check_order(read.order, columns, scope, limited=read.limit is not None)
    limit = check_count(read.limit, "limit", scope)
    offset = check_count(read.offset, "offset", scope)
    per = check_per(read.per, columns, scope, distinct=read.distinct)
    clauses = (*clauses, *scope.marks[known:])  # what return and order ask about
    found = (clauses, scope.visible(), columns, rank, keys, limit, offset, read.distinct, having)
    return CheckedRead(*found, source=source, per=per, window_var=scope.fresh("window"))


def check_stage(stage: ast.Stage, scope: Scope, source: CheckedStage | None) -> tuple[CheckedStage, Scope]:
    """A stage, and the scope of what comes after it: the nodes it hands on, and its columns."""
    read = check_part(stage, scope, source)
    for item, column in zip(stage.items, read.columns, strict=True):
        _check_item(item, column, scope)
    var = scope.fresh("stage")
    after = scope.beside()
    after.dropped = scope.dropped | frozenset(scope.visible())
    after.bind(var, RowVar())
    keeps = tuple(column.expr.var for column in read.columns if isinstance(column.expr, ir.Node))
    for name in keeps:
        variable = scope.find(name)
        assert variable is not None
        after.bind(name, variable)
    for column in read.columns:
        kind = column.expr.type
        if isinstance(kind, PropType):
            after.columns[column.name] = ir.Property(var, column.name, kind.with_nullable(column.nullable))
    return CheckedStage(read, var, keeps), after


def _check_item(item: ast.Item, column: Column, scope: Scope) -> None:
    if isinstance(column.expr, ir.Node):
        if not isinstance(item.expr, ast.Var) or item.alias not in (None, item.expr.name):
            message = f"a node or an edge keeps its variable in 'with': write ${column.expr.var} alone"
            raise scope.error("T40", message, item.span)
    elif item.alias is None and not isinstance(item.expr, ast.Alias):
        message = "a value needs a name in 'with', which the next stage reads it by"
        raise scope.error("T40", message, item.span, "add 'as …'")
