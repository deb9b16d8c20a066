"""Optional blocks, open bounds, shortest paths, alternation, unions, having and collect, in both traversal modes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.compiler.ir import expr as ir
from omnigraph.engine.read.frames.budget import Limits
from omnigraph.engine.read.match.along import AlongSteps, Costs, Steps
from omnigraph.errors import ResourceLimitExceeded
from omnigraph.testing.graphs.huts import RECORDS, SCHEMA

PLACES = """
interface Place { name: String  height: I32? }
interface Unused { name: String }
node Peak implements Place { name: String @key  height: I32?  snow: Bool? }
node Lake implements Place { name: String @key  height: I32?  depth: I32? }
edge Sees: Peak -> Lake
edge Ridge: Peak -> Peak { hours: I32? }
edge Feeds: Lake -> Peak { hours: I32? }
"""
PLACE_RECORDS = [
    {"type": "Peak", "data": {"name": "a", "height": 3000, "snow": True}},
    {"type": "Peak", "data": {"name": "b", "height": 2500}},
    {"type": "Peak", "data": {"name": "same"}},
    {"type": "Lake", "data": {"name": "l", "height": 1500, "depth": 40}},
    {"type": "Lake", "data": {"name": "same", "height": 900}},
    {"edge": "Sees", "from": "a", "to": "l"},
    {"edge": "Sees", "from": "a", "to": "same"},
    {"edge": "Ridge", "from": "a", "to": "b", "data": {"hours": 2}},
    {"edge": "Ridge", "from": "b", "to": "same", "data": {"hours": 3}},
    {"edge": "Feeds", "from": "l", "to": "same", "data": {"hours": 9}},
]


@pytest.fixture(scope="module")
def hut_graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    graph = og.init(tmp_path_factory.mktemp("huts") / "g.omni", schema=SCHEMA)
    graph.load(RECORDS.strip().splitlines())
    return graph


@pytest.fixture(scope="module")
def place_graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    graph = og.init(tmp_path_factory.mktemp("places") / "g.omni", schema=PLACES)
    graph.load(PLACE_RECORDS)
    return graph


@pytest.fixture(params=["csr", "indexed"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OMNIGRAPH_TRAVERSAL_MODE", request.param)
    return str(request.param)


@pytest.fixture
def huts(hut_graph: og.Graph, mode: str) -> og.Graph:
    return hut_graph


@pytest.fixture
def places(place_graph: og.Graph, mode: str) -> og.Graph:
    return place_graph


def rows(graph: og.Graph, body: str, **params: Any) -> list[tuple[Any, ...]]:
    declared = ", ".join(f"${name}: String" for name in params)
    found = graph.query(f"query q({declared}) {{ {body} }}", params=params or None)
    return [tuple(row.values()) for row in found.rows()]


GUARDED = "$h: Hut optional { $w guards $h }"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            f"match {{ {GUARDED} }} return {{ $h.code, $w.badge }}",
            [("h1", "w1"), ("h2", "w1"), ("h2", "w2"), ("h3", None), ("h4", None)],
            id="a row without a solution stays, with null",
        ),
        pytest.param(
            f"match {{ {GUARDED} }} return {{ $h.code, $w }} order {{ $h.code desc }} limit 1",
            [("h4", None)],
            id="a whole node may be null",
        ),
        pytest.param(
            f"match {{ {GUARDED} $w is null }} return {{ $h.code }}", [("h3",), ("h4",)], id="a node is tested for null"
        ),
        pytest.param(
            f"match {{ {GUARDED} $w is not null $w.age < 35 }} return {{ $h.code }}", [("h2",)], id="filters come after"
        ),
        pytest.param(
            "match { $h: Hut optional { $w guards $h $w.age > 35 } } return { $h.code, $w.badge }",
            [("h1", "w1"), ("h2", "w1"), ("h3", None), ("h4", None)],
            id="conditions inside only decide what is found",
        ),
        pytest.param(
            f"match {{ {GUARDED} }} return {{ $h.code, count($w) as n, count(*) as rows, avg($w.age) as age }}",
            [("h1", 1, 1, 40.0), ("h2", 2, 2, 35.0), ("h3", 0, 1, None), ("h4", 0, 1, None)],
            id="aggregates skip null",
        ),
        pytest.param(
            f"match {{ {GUARDED} }} return {{ count(distinct $w) as n }}", [(2,)], id="null is not counted as a node"
        ),
        pytest.param(
            f"match {{ {GUARDED} }} return {{ $w, count(*) as n }} order {{ n desc }} limit 1",
            [(None, 2)],
            id="null is one group",
        ),
        pytest.param(
            f"match {{ {GUARDED} }} return distinct {{ $w.badge as b }}",
            [("w1",), ("w2",), (None,)],
            id="null is one distinct value",
        ),
        pytest.param(
            f"match {{ {GUARDED} }} return {{ $h.code }} order {{ $w.age desc, $h.code }}",
            [("h1",), ("h2",), ("h2",), ("h3",), ("h4",)],
            id="null comes last when descending",
        ),
        pytest.param(
            "match { $h: Hut optional { $h path $x } optional { $w guards $x } } return { $h.code, $x.code, $w.badge }",
            [
                ("h1", "h4", None),
                ("h1", "h2", "w1"),
                ("h1", "h2", "w2"),
                ("h2", "h3", None),
                ("h3", "h1", "w1"),
                ("h4", "h4", None),
            ],
            id="a block may start from what another one found",
        ),
        pytest.param(
            "match { $h: Hut optional { $h path $x optional { $w guards $x } } not { $w.age > 35 } } return { $h.code }",
            [("h1",), ("h1",), ("h2",), ("h4",)],
            id="blocks nest, and negation reads them",
        ),
        pytest.param(
            "match { $w: Warden not { $w: Warden optional { $w guards $h } $h is null } } return { $w.badge }",
            [("w1",), ("w2",)],
            id="an optional block inside a negation",
        ),
        pytest.param(
            'match { optional { $h: Hut { code: "none" } } } return { $h.code, count(*) as n }',
            [(None, 1)],
            id="nothing else is matched",
        ),
        pytest.param(
            f'match {{ {GUARDED} search($w.name, "bruno") = false }} return {{ $h.code }}',
            [("h1",), ("h2",), ("h3",), ("h4",)],
            id="a missing text matches nothing",
        ),
        pytest.param(
            f'match {{ {GUARDED} }} return {{ $h.code, $w.badge }} order {{ bm25($w.name, "bruno") }}',
            [("h2", "w2")],
            id="a rank drops what is null",
        ),
    ],
)
def test_an_optional_block_keeps_every_row(huts: og.Graph, body: str, expected: list[tuple[Any, ...]]) -> None:
    assert rows(huts, body) == expected


def test_a_result_knows_that_optional_columns_may_be_null(hut_graph: og.Graph) -> None:
    found = hut_graph.query(
        'query q() { match { $h: Hut { code: "x" } optional { $w guards $h } } return { $w.badge, $w } }'
    )
    assert found.to_arrow().schema.field("w.badge").type == pa.utf8()
    assert len(found) == 0


H1 = '$h: Hut { code: "h1" }'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(f"{H1} $h path{{1,}} $x", ["h2", "h3", "h4"], id="any number of hops"),
        pytest.param(f"{H1} $h path{{2,}} $x", ["h3", "h4"], id="at least two: one of them round a loop"),
        pytest.param(f"{H1} $h path{{3,}} $x", [], id="the way back to the start is never taken"),
        pytest.param(f"{H1} $x path{{1,}} $h", ["h2", "h3"], id="against the direction"),
        pytest.param("$h: Hut not { $h path{1,} $y $y guards $_ } $h path{1,1} $x", ["h4"], id="inside a negation"),
    ],
)
def test_an_open_upper_bound_reaches_everything(huts: og.Graph, body: str, expected: list[str]) -> None:
    assert [code for (code,) in rows(huts, f"match {{ {body} }} return {{ $x.code }}")] == expected


def test_many_nodes_are_tested_against_one_each_by_itself(huts: og.Graph) -> None:
    """Several hops between two nodes are searched from both; with one node at one end only, each of the others counts."""
    for test, expected in (("exists", ["h1", "h3", "h4"]), ("not", ["h2"])):
        body = f'match {{ $x: Hut {{ code: "h4" }} $h: Hut {test} {{ $h path{{1,2}} $x }} }} return {{ $h.code }}'
        assert sorted(code for (code,) in rows(huts, body)) == expected


def test_rows_that_are_only_counted_are_counted_exactly_or_not_at_all(huts: og.Graph) -> None:
    def product(nodes: int) -> str:
        steps = " ".join(f"$h{number}: Hut" for number in range(nodes))
        return f"match {{ {steps} }} return {{ count($h0) as n }}"

    ((count,),) = rows(huts, "match { $h: Hut } return { count($h) as n }")
    assert rows(huts, product(20)) == [(count**20,)]
    with pytest.raises(ResourceLimitExceeded, match="query_counted_rows"):
        rows(huts, product(60))


def test_an_open_upper_bound_stops_at_the_hop_limit(huts: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    body = f"match {{ {H1} $h path{{1,}} $x }} return {{ $x.code }}"
    monkeypatch.setenv("OMNIGRAPH_QUERY_MAX_HOPS", "2")
    with pytest.raises(ResourceLimitExceeded, match="query_hops"):
        rows(huts, body)
    monkeypatch.setenv("OMNIGRAPH_QUERY_MAX_HOPS", "3")
    assert len(rows(huts, body)) == 3
    with pytest.raises(ResourceLimitExceeded, match="query_hops"):
        huts.query(
            f"query q() {{ match {{ {H1} shortest $p: $h path $x }} return {{ $p.length }} }}", limits=Limits(hops=1)
        )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            f"{H1} shortest $p: $h path $x",
            [("h2", 1, ["h1", "h2"]), ("h3", 2, ["h1", "h2", "h3"]), ("h4", 1, ["h1", "h4"])],
            id="from one node to all it reaches",
        ),
        pytest.param(
            f'{H1} $x: Hut {{ code: "h3" }} shortest $p: $h path{{1,9}} $x',
            [("h3", 2, ["h1", "h2", "h3"])],
            id="both ends",
        ),
        pytest.param(f'{H1} $x: Hut {{ code: "h3" }} shortest $p: $h path{{1,1}} $x', [], id="out of reach"),
        pytest.param(
            f"{H1} shortest $p: $h <path> $x",
            [("h2", 1, ["h1", "h2"]), ("h3", 1, ["h1", "h3"]), ("h4", 1, ["h1", "h4"])],
            id="without direction",
        ),
        pytest.param(
            f"{H1} shortest $p: $h path{{2,}} $x",
            [("h3", 2, ["h1", "h2", "h3"]), ("h4", 2, ["h1", "h4", "h4"])],
            id="a loop makes up for a missing hop",
        ),
        pytest.param(
            '$h: Hut { code: "h4" } shortest $p: $h path $x',
            [("h4", 1, ["h4", "h4"])],
            id="a loop is a path of one hop",
        ),
        pytest.param(
            "$w guards $h $w.age > 35 shortest $p: $h path $x $p.length > 1",
            [("h3", 2, ["h1", "h2", "h3"]), ("h1", 2, ["h2", "h3", "h1"]), ("h4", 3, ["h2", "h3", "h1", "h4"])],
            id="its length can be tested",
        ),
        pytest.param(
            "$w: Warden shortest $p: $w guards|path $x $p.length > 2",
            [("h1", 3, ["w2", "h2", "h3", "h1"]), ("h4", 4, ["w2", "h2", "h3", "h1", "h4"])],
            id="over several edge types",
        ),
        pytest.param(
            '$w: Warden { badge: "w2" } shortest $p: $w guards $x', [("h2", 1, ["w2", "h2"])], id="between types"
        ),
    ],
)
def test_a_shortest_path_has_a_length_and_nodes(huts: og.Graph, body: str, expected: list[tuple[Any, ...]]) -> None:
    assert rows(huts, f"match {{ {body} }} return {{ $x.id, $p.length, $p.nodes }}") == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("$h path{1,} $h", ["h1", "h2", "h3", "h4"], id="any length"),
        pytest.param("$h: Hut $h path{3,3} $h", ["h1", "h2", "h3"], id="three hops"),
        pytest.param("$h: Hut $h path{1,2} $h", ["h4"], id="a loop is one hop"),
        pytest.param("$h: Hut $h path{2,2} $h", [], id="the shortest way back counts"),
        pytest.param("$h: Hut $h path{4,} $h", [], id="no round is counted twice"),
        pytest.param("$h: Hut $h <path>{2,} $h", ["h1", "h2", "h3"], id="without direction there and back again"),
        pytest.param("$h: Hut not { $h path{2,} $h }", ["h4"], id="inside a negation"),
        pytest.param("$w guards $h $h path{1,} $h", ["h1", "h2", "h2"], id="behind a step"),
        pytest.param("$h: Hut|Warden $h path|guards{1,} $h", ["h1", "h2", "h3", "h4"], id="over several edge types"),
        pytest.param("$h path{1,} $x $x = $h", ["h4"], id="two variables for one node ask for no cycle"),
    ],
)
def test_one_variable_at_both_ends_asks_for_a_cycle(huts: og.Graph, body: str, expected: list[str]) -> None:
    assert [code for (code,) in rows(huts, f"match {{ {body} }} return {{ $h.id }}")] == expected


def test_the_shortest_cycle_has_a_length_and_nodes(huts: og.Graph) -> None:
    returned = "return { $h.id, $p.length, $p.nodes }"
    assert rows(huts, f"match {{ shortest $p: $h path $h }} {returned}") == [
        ("h1", 3, ["h1", "h2", "h3", "h1"]),
        ("h2", 3, ["h2", "h3", "h1", "h2"]),
        ("h3", 3, ["h3", "h1", "h2", "h3"]),
        ("h4", 1, ["h4", "h4"]),
    ]
    assert rows(huts, f"match {{ $h: Hut|Warden shortest $p: $h guards|path{{2,}} $h }} {returned}") == [
        ("h1", 3, ["h1", "h2", "h3", "h1"]),
        ("h2", 3, ["h2", "h3", "h1", "h2"]),
        ("h3", 3, ["h3", "h1", "h2", "h3"]),
    ]
    assert rows(huts, "match { shortest $p: $h path{1,2} $h } return { $h.id, $p.length }") == [("h4", 1)]


def test_a_search_for_cycles_stops_at_the_hop_limit(huts: og.Graph) -> None:
    with pytest.raises(ResourceLimitExceeded, match="query_hops"):
        huts.query("query q() { match { $h path{1,} $h } return { $h.code } }", limits=Limits(hops=2))
    assert len(huts.query("query q() { match { $h path{1,} $h } return { $h.code } }", limits=Limits(hops=3))) == 4


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("$h: Hut not { not { $h path $x } }", ["h1", "h2", "h3", "h4"], id="exists"),
        pytest.param("$h: Hut not { not { $w guards $h } }", ["h1", "h2"], id="exists, against the edge"),
        pytest.param("$h: Hut not { not { $h.alt = 1800 } }", ["h2", "h4"], id="a condition"),
        pytest.param("$h: Hut not { not { not { $w guards $h } } }", ["h3", "h4"], id="three times"),
        pytest.param(
            "$h: Hut not { $x: Hut { open: true } not { $h path{1,} $x } }", ["h2", "h3"], id="for all, by steps"
        ),
        pytest.param("$h: Hut not { $x: Hut not { $x.alt <= $h.alt } $x.alt is not null }", ["h2", "h4"], id="for all"),
        pytest.param(
            '$h: Hut not { $x: Hut { code: "zz" } not { $h path $x } }', ["h1", "h2", "h3", "h4"], id="of none"
        ),
        pytest.param(
            '$h: Hut not { $w: Warden { badge: "w1" } not { not { $w guards $x not { $x path{1,} $h } } } }',
            ["h3", "h4"],
            id="three levels up",
        ),
        pytest.param("$h: Hut not { optional { $w guards $h } $w is null }", ["h1", "h2"], id="through optional"),
    ],
)
def test_negations_nest_over_variables_of_any_level(huts: og.Graph, body: str, expected: list[str]) -> None:
    assert [code for (code,) in rows(huts, f"match {{ {body} }} return {{ $h.code }}")] == expected


def test_lengths_alone_agree_with_paths_from_either_end(huts: og.Graph) -> None:
    lengths = rows(huts, 'match { $x: Hut { code: "h3" } shortest $p: $h path $x } return { $h.code, $p.length }')
    assert lengths == [("h1", 2), ("h2", 1)]
    paths = rows(huts, 'match { $x: Hut { code: "h3" } shortest $p: $h path $x } return { $h.code, $p.nodes }')
    assert [(start, len(nodes) - 1) for start, nodes in paths] == lengths


def test_of_equal_paths_the_one_with_the_smallest_ids_is_taken(
    tmp_path_factory: pytest.TempPathFactory, mode: str
) -> None:
    graph = og.init(tmp_path_factory.mktemp("grid") / "g.omni", "node N { k: String @key }\nedge E: N -> N")
    names = ["s", "z1", "a2", "m1", "b2", "t"]
    edges = [("s", "z1"), ("s", "m1"), ("z1", "a2"), ("m1", "b2"), ("a2", "t"), ("b2", "t")]
    graph.load([{"type": "N", "data": {"k": name}} for name in names])
    graph.load([{"edge": "E", "from": source, "to": target} for source, target in edges])
    query = 'match { $a: N { k: "s" } $b: N { k: "t" } shortest $p: $a e $b } return { $p.nodes }'
    assert rows(graph, query) == [(["s", "m1", "b2", "t"],)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            "match { $x: Place } return { $x.name, $x.height }",
            [("a", 3000), ("b", 2500), ("l", 1500), ("same", 900), ("same", None)],
            id="every type that implements the interface, by id and then by type",
        ),
        pytest.param("match { $x: Unused } return { $x.name }", [], id="an interface that nothing implements"),
        pytest.param(
            "match { $x: Place $x.height > 1000 } return { $x } order { $x.height } limit 1",
            [({"id": "l", "@type": "Lake", "height": 1500, "name": "l"},)],
            id="a node says which type it is of",
        ),
        pytest.param(
            "match { $x: Place } return { count(distinct $x) as n }", [(5,)], id="equal ids are different nodes"
        ),
        pytest.param(
            "match { $x: Peak|Lake $y: Place $x = $y $x.height is null } return { $x.name, $y.name }",
            [("same", "same")],
            id="identity between unions",
        ),
        pytest.param(
            'match { $x: Place $y: Lake { name: "same" } $x = $y } return { $x.height }',
            [(900,)],
            id="and with one type",
        ),
        pytest.param(
            "match { $x: Place $x sees $y } return { $x.name, $y.name }",
            [("a", "l"), ("a", "same")],
            id="an edge picks",
        ),
        pytest.param(
            'match { $x: Peak { name: "a" } $x sees|ridge $y } return { $y.name, $y }',
            [
                ("b", {"id": "b", "@type": "Peak", "height": 2500, "name": "b"}),
                ("l", {"id": "l", "@type": "Lake", "height": 1500, "name": "l"}),
                ("same", {"id": "same", "@type": "Lake", "height": 900, "name": "same"}),
            ],
            id="one step over two edge types",
        ),
        pytest.param(
            'match { $x: Peak { name: "a" } $x sees|ridge{2,2} $y } return { $y.id, $y.height }',
            [("same", None)],
            id="edge types chain",
        ),
        pytest.param(
            "match { $x $e:ridge|feeds $y } return { $x.name, $e.hours, $y.name } order { $e.hours }",
            [("a", 2, "b"), ("b", 3, "same"), ("l", 9, "same")],
            id="an edge of either type",
        ),
        pytest.param(
            "match { $x: Place optional { $x sees $y } $y is null } return { $x.name, $y.name }",
            [("b", None), ("l", None), ("same", None), ("same", None)],
            id="optional over a union",
        ),
        pytest.param(
            'match { $x: Place search($x.name, "same") } return { $x.height }',
            [(900,), (None,)],
            id="text over a union",
        ),
        pytest.param(
            "match { $x: Place } return { $x, count(*) as n } order { n } limit 2",
            [
                ({"id": "a", "@type": "Peak", "height": 3000, "name": "a"}, 1),
                ({"id": "b", "@type": "Peak", "height": 2500, "name": "b"}, 1),
            ],
            id="a node of a union as a group",
        ),
    ],
)
def test_a_union_behaves_like_one_type(places: og.Graph, body: str, expected: list[tuple[Any, ...]]) -> None:
    assert rows(places, body) == expected


@pytest.mark.parametrize("hops", ["", "{1,2}", "{1,}"])
def test_an_alternative_between_bound_ends_goes_where_it_would_go_alone(places: og.Graph, hops: str) -> None:
    def pairs(edge: str) -> list[tuple[Any, ...]]:
        return rows(places, f"match {{ $x: Place $p: Peak $x {edge}{hops} $p }} return {{ $x.id, $x.height, $p.name }}")

    # Peaks see lakes: with a peak on the right it is walked against its direction, also beside another edge.
    assert sorted(pairs("sees|feeds"), key=str) == sorted([*pairs("sees"), *pairs("feeds")], key=str)
    assert ("l", 1500, "a") in pairs("sees|feeds")


@pytest.mark.parametrize("direction", ["", " desc"])
def test_groups_of_a_union_break_ties_by_the_node_then_by_its_type(places: og.Graph, direction: str) -> None:
    returned = f"{{ $x as place, $x.height as height, count(*) as n }} order {{ n{direction} }} limit 4"
    text = f"query q() {{ match {{ $x: Place }} return {returned} }}"
    found = [(row["place"]["id"], row["place"]["@type"], row["height"]) for row in places.query(text)]
    assert found == [("a", "Peak", 3000), ("b", "Peak", 2500), ("l", "Lake", 1500), ("same", "Lake", 900)]
    ids = [(row["place"], row["height"]) for row in places.query(text, node_ids=True)]
    assert ids == [("a", 3000), ("b", 2500), ("l", 1500), ("same", 900)]


@pytest.mark.parametrize("grouped", ["", ", count(*) as n"])
@pytest.mark.parametrize("node_ids", [False, True])
def test_nodes_of_a_union_order_by_id_then_by_type(places: og.Graph, grouped: str, node_ids: bool) -> None:
    returned = f"{{ $x as place, $x.height as height{grouped} }} order {{ place %s, height }}"
    text = f"query q() {{ match {{ $x: Place }} return {returned} }}"
    up = places.query(text % "", node_ids=node_ids)
    assert [row["height"] for row in up] == [3000, 2500, 1500, 900, None]
    down = places.query(text % "desc", node_ids=node_ids)
    assert [row["height"] for row in down] == [None, 900, 1500, 2500, 3000]


def test_distinct_ids_of_a_union_are_those_of_distinct_nodes(places: og.Graph) -> None:
    text = "query q() { match { $x: Place } return distinct { $x as place } }"
    assert len(places.query(text, node_ids=True).rows()) == len(places.query(text).rows()) == 5


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            "return { $h.grade as g, count(*) as n } having { g is not null }",
            [("a", 1), ("b", 1), ("c", 1)],
            id="keys",
        ),
        pytest.param(
            "return { $h.alt as alt, count(*) as n } having { n > 1 or alt < 1500 } order { alt }",
            [(1200, 1), (1800, 2)],
            id="aggregates",
        ),
        pytest.param(
            "return { $h.alt as alt, count(*) as n } having { n * 2 >= 4 alt is not null }", [(1800, 2)], id="conjuncts"
        ),
        pytest.param(
            "return { $h.code as c, $h.alt + 1 as up } having { up > 1500 } order { c desc } limit 1",
            [("h4", 1801)],
            id="without groups, before the limit",
        ),
        pytest.param("return { count(*) as n } having { n > 99 }", [], id="the one group can go, too"),
        pytest.param(
            'return { $h.alt as alt, collect($h.code) as codes } having { codes contains "h4" }',
            [(1800, ["h2", "h4"])],
            id="lists",
        ),
    ],
)
def test_having_filters_result_rows(huts: og.Graph, body: str, expected: list[tuple[Any, ...]]) -> None:
    assert rows(huts, f"match {{ $h: Hut }} {body}") == expected


def test_having_filters_by_a_score(huts: og.Graph) -> None:
    found = rows(huts, 'match { $h: Hut } return { $h.code, bm25($h.name, "alpin rest") as s } having { s > 0.0 }')
    assert [code for code, _ in found] == ["h2"]


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        pytest.param("collect($h.alt) as a", [([1200, 1800, 1800],)], id="null is left out"),
        pytest.param("collect(distinct $h.alt) as a", [([1200, 1800],)], id="each value once"),
        pytest.param(
            "$h.open, collect($h.code) as c", [(None, ["h3"]), (False, ["h2"]), (True, ["h1", "h4"])], id="groups"
        ),
        pytest.param(
            "$h.open, collect($h.built) as d", [(None, []), (False, []), (True, [])], id="no values, no items"
        ),
    ],
)
def test_collect_lists_values_in_the_order_of_rows(
    huts: og.Graph, returned: str, expected: list[tuple[Any, ...]]
) -> None:
    assert rows(huts, f"match {{ $h: Hut }} return {{ {returned} }}") == expected


def test_collecting_from_no_rows_gives_one_empty_list(huts: og.Graph) -> None:
    assert rows(huts, 'match { $h: Hut { code: "x" } } return { collect($h.alt) as a }') == [([],)]


def test_a_type_that_came_later_has_no_nodes_in_an_older_view(
    tmp_path_factory: pytest.TempPathFactory, mode: str
) -> None:
    before = "interface Named { name: String }\nnode A implements Named { name: String @key }\nedge X: A -> A\n"
    graph = og.init(tmp_path_factory.mktemp("past") / "g.omni", schema=before)
    graph.load([{"type": "A", "data": {"name": "a"}}])
    then = graph.commits.list()[0]
    graph.schema.apply(before + "node B implements Named { name: String @key }\nedge Y: A -> B\n")
    graph.load([{"type": "B", "data": {"name": "b"}}, {"edge": "Y", "from": "a", "to": "b"}])
    named = "query q() { match { $x: Named } return { $x.name } }"
    steps = "query q() { match { $x: A $x x|y $z } return { $z.name } }"
    only = steps.replace("x|y", "x")
    assert [row["x.name"] for row in graph.query(named)] == ["a", "b"]
    assert [row["x.name"] for row in graph.query(named, at=then)] == ["a"]
    assert [row["z.name"] for row in graph.query(steps)] == ["b"]
    assert len(graph.query(only, at=then)) == 0


# --- bounds and direction ---------------------------------------------------------------------------------


def test_a_lower_bound_of_0_links_a_node_to_itself(huts: og.Graph) -> None:
    found = rows(huts, 'match { $h: Hut { code: "h1" } $h path{0,2} $x } return { $x.code } order { $x.code }')
    assert found == [("h1",), ("h2",), ("h3",), ("h4",)]
    everyone = rows(huts, "match { $h: Hut $h path{0,1} $h } return { count(*) as n }")
    assert everyone == [(4,)]
    paths = "shortest $p: $h path{0,1} $x } return { $x.code, $p.length as n, $p.nodes as way }"
    assert rows(huts, f'match {{ $h: Hut {{ code: "h3" }} {paths}') == [("h1", 1, ["h3", "h1"]), ("h3", 0, ["h3"])]


def test_one_number_is_both_bounds(huts: og.Graph) -> None:
    both = [
        rows(huts, f"match {{ $h: Hut $h path{each} $x }} return {{ $h.code, $x.code }}") for each in ("{2}", "{2,2}")
    ]
    assert both[0] == both[1] != []


def test_a_step_without_direction_goes_between_different_types(huts: og.Graph) -> None:
    # Who guards a hut that Ilse guards: there and back over the same edge type, so the end is a warden again.
    together = rows(
        huts, 'match { $w: Warden { badge: "w1" } $w <guards>{2} $o } return { $o.badge, $o.age } order { $o.badge }'
    )
    assert together == [("w2", 30)]
    near = rows(huts, 'match { $h: Hut { code: "h2" } $w <guards> $h } return { $w.name } order { $w.name }')
    assert near == [("Bruno",), ("Ilse",)]
    everyone = rows(huts, "match { $a <guards> $b } return { count(*) as n }")
    assert everyone == [(6,)]  # each edge from both of its ends
    edges = rows(huts, "match { $a $e:<guards> $b } return { $e.id, $a.id } order { $e.id, $a.id }")
    assert edges == [("g1", "h1"), ("g1", "w1"), ("g2", "h2"), ("g2", "w1"), ("g3", "h2"), ("g3", "w2")]


def test_directed_and_undirected_edges_mix_over_several_hops(huts: og.Graph) -> None:
    found = rows(
        huts,
        'match { $w: Warden { badge: "w2" } $w <guards|path>{1,2} $x } return { $x.id, type($x) as t } order { $x.id }',
    )
    assert found == [("h1", "Hut"), ("h2", "Hut"), ("h3", "Hut"), ("w1", "Warden")]


# --- edges are things -------------------------------------------------------------------------------------


def test_a_variable_ranges_over_the_edges_of_a_type(huts: og.Graph) -> None:
    found = rows(
        huts, "match { $e: Path $e.minutes >= 55 } return { $e.id, $e.from, $e.to, $e.minutes } order { $e.id }"
    )
    assert found == [("p2", "h2", "h3", 60), ("p3", "h3", "h1", 90), ("p4", "h1", "h2", 55)]
    assert rows(huts, 'match { $e: Path { from: "h1", minutes: 40 } } return { $e.id }') == [("p1",)]
    assert rows(huts, "match { $e: Path } return { count($e) as n, count(distinct $e.from) as m }") == [(6, 4)]
    both = rows(huts, "match { $e: Path|Guards } return { type($e) as t, count($e) as n } order { t }")
    assert both == [("Guards", 3), ("Path", 6)]


def test_an_edge_as_a_whole_is_an_object_with_its_ends(huts: og.Graph) -> None:
    (one,) = huts.query('query q() { match { $e: Path { id: "p1" } } return { $e } }').rows()
    assert one == {"e": {"id": "p1", "from": "h1", "to": "h2", "minutes": 40}}
    (mixed,) = huts.query('query q() { match { $e: Path|Guards  $e.id = "g2" } return { $e } }').rows()
    assert mixed == {"e": {"id": "g2", "@type": "Guards", "from": "w1", "to": "h2"}}
    found = rows(
        huts, "match { $h: Hut optional { $h $e:path $_ } } return { $h.code, count($e) as n } order { $h.code }"
    )
    assert found == [("h1", 3), ("h2", 1), ("h3", 1), ("h4", 1)]
    grouped = rows(
        huts, 'match { $e: Path $e.from = "h1" $h: Hut $h.id = $e.to } return { $e, $h.code } order { $e.id desc }'
    )
    assert [(edge["id"], code) for edge, code in grouped] == [("p6", "h4"), ("p4", "h2"), ("p1", "h2")]


def test_edges_are_the_same_or_not(huts: og.Graph) -> None:
    parallel = "match { $a $e:path $b  $a $f:path $b  $e != $f } return { $e.id, $f.id } order { $e.id }"
    assert rows(huts, parallel) == [("p1", "p4"), ("p4", "p1")]
    assert rows(huts, "match { $e: Path  $f: Path  $e = $f } return { count(*) as n }") == [(6,)]


def test_a_traversal_takes_the_edges_that_a_binding_chose(huts: og.Graph) -> None:
    for body in (
        "match { $e: Path { minutes: 60 }  $a $e:path $b } return { $a.code, $b.code }",
        "match { $a $e:path $b  $e: Path { minutes: 60 } } return { $a.code, $b.code }",
    ):
        assert rows(huts, body) == [("h2", "h3")]
        assert "scan edge" not in str(huts.explain(f"query q() {{ {body} }}"))


def test_edges_are_driven_by_a_match_of_their_own(tmp_path: Any) -> None:
    graph = og.init(tmp_path / "g.omni", schema=SCHEMA)
    graph.load(RECORDS.strip().splitlines())
    graph.mutate("query q() { match { $e: Path $e.minutes is null } update $e set { minutes: 5 } }")
    graph.mutate("query q() { match { $e: Path $e.minutes > 50 } delete $e }")
    found = rows(graph, "match { $e: Path } return { $e.id, $e.minutes } order { $e.id }")
    assert found == [("p1", 40), ("p5", 10), ("p6", 5)]


def test_texts_of_edges_are_searched(tmp_path: Any) -> None:
    graph = og.init(
        tmp_path / "g.omni", schema="node Hut { code: String @key }\nedge Path: Hut -> Hut { note: String? }"
    )
    notes = ["steep and icy", "icy ridge, icy lake", "gentle", None]
    graph.load(
        [{"type": "Hut", "data": {"code": code}} for code in "ab"]
        + [
            {"edge": "Path", "from": "a", "to": "b", "data": {"id": f"p{at}", "note": note}}
            for at, note in enumerate(notes)
        ]
    )
    assert rows(graph, 'match { $e: Path search($e.note, "icy") } return { $e.id } order { $e.id }') == [
        ("p0",),
        ("p1",),
    ]
    step = 'match { $a $e:path $b fuzzy($e.note, "gentel") } return { $e.id }'
    assert rows(graph, step) == [("p2",)]
    ranked = 'match { $e: Path } return { $e.id } order { bm25($e.note, "icy") } limit 1'
    assert rows(graph, ranked) == [("p1",)]
    assert "text Path.note" in str(graph.explain(f"query q() {{ {ranked} }}"))


# --- narrowing --------------------------------------------------------------------------------------------


def test_a_second_binding_narrows_a_variable(places: og.Graph) -> None:
    both = "match { $p: Place  $p: Peak  $p.snow is null } return { $p.name, $p.snow } order { $p.name }"
    assert rows(places, both) == [("b", None), ("same", None)]
    reached = (
        'match { $a: Peak { name: "a" } $a sees|ridge $x  $x: Lake } return { $x.name, $x.depth } order { $x.name }'
    )
    assert rows(places, reached) == [("l", 40), ("same", None)]
    assert rows(places, "match { $x: Peak|Lake  $x: Place  $x: Lake } return { count($x) as n }") == [(2,)]


def test_a_block_can_ask_which_type_a_variable_is_of(places: og.Graph) -> None:
    assert rows(places, "match { $p: Place not { $p: Peak } } return { $p.name } order { $p.name }") == [
        ("l",),
        ("same",),
    ]
    found = rows(
        places,
        "match { $p: Place optional { $p: Peak $p ridge $q } } return { type($p) as t, $p.name, $q.name as q } order { t, $p.name }",
    )
    assert found == [
        ("Lake", "l", None),
        ("Lake", "same", None),
        ("Peak", "a", "b"),
        ("Peak", "b", "same"),
        ("Peak", "same", None),
    ]


# --- conditions and costs along paths ---------------------------------------------------------------------


WAYS = """
node Stop { code: String @key  open: Bool? }
edge Road: Stop -> Stop { minutes: I32?  toll: F64? }
"""
# a-b-d is short and dear, a-c-d as short, a-c-e-d long and cheap; two roads lead from a to b.
ROADS = [
    ("a", "b", 5),
    ("a", "b", 9),
    ("b", "d", 7),
    ("a", "c", 1),
    ("c", "d", 20),
    ("c", "e", 1),
    ("e", "d", 1),
    ("d", "a", None),
]


@pytest.fixture(scope="module")
def road_graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    graph = og.init(tmp_path_factory.mktemp("roads") / "g.omni", schema=WAYS)
    graph.load(
        [{"type": "Stop", "data": {"code": code, "open": code != "e"}} for code in "abcde"]
        + [
            {"edge": "Road", "from": start, "to": end, "data": {"id": f"r{at}", "minutes": minutes}}
            for at, (start, end, minutes) in enumerate(ROADS)
        ]
    )
    return graph


@pytest.fixture
def roads(road_graph: og.Graph, mode: str) -> og.Graph:
    return road_graph


FROM_A = '$a: Stop { code: "a" }'
TO_D = f'{FROM_A} $d: Stop {{ code: "d" }}'
SHOWN = "return { $p.nodes as way, $p.length as n }"


def test_steps_satisfy_conditions_on_edges_and_nodes(roads: og.Graph) -> None:
    reached = (
        f"match {{ {FROM_A} $a road{{1,}} $x along $e {{ $e.minutes <= 5 }} }} return {{ $x.code }} order {{ $x.code }}"
    )
    assert rows(roads, reached) == [("b",), ("c",), ("d",), ("e",)]
    open_only = reached.replace("along $e {", "along $e to $n { $n.open")
    assert rows(roads, open_only) == [("b",), ("c",)]
    growing = reached.replace("$e { $e.minutes <= 5 }", "from $m to $n { $m.code < $n.code }")
    assert rows(roads, growing) == [("b",), ("c",), ("d",), ("e",)]
    backward = 'match { $d: Stop { code: "d" } $x road{1,} $d along $e from $m { $e.minutes > 1 $m.code != "a" } }'
    assert rows(roads, f"{backward} return {{ $x.code }} order {{ $x.code }}") == [("b",), ("c",)]
    around = rows(
        roads,
        "match { $x: Stop $x road{1,9} $x along $e { $e.minutes is null or $e.minutes < 20 } } return { $x.code }",
    )
    assert around == [("a",), ("b",), ("c",), ("d",), ("e",)]
    limited = "match { $x: Stop $x road{1,9} $x along $e { $e.minutes < $most } } return { $x.code }"
    assert roads.query(f"query q($most: I32) {{ {limited} }}", params={"most": 99}).rows() == []


def test_a_path_knows_its_edges_and_the_values_along_it(roads: og.Graph) -> None:
    body = f"match {{ {TO_D} shortest $p: $a road $d }} return {{ $p.nodes, $p.edges, $p.edges.minutes, $p.nodes.open, list_sum($p.edges.minutes) as sum }}"
    assert rows(roads, body) == [(["a", "b", "d"], ["r0", "r2"], [5, 7], [True, True, True], 12)]
    missing = "optional { shortest $p: $x road{9,} $y } } return { $p.edges.minutes as m, $p.nodes as n }"
    assert rows(roads, f'match {{ $x: Stop {{ code: "b" }} {missing}') == [(None, None)]


def test_the_cheapest_path_adds_up_costs(roads: og.Graph) -> None:
    cheapest = (
        f"match {{ {TO_D} cheapest $p: $a road $d along $e by $e.minutes }} return {{ $p.cost, $p.nodes, $p.edges }}"
    )
    assert rows(roads, cheapest) == [(3.0, ["a", "c", "e", "d"], ["r3", "r5", "r6"])]
    assert rows(roads, cheapest.replace("road $d", "road{1,2} $d")) == [(12.0, ["a", "b", "d"], ["r0", "r2"])]
    assert rows(roads, cheapest.replace("by $e.minutes", "to $n by $e.minutes { $n.open }"))[0][0] == 12.0
    everyone = rows(
        roads,
        f"match {{ {FROM_A} cheapest $p: $a road $x along $e by $e.minutes }} return {{ $x.code, $p.cost }} order {{ $x.code }}",
    )
    assert everyone == [("b", 5.0), ("c", 1.0), ("d", 3.0), ("e", 2.0)]  # no way back: that step has no cost


def test_a_pattern_in_a_cost_is_matched_once_for_each_step(roads: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    priced: list[int] = []
    costs = AlongSteps.costs

    def recorded(self: AlongSteps, steps: Steps, cost: ir.Expr) -> Costs:
        priced.extend(steps.edge.tolist())
        return costs(self, steps, cost)

    monkeypatch.setattr(AlongSteps, "costs", recorded)
    found = rows(
        roads,
        "match { $a: Stop cheapest $p: $a road $x along $e to $n by $e.minutes + count($y match { $n road $y }) } "
        "return { $a.code, $x.code, $p.cost } order { $a.code, $x.code }",
    )
    assert [each for each in found if each[0] == "a"] == [
        ("a", "b", 6.0),
        ("a", "c", 3.0),
        ("a", "d", 7.0),
        ("a", "e", 5.0),
    ]
    assert sorted(priced) == list(range(len(ROADS)))  # although the search goes on from b, c and e in two rounds


def test_a_negative_cost_is_refused(roads: og.Graph) -> None:
    body = f"match {{ {TO_D} cheapest $p: $a road $d along $e by $e.minutes - 6 }} return {{ $p.cost }}"
    with pytest.raises(og.errors.BadRequest, match="costs -5, but the cost of a step must not be negative"):
        rows(roads, body)


def test_several_paths_come_in_order(roads: og.Graph) -> None:
    assert rows(roads, f"match {{ {TO_D} all shortest $p: $a road $d }} {SHOWN}") == [
        (["a", "b", "d"], 2),
        (["a", "c", "d"], 2),
    ]
    assert rows(roads, f"match {{ {TO_D} shortest 3 $p: $a road $d }} {SHOWN}") == [
        (["a", "b", "d"], 2),
        (["a", "c", "d"], 2),
        (["a", "c", "e", "d"], 3),
    ]
    costs = f"match {{ {TO_D} cheapest 9 $p: $a road $d along $e by $e.minutes }} return {{ $p.cost }}"
    assert rows(roads, costs) == [(3.0,), (12.0,), (21.0,)]
    assert rows(roads, f"match {{ {TO_D} simple $p: $a road{{3,5}} $d }} {SHOWN}") == [(["a", "c", "e", "d"], 3)]
    cycles = rows(roads, f"match {{ {FROM_A} simple $p: $a road{{1,4}} $a }} {SHOWN}")
    assert cycles == [(["a", "b", "d", "a"], 3), (["a", "c", "d", "a"], 3), (["a", "c", "e", "d", "a"], 4)]
    many = (
        "query q($k: I64) { match { $a: Stop $d: Stop shortest $k $p: $a road $d } return { count($p.length) as n } }"
    )
    assert roads.query(many, params={"k": 2}).rows()[0]["n"] > 20
    with pytest.raises(og.errors.ParameterError, match="1 or more"):
        roads.query(many, params={"k": 0})


def test_a_search_for_paths_stays_within_its_limits(tmp_path: Any) -> None:
    graph = og.init(tmp_path / "g.omni", schema=WAYS)
    names = [f"s{at}" for at in range(14)]
    graph.load(
        [{"type": "Stop", "data": {"code": name}} for name in names]
        + [{"edge": "Road", "from": a, "to": b} for a in names for b in names if a != b]
    )
    ends = '$a: Stop { code: "s0" } $b: Stop { code: "s1" }'
    text = f"query q() {{ match {{ {ends} simple $p: $a road{{1,13}} $b }} return {{ count(*) as n }} }}"
    with pytest.raises(ResourceLimitExceeded):
        graph.query(text, limits=Limits(rows=100_000))
    first = f"query q() {{ match {{ {ends} shortest 100000 $p: $a road{{1,13}} $b }} return {{ count(*) as n }} }}"
    with pytest.raises(ResourceLimitExceeded, match="query_time_ms"):
        graph.query(first, limits=Limits(seconds=0.3))


def test_rows_that_differ_in_nothing_are_ordered_beside_a_path_that_no_row_has(roads: og.Graph) -> None:
    nowhere = '$a: Stop { code: "d" } optional { all shortest $p: $a road $b $b.code = "none" } unwind [2, 2] as u'
    assert rows(roads, f"match {{ {nowhere} }} return {{ u, $p.length as n }} order {{ u }}") == [(2, None), (2, None)]
    assert rows(roads, f"match {{ {nowhere} }} return {{ first(u order $a.code) as f, count(*) as n }}") == [(2, 2)]


def test_paths_lead_through_nothing_that_is_hidden(places: og.Graph) -> None:
    ends = '$a: Peak { name: "a" } $b: Peak { name: "same" }'
    text = f"query q() {{ match {{ {ends} all shortest $p: $a <sees|feeds|ridge> $b }} return {{ $p.nodes as way }} }}"
    ways = [["a", "b", "same"], ["a", "l", "same"]]
    assert [row["way"] for row in places.query(text).rows()] == ways


def test_one_pair_is_searched_from_both_ends_and_finds_the_same(roads: og.Graph) -> None:
    for left in "abcde":
        for bounds in ("{1,}", "{2,}", "{3}", "{0,2}"):
            step = f"shortest $p: $a road{bounds} $x"
            shown = "return { $x.code, $p.length, $p.nodes } order { $x.code }"
            every = rows(roads, f'match {{ $a: Stop {{ code: "{left}" }} {step} }} {shown}')
            pairs = [
                row
                for right in "abcde"
                for row in rows(
                    roads, f'match {{ $a: Stop {{ code: "{left}" }} $x: Stop {{ code: "{right}" }} {step} }} {shown}'
                )
            ]
            assert pairs == every
