"""The read cases of the query language, with the answers they have on the fixture graph, in both traversal modes and
with no, partial and full index coverage.

Cases 20, 30a and 57b assert what the language extensions make of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import OmnigraphError
from omnigraph.testing.graphs.coverage import COVERAGES, indexes_are_used, load_covered
from omnigraph.testing.graphs.huts import EARLIER, RECORDS, SCHEMA

INDEXED = SCHEMA.replace("vec: Vector(2)?", "vec: Vector(2)? @index")


@pytest.fixture(scope="module", params=COVERAGES)
def covered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    """The fixture graph with no index, with indexes that lag behind, and with complete ones."""
    graph = og.init(tmp_path_factory.mktemp("huts") / f"{request.param}.omni", schema=INDEXED)
    load_covered(graph, EARLIER.strip().splitlines(), RECORDS.strip().splitlines(), request.param)
    return graph


@pytest.fixture(params=["csr", "indexed"])
def graph(covered: og.Graph, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[og.Graph]:
    monkeypatch.setenv("OMNIGRAPH_TRAVERSAL_MODE", request.param)
    with indexes_are_used():  # however small the tables are
        yield covered


def q(match: str, returns: str, tail: str = "", params: str = "") -> str:
    return f"query q({params}) {{ match {{ {match} }} return {{ {returns} }} {tail} }}"


H1 = '$h: Hut { code: "h1" }'
H4 = '$h: Hut { code: "h4" }'
VEC = "$v: Vector(2)"

# Each case: query, parameters, and the rows as a bag (Counter of value tuples) or in order (list).
ROWS: list[Any] = [
    pytest.param(q(H1, "$h.name, $h.alt"), None, [("Alm", 1200)], id="query-1"),
    pytest.param(q("$h: Hut { }", "count($h) as n"), None, [(4,)], id="query-2"),
    pytest.param(q("$h: Hut { grade: $g }", "$h.code", params="$g: String"), {"g": "z"}, [], id="query-7"),
    pytest.param(q('$h: Hut { tags: "stove" }', "$h.code"), None, {"h1", "h2"}, id="query-8"),
    pytest.param(q("$h: Hut $h.alt = 1800", "$h.code"), None, {"h2", "h4"}, id="query-10"),
    pytest.param(q("$h: Hut $h.alt != 1800", "$h.code"), None, {"h1"}, id="query-11"),
    pytest.param(q("$h: Hut not { $h.alt = 1800 }", "$h.code"), None, {"h1", "h3"}, id="query-12"),
    pytest.param(q("$h: Hut $h.alt = 1800.5", "$h.code"), None, set(), id="query-13"),
    pytest.param(q('$h: Hut $h.name contains "lp"', "$h.code"), None, {"h2"}, id="query-16"),
    pytest.param(q('$h: Hut $h.name starts_with "al"', "$h.code"), None, set(), id="query-17"),
    pytest.param(q('$h: Hut "an Alm here" contains $h.name', "$h.code"), None, {"h1"}, id="query-19"),
    pytest.param(q("$h: Hut $h = $h", "$h.code"), None, {"h1", "h2", "h3", "h4"}, id="query-20"),
    pytest.param(q(f"{H1} $h path $x", "$x.code"), None, {"h2", "h4"}, id="query-22"),
    pytest.param(
        q(f"{H1} $h $e:path $x", "$x.code, $e.minutes"),
        None,
        Counter([("h2", 40), ("h2", 55), ("h4", None)]),
        id="query-23",
    ),
    pytest.param(q(f"{H1} $h path{{1,3}} $x", "$x.code"), None, {"h2", "h3", "h4"}, id="query-24"),
    pytest.param(q(f"{H1} $h path{{2,2}} $x", "$x.code"), None, {"h3", "h4"}, id="query-25"),
    pytest.param(q(f"{H1} $h path{{3,3}} $x", "$x.code"), None, set(), id="query-26"),
    pytest.param(q(f"{H1} $h path{{1,}} $x", "$x.code"), None, {"h2", "h3", "h4"}, id="query-30a"),
    # Decision 0039: a lower bound of 0, one number for both bounds, no direction between different types.
    pytest.param(q(f"{H1} $h path{{0,1}} $x", "$x.code"), None, {"h1", "h2", "h4"}, id="query-30d"),
    pytest.param(q(f"{H1} $h path{{2}} $x", "$x.code"), None, {"h3", "h4"}, id="query-31"),
    pytest.param(
        q("$w: Warden $w <guards> $h", "$w.badge, $h.code"),
        None,
        Counter([("w1", "h1"), ("w1", "h2"), ("w2", "h2")]),
        id="query-35",
    ),
    pytest.param(q(f"{H4} $h path $x", "$x.code"), None, {"h4"}, id="query-27a"),
    pytest.param(q(f"{H4} $h path{{2,2}} $x", "$x.code"), None, set(), id="query-27b"),
    pytest.param(q(f"{H1} $h <path> $x", "$x.code"), None, {"h2", "h3", "h4"}, id="query-28"),
    pytest.param(
        q(f"{H1} $h $e:<path> $x", "$x.code"), None, Counter([("h2",), ("h2",), ("h3",), ("h4",)]), id="query-29a"
    ),
    pytest.param(q(f"{H4} $h $e:<path> $x", "$x.code"), None, Counter([("h1",), ("h4",)]), id="query-29b"),
    pytest.param(q('$h: Hut { code: "h2" } $h guards $w', "$w.badge"), None, {"w1", "w2"}, id="query-33"),
    pytest.param(
        q("$w: Warden $w guards{1,3} $h", "$h.code"), None, Counter([("h1",), ("h2",), ("h2",)]), id="query-34a"
    ),
    pytest.param(q("$w: Warden $w guards{2,3} $h", "$h.code"), None, set(), id="query-34b"),
    pytest.param(
        q("$w guards $h", "$w.badge, $h.code"), None, Counter([("w1", "h1"), ("w1", "h2"), ("w2", "h2")]), id="query-38"
    ),
    pytest.param(
        q("$a: Hut $a path $b $b path $c $c path $a", "$a.code"), None, {"h1", "h2", "h3", "h4"}, id="query-39"
    ),
    pytest.param(q("$a: Hut $a path $a", "$a.code"), None, {"h4"}, id="query-40"),
    pytest.param(
        q("$h: Hut $h path $_", "$h.code"),
        None,
        Counter([("h1",), ("h1",), ("h2",), ("h3",), ("h4",)]),
        id="query-41",
    ),
    pytest.param(q("$w: Warden not { $w guards $_ }", "$w.badge"), None, {"w3"}, id="query-42"),
    pytest.param(q("$h: Hut not { $w guards $h $w.age > 35 }", "$h.code"), None, {"h3", "h4"}, id="query-43"),
    pytest.param(q("$h: Hut not { $h guards $_ }", "$h.code"), None, {"h3", "h4"}, id="query-45"),
    pytest.param(
        q("$h: Hut $h $e:path $x $e.minutes > 50", "$e.minutes"), None, Counter([(60,), (90,), (55,)]), id="query-47"
    ),
    pytest.param(q("$h: Hut", "$h.code", "order { $h.alt }"), None, ["h3", "h1", "h2", "h4"], id="query-49"),
    pytest.param(q("$h: Hut", "$h.code", "order { $h.alt desc }"), None, ["h2", "h4", "h1", "h3"], id="query-50"),
    pytest.param(q("$h: Hut", "$h.code", "order { $h.alt desc } limit 1"), None, ["h2"], id="query-51a"),
    pytest.param(q("$h: Hut", "$h.code", "order { $h.alt desc } limit 0"), None, [], id="query-51b"),
    pytest.param(
        q("$h: Hut", "count($h.alt) as n, sum($h.alt) as s, avg($h.alt) as m"),
        None,
        [(3, 4800.0, 1600.0)],
        id="query-53",
    ),
    pytest.param(q('$h: Hut { code: "zz" }', "count($h) as n, min($h.alt) as m"), None, [(0, None)], id="query-54"),
    pytest.param(q('$h: Hut { code: "zz" }', "$h.name, count($h) as n"), None, [], id="query-55"),
    pytest.param(
        q("$w: Warden $w guards $h", "$w.name, count($h) as n", "order { n desc }"),
        None,
        [("Ilse", 2), ("Bruno", 1)],
        id="query-56",
    ),
    pytest.param(q("$h: Hut", "max($h.built) as s"), None, [(None,)], id="query-57b"),
    pytest.param(
        q("$h: Hut", "$h.code", "order { nearest($h.vec, $v) } limit 9", VEC),
        {"v": [0, 0]},
        ["h1", "h2", "h3"],
        id="query-59",
    ),
    pytest.param(
        q("$h: Hut $h.alt = 1800", "$h.code", "order { nearest($h.vec, $v) } limit 9", VEC),
        {"v": [0, 0]},
        ["h2"],
        id="query-61",
    ),
    pytest.param(q('$h: Hut search($h.name, "RESTING")', "$h.code"), None, {"h2"}, id="query-62"),
    pytest.param(q("$h: Hut", "$h.code", 'order { bm25($h.name, "alpin") }'), None, ["h2"], id="query-63"),
    pytest.param(
        q("$h: Hut", "$h.code", 'order { rrf(nearest($h.vec, $v), bm25($h.name, "cabin")) } limit 9', VEC),
        {"v": [0, 0]},
        ["h1", "h4", "h2", "h3"],
        id="query-64",
    ),
    pytest.param(q(H1, "$n as n", params="$n: I64"), {"n": "9007199254740993"}, [(9007199254740993,)], id="query-66a"),
    pytest.param(q("$h: Hut $h.name = $n", "$h.code", params="$n: String?"), {}, [], id="query-67"),
]

ERRORS: list[Any] = [
    pytest.param(q("$h: Lake", "$h.name"), None, "T1", id="query-3"),
    pytest.param(q("$h: Hut { depth: 1 }", "$h.name"), None, "T2", id="query-4"),
    pytest.param(q('$h: Hut { alt: "high" }', "$h.name"), None, "T3", id="query-5"),
    pytest.param(q('$h: Hut { grade: "z" }', "$h.name"), None, "T3", id="query-6"),
    pytest.param(q('$h: Hut { tags: ["stove"] }', "$h.code"), None, "T3", id="query-9"),
    pytest.param(q('$h: Hut $h.alt > "x"', "$h.code"), None, "T7", id="query-14"),
    pytest.param(q('$h: Hut $h.built > "1990-01-01"', "$h.code"), None, "T7", id="query-15"),
    pytest.param(q("$h: Hut $h.alt contains 1", "$h.code"), None, "T7", id="query-18"),
    pytest.param(q("$h.alt > 1 $h: Hut", "$h.code"), None, "T6", id="query-21"),
    pytest.param(q("$h: Hut $h path{0,0} $x", "$x.code"), None, "T15", id="query-30b"),
    pytest.param(q("$h: Hut $h path{2,1} $x", "$x.code"), None, "T15", id="query-30c"),
    pytest.param(q("$h: Hut $h PATH $x", "$x.code"), None, "Q000", id="query-32"),
    pytest.param(q("$w: Warden $w path $h", "$h.code"), None, "T5", id="query-36"),
    pytest.param(q("$h: Hut $h climbs $x", "$x.code"), None, "T4", id="query-37"),
    pytest.param(q("$w: Warden not { $h: Hut }", "$w.badge"), None, "T9", id="query-44"),
    pytest.param(q("$h: Hut $h $e:path{1,2} $x", "$x.code"), None, "T23", id="query-46a"),
    pytest.param(q("$h: Hut", "$h.pic"), None, "T24", id="query-48"),
    pytest.param(q("$h: Hut", "$h.code as c", "order { zz }"), None, "T25", id="query-52"),
    pytest.param(q("$h: Hut", "sum($h.name) as s"), None, "T8", id="query-57a"),
    pytest.param(q("$h: Hut", "$h.name, count($h) + $h.alt as n"), None, "T34", id="query-58"),  # 0033
    pytest.param(q("$h: Hut", "$h.code", "order { nearest($h.vec, $v) }", VEC), {"v": [0, 0]}, "T17", id="query-60a"),
    pytest.param(
        q("$h: Hut", "$h.code", "order { nearest($h.vec, $v) } limit 9", "$v: Vector(3)"), None, "T15", id="query-60b"
    ),
    pytest.param(
        q("$h: Hut", "$h.code", "order { nearest($h.vec, $v) desc } limit 9", VEC), None, "Q000", id="query-60c"
    ),
    pytest.param(
        q("$h: Hut", "$h.code", 'order { rrf(nearest($h.vec, $v), bm25($h.name, "x"), 0) } limit 9', VEC),
        None,
        "T21",
        id="query-65a",
    ),
    pytest.param(
        q("$h: Hut", "$h.code", 'order { rrf(nearest($h.vec, $v), bm25($h.name, "x")) }', VEC),
        None,
        "T21",
        id="query-65b",
    ),
    pytest.param(
        q("$h: Hut", "$h.code", 'order { rrf(search($h.name, "x"), bm25($h.name, "x")) } limit 9'),
        None,
        "Q000",
        id="query-65c",
    ),
    pytest.param(q(H1, "$n as n", params="$n: I64"), {"n": 1.5}, "P003", id="query-66b"),
    pytest.param(q(H1, "$n as n", params="$n: I64"), {}, "P006", id="query-66c"),
    pytest.param(q(H1, "$n as n", params="$n: I64"), {"n": None}, "P002", id="query-66d"),
]


def answer(result: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in result.rows()]


@pytest.mark.parametrize(("text", "params", "expected"), ROWS)
def test_a_read_gives_the_rows_the_case_lists(graph: og.Graph, text: str, params: Any, expected: Any) -> None:
    rows = answer(graph.query(text, params=params))
    if isinstance(expected, Counter):
        assert Counter(rows) == expected
    elif isinstance(expected, set):
        assert Counter(rows) == Counter((code,) for code in expected)
    else:
        assert rows == [row if isinstance(row, tuple) else (row,) for row in expected]


@pytest.mark.parametrize(("text", "params", "code"), ERRORS)
def test_a_faulty_read_fails_with_the_code_the_case_lists(huts: og.Graph, text: str, params: Any, code: str) -> None:
    with pytest.raises(OmnigraphError) as failure:
        huts.query(text, params=params)
    assert failure.value.code == code


def test_column_names_follow_the_return_list_even_without_rows(huts: og.Graph) -> None:
    result = huts.query(q('$h: Hut { code: "zz" }', "$h.name, $h.alt as height, $h"))
    assert result.columns == ("h.name", "height", "h")
    assert [str(field.type) for field in result.to_arrow().schema][:2] == ["string", "int32"]
    assert len(result) == 0
