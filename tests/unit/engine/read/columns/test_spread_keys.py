"""A key index that is built range by range is the one that a build in one piece makes, whoever runs the tasks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.engine.maintenance import key_builds
from omnigraph.engine.read.columns import key_index_store
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.key_index import KeyPart
from omnigraph.engine.read.columns.key_index_store import build_keys, kept_keys, key_artifact
from omnigraph.engine.read.columns.spread_keys import build_spread_keys
from omnigraph.storage.base.derived import drop_everything

SCHEMA = "node Person { name: String @key  age: I32? }"
LOADS, ROWS = 5, 300


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[og.Graph]:
    """Ids of many lengths in several fragments; some rows changed, some deleted, one fragment without rows left."""
    monkeypatch.setattr(key_index_store, "_WORTH_KEEPING", 10)
    with og.init(tmp_path / "g", SCHEMA) as made:
        for load in range(LOADS):
            made.load(pa.table({"name": [_name(load * ROWS + at) for at in range(ROWS)]}), type="Person")
        changed = pa.table({"name": [_name(at) for at in range(40, 90)], "age": pa.array([7] * 50, pa.int32())})
        made.load(changed, type="Person", mode="merge")
        made.mutate('query gone() { delete Person where name = "é5" }')
        made.load(pa.table({"name": ["single"]}), type="Person")
        made.mutate('query gone() { delete Person where name = "single" }')
        yield made


def _name(number: int) -> str:
    return ("", "é", "p", "a long name of many words ")[number % 4] + str(number)


def _people(graph: og.Graph) -> Entities:
    view = graph.view()
    return Entities(view, view.catalog.nodes["Person"])


def _assert_built_alike(graph: og.Graph, kept: KeyPart | None) -> None:
    table = _people(graph)
    expected = build_keys(table, keep=False).base
    assert kept is not None
    assert len(kept) == table.row_count == LOADS * ROWS - 1
    for name, values in expected.arrays().items():
        found = kept.arrays()[name]
        assert found.dtype == values.dtype
        assert found.tolist() == values.tolist()


@pytest.mark.parametrize("range_rows", [10, 400, 10_000], ids=["many ranges", "some", "one"])
def test_ranges_join_to_what_one_build_makes(graph: og.Graph, tmp_path: Path, range_rows: int) -> None:
    table = _people(graph)
    (scratch := tmp_path / "scratch").mkdir()
    build_spread_keys(table, lambda work, items: [work(item) for item in items], str(scratch), range_rows=range_rows)
    _assert_built_alike(graph, kept_keys(key_artifact(table).place))


def test_ranges_without_ids_are_left_out(graph: og.Graph, tmp_path: Path) -> None:
    graph.mutate("query gone() { delete Person where age is null }")
    table = _people(graph)
    (scratch := tmp_path / "scratch").mkdir()
    build_spread_keys(table, lambda work, items: [work(item) for item in items], str(scratch), range_rows=1)
    found = kept_keys(key_artifact(table).place)
    assert found is not None
    assert found.rows.tolist() == build_keys(table, keep=False).base.rows.tolist()
    assert len(found) == 50


def test_from_so_many_rows_on_ids_are_indexed_range_by_range(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    drop_everything(_people(graph).root)
    made: list[int] = []

    def counted(table: Entities, run: Any, scratch: str) -> None:
        build_spread_keys(table, lambda work, items: run(lambda item: (made.append(1), work(item))[1], items), scratch)

    monkeypatch.setattr(key_builds, "build_spread_keys", counted)
    with og.open(graph.uri, settings=og.Settings(distribute_rows=LOADS * ROWS - 1)) as opened:
        opened.ensure_indices(runner="inline")
        _assert_built_alike(opened, kept_keys(key_artifact(_people(opened)).place))
    assert len(made) == 2


def test_an_index_that_is_mapped_finds_every_id(graph: og.Graph, tmp_path: Path) -> None:
    table = _people(graph)
    (scratch := tmp_path / "scratch").mkdir()
    build_spread_keys(table, lambda work, items: [work(item) for item in items], str(scratch), range_rows=100)
    found = kept_keys(key_artifact(table).place)
    assert found is not None
    stored = table.handle.scan(["id", "_rowid"])
    assert found.rows_of(stored["id"].combine_chunks()).tolist() == stored["_rowid"].to_pylist()
    assert found.rows_of(pa.array(["nobody", "é5"])).tolist() == [-1, -1]
