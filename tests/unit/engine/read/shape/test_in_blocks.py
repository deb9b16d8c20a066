"""What is read block by block is what is read at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.engine.read import execute as execute_module
from omnigraph.engine.read.columns import entities as entities_module
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.match import leading as leading_module

SCHEMA = """
node Person { k: String @key  city: String?  age: I32?  big: I64  real: F64?  day: Date? }
edge Knows: Person -> Person { since: I64  weight: F64 }
"""
PEOPLE, EDGES, BLOCK = 6_000, 9_000, 700

AGGREGATES = [
    "{ $p.city as c, avg($p.age) as a, sum($p.age) as s, count($p.age) as n, count(*) as m } order { c }",
    "{ $p.city as c, min($p.age) as a, max($p.age) as b, min($p.real) as r, max($p.day) as d, min($p.k) as k }",
    "{ $p.day as d, $p.city as c, count(*) as n }",
    "{ avg($p.age) as a, sum($p.big) as s, max($p.city) as c, min($p.real) as r, count($p.real) as n }",
    "{ $p.real as r, count(*) as n } order { n desc, r }",
    "{ lower($p.city) as c, sum($p.age + 1) as s } order { c } limit 3",
    "{ $p.city as c, avg($p.age) as a } order { a desc } limit 2",
    "{ $p.city as c, avg($p.real) as a, sum($p.real) as s }",
    "{ $p.city as c, count(distinct $p.age) as n }",
    "{ avg($p.age) as a, count(*) as n }",
]
OTHERS = [
    "query q() { match { $p $k:knows $f } return { avg($k.since) as n } }",
    "query q() { match { $p $k:knows $f } return { $k.since as s, count(*) as n, min($k.weight) as w } }",
    "query q() { match { $p $k:knows $f } return { $p.k, $f.k, $k.weight as w } order { w desc } limit 10 }",
    "query q() { match { $p $k:knows $f } return { $p.k, $f.k, $k.weight as w } order { w } limit 5 offset 3 }",
    "query q() { match { $p $k:knows $f } return { $p.k, $f.k, $k.since as w } order { w desc } limit 5 }",
    "query q() { match { $p: Person } return { count(*) as n } }",
]


def people() -> pa.Table:
    numbers, pick = np.arange(PEOPLE), np.random.default_rng(3)
    some = pa.array(numbers % 7 == 0)
    return pa.table(
        {
            "k": [f"k{number:05d}" for number in numbers],
            "city": pa.array([None if number % 11 == 0 else f"City {number % 13}" for number in numbers]),
            "age": pa.array(pick.integers(-5, 90, PEOPLE), pa.int32(), mask=some.to_numpy(zero_copy_only=False)),
            "big": pick.integers(-(2**62) // PEOPLE, 2**62 // PEOPLE, PEOPLE),
            "real": pa.array([None if number % 5 == 0 else (number % 17 - 8) * 0.1 for number in numbers]),
            "day": pa.array(numbers % 3, pa.int32()).cast(pa.date32()),
        }
    )


def edges() -> pa.Table:
    pick = np.random.default_rng(4)
    keys = [f"k{number:05d}" for number in range(PEOPLE)]
    ends = [[keys[at] for at in pick.integers(0, PEOPLE, EDGES)] for _ in range(2)]
    return pa.table({"from": ends[0], "to": ends[1], "since": pick.integers(0, 4, EDGES), "weight": pick.random(EDGES)})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("blocks") / "graph.omni"
    with og.init(place, SCHEMA) as made:
        for low in range(0, PEOPLE, 2_500):  # several files, none of which ends with a block
            made.load(people().slice(low, 2_500), type="Person")
        made.load(edges(), edge="Knows")
    return place


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Memory keeps no column; how many blocks were read of each table that was."""
    read: list[int] = []
    blocks_of = Entities.blocks

    def counted(table: Entities) -> list[tuple[int, int]]:
        found = blocks_of(table)
        read.append(len(found))
        return found

    monkeypatch.setattr(entities_module, "_HELD_BYTES", 1 << 40)
    monkeypatch.setattr(entities_module, "_BLOCK_ROWS", BLOCK)
    monkeypatch.setattr(Entities, "blocks", counted)
    monkeypatch.setattr(execute_module, "IN_ORDER", 1_000)
    monkeypatch.setattr(leading_module, "_MANY_EDGES", 1_000)
    return read


def text(shape: str) -> str:
    return f"query q() {{ match {{ $p: Person }} return {shape} }}"


def answered(store: Path, query: str) -> list[dict[str, Any]]:
    with og.open(store) as graph:
        return graph.query(query).to_arrow().to_pylist()


@pytest.mark.parametrize("query", [*map(text, AGGREGATES), *OTHERS])
def test_folds_of_blocks_are_folds_of_everything(store: Path, query: str, request: pytest.FixtureRequest) -> None:
    expected = answered(store, query)
    read = request.getfixturevalue("blocks")
    assert answered(store, query) == expected
    plain = "distinct" in query or "$p.real) as a" in query or query == OTHERS[-1]
    assert bool(read and max(read) > 1) != plain


def test_all_values_come_in_blocks(store: Path, blocks: list[int]) -> None:
    query = "query q() { match { $p $k:knows $f } return { $k.since, $k.weight as w } }"
    with og.open(store) as graph:
        found = graph.query(query).to_arrow()
    assert found.num_rows == EDGES
    assert sorted(found["w"].to_pylist()) == sorted(edges()["weight"].to_pylist())
    assert blocks == [-(-EDGES // BLOCK)]


def test_sums_that_doubles_do_not_hold_are_found_at_once(store: Path, request: pytest.FixtureRequest) -> None:
    query = text("{ $p.day as d, sum($p.big) as s, avg($p.big) as a } order { d }")
    expected = answered(store, query)
    request.getfixturevalue("blocks")
    assert answered(store, query) == expected


def test_rows_that_went_are_not_read(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    place = tmp_path / "graph.omni"
    with og.init(place, SCHEMA) as graph:
        graph.load(people(), type="Person")
        graph.mutate("query m() { delete Person where age > 50 }")
        graph.mutate('query m() { update Person set { city: "Other" } where age < 3 }')
    query = text(AGGREGATES[0])
    expected = answered(place, query)
    request.getfixturevalue("blocks")
    assert answered(place, query) == expected
