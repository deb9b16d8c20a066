"""Checking of `union`: the reads of its parts, the columns they share, an order and limits for all of their rows."""

from __future__ import annotations

from collections.abc import Callable

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import SortKey
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check.calls import meet
from omnigraph.compiler.query.check.operands import Place, operand
from omnigraph.compiler.query.check.orders import check_orderable
from omnigraph.compiler.query.check.returns import check_count, check_distinguished
from omnigraph.compiler.query.check.scope import Scope
from omnigraph.compiler.query.checked import CheckedRead, Column
from omnigraph.compiler.types import PropType, compatible


def check_union(read: ast.Read, scope: Scope, check_part: Callable[[ast.Read], CheckedRead]) -> CheckedRead:
    """A union of reads; `check_part` checks one of them by itself."""
    first = ast.Read(read.clauses, read.items, distinct=read.distinct, having=read.having, stages=read.stages)
    written = (first, *read.more)
    parts = tuple(check_part(part) for part in written)
    columns = parts[0].columns
    for part, found in zip(written[1:], parts[1:], strict=True):
        columns = _united(columns, found.columns, part, scope)
    for item, column in zip(read.items, columns, strict=True) if not read.union_all else ():
        check_distinguished(column, item.span, scope)
    shown = tuple(Column(each.name, ir.Column(each.name, each.expr.type), each.nullable, each.name) for each in columns)
    keys = tuple(_key(sort, shown, scope) for sort in read.order)
    limit, offset = check_count(read.limit, "limit", scope), check_count(read.offset, "offset", scope)
    return CheckedRead((), {}, shown, None, keys, limit, offset, not read.union_all, (), parts)


def _united(columns: tuple[Column, ...], more: tuple[Column, ...], part: ast.Read, scope: Scope) -> tuple[Column, ...]:
    names, others = [column.name for column in columns], [column.name for column in more]
    if names != others:
        message = f"the parts of a union have the same columns, not {', '.join(names)} and {', '.join(others)}"
        raise scope.error("T39", message, part.items[0].span, "name them alike with 'as', in the same order")
    pairs = zip(columns, more, part.items, strict=True)
    return tuple(_column(column, other, item, scope) for column, other, item in pairs)


def _column(column: Column, other: Column, item: ast.Item, scope: Scope) -> Column:
    kind, found = column.expr.type, other.expr.type
    nullable = column.nullable or other.nullable
    if kind == found:
        return Column(column.name, column.expr, nullable)
    if isinstance(kind, PropType) and isinstance(found, PropType) and compatible(kind, found):
        scalars = {kind.scalar, found.scalar}
        if "U64" not in scalars or len(scalars) == 1:
            shared = meet((kind, found)).with_nullable(nullable)
            return Column(column.name, ir.Column(column.name, shared), nullable)
    message = f"'{column.name}' is {kind} in one part of the union and {found} in another"
    help_text = "convert one of them, for example with to_string(…)" if isinstance(found, PropType) else None
    raise scope.error("T39", message, item.span, help_text)


def _key(sort: ast.Sort, columns: tuple[Column, ...], scope: Scope) -> SortKey:
    aliases = {column.name: column.expr for column in columns}
    place = Place("the order of a union", aggregate_code="T27", aliases=aliases, columns_only=True)
    found = operand(sort.expr, scope, place)
    if isinstance(found, ir.Const):
        raise scope.error("T27", "a constant orders nothing", sort.span)
    check_orderable(sort, found, scope)
    return SortKey(found, sort.direction == "desc")
