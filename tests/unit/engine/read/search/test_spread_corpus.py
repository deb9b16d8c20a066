"""A corpus that is built fragment by fragment is the one that a build in one piece makes, whoever runs the tasks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.engine.maintenance import corpus_builds
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.search import corpus_store, spread_corpus
from omnigraph.engine.read.search.corpus_store import TextColumn, fresh_corpus, kept_corpus
from omnigraph.engine.read.search.spread_corpus import build_spread_corpus
from omnigraph.storage.base.derived import drop_everything
from omnigraph.storage.lance.tables import TableHandle

SCHEMA = "node Note { code: String @key  text: String? @index }"
WORDS = ["stone", "stones", "Hütte", "rest", "house", "old", "and", "über", "q1", "running"]
LOADS, ROWS = 5, 300


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[og.Graph]:
    """Texts in several fragments, some null or empty, with a common word; some rows changed, some deleted."""
    chance = np.random.default_rng(3)
    with og.init(tmp_path / "g", SCHEMA) as made:
        for load in range(LOADS):
            made.load(_notes(chance, load * ROWS), type="Note", runner="inline")
        made.load(_notes(chance, ROWS // 2, count=40), type="Note", mode="merge", runner="inline")
        made.mutate('query gone() { delete Note where code = "n7" }')
        yield made


def _notes(chance: np.random.Generator, first: int, count: int = ROWS) -> pa.Table:
    texts: list[str | None] = [" ".join(chance.choice(WORDS, chance.integers(1, 9))) + " and" for _ in range(count)]
    texts[::11], texts[::13] = [None] * len(texts[::11]), [""] * len(texts[::13])
    return pa.table({"code": [f"n{first + at}" for at in range(count)], "text": pa.array(texts, pa.utf8())})


def _column(graph: og.Graph) -> TextColumn:
    view = graph.view()
    return TextColumn(Entities(view, view.catalog.nodes["Note"]), "text", keep=True)


def _assert_built_alike(graph: og.Graph) -> None:
    column = _column(graph)
    found = kept_corpus(column)
    assert found is not None
    (mine,), (theirs,) = found.parts, fresh_corpus(column).parts
    assert len(mine) > LOADS
    for name, values in theirs.segment.arrays().items():
        made = mine.segment.arrays()[name]
        assert made.dtype == values.dtype
        assert made.tolist() == values.tolist()


@pytest.mark.parametrize(("task_rows", "entries_at_once"), [(1, 1), (400, 50), (10_000, 1 << 20)])
def test_fragments_join_to_what_one_build_makes(
    graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task_rows: int, entries_at_once: int
) -> None:
    monkeypatch.setattr(corpus_store, "WORTH_KEEPING", 10)
    tasks: list[Any] = []

    def run(work: Any, items: Any) -> list[Any]:
        tasks.extend(items)
        return [work(item) for item in items]

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    build_spread_corpus(_column(graph), run, str(scratch), task_rows=task_rows, entries_at_once=entries_at_once)
    assert (len(tasks) == 1) == (task_rows == 10_000)
    _assert_built_alike(graph)


def test_rows_that_came_back_in_a_later_fragment_are_put_in_their_place(
    graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_store, "WORTH_KEEPING", 10)
    handle = _column(graph).table.handle
    first = [int(batch.column("_rowid").to_numpy().min()) for batch in handle.batches(["_rowid"], batch_size=1 << 20)]
    assert first != sorted(first), "an update keeps the id of a row and writes it to a new fragment"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    build_spread_corpus(_column(graph), lambda work, items: [work(item) for item in items], str(scratch), task_rows=1)
    _assert_built_alike(graph)


def test_large_tables_are_analysed_fragment_by_fragment(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_store, "WORTH_KEEPING", 10)
    uri = graph.uri
    graph.close()
    built: list[str] = []
    whole = spread_corpus.build_spread_corpus

    def noted(column: TextColumn, *given: Any, **more: Any) -> None:
        built.append(column.name)
        whole(column, *given, **more)

    monkeypatch.setattr(corpus_builds, "build_spread_corpus", noted)
    with og.open(uri, settings=og.Settings(distribute_rows=ROWS)) as again:
        again.ensure_indices(runner="inline")
        assert built == ["text"]
        _assert_built_alike(again)
        again.ensure_indices(runner="inline")
        assert built == ["text"], "what is kept is not built again"
    with og.open(uri) as small:
        drop_everything(small._core.store.root)
        small.ensure_indices(runner="inline")
        assert built == ["text"], "a small table is analysed in one piece"


def test_a_graph_beside_which_nothing_can_be_kept_is_analysed_in_memory(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_store, "WORTH_KEEPING", 10)
    monkeypatch.setattr(corpus_builds, "kept_corpus", lambda column: None)
    made = corpus_builds._in_pieces(graph._core, _column(graph), spark=None, on_spark=False)
    assert [part.segment.arrays()["holders"].tolist() for part in made.parts] == [
        part.segment.arrays()["holders"].tolist() for part in fresh_corpus(_column(graph)).parts
    ]


def test_fragments_without_rows_have_no_words(graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TableHandle, "batches", lambda self, *given, **more: iter(()))
    monkeypatch.setattr(corpus_store, "WORTH_KEEPING", 10)
    build_spread_corpus(_column(graph), lambda work, items: [work(item) for item in items], str(tmp_path), task_rows=1)
    found = kept_corpus(_column(graph))
    assert found is not None
    assert (found.count, found.matching("stone").tolist()) == (0, [])
