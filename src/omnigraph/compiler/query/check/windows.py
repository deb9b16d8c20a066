"""Typing of windows: values of a row among the rows of its group."""

from __future__ import annotations

from omnigraph.compiler.functions.windows import PLACES, RUNNING, WINDOWS
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check.aggregates import check_aggregate
from omnigraph.compiler.query.check.calls import Typed
from omnigraph.compiler.query.check.scope import Scope
from omnigraph.compiler.query.check.values import describe
from omnigraph.compiler.types import PropType
from omnigraph.display import counted


def check_window(window: ast.Window, scope: Scope, typed: Typed) -> ir.WindowCall:
    """A window over rows; `typed` resolves what stands inside."""
    per = tuple(_key(each, scope, typed) for each in window.per)
    keys = tuple(ir.WindowKey(_key(each.expr, scope, typed), each.descending) for each in window.order)
    if window.name in PLACES:
        return _placed(window, per, keys, scope, typed)
    if window.name not in RUNNING:
        message = f"{window.name}(…) cannot be taken for each row"
        raise scope.error("T8", message, window.span, f"'per' goes with {', '.join(sorted(RUNNING))}")
    if window.distinct:
        raise scope.error("T8", "'distinct' and 'per' do not go together", window.span)
    arg = window.args[0] if window.args else None
    folded = check_aggregate(ast.Agg(window.name, arg, False, window.span, window.args[1:], window.where), scope, typed)
    assert isinstance(folded, ir.AggregateCall)
    kind = folded.type
    assert isinstance(kind, PropType)
    kind = kind if window.name == "count" else kind.with_nullable(True)
    return ir.WindowCall(window.name, folded.arg, per, keys, kind, folded.where)


def _placed(
    window: ast.Window, per: tuple[ir.Expr, ...], keys: tuple[ir.WindowKey, ...], scope: Scope, typed: Typed
) -> ir.WindowCall:
    info = WINDOWS[window.name]
    if not info.least <= len(window.args) <= info.most:
        message = f"{window.name}(…) does not take {counted(len(window.args), 'argument')}"
        raise scope.error("T38", message, window.span, info.call)
    if info.ordered and not keys:
        raise scope.error("T8", f"{window.name}(…) needs an order", window.span, f"it is called as {info.call}")
    if window.where is not None:
        raise scope.error("T8", f"{window.name}(…) takes no 'where'", window.where.span)
    if not window.args:
        return ir.WindowCall(window.name, None, per, keys, ir.INT64)
    arg = typed(window.args[0])
    if not (isinstance(arg.type, PropType) and arg.type != ir.NULL):
        raise scope.error("T8", f"{window.name}(…) works on values, not on {describe(arg)}", window.args[0].span)
    return ir.WindowCall(
        window.name, arg, per, keys, arg.type.with_nullable(True), offset=_offset(window, scope, typed)
    )


def _offset(window: ast.Window, scope: Scope, typed: Typed) -> int:
    if len(window.args) < 2:
        return 1
    found = typed(window.args[1])
    if not (isinstance(found, ir.Const) and isinstance(found.value, int) and 0 <= found.value < 1 << 31):
        raise scope.error("T3", f"how far {window.name}(…) looks is a whole number, 0 or more", window.args[1].span)
    return found.value


def _key(expr: ast.Expr, scope: Scope, typed: Typed) -> ir.Expr:
    found = typed(expr)
    kind = found.type
    if isinstance(kind, PropType) and (kind.list or kind.is_vector or kind == ir.NULL):
        raise scope.error("T27", f"{describe(found)} has no order", expr.span)
    return found
