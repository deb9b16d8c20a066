"""Patterns that close a cycle: the same answers for every number of threads, in ranges of rows, and as counted by hand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.engine.read.frames.budget import Limits
from omnigraph.engine.read.match import blocks, intersect
from omnigraph.engine.read.topology import membership
from omnigraph.errors import QueryCancelled, ResourceLimitExceeded

PEOPLE = 90
SCHEMA = """
node Person { k: String @key  city: String  w: F64 }
edge Knows: Person -> Person
edge Likes: Person -> Person
"""
TRIANGLES = "match { $a knows $b $b knows $c $a knows $c }"
QUERIES = {
    "triangles": f"{TRIANGLES} return {{ count(*) as n }}",
    "rows of triangles": f"{TRIANGLES} return {{ $a.k as a, $b.k as b, $c.k as c }} order {{ a, b, c }}",
    "weights of triangles by city": f"{TRIANGLES} return {{ $c.city as city, sum($a.w) as s, count(*) as n }} order {{ city }}",
    "two types of edges": "match { $a knows $b $b likes $c $a likes $c } return { count(*) as n }",
    "two hops without a direct edge": (
        "match { $a knows $b $b knows $c not { $a knows $c } } return { count(*) as n }"
    ),
    "the same, the other way round": ("match { $a knows $b $b knows $c not { $c knows $a } } return { count(*) as n }"),
    "the same, by city": (
        "match { $a knows $b $b knows $c not { $a likes $c } } return { $a.city as city, count(*) as n } order { city }"
    ),
    "four in a circle": "match { $a knows $b $b knows $c $c knows $d $d knows $a } return { count(*) as n }",
    "counted before": "match { $x likes $a $a knows $b $b knows $c $a knows $c } return { count(*) as n }",
}
Edges = list[tuple[int, int]]


@pytest.fixture(scope="module", autouse=True, params=[1, 1 << 40], ids=["marked", "searched"])
def small_parts(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(membership, "_FEWEST_MARKED", request.param)
        patch.setattr(intersect, "TESTS", 50)
        patch.setattr(intersect, "_PART", 16)
        patch.setattr(blocks, "_BLOCK", 64)
        yield


def edges_of(seed: int, count: int) -> Edges:
    """Distinct pairs, some people with many of them."""
    rng = np.random.default_rng(seed)
    ends = (PEOPLE * rng.random((2, count)) ** 2).astype(int)
    return sorted({(a, b) for a, b in ends.T.tolist() if a != b})


def filled(place: Path, knows: Edges, likes: Edges) -> str:
    with og.init(place / "g.omni", SCHEMA) as graph:
        keys = [f"p{at:02d}" for at in range(PEOPLE)]
        weights = np.random.default_rng(1).random(PEOPLE) * 1e6
        people = pa.table({"k": keys, "city": [f"c{at % 4}" for at in range(PEOPLE)], "w": weights})
        graph.load(people, type="Person")
        for edge, pairs in (("Knows", knows), ("Likes", likes)):
            ends = {name: [keys[pair[side]] for pair in pairs] for side, name in enumerate(("from", "to"))}
            graph.load(pa.table({name: pa.array(values, pa.utf8()) for name, values in ends.items()}), edge=edge)
    return str(place / "g.omni")


KNOWS, LIKES = edges_of(3, 900), edges_of(4, 700)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return filled(tmp_path_factory.mktemp("closing"), KNOWS, LIKES)


@pytest.fixture(scope="module")
def by_threads(store: str) -> Iterator[dict[int, og.Graph]]:
    graphs = {threads: og.open(store, settings=og.Settings(threads=threads)) for threads in (1, 2, 4)}
    yield graphs
    for graph in graphs.values():
        graph.close()


@pytest.mark.parametrize("name", QUERIES)
def test_answers_are_the_same_to_the_last_bit(by_threads: dict[int, og.Graph], name: str) -> None:
    alone, *others = (graph.query(f"query q() {{ {QUERIES[name]} }}").to_arrow() for graph in by_threads.values())
    assert alone.num_rows
    for each in others:
        assert each.equals(alone)


def test_they_are_what_counting_by_hand_gives(by_threads: dict[int, og.Graph]) -> None:
    knows, likes = set(KNOWS), set(LIKES)
    hops = [(a, b, c) for (a, b), (x, c) in product(KNOWS, KNOWS) if b == x]
    expected = {
        "triangles": sum((a, c) in knows for a, _, c in hops),
        "two types of edges": sum((a, c) in likes for (a, b), (x, c) in product(KNOWS, LIKES) if b == x),
        "two hops without a direct edge": sum((a, c) not in knows for a, _, c in hops),
        "the same, the other way round": sum((c, a) not in knows for a, _, c in hops),
    }
    for name, count in expected.items():
        for graph in by_threads.values():
            assert graph.query(f"query q() {{ {QUERIES[name]} }}").tuples() == [(count,)], name


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1_000), count=st.integers(1, 1_200))
def test_any_graph(tmp_path_factory: pytest.TempPathFactory, seed: int, count: int) -> None:
    knows = edges_of(seed, count)
    place = filled(tmp_path_factory.mktemp("any"), knows, knows[: len(knows) // 2])
    found = set(knows)
    expected = sum((a, c) in found for (a, b), (x, c) in product(knows, knows) if b == x)
    for threads in (1, 2):
        with og.open(place, settings=og.Settings(threads=threads)) as graph:
            assert graph.query(f"query q() {{ {QUERIES['triangles']} }}").tuples() == [(expected,)]


def test_a_range_of_rows_at_a_time_takes_less_than_all_of_them(
    by_threads: dict[int, og.Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"query q() {{ {QUERIES['triangles']} }}"
    most = Limits(rows=len(KNOWS) // 2)
    expected = by_threads[1].query(text).tuples()
    for graph in by_threads.values():
        found = graph.query(text, limits=most)
        assert found.tuples() == expected
        assert f"[{len(KNOWS)} rows" in str(found.explanation)  # of all ranges together
    monkeypatch.setattr(blocks, "_BLOCK", 1 << 20)
    with pytest.raises(ResourceLimitExceeded):
        by_threads[1].query(text, limits=most)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_rows_that_are_too_many_and_time_that_is_over_end_it(by_threads: dict[int, og.Graph], threads: int) -> None:
    text = f"query q() {{ {QUERIES['rows of triangles']} }}"
    with pytest.raises(ResourceLimitExceeded):
        by_threads[threads].query(text, limits=Limits(rows=len(KNOWS)))
    with pytest.raises(ResourceLimitExceeded):
        by_threads[threads].query(text, limits=Limits(seconds=0.0))


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_it_stops_in_the_middle(by_threads: dict[int, og.Graph], threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cancel, asked = threading.Event(), []
    linked = intersect._Closing.linked

    def cancelling(*given: Any) -> Any:
        asked.append(1)
        cancel.set()
        return linked(*given)

    monkeypatch.setattr(intersect._Closing, "linked", cancelling)
    with pytest.raises(QueryCancelled):
        by_threads[threads].query(f"query q() {{ {QUERIES['triangles']} }}", cancel=cancel)
    assert len(asked) < 40
