"""Parsing of match clauses: bindings, traversals, shortest paths, filters, `not`, `optional` and `either` blocks."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.compiler.lexer import BAD, END, INT, LOWER, PUNCT, UPPER, VAR
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.ast import Binding, Clause, Expr, Filter, NotBlock, OptionalBlock, PropMatch, Traversal
from omnigraph.compiler.query.parse_expression import COMPARISON, WORD_COMPARISONS, parse_expr
from omnigraph.compiler.query.parse_literal import LITERAL_WORDS, QueryCursor, parse_value
from omnigraph.compiler.source import NOWHERE, Span
from omnigraph.compiler.types import UNION

# After a bare variable these words are operators, unless what follows makes them edge names.
_OPERATOR_WORDS = frozenset({*WORD_COMPARISONS, "in", "is", "not"})
# Names that are not operands where they were found, but the beginning of something misplaced.
_HINTS = {
    "where": "a filter stands directly in 'match', without 'where'",
    "not": "'not { … }' is a clause of its own; 'and' and 'or' join filters",
    "return": "close 'match' with } first",
}
_BLOCKS = frozenset({"optional", "either", "not", "exists"})
# What stands alone as a filter: anything that can be a truth value.
_TRUTHS = (
    ast.Compare,
    ast.Range,
    ast.In,
    ast.IsNull,
    ast.Not,
    ast.And,
    ast.Or,
    ast.Case,
    ast.Call,
    ast.Prop,
    ast.Exists,
)


def parse_clauses(cur: QueryCursor) -> tuple[Clause, ...]:
    """`{ clause … }`, at least one."""
    outside, cur.in_match = cur.in_match, True
    cur.need_punct("{")
    clauses = [_clause(cur)]
    while cur.take_punct("}") is None:
        cur.need_measure()
        clauses.append(_clause(cur))
    cur.in_match = outside
    return tuple(clauses)


def _clause(cur: QueryCursor) -> Clause:
    kind, text = cur.kind, cur.text
    if kind == VAR:
        return _variable_clause(cur)
    if kind == LOWER and text == "optional" and cur.peek()[1] == "{":
        return _optional(cur)
    if kind == LOWER and text == "either" and cur.peek()[1] == "{":
        return _either(cur)
    if kind == LOWER and text == "unwind" and _begins_list(cur):
        return _unwind(cur)
    if kind == LOWER and _begins_path(cur):
        return _path(cur)
    if kind == LOWER and text == "not":
        following = cur.peek()[1]
        if following == "{":
            return _negation(cur)
        if following == "in":
            cur.fail_at(
                cur.tokens.span(cur.index), "no clause begins with 'not in'", help="a filter has one comparison"
            )
    if kind in (UPPER, END, BAD) or (kind == PUNCT and text not in "([-"):
        cur.expect("a clause")
        cur.fail()
    return _filter(cur)


def _variable_clause(cur: QueryCursor) -> Clause:
    # No alternative looks further than four tokens ahead, so the choice is made before anything is consumed.
    kind, text = cur.peek()
    if text == ":":
        return _binding(cur)
    if cur.text[1:] in cur.params and _ends_parameter(cur):
        return _filter(cur)
    if kind == VAR:
        return _traversal(cur)
    if kind == LOWER and (text not in _OPERATOR_WORDS or _names_an_edge(cur)):
        return _traversal(cur)
    if text == "<" and cur.peek(2)[0] == LOWER and cur.peek(3)[1] in (">", UNION):
        return _traversal(cur)
    if kind == UPPER:
        cur.advance()
        _refuse_upper_edge(cur)
    return _filter(cur)


def _ends_parameter(cur: QueryCursor) -> bool:
    """Whether a parameter is a condition, or the beginning of one: what follows it is not an edge."""
    kind, text = cur.peek()
    if kind != LOWER:
        return True
    cur.index += 1
    opens = _begins_clause(cur) and (cur.peek()[1] != "{" or text in _BLOCKS)
    cur.index -= 1
    return opens or text in _OPERATOR_WORDS or text in ("and", "or")


def _names_an_edge(cur: QueryCursor) -> bool:
    # `$a in $b` goes along an edge called `in`; `$a in $b.tags`, which no traversal can continue, tests membership.
    kind, text = cur.peek(2)
    return text in ("{", UNION) or (kind == VAR and cur.peek(3)[1] != ".")


def _negation(cur: QueryCursor) -> NotBlock:
    cur.enter()
    start = cur.advance()
    clauses = parse_clauses(cur)
    cur.leave()
    return NotBlock(clauses, cur.span_from(start))


def _optional(cur: QueryCursor) -> OptionalBlock:
    cur.enter()
    start = cur.advance()
    clauses = parse_clauses(cur)
    cur.leave()
    return OptionalBlock(clauses, cur.span_from(start))


def _either(cur: QueryCursor) -> ast.EitherBlock:
    cur.enter()
    start = cur.advance()
    found = [ast.Alternative(parse_clauses(cur))]
    cur.need_word("or")
    found.append(ast.Alternative(parse_clauses(cur)))
    while cur.text == "or" and cur.peek()[1] == "{":
        cur.advance()
        found.append(ast.Alternative(parse_clauses(cur)))
    cur.leave()
    return ast.EitherBlock(tuple(found), cur.span_from(start))


def _begins_list(cur: QueryCursor) -> bool:
    # `unwind = 1` and `unwind in […]` are filters on a column of that name.
    kind, text = cur.peek()
    return (
        kind == VAR
        or text in ("[", "(")
        or (kind == LOWER and cur.peek(2)[1] == "(")
        or (kind == LOWER and text not in _OPERATOR_WORDS and cur.peek(2) == (LOWER, "as"))
    )


def _unwind(cur: QueryCursor) -> ast.Unwind:
    start = cur.advance()
    expr = parse_expr(cur)
    cur.need_word("as")
    name, _ = cur.need_lower("a name (lower-case initial)")
    cur.columns |= {name}
    return ast.Unwind(expr, name, cur.span_from(start))


def _begins_path(cur: QueryCursor) -> bool:
    kind, text = cur.peek()
    if cur.text in ("shortest", "cheapest"):
        return kind == VAR or (kind == INT and cur.peek(2)[0] == VAR)
    return (cur.text == "simple" and kind == VAR) or (cur.text == "all" and text == "shortest")


def _path(cur: QueryCursor) -> Traversal:
    start = cur.index
    word = cur.text
    cur.advance()
    if word == "all":
        cur.advance()
        word = "all shortest"
    count: ast.Literal | ast.Var | None = None
    if cur.kind == INT:
        number, span = cur.need_int("a number of paths")
        count = ast.Literal(number, "int", span)
    elif cur.kind == VAR and cur.peek()[0] == VAR:
        count = ast.Var(*cur.need_var())
    name, _ = cur.need_var()
    cur.need_punct(":")
    return replace(_traversal(cur), path_var=name, path_kind=word, path_count=count, span=cur.span_from(start))


def _along(cur: QueryCursor) -> ast.Along | None:
    """What may stand behind the right end: `along $e from $m to $n by cost { condition … }`, in parts."""
    if cur.kind != LOWER or cur.text != "along":
        return None
    if cur.peek()[0] != VAR and not (cur.peek()[1] in ("from", "to") and cur.peek(2)[0] == VAR):
        return None
    start = cur.index
    cur.advance()
    edge = cur.need_var()[0] if cur.kind == VAR else None
    names: dict[str, str | None] = {"from": None, "to": None}
    for word in names:
        if cur.text == word:
            cur.advance()
            names[word] = cur.need_var()[0]
    cost = None
    if cur.text == "by":
        cur.advance()
        cost = parse_expr(cur)
    conditions: list[Expr] = []
    if cost is None or cur.at_punct("{"):
        cur.need_punct("{")
        while cur.take_punct("}") is None:
            conditions.append(_filter(cur).condition)
    return ast.Along(edge, names["from"], names["to"], cost, tuple(conditions), cur.span_from(start))


def _filter(cur: QueryCursor) -> Filter:
    start = cur.index
    condition = parse_expr(cur)
    alone = isinstance(condition, ast.Prop | ast.Alias) and cur.kind == LOWER and not _begins_clause(cur)
    if isinstance(condition, ast.Literal | ast.ListLiteral) and not _is_condition(condition):
        shown = cur.tokens.texts[start][:40]
        cur.fail_at(cur.tokens.span(start), f"unexpected '{shown}'", expected=(COMPARISON,))
    if alone or not (_is_condition(condition) or _is_named(condition, cur)):
        cur.fail(_HINTS.get(condition.name) if isinstance(condition, ast.Alias) else None)
    return Filter(condition, cur.span_from(start))


def _is_condition(condition: Expr) -> bool:
    if isinstance(condition, ast.Call):
        return condition.name not in ("nearest", "bm25", "rrf")
    return isinstance(condition, _TRUTHS) or (isinstance(condition, ast.Literal) and condition.kind == "bool")


def _is_named(condition: Expr, cur: QueryCursor) -> bool:
    """Whether it is a parameter, or may be a column of the stage before: which one, and its type, is checked later."""
    if isinstance(condition, ast.Var):
        return condition.name in cur.params
    return isinstance(condition, ast.Alias) and bool(cur.columns) and condition.name not in _HINTS


def _begins_clause(cur: QueryCursor) -> bool:
    """Whether a word after a complete filter opens the next clause, or is an operator that does not exist."""
    text = cur.peek()[1]
    opens = text in ("(", "{") or _begins_path(cur) or (cur.text == "unwind" and _begins_list(cur))
    opens = opens or cur.text in cur.columns
    # The name of a value, as of the stage before, and what it is compared with.
    opens = opens or text in ("=", "!=", "<", "<=", ">", ">=", "is", "in") or text in WORD_COMPARISONS
    return opens or cur.text in LITERAL_WORDS or cur.text in ("not", "case")


def _binding(cur: QueryCursor) -> Binding:
    start = cur.index
    name, _ = cur.need_var()
    cur.need_punct(":")
    type_name, type_span = _type_names(cur)
    matches = _property_matches(cur) if cur.take_punct("{") is not None else ()
    return Binding(name, type_name, matches, cur.span_from(start), type_span)


def _type_names(cur: QueryCursor) -> tuple[str, Span]:
    start = cur.index
    names = [cur.need_upper()[0]]
    while cur.text == UNION:
        cur.advance()
        names.append(cur.need_upper()[0])
    return UNION.join(names), cur.span_from(start)


def _property_matches(cur: QueryCursor) -> tuple[PropMatch, ...]:
    matches: list[PropMatch] = []
    while cur.take_punct("}") is None:
        start = cur.index
        name, _ = cur.need_lower("a property name")
        cur.need_punct(":")
        value = parse_value(cur)
        matches.append(PropMatch(name, value, cur.span_from(start)))
        if cur.take_punct(",") is None:
            cur.need_punct("}")
            break
    return tuple(matches)


def _traversal(cur: QueryCursor) -> Traversal:
    start = cur.index
    left, left_span = cur.need_var()
    edge_var = None
    if cur.kind == VAR:
        edge_var, _ = cur.need_var()
        cur.need_punct(":")
    undirected = cur.take_punct("<") is not None
    edge, edge_span = _edge_names(cur)
    if undirected:
        cur.need_punct(">")
    hops, hops_span = _hops(cur) if cur.at_punct("{") else (None, NOWHERE)
    right, right_span = cur.need_var()
    along = _along(cur)
    return Traversal(
        left,
        edge,
        right,
        undirected,
        edge_var,
        hops,
        cur.span_from(start),
        edge_span,
        hops_span,
        left_span,
        right_span,
        along=along,
    )


def _edge_names(cur: QueryCursor) -> tuple[str, Span]:
    start = cur.index
    names = [_edge_name(cur)[0]]
    while cur.text == UNION:
        cur.advance()
        names.append(_edge_name(cur)[0])
    return UNION.join(names), cur.span_from(start)


def _edge_name(cur: QueryCursor) -> tuple[str, Span]:
    if cur.kind == UPPER:
        _refuse_upper_edge(cur)
    return cur.need_lower("an edge name (lower-case initial)")


def _refuse_upper_edge(cur: QueryCursor) -> None:
    name = cur.text[:40]
    # Edges are looked up without regard to case; `pATH` would be found but is not a way to write one.
    lowered = name.lower() if name.isupper() else name[0].lower() + name[1:]
    cur.fail_at(
        cur.tokens.span(cur.index),
        f"unexpected '{name}'",
        help=f"an edge is written with a lower-case initial: {lowered}",
        expected=("an edge name (lower-case initial)",),
    )


def _hops(cur: QueryCursor) -> tuple[tuple[int, int | None], Span]:
    start = cur.need_punct("{")
    low, _ = cur.need_int("a number of hops")
    if cur.take_punct("}") is not None:
        return (low, low), cur.span_from(start)
    cur.need_punct(",")
    high = None if cur.at_punct("}") else cur.need_int("a number of hops")[0]
    cur.need_punct("}")
    return (low, high), cur.span_from(start)
