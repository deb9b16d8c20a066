"""Many writers at once are never sent away: decision 12 of the specification, measured as issue 14 measured it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.errors import OmnigraphError
from omnigraph.settings import Settings
from omnigraph.storage.base import failpoints
from omnigraph.testing.crash.graph_child import GraphChild
from omnigraph.testing.crash.invariants import violations

SCHEMA = """
node Person { name: String @key  age: I64?  city: String? }
node Company { name: String @key }
node Counter { name: String @key  n: I64 }
edge Knows: Person -> Person
"""
RAISE_AGE = "query q($name: String, $age: I64) { update Person set { age: $age } where name = $name }"
FOUND = "query q($name: String) { insert Company { name: $name } }"
COUNT = "query q($name: String) { update Counter set { n: n + 1 } where name = $name }"
PEOPLE = 8


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "graph", SCHEMA)
    made.load([{"type": "Person", "data": {"name": f"p{number}", "age": 0}} for number in range(PEOPLE)])
    made.load([{"type": "Counter", "data": {"name": "all", "n": 0}}])
    return made


def together(count: int, act: Callable[[int], None]) -> list[OmnigraphError]:
    """Run `act` in so many threads that begin at once; what they were refused with."""
    refused: list[OmnigraphError] = []
    start = threading.Barrier(count)

    def run(number: int) -> None:
        start.wait()
        try:
            act(number)
        except OmnigraphError as error:
            refused.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return refused


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_a_row_that_was_skipped_is_considered_again_on_the_new_head(graph: og.Graph, mode: str) -> None:
    edges = [{"edge": "Knows", "from": "p0", "to": name} for name in ("p1", "late", "never")]
    arriving = [{"type": "Person", "data": {"name": "late", "age": 1}}]

    def arrive() -> None:
        if arriving:
            graph.load([arriving.pop()])

    with failpoints.armed({"load.post_checks": arrive}):
        done = graph.load(edges, mode=mode, on_error="skip")
    assert done.edges == {"Knows": 2}
    assert sum(done.rejected.values()) == 1


def ages(graph: og.Graph) -> dict[str, int]:
    rows = graph.query("query q() { match { $p: Person } return { $p.name as name, $p.age as age } }").rows()
    return {row["name"]: row["age"] for row in rows}


def count(graph: og.Graph) -> int:
    found = graph.get("Counter", "all")
    assert found is not None
    return int(found["n"])


def test_four_threads_of_one_handle_that_update_a_row_of_their_own_are_all_served(graph: og.Graph) -> None:
    before = len(graph.commits.list())

    def act(number: int) -> None:
        for age in range(1, 11):
            graph.mutate(RAISE_AGE, params={"name": f"p{number}", "age": age})

    assert together(4, act) == []
    assert {name: age for name, age in ages(graph).items() if age} == {f"p{number}": 10 for number in range(4)}
    assert len(graph.commits.list()) == before + 40
    assert violations(access(graph).store) == []


def test_an_increment_by_many_threads_adds_up_exactly(graph: og.Graph) -> None:
    assert together(6, lambda _: [graph.mutate(COUNT, params={"name": "all"}) for _ in range(5)] and None) == []
    assert count(graph) == 30


def test_updates_beside_inserts_into_another_table_from_two_processes_are_all_served(graph: og.Graph) -> None:
    root, settings = Path(graph.uri), Settings()
    updates = [{"name": f"p{number % PEOPLE}", "age": number} for number in range(40)]
    inserts = [{"name": f"c{number}"} for number in range(40)]
    crew = [
        GraphChild(root, settings, "", "mutate_each", json.dumps({"source": source, "params": params}))
        for source, params in ((RAISE_AGE, updates), (FOUND, inserts))
    ]
    assert [member.finish().error for member in crew] == [None, None]
    assert ages(graph) == {f"p{number}": 32 + number for number in range(PEOPLE)}
    assert len(graph.query("query q() { match { $c: Company } return { $c.name } }").rows()) == 40


def test_an_increment_by_many_processes_adds_up_exactly(graph: og.Graph) -> None:
    job = json.dumps({"source": COUNT, "params": [{"name": "all"}] * 10})
    crew = [GraphChild(Path(graph.uri), Settings(), "", "mutate_each", job) for _ in range(4)]
    assert [member.finish().error for member in crew] == [None] * 4
    assert count(graph) == 40
    assert violations(access(graph).store) == []
