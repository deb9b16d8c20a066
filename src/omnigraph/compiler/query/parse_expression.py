"""Parsing of expressions: `or`, `and`, `not`, comparisons, arithmetic, calls and other operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from omnigraph.compiler.functions import FUNCTIONS
from omnigraph.compiler.lexer import FLOAT, INT, LOWER, PUNCT, STRING, VAR
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.ast import Alias, Binary, Expr, Prop, Unary, Var
from omnigraph.compiler.query.parse_call import (
    CONSTANT_CALLS,
    LATE_CALLS,
    SPECIAL_CALLS,
    begins_operand,
    parse_arguments,
    parse_pattern,
)
from omnigraph.compiler.query.parse_literal import (
    LITERAL_WORDS,
    QueryCursor,
    parse_list,
    parse_literal,
    parse_number,
)
from omnigraph.compiler.query.suggest import unknown_function

COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})
WORD_COMPARISONS = frozenset(
    {"contains", "starts_with", "ends_with", "matches", "icontains", "istarts_with", "iends_with"}
)
# Those of the base language: before them, `or` is the name of a column.
_FIRST_WORDS = frozenset({"contains", "starts_with"})
_ORDERINGS = frozenset({"<", "<=", ">", ">="})
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2}
COMPARISON = "a comparison (= != < <= > >= contains starts_with in is)"
# Words after which a parenthesis opens a group, not the arguments of a call.
_BEFORE_GROUPS = frozenset({"where", "and", "or", "not"})


def parse_expr(cur: QueryCursor) -> Expr:
    """One expression."""
    cur.need_measure()
    return _joined(cur, "or", ast.Or, lambda: _joined(cur, "and", ast.And, lambda: _negation(cur)))


def _joined(cur: QueryCursor, word: str, kind: type[ast.And | ast.Or], operand: Callable[[], Expr]) -> Expr:
    start = cur.index
    first = operand()
    if not _at_connective(cur, word):
        return first
    parts = [first]
    while _at_connective(cur, word):
        cur.advance()
        cur.need_measure()
        parts.append(operand())
    return kind(tuple(parts), cur.span_from(start))


def is_bare_name(cur: QueryCursor) -> bool:
    """Whether a column or property is named here, not a function or a constant."""
    following = cur.peek()
    called = following[1] == "(" or (cur.text == "case" and following == (LOWER, "when"))
    called = called or (cur.text == "exists" and following[1] == "{")
    return cur.kind == LOWER and not called and cur.text not in LITERAL_WORDS


def _negation(cur: QueryCursor) -> Expr:
    if cur.text == "not" and cur.kind == LOWER and cur.peek()[1] == "{":
        cur.advance()
        cur.expect(COMPARISON)
        cur.fail("'not { … }' is a clause of its own; 'and' and 'or' join filters")
    if cur.text != "not" or cur.kind != LOWER or not begins_operand(cur, 1) or cur.peek() == (LOWER, "in"):
        return _comparison(cur)
    cur.enter()
    start = cur.advance()
    operand = _negation(cur)
    cur.leave()
    return ast.Not(operand, cur.span_from(start))


def _comparison(cur: QueryCursor) -> Expr:
    start = cur.index
    left = _first_operand(cur)
    op, kind = cur.text, cur.kind
    if kind == PUNCT and op in COMPARISONS:
        cur.advance()
        right = _sum(cur)
        if op in _ORDERINGS and cur.kind == PUNCT and cur.text in _ORDERINGS and cur.text[0] == op[0]:
            high_op = cur.tokens.texts[cur.advance()]
            return ast.Range(left, op, right, high_op, _sum(cur), cur.span_from(start))
        return ast.Compare(op, left, right, cur.span_from(start))
    if kind == LOWER and op in WORD_COMPARISONS and begins_operand(cur, 1):
        cur.advance()
        return ast.Compare(op, left, _sum(cur), cur.span_from(start))
    if kind == LOWER and op in ("in", "not", "is"):
        return _word_test(cur, start, left)
    cur.expect(COMPARISON)
    return left


def _word_test(cur: QueryCursor, start: int, left: Expr) -> Expr:
    if cur.text == "is":
        if cur.peek() not in ((LOWER, "null"), (LOWER, "not")):
            cur.expect(COMPARISON)
            return left
        cur.advance()
        negated = cur.take_word("not") is not None
        cur.need_word("null")
        return ast.IsNull(left, negated, cur.span_from(start))
    negated = cur.text == "not"
    if (negated and cur.peek() != (LOWER, "in")) or not begins_operand(cur, 1 + negated):
        cur.expect("'not in'" if negated else COMPARISON)
        return left
    cur.index += 1 + negated
    return ast.In(left, _sum(cur), negated, cur.span_from(start))


def _first_operand(cur: QueryCursor) -> Expr:
    # A property may be called `true` or `null`; before the operator of a `where` the base language knows only names.
    if cur.in_where and cur.text in LITERAL_WORDS and _names_a_property(cur):
        start = cur.index
        return _continue(cur, start, Alias(cur.text, cur.tokens.span(cur.advance())))
    return _sum(cur)


def _names_a_property(cur: QueryCursor) -> bool:
    # Of parentheses that were opened just before it, look behind those that close.
    ahead, before = 1, cur.index - 1
    while cur.peek(ahead)[1] == ")" and before > 0 and cur.tokens.texts[before] == "(":
        if cur.tokens.kinds[before - 1] == LOWER and cur.tokens.texts[before - 1] not in _BEFORE_GROUPS:
            break  # of a call
        ahead, before = ahead + 1, before - 1
    kind, text = cur.peek(ahead)
    return (kind == PUNCT and text not in ",)}") or (kind == LOWER and text in (*WORD_COMPARISONS, "in", "is", "not"))


def _sum(cur: QueryCursor) -> Expr:
    """Operands under `+ - * / %`; `-` after an operand always continues it."""
    start = cur.index
    return _continue(cur, start, _unary(cur))


def _continue(cur: QueryCursor, start: int, left: Expr, floor: int = 1) -> Expr:
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
        right = _continue(cur, at, _unary(cur), strength + 1)
        left = Binary(op, left, right, cur.span_from(start))
    cur.depth -= levels
    return left


def _unary(cur: QueryCursor) -> Expr:
    if cur.text != "-":
        return _primary(cur)
    start = cur.advance()
    if cur.kind in (INT, FLOAT):
        return parse_number(cur, start, negative=True)
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
    if kind in (STRING, INT, FLOAT):
        return parse_literal(cur)
    if cur.text == "[":
        return parse_list(cur, parse_expr)
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
    if prop in ("nodes", "edges") and cur.text == "." and cur.peek()[0] == LOWER:
        # The values of a property along a path.
        cur.advance()
        prop = f"{prop}.{cur.need_lower('a property name')[0]}"
    return Prop(name, prop, cur.span_from(start))


def _at_connective(cur: QueryCursor, word: str) -> bool:
    if cur.text != word or cur.kind != LOWER:
        return False
    # `or = 1` after a filter is a filter on a column called `or` in the base language, and stays one.
    kind, text = cur.peek()
    begins_filter = (kind == PUNCT and text in COMPARISONS) or (kind == LOWER and text in _FIRST_WORDS)
    return cur.in_where or (not begins_filter and begins_operand(cur, 1))


# --- words: calls, aggregates, case ------------------------------------------------------------


def _word(cur: QueryCursor) -> Expr:
    word = cur.text
    if word in LITERAL_WORDS and not (cur.in_where and _is_computed_with(cur)):
        return parse_literal(cur)  # also before a parenthesis: it opens the next clause
    if cur.peek()[1] == "(" and not _ends_clause(cur, word):
        return _called(cur, word)
    if word == "case" and cur.peek() == (LOWER, "when"):
        return _case(cur)
    if word == "exists" and cur.peek()[1] == "{":
        return _exists(cur)
    return Alias(word, cur.tokens.span(cur.advance()))


def _ends_clause(cur: QueryCursor, word: str) -> bool:
    """Whether a name ends its clause: in a match, a parenthesis at a distance opens the next one."""
    apart = cur.tokens.ends[cur.index] < cur.tokens.starts[cur.index + 1]
    return cur.in_match and apart and word not in FUNCTIONS and word not in SPECIAL_CALLS


def _is_computed_with(cur: QueryCursor) -> bool:
    """Whether a word stands beside `+ - * / %`, where a truth value or null makes no sense but a property does."""
    before, (kind, following) = cur.tokens.texts[cur.index - 1], cur.peek()
    return before in _PRECEDENCE or (kind == PUNCT and following in _PRECEDENCE)


def _called(cur: QueryCursor, word: str) -> Expr:
    special = SPECIAL_CALLS.get(word)
    if special is not None:
        if cur.in_where and word not in CONSTANT_CALLS:
            span = cur.tokens.span(cur.index)
            cur.fail_at(span, f"{word}(…) cannot stand in 'where'", help="a condition here reads the row's own values")
        return special(cur, parse_expr)
    if word not in FUNCTIONS:
        _refuse_call(cur, word)
    return parse_arguments(cur, parse_expr)


def _refuse_call(cur: QueryCursor, word: str) -> NoReturn:
    span = cur.tokens.span(cur.index)
    # Only what could stand here is suggested: no aggregate in a pattern, no search in the condition of a mutation.
    possible = CONSTANT_CALLS if cur.in_where else SPECIAL_CALLS.keys() - (LATE_CALLS if cur.in_match else ())
    cur.fail_at(span, f"there is no function '{word[:40]}'", help=unknown_function(word, sorted(possible)))


def _case(cur: QueryCursor) -> ast.Case:
    cur.enter()
    start = cur.advance()
    branches: list[ast.When] = []
    while cur.take_word("when") is not None:
        condition = parse_expr(cur)
        cur.need_word("then")
        branches.append(ast.When(condition, parse_expr(cur)))
    otherwise = parse_expr(cur) if cur.take_word("else") is not None else None
    cur.need_word("end")
    cur.leave()
    return ast.Case(tuple(branches), otherwise, cur.span_from(start))


def _exists(cur: QueryCursor) -> ast.Exists:
    start = cur.index
    clauses = parse_pattern(cur, "exists { … }")
    return ast.Exists(clauses, cur.span_from(start))
