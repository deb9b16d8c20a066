"""The LDBC reads: every answer in .gq equals that of SQL on DuckDB, with two sets of parameters."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pytest

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "ldbc"
PEOPLE = 80


@pytest.fixture(scope="module")
def example() -> Iterator[dict[str, Any]]:
    """The modules of the example, which import each other as its programs do."""
    names = ("draws", "words", "messages", "generate", "parameters", "store", "check")
    sys.path.insert(0, str(FOLDER))
    try:
        yield {name: import_module(name) for name in names}
    finally:
        sys.path.remove(str(FOLDER))
        for name in names:
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def stores(example: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any, Any]]:
    tables = example["generate"].generate(PEOPLE, seed=3)
    with (
        example["store"].load_graph(tables, tmp_path_factory.mktemp("ldbc") / "ldbc.omni") as graph,
        duckdb.connect() as connection,
    ):
        example["store"].load_duckdb(tables, connection)
        yield tables, graph, connection


@pytest.mark.parametrize("which", [0, 1])
def test_every_read_gives_the_answer_of_sql(example: dict[str, Any], stores: tuple[Any, Any, Any], which: int) -> None:
    tables, graph, connection = stores
    given, plain = example["parameters"].parameters(tables, which), example["store"].plain
    assert len(example["store"].QUERIES) == 41
    different, empty = [], []
    for name in example["store"].QUERIES:
        ours = plain(example["check"].answer(graph, name, given[name]))
        if ours != plain(example["check"].sql_answer(connection, name, given[name])):
            different.append(name)
        if not ours:
            empty.append(name)
    assert different == []
    assert len(empty) < 8, f"these compare nothing with nothing: {empty}"


def test_every_read_is_asked_in_cypher_but_those_whose_paths_cost_an_expression(example: dict[str, Any]) -> None:
    without = [name for name in example["store"].QUERIES if example["store"].cypher_text(name) is None]
    assert without == ["ic14", "bi15", "bi19", "bi20"]


def test_a_network_follows_from_its_seed(example: dict[str, Any]) -> None:
    one, again, other = (example["generate"].generate(60, seed) for seed in (5, 5, 6))
    assert {name: table.equals(again[name]) for name, table in one.items()} == dict.fromkeys(one, True)
    assert not one["Knows"].equals(other["Knows"])


def test_the_network_is_skewed(stores: tuple[Any, Any, Any]) -> None:
    _, graph, _ = stores
    degrees = "query q() { match { $p: Person } return { max(count(* match { $p <knows> $f })) as most, avg(count(* match { $p <knows> $f })) as mean } }"
    found = graph.query(degrees).rows()[0]
    assert found["most"] > 2 * found["mean"]
