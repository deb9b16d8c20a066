"""Parsing of conditions: comparisons, membership, null tests, text predicates, `and`, `or` and grouping."""

from __future__ import annotations

from typing import TypeGuard

from omnigraph.compiler.lexer import LOWER, PUNCT
from omnigraph.compiler.query.ast import Alias, And, Call, Compare, Condition, Expr, In, IsNull, Or, Truth
from omnigraph.compiler.query.parse_expression import LITERAL_WORDS, QueryCursor, continue_expr, parse_expr

COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})
WORD_COMPARISONS = frozenset({"contains", "starts_with"})
TEXT_PREDICATES = frozenset({"search", "fuzzy", "match_text"})
# Names that are not operands where they were found, but the beginning of something misplaced.
_HINTS = {
    "where": "a filter stands directly in 'match', without 'where'",
    "not": "'not { … }' is a clause of its own; 'and' and 'or' join filters",
    "return": "close 'match' with } first",
}
_CONDITION = (Compare, In, IsNull, Truth, And, Or)


def parse_condition(cur: QueryCursor) -> Condition:
    """A condition; `and` binds tighter than `or`, parentheses group."""
    return _as_condition(cur, _either(cur))


# Until its closing parenthesis is reached, `(` may open a group of conditions or of arithmetic. So these three
# functions return a plain expression when no comparison follows it, and one pass over the text is enough.


def _either(cur: QueryCursor) -> Expr | Condition:
    start = cur.index
    first = _all(cur)
    if not _is_joinable(first) or not _at_connective(cur, "or"):
        return first
    parts = [_as_condition(cur, first)]
    while _at_connective(cur, "or"):
        cur.advance()
        parts.append(_as_condition(cur, _all(cur)))
    return Or(tuple(parts), cur.span_from(start))


def _all(cur: QueryCursor) -> Expr | Condition:
    start = cur.index
    first = _comparison(cur)
    if not _is_joinable(first) or not _at_connective(cur, "and"):
        return first
    parts = [_as_condition(cur, first)]
    while _at_connective(cur, "and"):
        cur.advance()
        parts.append(_as_condition(cur, _comparison(cur)))
    return And(tuple(parts), cur.span_from(start))


def _comparison(cur: QueryCursor) -> Expr | Condition:
    start = cur.index
    left = _left(cur)
    if isinstance(left, _CONDITION):
        return left
    op, kind = cur.text, cur.kind
    if (kind == PUNCT and op in COMPARISONS) or (kind == LOWER and op in WORD_COMPARISONS):
        cur.advance()
        right = parse_expr(cur)
        return Compare(op, left, right, cur.span_from(start))
    if kind == LOWER and op in ("in", "not", "is"):
        return _word_test(cur, start, left)
    cur.expect("a comparison (= != < <= > >= contains starts_with in is)")
    return left


def _word_test(cur: QueryCursor, start: int, left: Expr) -> Expr | Condition:
    if cur.text == "is":
        cur.advance()
        negated = cur.take_word("not") is not None
        cur.need_word("null")
        return IsNull(left, negated, cur.span_from(start))
    negated = cur.text == "not"
    if negated and cur.peek() != (LOWER, "in"):
        cur.expect("'not in'")
        return left
    cur.index += 1 + negated
    right = parse_expr(cur)
    return In(left, right, negated, cur.span_from(start))


def _left(cur: QueryCursor) -> Expr | Condition:
    start = cur.index
    if cur.text == "(":
        cur.enter()
        cur.advance()
        inner = _either(cur)
        cur.need_punct(")")
        cur.leave()
        return inner if isinstance(inner, _CONDITION) else continue_expr(cur, start, inner)
    # A property may be called `true` or `null`; before the operator of a `where` the base language knows only names.
    if cur.in_where and cur.text in LITERAL_WORDS:
        return continue_expr(cur, start, Alias(cur.text, cur.tokens.span(cur.advance())))
    return parse_expr(cur)


def _as_condition(cur: QueryCursor, node: Expr | Condition) -> Condition:
    if isinstance(node, _CONDITION):
        return node
    if _is_text_predicate(node):
        return Truth(node, node.span)
    return cur.fail(_HINTS.get(node.name) if isinstance(node, Alias) and not cur.in_where else None)


def _is_joinable(node: Expr | Condition) -> bool:
    return isinstance(node, _CONDITION) or _is_text_predicate(node)


def _is_text_predicate(node: Expr | Condition) -> TypeGuard[Call]:
    return isinstance(node, Call) and node.name in TEXT_PREDICATES


def _at_connective(cur: QueryCursor, word: str) -> bool:
    if not cur.at_word(word):
        return False
    # `or = 1` after a filter is a filter on a column called `or` in the base language, and stays one.
    kind, text = cur.peek()
    begins_filter = (kind == PUNCT and text in COMPARISONS) or (kind == LOWER and text in WORD_COMPARISONS)
    return cur.in_where or not begins_filter
