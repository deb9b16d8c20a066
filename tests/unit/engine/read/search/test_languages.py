"""`@language`: the words of a text property are those of its language, in every kind of search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import snowballstemmer

import omnigraph as og
from omnigraph.compiler.catalog.annotations import LANGUAGES
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.diagnostics import SchemaError, TypeCheckError
from omnigraph.compiler.temporal import DateTime
from omnigraph.testing.naive.evaluator import evaluate
from omnigraph.testing.naive.observe import image_of

SCHEMA = """
node Note { k: String @key  de: String? @index @language("german")  en: String? @index  raw: String? @language("none") }
node Card { k: String @key  de: String? @language("german")  en: String? @language("french") }
edge Cites: Note -> Note { de: String? @language("german") }
"""
TEXTS = {
    "a": "Die Häuser der Stadt",
    "b": "Ein Haus am See, das Haus",
    "c": "Das Hausen der Mäuse",
    "d": "The houses",
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    found = og.init(tmp_path_factory.mktemp("languages") / "g.omni", schema=SCHEMA)
    found.load(
        [
            *({"type": "Note", "data": {"k": k, "de": text, "en": text, "raw": text}} for k, text in TEXTS.items()),
            {"type": "Card", "data": {"k": "x", "de": "Häuser", "en": "maisons"}},
            {"edge": "Cites", "from": "a", "to": "b", "data": {"de": "über Häuser"}},
        ]
    )
    return found


def found_by(graph: og.Graph, condition: str, **params: Any) -> str:
    text = f'query q($w: String = "") {{ match {{ $n: Note {condition} }} return {{ $n.k }} order {{ $n.k }} }}'
    return "".join(row["n.k"] for row in graph.query(text, params=params).rows())


def test_words_are_found_in_the_forms_of_their_language(graph: og.Graph) -> None:
    assert found_by(graph, 'search($n.de, "Haus")') == "abc"
    assert found_by(graph, 'search($n.en, "Haus")') == "b"
    assert found_by(graph, 'search($n.en, "house")') == "d"
    assert found_by(graph, 'search($n.de, "housing")') == ""
    assert found_by(graph, 'search($n.en, "housing")') == "d"
    assert found_by(graph, 'search($n.raw, "Haus")') == "b"
    assert found_by(graph, 'search($n.raw, "the")') == "d", "only English has stop-words"
    assert found_by(graph, 'search_all($n.de, "stadt häuser")') == "a"
    assert found_by(graph, 'search_phrase($n.de, "Haus der Städte")') == "a"
    assert found_by(graph, 'search_prefix($n.de, "städ")') == "a"
    assert found_by(graph, 'fuzzy($n.de, "Hauss", 1)') == "abc"
    assert found_by(graph, "search($n.de, $w)", w="hauses") == "abc"
    assert found_by(graph, 'bm25($n.de, "Häuser") > 0') == "abc"


def test_ranks_and_snippets_know_the_language(graph: og.Graph) -> None:
    text = 'query q() { match { $n: Note } return { $n.k, snippet($n.de, "Haus", 2) as s } order { bm25($n.de, "Haus") } limit 9 }'
    rows = graph.query(text).rows()
    assert [row["n.k"] for row in rows] == ["b", "a", "c"]
    assert rows[1]["s"] == "Die **Häuser**…"


def test_edges_and_types_of_one_language_are_searched_together(graph: og.Graph) -> None:
    edges = graph.query('query q() { match { $e: Cites search($e.de, "Haus") } return { $e.from } }')
    assert [tuple(row.values()) for row in edges.rows()] == [("a",)]
    both = graph.query('query q() { match { $x: Note|Card search($x.de, "Haus") } return { count($x) as n } }')
    assert both.scalar() == 4
    with pytest.raises(TypeCheckError, match="different languages: english, french"):
        graph.query('query q() { match { $x: Note|Card search($x.en, "Haus") } return { count($x) as n } }')


@pytest.mark.parametrize(
    "condition", ['search($n.de, "Haus")', 'search_prefix($n.de, "häu")', 'bm25($n.de, "Haus") > 0.4']
)
def test_the_naive_evaluator_says_the_same(graph: og.Graph, condition: str) -> None:
    text = f"query q() {{ match {{ $n: Note {condition} }} return {{ $n.k }} }}"
    catalog = graph.view().catalog
    expected = evaluate(compile_query(text, catalog).checked, catalog, image_of(graph.view()), {}, DateTime(0))
    assert graph.query(text).rows() == expected


def test_a_change_of_language_changes_what_is_found(tmp_path: Path) -> None:
    plain = "node Note { k: String @key  t: String? @index }"
    with og.init(tmp_path / "g.omni", schema=plain) as graph:
        graph.load([{"type": "Note", "data": {"k": k, "t": text}} for k, text in TEXTS.items()])
        query = 'query q() { match { $n: Note search($n.t, "Haus") } return { count($n) as n } }'
        assert graph.query(query).scalar() == 1
        before = graph.commits.list()[0]
        graph.schema.apply(plain.replace("@index", '@index @language("german")'))
        assert graph.query(query).scalar() == 3
        assert graph.query(query, at=before).scalar() == 1


def test_unknown_languages_are_refused_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="did you mean 'german'"):
        og.init(tmp_path / "g.omni", schema='node Note { k: String @key  t: String? @language("germn") }')


def test_every_language_has_a_stemmer() -> None:
    assert set(LANGUAGES) - {"none"} <= set(snowballstemmer.algorithms())
