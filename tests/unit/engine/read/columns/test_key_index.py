"""Ids lead to row ids through an index that is right after every change, wherever it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.engine.read.columns import key_index as keyindex_module
from omnigraph.engine.read.columns import key_index_store as keys_module
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.key_index import KeyIndex, KeyPart
from omnigraph.engine.read.columns.key_index_store import key_index, rows_with_ids
from omnigraph.engine.read.execute import match
from omnigraph.engine.read.frames.budget import Budget
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.match import key_lookup as keyed_module
from omnigraph.engine.read.match.leaves import frame_leaf
from omnigraph.engine.values.predicate import Bindings

TEXTS = ["", "a", "b", "ab", "ba", "é", "日本", "x" * 100, "x" * 101, *(f"p{number:05d}" for number in range(3_000))]
QUERY = "query q($k: [String]) { match { $n: Node $n.k in $k } return { $n.k, $n.v } }"


@pytest.mark.parametrize("colliding", [False, True], ids=["hashes differ", "all hashes are equal"])
def test_exactly_the_ids_that_are_there_are_found(colliding: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = TEXTS[:40]
    if colliding:
        monkeypatch.setattr(keyindex_module, "text_hashes", lambda ids: np.zeros(len(ids), np.uint64))
        monkeypatch.setattr(keyindex_module, "text_hash", lambda text: 0)
    rows = np.random.default_rng(1).permutation(1_000)[: len(texts)]
    index = KeyIndex(KeyPart.of(pa.array(texts), rows))
    for count in (0, 1, 3, len(texts)):
        wanted = [*texts[:count], "nobody", *texts[:1]]
        assert index.find(wanted).tolist() == sorted(rows[: max(count, 1)].tolist())
    for text, row in zip(texts, rows, strict=True):
        assert index.find([text]).tolist() == [row]
        assert [index.finder(bits)(text.encode()) for bits in (0, 1, 5, 12)] == [[row]] * 4
    assert index.find(["nobody"]).tolist() == []
    assert [index.finder(bits)(b"nobody") for bits in (0, 12)] == [[], []]
    asked = pa.array(["nobody", *texts, texts[0]])
    for found in (index.base.rows_of, index.base.rows_of_known()):
        assert found(asked).tolist() == [-1, *rows.tolist(), rows[0]]
    nothing = KeyPart.of(pa.array([], pa.utf8()), np.empty(0, np.int64))
    assert nothing.rows_of_known()(pa.array(["a"])).tolist() == [-1]
    assert index.base.rows_of(asked[:0]).tolist() == []


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[og.Graph]:
    # Every table counts as large and as worth an index at once.
    for module in (keys_module, keyed_module):
        monkeypatch.setattr(module, "SMALL_TABLE", 0)
    monkeypatch.setattr(keys_module, "_WORTH_KEEPING", 0)
    monkeypatch.setattr(keys_module, "_BUILD_SECONDS_PER_ROW", -1.0)
    monkeypatch.setattr(keys_module, "_MOST_LATER", 10.0)
    made = og.init(tmp_path / "graph.omni", "node Node { k: String @key  v: I32 }")
    made.load(pa.table({"k": ["a", "b", "c", "d"], "v": pa.array([1, 2, 3, 4], pa.int32())}), type="Node")
    yield made
    made.close()


def table_of(graph: og.Graph) -> Entities:
    return Run(graph.view(), Bindings({}, None), Budget(), frame_leaf, match).entities("node:Node")  # type: ignore[arg-type]


def found(graph: og.Graph, *keys: str) -> dict[str, int]:
    return {row["n.k"]: row["n.v"] for row in graph.query(QUERY, params={"k": list(keys)})}


CHANGES = {
    "a node comes": ('insert Node { k: "new" v: 9 }', {"a": 1, "d": 4, "new": 9}),
    "a node goes": ('delete Node where k = "a"', {"d": 4}),
    "a value changes": ('update Node set { v: 7 } where k = "a"', {"a": 7, "d": 4}),
}


@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES)
def test_an_index_follows_its_table(
    graph: og.Graph, change: str, expected: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(graph, "a", "d", "new") == {"a": 1, "d": 4}
    assert key_index(table_of(graph), keep=True) is not None
    monkeypatch.setattr(keys_module, "build_keys", lambda table, keep: pytest.fail("built anew"))
    graph.mutate(f"query m() {{ {change} }}")
    assert found(graph, "a", "d", "new") == expected


def test_a_key_that_went_and_came_again_has_its_new_row(graph: og.Graph) -> None:
    assert found(graph, "a") == {"a": 1}
    graph.mutate('query m() { delete Node where k = "a" }')
    graph.mutate('query m() { insert Node { k: "a" v: 5 } }')
    assert found(graph, "a", "b") == {"a": 5, "b": 2}


def test_a_table_that_was_replaced_is_not_looked_up_in_the_old_index(graph: og.Graph) -> None:
    assert found(graph, "a", "d") == {"a": 1, "d": 4}
    replaced = pa.table({"k": ["d", "e"], "v": pa.array([8, 9], pa.int32())})
    graph.load(replaced, type="Node", mode="overwrite")
    assert found(graph, "a", "d", "e") == {"d": 8, "e": 9}


def test_a_fresh_process_maps_what_was_kept(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = rows_with_ids(table_of(graph), ["a", "c"], keep=True)
    graph._core.store.memory.clear()
    monkeypatch.setattr(keys_module, "build_keys", lambda table, keep: pytest.fail("built anew"))
    table = table_of(graph)
    mapped = key_index(table, keep=True)
    assert mapped is not None
    assert isinstance(mapped.base.hashes.base, np.memmap)
    assert rows_with_ids(table, ["a", "c"], keep=True).tolist() == expected.tolist()


def test_damaged_files_are_built_anew(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(graph, "a") == {"a": 1}
    (victim,) = (Path(graph.uri) / "__derived").rglob("offsets.npy")
    victim.write_bytes(victim.read_bytes()[:-8])
    graph._core.store.memory.clear()
    assert found(graph, "a") == {"a": 1}
