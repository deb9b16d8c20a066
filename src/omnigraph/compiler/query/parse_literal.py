"""Parsing of constants: literals, lists of them, `now()`, and what may stand where only a constant can."""

from __future__ import annotations

import re
from collections.abc import Callable

from omnigraph.checkpoints import checkpoint
from omnigraph.compiler.cursor import Cursor
from omnigraph.compiler.lexer import FLOAT, INT, LOWER, STRING, VAR, BadEscape, unquote
from omnigraph.compiler.query.ast import Expr, ListLiteral, Literal, Literals, Now, Var
from omnigraph.compiler.source import Span

LITERAL_WORDS: dict[str, tuple[bool | None, str]] = {
    "true": (True, "bool"),
    "false": (False, "bool"),
    "null": (None, "null"),
}
_UINT64_MAX = 2**64 - 1
_INT64_LEAST = 2**63
# What a query that is to be run may have. Every one of them becomes objects that several passes look at, 20 to 60
# microseconds in all; lists of literals do not.
MAX_TOKENS = 20_000
_BETWEEN_CHECKS = 512  # tokens; a millisecond or two
# From this many tokens on, a list of literals is read at once.
_LONG = 128
_STRING = r'"(?:[^"\\]++|\\[\s\S])*+"'
_QUOTED = re.compile(_STRING)
_STRINGS = re.compile(rf"\s*+{_STRING}(?:\s*+,\s*+{_STRING})*+\s*+")
_NUMBER = r"-?[0-9]{1,24}+(?:\.[0-9]++)?+"
_NUMBERS = re.compile(rf"\s*+{_NUMBER}(?:\s*+,\s*+{_NUMBER})*+\s*+")


class QueryCursor(Cursor):
    """A cursor that knows where it is: bare names are properties in `where`, and columns elsewhere."""

    in_where = False
    in_match = False
    params: frozenset[str] = frozenset()  # of the query
    columns: frozenset[str] = frozenset()  # what a stage or `unwind` named so far
    most_tokens: int | None = None  # of a query or a statement
    _counted_from = 0
    _checked_at = 0

    def begin(self) -> None:
        """Begin a query or a statement, whose tokens are counted."""
        self._counted_from = self.index
        self._check()

    def spare(self, tokens: int) -> None:
        """Do not count some tokens."""
        self._counted_from += tokens

    def need_measure(self) -> None:
        """Fail if the query or statement is too large by now."""
        if self.most_tokens is not None and self.index - self._counted_from > self.most_tokens:
            self.fail_at(
                self.tokens.span(self.index),
                f"a query or statement has more than {self.most_tokens:,} words and signs here",
                help="pass the values as one parameter that is a list, or send several queries",
            )
        self._check()

    def _check(self) -> None:
        if self.index - self._checked_at >= _BETWEEN_CHECKS:
            self._checked_at = self.index
            checkpoint()


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
    literals = _literals(cur)
    if literals is not None:
        cur.need_punct("]")
        cur.leave()
        return ListLiteral(literals, cur.span_from(start))
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


def _literals(cur: QueryCursor) -> Literals | None:
    """The items of a long list of numbers or of strings; None for any other list, and where one of them is wrong."""
    tokens, first = cur.tokens, cur.index
    if tokens.texts[first + _LONG : first + _LONG + 1] == []:
        return None
    try:
        end = tokens.texts.index("]", first)
    except ValueError:
        return None
    if end - first < _LONG:
        return None
    start = tokens.starts[first]
    text = cur.source.text[start : tokens.starts[end]]
    values = _values(text)
    if values is None:
        return None
    cur.index = end
    cur.spare(end - first)
    return Literals(values, text, start)


def _values(text: str) -> tuple[str, ...] | tuple[int | float, ...] | None:
    if text[0] == '"':
        if _STRINGS.fullmatch(text) is None:
            return None
        try:
            return tuple(map(unquote, _QUOTED.findall(text)))
        except BadEscape:
            return None
    if _NUMBERS.fullmatch(text) is None:
        return None
    numbers = tuple(float(each) if "." in each else int(each) for each in text.split(","))
    return numbers if min(numbers) >= -_INT64_LEAST and max(numbers) <= _UINT64_MAX else None


def _item(cur: QueryCursor, known: dict[str, Expr], parse_item: Callable[[QueryCursor], Expr]) -> Expr:
    # Long lists are lists of literals, which are quickly read.
    start, text = cur.index, cur.text
    alone = (cur.kind in (STRING, INT, FLOAT) or text in LITERAL_WORDS) and cur.peek()[1] in (",", "]")
    item = parse_literal(cur) if alone else parse_item(cur)
    if alone:
        known[text] = item
    if isinstance(item, Literal):
        cur.spare(cur.index + 1 - start)
    return item


def _repeat(cur: QueryCursor, known: dict[str, Expr], items: list[Expr]) -> None:
    """Reuse expressions for repeated one-token items, each before a comma: half a million equal items are one object.

    A finding about such an item is reported at its first place anyway.
    """
    texts, at = cur.tokens.texts, cur.index
    while texts[at + 1 : at + 2] == _COMMA and (found := known.get(texts[at])) is not None:
        items.append(found)
        at += 2
    cur.spare(at - cur.index)
    cur.index = at


_COMMA = [","]
