"""Long lists of literals are read at once: the same tree, the same values and the same complaints as item by item."""

from __future__ import annotations

import pytest

from omnigraph.checkpoints import checking
from omnigraph.compiler.catalog.accepted import compile_schema
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.diagnostics import CompileError, ParseError
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.walk import expressions
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.format import format_queries
from omnigraph.compiler.query.parse import parse_queries, parse_runnable
from omnigraph.compiler.query.parse_literal import MAX_TOKENS

CATALOG = compile_schema("node P { name: String @key  n: I64?  u: U64?  f: F64?  d: Date? }")
ITEMS = {
    "integers": ["0", "17", "-3", "18446744073709551615", "-9223372036854775808"],
    "numbers": ["1", "-2.5", "0.0", "3"],
    "strings": ['"a"', '"]"', '","', r'"say \"x\"\n"', '""', '"//"', '"/* x */"'],
}


def _query(items: list[str], column: str = "n", separator: str = ", ") -> str:
    return f"query q() {{ match {{ $p: P  $p.{column} in [{separator.join(items)}] }} return {{ $p.name }} }}"


def _list(text: str) -> ast.ListLiteral:
    body = parse_queries(text).queries[0].body
    assert isinstance(body, ast.Read)
    clause = body.clauses[1]
    assert isinstance(clause, ast.Filter)
    assert isinstance(clause.condition, ast.In)
    assert isinstance(clause.condition.right, ast.ListLiteral)
    return clause.condition.right


@pytest.mark.parametrize("kind", ITEMS)
@pytest.mark.parametrize("separator", [",", " ,\n\t "])
def test_a_long_list_has_the_items_of_a_short_one(kind: str, separator: str) -> None:
    short = _list(_query(ITEMS[kind], separator=separator))
    text = _query(ITEMS[kind] * 100, separator=separator)
    long = _list(text)
    assert isinstance(short.items, tuple)
    assert isinstance(long.items, ast.Literals)
    assert long.items == short.items * 100
    assert (short.items * 100, hash(long.items)) == (long.items, hash(short.items * 100))
    assert long.items[-2:] == short.items[-2:]
    assert [text[item.span.start : item.span.end] for item in long.items] == ITEMS[kind] * 100


@pytest.mark.parametrize(("kind", "column"), [("integers", "u"), ("numbers", "f"), ("strings", "name")])
def test_a_long_list_is_the_same_constant(kind: str, column: str) -> None:
    items = [item for item in ITEMS[kind] if column != "u" or item[0] != "-"]
    short, long = (
        next(part for part in expressions(compile_query(_query(some, column), CATALOG).plan) if isinstance(part, ir.In))
        for some in (items, items * 100)
    )
    assert isinstance(short.options, ir.Const)
    assert isinstance(long.options, ir.Const)
    assert isinstance(short.options.value, tuple)
    assert long.options.value == short.options.value * 100
    assert long.options.type == short.options.type


def test_a_long_list_is_formatted_like_a_short_one() -> None:
    text = _query(ITEMS["strings"] * 100, "name")
    assert parse_queries(format_queries(parse_queries(text))) == parse_queries(text)


@pytest.mark.parametrize(
    "wrong",
    [r'"\q"', "18446744073709551616", "-9223372036854775809", "null", '"text"', "1 2", "- 1 2", "1..2", "", "x", "'x'"],
)
def test_what_is_wrong_in_a_long_list_is_said_about_the_item(wrong: str) -> None:
    found = []
    for before in (2, 200):
        with pytest.raises(CompileError) as error:
            compile_query(_query([*["1"] * before, wrong, "1"]), CATALOG)
        found.append((error.value.diagnostic.code, error.value.diagnostic.message, error.value.diagnostic.expected))
    assert found[0] == found[1]


def test_a_list_that_mixes_negative_and_very_large_numbers_is_refused() -> None:
    with pytest.raises(CompileError, match="no integer type takes both"):
        compile_query(_query(["-1", "18446744073709551615"] * 100, "u"), CATALOG)


def test_lists_of_literals_may_be_as_long_as_the_text() -> None:
    many = 2 * MAX_TOKENS
    for item, column in (("7", "n"), ('date("2024-01-02")', "d"), ("7 /* seven */", "n")):
        assert len(_list(_query([item] * many, column)).items) == many


@pytest.mark.parametrize("joint", [", ", " or ", " and ", " "])
def test_a_query_of_very_many_words_is_refused(joint: str) -> None:
    condition = joint.join(["$p.n = 1"] * MAX_TOKENS)
    text = f"query q() {{ match {{ $p: P  {condition} }} return {{ $p.name }} }}"
    if joint == ", ":
        text = _query(["$p.n"] * MAX_TOKENS)
    with pytest.raises(ParseError, match=f"more than {MAX_TOKENS:,} words"):
        parse_runnable(text)
    assert len(parse_queries(text).queries) == 1  # to look at it or to format it


def test_each_query_and_each_statement_counts_for_itself() -> None:
    reads = "\n".join(f"query q{at}() {{ match {{ $p: P }} return {{ $p.name }} }}" for at in range(MAX_TOKENS // 10))
    assert len(parse_runnable(reads).queries) == MAX_TOKENS // 10
    writes = "\n".join(f'insert P {{ name: "p{at}" }}' for at in range(MAX_TOKENS // 5))
    body = parse_runnable(f"query q() {{ {writes} }}").queries[0].body
    assert isinstance(body, tuple)
    assert len(body) == MAX_TOKENS // 5


def test_a_read_of_very_many_stages_is_refused() -> None:
    """Compiling one of 600 stages ended with a RecursionError."""
    text = "match { $p: P } " + "with { $p } " * 65 + "return { $p.name }"
    with pytest.raises(ParseError, match="more than 64 stages"):
        parse_runnable(text)
    compile_query(text.replace("with { $p } ", "", 1), CATALOG)


@pytest.mark.parametrize(
    "text",
    [
        _query([str(number) for number in range(20_000)]),
        "query q() { match { $p: P  " + " or ".join(["$p.n = 1"] * 1_000) + " } return { $p.name } }",
        "\n".join(f"query q{at}() {{ match {{ $p: P }} return {{ $p.name }} }}" for at in range(200)),
    ],
    ids=["a list", "a condition", "many queries"],
)
def test_compiling_is_stopped_by_its_checkpoints(text: str) -> None:
    """Compiling took 1.9 s where a query had one second."""

    def stop() -> None:
        raise TimeoutError

    with checking(stop), pytest.raises(TimeoutError):
        compile_query(text, CATALOG, "q0" if "q0" in text else None)
