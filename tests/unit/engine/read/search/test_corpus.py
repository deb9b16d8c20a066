"""Corpora: however they are cut into parts, advanced or read back, they answer like one that was built at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.rowindex import RowIndex
from omnigraph.engine.read.frames.budget import Limits
from omnigraph.engine.read.search import corpus_store
from omnigraph.engine.read.search.corpus import Corpus, Part, analysed
from omnigraph.engine.read.search.corpus_store import TextColumn, corpus_of
from omnigraph.engine.read.search.segment import Segment
from omnigraph.engine.read.search.snippets import snippets_of
from omnigraph.errors import QueryCancelled, ResourceLimitExceeded
from omnigraph.memory.budget import NOTHING_KEPT

TEXTS = st.none() | st.sampled_from(["", "stone hut", "stones", "old huts, old stone", "Hütte am Stein", "rest house"])
QUERIES = ["stone", "huts old", "rest", "stein hutte", "nothing", ""]


def whole(texts: dict[int, str | None]) -> Corpus:
    rows = np.array(sorted(texts), np.int64)
    return Corpus([Part(analysed(pa.array([texts[int(row)] for row in rows], pa.utf8()), rows))])


def assert_same(found: Corpus, expected: Corpus) -> None:
    assert found.count == expected.count
    for query in QUERIES:
        ours, theirs = found.bm25(query), expected.bm25(query)
        assert ours.rows.tolist() == theirs.rows.tolist()
        assert ours.scores.tolist() == theirs.scores.tolist()  # to the last bit
        assert found.matching(query).tolist() == expected.matching(query).tolist()
        assert found.matching(query, 1).tolist() == expected.matching(query, 1).tolist()


@given(
    st.lists(st.dictionaries(st.integers(0, 12), TEXTS, max_size=6), min_size=1, max_size=5),
    st.sets(st.integers(0, 12)),
    st.integers(0, 2),
)
def test_parts_answer_like_the_whole(changes: list[dict[int, str | None]], deleted: set[int], fold: int) -> None:
    """Each dictionary inserts or replaces texts; in the end some rows are deleted."""
    corpus, texts = Corpus([]), dict[int, str | None]()
    for change in changes:
        rows = np.array(sorted(change), np.int64)
        news = analysed(pa.array([change[int(row)] for row in rows], pa.utf8()), rows)
        corpus = corpus.replaced(rows, None, news)
        texts |= change
    texts = {row: text for row, text in texts.items() if row not in deleted}
    kept = RowIndex(np.array(sorted(texts), np.int64))
    corpus = corpus.replaced(None, kept, analysed(pa.array([], pa.utf8()), np.empty(0, np.int64)))
    assert_same(corpus, whole(texts))
    assert_same(corpus.folded(min(fold, len(corpus.parts))), whole(texts))


@given(st.dictionaries(st.integers(0, 30), TEXTS, max_size=10))
def test_a_segment_is_the_same_after_it_was_kept(texts: dict[int, str | None]) -> None:
    segment = whole(texts).parts[0].segment
    again = Segment.of_arrays(segment.arrays())
    assert again is not None
    assert_same(Corpus([Part(again)]), whole(texts))


def test_damaged_arrays_are_no_segment() -> None:
    arrays = whole({1: "stone hut", 2: "hut"}).parts[0].segment.arrays()
    assert Segment.of_arrays(arrays) is not None
    assert Segment.of_arrays({name: part for name, part in arrays.items() if name != "counts"}) is None
    for name in ("rows", "letters", "ends", "offsets", "holders", "counts"):
        assert Segment.of_arrays({**arrays, name: arrays[name][:-1]}) is None


# --- on a graph ------------------------------------------------------------------------------------------


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts each analysis looked at; every table counts as large."""
    counts: list[int] = []

    def counting(texts: pa.Array, rows: Any, memory: Any, language: str) -> Segment:
        counts.append(len(texts))
        return analysed(texts, rows, memory, language)

    monkeypatch.setattr(corpus_store, "analysed", counting)
    monkeypatch.setattr(corpus_store, "WORTH_KEEPING", 0)
    monkeypatch.setattr("omnigraph.engine.read.columns.entities.SMALL_TABLE", 0)
    return counts


def forget(graph: og.Graph) -> None:
    """As a fresh process would start."""
    graph._core.store.memory.clear()


def place(number: int, text: str | None = None) -> str:
    written = f"stone hut {number % 7}" if text is None else text
    return f'{{"type":"Place","data":{{"code":"p{number:03}","about":"{written}"}}}}'


RANKED = """
query q() { match { $p: Place } return { $p.code, bm25($p.about, "stone 3") as score }
            order { bm25($p.about, "stone 3") } limit 200 }
"""
FOUND = 'query q() { match { $p: Place search($p.about, "river") } return { $p.code } }'


@pytest.fixture
def places(tmp_path: Path, counted: list[int]) -> og.Graph:
    graph = og.init(tmp_path / "places.omni", "node Place { code: String @key  about: String? }")
    graph.load([place(number) for number in range(100)])
    return graph


def exact(graph: og.Graph) -> list[dict[str, Any]]:
    """The answer of a graph that has never seen anything else."""
    copy = og.init(Path(graph.uri).with_suffix(".copy"), "node Place { code: String @key  about: String? }")
    rows = graph.query("query q() { match { $p: Place } return { $p.code as code, $p.about as about } }").rows()
    copy.load([place(int(row["code"][1:]), row["about"]) for row in rows])
    return copy.query(RANKED).rows()


def test_a_fresh_process_maps_the_corpus_instead_of_analysing_again(places: og.Graph, counted: list[int]) -> None:
    first = places.query(RANKED).rows()
    assert sum(counted) == 100
    forget(places)
    assert places.query(RANKED).rows() == first
    assert sum(counted) == 100


@pytest.mark.parametrize("fresh", [False, True], ids=["same process", "fresh process"])
def test_a_small_commit_analyses_what_it_changed(places: og.Graph, counted: list[int], fresh: bool) -> None:
    places.query(RANKED)
    places.load([place(3, "a river"), place(100, "stone river"), place(101)], mode="merge")
    places.mutate('query m() { delete Place where code = "p010" }')
    counted.clear()
    if fresh:
        forget(places)
    found = places.query(RANKED).rows()
    assert [row["p.code"] for row in places.query(FOUND).rows()] == ["p003", "p100"]
    assert sum(counted) == 3
    assert found == exact(places)


def test_many_changes_are_folded_and_kept(places: og.Graph, counted: list[int]) -> None:
    places.query(RANKED)
    for number in range(10):
        places.load([place(number, f"river {number}"), place(100 + number)], mode="merge")
        places.query(RANKED)
    forget(places)
    counted.clear()
    found = places.query(RANKED).rows()
    assert sum(counted) <= 6  # what came since the last time everything was kept
    assert found == exact(places)


def test_a_property_that_is_dropped_and_added_again_starts_empty(places: og.Graph, counted: list[int]) -> None:
    places.query(RANKED)
    places.schema.apply("node Place { code: String @key }", allow_data_loss=True)
    places.schema.apply("node Place { code: String @key  about: String? }")
    assert places.query(RANKED).rows() == []
    places.load([place(7, "stone")], mode="merge")
    assert [row["p.code"] for row in places.query(RANKED).rows()] == ["p007"]


def test_a_read_only_graph_keeps_no_corpus(places: og.Graph) -> None:
    og.open(places.uri, read_only=True).query(RANKED)
    assert not (Path(places.uri) / "__derived" / "text").exists()
    forget(places)
    places.query(RANKED)
    assert (Path(places.uri) / "__derived" / "text").exists()


def test_a_branch_does_not_see_the_texts_of_another(places: og.Graph) -> None:
    places.query(RANKED)
    places.branches.create("draft")
    draft = places.branch("draft")
    draft.load([place(3, "a river")], mode="merge")
    places.load([place(4, "wide river")], mode="merge")
    assert [row["p.code"] for row in draft.query(FOUND).rows()] == ["p003"]
    assert [row["p.code"] for row in places.query(FOUND).rows()] == ["p004"]


def test_the_past_is_searched_as_it_was(places: og.Graph) -> None:
    before = places.commits.head()
    places.query(RANKED)
    places.load([place(3, "a river")], mode="merge")
    assert len(places.query(FOUND)) == 1
    assert len(places.at(before).query(FOUND)) == 0


def test_a_query_without_time_stops_before_it_analyses_a_column(places: og.Graph, counted: list[int]) -> None:
    with pytest.raises(ResourceLimitExceeded):
        places.query(RANKED, limits=Limits(seconds=0.0))
    assert counted == []


def test_analysis_asks_between_pieces_whether_it_may_go_on(places: og.Graph, counted: list[int]) -> None:
    asked: list[int] = []

    def check() -> None:
        asked.append(len(counted))
        if len(asked) > 2:
            raise QueryCancelled()

    view = places.view()
    table = Entities(view, view.catalog.nodes["Place"])
    with patch.object(corpus_store, "PIECE", 10), pytest.raises(QueryCancelled):
        corpus_of(TextColumn(table, "about", check=check))
    assert asked == [0, 1, 2]
    assert corpus_of(TextColumn(table, "about")).count == 100


class _TimeIsOver(Exception):
    """Raised where a query would be stopped."""


@pytest.mark.parametrize("how", ["any", "all", "prefix"])
@pytest.mark.parametrize("distance", [None, 2])
def test_a_search_asks_before_every_word_whether_to_go_on(how: str, distance: int | None) -> None:
    """A query of 20,000 words took two minutes with a limit of one second."""
    corpus = Corpus([Part(analysed(pa.array(["a stone hut", "an elm"]), np.arange(2), NOTHING_KEPT))])
    query = " ".join(f"word{number}" for number in range(50))
    asked: list[int] = []
    corpus.matching(query, distance, how, lambda rows: pa.array([""] * len(rows)), lambda: asked.append(1))
    assert len(asked) == 50

    def stop() -> None:
        raise _TimeIsOver

    with pytest.raises(_TimeIsOver):
        corpus.matching(query, distance, how, None, stop)
    with pytest.raises(_TimeIsOver):
        corpus.bm25(query, stop)
    with pytest.raises(_TimeIsOver):
        snippets_of(pa.array(["x"]), pa.array([query]), 3, stop)
