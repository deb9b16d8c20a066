"""Completion offers what could stand at the place, on texts that are still being written."""

from __future__ import annotations

import ast as python
from pathlib import Path

import pytest

import omnigraph.compiler
from omnigraph.compiler.assist import words
from omnigraph.compiler.assist.complete import complete
from omnigraph.compiler.catalog import compile_schema
from omnigraph.compiler.formatter import Language

SCHEMA = """
interface Named { name: String }
node Hut implements Named { name: String @key altitude: I32 @description("metres") }
node Lake implements Named { name: String @key depth: I32 }
node Guard { name: String @key }
edge Path: Hut -> Hut { length: F64 }
edge Beside: Hut -> Lake
edge Guards: Guard -> Hut
"""
CATALOG = compile_schema(SCHEMA)


def offered(text: str, language: Language = "gq") -> dict[str, str]:
    """What is offered at the bar, with the kind of each."""
    offset = text.index("¦")
    _, found = complete(text.replace("¦", ""), offset, language, CATALOG)
    return {each.text: each.kind for each in found}


@pytest.mark.parametrize(
    ("text", "expected", "absent"),
    [
        ("¦", ["query"], ["match"]),
        ("query a($n: ¦", ["String", "I32", "Vector", "enum"], ["Hut"]),
        ("query a() @¦", ["description", "instruction"], []),
        ("query a() { ¦", ["match", "insert", "update", "delete"], ["Hut"]),
        ("query a() { match { $h: ¦", ["Hut", "Lake", "Named", "Path"], ["String"]),
        ("query a() { match { $h: H¦", ["Hut"], ["Lake"]),
        ("query a() { match { $h: Hut { ¦", ["name", "altitude"], ["depth"]),
        ('query a() { match { $h: Hut { name: "x", ¦', ["altitude"], ["name"]),
        ("query a() { match { $h: Hut $h ¦", ["path", "beside", "guards"], []),
        ("query a() { match { $l: Lake $l ¦", ["beside"], ["path", "guards"]),
        ("query a() { match { $l: Lake $l b¦", ["beside"], ["path"]),
        ("query a() { match { $l: Lake $l $e:¦", ["beside"], ["Lake"]),
        ("query a() { match { $h: Hut $h.¦", ["name", "altitude", "id"], ["depth"]),
        ("query a() { match { $h: Hut $h beside $x } return { $x.¦", ["depth", "name", "id"], ["altitude"]),
        ("query a() { match { $x guards $h } return { $x.¦ }", ["name"], ["altitude"]),
        ("query a() { match { $a $e:path $b } return { $e.¦ }", ["length", "id"], ["name"]),
        ("query a() { match { $n: Named } return { $n.¦ }", ["name"], ["depth"]),
        ("query a($min: I32) { match { $h: Hut } return { $¦ }", ["$h", "$min"], []),
        ("query a() { match { $h: Hut } return { lo¦ }", ["lower"], ["match"]),
        ("query a() { match { $h: Hut } return { cou¦ }", ["count"], []),
        ("query a() { insert ¦", ["Hut", "Path"], ["Named"]),
        ("query a() { insert Beside { ¦", ["from", "to"], ["name"]),
        ("query a() { update Lake set { ¦", ["depth"], ["altitude"]),
        ("query a() { match { $h: Hut } return { $h } } ¦", ["query"], ["match"]),
        ("query a() { match { $h: Hut // $h.¦", [], ["name"]),
        ('query a() { match { $h: Hut { name: "¦" } }', [], ["name"]),
    ],
)
def test_a_place_in_a_query(text: str, expected: list[str], absent: list[str]) -> None:
    found = offered(text)
    assert set(expected) <= set(found), found
    assert not set(absent) & set(found)
    assert expected or not found


@pytest.mark.parametrize(
    ("text", "expected", "absent"),
    [
        ("¦", ["node", "edge", "interface"], ["String"]),
        ("node A { x: ¦", ["String", "Vector", "enum"], []),
        ("node A { x: String @¦", ["key", "index", "default"], []),
        ("node A {} node B {} edge E: ¦", ["A", "B"], ["String"]),
        ("node A {} edge E: A -> ¦", ["A"], []),
        ("interface N {} node A implements ¦", ["N"], ["A"]),
    ],
)
def test_a_place_in_a_schema(text: str, expected: list[str], absent: list[str]) -> None:
    found = offered(text, "pg")
    assert set(expected) <= set(found), found
    assert not set(absent) & set(found)


def test_nothing_is_offered_twice_and_everything_has_a_kind() -> None:
    offset = len("query a($min: I32) { match { $h: Hut ")
    _, found = complete("query a($min: I32) { match { $h: Hut ", offset, "gq", CATALOG)
    assert len({each.text for each in found}) == len(found)
    assert {"variable", "parameter", "function", "keyword"} <= {each.kind for each in found}


def test_every_call_is_documented() -> None:
    from omnigraph.compiler.functions import AGGREGATES
    from omnigraph.compiler.functions.search import SPECIAL
    from omnigraph.compiler.functions.windows import WINDOWS
    from omnigraph.compiler.query.parse_call import SPECIAL_CALLS

    assert set(SPECIAL) == SPECIAL_CALLS.keys() - set(AGGREGATES) - set(WINDOWS)


def test_the_words_are_those_that_the_parsers_ask_for() -> None:
    """A word that a parser learns has to be coloured and completed as well."""
    top = Path(omnigraph.compiler.__file__).parent
    known = {
        "query": {*words.QUERY_KEYWORDS, *words.QUERY_OPERATORS, *words.QUERY_ANNOTATIONS, *words.CONSTANTS},
        "schema": {*words.SCHEMA_KEYWORDS, *words.TYPE_KEYWORDS},
    }
    for package, found in known.items():
        asked = set()
        for path in (top / package).glob("parse*.py"):
            for call in python.walk(python.parse(path.read_text())):
                match call:
                    case python.Call(
                        python.Attribute(attr="take_word" | "need_word" | "at_word"), [python.Constant(word)]
                    ):
                        asked.add(word)
                    case python.Compare(python.Attribute(attr="text"), [python.Eq()], [python.Constant(str(word))]):
                        asked |= {word} if word.isidentifier() else set()
        assert asked
        assert asked <= {*found, *words.TYPE_KEYWORDS, *words.CALLS, *words.TYPES}, package


def test_nothing_is_offered_inside_a_string_that_is_not_finished() -> None:
    text = 'query q() { match { $p: Person { name: "Per'
    assert complete(text, len(text), "gq", compile_schema("node Person { name: String @key  age: I32? }"))[1] == ()
