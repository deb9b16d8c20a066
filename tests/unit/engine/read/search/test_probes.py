"""How many partitions of a vector index are searched: measured where it is built, by what the vectors are like."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnigraph as og
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.search import nearest as search_neighbours
from omnigraph.engine.read.search.nearest import vector_index
from omnigraph.engine.read.search.probes import Probes, known_probes, measured
from omnigraph.engine.read.search.vector_index import partitions

COUNT, DIM = 4_000, 16
METRICS = ("l2", "cosine", "dot")


@pytest.fixture(autouse=True)
def small_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four thousand vectors have sixty partitions, and every search of more than a few rows goes through them."""
    monkeypatch.setattr("omnigraph.engine.read.search.vector_index._PARTITION", 64)
    monkeypatch.setattr(search_neighbours, "EXACT_COLD", 50)
    monkeypatch.setattr(search_neighbours, "EXACT_HOT", 50)


def drawn(count: int, *, spread: float, centres: int = 60) -> np.ndarray:
    """Vectors around some centres: the wider they spread, the less structure there is."""
    random = np.random.default_rng(6)
    middles = random.standard_normal((centres, DIM))
    return (middles[np.arange(count) % centres] + spread * random.standard_normal((count, DIM))).astype(np.float32)


def filled(place: Path, vectors: np.ndarray, metric: str = "l2") -> og.Graph:
    graph = og.init(
        place, f'node Spot {{ code: String @key  part: I32  v: Vector({DIM})? @index @metric("{metric}") }}'
    )
    graph.load(_line(number, vector.tolist()) for number, vector in enumerate(vectors))
    return graph


def _line(number: int, vector: list[float] | None) -> str:
    return json.dumps({"type": "Spot", "data": {"code": f"s{number:05}", "part": number % 41, "v": vector}})


def probes_of(graph: og.Graph) -> Probes | None:
    view = graph.view()
    entities = Entities(view, view.catalog.nodes["Spot"])
    index = vector_index(entities, "v")
    assert index is not None
    return known_probes(entities, index)


def found(graph: og.Graph, vector: Any, *, where: str = "", third: str = "", limit: int = 10) -> Any:
    text = f"""query q($v: Vector({DIM})) {{ match {{ $s: Spot {where} }} return {{ $s.code }}
               order {{ nearest($s.v, $v{third}) }} limit {limit} }}"""
    return graph.query(text, params={"v": np.asarray(vector).tolist()})


def recall(graph: og.Graph, vectors: np.ndarray, questions: np.ndarray, metric: str) -> float:
    shares = []
    for question in questions:
        if metric == "l2":
            far = ((vectors - question) ** 2).sum(axis=1)
        else:
            far = -(vectors @ question) / (1 if metric == "dot" else np.linalg.norm(vectors, axis=1))
        nearest = {f"s{number:05}" for number in np.argsort(far)[:10]}
        shares.append(len(nearest & {row["s.code"] for row in found(graph, question).rows()}) / 10)
    return float(np.mean(shares))


@pytest.mark.parametrize("metric", METRICS)
def test_the_number_follows_the_vectors_and_keeps_its_promise(tmp_path: Path, metric: str) -> None:
    random, counts = np.random.default_rng(7), {}
    for name, spread in (("clusters", 0.2), ("no structure", 6.0)):
        vectors = drawn(COUNT, spread=spread)
        graph = filled(tmp_path / f"{name}.omni", vectors, metric)
        graph.ensure_indices()
        known = probes_of(graph)
        assert known is not None
        assert known.partitions == partitions(COUNT)
        counts[name] = known.at(10)
        questions = vectors[random.choice(COUNT, 60)] + 0.1 * spread * random.standard_normal((60, DIM))
        assert recall(graph, vectors, questions.astype(np.float32), metric) >= 0.95
    assert 1 <= counts["clusters"] < 10 < counts["no structure"] <= partitions(COUNT)


def test_the_nearest_of_few_are_looked_for_in_more_partitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = drawn(COUNT, spread=0.2)
    graph = filled(tmp_path / "g.omni", vectors)
    graph.ensure_indices()
    known = probes_of(graph)
    assert known is not None
    assert list(known.counts) == sorted(known.counts)
    every, tenth = known.at(10), known.at(100)
    assert every is not None
    assert tenth is not None
    assert every < tenth
    assert f"index v_vec, {every} partition" in str(found(graph, vectors[5]).explanation)
    assert f"index v_vec, {tenth} partitions, " in str(found(graph, vectors[5], where="$s.part < 4").explanation)
    # The nearest sixty of a fifth are deeper than what was measured.
    among = sum(number % 41 < 8 for number in range(COUNT))
    assert known.at(300) is None
    many = found(graph, vectors[5], where="$s.part < 8", limit=60)
    assert f"index v_vec, {partitions(COUNT)} partitions, " in str(many.explanation)
    monkeypatch.setattr(search_neighbours, "_CODES_COLD", 1)  # as if measuring a vector were that cheap
    monkeypatch.setattr(search_neighbours, "_CODES_HOT", 1)
    few = found(graph, vectors[5], where="$s.part < 8", limit=60)
    assert f"v: exact, {among} rows" in str(few.explanation)
    assert few.rows() == many.rows()


def test_what_the_query_says_goes_before_what_was_measured(tmp_path: Path) -> None:
    vectors = drawn(COUNT, spread=6.0)
    graph = filled(tmp_path / "g.omni", vectors)
    graph.ensure_indices()
    assert "index v_vec, 1 partition, " in str(found(graph, vectors[0], third=", 1").explanation)
    assert "index v_vec, 62 partitions, " in str(found(graph, vectors[0], third=", 62").explanation)
    every = found(graph, vectors[0], third=", 1000000")
    assert every.rows() == found(graph, vectors[0], third=", 62").rows()


def test_it_is_kept_for_other_processes_and_made_with_each_new_index(tmp_path: Path) -> None:
    vectors = drawn(COUNT, spread=0.2)
    filled(tmp_path / "g.omni", vectors).ensure_indices()
    graph = og.open(tmp_path / "g.omni")
    known = probes_of(graph)
    assert known is not None
    # Other vectors, so many that the index is built anew.
    graph.load([_line(number, vector.tolist()) for number, vector in enumerate(drawn(COUNT, spread=6.0))], mode="merge")
    graph.optimize()
    later = probes_of(og.open(tmp_path / "g.omni"))
    assert later is not None
    assert (later.at(10) or later.partitions) > (known.at(10) or known.partitions)


def test_a_branch_and_later_rows_search_by_the_measure_of_their_index(tmp_path: Path) -> None:
    graph = filled(tmp_path / "g.omni", drawn(COUNT, spread=0.2))
    graph.ensure_indices()
    known = probes_of(graph)
    assert known is not None
    graph.branches.create("draft")
    graph.load([_line(COUNT, [40.0] * DIM), _line(COUNT + 1, None)], branch="draft")
    graph.mutate('query gone() { delete Spot where code = "s00003" }', branch="draft")
    text = f"""query q($v: Vector({DIM})) {{ match {{ $s: Spot }} return {{ $s.code }}
               order {{ nearest($s.v, $v) }} limit 3 }}"""
    result = graph.query(text, params={"v": [40.0] * DIM}, branch="draft")
    assert result.rows()[0]["s.code"] == f"s{COUNT:05}"
    assert f"index v_vec, {known.at(3)} partition" in str(result.explanation)


@pytest.mark.parametrize("verb", ["optimize", "ensure_indices"])
def test_an_index_of_an_earlier_release_is_measured_by_maintenance(tmp_path: Path, verb: str) -> None:
    filled(tmp_path / "g.omni", drawn(COUNT, spread=0.2)).ensure_indices()
    known = probes_of(og.open(tmp_path / "g.omni"))
    shutil.rmtree(tmp_path / "g.omni" / "__derived" / "probes")
    graph = og.open(tmp_path / "g.omni")
    assert probes_of(graph) is None
    getattr(graph, verb)()
    found_again = probes_of(og.open(tmp_path / "g.omni"))
    assert known is not None
    assert found_again is not None
    assert found_again.counts.tolist() == known.counts.tolist()


@pytest.mark.parametrize("damage", ["absent", "unreadable", "of another release"])
def test_without_a_measure_many_partitions_are_searched_until_the_column_is_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    vectors = drawn(COUNT, spread=0.2)
    filled(tmp_path / "g.omni", vectors).ensure_indices()
    kept = tmp_path / "g.omni" / "__derived" / "probes"
    (counts,) = kept.glob("*/*/counts.npy")
    if damage == "absent":
        shutil.rmtree(kept)
    elif damage == "unreadable":
        counts.write_bytes(b"nothing")
    else:
        counts.rename(counts.with_name("others.npy"))
    graph = og.open(tmp_path / "g.omni")
    text = f"query q($v: Vector({DIM})) {{ match {{ $s: Spot }} return {{ $s.code }} order {{ nearest($s.v, $v) }} limit 1 }}"
    assert "; 32 partitions are searched, what that finds was not measured" in str(graph.explain(text))
    assert "index v_vec, 32 partitions, " in str(found(graph, vectors[0]).explanation)
    monkeypatch.setattr("omnigraph.engine.read.columns.entities.SMALL_TABLE", 0)
    monkeypatch.setattr(search_neighbours, "_SCAN_SECONDS_PER_BYTE", -1.0)
    known = probes_of(graph) if found(graph, vectors[0]) else None
    assert known is not None
    assert f"index v_vec, {known.at(10)} partition" in str(found(graph, vectors[0]).explanation)
    told = f"; {known.at(10)} of {partitions(COUNT)} partitions for the nearest 10 of all rows"
    assert told in str(graph.explain(text))


def test_what_is_measured_is_where_the_neighbours_lie() -> None:
    # On a line with a centre at every ten: of the neighbours at both sides of a question some lie beyond the border.
    sample = np.arange(1_000, dtype=np.float32)[:, None] / 10
    centres = np.arange(5, 100, 10, dtype=np.float32)[:, None]
    known = measured(sample, centres, "l2", 4_000, np.random.default_rng(1))
    assert known.partitions == 10
    assert known.depths[:3].tolist() == [4, 8, 16]  # a sampled neighbour stands for four
    assert known.at(4) == 2  # at least
    assert known.at(256) == 2  # they reach 3.2 to either side
    assert known.at(1_024) == 4  # 12.8 to either side; 3 partitions have 97 of a hundred of them
