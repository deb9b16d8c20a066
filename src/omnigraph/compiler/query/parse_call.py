"""Parsing of calls: plain ones, those of search, aggregates and windows with the words between their parentheses.

What parses an expression is handed in, since a call stands in expressions and has expressions as arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from omnigraph.compiler.functions import AGGREGATES
from omnigraph.compiler.functions.windows import PLACES
from omnigraph.compiler.lexer import FLOAT, INT, LOWER, PUNCT, STRING, VAR
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.ast import Agg, Call, Expr, Prop
from omnigraph.compiler.query.parse_literal import QueryCursor, close_call, open_call, parse_now, parse_temporal

ParseExpr: TypeAlias = Callable[[QueryCursor], Expr]
# What a value stands before, never what it begins with.
_NO_OPERAND = frozenset({"as", "asc", "desc"})


def parse_arguments(cur: QueryCursor, parse: ParseExpr) -> Call:
    """A call with arguments between commas."""
    name = cur.text
    start = open_call(cur)
    args: list[Expr] = []
    if not cur.at_punct(")"):
        args.append(parse(cur))
        while cur.take_punct(",") is not None:
            args.append(parse(cur))
    return Call(name, tuple(args), close_call(cur, start))


def parse_pattern(cur: QueryCursor, what: str) -> tuple[ast.Clause, ...]:
    """The clauses between braces, after the word that stands before them."""
    from omnigraph.compiler.query.parse_clause import parse_clauses  # a pattern has conditions, and one of them this

    if cur.in_where:
        span = cur.tokens.span(cur.index)
        cur.fail_at(span, f"{what} cannot stand in 'where'", help="match what to write: match { … } update $x …")
    cur.enter()
    cur.advance()
    clauses = parse_clauses(cur)
    cur.leave()
    return clauses


def begins_operand(cur: QueryCursor, ahead: int) -> bool:
    """Whether what follows can be an operand; names of columns and properties may be spelled like operators."""
    kind, text = cur.peek(ahead)
    if kind == PUNCT:
        return text in ("(", "[", "-")
    return kind in (VAR, STRING, INT, FLOAT, LOWER) and text not in _NO_OPERAND


def _temporal(cur: QueryCursor, parse: ParseExpr) -> Expr:
    # A text in quotes is a constant; anything else is converted.
    plain = cur.peek(2)[0] == STRING and cur.peek(3)[1] == ")"
    return parse_temporal(cur) if plain or cur.text == "duration" else parse_arguments(cur, parse)


def _nearest(cur: QueryCursor, parse: ParseExpr) -> Call:
    start = open_call(cur)
    at = cur.index
    name, _ = cur.need_var()
    cur.need_punct(".")
    prop, _ = cur.need_lower("a property name")
    field: Expr = Prop(name, prop, cur.span_from(at))
    cur.need_punct(",")
    args = [field, parse(cur)]
    if cur.take_punct(",") is not None:
        args.append(parse(cur))
    return Call("nearest", tuple(args), close_call(cur, start))


def _text_call(cur: QueryCursor, parse: ParseExpr) -> Call:
    name = cur.text
    start = open_call(cur)
    args = [parse(cur)]
    cur.need_punct(",")
    args.append(parse(cur))
    if name in ("fuzzy", "snippet") and cur.take_punct(",") is not None:
        args.append(parse(cur))
    return Call(name, tuple(args), close_call(cur, start))


def _rrf(cur: QueryCursor, parse: ParseExpr) -> Call:
    start = open_call(cur)
    args: list[Expr] = [_rank(cur, parse)]
    cur.need_punct(",")
    args.append(_rank(cur, parse))
    if cur.take_punct(",") is not None:
        args.append(parse(cur))
    return Call("rrf", tuple(args), close_call(cur, start))


def _rank(cur: QueryCursor, parse: ParseExpr) -> Call:
    if cur.text in ("nearest", "bm25") and cur.peek()[1] == "(":
        return _nearest(cur, parse) if cur.text == "nearest" else _text_call(cur, parse)
    cur.expect("nearest(…)")
    cur.expect("bm25(…)")
    return cur.fail()


def _aggregate(cur: QueryCursor, parse: ParseExpr) -> Agg | ast.Window:
    name = cur.text
    start = open_call(cur)
    distinct = False
    arg: Expr | None = None
    if name != "count" or cur.take_punct("*") is None:
        # `count(distinct)` counts a column of that name; anything after the word makes it the modifier.
        distinct = cur.text == "distinct" and cur.peek()[1] not in (")", ",")
        if distinct:
            cur.advance()
        arg = _record(cur, parse) if cur.text == "{" and name in _TAKE_RECORDS else parse(cur)
    more: list[Expr] = []
    while cur.take_punct(",") is not None:
        more.append(parse(cur))
    clauses = parse_pattern(cur, f"{name}(… match {{ … }})") if cur.text == "match" and cur.peek()[1] == "{" else ()
    where = parse(cur) if cur.take_word("where") is not None else None
    if cur.text == "per" and cur.kind == LOWER and not clauses:
        per, order = _per(cur, parse), _window_order(cur, parse)
        args = (*(() if arg is None else (arg,)), *more)
        return ast.Window(name, args, per, order, where, distinct, close_call(cur, start))
    key, descending = None, False
    if cur.take_word("order") is not None:
        key = parse(cur)
        descending = cur.take_word("desc") is not None
        if not descending:
            cur.take_word("asc")
    return Agg(name, arg, distinct, close_call(cur, start), tuple(more), where, key, descending, clauses)


def _record(cur: QueryCursor, parse: ParseExpr) -> ast.Record:
    cur.enter()
    start = cur.need_punct("{")
    members = [_member(cur, parse)]
    while cur.take_punct(",") is not None:
        members.append(_member(cur, parse))
    cur.need_punct("}")
    cur.leave()
    return ast.Record(tuple(members), cur.span_from(start))


def _member(cur: QueryCursor, parse: ParseExpr) -> ast.Member:
    name, _ = cur.need_lower("the name of a member")
    cur.need_punct(":")
    return ast.Member(name, parse(cur))


def _window(cur: QueryCursor, parse: ParseExpr) -> ast.Window:
    name = cur.text
    start = open_call(cur)
    args: list[Expr] = []
    if not cur.at_punct(")") and not _at_modifier(cur):
        args.append(parse(cur))
        while cur.take_punct(",") is not None:
            args.append(parse(cur))
    where = parse(cur) if cur.take_word("where") is not None else None
    per, order = _per(cur, parse), _window_order(cur, parse)
    return ast.Window(name, tuple(args), per, order, where, False, close_call(cur, start))


def _at_modifier(cur: QueryCursor) -> bool:
    # Before an operand these words are what a window is per, or ordered by; alone they are columns.
    words = cur.kind == LOWER and cur.text in ("per", "order", "where")
    return words and (begins_operand(cur, 1) or cur.peek()[1] == "*")


def _per(cur: QueryCursor, parse: ParseExpr) -> tuple[Expr, ...]:
    if cur.take_word("per") is None or cur.take_punct("*") is not None:
        return ()
    keys = [parse(cur)]
    while cur.take_punct(",") is not None:
        keys.append(parse(cur))
    return tuple(keys)


def _window_order(cur: QueryCursor, parse: ParseExpr) -> tuple[ast.WindowKey, ...]:
    if cur.take_word("order") is None:
        return ()
    keys = [_window_key(cur, parse)]
    while cur.take_punct(",") is not None:
        keys.append(_window_key(cur, parse))
    return tuple(keys)


def _window_key(cur: QueryCursor, parse: ParseExpr) -> ast.WindowKey:
    expr = parse(cur)
    descending = cur.take_word("desc") is not None
    if not descending:
        cur.take_word("asc")
    return ast.WindowKey(expr, descending)


SPECIAL_CALLS: dict[str, Callable[[QueryCursor, ParseExpr], Expr]] = {
    "now": lambda cur, _: parse_now(cur),
    "nearest": _nearest,
    "search": _text_call,
    "fuzzy": _text_call,
    "search_all": _text_call,
    "search_phrase": _text_call,
    "search_prefix": _text_call,
    "snippet": _text_call,
    "match_text": _text_call,
    "bm25": _text_call,
    "rrf": _rrf,
    **dict.fromkeys(AGGREGATES, _aggregate),
    **dict.fromkeys(PLACES, _window),
    "date": _temporal,
    "datetime": _temporal,
    "duration": _temporal,
}
_TAKE_RECORDS = frozenset({"collect", "first", "last"})
LATE_CALLS = frozenset({*AGGREGATES, *PLACES, "nearest", "bm25", "rrf"})
CONSTANT_CALLS = ("now", "date", "datetime", "duration")
