"""Hypothesis strategies for query trees: every construct of the language, syntactically valid, meaning nothing."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from omnigraph.compiler.query import ast
from omnigraph.compiler.types import BASE_SCALARS, PropType

# Strategies without arguments are cached: Hypothesis inspects signatures anew for every strategy object.

# Every contextual word of the language is also a legal name; `true`, `false` and `null` are literals where a bare
# name could stand, so those three are names only where no expression can.
_WORDS = (
    *("query", "match", "return", "order", "limit", "offset", "distinct", "as", "asc", "desc", "where", "set"),
    *("not", "and", "or", "in", "is", "contains", "starts_with", "insert", "update", "delete", "description"),
    *("count", "sum", "avg", "min", "max", "now", "nearest", "search", "fuzzy", "match_text", "bm25", "rrf"),
    *("optional", "shortest", "having", "collect", "case", "when", "then", "else", "end", "matches", "icontains", "if"),
    *("exists", "either", "union", "all", "with", "per", "unwind", "rank", "lag"),
    *("date", "datetime", "enum", "id", "from", "to", "a", "b", "name", "_", "_x", "truex", "nullable", "camelCase9"),
)
_INT64_MAX = 2**63 - 1
_T = TypeVar("_T")
_R = TypeVar("_R", ast.Read, ast.Stage)
# By (inside `where`, may nest): flat operands outnumber nesting ones, which keeps trees small.
_FLAT = ("value", "property", "value", "alias", "property")
_EXPRESSION_KINDS = {
    (False, False): st.sampled_from(_FLAT),
    (False, True): st.sampled_from(
        (*_FLAT, "binary", "minus", "call", "aggregate", "function", "list", "case", "condition")
    ),
    (True, False): st.sampled_from(("value", "alias")),
    (True, True): st.sampled_from(("value", "alias", "alias", "value", "binary", "minus", "function", "case")),
}
_TEXTS = (
    *("", "a", '"', "\\", "\n", "\r\n", "\t", "// x", "/* x */", "$x", "{"),
    *("é", "\u2028", "\U0001f3d4", "\x00", "2024-01-02"),
)


@cache
def query_files() -> SearchStrategy[ast.QueryFile]:
    """Files of up to three queries."""
    return st.builds(ast.QueryFile, st.lists(queries(), max_size=3).map(tuple))


@cache
def queries() -> SearchStrategy[ast.Query]:
    """One read or mutation with parameters and notes."""
    note = st.none() | texts()
    params = _tuples(_params(), max_size=4)
    return st.builds(ast.Query, names(), params, reads() | _tuples(statements(), min_size=1), note, note)


@cache
def reads() -> SearchStrategy[ast.Read]:
    """`match … return …` with any of the trailing sections."""
    count = st.none() | st.builds(ast.Literal, _integers(minimum=0), st.just("int")) | st.builds(ast.Var, names())
    sort = st.builds(ast.Sort, expressions(), st.sampled_from([None, "asc", "desc"])).map(_undirected_nearest)
    pattern = _tuples(clauses(), min_size=1)
    items = _tuples(st.builds(ast.Item, expressions(), st.none() | names()), min_size=1)
    part = st.builds(ast.Read, pattern, items, distinct=st.booleans(), having=_tuples(conditions()))
    tail = (_tuples(sort), count, count, st.booleans(), _tuples(conditions()))
    stage = st.builds(ast.Stage, pattern, items, *tail).map(_per_with_limit)
    staged = st.builds(ast.Read, pattern | st.just(()), items, *tail, stages=_tuples(stage, min_size=1, max_size=2))
    united = st.builds(
        ast.Read, pattern, items, *tail, more=_tuples(part, min_size=1, max_size=2), union_all=st.booleans()
    )
    limited = st.builds(ast.Read, pattern, items, *tail, per=_tuples(expressions(), min_size=1, max_size=2))
    return st.builds(ast.Read, pattern, items, *tail) | united | staged | limited.map(_per_with_limit)


def _per_with_limit(read: _R) -> _R:
    return replace(read, per=()) if read.limit is None else read


@st.composite
def clauses(draw: st.DrawFn, depth: int = 2) -> ast.Clause:
    """Bindings, traversals, filters and nested blocks."""
    kinds = ["binding", "traversal", "filter", "not", "optional", "either", "unwind"]
    kind = draw(st.sampled_from(kinds if depth else ["binding", "filter"]))
    if kind == "binding":
        return draw(_bindings())
    if kind == "traversal":
        return draw(_traversals())
    if kind == "filter":
        return ast.Filter(draw(conditions()))
    if kind == "unwind":
        listed = st.builds(ast.Prop, names(), names()) | _calls(1, bare=False)
        return ast.Unwind(draw(listed), draw(names()))
    if kind == "either":
        inside = st.builds(ast.Alternative, _tuples(clauses(depth - 1), min_size=1))
        return ast.EitherBlock(draw(_tuples(inside, min_size=2, max_size=3)))
    block = ast.NotBlock if kind == "not" else ast.OptionalBlock
    return block(draw(_tuples(clauses(depth - 1), min_size=1)))


@cache
def statements() -> SearchStrategy[ast.Statement]:
    """Inserts, updates and deletes, alone and driven by a match; predicates use bare properties."""
    assigns = _tuples(st.builds(ast.Assign, names(), values()), min_size=1)
    computed = _tuples(st.builds(ast.Assign, names(), expressions()), min_size=1)
    where = conditions(bare=True)
    driven = (
        st.builds(ast.Insert, type_names(), computed)
        | st.builds(ast.UpdateVar, names(), computed)
        | st.builds(ast.DeleteVar, names())
    )
    return (
        st.builds(ast.Insert, type_names(), assigns)
        | st.builds(ast.Update, type_names(), computed, where)
        | st.builds(ast.Delete, type_names(), where)
        | st.builds(ast.ForEach, _tuples(clauses(), min_size=1), driven)
    )


@st.composite
def conditions(draw: st.DrawFn, *, bare: bool = False, depth: int = 2) -> ast.Expr:
    """Comparisons, membership and null tests under `and` and `or`; with `bare`, as in a mutation's `where`."""
    if depth and draw(st.integers(0, 5)) == 0:
        return ast.Not(draw(conditions(bare=bare, depth=depth - 1)))
    if depth and draw(st.integers(0, 3)) == 0:
        parts = draw(_tuples(conditions(bare=bare, depth=depth - 1), min_size=2, max_size=3))
        return ast.And(parts) if draw(st.booleans()) else ast.Or(parts)
    operand = expressions(bare=bare)
    left = operand.map(_word_is_property) if bare else operand
    if depth == 2 and not bare and draw(st.integers(0, 9)) == 0:
        return ast.Exists(draw(_tuples(clauses(0), min_size=1, max_size=2)))
    kinds = ["compare", "in", "null", "range"]
    kind = draw(st.sampled_from(kinds if bare else [*kinds, "text", "value"]))
    if kind == "range":
        low, high = draw(st.sampled_from([("<", "<="), ("<=", "<"), (">", ">="), (">=", ">=")]))
        return ast.Range(draw(left), low, draw(operand), high, draw(operand))
    if kind == "value":
        return draw(st.builds(ast.Prop, names(), names()) | _calls(1, bare=bare) | _cases(1, bare=bare))
    if kind == "compare":
        words = ["contains", "starts_with", "ends_with", "matches", "icontains"]
        op = draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">=", *words]))
        return ast.Compare(op, draw(left), draw(operand))
    if kind == "in":
        return ast.In(draw(left), draw(operand), draw(st.booleans()))
    if kind == "null":
        return ast.IsNull(draw(left), draw(st.booleans()))
    return draw(_text_calls(1))


@st.composite
def expressions(draw: st.DrawFn, *, bare: bool = False, depth: int = 2) -> ast.Expr:
    """Operands, calls, aggregates and arithmetic; with `bare`, only what a mutation's `where` allows."""
    inner = expressions(bare=bare, depth=depth - 1)
    match draw(_EXPRESSION_KINDS[bare, depth > 0]):
        case "alias":
            return ast.Alias(draw(names()))
        case "property":
            return ast.Prop(draw(names()), draw(names()))
        case "binary":
            # In `where`, what is computed with is a property, whatever it is called.
            sides = [_word_is_property(side) if bare else side for side in (draw(inner), draw(inner))]
            return ast.Binary(draw(st.sampled_from("+-*/%")), sides[0], sides[1])
        case "minus":
            operand = draw(inner)
            return ast.Unary("-", _word_is_property(operand) if bare else operand)
        case "function":
            return draw(_calls(depth - 1, bare=bare))
        case "list":
            return ast.ListLiteral(draw(_tuples(inner)))
        case "case":
            return draw(_cases(depth - 1, bare=bare))
        case "condition":
            return draw(conditions(bare=bare, depth=0))
        case "call":
            return draw(_rank_calls(depth - 1) | _rrf_calls(depth - 1) | _text_calls(depth - 1))
        case "aggregate":
            return draw(_aggregates(depth - 1) | _windows(depth - 1))
        case _:
            return draw(values())


def _windows(depth: int) -> SearchStrategy[ast.Window]:
    inner = expressions(depth=max(depth, 0))
    keys = _tuples(st.builds(ast.WindowKey, inner, st.booleans()), max_size=2)
    where = st.none() | inner
    placed = st.sampled_from(["row_number", "rank", "lag"])
    return st.builds(
        ast.Window, placed, _tuples(inner, max_size=2), _tuples(inner, max_size=2), keys, where
    ) | st.builds(
        ast.Window, st.sampled_from(["sum", "max"]), st.tuples(inner), _tuples(inner, max_size=2), keys, where
    )


@cache
def values() -> SearchStrategy[ast.Expr]:
    """What may stand after a colon: a literal, a parameter or `now()`."""
    return literals() | _list_literals() | st.builds(ast.Var, names()) | _now()


@cache
def literals() -> SearchStrategy[ast.Literal]:
    """Every kind of scalar literal."""
    number = st.floats(allow_nan=False, allow_infinity=False)
    return (
        st.builds(ast.Literal, texts(), st.sampled_from(["string", "date", "datetime"]))
        | st.builds(ast.Literal, _integers(minimum=-_INT64_MAX - 1), st.just("int"))
        | st.builds(ast.Literal, number, st.just("float"))
        | st.builds(ast.Literal, st.booleans(), st.just("bool"))
        | st.just(ast.Literal(None, "null"))
    )


@cache
def names() -> SearchStrategy[str]:
    """Lower-case names, contextual words among them."""
    return st.sampled_from(_WORDS)


@cache
def type_names() -> SearchStrategy[str]:
    """Upper-case names."""
    return st.sampled_from(["Hut", "Warden", "X", "Long_Type9", "String", "Vector"])


@cache
def texts() -> SearchStrategy[str]:
    """Strings with everything that needs escaping; no lone surrogates."""
    return st.lists(st.sampled_from(_TEXTS), max_size=2).map("".join)


@cache
def _params() -> SearchStrategy[ast.Param]:
    default = st.none() | literals() | _list_literals()
    return st.builds(ast.Param, names(), _types(), default)


@cache
def _types() -> SearchStrategy[PropType]:
    words = st.lists(st.sampled_from(["a", "B", "8-bit", "-", "_x", "42", "true"]), min_size=1, max_size=4, unique=True)
    base = st.sampled_from(BASE_SCALARS)
    shapes = (
        st.builds(PropType, base)
        | st.builds(PropType, base, list=st.just(True))
        | st.builds(PropType, st.just("Vector"), dim=st.integers(1, 2**31 - 1))
        | words.map(lambda found: PropType("String", enum=tuple(sorted(found))))
    )
    return st.builds(PropType.with_nullable, shapes, st.booleans())


@cache
def _bindings() -> SearchStrategy[ast.Binding]:
    types = st.lists(type_names(), min_size=1, max_size=2).map("|".join)
    return st.builds(ast.Binding, names(), types, _tuples(st.builds(ast.PropMatch, names(), values())))


@cache
def _traversals() -> SearchStrategy[ast.Traversal]:
    hops = st.tuples(_integers(minimum=0), st.none() | _integers(minimum=0))
    edge = st.lists(names(), min_size=1, max_size=2).map("|".join)
    plain = st.builds(ast.Traversal, names(), edge, names(), st.booleans(), st.none() | names(), st.none() | hops)
    costs = expressions(depth=1)
    ends = st.none() | names()
    along = st.builds(ast.Along, names(), ends, ends, st.none() | costs, _tuples(conditions()))
    count = st.none() | st.builds(ast.Literal, st.integers(1, 9), st.just("int")) | st.builds(ast.Var, names())
    counted = st.tuples(st.sampled_from(["shortest", "cheapest"]), count)
    kinds = counted | st.tuples(st.sampled_from(["simple", "all shortest"]), st.none())
    paths = st.none() | st.tuples(names(), kinds)
    return st.builds(_with_path, plain, paths, st.none() | along)


def _with_path(
    step: ast.Traversal, path: tuple[str, tuple[str, ast.Literal | ast.Var | None]] | None, along: ast.Along | None
) -> ast.Traversal:
    if path is None:
        return replace(step, along=along)
    name, (kind, count) = path
    return replace(step, path_var=name, path_kind=kind, path_count=count, along=along)


@st.composite
def _rank_calls(draw: st.DrawFn, depth: int) -> ast.Call:
    if draw(st.booleans()):
        args = draw(_tuples(expressions(depth=depth), min_size=1, max_size=2))
        return ast.Call("nearest", (ast.Prop(draw(names()), draw(names())), *args))
    return ast.Call("bm25", (draw(expressions(depth=depth)), draw(expressions(depth=depth))))


@st.composite
def _rrf_calls(draw: st.DrawFn, depth: int) -> ast.Call:
    more = draw(_tuples(expressions(depth=depth), max_size=1))
    return ast.Call("rrf", (draw(_rank_calls(depth)), draw(_rank_calls(depth)), *more))


@st.composite
def _text_calls(draw: st.DrawFn, depth: int) -> ast.Call:
    name = draw(st.sampled_from(["search", "match_text", "fuzzy", "search_phrase", "snippet"]))
    most = 3 if name in ("fuzzy", "snippet") else 2
    return ast.Call(name, draw(_tuples(expressions(depth=depth), min_size=2, max_size=most)))


@st.composite
def _calls(draw: st.DrawFn, depth: int, *, bare: bool) -> ast.Call:
    name = draw(st.sampled_from(["lower", "coalesce", "if", "year", "pi", "replace", "date", "to_int"]))
    least = 1 if name == "date" else 0
    args = draw(_tuples(expressions(bare=bare, depth=max(depth, 0)), min_size=least))
    # One text in quotes is a constant, not a call.
    plain = name == "date" and len(args) == 1 and isinstance(args[0], ast.Literal) and args[0].kind == "string"
    return ast.Call(name, (ast.Now(),) if plain else args)


@st.composite
def _cases(draw: st.DrawFn, depth: int, *, bare: bool) -> ast.Case:
    inner = expressions(bare=bare, depth=max(depth, 0))
    branches = draw(_tuples(st.builds(ast.When, conditions(bare=bare, depth=0), inner), min_size=1))
    return ast.Case(branches, draw(st.none() | inner))


@st.composite
def _aggregates(draw: st.DrawFn, depth: int) -> ast.Agg:
    name = draw(st.sampled_from(["count", "sum", "avg", "min", "max", "collect", "first", "percentile"]))
    where = draw(st.none() | conditions(depth=0))
    if name == "count" and draw(st.booleans()):
        return ast.Agg("count", None, where=where)
    inner = expressions(depth=depth)
    record = st.builds(ast.Record, _tuples(st.builds(ast.Member, names(), inner), min_size=1))
    more = (draw(inner),) if name == "percentile" else ()
    pattern = draw(_tuples(clauses(0), min_size=1)) if draw(st.integers(0, 4)) == 0 else ()
    key = draw(st.none() | inner)
    return ast.Agg(
        name,
        draw(record | inner if name in ("collect", "first") else inner),
        draw(st.booleans()),
        more=more,
        where=where,
        key=key,
        descending=key is not None and draw(st.booleans()),
        clauses=pattern,
    )


@st.composite
def _list_literals(draw: st.DrawFn, depth: int = 1) -> ast.ListLiteral:
    item: SearchStrategy[ast.Expr] = literals() | _list_literals(depth - 1) if depth else literals()
    return ast.ListLiteral(draw(_tuples(item)))


@cache
def _now() -> SearchStrategy[ast.Now]:
    return st.builds(ast.Now)


def _word_is_property(expr: ast.Expr) -> ast.Expr:
    # On the left of a predicate `true`, `false` and `null` are property names.
    if isinstance(expr, ast.Binary):
        return ast.Binary(expr.op, _word_is_property(expr.left), expr.right)
    if isinstance(expr, ast.Literal) and expr.kind in ("bool", "null"):
        return ast.Alias("null" if expr.value is None else str(expr.value).lower())
    return expr


def _undirected_nearest(sort: ast.Sort) -> ast.Sort:
    ranked = isinstance(sort.expr, ast.Call) and sort.expr.name == "nearest"
    null = isinstance(sort.expr, ast.Literal) and sort.expr.kind == "null"
    return ast.Sort(ast.Alias("null") if null else sort.expr, None if ranked else sort.direction)


def _integers(*, minimum: int) -> SearchStrategy[int]:
    return st.integers(minimum, _INT64_MAX)


def _tuples(items: SearchStrategy[_T], *, min_size: int = 0, max_size: int = 2) -> SearchStrategy[tuple[_T, ...]]:
    return st.lists(items, min_size=min_size, max_size=max_size).map(tuple)
