"""Parsing of query files: text in, tree out, Q000 for everything that is not the language."""

from __future__ import annotations

import re
from collections.abc import Callable

from omnigraph.compiler.decode import to_source
from omnigraph.compiler.diagnostics import did_you_mean
from omnigraph.compiler.lexer import UPPER, tokenize
from omnigraph.compiler.query import UNNAMED
from omnigraph.compiler.query.ast import Param, Query, QueryFile, Read, Statement
from omnigraph.compiler.query.hints import hint
from omnigraph.compiler.query.parse_clause import parse_clauses
from omnigraph.compiler.query.parse_expression import parse_expr
from omnigraph.compiler.query.parse_literal import MAX_TOKENS, QueryCursor
from omnigraph.compiler.query.parse_mutation import WRITES, parse_driven, parse_statement
from omnigraph.compiler.query.parse_read import parse_read
from omnigraph.compiler.source import Source
from omnigraph.compiler.types import BASE_SCALARS, MAX_VECTOR_DIM, PropType, type_elsewhere

SYNTAX = "Q000"
_BODY = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*+(?:match|insert|update|delete)\b", re.DOTALL)
_UNDECLARED = re.compile(r"\$(\w+) is (?:not a parameter of this query|neither bound here nor a parameter)")
_ENUM_WORD = re.compile(r"[A-Za-z0-9_-]+")


def parse_queries(text: Source | str | bytes, *, most_tokens: int | None = None) -> QueryFile:
    """The queries of a file, in order; a ParseError (Q000) names the furthest place that made sense."""
    cur = QueryCursor(tokenize(to_source(text, code=SYNTAX)), SYNTAX, SYNTAX, hint)
    cur.most_tokens = most_tokens
    queries: list[Query] = []
    while not cur.at_end():
        queries.append(_query(cur))
    return QueryFile(tuple(queries))


def parse_runnable(text: Source | str | bytes) -> QueryFile:
    """The queries of a text that is to be run: those of a file, or a body alone, which is called `unnamed`.

    Each has MAX_TOKENS at most, so that compiling it does not take longer than a query may.
    """
    source = to_source(text, code=SYNTAX)
    if not is_bare(source.text):
        return parse_queries(source, most_tokens=MAX_TOKENS)
    cur = QueryCursor(tokenize(source), SYNTAX, SYNTAX, hint)
    cur.most_tokens = MAX_TOKENS
    body = _body(cur, cur.at_end)
    if not cur.at_end():
        cur.fail()
    return QueryFile((Query(UNNAMED, (), body),))


def is_bare(text: str) -> bool:
    """Whether a text begins like a body; everything else in the language begins with `query`.

    >>> is_bare("// all\\nmatch { $p: P } return { $p.a }"), is_bare("query q() { delete P where a = 1 }"), is_bare("P")
    (True, False, False)
    """
    return _BODY.match(text) is not None


def declare_advice(message: str) -> str | None:
    """What to do about a parameter of a body alone, which only a head can declare; None for other complaints."""
    found = _UNDECLARED.search(message)
    if found is None:
        return None
    return f"a body alone has no parameters; give it a head that declares them: query name(${found[1]}: String) {{ … }}"


def _query(cur: QueryCursor) -> Query:
    cur.begin()
    start = cur.need_word("query")
    name, name_span = cur.need_lower("a query name (lower-case initial)")
    params = _params(cur)
    cur.params, cur.columns = frozenset(param.name for param in params), frozenset()
    notes = _notes(cur)
    cur.need_punct("{")
    body = _body(cur, lambda: cur.at_punct("}"))
    cur.need_punct("}")
    return Query(
        name, params, body, notes.get("description"), notes.get("instruction"), cur.span_from(start), name_span
    )


def _params(cur: QueryCursor) -> tuple[Param, ...]:
    cur.need_punct("(")
    if cur.take_punct(")") is not None:
        return ()
    params = [_param(cur)]
    while cur.take_punct(",") is not None:
        params.append(_param(cur))
    cur.need_punct(")")
    return tuple(params)


def _param(cur: QueryCursor) -> Param:
    start = cur.index
    name, _ = cur.need_var("a parameter such as $x")
    cur.need_punct(":")
    kind = _type(cur)
    if cur.take_punct("?") is not None:
        kind = kind.with_nullable(True)
    default = parse_expr(cur) if cur.take_punct("=") is not None else None
    return Param(name, kind, default, cur.span_from(start))


def _type(cur: QueryCursor) -> PropType:
    if cur.take_punct("[") is not None:
        scalar = _base(cur)
        cur.need_punct("]")
        return PropType(scalar, list=True)
    if cur.text == "Vector":
        cur.advance()
        cur.need_punct("(")
        dim, span = cur.need_int("a number of dimensions")
        if not 1 <= dim <= MAX_VECTOR_DIM:
            cur.fail_at(span, f"a vector has 1 to {MAX_VECTOR_DIM} dimensions")
        cur.need_punct(")")
        return PropType("Vector", dim=dim)
    if cur.take_word("enum") is not None:
        return _enum(cur)
    return PropType(_base(cur))


def _base(cur: QueryCursor) -> str:
    name = cur.text
    if cur.kind != UPPER:
        cur.expect("a type")
        cur.fail()
    if name not in BASE_SCALARS:
        all_types = f"the types are {', '.join(BASE_SCALARS)}, Vector(n) and enum(…)"
        help_text = type_elsewhere(name) or did_you_mean(name, BASE_SCALARS) or all_types
        cur.fail_at(cur.tokens.span(cur.index), f"'{name[:40]}' is not the type of a parameter", help=help_text)
    cur.advance()
    return name


def _enum(cur: QueryCursor) -> PropType:
    cur.need_punct("(")
    words: set[str] = set()
    _enum_word(cur, words)
    while cur.take_punct(",") is not None:
        _enum_word(cur, words)
    cur.need_punct(")")
    # Sorted like the enums of a schema: the order of writing never matters.
    return PropType("String", enum=tuple(sorted(words)))


def _enum_word(cur: QueryCursor, words: set[str]) -> None:
    word, span = cur.need_pattern(_ENUM_WORD, "an enum value")
    if word in words:
        cur.fail_at(span, f"the enum value '{word[:40]}' is repeated")
    words.add(word)


def _notes(cur: QueryCursor) -> dict[str, str]:
    notes: dict[str, str] = {}
    while cur.take_punct("@") is not None:
        if not (cur.at_word("description") or cur.at_word("instruction")):
            cur.fail()
        name, span = cur.need_lower()
        if name in notes:
            cur.fail_at(span, f"@{name} is repeated", help="each may stand once, between the parameters and the body")
        cur.need_punct("(")
        notes[name], _ = cur.need_string()
        cur.need_punct(")")
    return notes


def _body(cur: QueryCursor, ended: Callable[[], bool]) -> Read | tuple[Statement, ...]:
    start = cur.index
    if cur.take_word("match") is None:
        statements = [parse_statement(cur)]
    else:
        # What follows the first match decides between a read and a mutation.
        clauses = parse_clauses(cur)
        if cur.text not in WRITES:
            return parse_read(cur, clauses)
        statements = [parse_driven(cur, start, clauses)]
    while not ended():
        statements.append(parse_statement(cur))
    return tuple(statements)
