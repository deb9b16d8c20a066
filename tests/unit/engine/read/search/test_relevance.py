"""The best texts are those of all scores, however few were computed; so is a fusion of which few rows are asked for."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.engine.read.search import relevance as module
from omnigraph.engine.read.search.corpus import Corpus, Part, analysed
from omnigraph.engine.read.search.relevance import Hits, Weight, WordList

WORDS = ["oak", "elm", "ash", "yew", "fir"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


def corpus_of(texts: list[str], cut: int) -> Corpus:
    """The texts in two parts, some of the first dead because the second has them as well."""
    rows = np.arange(10, 10 + 2 * len(texts), 2)
    first = Part(analysed(pa.array(texts, pa.utf8()), rows))
    news = analysed(pa.array(texts[cut:], pa.utf8()), rows[cut:])
    return Corpus([first]).replaced(rows[cut:], None, news) if cut < len(texts) else Corpus([first])


def best(hits: Hits, most: int) -> list[tuple[int, float]]:
    pairs = list(zip(hits.rows.tolist(), hits.scores.tolist(), strict=True))
    last = sorted(hits.scores.tolist(), reverse=True)[:most][-1:] or [0.0]
    return [pair for pair in pairs if pair[1] >= last[0]]


@given(
    st.lists(TEXTS, max_size=40),
    st.lists(st.sampled_from([*WORDS, "none"]), max_size=4).map(" ".join),
    st.integers(1, 8),
    st.integers(0, 40),
    st.sets(st.integers(0, 100)),
    st.sampled_from([(1, 1, 0, 0), (2, 3, 0, 4), (128, 256, 8, 8_192), (2, 1, 8, 2)]),
)
def test_the_best_are_those_of_all(
    texts: list[str], query: str, most: int, cut: int, some: set[int], sizes: tuple[int, int, int, int]
) -> None:
    block, leaders, look_up, start = sizes
    rows = np.array(sorted(some), np.int64)
    with (
        patch.object(module, "_BLOCK", block),
        patch.object(module, "_LEADERS", leaders),
        patch.object(module, "_LOOK_UP", look_up),  # 0: candidates are always looked up one by one
        patch.object(module, "_START", start),
    ):
        found = corpus_of(texts, cut).relevance(query)
        every = found.every()
        assert every.rows.tolist() == sorted(set(every.rows.tolist()))
        assert best(found.best(most), len(texts)) == best(every, most)  # to the last bit
        assert best(found.best_of(rows, most, len(texts)), len(texts)) == best(every.among(rows), most)
        for each in (found.of(rows), found.every_of(rows)):
            assert best(each, len(texts)) == best(every.among(rows), len(texts))


@given(st.lists(st.integers(1, 5), max_size=30), st.sampled_from([0.7, 1.0, 2.0, 2.5]))
def test_a_list_finds_what_reaches_a_score(counts: list[int], least: float) -> None:
    texts, often = np.arange(3, 3 + len(counts), dtype=np.int32), np.array(counts, np.int32)
    weight = Weight(1.5, np.arange(6, 40, dtype=np.int32), 6, 9.0)
    scores = weight.scores(texts, often)
    for block, leaders in ((1, 1), (4, 3), (128, 256)):
        with patch.object(module, "_BLOCK", block), patch.object(module, "_LEADERS", leaders):
            words = WordList(texts, often, weight)
            assert words.highest >= max(scores, default=0.0)
            some = np.array([1, 3, 4, 60], np.int32)
            added = [scores[text - 3] if 3 <= text < 3 + len(counts) else 0.0 for text in some.tolist()]
            assert words.at(some).tolist() == added  # before all of them are computed, and …
            expected = [text for text, score in zip(texts.tolist(), scores, strict=True) if score >= least]
            assert sorted(words.reaching(least).tolist()) == expected
            assert words.at(some).tolist() == added  # … afterwards
            assert words.highest == max(scores, default=0.0)
            ordered = sorted(scores, reverse=True)
            assert [words.nth(most) for most in range(1, len(scores) + 2)] == [*ordered, 0.0]


# --- fusion -----------------------------------------------------------------------------------------------

SCHEMA = "node Tree { code: String @key  part: I32  about: String?  v: Vector(2)? }"
COUNT = 60


def tree(number: int, random: np.random.Generator) -> dict[str, Any]:
    words = " ".join(random.choice(WORDS, random.integers(0, 4)))
    vector = random.integers(0, 4, 2).tolist()  # few different ones, so that there are ties
    return {"code": f"t{number:02}", "part": number % 3, "about": words, "v": vector if number % 7 else None}


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> tuple[og.Graph, list[dict[str, Any]]]:
    random = np.random.default_rng(3)
    # Not in the order of their keys, so that the order of rows is not that of ids.
    rows = [tree(int(number), random) for number in random.permutation(COUNT)]
    graph = og.init(tmp_path_factory.mktemp("trees") / "trees.omni", schema=SCHEMA)
    graph.load([json.dumps({"type": "Tree", "data": row}) for row in rows])
    return graph, rows


@pytest.mark.parametrize("where", ["", "$t.part < 2"], ids=["all", "some"])
@pytest.mark.parametrize("query", ["oak", "elm yew", "none", "fir fir ash oak"])
@pytest.mark.parametrize("k", [60, 0])
def test_a_fusion_ranks_the_few_as_it_ranks_all(
    trees: tuple[og.Graph, list[dict[str, Any]]], query: str, where: str, k: int
) -> None:
    graph, rows = trees
    texts = {row["code"]: row["about"] for row in rows if row["part"] < 2 or not where}
    for limit in (1, 4, 9):
        call = f'rrf(nearest($t.v, [1.0, 2.0]), bm25($t.about, "{query}"), $k)'
        text = f"query q($k: I64) {{ match {{ $t: Tree {where} }} return {{ $t.code, {call} as s }} order {{ {call} desc }}"
        found = graph.query(f"{text} limit {limit} }}", params={"k": k}).rows()
        near = f"query q() {{ match {{ $t: Tree {where} }} return {{ $t.code }} order {{ nearest($t.v, [1.0, 2.0]) }}"
        words = (
            f'query q() {{ match {{ $t: Tree {where} }} return {{ $t.code }} order {{ bm25($t.about, "{query}") desc }}'
        )
        nearest = [row["t.code"] for row in graph.query(f"{near} limit {limit} }}").rows()]
        relevant = [row["t.code"] for row in graph.query(f"{words} limit {COUNT} }}").rows()]
        total = {
            code: sum(1 / (k + 1 + arm.index(code)) for arm in (nearest, relevant) if code in arm) for code in texts
        }
        expected = sorted((code for code in texts if total[code]), key=lambda code: (-total[code], code))[:limit]
        assert [row["t.code"] for row in found] == expected
        assert [row["s"] for row in found] == pytest.approx([total[code] for code in expected])
