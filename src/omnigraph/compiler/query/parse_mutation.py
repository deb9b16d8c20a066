"""Parsing of statements: `insert`, `update` and `delete` with their assignments and predicates."""

from __future__ import annotations

from omnigraph.compiler.query.ast import Assign, Condition, Delete, Insert, Statement, Update
from omnigraph.compiler.query.parse_condition import parse_condition
from omnigraph.compiler.query.parse_expression import QueryCursor, parse_value


def parse_statement(cur: QueryCursor) -> Statement:
    """One statement."""
    start = cur.index
    if cur.take_word("insert") is not None:
        type_name, type_span = cur.need_upper()
        assigns = _assigns(cur)
        return Insert(type_name, assigns, cur.span_from(start), type_span)
    if cur.take_word("update") is not None:
        type_name, type_span = cur.need_upper()
        cur.need_word("set")
        assigns = _assigns(cur)
        where = _where(cur)
        return Update(type_name, assigns, where, cur.span_from(start), type_span)
    cur.need_word("delete")
    type_name, type_span = cur.need_upper()
    where = _where(cur)
    return Delete(type_name, where, cur.span_from(start), type_span)


def _assigns(cur: QueryCursor) -> tuple[Assign, ...]:
    cur.need_punct("{")
    assigns = [_assign(cur)]
    while cur.take_punct("}") is None:
        assigns.append(_assign(cur))
    return tuple(assigns)


def _assign(cur: QueryCursor) -> Assign:
    start = cur.index
    name, _ = cur.need_lower("a property name")
    cur.need_punct(":")
    value = parse_value(cur)
    assign = Assign(name, value, cur.span_from(start))
    cur.take_punct(",")
    return assign


def _where(cur: QueryCursor) -> Condition:
    cur.need_word("where")
    cur.in_where = True
    condition = parse_condition(cur)
    cur.in_where = False
    return condition
