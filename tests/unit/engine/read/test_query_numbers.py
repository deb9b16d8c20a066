"""Numbers in queries: integers that meet floats, overflow and who it concerns, zero divisors, large literals."""

from __future__ import annotations

from typing import Any

import pytest

import omnigraph as og
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.temporal import DateTime
from omnigraph.errors import BadRequest, OmnigraphError
from omnigraph.testing.naive.evaluator import evaluate

SCHEMA = """
node P { k: String @key  j: I64?  u: U64?  i: I32?  f: F64?  must: F64  us: [U64]? }
edge E: P -> P { w: I64? }
"""
GREAT = 2**63 - 1
ODD = 2**53 + 1  # lies between two doubles
RECORDS = [
    {"type": "P", "data": {"k": "great", "j": GREAT, "u": 2**64 - 1, "i": 1, "f": 0.5, "must": 1.0}},
    {"type": "P", "data": {"k": "odd", "j": ODD, "u": 3, "i": 2, "must": 1.0, "us": [2**64 - 1, 3]}},
    {"type": "P", "data": {"k": "small", "j": 5, "u": 2**63, "i": 3, "must": 1.0}},
    {"type": "P", "data": {"k": "none", "must": 1.0}},
    {"edge": "E", "from": "small", "to": "odd", "data": {"w": GREAT}},
    {"edge": "E", "from": "odd", "to": "small", "data": {"w": 1}},
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    graph = og.init(tmp_path_factory.mktemp("numbers") / "g.omni", schema=SCHEMA)
    graph.load(RECORDS)
    return graph


@pytest.fixture
def graph(tmp_path: Any) -> og.Graph:
    graph = og.init(tmp_path / "g.omni", schema=SCHEMA)
    graph.load(RECORDS)
    return graph


@pytest.fixture(params=["in memory", "from storage"])
def numbers(shared: og.Graph, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> og.Graph:
    if request.param == "from storage":
        monkeypatch.setattr("omnigraph.engine.read.columns.entities.SMALL_TABLE", 0)
    return shared


def values(graph: og.Graph, body: str) -> list[Any]:
    rows = [tuple(row.values()) for row in graph.query(f"query q() {{ {body} }}")]
    return [row[0] if len(row) == 1 else row for row in rows]


def naive(graph: og.Graph, body: str) -> list[Any]:
    """What the naive evaluator makes of the same rows."""
    catalog = graph.view().catalog
    info = catalog.nodes["P"]
    rows = [each["data"] for each in RECORDS if "type" in each]
    image = {"node:P": {row["k"]: {"id": row["k"]} | {name: row.get(name) for name in info.properties} for row in rows}}
    return evaluate(compile_query(f"query q() {{ {body} }}", catalog).checked, catalog, image, {}, DateTime(0))


# --- integers beyond 2^53 meet floats ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("match { $p: P } return { $p.j / 2 } order { $p.k }", [GREAT / 2, None, 2.0**52, 2.5]),
        ("match { $p: P } return { $p.j * 1.0 } order { $p.k }", [2.0**63, None, 2.0**53, 5.0]),
        ("match { $p: P } return { $p.u + 0.5 } order { $p.k }", [2.0**64, None, 3.5, 2.0**63]),
        ("match { $p: P $p.j / 2 > 3 } return { $p.k }", ["great", "odd"]),
        ("match { $p: P $p.j * 1.0 = 9007199254740992.0 } return { $p.k }", ["odd"]),
        ("match { $p: P $p.j = 9007199254740992.0 } return { $p.k }", []),
        ("match { $p: P not { $p.j / 2 > 3 } } return { $p.k }", ["none", "small"]),
        ("match { $p: P $p.j / 2 in [2.5] } return { $p.k }", ["small"]),
        ("match { $p: P } return { sum($p.j / 2) as s }", [GREAT / 2 + 2.0**52 + 2.5]),
        ("match { $p: P } return { $p.j / 2 as h, count(*) as n } order { h desc } limit 1", [(GREAT / 2, 1)]),
        ("match { $p: P } return { $p.k } order { $p.k } limit 1", ["great"]),
        ("match { $p: P } return { 9007199254740993 * 1.0 as x } limit 1", [2.0**53]),
    ],
)
def test_an_integer_is_rounded_where_it_meets_a_float(numbers: og.Graph, body: str, expected: list[Any]) -> None:
    assert values(numbers, body) == expected


def test_an_update_computes_what_a_query_does(graph: og.Graph) -> None:
    graph.mutate('query q() { update P set { f: j / 2 } where k = "odd" }')
    graph.mutate('query q() { update P set { f: j * 1.0 } where k = "great" }')
    graph.mutate('query q() { match { $p: P { k: "small" } } update $p set { f: $p.j / 2 } }')
    assert values(graph, "match { $p: P } return { $p.f } order { $p.k }") == [2.0**63, None, 2.0**52, 2.5]
    assert graph.mutate("query q() { update P set { i: 9 } where j / 2 > 3 }").affected_nodes == 2


def test_sums_of_integers_are_exact_beyond_64_bits(graph: og.Graph) -> None:
    assert values(graph, "match { $p: P } return { sum($p.j) as s, avg($p.j) as a }") == [
        (float(GREAT + ODD + 5), float(GREAT + ODD + 5) / 3)
    ]
    assert values(graph, "match { $p: P } return { sum($p.u) as s }") == [float(2**64 - 1 + 3 + 2**63)]
    graph.mutate(f'query q() {{ update P set {{ j: {-GREAT} }} where k = "odd" }}')
    assert values(graph, "match { $p: P } return { sum($p.j) as s }") == [5.0]


# --- overflow -----------------------------------------------------------------------------------------

OVERFLOWS = "$p.j + 1000 > 1005"  # of "great"
EXCLUDED = {
    "by a filter before": f'$p: P $p.k != "great" {OVERFLOWS}',
    "by a filter after": f'$p: P {OVERFLOWS} $p.k != "great"',
    "by an inline condition": f'$p: P {{ k: "odd" }} {OVERFLOWS}',
    "in one condition": f'$p: P {OVERFLOWS} and $p.k != "great"',
    "by another one that overflows for others": f"$p: P {OVERFLOWS} 9223372036854775807 - $p.j > 5 - $p.i",
    "by a step": f"$p: P $p e $q {OVERFLOWS}",
    "by the other end of a step": f'$q: P {{ k: "small" }} $p e $q {OVERFLOWS}',
    "by a step of two": f"$p: P $q: P $p e{{1,3}} $q {OVERFLOWS} $p != $q",
    "by an edge that is bound": '$p $e:e $q $e.w + 1 > 0 $p.k = "odd"',
    "by a not block": f'$p: P {OVERFLOWS} not {{ $p.k = "great" }}',
    "by a not block with a step": f"$p: P {OVERFLOWS} $p.j is not null not {{ $x: P $p.j > $x.j $x.k = \"odd\" }}",
    "by a filter on what is optional": f'$p: P {OVERFLOWS} optional {{ $p e $q }} $q is not null',
    "inside a not block": '$p: P $p.k != "great" not { $p.j + 1000 < 1005 }',
    "inside a not block with a step": '$p: P $p.k != "small" not { $p $e:e $q $e.w + 1 < 0 }',
}  # fmt: skip


@pytest.mark.parametrize("match", EXCLUDED.values(), ids=EXCLUDED)
def test_a_row_that_something_excludes_fails_no_query(numbers: og.Graph, match: str) -> None:
    assert "odd" in values(numbers, f"match {{ {match} }} return {{ $p.k }}")


COUNTED = {
    "alone": f"$p: P {OVERFLOWS}",
    "beside a filter": f'$p: P $p.k != "odd" {OVERFLOWS}',
    "beside a filter that is possible": f"$p: P {OVERFLOWS} $p.j - 1000 > 0",
    "in one condition": f'$p: P {OVERFLOWS} and $p.k != "odd"',
    "in or": f'$p: P {OVERFLOWS} or $p.k = "odd"',
    "in a not block": "$p: P not { $p.j + 1000 < 1005 }",
    "in a not block with a step": "$p: P not { $p $e:e $q $e.w + 1 < 0 }",
    "behind a step": "$p $e:e $q $e.w + 1 > 0",
    "in an optional block": "$p: P optional { $q: P $q.j + 1000 > 1005 }",
}  # fmt: skip


@pytest.mark.parametrize("match", COUNTED.values(), ids=COUNTED)
def test_a_row_that_nothing_excludes_fails_the_query(numbers: og.Graph, match: str) -> None:
    with pytest.raises(BadRequest, match="integer overflow"):
        values(numbers, f"match {{ {match} }} return {{ $p.k }}")


def test_beside_a_null_an_overflow_does_not_matter(numbers: og.Graph) -> None:
    overflow = "9223372036854775807 + $p.j"
    assert values(numbers, f'match {{ $p: P $p.k != "great" {overflow} > $p.f }} return {{ $p.k }}') == []
    assert values(numbers, f'match {{ $p: P {{ k: "odd" }} }} return {{ ({overflow}) * $p.f as x }}') == [None]


def test_a_condition_that_is_kept_anyway_fails_no_query(numbers: og.Graph) -> None:
    assert values(numbers, f'match {{ $p: P {OVERFLOWS} or $p.k = "great" }} return {{ $p.k }}') == ["great", "odd"]


def test_a_result_row_that_having_excludes_fails_no_query(numbers: og.Graph) -> None:
    returned = "return { $p.k as k, $p.j + 1000 as more } having { %s } order { more }"
    assert values(numbers, "match { $p: P } " + returned % 'k = "odd"') == [("odd", ODD + 1000)]
    assert values(numbers, "match { $p: P } " + returned % 'k = "odd"  more > 0') == [("odd", ODD + 1000)]
    with pytest.raises(BadRequest, match="integer overflow"):
        values(numbers, "match { $p: P } " + returned % 'k != "odd"')


def test_rows_that_a_mutation_leaves_alone_do_not_fail_it(graph: og.Graph) -> None:
    text = "query q() { update P set { i: 7 } where %s }"
    assert graph.mutate(text % 'k != "great" and j + 1000 > 1005').affected_nodes == 1
    assert graph.mutate(text % 'j + 1000 > 1005 and k != "great"').affected_nodes == 1
    driven = "query q() { match { $p: P $p.j + 1000 > 1005 $p e $q } update $p set { i: 8 } }"
    assert graph.mutate(driven).affected_nodes == 1
    with pytest.raises(BadRequest, match="integer overflow"):
        graph.mutate(text % "j + 1000 > 1005")
    with pytest.raises(BadRequest, match="integer overflow"):
        graph.mutate('query q() { update P set { j: j + 1 } where k in ["great", "odd"] }')


def test_arithmetic_that_cannot_overflow_is_asked_once(numbers: og.Graph) -> None:
    plan = str(numbers.explain("query q() { match { $p: P $p e $q $p.i + 1 > 2 $q.i * 2 > 1 } return { $p.k } }"))
    assert "possibly" not in plan
    assert "at last" not in plan
    plan = str(numbers.explain("query q() { match { $p: P $p e $q $p.j + 1 > 2 } return { $p.k } }"))
    assert "possibly ($p.j + 1) > 2" in plan.replace("(($p.j + 1) > 2)", "($p.j + 1) > 2")
    assert "filter at last" in plan


# --- zero divisors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("expr", ["$p.j / 0", "$p.j % 0", "$p.f / 0.0", "$p.f % 0", "$p.i / ($p.i - $p.i)"])
def test_a_zero_divisor_makes_a_value_null(numbers: og.Graph, expr: str) -> None:
    assert values(numbers, f"match {{ $p: P }} return {{ {expr} as x }}") == [None] * 4
    assert values(numbers, f"match {{ $p: P {expr} = {expr} }} return {{ $p.k }}") == []
    assert len(values(numbers, f"match {{ $p: P not {{ {expr} = 1 }} }} return {{ $p.k }}")) == 4
    assert values(numbers, f"match {{ $p: P }} return {{ count({expr}) as n, sum({expr}) as s }}") == [(0, None)]


def test_a_zero_divisor_in_an_update_is_null_too(graph: og.Graph) -> None:
    graph.mutate('query q() { update P set { f: j / 0, j: j % 0 } where k = "odd" }')
    assert values(graph, 'match { $p: P { k: "odd" } } return { $p.f, $p.j }') == [(None, None)]
    assert graph.mutate("query q() { update P set { i: 1 } where j / 0 = 1 }").affected_nodes == 0
    with pytest.raises(OmnigraphError) as failure:
        graph.mutate('query q() { update P set { must: j / 0 } where k = "small" }')
    assert failure.value.code == "W001"


# --- literals -----------------------------------------------------------------------------------------

LARGEST = 2**64 - 1


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"match {{ $p: P $p.u = {LARGEST} }} return {{ $p.k }}", ["great"]),
        (f"match {{ $p: P {{ u: {LARGEST} }} }} return {{ $p.k }}", ["great"]),
        (f"match {{ $p: P $p.u >= {2**63} }} return {{ $p.k }}", ["great", "small"]),
        (f"match {{ $p: P $p.u in [{LARGEST}, 3] }} return {{ $p.k }}", ["great", "odd"]),
        (f"match {{ $p: P {LARGEST} in $p.us }} return {{ $p.k }}", ["odd"]),
        (f"match {{ $p: P $p.j < {LARGEST} }} return {{ $p.k }}", ["great", "odd", "small"]),
        (f"match {{ $p: P $p.f < {LARGEST} }} return {{ $p.k }}", ["great"]),
        (f"match {{ $p: P }} return {{ {LARGEST} as x }} limit 1", [LARGEST]),
        (f"match {{ $p: P }} return {{ {LARGEST} / 2 as x }} limit 1", [2.0**63]),
        (f"match {{ $p: P }} return {{ -({2**63}) as x }} limit 1", [-(2**63)]),
    ],
)
def test_a_whole_number_of_64_bits_can_be_written(numbers: og.Graph, body: str, expected: list[Any]) -> None:
    assert values(numbers, body) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("[$p.u]", [[LARGEST], None, [3], [2**63]]),
        ("[$p.u, 1]", [[LARGEST, 1], None, [3, 1], [2**63, 1]]),
        (f"list({LARGEST}, $p.u)", [[LARGEST, LARGEST], None, [LARGEST, 3], [LARGEST, 2**63]]),
        ("list_sort([$p.u, 7])", [[7, LARGEST], None, [3, 7], [7, 2**63]]),
        ("$p.u in [0, $p.u]", [True, None, True, True]),
        (f"greatest($p.u, {2**63 + 1})", [LARGEST, None, 2**63 + 1, 2**63 + 1]),
        ("least($p.u, 7)", [7, None, 3, 7]),
        ("nullif(null, $p.u)", [None, None, None, None]),
        (f"nullif($p.u, {2**63})", [LARGEST, None, 3, None]),
    ],
)
def test_values_of_u64_stay_so_among_themselves(numbers: og.Graph, value: str, expected: list[Any]) -> None:
    body = f"match {{ $p: P }} return {{ {value} as x }} order {{ $p.k }}"
    assert values(numbers, body) == expected
    assert [row["x"] for row in naive(numbers, body)] == expected


def test_a_null_beside_a_number_that_is_too_large_gives_null(numbers: og.Graph) -> None:
    body = f'match {{ $p: P {{ k: "none" }} }} return {{ nullif($p.j, {LARGEST}) as x }}'
    assert values(numbers, body) == [None]
    assert naive(numbers, body) == [{"x": None}]
    with pytest.raises(BadRequest, match="integer overflow"):
        values(numbers, body.replace("none", "small"))


def test_large_whole_numbers_can_be_stored_and_be_defaults(graph: og.Graph) -> None:
    graph.mutate(f'query q() {{ insert P {{ k: "new", u: {LARGEST}, us: [{LARGEST}, 0], must: 0.5 }} }}')
    text = f"query q($n: U64 = {LARGEST}) {{ match {{ $p: P $p.u = $n }} return {{ $p.k }} }}"
    assert graph.query(text).rows() == [{"p.k": "great"}, {"p.k": "new"}]
    assert graph.mutate(f"query q() {{ update P set {{ u: 1 }} where u = {LARGEST} }}").affected_nodes == 2


@pytest.mark.parametrize(
    ("literal", "code"),
    [(str(2**64), "Q000"), (str(-(2**63) - 1), "Q000"), ("9" * 5_000, "Q000"), (f"[-1, {LARGEST}]", "T32")],
)
def test_a_whole_number_that_no_type_takes_is_refused(numbers: og.Graph, literal: str, code: str) -> None:
    with pytest.raises(OmnigraphError) as failure:
        values(numbers, f"match {{ $p: P }} return {{ {literal} as x }}")
    assert failure.value.code == code


def test_a_whole_number_that_its_property_does_not_take_is_refused(graph: og.Graph) -> None:
    with pytest.raises(OmnigraphError) as failure:
        graph.mutate(f'query q() {{ update P set {{ j: {LARGEST} }} where k = "odd" }}')
    assert failure.value.code == "W003"


@pytest.mark.parametrize("padding", [0, 200, 10_000], ids=["short", "long", "longer than storage is asked"])
@pytest.mark.parametrize(
    ("column", "items", "found"),
    [
        ("j", [5, ODD, GREAT + 1], ["odd", "small"]),
        ("i", [1, 3, 2**40], ["great", "small"]),
        ("u", [2**64 - 1, 3], ["great", "odd"]),
        ("f", [0.5, -1.5], ["great"]),
    ],
)
def test_a_list_of_any_length_finds_the_same(
    shared: og.Graph, column: str, items: list[int | float], found: list[str], padding: int
) -> None:
    kind = "F64" if column == "f" else "U64"
    values = [*items, *(1_000_000 + at + (0.5 if column == "f" else 0) for at in range(padding))]
    tail = "return { $p.k as k } order { k }"
    text = f"match {{ $p: P  $p.{column} in [{', '.join(map(str, values))}] }} {tail}"
    given = f"query q($some: [{kind}]) {{ match {{ $p: P  $p.{column} in $some }} {tail} }}"
    positive = [value for value in values if value >= 0]
    for answer in (shared.query(text), shared.query(given, params={"some": values if column == "f" else positive})):
        assert [row["k"] for row in answer.rows()] == found
    others = shared.query(f"match {{ $p: P  $p.{column} not in [{', '.join(map(str, values))}] }} {tail}")
    assert not {row["k"] for row in others.rows()} & {*found, "none"}
