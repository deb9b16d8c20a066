"""Writes that compute with old values or are driven by a match: one commit, the usual checks, nothing on failure."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import OmnigraphError

SCHEMA = """
node Person { name: String @key  age: I32?  score: F64?  tags: [String]?  pic: Blob?  @range(age, 0..150) }
node Note { text: String  stars: I64? }
edge Knows: Person -> Person { since: Date?  weight: I32? }
edge Wrote: Person -> Note @card(0..2)
"""
RECORDS: list[dict[str, Any]] = [
    {"type": "Person", "data": {"name": "ann", "age": 30, "score": 1.5, "tags": ["a"], "pic": "base64:AAEC"}},
    {"type": "Person", "data": {"name": "bob", "age": 40}},
    {"type": "Person", "data": {"name": "cy"}},
    {"type": "Note", "data": {"id": "n1", "text": "first", "stars": 5}},
    {"edge": "Knows", "from": "ann", "to": "bob", "data": {"id": "k1", "weight": 1}},
    {"edge": "Knows", "from": "bob", "to": "cy", "data": {"id": "k2"}},
    {"edge": "Knows", "from": "ann", "to": "cy", "data": {"id": "k3", "weight": 7}},
    {"edge": "Wrote", "from": "ann", "to": "n1", "data": {"id": "w1"}},
]


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "g.omni", schema=SCHEMA)
    graph.load(RECORDS)
    return graph


def mutate(graph: og.Graph, body: str, params: str = "", **values: Any) -> tuple[int, int]:
    done = graph.mutate(f"query q({params}) {{ {body} }}", params=values or None)
    return done.affected_nodes, done.affected_edges


def read(graph: og.Graph, match: str, returned: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in graph.query(f"query q() {{ match {{ {match} }} return {{ {returned} }} }}")]


def people(graph: og.Graph) -> dict[str, Any]:
    return dict(read(graph, "$p: Person", "$p.name, $p.age"))


def test_an_update_computes_with_old_values_and_parameters(graph: og.Graph) -> None:
    assert mutate(graph, "update Person set { age: age + $n * 2, score: age / 4 } where age > 0", "$n: I32", n=3) == (
        2,
        0,
    )
    assert read(graph, "$p: Person", "$p.name, $p.age, $p.score") == [
        ("ann", 36, 7.5),
        ("bob", 46, 10.0),
        ("cy", None, None),
    ]


def test_an_edge_update_computes_and_null_stays_null(graph: og.Graph) -> None:
    assert mutate(graph, 'update Knows set { weight: weight * 10 - 3 } where from = "ann" or to = "cy"') == (0, 3)
    assert read(graph, "$a $k:knows $b", "$k.id, $k.weight") == [("k1", 7), ("k3", 67), ("k2", None)]


def test_a_later_statement_computes_with_what_an_earlier_one_wrote(graph: og.Graph) -> None:
    twice = 'update Person set { age: age + 1 } where name = "ann" update Person set { age: age * 2 } where age = 31'
    assert mutate(graph, twice) == (2, 0)
    assert people(graph)["ann"] == 62


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param("update Person set { age: age * 100 } where age > 0", "W010", id="out of range"),
        pytest.param("update Person set { age: age * 100000000 } where age > 0", "W003", id="too wide"),
        pytest.param("match { $p: Person $p.age is null } insert Note { text: $p.tags } ", "T7", id="wrong type"),
        pytest.param("match { $p knows $q } update $q set { age: $p.age }", "W023", id="two values for one node"),
        pytest.param(
            "match { $p: Person $n: Note } insert Person { name: $n.text, age: $p.age }", "W023", id="two rows"
        ),
        pytest.param(
            "match { $p: Person $n: Note } insert Wrote { from: $p, to: $n } match { $x: Note } delete $x",
            "T28",
            id="mixed",
        ),
        pytest.param('match { $p: Person } insert Knows { from: $p, to: "nobody" }', "W013", id="no such node"),
        pytest.param(
            "match { $p: Person optional { $p wrote $n } } insert Wrote { from: $p, to: $n }", "W001", id="null end"
        ),
    ],
)
def test_a_refused_write_leaves_nothing_behind(graph: og.Graph, body: str, code: str) -> None:
    before = graph.view().head
    with pytest.raises(OmnigraphError) as refusal:
        mutate(graph, body)
    assert refusal.value.code == code
    assert graph.view().head == before


def test_a_match_drives_an_update_of_each_node_once(graph: og.Graph) -> None:
    assert mutate(graph, 'match { $p knows $q } update $q set { age: 1, tags: ["met"] }') == (2, 0)
    assert people(graph) == {"ann": 30, "bob": 1, "cy": 1}


def test_an_updated_node_keeps_what_is_not_set_also_its_blob(graph: og.Graph) -> None:
    assert mutate(graph, "match { $p: Person $p wrote $n } update $p set { score: score + $n.stars }") == (1, 0)
    assert read(graph, '$p: Person { name: "ann" }', "$p.score, $p.age, $p.tags") == [(6.5, 30, ["a"])]
    exported = io.BytesIO()
    graph.export(exported, ["Person"])
    assert b'"pic":"base64:AAEC"' in exported.getvalue()


def test_a_match_drives_an_update_of_edges(graph: og.Graph) -> None:
    assert mutate(graph, "match { $p: Person $p $k:knows $q $q.age is null } update $k set { weight: $p.age }") == (
        0,
        2,
    )
    assert read(graph, "$a $k:knows $b", "$k.id, $k.weight") == [("k1", 1), ("k3", 30), ("k2", 40)]


def test_a_match_drives_inserts_once_per_distinct_assignment_it_names(graph: og.Graph) -> None:
    # Two ways lead from ann to cy, but the statement names only the ends.
    far = "match { $a: Person $a knows $x $x knows $b } insert Knows { from: $b, to: $a, weight: $a.age }"
    assert mutate(graph, far) == (0, 1)
    assert mutate(graph, 'match { $p: Person $p knows $_ } insert Note { text: "someone knows someone" }') == (1, 0)
    assert mutate(graph, 'match { $p: Person { name: "nobody" } } insert Note { text: "never" }') == (0, 0)


def test_inserted_nodes_take_their_values_from_the_match(graph: og.Graph) -> None:
    body = "match { $p: Person not { $p wrote $_ } } insert Note { text: $p.name, stars: $p.age + $n }"
    assert mutate(graph, body, "$n: I64", n=1) == (2, 0)
    assert read(graph, '$n: Note $n.text != "first"', "$n.text as t, $n.stars as s, count(*) as c") == [
        ("bob", 41, 1),
        ("cy", None, 1),
    ]


def test_a_match_drives_deletes_with_their_cascade(graph: og.Graph) -> None:
    assert mutate(graph, "match { $p: Person not { $p wrote $_ } $p.age > 35 } delete $p") == (1, 2)
    assert set(people(graph)) == {"ann", "cy"}
    assert mutate(graph, "match { $p $k:knows $q $k.weight > 5 } delete $k") == (0, 1)
    assert read(graph, "$a knows $b", "count(*) as n") == [(0,)]


def test_what_two_statements_delete_is_counted_once(graph: og.Graph) -> None:
    body = "delete Note where stars > 1 match { $p: Person $p knows $q } delete $q"
    assert mutate(graph, body) == (3, 4)
    assert people(graph) == {"ann": 30}


def test_a_driven_write_is_one_commit(graph: og.Graph) -> None:
    before = len(graph.commits.log())
    mutate(graph, 'match { $p: Person } update $p set { age: 7 } insert Note { text: "done" }')
    assert len(graph.commits.log()) == before + 1
    assert set(people(graph).values()) == {7}


def test_a_match_that_finds_nothing_makes_no_commit(graph: og.Graph) -> None:
    before = graph.view().head
    assert mutate(graph, "match { $p: Person $p.age > 1000 } delete $p") == (0, 0)
    assert graph.view().head == before
