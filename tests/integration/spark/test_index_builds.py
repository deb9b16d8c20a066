"""Indexes that Spark tasks build over groups of fragments: one commit, the same coverage and the same answers."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnigraph as og
from omnigraph.engine.maintenance import indexes
from omnigraph.engine.maintenance.indexes import missing_indexes
from omnigraph.engine.read.columns import key_index_store
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.key_index_store import build_keys, kept_keys, key_artifact
from omnigraph.engine.read.search import corpus_store
from omnigraph.engine.read.search.corpus_store import TextColumn, fresh_corpus, kept_corpus
from omnigraph.errors import BadRequest
from omnigraph.pipeline.tasks import indexing
from omnigraph.pipeline.tasks.indexing import SpreadBuilder
from omnigraph.pipeline.tasks.jobs import LocalTasks
from omnigraph.settings import Settings
from omnigraph.storage.base.derived import drop_everything
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.tables import TableHandle
from omnigraph.testing.crash.invariants import violations

SCHEMA = """
node Spot { code: String @key  note: String? @index  part: I32? @index  v: Vector(8)? @index @metric("cosine") }
edge Path: Spot -> Spot
"""
LOADS, EACH = 5, 60
VECTORS = np.random.default_rng(3).standard_normal((LOADS * EACH, 8)).astype(np.float32)
QUERIES = {
    "by key": 'query q() { match { $s: Spot { code: "s0130" } } return { $s.code, $s.part } }',
    "by range": "query q() { match { $s: Spot  $s.part >= 5 } return { $s.code } order { $s.code } }",
    "by words": """query q() { match { $s: Spot  search($s.note, "stone 3") } return { $s.code } order { $s.code } }""",
    "by text": 'query q() { match { $s: Spot } return { $s.code } order { bm25($s.note, "stone 3") desc } limit 20 }',
    "by vector": "query q($v: Vector(8)) { match { $s: Spot } return { $s.code } order { nearest($s.v, $v) } limit 9 }",
    "by path": 'query q() { match { $s: Spot { code: "s0001" }  $s path $t } return { $t.code } order { $t.code } }',
}


def records(load: int) -> list[dict[str, Any]]:
    """Every load makes a fragment; the third one has no vectors."""
    numbers = range(load * EACH, (load + 1) * EACH)
    spots = [
        {
            "type": "Spot",
            "data": {
                "code": f"s{at:04}",
                "note": f"stone {at % 7}",
                "part": at % 10,
                "v": None if load == 2 else VECTORS[at].tolist(),
            },
        }
        for at in numbers
    ]
    paths = [{"edge": "Path", "from": f"s{at % EACH:04}", "to": f"s{at:04}"} for at in numbers]
    return [*spots, *paths]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("built") / "g.omni"
    with og.init(place, SCHEMA) as graph:
        for load in range(LOADS):
            graph.load(records(load))
    return place


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of the index of each part that tasks have been given."""
    seen: list[str] = []
    plain = indexing._parts

    def noted(*given: Any) -> Any:
        found = plain(*given)
        seen.extend(part.name for part in found)
        return found

    monkeypatch.setattr(indexing, "_parts", noted)
    return seen


def spot_table(graph: og.Graph) -> TableHandle:
    return graph.view().table(graph.view().catalog.nodes["Spot"])


def answers(graph: og.Graph) -> dict[str, Any]:
    params = {"v": VECTORS[17].tolist()}
    found = {name: graph.query(text, params=params if "$v" in text else {}).rows() for name, text in QUERIES.items()}
    return {**found, "coverage": [each.to_json() for each in graph.indexes()]}


def edges_by_id(graph: og.Graph) -> int:
    """How many edges are found by their ids, one question each."""
    view = graph.view()
    table = view.table(view.catalog.edges["Path"])
    return sum(table.take_ids([each], ["id"]).num_rows for each in table.scan(["id"])["id"].to_pylist())


def index_answers(table: TableHandle) -> dict[str, Any]:
    """What lance itself finds through each index."""
    told = table.dataset.scanner(
        ["id"], full_text_query="stone 3", fast_search=True, disable_scoring_autoprojection=True
    )
    ids = table.dataset.scanner(["id"], filter="code = 's0130' OR part = 4", fast_search=True)
    nearest = {"column": "v", "q": VECTORS[17], "k": 300, "metric": "cosine", "refine_factor": 4}
    near = table.dataset.scanner(["id", "_distance"], nearest=nearest, fast_search=True)
    return {
        "words": sorted(told.to_table()["id"].to_pylist()),
        "values": sorted(ids.to_table()["id"].to_pylist()),
        "vectors": near.to_table()["id"].to_pylist(),
    }


def test_tasks_build_what_this_process_would_build(
    template: Path, tmp_path: Path, spark: Any, parts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "LARGE_LOAD", 10)  # generated ids of edges get ranges of zones
    found = {}
    for runner in ("inline", "spark"):
        shutil.copytree(template, tmp_path / runner)
        with og.open(tmp_path / runner) as graph:
            before, version = len(graph.commits.list(maintenance=True)), spot_table(graph).version
            assert graph.ensure_indices(runner=runner) == []
            assert len(graph.commits.list(maintenance=True)) == before + 1
            assert spot_table(graph).version == version + 1
            assert bool(parts) == (runner == "spark")
            found[runner] = answers(graph), index_answers(spot_table(graph))
            assert edges_by_id(graph) == LOADS * EACH
            segments = {index.name: index.segments for index in spot_table(graph).indices()}
            files = Path(spot_table(graph).address.uri, "_indices")
            assert len(list(files.iterdir())) == sum(segments.values()), "what was joined is gone"
            assert segments.pop("v_vec") == (2 if runner == "spark" else 1)
            assert set(segments.values()) == {1}
    assert found["inline"] == found["spark"]
    assert len(found["spark"][1]["words"]) == LOADS * EACH, "every note has the word"
    assert len(found["spark"][1]["vectors"]) == (LOADS - 1) * EACH
    assert {each["coverage"] for each in found["spark"][0]["coverage"]} == {1.0}
    assert [each["index_type"] for each in found["spark"][0]["coverage"] if each["type_key"] == "edge:Path"] == [
        "ZONEMAP"
    ]
    assert sorted(set(parts)) == ["code_fts", "code_idx", "id_idx", "note_fts", "note_idx", "part_idx", "v_vec"]


def test_optimize_extends_large_tables_by_tasks(template: Path, tmp_path: Path, spark: Any, parts: list[str]) -> None:
    place = shutil.copytree(template, tmp_path / "g.omni")
    with og.open(place, settings=Settings(distribute_rows=100)) as graph:
        expected = answers(graph)
        graph.optimize()
        assert parts
        found = answers(graph)
        assert {each["coverage"] for each in found.pop("coverage")} == {1.0}
        expected.pop("coverage")
        assert found == expected
        parts.clear()
        graph.load([{"type": "Spot", "data": {"code": "new", "part": 4, "note": "stone 3"}}])
        graph.optimize()
        assert "note_fts" in parts, "the new row is indexed by a task"
        assert "id:new" in {f"id:{each}" for each in index_answers(spot_table(graph))["words"]}


def test_a_large_load_on_spark_is_indexed_by_tasks(
    tmp_path: Path, spark: Any, parts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "LARGE_LOAD", 10)
    with og.init(tmp_path / "g.omni", SCHEMA, settings=Settings(distribute_rows=10)) as graph:
        graph.load(records(0), runner="spark")
        assert {"id_idx", "v_vec"} <= set(parts)
        # What no query here reads is left for `ensure_indices`.
        assert {each.coverage for each in graph.indexes() if each.index_type != "INVERTED"} == {1.0}
        assert not {"code_fts", "note_fts"} & set(parts)
        graph.ensure_indices()
        assert {each.coverage for each in graph.indexes()} == {1.0}


def test_texts_and_keys_of_a_large_table_are_analysed_by_tasks(
    template: Path, tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_store, "WORTH_KEEPING", 10)
    monkeypatch.setattr(key_index_store, "_WORTH_KEEPING", 10)
    stages: list[str] = []
    plain = indexing.task_runner

    def noted(stage: str, place: Any) -> Any:
        stages.append(stage)
        return plain(stage, place)

    monkeypatch.setattr(indexing, "task_runner", noted)
    with og.open(shutil.copytree(template, tmp_path / "g.omni"), settings=Settings(distribute_rows=10)) as graph:
        graph.ensure_indices(runner="inline")
        assert not {"texts", "key index"} & set(stages)
        expected = answers(graph)
        drop_everything(graph._core.store.root)
    with og.open(tmp_path / "g.omni", settings=Settings(distribute_rows=10)) as graph:
        graph.ensure_indices(runner="spark")
        assert {"texts", "key index"} <= set(stages)
        view = graph.view()
        notes = TextColumn(Entities(view, view.catalog.nodes["Spot"]), "note", keep=True)
        kept, whole = kept_corpus(notes), fresh_corpus(notes)
        assert kept is not None
        for name, values in whole.parts[0].segment.arrays().items():
            assert kept.parts[0].segment.arrays()[name].tolist() == values.tolist()
        keys = kept_keys(key_artifact(notes.table).place)
        assert keys is not None
        for name, values in build_keys(notes.table, keep=False).base.arrays().items():
            assert keys.arrays()[name].tolist() == values.tolist()
        assert list((Path(graph.uri) / "__loads").glob("*")) == []
    with og.open(tmp_path / "g.omni", read_only=True) as reader:
        assert answers(reader) == expected


def test_small_tables_and_processes_without_spark_build_in_the_commit(
    template: Path, tmp_path: Path, spark: Any, parts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = shutil.copytree(template, tmp_path / "g.omni")
    with og.open(place) as graph:
        graph.ensure_indices()
    with og.open(shutil.copytree(template, tmp_path / "h.omni"), settings=Settings(distribute_rows=10)) as graph:
        monkeypatch.setattr("omnigraph.pipeline.spark.session.is_running", lambda: False)
        graph.ensure_indices()
        assert {each.coverage for each in graph.indexes()} == {1.0}
        with pytest.raises(BadRequest, match="unknown runner 'gpu'"):
            graph.ensure_indices(runner="gpu")  # type: ignore[arg-type]
        monkeypatch.setattr("omnigraph.pipeline.runners.find_spec", lambda name: None)
        with pytest.raises(BadRequest, match=r"install omnigraph\[spark\]"):
            graph.ensure_indices(runner="spark")
    assert parts == []


def test_tables_of_a_branch_keep_their_segments_with_the_branch(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "index_builder", lambda *_: SpreadBuilder(1, tasks=LocalTasks(2)))
    with og.open(shutil.copytree(template, tmp_path / "g.omni")) as graph:
        graph.branches.create("side")
        graph.load([{"type": "Spot", "data": {"code": "late", "part": 4}}], branch="side")
        assert graph.ensure_indices(branch="side") == []
        view = graph.view("side")
        table = view.table(view.catalog.nodes["Spot"])
        files = Path(table.address.uri, "_indices")
        assert len(list(files.iterdir())) == sum(index.segments for index in table.indices()) == 8
        assert {index.fragments for index in table.indices()} == {table.fragment_ids()}
        # A branch of a branch still reads its parent's table, which has everything.
        graph.branches.create("inner", from_="side")
        assert graph.ensure_indices(branch="inner") == []
        assert index_answers(table)["values"].count("late") == 1
        assert violations(graph._core.store) == []


def test_segments_of_an_older_version_are_built_again_by_the_commit(template: Path, tmp_path: Path) -> None:
    with og.open(shutil.copytree(template, tmp_path / "g.omni")) as graph:
        info, table = graph.view().catalog.nodes["Spot"], spot_table(graph)
        build = SpreadBuilder(1, tasks=LocalTasks())
        specs = build(info, table, missing_indexes(info, table, extend=False))
        assert all(spec.segments for spec in specs)
        assert build(info, table, missing_indexes(info, table, extend=False)) is specs, "one version is built once"
        graph.load([{"type": "Spot", "data": {"code": "late", "part": 4}}])
        moved = spot_table(graph)
        staged = tables.stage_index(moved, specs)
        landed = tables.commit(staged)
        assert isinstance(landed, tables.Landed)
        assert {index.fragments for index in landed.handle.indices()} == {moved.fragment_ids()}


def test_groups_hold_every_fragment_once_and_are_about_equal() -> None:
    rows = dict.fromkeys(range(10), 100) | {20: 1_000}
    for most in (1, 2, 3, 50):
        groups = list(indexing._groups(rows, most))
        assert [number for group in groups for number in group] == list(rows)
        assert len(groups) <= most
    assert list(indexing._groups(rows, 2)) == [tuple(range(10)), (20,)]
    assert list(indexing._groups({3: 0}, 4)) == [(3,)]
