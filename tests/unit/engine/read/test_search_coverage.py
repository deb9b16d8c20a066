"""Search answers the same with no index, with one that lags behind and with a complete one, and says how it ran."""

from __future__ import annotations

import json
import os
import tempfile
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.engine.read.match import scan as scan_module
from omnigraph.engine.read.search import nearest as search_neighbours
from omnigraph.engine.read.search.vector_index import partitions
from omnigraph.testing.graphs.coverage import COVERAGES, indexes_are_used, load_covered
from omnigraph.testing.naive.evaluator import REFUSED, rows_of
from omnigraph.testing.naive.evaluator_values import close
from omnigraph.testing.naive.image import Record
from omnigraph.testing.strategies.read_graphs import SCHEMA, graphs, image_of
from omnigraph.testing.strategies.read_programs import queries
from tests.thoroughness import examples

INDEXED = SCHEMA.replace("v: Vector(2)?", "v: Vector(2)? @index").replace("x: String?", "x: String? @index")


def covered(place: Path, records: list[Record], coverage: str) -> og.Graph:
    """The records in a graph of this coverage; a corpus of the earlier state is kept beside it."""
    graph = og.init(place, schema=INDEXED)
    ants = [record for record in records if record.type_name == "Ant"]
    earlier = [Record("Ant", {**ant.values, "x": "old stone", "v": [1.0, 4.0]}).line() for ant in ants[::2]]
    load_covered(graph, earlier, [record.line() for record in records], coverage)
    return graph


@settings(
    max_examples=examples(6),
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(graphs(), st.lists(queries(searching=True), min_size=6, max_size=8))
def test_coverage_never_shows_in_an_answer(records: list[Record], texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, indexes_are_used():
        for coverage in COVERAGES:
            graph = covered(Path(folder, coverage), records, coverage)
            catalog = graph.view().catalog
            image = image_of(catalog, records)
            for text in texts:
                note(f"{coverage}: {text}")
                expected = rows_of(text, catalog, image)
                with patch.dict(os.environ, {"OMNIGRAPH_TRAVERSAL_MODE": "csr"}):
                    if expected is None:
                        with pytest.raises(og.errors.BadRequest, match=REFUSED):
                            graph.query(text)
                        continue
                    found = graph.query(text)
                assert close(found.rows(), expected), f"{coverage}\n{found.explanation}\n{found.rows()}\n{expected}"


# --- larger vectors ---------------------------------------------------------------------------------------

METRICS = ("l2", "cosine", "dot")
COUNT = 3_000
DIM = 16


@pytest.fixture(scope="module")
def spots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, og.Graph]:
    """The same vectors, some missing, under each coverage."""
    random = np.random.default_rng(5)
    vectors = random.standard_normal((COUNT, DIM)).astype(np.float32)
    schema = "node Spot { code: String @key  part: I32  " + "".join(
        f'{metric}: Vector({DIM})? @index @metric("{metric}") ' for metric in METRICS
    )
    lines = [
        json.dumps({"type": "Spot", "data": {"code": f"s{n:04}", "part": n % 10, **dict.fromkeys(METRICS, v.tolist())}})
        if n % 50
        else json.dumps({"type": "Spot", "data": {"code": f"s{n:04}", "part": n % 10}})
        for n, v in enumerate(vectors)
    ]
    graphs = {}
    for coverage in COVERAGES:
        graph = og.init(tmp_path_factory.mktemp("spots") / f"{coverage}.omni", schema=schema + "}")
        first = COUNT if coverage == "full" else COUNT // 2
        graph.load(lines[:first])
        if coverage != "none":
            graph.ensure_indices()
        if first < COUNT:
            graph.load(lines[first - 100 :], mode="merge")
        graphs[coverage] = graph
    return graphs


def nearest(metric: str, where: str = "", limit: int = 10) -> str:
    return f"""
        query q($v: Vector({DIM})) {{ match {{ $s: Spot {where} }}
        return {{ $s.code, nearest($s.{metric}, $v) as far }} order {{ nearest($s.{metric}, $v) }} limit {limit} }}
    """


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("where", ["", "$s.part < 7"], ids=["all", "filtered"])
def test_the_index_finds_what_an_exact_pass_finds(
    spots: dict[str, og.Graph], monkeypatch: pytest.MonkeyPatch, metric: str, where: str
) -> None:
    monkeypatch.setattr(search_neighbours, "EXACT_COLD", 0)
    monkeypatch.setattr(search_neighbours, "EXACT_HOT", 0)
    for seed in range(5):
        query = np.random.default_rng(100 + seed).standard_normal(DIM).tolist()
        exact = spots["none"].query(nearest(metric, where), params={"v": query})
        assert "exact" in str(exact.explanation)
        for coverage in ("partial", "full"):
            found = spots[coverage].query(nearest(metric, where), params={"v": query})
            assert f"index {metric}_vec" in str(found.explanation)
            assert found.rows() == exact.rows()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("where", ["", "$s.part < 7"], ids=["all", "filtered"])
def test_columns_that_have_come_to_be_held_in_memory_change_no_answer(
    spots: dict[str, og.Graph], monkeypatch: pytest.MonkeyPatch, metric: str, where: str
) -> None:
    monkeypatch.setattr("omnigraph.engine.read.columns.entities.SMALL_TABLE", 0)
    monkeypatch.setattr(search_neighbours, "EXACT_COLD", 0)
    monkeypatch.setattr(search_neighbours, "EXACT_HOT", 0)
    query = np.random.default_rng(7).standard_normal(DIM).tolist()
    for coverage in ("partial", "full"):
        spots[coverage]._core.store.memory.clear()
        ask = partial(spots[coverage].query, nearest(metric, where), params={"v": query})
        before = ask()
        with monkeypatch.context() as cheap:
            cheap.setattr(search_neighbours, "_SCAN_SECONDS_PER_BYTE", -1.0)
            cheap.setattr(scan_module, "SCAN_SECONDS_PER_ROW", -1.0)
            held = ask()
            assert f"index {metric}_vec" in str(held.explanation)
            assert held.rows() == before.rows()
            cheap.setattr(search_neighbours, "EXACT_HOT", COUNT)
            exact = ask()
        assert f"{metric}: exact" in str(exact.explanation)
        assert exact.rows() == before.rows()
        assert {(reads.table, reads.rows) for reads in exact.explanation.reads} == {("node:Spot", 0)}


def test_few_candidates_are_measured_one_by_one(spots: dict[str, og.Graph]) -> None:
    found = spots["full"].query(nearest("l2", "$s.part = 3"), params={"v": [0.0] * DIM})
    assert "l2: exact, 300 rows" in str(found.explanation)
    assert len(found) == 10


def test_a_candidate_set_far_from_the_query_still_fills_the_limit(
    spots: dict[str, og.Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_neighbours, "EXACT_COLD", 0)
    query = [3.0] * DIM
    every = spots["none"].query(nearest("l2", limit=COUNT), params={"v": query}).rows()
    furthest = [row["s.code"] for row in every[-200:]]
    listed = ", ".join(f'"{code}"' for code in furthest)
    found = spots["full"].query(nearest("l2", f"$s.code in [{listed}]"), params={"v": query}).rows()
    assert [row["s.code"] for row in found] == furthest[:10]


def test_ties_at_the_limit_go_by_id_with_and_without_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_neighbours, "EXACT_COLD", 0)
    monkeypatch.setattr(search_neighbours, "EXACT_HOT", 0)
    monkeypatch.setattr("omnigraph.engine.read.columns.entities.SMALL_TABLE", 0)
    graph = og.init(tmp_path / "g.omni", "node Spot { code: String @key  v: Vector(2) @index }")
    # Stored in an order that is not the order of ids; a hundred share one place.
    codes = [f"s{(number * 37) % 1000:03}" for number in range(1000)]
    graph.load([
        json.dumps({"type": "Spot", "data": {"code": code, "v": [0, 1] if int(code[1:]) % 10 == 0 else [5, number]}})
        for number, code in enumerate(codes)
    ])  # fmt: skip
    text = "query q($v: Vector(2)) { match { $s: Spot } return { $s.code } order { nearest($s.v, $v) } limit 4 }"
    before = graph.query(text, params={"v": [0, 0]}).rows()
    graph.ensure_indices()
    assert graph.query(text, params={"v": [0, 0]}).rows() == before
    assert [row["s.code"] for row in before] == ["s000", "s010", "s020", "s030"]


def test_vectors_without_a_direction_train_no_cosine_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_neighbours, "EXACT_COLD", 0)
    graph = og.init(tmp_path / "g.omni", 'node Spot { code: String @key  v: Vector(2) @index @metric("cosine") }')
    graph.load(['{"type":"Spot","data":{"code":"a","v":[0,0]}}'])
    assert [each.property for each in graph.ensure_indices()] == ["v"]
    graph.load(['{"type":"Spot","data":{"code":"b","v":[-1,0]}}'])
    assert graph.ensure_indices() == []
    text = "query q() { match { $s: Spot } return { $s.code } order { nearest($s.v, [1.0, 0.0]) } limit 1 }"
    assert [row["s.code"] for row in graph.query(text).rows()] == ["a"]


def test_an_explanation_names_the_index_and_what_it_covers(spots: dict[str, og.Graph]) -> None:
    lines = {coverage: str(graph.explain(nearest("l2"))).splitlines()[-1] for coverage, graph in spots.items()}
    missing = f"; {COUNT // 50} of {COUNT} rows have no vector"
    assert lines["none"] == f"nearest Spot.l2: exact, there is no index{missing}"
    assert lines["full"].startswith(f"nearest Spot.l2: index l2_vec covers {COUNT} of {COUNT} rows")
    assert lines["partial"].startswith(f"nearest Spot.l2: index l2_vec covers {COUNT // 2 - 100} of {COUNT} rows")
    told = spots["full"].explain('query q() { match { $s: Spot search($s.code, "x") } return { $s.code } }').to_dict()
    assert told["search"] == [f"text Spot.code: corpus of {COUNT} rows, analysed in memory"]


def test_a_partitioned_index_measures_exactly_what_it_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnigraph.engine.read.search.vector_index._PARTITION", 64)
    monkeypatch.setattr(search_neighbours, "EXACT_COLD", 0)
    monkeypatch.setattr(search_neighbours, "EXACT_HOT", 0)
    assert partitions(64 * 32) == 1
    assert partitions(COUNT) == COUNT // 64
    graph = og.init(tmp_path / "g.omni", f"node Spot {{ code: String @key  l2: Vector({DIM}) @index }}")
    vectors = np.random.default_rng(8).standard_normal((COUNT, DIM)).astype(np.float32)
    graph.load(
        json.dumps({"type": "Spot", "data": {"code": f"s{number:04}", "l2": vector.tolist()}})
        for number, vector in enumerate(vectors)
    )
    query = [0.5] * DIM
    exact = graph.query(nearest("l2", limit=COUNT), params={"v": query}).rows()
    graph.ensure_indices()
    found = graph.query(nearest("l2"), params={"v": query})
    assert "index l2_vec" in str(found.explanation)
    assert [row for row in exact if row in found.rows()] == found.rows()
    assert len({row["s.code"] for row in exact[:10]} & {row["s.code"] for row in found.rows()}) >= 8

    # How many partitions are searched is up to the query.
    text = f"""
        query q($v: Vector({DIM}), $n: I32?) {{ match {{ $s: Spot }} return {{ $s.code, nearest($s.l2, $v) as far }}
        order {{ nearest($s.l2, $v, $n) }} limit 10 }}
    """
    queries = np.random.default_rng(9).standard_normal((20, DIM)).tolist()

    distances = ((vectors[None] - np.array(queries)[:, None]) ** 2).sum(axis=2)
    nearest_ten = [{f"s{number:04}" for number in each[:10]} for each in np.argsort(distances)]

    def recall(count: int | None) -> float:
        found = [graph.query(text, params={"v": vector, "n": count}).rows() for vector in queries]
        codes = [{row["s.code"] for row in rows} for rows in found]
        return float(np.mean([len(true & each) / 10 for true, each in zip(nearest_ten, codes, strict=True)]))

    few, usual, every = recall(1), recall(None), recall(partitions(COUNT))
    assert few < 0.7 < usual <= every  # an index that is trained anew may find all with fewer partitions
    assert every > 0.99
    with pytest.raises(og.errors.ParameterError, match=r"partitions that nearest.* must be at least 1, got 0"):
        graph.query(text, params={"v": query, "n": 0})
