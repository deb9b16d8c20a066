"""What a person reads when a query does not parse, word for word."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from omnigraph.compiler.diagnostics import ParseError
from omnigraph.compiler.query.parse import parse_queries
from omnigraph.compiler.source import Source


def in_match(text: str) -> str:
    return f"query q() {{\n  match {{\n    $h: Hut\n    {text}\n  }}\n  return {{ $h.name }}\n}}\n"


def after_match(text: str) -> str:
    return f"query q() {{\n  match {{ $h: Hut }}\n  {text}\n}}\n"


MISTAKES: dict[str, str | bytes] = {
    "empty-match": "query q() { match { } return { $h } }",
    "missing-return": "query q() { match { $h: Hut } }",
    "unclosed-match": "query q() {\n  match { $h: Hut\n  return { $h }\n}\n",
    "unclosed-string": in_match('$h.name = "Alm'),
    "unclosed-comment": in_match("/* $h.name"),
    "hash-comment": in_match("# open huts"),
    "single-quotes": in_match("$h.name = 'Alm'"),
    "bad-escape": in_match('$h.name = "a\\qb"'),
    "integer-overflow": in_match("$h.alt = 18446744073709551616"),
    "glued-number": in_match("$h.alt = 12abc"),
    "upper-case-edge": in_match("$h GuardsHut $w"),
    "no-hop-bound": in_match("$h path{} $x"),
    "where-in-a-read": in_match("where $h.alt > 5"),
    "missing-operator": in_match("$h.alt 5"),
    "missing-operand": in_match("$h.alt >"),
    "chained-comparison": in_match("1 < $h.alt > 5"),
    "unknown-function": in_match('serach($h.name, "x")'),
    "or-not-block": in_match("$h.alt = 1 or not { $h path $_ }"),
    "not-in-alone": in_match("$h.alt = 1 not in [1]"),
    "double-equals": in_match("$h.alt == 5"),
    "value-in-braces": in_match("$x: Hut { alt: $h.alt }"),
    "upper-case-alias": after_match("return { $h.name as Name }"),
    "nearest-desc": after_match("return { $h.name } order { nearest($h.vec, $v) desc } limit 5"),
    "rrf-of-search": after_match('return { $h.name } order { rrf(search($h.name, "a"), bm25($h.name, "a")) } limit 5'),
    "limit-order": after_match("return { $h.name } limit 5 order { $h.name }"),
    "negative-limit": after_match("return { $h.name } limit -5"),
    "repeated-note": 'query q()\n  @description("a")\n  @description("b")\n{ delete Hut where a = 1 }',
    "unknown-note": 'query q() @deprecated("a") { delete Hut where a = 1 }',
    "unknown-type": "query q($n: Integer) { delete Hut where a = $n }",
    "misspelled-type": "query q($n: Sting) { delete Hut where a = $n }",
    "vector-dimension": "query q($n: Vector(0)) { delete Hut where a = $n }",
    "repeated-enum-value": "query q($g: enum(a, b, a)) { delete Hut where a = $g }",
    "mutation-wrapper": "query q() { mutation { delete Hut where a = 1 } }",
    "aggregate-in-where": "query q() { delete Hut where count(a) = 1 }",
    "assign-name": "query q() { insert Hut { code: name } }",
    "trailing-text": "query q() { delete Hut where a = 1 } }",
    "schema-file": "node Hut { code: String @key }",
    "too-deep": in_match("not { " * 70),
    "long-line": in_match('$h.name = "' + "x" * 300 + '" ) '),
    "tabs": "query q() {\n\tmatch {\t$h\t:\tHut\t) } }",
    "byte-order-mark": "\ufeffquery q() { delete Hut where a = 1 }",
    "not-utf8": b'query q() { delete Hut where a = "\xff" }',
    "lone-surrogate": 'query q() { delete Hut where a = "\ud800" }',
    "nul": "query q() { \x00 }",
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_explained(name: str, golden: Callable[[str, str], None]) -> None:
    text = MISTAKES[name]
    with pytest.raises(ParseError) as caught:
        parse_queries(text if isinstance(text, bytes) else Source(text, f"{name}.gq"))
    assert caught.value.code == "Q000"
    golden(f"query/{name}.txt", str(caught.value))
