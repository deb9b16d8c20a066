"""Texts meant to hurt a parser: random damage for Hypothesis, and huge shapes that run in a process of their own.

`python -m omnigraph.testing.strategies.hostile query|schema` prints one JSON line per shape: its name and the outcome.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence

from hypothesis import strategies as st

from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.query.parse import parse_queries
from omnigraph.compiler.schema.parse import parse_schema

MEGABYTE = 1 << 20
_MANY = 100_000
_RETURN = "query q() { match { $h: Hut } return { "
_MATCH = "query q() { match { "


@st.composite
def damaged(draw: st.DrawFn, texts: Sequence[str], pieces: Sequence[str]) -> str:
    """One of the texts after up to four cuts, insertions and repetitions."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + draw(st.sampled_from(("", text[start:end] * 2, *pieces))) + text[end:]
    return text


def token_soup(pieces: Sequence[str]) -> st.SearchStrategy[str]:
    """Tokens in any order, glued or apart."""
    glue = st.sampled_from(["", " ", "\n", " /* */ "])
    return st.lists(st.tuples(st.sampled_from(pieces), glue), max_size=40).map(
        lambda found: "".join(part for pair in found for part in pair)
    )


def shapes(language: str) -> Iterator[tuple[str, Callable[[], str | bytes]]]:
    """Named texts of a language: ten megabytes in few tokens, or a hundred thousand levels of something."""
    yield from _common_shapes(_RETURN if language == "query" else "node A { x: String @d(")
    yield from _query_shapes() if language == "query" else _schema_shapes()


def outcome(parse: Callable[[str | bytes], object], text: str | bytes) -> str:
    """`parsed`, the code of a CompileError that renders, or the name of what must never escape."""
    try:
        parse(text)
    except CompileError as error:
        return error.code if str(error) and error.details()["line"] else "no place"
    except Exception as error:
        return f"crashed: {type(error).__name__}"
    return "parsed"


def _common_shapes(before_value: str) -> Iterator[tuple[str, Callable[[], str | bytes]]]:
    size = 10 * MEGABYTE
    yield "spaces", lambda: " " * size
    yield "newlines", lambda: "\n" * size + "?"
    yield "line comments", lambda: "//\n" * (size // 3)
    yield "open comment", lambda: "/*" + "*" * size
    yield "comment openings", lambda: "/*" * (size // 2)
    yield "open string", lambda: before_value + '"' + "x" * size
    yield "escapes and no end", lambda: before_value + '"' + "\\" * (size + 1)
    yield "long string, then a mistake", lambda: before_value + '"' + "é" * (size // 2) + '" ]'
    yield "long name", lambda: "a" * size
    yield "long type name", lambda: before_value + "A" * size
    yield "long variable", lambda: "$" + "a" * size
    yield "digits", lambda: before_value + "9" * size
    yield "decimals", lambda: before_value + "0." + "9" * size
    yield "nul characters", lambda: "\x00" * size
    yield "not utf-8", lambda: b"\xff" * size
    yield "surrogates", lambda: "\ud800" * size
    yield "mountains", lambda: "\U0001f3d4" * (size // 4)
    yield "quotes", lambda: '"' * MEGABYTE
    for bracket in "([{<-@,:":
        yield f"many {bracket}", lambda bracket=bracket: bracket * _MANY  # type: ignore[misc]
        yield f"many {bracket} in a value", lambda bracket=bracket: before_value + bracket * _MANY  # type: ignore[misc]


def _query_shapes() -> Iterator[tuple[str, Callable[[], str | bytes]]]:
    yield "nested not", lambda: _MATCH + "not {" * _MANY
    yield "nested optional", lambda: _MATCH + "optional {" * _MANY
    yield "many optional blocks", lambda: _MATCH + "optional { $h a $b } " * _MANY + "} return { $h } }"
    yield "many alternatives", lambda: _MATCH + "$h " + "a|" * _MANY + "a $b } return { $h } }"
    yield "many driven deletes", lambda: "query q() { " + "match { $h: X } delete $h " * _MANY + "}"
    yield "nested groups", lambda: _MATCH + "(" * _MANY
    yield "nested calls", lambda: _MATCH + "search(" * _MANY
    yield "nested aggregates", lambda: _RETURN + "sum(" * _MANY
    yield "a long sum", lambda: _RETURN + "1 + " * _MANY + "1 } }"
    yield "a long product of groups", lambda: _RETURN + "(1) * " * _MANY + "1 } }"
    yield "minus signs", lambda: _RETURN + "- " * _MANY + "1 } }"
    yield "a long disjunction", lambda: _MATCH + "$h.a = 1 or " * _MANY + "$h.a = 1 } return { $h } }"
    yield "many filters", lambda: _MATCH + "$h.a = 1 " * _MANY + "} return { $h } }"
    yield "many variables", lambda: _MATCH + "$a " * _MANY
    yield "many nulls", lambda: _RETURN + "null, " * _MANY + "} }"
    yield "many columns", lambda: _RETURN + "as " * _MANY + "} }"
    yield "a long list", lambda: _RETURN + "[" + "1, " * _MANY + "1] } }"
    yield "many queries", lambda: "query q() { delete X where a = 1 } " * (_MANY // 10)
    yield "many parameters", lambda: f"query q({'$a: I32, ' * _MANY}$a: I32) {{ delete X where a = $a }}"
    yield "a long enum", lambda: f"query q($a: enum({', '.join(map(str, range(_MANY)))})) {{ delete X where a = $a }}"
    yield "many assignments", lambda: "query q() { insert X { " + "a: 1 " * _MANY + "} }"


def _schema_shapes() -> Iterator[tuple[str, Callable[[], str | bytes]]]:
    yield "nested lists", lambda: "node A { x: " + "[" * _MANY
    yield "many nodes", lambda: "".join(f"node A{at} {{}} " for at in range(_MANY // 10))
    yield "many properties", lambda: "node A { " + "".join(f"p{at}: I32 " for at in range(_MANY // 10)) + "}"
    yield "many annotations", lambda: "node A " + "@x(1) " * _MANY + "{}"
    yield "many interfaces", lambda: "node A implements " + "I, " * _MANY + "I {}"
    yield "a long enum", lambda: f"node A {{ x: enum({', '.join(map(str, range(_MANY)))}) }}"
    yield "a long key", lambda: "node A { @key(" + "x, " * _MANY + "x) }"


def _main(language: str) -> None:
    parse: Callable[[str | bytes], object] = parse_queries if language == "query" else parse_schema
    for name, build in shapes(language):
        print(json.dumps([name, outcome(parse, build())]), flush=True)


if __name__ == "__main__":
    _main(sys.argv[1])
