"""Parsing of reads, after their `match`: `return`, `having`, `order`, `limit` and `offset`, in this order."""

from __future__ import annotations

from omnigraph.compiler.lexer import LOWER, VAR
from omnigraph.compiler.query.ast import Alias, Call, Clause, Expr, Item, Literal, Read, Sort, Var
from omnigraph.compiler.query.parse_expression import parse_expr
from omnigraph.compiler.query.parse_literal import QueryCursor


def parse_read(cur: QueryCursor, clauses: tuple[Clause, ...]) -> Read:
    """The body of a read whose match has been parsed."""
    cur.need_word("return")
    distinct = cur.take_word("distinct") is not None
    items = _items(cur)
    having = _having(cur) if cur.take_word("having") is not None else ()
    order = _order(cur) if cur.take_word("order") is not None else ()
    limit = _count(cur) if cur.take_word("limit") is not None else None
    offset = _count(cur) if cur.take_word("offset") is not None else None
    return Read(clauses, items, order, limit, offset, distinct, having)


def _items(cur: QueryCursor) -> tuple[Item, ...]:
    cur.need_punct("{")
    items = [_item(cur, null_is_column=False)]
    null_is_column = items[0].alias == "null"
    while cur.take_punct("}") is None:
        items.append(_item(cur, null_is_column=null_is_column))
        null_is_column = null_is_column or items[-1].alias == "null"
    return tuple(items)


def _item(cur: QueryCursor, *, null_is_column: bool) -> Item:
    start = cur.index
    expr = parse_expr(cur)
    if null_is_column and _is_null(expr):
        expr = Alias("null", expr.span)
    alias = None
    if cur.take_word("as") is not None:
        if cur.kind == LOWER:
            alias, _ = cur.need_lower()
        else:
            # Without a name after it, `as` is the next item: a column of that name.
            cur.expect("a column name (lower-case initial)")
            cur.index -= 1
    item = Item(expr, alias, cur.span_from(start))
    cur.take_punct(",")
    return item


def _having(cur: QueryCursor) -> tuple[Expr, ...]:
    cur.need_punct("{")
    conditions = [parse_expr(cur)]
    while cur.take_punct("}") is None:
        conditions.append(parse_expr(cur))
    return tuple(conditions)


def _order(cur: QueryCursor) -> tuple[Sort, ...]:
    cur.need_punct("{")
    keys = [_sort(cur)]
    while cur.take_punct(",") is not None:
        keys.append(_sort(cur))
    cur.need_punct("}")
    return tuple(keys)


def _sort(cur: QueryCursor) -> Sort:
    start = cur.index
    expr = parse_expr(cur)
    if isinstance(expr, Call) and expr.name == "nearest":
        return Sort(expr, None, cur.span_from(start))  # closest first is the only direction
    if _is_null(expr):
        expr = Alias("null", expr.span)
    direction = None
    for word in ("asc", "desc"):
        if cur.take_word(word) is not None:
            direction = word
            break
    return Sort(expr, direction, cur.span_from(start))


def _count(cur: QueryCursor) -> Literal | Var:
    if cur.kind == VAR:
        name, span = cur.need_var()
        return Var(name, span)
    value, span = cur.need_int("a whole number or a $parameter")
    return Literal(value, "int", span)


def _is_null(expr: Expr) -> bool:
    # A column may be called `null` in the base language; where a column can be meant, it is.
    return isinstance(expr, Literal) and expr.kind == "null"
