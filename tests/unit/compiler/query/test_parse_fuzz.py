"""Whatever is sent as a query file, the parser answers with a tree or with one CompileError that has a place."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from omnigraph.compiler.query.format import format_queries
from omnigraph.compiler.query.parse import parse_queries
from omnigraph.testing.strategies.hostile import damaged, outcome, shapes, token_soup
from tests.thoroughness import examples

FILES = {
    path.stem: path.read_bytes().decode()
    for path in sorted((Path(__file__).parents[3] / "golden/queries").glob("*.gq"))
}
PIECES = (
    *(
        "query",
        "match",
        "return",
        "distinct",
        "order",
        "limit",
        "offset",
        "not",
        "not {",
        "optional {",
        "optional",
        "shortest $p:",
        "having {",
        "collect(",
        "in",
        "is",
        "null",
        "and",
        "or",
    ),
    *(
        "insert",
        "update",
        "delete",
        "set",
        "where",
        "as",
        "asc",
        "desc",
        "contains",
        "starts_with",
        "true",
        "now()",
        "count(",
    ),
    *(
        "count(*)",
        "search(",
        "nearest(",
        "rrf(",
        "date(",
        "enum(",
        "Vector(",
        "Hut",
        "String",
        "I32",
        "a",
        "q",
        "path",
        "$a",
    ),
    *(
        "$b",
        "$a.b",
        "$",
        "$_",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "<",
        ">",
        "<=",
        "!=",
        "=",
        ":",
        ",",
        ".",
        "@",
        "?",
        "|",
        "->",
        "..",
    ),
    *(
        "+",
        "-",
        "*",
        "/",
        "%",
        "1",
        "0.5",
        "9223372036854775808",
        '"s"',
        '"',
        "\\",
        "// c\n",
        "/* c */",
        "/*",
        "#",
        "\0",
        "é",
        "'",
    ),
    *(
        "@description(",
        "{1,2}",
        "{1,}",
        "{2}",
        "\ufeff",
        "\u2028",
        "\r\n",
        ";",
        "query q() { match { $a: Hut } return { $a } }",
    ),
)
quick = settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def check(text: str | bytes) -> None:
    found = outcome(parse_queries, text)
    assert found in ("parsed", "Q000"), f"{found}: {text!r}"
    if found == "parsed":
        file = parse_queries(text)
        assert parse_queries(format_queries(file)) == file


@quick
@given(st.text() | st.binary() | st.text(st.characters(), max_size=200))
@example("query q() { match { $a: T } return { \ud83d } }")
@example('query q() { match { $a: T } return { "\udfff" } }')
@example(b'query q() { match { $a: T } return { "\xed\xa0\x80" } }')
@example("\x00")
@example("\ufeff")
def test_any_text(text: str | bytes) -> None:
    check(text)


@quick
@given(token_soup(PIECES))
def test_tokens_in_any_order(text: str) -> None:
    check(text)


@quick
@given(token_soup(PIECES))
def test_tokens_in_any_order_inside_a_match(text: str) -> None:
    check(f"query q() {{ match {{ $a: T {text} }} return {{ $a }} }}")


@quick
@given(token_soup(PIECES))
def test_tokens_in_any_order_inside_a_where(text: str) -> None:
    check(f"query q() {{ delete T where a = 1 {text} }}")


@quick
@given(damaged(list(FILES.values()), PIECES))
def test_a_damaged_file(text: str) -> None:
    check(text)


@quick
@given(token_soup(PIECES))
def test_tokens_in_any_order_after_a_match(text: str) -> None:
    check(f"query q() {{ match {{ $a: T }} {text} }}")


@pytest.mark.parametrize("name", ["extensions", "second_group", "devices_crlf", "catalogue"])
def test_a_file_cut_off_anywhere(name: str) -> None:
    text = FILES[name]
    for end in range(len(text)):
        assert outcome(parse_queries, text[:end]) in ("parsed", "Q000"), text[:end]


@pytest.mark.parametrize("name", ["devices_crlf"])
def test_a_file_cut_off_inside_a_character(name: str) -> None:
    data = ('query q() { match { $h: H { a: "é🏔" } } return { $h } }' + FILES[name]).encode()
    for end in range(80):
        assert outcome(parse_queries, data[:end]) in ("parsed", "Q000"), data[:end]


PARSED = {
    *("spaces", "line comments", "a long disjunction", "many filters", "many nulls", "many columns", "a long list"),
    *("many queries", "many parameters", "a long enum", "many assignments"),
    *("many optional blocks", "many alternatives", "many driven deletes"),
}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    # A process of its own: what does not end in minutes, where seconds are usual, is not linear.
    run = subprocess.run(
        [sys.executable, "-m", "omnigraph.testing.strategies.hostile", "query"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return dict(json.loads(line) for line in run.stdout.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, _ in shapes("query")])
def test_a_huge_text(name: str, outcomes: dict[str, str]) -> None:
    assert outcomes[name] == ("parsed" if name in PARSED else "Q000")
