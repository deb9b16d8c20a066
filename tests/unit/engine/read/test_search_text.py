"""Tokens, stems, edit distances and BM25, each against a plain reading of its definition."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.read.search.analyzer import analyze, analyze_column
from omnigraph.engine.read.search.corpus import Corpus, Part, analysed
from omnigraph.engine.read.search.edit_distance import within
from omnigraph.engine.read.search.splitting import split
from omnigraph.engine.read.search.stemmer import stem

STEMS = {
    "caresses": "caress", "ponies": "poni", "cats": "cat", "feed": "feed", "agreed": "agre", "plastered": "plaster",
    "motoring": "motor", "sing": "sing", "conflated": "conflat", "troubled": "troubl", "sized": "size",
    "hopping": "hop", "falling": "fall", "hissing": "hiss", "filing": "file", "happy": "happi", "sky": "sky",
    "relational": "relat", "conditional": "condit", "vietnamization": "vietnam", "operator": "oper",
    "feudalism": "feudal", "decisiveness": "decis", "hopefulness": "hope", "formality": "formal",
    "triplicate": "triplic", "electrical": "electr", "goodness": "good", "revival": "reviv", "allowance": "allow",
    "airliner": "airlin", "adjustable": "adjust", "replacement": "replac", "adoption": "adopt",
    "communism": "commun", "effective": "effect", "probate": "probat", "rate": "rate", "controlling": "control",
    "roll": "roll", "resting": "rest",
}  # fmt: skip


@pytest.mark.parametrize(("word", "expected"), STEMS.items())
def test_words_have_the_stems_of_the_published_algorithm(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The Cafés are RESTING", ["cafe", "rest"]),
        ("stone-hut, stone/hut", ["stone", "hut", "stone", "hut"]),
        ("x" * 40 + " " + "y" * 41, ["x" * 40]),
        ("Ωmega e\u0301tude 42", ["ωmega", "etud", "42"]),
        ("to be or not to be", []),
        ("", []),
    ],
)
def test_analysis_folds_lowers_splits_and_stems(text: str, tokens: list[str]) -> None:
    assert analyze(text) == tokens


@given(st.lists(st.none() | st.text(max_size=20), max_size=6))
def test_a_column_is_analysed_like_its_texts(texts: list[str | None]) -> None:
    found = analyze_column(pa.array(texts, pa.utf8()))
    bounds = found.offsets.tolist()
    tokens = [[found.words[term] for term in found.terms[a:b]] for a, b in pairwise(bounds)]
    assert tokens == [analyze(text or "") for text in texts]


@given(st.lists(st.text("ab1 -.éÉ東", max_size=8), max_size=8), st.integers(0, 3))
def test_words_are_those_of_the_expression(texts: list[str], begin: int) -> None:
    column = pa.array(texts, pa.utf8()).slice(begin)
    expected = [[word for word in re.split(r"[^a-zéÉ東0-9]+", text) if word] for text in texts[begin:]]
    assert [[word for word in words if word] for words in split(column).to_pylist()] == expected


def test_a_sliced_column_is_analysed_from_its_own_start() -> None:
    column = pa.array(["one", "two three", "four"]).slice(1, 2)
    found = analyze_column(column)
    assert found.offsets.tolist() == [0, 2, 3]
    assert [found.words[term] for term in found.terms] == ["two", "three", "four"]


def edits(left: str, right: str) -> int:
    table = list(range(len(right) + 1))
    for row, a in enumerate(left, start=1):
        before, table[0] = table[0], row
        for column, b in enumerate(right, start=1):
            before, table[column] = table[column], min(table[column] + 1, table[column - 1] + 1, before + (a != b))
    return table[-1]


@given(st.text("abcé", max_size=6), st.lists(st.text("abcé", max_size=6), max_size=6), st.integers(0, 3))
def test_words_within_a_distance_are_those_with_few_enough_edits(word: str, words: list[str], most: int) -> None:
    assert within(word, words, most).tolist() == [edits(word, other) <= most for other in words]


def corpus_of(texts: list[str | None], first: int = 0) -> Corpus:
    return Corpus([Part(analysed(pa.array(texts, pa.utf8()), np.arange(first, first + len(texts))))])


def test_bm25_weighs_rare_words_and_short_texts_more() -> None:
    corpus = corpus_of(["stone hut", "hut", "hut hut hut by the old old river", "river"])
    scores = corpus.bm25("stone hut").at(np.arange(4))
    assert np.isnan(scores[3])
    assert scores[0] > scores[1] > 0
    lengths, mean = [2, 1, 6, 1], 2.5

    def weight(often: int, length: int) -> float:
        return often * 2.2 / (often + 1.2 * (0.25 + 0.75 * length / mean))

    rarity = math.log1p((4 - 3 + 0.5) / (3 + 0.5))
    assert scores[2] == pytest.approx(rarity * weight(3, lengths[2]))


@pytest.mark.parametrize(
    ("query", "distance", "found"),
    [
        ("huts", None, [True, False, False]),
        ("stone river", None, [True, False, True]),
        ("the", None, [False, False, False]),
        ("", None, [False, False, False]),
        ("rivr", 1, [False, False, True]),
        ("rivr", 0, [False, False, False]),
        ("hat", 1, [True, False, False]),
    ],
)
def test_a_text_matches_when_it_shares_one_word(query: str, distance: int | None, found: list[bool]) -> None:
    corpus = corpus_of(["stone hut", None, "river"])
    assert np.isin(np.arange(3), corpus.matching(query, distance)).tolist() == found
