"""What the numbered query cases say about syntax: which texts parse, and which are Q000.

Decision 10 turns the first text of case 83 into valid syntax; `docs/decisions/0002` says why.
"""

from __future__ import annotations

import pytest

from omnigraph.compiler.diagnostics import ParseError
from omnigraph.compiler.query.parse import parse_queries


def read(match: str, items: str = "$h.code", rest: str = "", params: str = "") -> str:
    return f"query q({params}) {{ match {{ {match} }} return {{ {items} }} {rest} }}"


def mutation(*statements: str, params: str = "") -> str:
    return f"query q({params}) {{ {' '.join(statements)} }}"


H1 = '$h: Hut { code: "h1" }'
H4 = '$h: Hut { code: "h4" }'
NEAREST = "order { nearest($h.vec, $v) }"
V2 = "$v: Vector(2)"

PARSES = [
    ("1", read(H1, "$h.name, $h.alt")),
    ("2", read("$h: Hut { }", "count($h) as n")),
    ("3", read("$h: Lake", "$h.name")),
    ("4", read("$h: Hut { depth: 1 }", "$h.name")),
    ("5", read('$h: Hut { alt: "high" }', "$h.name")),
    ("6", read('$h: Hut { grade: "z" }', "$h.name")),
    ("7", read("$h: Hut { grade: $g }", params="$g: String")),
    ("8", read('$h: Hut { tags: "stove" }')),
    ("9", read('$h: Hut { tags: ["stove"] }')),
    ("10", read("$h: Hut $h.alt = 1800")),
    ("11", read("$h: Hut $h.alt != 1800")),
    ("12", read("$h: Hut not { $h.alt = 1800 }")),
    ("13", read("$h: Hut $h.alt = 1800.5")),
    ("14", read('$h: Hut $h.alt > "x"')),
    ("15", read('$h: Hut $h.built > "1990-01-01"')),
    ("16", read('$h: Hut $h.name contains "lp"')),
    ("17", read('$h: Hut $h.name starts_with "al"')),
    ("18", read("$h: Hut $h.alt contains 1")),
    ("19", read('$h: Hut "an Alm here" contains $h.name')),
    ("20", read("$h: Hut $h = $h")),
    ("21", read("$h.alt > 1 $h: Hut")),
    ("22", read(f"{H1} $h path $x", "$x.code")),
    ("23", read(f"{H1} $h $e:path $x", "$x.code, $e.minutes")),
    ("24", read(f"{H1} $h path{{1,3}} $x")),
    ("25", read(f"{H1} $h path{{2,2}} $x")),
    ("26", read(f"{H1} $h path{{3,3}} $x")),
    ("27a", read(f"{H4} $h path $x")),
    ("27b", read(f"{H4} $h path{{2,2}} $x")),
    ("28", read(f"{H1} $h <path> $x")),
    ("29", read(f"{H1} $h $e:<path> $x")),
    ("30a", read("$h: Hut $h path{1,} $x")),
    ("30b", read("$h: Hut $h path{0,1} $x")),
    ("30c", read("$h: Hut $h path{2,1} $x")),
    ("33", read('$h: Hut { code: "h2" } $h guards $w', "$w.badge")),
    ("34", read("$w: Warden $w guards{1,3} $h")),
    ("35", read("$w: Warden $w <guards> $h")),
    ("36", read("$w: Warden $w path $h")),
    ("37", read("$h: Hut $h climbs $x", "$x.code")),
    ("38", read("$w guards $h", "$w.badge, $h.code")),
    ("39", read("$a: Hut $a path $b $b path $c $c path $a", "$a.code")),
    ("40", read("$a: Hut $a path $a", "$a.code")),
    ("41", read("$h: Hut $h path $_")),
    ("42", read("$w: Warden not { $w guards $_ }", "$w.badge")),
    ("43", read("$h: Hut not { $w guards $h $w.age > 35 }")),
    ("44", read("$w: Warden not { $h: Hut }", "$w.badge")),
    ("45", read("$h: Hut not { $h guards $_ }")),
    ("46a", read("$h: Hut $h $e:path{1,2} $x", "$x.code")),
    ("46b", read("$h: Hut $h $e:path $x", "$e")),
    ("47", read("$h: Hut $h $e:path $x $e.minutes > 50", "$e.minutes")),
    ("48", read("$h: Hut", "$h.pic")),
    ("49", read("$h: Hut", rest="order { $h.alt }")),
    ("50", read("$h: Hut", rest="order { $h.alt desc }")),
    ("51a", read("$h: Hut", rest="order { $h.alt desc } limit 1")),
    ("51b", read("$h: Hut", rest="order { $h.alt desc } limit 0")),
    ("52", read("$h: Hut", "$h.code as c", "order { zz }")),
    ("53", read("$h: Hut", "count($h.alt) as n, sum($h.alt) as s, avg($h.alt) as m")),
    ("54", read('$h: Hut { code: "zz" }', "count($h) as n, min($h.alt) as m")),
    ("55", read('$h: Hut { code: "zz" }', "$h.name, count($h) as n")),
    ("56", read("$w: Warden $w guards $h", "$w.name, count($h) as n", "order { n desc }")),
    ("57a", read("$h: Hut", "sum($h.name) as s")),
    ("57b", read("$h: Hut", "max($h.built) as s")),
    ("58", read("$h: Hut", "$h.name, now() as t, count($h) as n")),
    ("59", read("$h: Hut", rest=f"{NEAREST} limit 9", params=V2)),
    ("60a", read("$h: Hut", rest=NEAREST, params=V2)),
    ("60b", read("$h: Hut", rest=f"{NEAREST} limit 9", params="$v: Vector(3)")),
    ("61", read("$h: Hut $h.alt = 1800", rest=f"{NEAREST} limit 9", params=V2)),
    ("62", read('$h: Hut search($h.name, "RESTING")')),
    ("63", read("$h: Hut", rest='order { bm25($h.name, "alpin") }')),
    ("64", read("$h: Hut", rest='order { rrf(nearest($h.vec, $v), bm25($h.name, "cabin")) } limit 9', params=V2)),
    ("65a", read("$h: Hut", rest='order { rrf(nearest($h.vec, $v), bm25($h.name, "c"), 0) } limit 9', params=V2)),
    ("65b", read("$h: Hut", rest='order { rrf(nearest($h.vec, $v), bm25($h.name, "c")) }', params=V2)),
    ("66", read("$h: Hut $h.alt = $n", params="$n: I64")),
    ("67", read("$h: Hut $h.name = $n", params="$n: String?")),
    ("68", mutation('insert Hut { code: "h1", name: "New" }')),
    ("69", mutation('insert Hut { code: "h9" }')),
    ("70", mutation('insert Hut { code: "h9", name: "N", alt: 99999999999 }')),
    ("71", mutation('insert Path { from: "h1", to: "zz" }')),
    ("72", mutation('insert Path { from: "h8", to: "h1" }', 'insert Hut { code: "h8", name: "N" }')),
    ("73a", mutation('insert Path { to: "h1" }')),
    ("73b", mutation("insert Lake { x: 1 }")),
    ("73c", mutation('insert Hut { code: "a", code: "b", name: "c" }')),
    ("74", mutation("update Hut set { open: true } where alt = 1800")),
    ("75", mutation("update Hut set { alt: 1 } where alt != 1800")),
    ("76", mutation('update Hut set { code: "x" } where code = "h1"')),
    ("77", mutation('update Path set { minutes: 1 } where from = "h1"')),
    (
        "78",
        mutation(
            'update Hut set { alt: 9 } where code = "h1"',
            'update Hut set { name: "low" } where alt < 10',
        ),
    ),
    ("79", mutation('delete Hut where code = "h2"')),
    ("80", mutation('delete Hut where code = "h1"', "delete Hut where alt < 1500")),
    ("81", mutation('delete Path where from = "h1"')),
    ("82", mutation('insert Hut { code: "n", name: "n" }', 'delete Hut where code = "n"')),
    ("83a", mutation('delete Hut where name contains "x"')),
    ("83b", mutation('delete Hut where id = "h1"')),
    ("84", read("$w: Warden not { $w guards $_ }", "$w.badge")),
    ("85", mutation('delete Hut where code = "h2"')),
    ("86", mutation("update Hut set { alt: $a } where code = $c", params="$a: I32, $c: String")),
    ("31", read("$h: Hut $h path{2} $x")),  # decision 0039: exactly so many hops
]

FAILS = [
    ("32", read("$h: Hut $h PATH $x"), "PATH"),
    ("60c", read("$h: Hut", rest="order { nearest($h.vec, $v) desc } limit 9", params=V2), "desc"),
    ("65c", read("$h: Hut", rest='order { rrf(search($h.name, "a"), bm25($h.name, "c")) }'), "search"),
]


@pytest.mark.parametrize("text", [pytest.param(text, id=number) for number, text in PARSES])
def test_the_case_parses(text: str) -> None:
    assert [query.name for query in parse_queries(text).queries] == ["q"]


@pytest.mark.parametrize(("text", "place"), [pytest.param(text, place, id=number) for number, text, place in FAILS])
def test_the_case_is_a_syntax_error(text: str, place: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_queries(text)
    assert caught.value.code == "Q000"
    span = caught.value.diagnostic.span
    assert span is not None
    assert text[span.start : span.end] == place


def test_every_numbered_case_is_here() -> None:
    numbers = {int(number.rstrip("abc")) for number, *_ in (*PARSES, *FAILS)}
    assert numbers == set(range(1, 87))
