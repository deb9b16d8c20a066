"""Parsing of constants: literals, lists of them, `now()`, and what may stand where only a constant can."""

from __future__ import annotations

from collections.abc import Callable

from omnigraph.compiler.cursor import Cursor
from omnigraph.compiler.lexer import FLOAT, INT, LOWER, STRING, VAR
from omnigraph.compiler.query.ast import Expr, ListLiteral, Literal, Now, Var
from omnigraph.compiler.source import Span

LITERAL_WORDS: dict[str, tuple[bool | None, str]] = {
    "true": (True, "bool"),
    "false": (False, "bool"),
    "null": (None, "null"),
}
_UINT64_MAX = 2**64 - 1
_INT64_LEAST = 2**63


class QueryCursor(Cursor):
    """A cursor that knows where it is: bare names are properties in `where`, and columns elsewhere."""

    in_where = False
    in_match = False


def parse_value(cur: QueryCursor) -> Expr:
    """A constant: a literal, a parameter or `now()`."""
    if cur.kind == VAR:
        name, span = cur.need_var()
        return Var(name, span)
    if cur.text == "now" and cur.peek()[1] == "(":
        return parse_now(cur)
    return parse_literal(cur, "a value (a literal, a $parameter or now())")


def parse_literal(cur: QueryCursor, what: str = "a literal") -> Literal | ListLiteral:
    """A string, number, truth value, null, date, datetime or list of literals."""
    kind, text = cur.kind, cur.text
    if kind == STRING:
        string, span = cur.need_string()
        return Literal(string, "string", span)
    if kind in (INT, FLOAT):
        return parse_number(cur, cur.index, negative=False)
    if text == "-" and cur.peek()[0] in (INT, FLOAT):
        return parse_number(cur, cur.advance(), negative=True)
    if text == "[":
        return parse_list(cur, parse_literal)
    if kind == LOWER:
        if text in ("date", "datetime") and cur.peek()[1] == "(":
            return parse_temporal(cur)
        if text in LITERAL_WORDS:
            value, name = LITERAL_WORDS[text]
            return Literal(value, name, cur.tokens.span(cur.advance()))
    cur.expect(what)
    return cur.fail()


def parse_number(cur: QueryCursor, start: int, *, negative: bool) -> Literal:
    """A number whose sign, if any, was the token at `start`."""
    if cur.kind == FLOAT:
        value, _ = cur.need_float()
        return Literal(-value if negative else value, "float", cur.span_from(start))
    whole, _ = cur.need_int(limit=_INT64_LEAST if negative else _UINT64_MAX)
    return Literal(-whole if negative else whole, "int", cur.span_from(start))


def parse_temporal(cur: QueryCursor) -> Literal:
    """`date("…")`, `datetime("…")` or `duration("…")`."""
    kind = cur.text
    start = open_call(cur)
    text, _ = cur.need_string(f"the text of the {kind} in quotes")
    return Literal(text, kind, close_call(cur, start))


def parse_now(cur: QueryCursor) -> Now:
    """`now()`."""
    start = open_call(cur)
    return Now(close_call(cur, start))


def open_call(cur: QueryCursor) -> int:
    """The name of a call and its parenthesis."""
    cur.enter()
    start = cur.advance()
    cur.need_punct("(")
    return start


def close_call(cur: QueryCursor, start: int) -> Span:
    """The end of a call that began at token `start`."""
    cur.need_punct(")")
    cur.leave()
    return cur.span_from(start)


def parse_list(cur: QueryCursor, parse_item: Callable[[QueryCursor], Expr]) -> ListLiteral:
    """A list whose items are literals, or what `parse_item` takes."""
    cur.enter()
    start = cur.need_punct("[")
    items: list[Expr] = []
    if not cur.at_punct("]"):
        known: dict[str, Expr] = {}
        items.append(_item(cur, known, parse_item))
        while cur.take_punct(",") is not None:
            _repeat(cur, known, items)
            items.append(_item(cur, known, parse_item))
    cur.need_punct("]")
    cur.leave()
    return ListLiteral(tuple(items), cur.span_from(start))


def _item(cur: QueryCursor, known: dict[str, Expr], parse_item: Callable[[QueryCursor], Expr]) -> Expr:
    # Long lists are lists of literals, which are quickly read.
    alone = (cur.kind in (STRING, INT, FLOAT) or cur.text in LITERAL_WORDS) and cur.peek()[1] in (",", "]")
    if not alone:
        return parse_item(cur)
    text = cur.text
    item = known[text] = parse_literal(cur)
    return item


def _repeat(cur: QueryCursor, known: dict[str, Expr], items: list[Expr]) -> None:
    """Reuse expressions for repeated one-token items, each before a comma: half a million equal items are one object.

    A finding about such an item is reported at its first place anyway.
    """
    texts, at = cur.tokens.texts, cur.index
    while texts[at + 1 : at + 2] == _COMMA and (found := known.get(texts[at])) is not None:
        items.append(found)
        at += 2
    cur.index = at


_COMMA = [","]
