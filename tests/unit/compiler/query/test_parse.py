"""The query parser: trees, places, contextual words and the choices between readings."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from omnigraph.compiler.diagnostics import ParseError
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.ast import (
    Agg,
    Alias,
    And,
    Assign,
    Binary,
    Binding,
    Call,
    Compare,
    Delete,
    Expr,
    Filter,
    In,
    Insert,
    IsNull,
    Item,
    ListLiteral,
    Literal,
    NotBlock,
    Now,
    Or,
    Param,
    Prop,
    PropMatch,
    Query,
    Read,
    Sort,
    Traversal,
    Unary,
    Update,
    Var,
)
from omnigraph.compiler.query.parse import parse_queries
from omnigraph.compiler.source import Source, Span
from omnigraph.compiler.types import PropType


def only(text: str) -> Query:
    (query,) = parse_queries(text).queries
    return query


def read(match: str = "$h: Hut", items: str = "$h", rest: str = "") -> Read:
    body = only(f"query q() {{ match {{ {match} }} return {{ {items} }} {rest} }}").body
    assert isinstance(body, Read)
    return body


def clauses(match: str) -> tuple[Any, ...]:
    return read(match).clauses


def condition(text: str) -> Expr:
    (clause,) = clauses(text)
    assert isinstance(clause, Filter)
    return clause.condition


def expr(text: str) -> Expr:
    (item,) = read(items=text).items
    return item.expr


def where(text: str) -> Expr:
    body = only(f"query q() {{ delete Hut where {text} }}").body
    assert not isinstance(body, Read)
    (statement,) = body
    assert isinstance(statement, Delete)
    return statement.where


def error(text: str | bytes) -> ParseError:
    with pytest.raises(ParseError) as caught:
        parse_queries(text)
    assert caught.value.code == "Q000"
    return caught.value


def number(value: int) -> Literal:
    return Literal(value, "int")


H_ALT = Prop("h", "alt")


# --- files and headers -----------------------------------------------------------------------


def test_an_empty_file_holds_no_queries() -> None:
    assert parse_queries("").queries == ()
    assert parse_queries(" // nothing\n/* here */").queries == ()


def test_a_file_holds_its_queries_in_order() -> None:
    text = "query b() { delete X where a = 1 } query a() { match { $h: Hut } return { $h } }"
    assert [(query.name, query.is_mutation) for query in parse_queries(text).queries] == [("b", True), ("a", False)]


def test_bytes_and_sources_parse_like_text() -> None:
    text = "query q() { match { $h: Hut } return { $h } }"
    assert parse_queries(text.encode()) == parse_queries(Source(text, "a.gq")) == parse_queries(text)


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("String", PropType("String")),
        ("DateTime ?", PropType("DateTime", nullable=True)),
        ("[ I32 ]?", PropType("I32", list=True, nullable=True)),
        ("[Blob]", PropType("Blob", list=True)),
        ("Vector( 3 ) ?", PropType("Vector", dim=3, nullable=True)),
        ("enum(c, 8-bit, a)?", PropType("String", enum=("8-bit", "a", "c"), nullable=True)),
    ],
)
def test_a_parameter_has_a_type(declared: str, kind: PropType) -> None:
    assert only(f"query q($x: {declared}) {{ delete X where a = $x }}").params == (Param("x", kind),)


@pytest.mark.parametrize(
    ("default", "tree"),
    [
        ("10", number(10)),
        ("-10", number(-10)),
        ("null", Literal(None, "null")),
        ('[1.5, "a"]', ListLiteral((Literal(1.5, "float"), Literal("a", "string")))),
        ('date("2024-01-02")', Literal("2024-01-02", "date")),
    ],
)
def test_a_parameter_may_have_a_default(default: str, tree: Expr) -> None:
    (param,) = only(f"query q($x: I32 = {default}) {{ delete X where a = $x }}").params
    assert param.default == tree


def test_notes_stand_between_parameters_and_body() -> None:
    query = only('query q() @instruction("i") @ description ( "d\\n" ) { match { $h: Hut } return { $h } }')
    assert (query.description, query.instruction) == ("d\n", "i")


# --- clauses ---------------------------------------------------------------------------------


def test_bindings() -> None:
    assert clauses('$h: Hut { name: "a", alt: $n, seen: now(), x: -1, y: null, } $x: T {} $y: T') == (
        Binding(
            "h",
            "Hut",
            (
                PropMatch("name", Literal("a", "string")),
                PropMatch("alt", Var("n")),
                PropMatch("seen", Now()),
                PropMatch("x", number(-1)),
                PropMatch("y", Literal(None, "null")),
            ),
        ),
        Binding("x", "T"),
        Binding("y", "T"),
    )


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("$a path $b", Traversal("a", "path", "b")),
        ("$a <path> $b", Traversal("a", "path", "b", undirected=True)),
        ("$a < path > $b", Traversal("a", "path", "b", undirected=True)),
        ("$a $e:path $b", Traversal("a", "path", "b", edge_var="e")),
        ("$a $e : <path>{1,2} $b", Traversal("a", "path", "b", True, "e", (1, 2))),
        ("$a path{1,} $b", Traversal("a", "path", "b", hops=(1, None))),
        ("$a path { 0 , 3 } $b", Traversal("a", "path", "b", hops=(0, 3))),
        ("$_ path $_", Traversal("_", "path", "_")),
        ("$a path$b", Traversal("a", "path", "b")),
    ],
)
def test_traversals(text: str, tree: Traversal) -> None:
    assert clauses(text) == (tree,)


@pytest.mark.parametrize(
    "edge",
    [
        "contains",
        "starts_with",
        "in",
        "is",
        "and",
        "or",
        "match",
        "return",
        "count",
        "null",
        "true",
        "as",
        "limit",
        "not",
    ],
)
def test_any_word_may_name_an_edge(edge: str) -> None:
    assert clauses(f"$a {edge} $b $c: T") == (Traversal("a", edge, "b"), Binding("c", "T"))
    assert clauses(f"$a <{edge}>{{1,2}} $b") == (Traversal("a", edge, "b", undirected=True, hops=(1, 2)),)


def test_an_edge_called_not_is_told_from_a_block_and_a_condition() -> None:
    assert clauses("$a not $b") == (Traversal("a", "not", "b"),)
    assert clauses("$a $e:not $b") == (Traversal("a", "not", "b", edge_var="e"),)
    assert clauses("$a not{2} $b") == (Traversal("a", "not", "b", hops=(2, 2)),)
    error("query q() { match { $a not { $a path $b } } return { $a } }")
    error("query q() { match { $a not $b.tags } return { $a } }")


def test_not_blocks_nest() -> None:
    inner = Filter(Compare("=", H_ALT, number(1)))
    assert clauses("not { $h path $_ not { $h.alt = 1 } }") == (
        NotBlock((Traversal("h", "path", "_"), NotBlock((inner,)))),
    )


@pytest.mark.parametrize("op", ["=", "!=", "<", "<=", ">", ">=", "contains", "starts_with"])
def test_filters_compare(op: str) -> None:
    assert condition(f"$h.alt {op} 1") == Compare(op, H_ALT, number(1))
    assert condition(f"$h . alt {op} $x.y") == Compare(op, H_ALT, Prop("x", "y"))


@pytest.mark.parametrize("name", ["search", "match_text", "fuzzy"])
def test_a_text_predicate_stands_alone_or_in_a_comparison(name: str) -> None:
    call = Call(name, (Prop("h", "name"), Literal("x", "string")))
    assert condition(f'{name}($h.name, "x")') == call
    assert condition(f'({name}($h.name, "x"))') == call
    assert condition(f'{name}($h.name, "x") = false') == Compare("=", call, Literal(False, "bool"))
    assert condition(f'({name}($h.name, "x")) = false') == Compare("=", call, Literal(False, "bool"))
    assert clauses(f'{name}($h.name, "x") not {{ $h path $_ }}')[0] == Filter(call)


# --- choices between readings ----------------------------------------------------------------


def compare(op: str, left: Expr, right: Expr) -> Filter:
    return Filter(Compare(op, left, right))


ONE = compare("=", H_ALT, number(1))

READINGS = [
    ("a-bare-variable-before-contains-travels", "$a contains $b", (Traversal("a", "contains", "b"),)),
    ("unless-a-property-follows", "$a contains $b.x", (compare("contains", Var("a"), Prop("b", "x")),)),
    ("or-a-literal", '$a contains "x"', (compare("contains", Var("a"), Literal("x", "string")),)),
    ("or-parentheses-say-so", "($a contains $b)", (compare("contains", Var("a"), Var("b")),)),
    ("a-bare-variable-before-in-travels", "$a in $b", (Traversal("a", "in", "b"),)),
    ("but-not-before-a-property", "$a in $b.tags", (Filter(In(Var("a"), Prop("b", "tags"))),)),
    ("nor-after-a-property", "$a.x in $b", (Filter(In(Prop("a", "x"), Var("b"))),)),
    ("not-in-never-travels", "$a not in $b", (Filter(In(Var("a"), Var("b"), negated=True)),)),
    ("is-null-never-travels", "$a is null $b: T", (Filter(IsNull(Var("a"))), Binding("b", "T"))),
    ("is-before-a-variable-travels", "$a is $b", (Traversal("a", "is", "b"),)),
    ("minus-continues", "$h.alt > 1 -5", (compare(">", H_ALT, Binary("-", number(1), number(5))),)),
    (
        "minus-after-a-traversal-begins-a-filter",
        "$a path $b -5 < $h.alt",
        (Traversal("a", "path", "b"), compare("<", number(-5), H_ALT)),
    ),
    ("a-filter-ends-before-a-variable", "$h.alt = 1 $a path $b", (ONE, Traversal("a", "path", "b"))),
    ("a-filter-ends-before-a-binding", "$h.alt = $n $a: T", (compare("=", H_ALT, Var("n")), Binding("a", "T"))),
    (
        "a-filter-ends-before-a-group",
        "$h.alt = $n ($h.alt = 1 or $h.alt = 1)",
        (compare("=", H_ALT, Var("n")), Filter(Or((ONE.condition, ONE.condition)))),
    ),
    ("a-filter-ends-before-not", "$h.alt = 1 not { $h.alt = 1 }", (ONE, NotBlock((ONE,)))),
    ("a-filter-ends-before-a-literal", '$h.alt = 1 "x" = $y', (ONE, compare("=", Literal("x", "string"), Var("y")))),
    (
        "a-filter-ends-before-a-list",
        "$h.alt = 1 [1] contains $y",
        (ONE, compare("contains", ListLiteral((number(1),)), Var("y"))),
    ),
    ("a-column-called-or", "$h.alt = 1 or = 1", (ONE, compare("=", Alias("or"), number(1)))),
    ("a-column-called-and", "$h.alt = 1 and contains 1", (ONE, compare("contains", Alias("and"), number(1)))),
    ("a-column-called-not", "not = 1", (compare("=", Alias("not"), number(1)),)),
    ("or-before-an-operand-joins", "$h.alt = 1 or $h.alt = 1", (Filter(Or((ONE.condition, ONE.condition))),)),
    ("or-joins-a-membership", "$h.alt = 1 or $a in $b", (Filter(Or((ONE.condition, In(Var("a"), Var("b"))))),)),
    (
        "a-function-word-alone-is-a-column",
        "$h.alt = count $a: T",
        (compare("=", H_ALT, Alias("count")), Binding("a", "T")),
    ),
    ("undirected-is-not-less-than", "$a <path> $b", (Traversal("a", "path", "b", undirected=True),)),
    ("less-than-a-column", "$a < path $b: T", (compare("<", Var("a"), Alias("path")), Binding("b", "T"))),
    ("nodes-compare", "$a = $b $a != $b", (compare("=", Var("a"), Var("b")), compare("!=", Var("a"), Var("b")))),
]


@pytest.mark.parametrize(("text", "tree"), [pytest.param(text, tree, id=name) for name, text, tree in READINGS])
def test_an_ambiguous_text_has_one_reading(text: str, tree: tuple[Any, ...]) -> None:
    assert clauses(text) == tree


@pytest.mark.parametrize(
    "text",
    [
        "$h.alt > 1 -5 < $x.y",
        "1 < $h.alt > 5",
        "$h.alt = 1 not in [2]",
        "$h.alt 5",
        "nearest($h.vec, [1])",
        'bm25($h.name, "x")',
        "$h.alt is 5",
        "$h.alt is not 5",
        "$h.alt in (1, 2)",
        "$h.alt = 1 or not { $h.alt = 2 }",
        "$h.alt = 1 or",
        "()",
        "$a path{} $b",
        "$a path{1,2,3} $b",
        "$a path{-1,2} $b",
        "$a Path $b",
        "$a $e:Path $b",
        "$a : path",
        "$a: Hut { x: y }",
        "$a: Hut { x: 1 + 1 }",
        "$a: Hut { x: 1 y: 2 }",
        "$a: Hut { , }",
        "where $h.alt = 1",
        "$h.alt = 1, $h.alt = 2",
    ],
)
def test_what_no_reading_fits_is_a_syntax_error(text: str) -> None:
    error(f"query q() {{ match {{ {text} }} return {{ $h }} }}")


# --- conditions and arithmetic ---------------------------------------------------------------


A, B, C = (Compare("=", Prop("h", name), number(1)) for name in "abc")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("$h.a = 1 or $h.b = 1 and $h.c = 1", Or((A, And((B, C))))),
        ("$h.a = 1 and $h.b = 1 or $h.c = 1", Or((And((A, B)), C))),
        ("($h.a = 1 or $h.b = 1) and $h.c = 1", And((Or((A, B)), C))),
        ("$h.a = 1 or $h.b = 1 or $h.c = 1", Or((A, B, C))),
        ("($h.a = 1 or $h.b = 1) or $h.c = 1", Or((Or((A, B)), C))),
        ("((($h.a = 1)))", A),
        ("$h.alt is null", IsNull(H_ALT)),
        ("$h.alt is not null", IsNull(H_ALT, negated=True)),
        ("$h.alt + 1 is null", IsNull(Binary("+", H_ALT, number(1)))),
        ('$h.alt in ["a"]', In(H_ALT, ListLiteral((Literal("a", "string"),)))),
        ("$h.alt not in [ ]", In(H_ALT, ListLiteral(()), negated=True)),
        ("$h.alt = null", Compare("=", H_ALT, Literal(None, "null"))),
        ("($h.alt + 1) * 2 > 3", Compare(">", Binary("*", Binary("+", H_ALT, number(1)), number(2)), number(3))),
        ("(($h.alt)) > (3)", Compare(">", H_ALT, number(3))),
        ("search($h.a, $q) or $h.a = 1", Or((Call("search", (Prop("h", "a"), Var("q"))), A))),
    ],
)
def test_conditions(text: str, tree: Expr) -> None:
    assert condition(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("1 + 2 * 3", Binary("+", number(1), Binary("*", number(2), number(3)))),
        ("1 * 2 + 3", Binary("+", Binary("*", number(1), number(2)), number(3))),
        ("1 - 2 - 3", Binary("-", Binary("-", number(1), number(2)), number(3))),
        ("1 - (2 - 3)", Binary("-", number(1), Binary("-", number(2), number(3)))),
        ("8 / 4 % 3", Binary("%", Binary("/", number(8), number(4)), number(3))),
        ("-5", number(-5)),
        ("- 5", number(-5)),
        ("1 - -5", Binary("-", number(1), number(-5))),
        ("1-5", Binary("-", number(1), number(5))),
        ("-1.5", Literal(-1.5, "float")),
        ("-$h.alt * 2", Binary("*", Unary("-", H_ALT), number(2))),
        ("-(5)", Unary("-", number(5))),
        ("--5", Unary("-", number(-5))),
        ("-9223372036854775808", number(-(2**63))),
        ("9223372036854775807", number(2**63 - 1)),
        ("18446744073709551615", number(2**64 - 1)),  # a U64, by issue 13
        ("sum($h.alt) / count(*)", Binary("/", Agg("sum", H_ALT), Agg("count", None))),
    ],
)
def test_arithmetic(text: str, tree: Expr) -> None:
    assert expr(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("count(*)", Agg("count", None)),
        ("count ( * )", Agg("count", None)),
        ("count(distinct $h.alt)", Agg("count", H_ALT, distinct=True)),
        ("count(distinct)", Agg("count", Alias("distinct"))),
        ("count(distinct distinct)", Agg("count", Alias("distinct"), distinct=True)),
        ("max($h.alt)", Agg("max", H_ALT)),
        ("now()", Now()),
        ('datetime("x")', Literal("x", "datetime")),
        ("date", Alias("date")),
        ("count", Alias("count")),
        ("true", Literal(True, "bool")),
        ("truex", Alias("truex")),
        ("nullable", Alias("nullable")),
        ("null", Literal(None, "null")),
        ("[[1], []]", ListLiteral((ListLiteral((number(1),)), ListLiteral(())))),
        ("fuzzy($h.a, $q, 1)", Call("fuzzy", (Prop("h", "a"), Var("q"), number(1)))),
        ("nearest($h.vec, [1, -1])", Call("nearest", (Prop("h", "vec"), ListLiteral((number(1), number(-1)))))),
        ("nearest($h.vec, $q, $n)", Call("nearest", (Prop("h", "vec"), Var("q"), Var("n")))),
        (
            "rrf(nearest($h.v, $q), bm25($h.a, $q), 10)",
            Call(
                "rrf",
                (
                    Call("nearest", (Prop("h", "v"), Var("q"))),
                    Call("bm25", (Prop("h", "a"), Var("q"))),
                    number(10),
                ),
            ),
        ),
    ],
)
def test_calls_and_literals(text: str, tree: Expr) -> None:
    assert expr(text) == tree


@pytest.mark.parametrize(
    "text",
    ["sum(*)", "lowr($h.a)", "now(1)", "search($h.a)", "search($h.a, 1, 2)", "duration(now())"],
)
def test_a_malformed_call_is_a_syntax_error(text: str) -> None:
    error(f"query q() {{ match {{ $h: Hut }} return {{ {text} }} }}")


# --- return, order, limit --------------------------------------------------------------------


def test_commas_between_items_are_optional() -> None:
    expected = (Item(Prop("h", "a")), Item(Prop("h", "b"), "x"), Item(Alias("y")), Item(Agg("count", Var("h"))))
    assert read(items="$h.a, $h.b as x, y, count($h),").items == expected
    assert read(items="$h.a $h.b as x y count($h)").items == expected


def test_as_without_a_name_is_a_column_called_as() -> None:
    assert read(items="$h.a as, as as as").items == (Item(Prop("h", "a")), Item(Alias("as")), Item(Alias("as"), "as"))


def test_null_is_a_column_once_a_column_has_that_name() -> None:
    null = Literal(None, "null")
    assert read(items="null as x, 1 as null, null").items == (
        Item(null, "x"),
        Item(number(1), "null"),
        Item(Alias("null")),
    )
    assert read(rest="order { null desc }").order == (Sort(Alias("null"), "desc"),)


def test_the_tail_of_a_read() -> None:
    body = read(rest="order { $h.a desc, n, desc asc } limit 10 offset $n")
    assert body.order == (Sort(Prop("h", "a"), "desc"), Sort(Alias("n")), Sort(Alias("desc"), "asc"))
    assert (body.limit, body.offset, body.distinct) == (number(10), Var("n"), False)
    assert read(rest="offset 20").offset == number(20)
    assert read(rest="limit $n").limit == Var("n")


def test_return_distinct() -> None:
    body = only("query q() { match { $h: Hut } return distinct { $h.a } }").body
    assert isinstance(body, Read)
    assert body.distinct


@pytest.mark.parametrize(
    "rest",
    [
        "limit",
        "limit -1",
        "limit 1.5",
        "limit $n.x",
        "limit 99999999999999999999",
        "offset 1 limit 1",
        "limit 1 order { a }",
        "order { }",
        "order { a, }",
        "order { a b }",
        "order { nearest($h.vec, $v) desc }",
        "order { (nearest($h.vec, $v)) asc }",
        "limit10",
        "having { }",
        "having n > 1",
        "order { a } having { n > 1 }",
    ],
)
def test_a_malformed_tail_is_a_syntax_error(rest: str) -> None:
    error(f"query q() {{ match {{ $h: Hut }} return {{ $h }} {rest} }}")


# --- mutations -------------------------------------------------------------------------------


def test_statements() -> None:
    body = only(
        'query q() { insert Hut { code: "a" name: $n, seen: now() alt: null } '
        "update Path set { minutes: -1 } where from = $f delete Hut where id = $i }"
    ).body
    assert body == (
        Insert(
            "Hut",
            (
                Assign("code", Literal("a", "string")),
                Assign("name", Var("n")),
                Assign("seen", Now()),
                Assign("alt", Literal(None, "null")),
            ),
        ),
        Update("Path", (Assign("minutes", number(-1)),), Compare("=", Alias("from"), Var("f"))),
        Delete("Hut", Compare("=", Alias("id"), Var("i"))),
    )


def prop(name: str) -> Compare:
    return Compare("=", Alias(name), number(1))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = 1", prop("a")),
        (
            "a = 1 and (b < 2 or c is null)",
            And((prop("a"), Or((Compare("<", Alias("b"), number(2)), IsNull(Alias("c")))))),
        ),
        ('a contains "x"', Compare("contains", Alias("a"), Literal("x", "string"))),
        ('a starts_with "x"', Compare("starts_with", Alias("a"), Literal("x", "string"))),
        ("a in $list", In(Alias("a"), Var("list"))),
        ("a not in [1]", In(Alias("a"), ListLiteral((number(1),)), negated=True)),
        ("a is not null", IsNull(Alias("a"), negated=True)),
        ("a < b", Compare("<", Alias("a"), Alias("b"))),
        ("1 = a", Compare("=", number(1), Alias("a"))),
        ("a + 1 > $n * 2", Compare(">", Binary("+", Alias("a"), number(1)), Binary("*", Var("n"), number(2)))),
        ("a > now()", Compare(">", Alias("a"), Now())),
        ("null = 1 or true = 1", Or((prop("null"), prop("true")))),
        ("(false) = false", Compare("=", Alias("false"), Literal(False, "bool"))),
        ("null is null", IsNull(Alias("null"))),
        ("or = 1 or and = 1 and contains = 1", Or((prop("or"), And((prop("and"), prop("contains")))))),
        ("not in [1]", In(Alias("not"), ListLiteral((number(1),)))),
        ("where = 1", prop("where")),
        ("delete = 1", prop("delete")),
    ],
)
def test_predicates(text: str, tree: Expr) -> None:
    assert where(text) == tree


@pytest.mark.parametrize(
    "text",
    ["$a.b = 1", "count(a) = 1", 'search(a, "x")', "a = 1 b = 2", "a = 1,", "a == 1", "not { a = 1 }", "a = 1 or"],
)
def test_a_malformed_predicate_is_a_syntax_error(text: str) -> None:
    error(f"query q() {{ delete Hut where {text} }}")


@pytest.mark.parametrize(
    "body",
    [
        "",
        "insert Hut { }",
        "insert Hut { a: b }",
        "insert hut { a: 1 }",
        "update Hut set { } where a = 1",
        "update Hut set { a: 1 }",
        "delete Hut",
        "mutation { delete Hut where a = 1 }",
        "match { $h: Hut } return { $h } delete Hut where a = 1",
        "delete Hut where a = 1 match { $h: Hut } return { $h }",
        "match { } return { $h }",
        "match { $h: Hut } return { }",
        "return { $h }",
        "match { $h: Hut }",
    ],
)
def test_a_malformed_body_is_a_syntax_error(body: str) -> None:
    error(f"query q() {{ {body} }}")


@pytest.mark.parametrize(
    "header",
    [
        "query Q()",
        "query q",
        "query q($a: I32,)",
        "query q($a)",
        "query q(a: I32)",
        "query q($a: i32)",
        "query q($a: Int)",
        "query q($a: [Vector(3)])",
        "query q($a: [[I32]])",
        "query q($a: [enum(a)])",
        "query q($a: enum())",
        "query q($a: enum(a, a))",
        "query q($a: enum(a.b))",
        "query q($a: Vector(0))",
        "query q($a: Vector(2147483648))",
        "query q($a: Vector)",
        "query q($a: I32 = )",
        "query q($ a: I32)",
        'query q() @description("a") @description("b")',
        "query q() @description",
        'query q() @deprecated("a")',
        "queryq()",
    ],
)
def test_a_malformed_header_is_a_syntax_error(header: str) -> None:
    error(f"{header} {{ match {{ $h: Hut }} return {{ $h }} }}")


# --- words, numbers and strings --------------------------------------------------------------


WORDS = (
    *(
        "query",
        "match",
        "return",
        "order",
        "limit",
        "offset",
        "distinct",
        "as",
        "asc",
        "desc",
        "not",
        "and",
        "or",
        "in",
    ),
    *("is", "null", "true", "false", "contains", "starts_with", "insert", "update", "set", "delete", "where", "count"),
    *("now", "date", "datetime", "nearest", "search", "rrf", "enum", "description", "instruction"),
)


@pytest.mark.parametrize("word", WORDS)
def test_every_word_may_name_a_query_parameter_variable_property_and_column(word: str) -> None:
    query = only(
        f"query {word}(${word}: I32) {{ match {{ ${word}: T {{ {word}: ${word} }} ${word}.{word} = ${word} }} "
        f"return {{ ${word}.{word} as {word}, ${word} }} order {{ ${word}.{word} }} }}"
    )
    body = query.body
    assert isinstance(body, Read)
    assert (query.name, query.params[0].name) == (word, word)
    assert body.clauses == (
        Binding(word, "T", (PropMatch(word, Var(word)),)),
        Filter(Compare("=", Prop(word, word), Var(word))),
    )
    assert body.items == (Item(Prop(word, word), word), Item(Var(word)))


@pytest.mark.parametrize("word", [word for word in WORDS if word not in ("null", "true", "false")])
def test_every_word_that_is_no_literal_may_be_a_column_reference(word: str) -> None:
    assert read(items=f"{word}, 1", rest=f"order {{ {word}, {word} desc }}").items[0] == Item(Alias(word))


@pytest.mark.parametrize(
    "match",
    [
        "$h.alt = 18446744073709551616",
        "$h.alt = -9223372036854775809",
        "$h.alt = 1x",
        "$h.alt = 1.",
        "$h.alt = .5",
        "$h.alt = 1.5.5",
        "$h.alt = 1e5",
        "$h.alt = " + "9" * 400 + ".0",
        '$h.alt = "\\q"',
        '$h.alt = "\\u0041"',
        '$h.alt = "open',
        "$h.alt = 'x'",
        "$h.alt = 1;",
        "$H: Hut",
        "$ h: Hut",
        "$h: Hut /* open",
        "$h: Hut # no comment",
    ],
)
def test_a_malformed_token_is_a_syntax_error(match: str) -> None:
    error(f"query q() {{ match {{ {match} }} return {{ $h }} }}")


def test_strings_hold_raw_newlines_and_five_escapes() -> None:
    assert expr('"a\n\\"\\\\\\n\\r\\t"') == Literal('a\n"\\\n\r\t', "string")


def test_nesting_is_bounded() -> None:
    assert error(f"query q() {{ match {{ {'not { ' * 100} }} return {{ $h }} }}").diagnostic.message.startswith(
        "nested deeper"
    )
    assert expr("(" * 60 + "1" + ")" * 60) == number(1)
    assert error(f"query q() {{ match {{ $h: T }} return {{ {'1 + ' * 100} 1 }} }}").diagnostic.message.startswith(
        "nested"
    )


# --- places ----------------------------------------------------------------------------------


SPANNED = """query q($n: I32? = -5,
        $list: [String]) {
  match {
    $h: Hut { code: "é", alt: $n }
    $h $e:<path>{1,3} $x
    not { $h . alt + 2 * 3 >= 10 }
    ($h.alt is not null or $h.name in $list)
  }
  return { count(distinct $h.alt) as n }
  order { n desc }
  limit 5
}
query m() { update Hut set { alt: 1 } where (a = 1) and b < 2 }
"""


def nodes(node: Any) -> list[Any]:
    found = [node] if dataclasses.is_dataclass(node) else []
    children = [getattr(node, f.name) for f in dataclasses.fields(node)] if found else node
    for child in children if isinstance(children, list | tuple) else []:
        if dataclasses.is_dataclass(child) or isinstance(child, tuple):
            found.extend(nodes(child))
    return found


def test_every_node_says_where_it_stands() -> None:
    shown = [
        (type(node).__name__, SPANNED[node.span.start : node.span.end])
        for node in nodes(parse_queries(SPANNED))
        if isinstance(getattr(node, "span", None), Span) and not isinstance(node, Query)
    ]
    assert shown == [
        ("Param", "$n: I32? = -5"),
        ("Literal", "-5"),
        ("Param", "$list: [String]"),
        ("Binding", '$h: Hut { code: "é", alt: $n }'),
        ("PropMatch", 'code: "é"'),
        ("Literal", '"é"'),
        ("PropMatch", "alt: $n"),
        ("Var", "$n"),
        ("Traversal", "$h $e:<path>{1,3} $x"),
        ("NotBlock", "not { $h . alt + 2 * 3 >= 10 }"),
        ("Filter", "$h . alt + 2 * 3 >= 10"),
        ("Compare", "$h . alt + 2 * 3 >= 10"),
        ("Binary", "$h . alt + 2 * 3"),
        ("Prop", "$h . alt"),
        ("Binary", "2 * 3"),
        ("Literal", "2"),
        ("Literal", "3"),
        ("Literal", "10"),
        ("Filter", "($h.alt is not null or $h.name in $list)"),
        ("Or", "$h.alt is not null or $h.name in $list"),
        ("IsNull", "$h.alt is not null"),
        ("Prop", "$h.alt"),
        ("In", "$h.name in $list"),
        ("Prop", "$h.name"),
        ("Var", "$list"),
        ("Item", "count(distinct $h.alt) as n"),
        ("Agg", "count(distinct $h.alt)"),
        ("Prop", "$h.alt"),
        ("Sort", "n desc"),
        ("Alias", "n"),
        ("Literal", "5"),
        ("Update", "update Hut set { alt: 1 } where (a = 1) and b < 2"),
        ("Assign", "alt: 1"),
        ("Literal", "1"),
        ("And", "(a = 1) and b < 2"),
        ("Compare", "a = 1"),
        ("Alias", "a"),
        ("Literal", "1"),
        ("Compare", "b < 2"),
        ("Alias", "b"),
        ("Literal", "2"),
    ]


def test_parts_of_a_clause_have_places_of_their_own() -> None:
    query = parse_queries(SPANNED).queries[0]
    assert SPANNED[query.name_span.start : query.name_span.end] == "q"
    assert query.span.start == 0
    assert SPANNED[: query.span.end].endswith("limit 5\n}")
    body = query.body
    assert isinstance(body, Read)
    binding, traversal = body.clauses[:2]
    assert isinstance(binding, Binding)
    assert isinstance(traversal, Traversal)
    spans = (
        binding.type_span,
        traversal.left_span,
        traversal.edge_span,
        traversal.hops_span,
        traversal.right_span,
    )
    assert [SPANNED[span.start : span.end] for span in spans] == ["Hut", "$h", "path", "{1,3}", "$x"]


def test_an_error_knows_its_line_and_column_in_code_points() -> None:
    caught = error("query q() {\r\n  match { $é }\n}")
    assert (caught.line, caught.column) == (2, 11)
    caught = error('query q() { match { $h.name = "🏔" ) } }')
    assert (caught.line, caught.column) == (1, 35)
    span = caught.details()["span"]
    assert span == [37, 38]


@pytest.mark.parametrize("word", ["true", "false", "null"])
def test_a_literal_word_before_a_grouped_clause_is_not_a_call(word: str) -> None:
    text = f"query q() {{ match {{ $p: P $p.b = {word} ($p.a = 1 or $p.a = 2) }} return {{ $p.a }} }}"
    (query,) = parse_queries(text).queries
    assert isinstance(query.body, Read)
    assert len(query.body.clauses) == 3


@pytest.mark.parametrize(
    ("text", "kind", "count"),
    [
        ("shortest $p:", "shortest", None),
        ("all shortest $p:", "all shortest", None),
        ("shortest 3 $p:", "shortest", ast.Literal(3, "int")),
        ("cheapest $k $p:", "cheapest", ast.Var("k")),
        ("simple $p:", "simple", None),
    ],
)
def test_paths_have_kinds_and_numbers(text: str, kind: str, count: Any) -> None:
    (found,) = clauses(f"{text} $a path{{1,4}} $b")
    assert found == Traversal("a", "path", "b", hops=(1, 4), path_var="p", path_kind=kind, path_count=count)


def test_steps_have_conditions_and_a_cost() -> None:
    costly, plain, filtered = clauses(
        "cheapest $p: $a path $b along $e from $m to $n by $e.w * 2 { $e.w > 0 $n.open }"
        "$a path{1,} $b along to $n { $n.open } $a.along = 1"
    )
    assert isinstance(costly, Traversal)
    assert isinstance(plain, Traversal)
    assert isinstance(filtered, Filter)
    assert costly.along is not None
    assert (costly.along.edge, costly.along.source, costly.along.target) == ("e", "m", "n")
    assert len(costly.along.conditions) == 2
    assert plain.along == ast.Along(None, None, "n", None, (ast.Prop("n", "open"),))
    error("query q() { match { $a path $b along $e } return { $a } }")
