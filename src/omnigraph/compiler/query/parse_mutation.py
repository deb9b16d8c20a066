"""Parsing of statements: `insert`, `update` and `delete`, alone or driven by a `match`."""

from __future__ import annotations

from omnigraph.compiler.query.ast import (
    Assign,
    Clause,
    Delete,
    DeleteVar,
    Expr,
    ForEach,
    Insert,
    Statement,
    Update,
    UpdateVar,
)
from omnigraph.compiler.query.parse_clause import parse_clauses
from omnigraph.compiler.query.parse_expression import is_bare_name, parse_expr
from omnigraph.compiler.query.parse_literal import QueryCursor

WRITES = ("insert", "update", "delete")


def parse_statement(cur: QueryCursor) -> Statement:
    """One statement."""
    start = cur.index
    cur.begin()
    if cur.take_word("match") is not None:
        return parse_driven(cur, start, parse_clauses(cur))
    if cur.take_word("insert") is not None:
        return _insert(cur, start, computed=False)
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


def parse_driven(cur: QueryCursor, start: int, clauses: tuple[Clause, ...]) -> ForEach:
    """The one statement that a match, parsed already, drives."""
    at = cur.index
    statement: Insert | UpdateVar | DeleteVar
    if cur.take_word("insert") is not None:
        statement = _insert(cur, at, computed=True)
    elif cur.take_word("update") is not None:
        name, span = cur.need_var("a matched variable such as $x")
        cur.need_word("set")
        assigns = _assigns(cur)
        statement = UpdateVar(name, assigns, cur.span_from(at), span)
    else:
        cur.need_word("delete")
        name, span = cur.need_var("a matched variable such as $x")
        statement = DeleteVar(name, cur.span_from(at), span)
    return ForEach(clauses, statement, cur.span_from(start))


def _insert(cur: QueryCursor, start: int, *, computed: bool) -> Insert:
    type_name, type_span = cur.need_upper()
    assigns = _assigns(cur, computed=computed)
    return Insert(type_name, assigns, cur.span_from(start), type_span)


def _assigns(cur: QueryCursor, *, computed: bool = True) -> tuple[Assign, ...]:
    cur.need_punct("{")
    assigns = [_assign(cur, computed=computed)]
    while cur.take_punct("}") is None:
        assigns.append(_assign(cur, computed=computed))
    return tuple(assigns)


def _assign(cur: QueryCursor, *, computed: bool) -> Assign:
    start = cur.index
    name, _ = cur.need_lower("a property name")
    cur.need_punct(":")
    if not computed and is_bare_name(cur):
        # Without a row to read from there are no names of properties.
        cur.expect("a value (a literal, a $parameter or now())")
        cur.fail()
    value = parse_expr(cur)
    assign = Assign(name, value, cur.span_from(start))
    cur.take_punct(",")
    return assign


def _where(cur: QueryCursor) -> Expr:
    cur.need_word("where")
    cur.in_where = True
    condition = parse_expr(cur)
    cur.in_where = False
    return condition
