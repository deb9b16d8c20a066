"""Every word of the language can be the name of an edge type, and such edges can be followed."""

from __future__ import annotations

import pytest

from omnigraph.compiler.compile import compile_query, compile_schema
from omnigraph.compiler.functions import AGGREGATES, FUNCTIONS

WORDS = (
    *("query", "match", "return", "distinct", "having", "order", "asc", "desc", "limit", "offset", "as", "optional"),
    *("shortest", "cheapest", "simple", "along", "by", "exists", "either", "unwind", "with", "union", "all", "per"),
    *("case", "when", "then", "else", "end", "insert", "update", "set", "delete", "where", "and", "or", "not", "in"),
    *("is", "contains", "matches", "starts_with", "ends_with", "true", "false", "null", "from", "to"),
)
PATTERNS = (
    *("$a {w} $b", "$a {w}{{1,2}} $b", "$a <{w}> $b", "$a $e:{w} $b", "shortest $p: $a {w} $b", "$e: {T}"),
    *("$a: Hut not {{ $a {w} $b }}", "$a {w}|path $b", "$a path|{w} $b", "$a: Hut exists {{ $a {w} $b }}"),
    *("$a: Hut $b: Hut $a.x = 1 $a {w} $b $a.x in [1]", "$a {w} $b along $e {{ $e.n > 1 }}"),
)


@pytest.mark.parametrize("word", [*WORDS, *AGGREGATES, *list(FUNCTIONS)[:8]])
def test_an_edge_type_may_be_called_like_any_word(word: str) -> None:
    name = word[0].upper() + word[1:]
    schema = f"node Hut {{ code: String @key  x: I32? }} edge {name}: Hut -> Hut {{ n: I32? }} edge Path: Hut -> Hut"
    catalog = compile_schema(schema)
    for pattern in PATTERNS:
        text = f"query q() {{ match {{ {pattern.format(w=word, T=name)} }} return {{ count(*) as n }} }}"
        assert any(name in str(part) for part in compile_query(text, catalog).plan.match), text


@pytest.mark.parametrize(
    "clauses",
    [
        "$h.open unwind $h.tags as t",
        "$h.open lowest < $h.x",
        "$h.open lowest is not null",
        "$h.x >= lowest ($h.x > 1 or $h.open)",
        "$h.x >= lowest\n($h.open)",
    ],
)
def test_names_and_lists_begin_and_end_clauses(clauses: str) -> None:
    catalog = compile_schema("node Hut { code: String @key  x: I32?  open: Bool?  tags: [String]? }")
    stage = "match { $g: Hut } with { min($g.x) as lowest }"
    assert compile_query(f"query q() {{ {stage} match {{ $h: Hut {clauses} }} return {{ $h.code }} }}", catalog).checked
