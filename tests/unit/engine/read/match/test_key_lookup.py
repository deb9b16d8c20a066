"""Keys of whole numbers lead to rows by the id index as keys of text do, and mean what a comparison of values means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.compiler.types import PropType
from omnigraph.engine.read.columns.key_index_store import KEYS
from omnigraph.engine.read.match import scan
from omnigraph.engine.read.match.key_lookup import id_text

SCHEMA = """
node Box { number: I64 @key  size: I32? }
node Small { number: I32 @key }
node Large { number: U64 @key }
node Pair { a: I64  b: I64  @key(a, b) }
node Box2 { number: I64 @key  size: I32? }
"""
COUNT = 5_000  # more than a table has that is read whole
TOP = 2**64 - 1


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[og.Graph]:
    order = np.random.default_rng(3).permutation(COUNT) - COUNT // 2
    with og.init(tmp_path_factory.mktemp("keys") / "g.omni", schema=SCHEMA) as made:
        sizes = pa.array([None if each % 5 == 0 else int(each) % 9 for each in order], pa.int32())
        made.load(pa.table({"number": order, "size": sizes}), type="Box", runner="inline")
        made.load(pa.table({"number": order + 1, "size": sizes}), type="Box2", runner="inline")
        made.load(pa.table({"number": pa.array(order, pa.int32())}), type="Small", runner="inline")
        large = pa.array([TOP - int(each) - COUNT for each in order], pa.uint64())
        made.load(pa.table({"number": large}), type="Large", runner="inline")
        made.load(pa.table({"a": order, "b": order % 3}), type="Pair", runner="inline")
        made.mutate("query d() { delete Box where number = 7 }")
        yield made


def rows(graph: og.Graph, body: str, declared: str = "", **params: Any) -> list[tuple[Any, ...]]:
    return graph.query(f"query q({declared}) {{ {body} }}", params=params).tuples()


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each scan, whether the rows of a key were looked up; the others compare values."""
    seen: list[bool] = []

    def noted(*given: Any) -> Any:
        found = plain(*given)
        seen.append(found is not None)
        return found

    plain = scan.rows_by_key
    monkeypatch.setattr(scan, "rows_by_key", noted)
    return seen


@pytest.mark.parametrize("times", [1, 30])
def test_a_number_finds_its_node(graph: og.Graph, compared: list[bool], times: int) -> None:
    """At first by asking storage, later from the index in memory."""
    for _ in range(times):
        for number in (0, 1, -1, -COUNT // 2, COUNT // 2 - 1):
            body = "match { $b: Box { number: $n } } return { $b.number, $b.size }"
            expected = None if number % 5 == 0 else number % 9
            assert rows(graph, body, "$n: I64", n=number) == [(number, expected)]
        for missing in (7, COUNT, -(2**63), 2**63 - 1, None):
            assert rows(graph, body, "$n: I64?", n=missing) == []
    assert all(compared)
    table = graph.view().find(graph.view().catalog.nodes["Box"])
    assert table is not None
    assert times == 1 or len(graph.view().tables.memory.cache(KEYS))


def test_other_widths_and_lists_of_numbers(graph: og.Graph, compared: list[bool]) -> None:
    assert rows(graph, "match { $b: Small { number: -5 } } return { $b.number }") == [(-5,)]
    assert rows(graph, "match { $b: Small } return { $b.number } order { $b.number } limit 1") == [(-COUNT // 2,)]
    wanted = TOP - COUNT - 3
    assert rows(graph, "match { $b: Large { number: $n } } return { $b.number }", "$n: U64", n=wanted) == [(wanted,)]
    several = "match { $b: Box $b.number in $n } return { $b.number } order { $b.number }"
    assert rows(graph, several, "$n: [I64]", n=[3, 7, -4, 3, 10**9]) == [(-4,), (3,)]
    assert rows(graph, several, "$n: [I64]", n=[]) == []
    assert rows(graph, "match { $b: Box $b.number in [1, 2] $b.size > 1 } return { $b.number }") == [(2,)]
    assert sum(compared) >= 5


def test_other_values_than_whole_numbers_are_compared(graph: og.Graph, compared: list[bool]) -> None:
    body = "match { $b: Box $b.number = $n } return { $b.number }"
    assert rows(graph, body, "$n: F64", n=5.0) == [(5,)]
    assert rows(graph, body, "$n: F64", n=5.5) == []
    assert rows(graph, "match { $b: Pair $b.a = 4 } return { $b.a, $b.b }") == [(4, 1)]
    assert not any(compared)
    assert rows(graph, body, "$n: I64", n="5") == [(5,)]  # a parameter may be spelt
    assert rows(graph, 'match { $b: Box $b.id = "5" } return { $b.number }') == [(5,)]
    assert rows(graph, 'match { $b: Box $b.id = "05" } return { $b.number }') == []


def test_a_number_is_looked_up_in_every_type_of_a_union(graph: og.Graph, compared: list[bool]) -> None:
    body = "match { $b: Box|Box2 $b.number = $n } return { $b.number, type($b) as t } order { t }"
    assert rows(graph, body, "$n: I64", n=3) == [(3, "Box"), (3, "Box2")]
    assert rows(graph, body, "$n: I64", n=7) == [(7, "Box2")]
    assert all(compared)


@pytest.mark.parametrize(
    ("scalar", "value", "text"),
    [
        ("String", "a", "a"),
        ("String", 5, None),
        ("I64", 5, "5"),
        ("U64", TOP, str(TOP)),
        ("I32", -5, "-5"),
        ("I64", True, None),
        ("I64", 5.0, None),
        ("I64", "5", None),
        ("I64", None, None),
    ],
)
def test_the_id_of_a_key(scalar: str, value: Any, text: str | None) -> None:
    assert id_text(PropType(scalar), value) == text
