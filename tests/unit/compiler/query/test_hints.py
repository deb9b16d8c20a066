"""Help for habits from other languages: each mistake is met with the spelling that works here."""

from __future__ import annotations

import pytest

from omnigraph.compiler.catalog import compile_schema
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.query.parse import parse_queries
from omnigraph.compiler.schema.parse import parse_schema
from omnigraph.testing.graphs.huts import SCHEMA


def in_match(clause: str) -> str:
    return f"query q() {{ match {{ $h: Hut {clause} }} return {{ $h.code }} }}"


def after_match(rest: str) -> str:
    return f"query q() {{ match {{ $h: Hut }} {rest} }}"


# (text, the place of the caret, what the help says)
QUERIES = [
    pytest.param(in_match("$h.alt == 5"), "=", "a single '='", id="double-equals"),
    pytest.param(in_match("$h.alt <> 5"), ">", "'!='", id="sql-inequality"),
    pytest.param(in_match("$h.alt > 5 && $h.alt < 9"), "&", "write 'and'", id="ampersands"),
    pytest.param(in_match("$h.alt > 5 || $h.alt < 9"), "|", "write 'or'", id="bars"),
    pytest.param(in_match("!($h.alt = 5)"), "!", "not { … }", id="exclamation-mark"),
    pytest.param(in_match('$h.name like "A%"'), "like", "starts_with", id="like"),
    pytest.param(in_match('$h.name LIKE "A%"'), "LIKE", "starts_with", id="upper-case-like"),
    pytest.param(in_match("$h.alt between 1 and 5"), "between", "two comparisons", id="between"),
    pytest.param(in_match("$h.alt in (1, 2)"), ",", "[ … ]", id="list-in-parentheses"),
    pytest.param(in_match("$h.alt > 5, $h.open = true"), ",", "without commas", id="comma-between-clauses"),
    pytest.param(in_match("$h.alt > 5;"), ";", "nothing but whitespace", id="semicolon"),
    pytest.param(in_match("$h.alt = NULL"), "NULL", "lower case: null", id="upper-case-null"),
    pytest.param(in_match("h.alt > 5"), ".", "$h", id="property-without-dollar"),
    pytest.param(in_match("x: Hut"), ":", "$x", id="binding-without-dollar"),
    pytest.param(in_match("$x: hut"), "hut", "upper-case letter: Hut", id="lower-case-type"),
    pytest.param(in_match("($x: Hut)"), ":", "without parentheses", id="binding-in-parentheses"),
    pytest.param(in_match("$h -[:PATH]-> $x"), ":", "$a edgeName $b", id="cypher-edge"),
    pytest.param(in_match("$h -> path -> $x"), "->", "$a edgeName $b", id="arrow-edge"),
    pytest.param(in_match("$h PATH $x"), "PATH", "path", id="shouted-edge"),
    pytest.param(in_match("$h GuardsHut $x"), "GuardsHut", "guardsHut", id="upper-case-edge"),
    pytest.param(in_match("$h path* $x"), "*", "{1,3}", id="starred-edge"),
    pytest.param(in_match("$h path{1..3} $x"), "..", "{1,3}", id="dotted-hops"),
    pytest.param(in_match("$x: Hut { alt = 5 }"), "=", "name: value", id="equals-in-braces"),
    pytest.param(in_match("$x: Hut { alt > 5 }"), ">", "a clause of its own", id="comparison-in-braces"),
    pytest.param(in_match("$x: Hut { alt: $h.alt }"), ".", "constants", id="property-in-braces"),
    pytest.param(after_match("where $h.alt > 5 return { $h.code }"), "where", "inside 'match'", id="where-after-match"),
    pytest.param(after_match("return $h.code"), "$h", "return { … }", id="return-without-braces"),
    pytest.param(after_match("return { * }"), "*", "a whole node", id="return-star"),
    pytest.param(after_match("RETURN { $h.code }"), "RETURN", "lower case: return", id="upper-case-return"),
    pytest.param(after_match("return { $h.code } order by $h.code"), "by", "order { … }", id="order-by"),
    pytest.param(after_match("return { $h.code } order { $h.code descending }"), "descending", "desc", id="descending"),
    pytest.param(after_match("return { $h.code } skip 5"), "skip", "offset", id="skip"),
    pytest.param(
        after_match("return { $h.code } limit 5 order { $h.code }"), "order", "return, having, order", id="late-order"
    ),
    pytest.param("match { $h: Hut } return { $h.code }", "match", "query name()", id="no-query"),
    pytest.param("query q { match { $h: Hut } return { $h.code } }", "{", "query name()", id="no-parentheses"),
    pytest.param("quer q() { match { $h: Hut } return { $h.code } }", "quer", "'query'", id="misspelled-keyword"),
    pytest.param('@description("d") query q() { delete Hut where alt = 1 }', "@", "between", id="early-annotation"),
    pytest.param("query q(n: I32) { delete Hut where alt = 1 }", "n", "$n", id="parameter-without-dollar"),
    pytest.param("query q($n) { delete Hut where alt = $n }", ")", "$n: String", id="untyped-parameter"),
    pytest.param("query q($n: Int) { delete Hut where alt = $n }", "Int", "I32 or I64", id="type-of-elsewhere"),
    pytest.param("query q() { delete from Hut where alt = 1 }", "from", "leave 'from' out", id="delete-from"),
    pytest.param('query q() { upsert Hut { code: "a" } }', "upsert", "'insert'", id="upsert"),
    pytest.param('query q() { delete Hut where $h.code = "a" }', ".", "stands alone", id="variable-in-where"),
    pytest.param("node Hut { code: String }", "node", "a schema", id="schema-text"),
    pytest.param("-- huts\nquery q() { delete Hut where alt = 1 }", "-", "comments are //", id="sql-comment"),
]


@pytest.mark.parametrize(("text", "place", "says"), QUERIES)
def test_a_query_written_like_another_language_is_told_the_spelling(text: str, place: str, says: str) -> None:
    with pytest.raises(CompileError) as caught:
        parse_queries(text)
    _assert_helped(caught.value, text, place, says)


SCHEMAS = [
    pytest.param("node A { a: Int }", "Int", "I32 or I64", id="int"),
    pytest.param("node A { a: Timestamp }", "Timestamp", "DateTime", id="timestamp"),
    pytest.param("node A { a: String[] }", "[", "[String]", id="array-suffix"),
    pytest.param("node A { a: [String?] }", "?", "[T]?", id="nullable-items"),
    pytest.param('node A { a: enum("x") }', '"x"', "bare words", id="quoted-enum"),
    pytest.param("node A { a: enum('x') }", "'", "bare words", id="single-quoted-enum"),
    pytest.param("node A { a: enum(x, y,) }", ")", "no comma", id="trailing-comma"),
    pytest.param("node A { a: I32 = 5 }", "=", "@default", id="default-value"),
    pytest.param("node A { a: I32; b: I32 }", ";", "nothing but whitespace", id="semicolon"),
    pytest.param("node A extends B {}", "extends", "implements", id="extends"),
    pytest.param("node A: B {}", ":", "implements", id="colon-inheritance"),
    pytest.param("node A {\n a: I32\nedge E: A -> A", "E", "a } is missing", id="missing-brace"),
    pytest.param("node A {} edge e: A -> A", "e", "upper-case letter: E", id="lower-case-edge"),
    pytest.param("node A {} edge E: A -> A @card(0..n)", "n", "@card(0..)", id="unbounded-cardinality"),
    pytest.param('node A { "a": I32 }', '"a"', "not quoted", id="quoted-name"),
    pytest.param("node A { my-name: I32 }", "-", "letters, digits", id="hyphenated-name"),
    pytest.param('node A { a: String v: Vector(2) @embed(source="a") }', "=", "without a name", id="named-argument"),
    pytest.param("type A { a: I32 }", "type", "'node'", id="type"),
    pytest.param("query q() { match { $a: A } return { $a } }", "query", "a query file", id="query-text"),
]


@pytest.mark.parametrize(("text", "place", "says"), SCHEMAS)
def test_a_schema_written_like_another_language_is_told_the_spelling(text: str, place: str, says: str) -> None:
    with pytest.raises(CompileError) as caught:
        parse_schema(text)
    _assert_helped(caught.value, text, place, says)


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        pytest.param(in_match('$h.seen > date("2024-01-01")'), "T7", 'datetime("…")', id="date-for-datetime"),
        pytest.param(after_match("return { count($h) } order { count }"), "T25", "as count", id="unnamed-column"),
        pytest.param(after_match('return { $h.code as "c" }'), "T25", "bare lower-case word", id="quoted-column"),
        pytest.param('query q() { insert Path { src: "a", dst: "b" } }', "T11", "'from' and 'to'", id="stored-names"),
        pytest.param(
            "query q($d: String) { match { $h: Hut $h.built > $d } return { $h.code } }",
            "T7",
            "declare the parameter as Date",
            id="string-parameter-for-date",
        ),
    ],
)
def test_a_type_error_of_habit_is_told_the_spelling(text: str, code: str, says: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_query(text, compile_schema(SCHEMA))
    assert caught.value.code == code
    assert caught.value.diagnostic.help is not None
    assert says in caught.value.diagnostic.help


def test_two_properties_of_different_kinds_are_not_told_to_be_literals() -> None:
    with pytest.raises(CompileError) as caught:
        compile_query(in_match("$h.seen > $h.name"), compile_schema(SCHEMA))
    assert (caught.value.code, caught.value.diagnostic.help) == ("T7", None)


@pytest.mark.parametrize(
    ("returned", "help_text"),
    [
        ("$h.seen as s, mnth($h.seen) as m", "did you mean 'month'?"),
        ("count($h) as count, month as m", "for the function write month(…)"),
        ("count($h) as count, counts as m", "did you mean 'count'?"),
        ("datediff($h.seen, $h.seen) as m", "it is called date_diff here"),
    ],
)
def test_a_suggestion_is_something_that_could_stand_there(returned: str, help_text: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_query(f"query q() {{ match {{ $h: Hut }} return {{ {returned} }} }}", compile_schema(SCHEMA))
    assert caught.value.diagnostic.help == help_text


def _assert_helped(error: CompileError, text: str, place: str, says: str) -> None:
    span = error.diagnostic.span
    assert span is not None
    assert text[span.start : span.end] == place
    assert error.diagnostic.help is not None
    assert says in error.diagnostic.help
