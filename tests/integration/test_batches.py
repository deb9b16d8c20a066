"""`mutate_many`: a batch of mutations is one commit that means what they mean one after the other (issue 14, 7)."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import BadRequest, OmnigraphError, PreconditionFailed, ValueViolation
from omnigraph.storage.manifest.note import RowCounts
from omnigraph.testing.naive.observe import image_of
from tests.cli_runner import Desk

SCHEMA = """
node Person { name: String @key  age: I64?  email: String? @unique }
node Note { text: String }
edge Knows: Person -> Person
"""
QUERIES = """
query add($name: String, $age: I64?) { insert Person { name: $name, age: $age } }
query mail($name: String, $email: String) { update Person set { email: $email } where name = $name }
query older($name: String) { update Person set { age: age + 1 } where name = $name }
query drop($name: String) { delete Person where name = $name }
query drop_old($age: I64) { delete Person where age > $age }
query everybody($age: I64) { update Person set { age: $age } where age < 50 }
query know($a: String, $b: String) { insert Knows { from: $a, to: $b } }
query pair($a: String, $b: String) {
  insert Person { name: $a }
  insert Knows { from: $a, to: $b }
}
query note($text: String) { insert Note { text: $text } }
query greet() { match { $p: Person { age: 7 } } insert Note { text: $p.name } }
"""


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", SCHEMA, actor="ann")
    graph.mutate_many([{"name": "add", "params": {"name": name, "age": 7}} for name in "abc"], QUERIES)
    return graph


def _ages(graph: og.Graph) -> dict[str, int | None]:
    found = graph.query("query q() { match { $p: Person } return { $p.name as name, $p.age as age } }")
    return {row["name"]: row["age"] for row in found.rows()}


def test_a_batch_is_one_commit(graph: og.Graph) -> None:
    before = len(graph.commits.list())
    done = graph.mutate_many(
        [
            {"name": "add", "params": {"name": "d", "age": 1}},
            {"name": "older", "params": {"name": "d"}},
            {"name": "older", "params": {"name": "a"}},
            {"name": "know", "params": {"a": "d", "b": "a"}},
            ("query x($n: String) { update Person set { age: age * 10 } where name = $n }", {"n": "d"}),
        ],
        QUERIES,
        message="one of each",
    )
    assert (done.mutations, done.affected_nodes, done.affected_edges) == (5, 4, 1)
    assert len(graph.commits.list()) == before + 1
    assert done.commit == graph.commits.list()[0]
    assert done.commit is not None
    assert (done.commit.kind, done.commit.message, done.commit.query) == ("mutate", "one of each", None)
    assert done.commit.counts == {"Person": RowCounts(inserted=1, updated=1), "Knows": RowCounts(inserted=1)}
    assert _ages(graph) == {"a": 8, "b": 7, "c": 7, "d": 20}


def test_later_mutations_see_earlier_ones_whatever_they_do(graph: og.Graph) -> None:
    steps: list[tuple[str, dict[str, Any]]] = [
        ("add", {"name": "x", "age": 100}),
        ("drop", {"name": "a"}),
        ("know", {"a": "x", "b": "b"}),
        ("drop", {"name": "b"}),  # takes the edge along that was inserted in the same batch
        ("add", {"name": "a", "age": 1}),  # comes back
        ("everybody", {"age": 3}),
        ("add", {"name": "y", "age": 60}),
        ("drop_old", {"age": 50}),  # x and y, which only this batch has
    ]
    done = graph.mutate_many([{"name": name, "params": params} for name, params in steps], QUERIES)
    assert _ages(graph) == {"a": 3, "c": 3}
    assert done.commit is not None
    assert done.commit.counts == {"Person": RowCounts(updated=2, deleted=1)}
    assert image_of(graph.view())["edge:Knows"] == {}


def test_a_batch_leaves_what_single_mutations_leave(tmp_path: Path) -> None:
    """Random batches against the same mutations one by one."""
    chance = random.Random(14)
    names = [f"p{number}" for number in range(6)]
    one, other = (og.init(tmp_path / place, SCHEMA) for place in ("one", "other"))
    for _ in range(6):
        batch = []
        for _ in range(12):
            verb = chance.choice(["add", "add", "older", "drop", "everybody", "drop_old", "mail"])
            given = {"name": chance.choice(names), "age": chance.randrange(80), "email": None}
            given["email"] = f"{given['name']}@{chance.randrange(3)}"
            wanted = {
                "add": ("name", "age"),
                "older": ("name",),
                "drop": ("name",),
                "everybody": ("age",),
                "drop_old": ("age",),
                "mail": ("name", "email"),
            }[verb]
            batch.append({"name": verb, "params": {name: given[name] for name in wanted}})
        one.mutate_many(batch, QUERIES)
        for each in batch:
            other.mutate(QUERIES, each["name"], each["params"])
        assert image_of(one.view())["node:Person"] == image_of(other.view())["node:Person"], batch


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"name": "add", "params": {"nam": "x"}}, "P00"),
        ({"name": "nobody"}, "nobody"),
        ({"query": "query q() { insert Persn { name: 'x' } }"}, "Persn"),
        ({"name": "add", "params": {"name": "x", "age": "old"}}, "age"),
        ({"name": "know", "params": {"a": "x", "b": "nobody"}}, "nobody"),
        ({"name": "mail", "params": {"name": "b", "email": "taken"}}, "unique|taken|email"),
        ({"name": "add", "parms": {}}, "unknown member 'parms'"),
        ("query q() { }", "is a mapping"),
        ({"query": "query q() { match { $p: Person } return { $p.name } }"}, "is a read"),
        ({"name": "greet"}, "earlier mutation of this batch changes"),
    ],
)
def test_an_error_names_its_mutation_and_nothing_is_written(graph: og.Graph, bad: Any, said: str) -> None:
    graph.mutate(QUERIES, "mail", {"name": "a", "email": "taken"})
    before = graph.commits.head()
    with pytest.raises(OmnigraphError, match=said) as caught:
        graph.mutate_many(
            [
                {"name": "add", "params": {"name": "x", "age": 1}},
                {"name": "note", "params": {"text": "t"}},
                bad,
                {"name": "note", "params": {"text": "u"}},
            ],
            QUERIES,
        )
    assert str(caught.value).startswith("mutations[2]: ")
    assert graph.commits.head() == before


def test_a_bad_value_among_equal_inserts_is_found(graph: og.Graph) -> None:
    rows = [{"name": "note", "params": {"text": str(number)}} for number in range(5)]
    with pytest.raises(ValueViolation, match=r"mutations\[3\]: W0"):
        graph.mutate_many(
            [{"name": "know", "params": {"a": "a", "b": other}} for other in ("b", "c", "b", "zz", "c")], QUERIES
        )
    assert graph.mutate_many(rows, QUERIES).affected_nodes == 5


def test_a_match_on_untouched_types_runs_in_a_batch(graph: og.Graph) -> None:
    done = graph.mutate_many([{"name": "note", "params": {"text": "t"}}, {"name": "greet"}], QUERIES)
    assert done.affected_nodes == 4


def test_conditions_and_transactions(graph: og.Graph) -> None:
    stale = graph.commits.list()[-1].graph_commit_id
    with pytest.raises(PreconditionFailed):
        graph.mutate_many([{"name": "older", "params": {"name": "a"}}], QUERIES, if_commit=stale)
    with graph.transaction() as tx:
        tx.mutate_many([{"name": "older", "params": {"name": "a"}}] * 3, QUERIES, message="three years")
    assert _ages(graph)["a"] == 10
    assert graph.commits.list()[0].message == "three years"
    for odd in ([], "query q() { }", {"name": "older"}):
        with pytest.raises(BadRequest):
            graph.mutate_many(odd, QUERIES)  # type: ignore[arg-type]


def test_the_command_line_takes_lines(desk: Desk) -> None:
    desk.graph()
    desk.write("q.gq", "query add($name: String) { insert Person { name: $name } }")
    lines = [json.dumps({"name": "add", "params": {"name": name}}) for name in ("Eve", "Fay")]
    desk.write("batch.jsonl", "\n".join([lines[0], "", lines[1]]) + "\n")
    done = desk.run("mutate", "--batch", "batch.jsonl", "--query", "q.gq", "--store", "g", "-m", "two more", "--json")
    assert done.code == 0, done.stderr
    assert (done.json["mutations"], done.json["commit"]["counts"]["Person"]["inserted"]) == (2, 2)
    bad = desk.run("mutate", "--batch", "-", "--query", "q.gq", "--store", "g", stdin=f"{lines[0]}\n\n{{}}}}\n")
    assert (bad.code, "line 3: invalid JSON" in bad.stderr) == (1, True)
    wrong = desk.run("mutate", "--batch", "-", "--query", "q.gq", "--store", "g", stdin='{"name": "gone"}\n')
    assert "line 1: " in wrong.stderr
