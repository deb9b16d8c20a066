"""Phrases, all words, prefixes, scores in `match`, and scripts without spaces: the engine beside the naive evaluator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.compiler.diagnostics import TypeCheckError
from omnigraph.engine.read.search import corpus_store

TEXTS = {
    "d1": "The stone hut above the quick lake",
    "d2": "A lake, quick as a stone",
    "d3": "Huts and houses; resting places",
    "d4": "Straße in Łódź, Ørsted",
    "d5": "東京都庁は新宿にある",
    "d6": "京都の寺",
    "d7": "서울특별시 관광 안내",
    "d8": None,
    "d9": "the",
    "d10": "quick stone quick stone stone",
}
SCHEMA = "node Doc { slug: String @key body: String? title: String? @index }"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    place: Path = tmp_path_factory.mktemp("texts") / "g"
    with og.init(place, SCHEMA) as made:
        records = ({"type": "Doc", "data": {"slug": slug, "body": text, "title": text}} for slug, text in TEXTS.items())
        made.load("".join(json.dumps(record) + "\n" for record in records).encode(), mode="overwrite")
        yield made


def found(graph: Any, condition: str, **params: Any) -> set[str]:
    declared = "$q: String" if params else ""
    text = f"query q({declared}) {{ match {{ $d: Doc {condition} }} return {{ $d.slug }} }}"
    rows = graph.query(text, params=params or None)
    return {row["d.slug"] for row in rows.rows()}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ('search_all($d.body, "stone lake")', {"d1", "d2"}),
        ('search_all($d.body, "stone lake moon")', set()),
        ('search_all($d.body, "the")', set()),
        ('search_phrase($d.body, "stone hut")', {"d1"}),
        ('search_phrase($d.body, "hut stone")', set()),
        ('search_phrase($d.body, "stone huts above the quick")', {"d1"}),
        ('search_phrase($d.body, "stone stone")', {"d10"}),
        ('search_phrase($d.body, "rested")', {"d3"}),
        ('search_phrase($d.body, "lake quick")', {"d2"}),
        ('search_prefix($d.body, "sto")', {"d1", "d2", "d10"}),
        ('search_prefix($d.body, "resti hou")', {"d3"}),
        ('search_prefix($d.body, "restin")', {"d3"}),
        ('search_prefix($d.body, "strass")', {"d4"}),
        ('search_prefix($d.body, "th")', set()),
        ('search($d.body, "strasse")', {"d4"}),
        ('search($d.body, "LODZ")', {"d4"}),
        ('search($d.body, "orsted")', {"d4"}),
        ('search($d.body, "東京")', {"d5"}),
        ('search($d.body, "京都")', {"d5", "d6"}),
        ('search_phrase($d.body, "京都の")', {"d6"}),
        ('search_prefix($d.body, "都庁")', {"d5"}),
        ('search_prefix($d.body, "寺")', set()),
        ('search_prefix($d.body, "の")', {"d6"}),
        ('search($d.body, "서울")', {"d7"}),
        ('search($d.body, "관광")', {"d7"}),
        ('search($d.body, "stone") and not search($d.body, "lake")', {"d10"}),
        ('not search($d.body, "stone") and search_prefix($d.body, "h")', {"d3"}),
    ],
)
def test_what_a_text_function_finds(graph: Any, condition: str, expected: set[str]) -> None:
    assert found(graph, condition) == expected


@pytest.mark.parametrize("function", ["search_all", "search_phrase", "search_prefix"])
def test_a_kept_corpus_gives_the_same_as_the_texts(graph: Any, function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = ["stone lake", "quick stone", "re", "京都", "stone hut above", "", "the", "resting places"]
    expected = [found(graph, f"{function}($d.body, $q)", q=query) for query in queries]
    monkeypatch.setattr(corpus_store, "WORTH_KEEPING", 1)
    assert [found(graph, f"{function}($d.title, $q)", q=query) for query in queries] == expected


def test_a_score_can_be_a_threshold_and_be_boosted(graph: Any) -> None:
    scores = {
        row["d.slug"]: row["s"]
        for row in graph.query('query q() { match { $d: Doc } return { $d.slug, bm25($d.body, "stone") as s } }').rows()
    }
    middle = sorted(scores.values())[-2]
    assert found(graph, f'bm25($d.body, "stone") >= {middle:.17f}') == {
        s for s, score in scores.items() if score >= middle
    }
    assert found(graph, 'bm25($d.body, "stone") > 0') == {"d1", "d2", "d10"}
    text = """
    query q() {
      match { $d: Doc  search($d.body, "stone lake") }
      return { $d.slug, 3 * bm25($d.title, "lake") + bm25($d.body, "stone") as s }
      order { 3 * bm25($d.title, "lake") + bm25($d.body, "stone") desc }
    }
    """
    rows = graph.query(text).rows()
    assert [row["s"] for row in rows] == sorted((row["s"] for row in rows), reverse=True)
    assert rows[-1]["d.slug"] == "d10"


def test_other_ranks_stay_where_they_order(graph: Any) -> None:
    with pytest.raises(TypeCheckError) as caught:
        found(graph, 'rrf(bm25($d.body, "a"), bm25($d.title, "a")) > 1')
    assert caught.value.code == "T27"


def test_relevance_is_a_number_in_functions(graph: Any) -> None:
    with pytest.raises(TypeCheckError) as caught:
        found(graph, 'lower(bm25($d.body, "a")) = "a"')
    assert caught.value.code == "T7"


@pytest.mark.parametrize(
    ("slug", "query", "words", "expected"),
    [
        ("d1", "stone", 30, "The **stone** hut above the quick lake"),
        ("d1", "lakes quick", 3, "…the **quick** **lake**"),
        ("d1", "moon", 3, "The stone hut…"),
        ("d3", "rest", 2, "…houses; **resting**…"),
        ("d3", "rest house", 3, "…and **houses**; **resting**…"),
        ("d4", "strasse lodz", 30, "**Straße** in **Łódź**, Ørsted"),
        ("d5", "東京", 4, "**東京**都庁…"),
        ("d5", "新宿", 3, "…は**新宿**…"),
        ("d8", "stone", 30, None),
    ],
)
def test_a_snippet_marks_what_was_found(graph: Any, slug: str, query: str, words: int, expected: str | None) -> None:
    text = "query q($s: String, $q: String, $n: I64) { match { $d: Doc { slug: $s } } return { snippet($d.body, $q, $n) as t } }"
    (row,) = graph.query(text, params={"s": slug, "q": query, "n": words}).rows()
    assert row["t"] == expected
    text = f'query q() {{ match {{ $d: Doc {{ slug: "{slug}" }} }} return {{ snippet($d.body, "{query}", {words}) }} }}'
    (row,) = graph.query(text).rows()
    assert row["snippet"] == expected
