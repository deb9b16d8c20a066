"""Parsing of expressions: literals, variables, properties, calls, aggregates and arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from omnigraph.compiler.cursor import Cursor
from omnigraph.compiler.diagnostics import did_you_mean
from omnigraph.compiler.lexer import FLOAT, INT, LOWER, PUNCT, STRING, VAR
from omnigraph.compiler.query.ast import Agg, Alias, Binary, Call, Expr, ListLiteral, Literal, Now, Prop, Unary, Var
from omnigraph.compiler.source import Span

AGGREGATES = ("count", "sum", "avg", "min", "max", "collect")
LITERAL_WORDS: dict[str, tuple[bool | None, str]] = {
    "true": (True, "bool"),
    "false": (False, "bool"),
    "null": (None, "null"),
}
_UINT64_MAX = 2**64 - 1
_INT64_LEAST = 2**63
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2}


class QueryCursor(Cursor):
    """A cursor that knows whether bare names are properties (inside `where`) or columns (everywhere else)."""

    in_where = False


def parse_expr(cur: QueryCursor) -> Expr:
    """One expression with `+ - * / %`; `-` after an operand always continues it."""
    start = cur.index
    return continue_expr(cur, start, _unary(cur))


def continue_expr(cur: QueryCursor, start: int, left: Expr, floor: int = 1) -> Expr:
    """Extend an operand that began at token `start` by the operators that bind at least as tightly as `floor`."""
    levels = 0
    while True:
        op = cur.text
        strength = _PRECEDENCE.get(op, 0) if cur.kind == PUNCT else 0
        if strength < floor:
            break
        # A chain leans left, one level of tree per operator: it counts as nesting for every later pass.
        cur.enter()
        levels += 1
        cur.advance()
        at = cur.index
        right = continue_expr(cur, at, _unary(cur), strength + 1)
        left = Binary(op, left, right, cur.span_from(start))
    cur.depth -= levels
    return left


def parse_value(cur: QueryCursor) -> Expr:
    """A constant: a literal, a parameter or `now()`."""
    if cur.kind == VAR:
        name, span = cur.need_var()
        return Var(name, span)
    if cur.text == "now" and cur.peek()[1] == "(":
        return _now(cur)
    return parse_literal(cur, "a value (a literal, a $parameter or now())")


def parse_literal(cur: QueryCursor, what: str = "a literal") -> Literal | ListLiteral:
    """A string, number, truth value, null, date, datetime or list of literals."""
    kind, text = cur.kind, cur.text
    if kind == STRING:
        string, span = cur.need_string()
        return Literal(string, "string", span)
    if kind in (INT, FLOAT):
        return _number(cur, cur.index, negative=False)
    if text == "-" and cur.peek()[0] in (INT, FLOAT):
        return _number(cur, cur.advance(), negative=True)
    if text == "[":
        return _list(cur)
    if kind == LOWER:
        if text in ("date", "datetime") and cur.peek()[1] == "(":
            return _temporal(cur)
        if text in LITERAL_WORDS:
            value, name = LITERAL_WORDS[text]
            return Literal(value, name, cur.tokens.span(cur.advance()))
    cur.expect(what)
    return cur.fail()


def _unary(cur: QueryCursor) -> Expr:
    if cur.text != "-":
        return _primary(cur)
    start = cur.advance()
    if cur.kind in (INT, FLOAT):
        return _number(cur, start, negative=True)
    cur.enter()
    operand = _unary(cur)
    cur.leave()
    return Unary("-", operand, cur.span_from(start))


def _primary(cur: QueryCursor) -> Expr:
    kind = cur.kind
    if kind == VAR:
        return _variable(cur)
    if kind == LOWER:
        return _word(cur)
    if kind in (STRING, INT, FLOAT) or cur.text == "[":
        return parse_literal(cur)
    if cur.text == "(":
        cur.enter()
        cur.advance()
        inner = parse_expr(cur)
        cur.need_punct(")")
        cur.leave()
        return inner
    cur.expect("an expression")
    return cur.fail()


def _variable(cur: QueryCursor) -> Expr:
    start = cur.index
    name, span = cur.need_var()
    # In `where` there is no row variable, so a dot there is an error, which the caller reports.
    if cur.in_where or cur.text != ".":
        return Var(name, span)
    cur.advance()
    prop, _ = cur.need_lower("a property name")
    return Prop(name, prop, cur.span_from(start))


def _word(cur: QueryCursor) -> Expr:
    word = cur.text
    if word in LITERAL_WORDS:
        return parse_literal(cur)  # also before a parenthesis: it opens the next clause
    if cur.peek()[1] == "(":
        call = _CALLS.get(word)
        if call is None or (cur.in_where and word not in _CONSTANT_CALLS):
            _refuse_call(cur, word)
        return call(cur)
    return Alias(word, cur.tokens.span(cur.advance()))


def _refuse_call(cur: QueryCursor, word: str) -> NoReturn:
    span = cur.tokens.span(cur.index)
    if word in _CALLS:
        cur.fail_at(span, f"{word}(…) cannot stand in 'where'", help="only now(), date(…) and datetime(…) can")
    help_text = "write not { … }" if word == "not" else did_you_mean(word, _CALLS)
    every = ", ".join(_CALLS)
    cur.fail_at(span, f"there is no function '{word}'", help=help_text or f"the functions are {every}")


def _number(cur: QueryCursor, start: int, *, negative: bool) -> Literal:
    if cur.kind == FLOAT:
        value, _ = cur.need_float()
        return Literal(-value if negative else value, "float", cur.span_from(start))
    whole, _ = cur.need_int(limit=_INT64_LEAST if negative else _UINT64_MAX)
    return Literal(-whole if negative else whole, "int", cur.span_from(start))


def _list(cur: QueryCursor) -> ListLiteral:
    cur.enter()
    start = cur.need_punct("[")
    items: list[Expr] = []
    if not cur.at_punct("]"):
        items.append(parse_literal(cur))
        while cur.take_punct(",") is not None:
            items.append(parse_literal(cur))
    cur.need_punct("]")
    cur.leave()
    return ListLiteral(tuple(items), cur.span_from(start))


def _temporal(cur: QueryCursor) -> Literal:
    kind = cur.text
    start = _open(cur)
    text, _ = cur.need_string(f"the text of the {kind} in quotes")
    return Literal(text, kind, _close(cur, start))


def _now(cur: QueryCursor) -> Now:
    start = _open(cur)
    return Now(_close(cur, start))


def _nearest(cur: QueryCursor) -> Call:
    start = _open(cur)
    at = cur.index
    name, _ = cur.need_var()
    cur.need_punct(".")
    prop, _ = cur.need_lower("a property name")
    field = Prop(name, prop, cur.span_from(at))
    cur.need_punct(",")
    query = parse_expr(cur)
    return Call("nearest", (field, query), _close(cur, start))


def _text_call(cur: QueryCursor) -> Call:
    name = cur.text
    start = _open(cur)
    args = [parse_expr(cur)]
    cur.need_punct(",")
    args.append(parse_expr(cur))
    if name == "fuzzy" and cur.take_punct(",") is not None:
        args.append(parse_expr(cur))
    return Call(name, tuple(args), _close(cur, start))


def _rrf(cur: QueryCursor) -> Call:
    start = _open(cur)
    args: list[Expr] = [_rank(cur)]
    cur.need_punct(",")
    args.append(_rank(cur))
    if cur.take_punct(",") is not None:
        args.append(parse_expr(cur))
    return Call("rrf", tuple(args), _close(cur, start))


def _rank(cur: QueryCursor) -> Call:
    if cur.text in ("nearest", "bm25") and cur.peek()[1] == "(":
        return _nearest(cur) if cur.text == "nearest" else _text_call(cur)
    cur.expect("nearest(…)")
    cur.expect("bm25(…)")
    return cur.fail()


def _aggregate(cur: QueryCursor) -> Agg:
    name = cur.text
    start = _open(cur)
    if name == "count" and cur.take_punct("*") is not None:
        return Agg(name, None, False, _close(cur, start))
    # `count(distinct)` counts a column of that name; anything after the word makes it the modifier.
    if name in ("count", "collect") and cur.text == "distinct" and cur.peek()[1] != ")":
        cur.advance()
        return Agg(name, parse_expr(cur), True, _close(cur, start))
    return Agg(name, parse_expr(cur), False, _close(cur, start))


def _open(cur: QueryCursor) -> int:
    cur.enter()
    start = cur.advance()
    cur.need_punct("(")
    return start


def _close(cur: QueryCursor, start: int) -> Span:
    cur.need_punct(")")
    cur.leave()
    return cur.span_from(start)


_CALLS: dict[str, Callable[[QueryCursor], Expr]] = {
    "now": _now,
    "nearest": _nearest,
    "search": _text_call,
    "fuzzy": _text_call,
    "match_text": _text_call,
    "bm25": _text_call,
    "rrf": _rrf,
    **dict.fromkeys(AGGREGATES, _aggregate),
    "date": _temporal,
    "datetime": _temporal,
}
_CONSTANT_CALLS = ("now", "date", "datetime")
