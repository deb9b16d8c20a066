"""Parsing of reads, after their `match`: `return`, `having`, `order`, `limit`, `offset`, and what a `union` adds."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from omnigraph.compiler.lexer import LOWER, VAR
from omnigraph.compiler.query.ast import Alias, Call, Clause, Expr, Item, Literal, Read, Sort, Stage, Var
from omnigraph.compiler.query.parse_clause import parse_clauses
from omnigraph.compiler.query.parse_expression import parse_expr
from omnigraph.compiler.query.parse_literal import QueryCursor

_MOST_STAGES = 64  # each is a level of nesting for every later pass, as MAX_DEPTH says of expressions


def parse_read(cur: QueryCursor, clauses: tuple[Clause, ...]) -> Read:
    """The body of a read whose match has been parsed; what follows `union` belongs to it."""
    first = _part(cur, clauses)
    if not _at_union(cur):
        return first
    parts, every = [first], cur.peek() == (LOWER, "all")
    while _at_union(cur):
        _refuse_own_order(cur, parts[-1])
        if every != (cur.peek() == (LOWER, "all")):
            message = "'union' and 'union all' cannot be mixed"
            cur.fail_at(cur.tokens.span(cur.index), message, help="one word holds for all parts")
        cur.index += 1 + every
        cur.need_word("match")
        cur.columns = frozenset()
        parts.append(_part(cur, parse_clauses(cur)))
    last = parts[-1]
    if last.per:
        cur.fail_at(last.per[0].span, "a limit 'per' holds inside one read, not for a union")
    more = (*parts[1:-1], replace(last, order=(), limit=None, offset=None))
    return replace(first, order=last.order, limit=last.limit, offset=last.offset, more=more, union_all=every)


def _at_union(cur: QueryCursor) -> bool:
    return cur.kind == LOWER and cur.text == "union"


def _refuse_own_order(cur: QueryCursor, part: Read) -> None:
    if part.order or part.limit is not None or part.offset is not None:
        message = "order and limit of a union stand behind its last part"
        cur.fail_at(cur.tokens.span(cur.index), message, help="they hold for all rows of the union")


def _part(cur: QueryCursor, clauses: tuple[Clause, ...]) -> Read:
    stages: list[Stage] = []
    while cur.take_word("with") is not None:
        if len(stages) == _MOST_STAGES:
            message = f"a read has more than {_MOST_STAGES} stages"
            cur.fail_at(cur.tokens.span(cur.index - 1), message, help="join some of them, or send several queries")
        stages.append(Stage(clauses, *_result(cur)))
        cur.columns = frozenset(item.alias for item in stages[-1].items if item.alias is not None)
        clauses = parse_clauses(cur) if cur.take_word("match") is not None else ()
    cur.need_word("return")
    items, order, limit, offset, distinct, having, per = _result(cur)
    return Read(clauses, items, order, limit, offset, distinct, having, stages=tuple(stages), per=per)


_Result: TypeAlias = tuple[
    tuple[Item, ...],
    tuple[Sort, ...],
    Literal | Var | None,
    Literal | Var | None,
    bool,
    tuple[Expr, ...],
    tuple[Expr, ...],
]


def _result(cur: QueryCursor) -> _Result:
    """What follows `with` or `return`: items, order, limit, offset, distinct, having, and what the limit is per."""
    distinct = cur.take_word("distinct") is not None
    items = _items(cur)
    having = _having(cur) if cur.take_word("having") is not None else ()
    order = _order(cur) if cur.take_word("order") is not None else ()
    limit = _count(cur) if cur.take_word("limit") is not None else None
    per = _per(cur) if limit is not None and cur.take_word("per") is not None else ()
    offset = _count(cur) if cur.take_word("offset") is not None else None
    return items, order, limit, offset, distinct, having, per


def _per(cur: QueryCursor) -> tuple[Expr, ...]:
    keys = [parse_expr(cur)]
    while cur.take_punct(",") is not None:
        keys.append(parse_expr(cur))
    return tuple(keys)


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
