"""Searches by words that are answered directly answer what the executor answers, in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.engine.read import direct_search
from omnigraph.engine.read import query as query_module
from omnigraph.errors import ParameterError, ResourceLimitExceeded
from omnigraph.policy.visibility import Visibility

SCHEMA = "node Doc { code: String @key  n: I32  title: String?  body: String? @index }"
WORDS = ["oak", "elm", "ash", "yew", "fir", "larch", "beech", "willow"]
BY_WORDS = "order { bm25($d.body, $t) }"
READS = {
    "codes": f"query q($t: String) {{ match {{ $d: Doc }} return {{ $d.code }} {BY_WORDS} limit 10 }}",
    "values": f"query q($t: String) {{ match {{ $d: Doc }} return {{ $d.title, $d.n as many }} {BY_WORDS} limit 3 }}",
    "scores": f"query q($t: String) {{ match {{ $d: Doc }} return {{ $d.code, bm25($d.body, $t) as s }} {BY_WORDS} limit 7 }}",
    "a later page": f"query q($t: String) {{ match {{ $d: Doc }} return {{ $d.code }} {BY_WORDS} limit 5 offset 4 }}",
    "fixed words": 'query q() { match { $d: Doc } return { $d.code } order { bm25($d.body, "oak fir") } limit 4 }',
    "limit of a parameter": f"query q($t: String, $k: I64) {{ match {{ $d: Doc }} return {{ $d.code }} {BY_WORDS} limit $k }}",
    "some": f"query q($t: String) {{ match {{ $d: Doc $d.n < 50 }} return {{ $d.code }} {BY_WORDS} limit 10 }}",
    "whole nodes": f"query q($t: String) {{ match {{ $d: Doc }} return {{ $d }} {BY_WORDS} limit 2 }}",
    "all": f"query q($t: String) {{ match {{ $d: Doc }} return {{ $d.code }} {BY_WORDS} }}",
}
DIRECT = {"codes", "values", "scores", "a later page", "fixed words", "limit of a parameter"}
QUERIES = [
    "oak",
    "elm yew",
    "larch oak larch",
    "beech willow fir ash oak",
    "Oaks and elms",
    "nothing",
    "",
    "the",
    "höhe oak",
]


def code(number: int) -> str:
    return f"d{number:05}"


def documents(count: int) -> pa.Table:
    chance = np.random.default_rng(count)
    order = chance.permutation(count)  # ids do not ascend with rows, and many texts have the same score
    chosen = np.minimum(chance.geometric(0.35, (count, 6)) - 1, len(WORDS) - 1)
    bodies = [
        None if at % 11 == 0 else " ".join(WORDS[word] for word in chosen[at][: 1 + at % 6]) for at in range(count)
    ]
    titles = [None if at % 5 == 0 else f"title {at % 9}" for at in range(count)]
    columns = {"code": [code(at) for at in order], "n": pa.array(order % 100, pa.int32()), "title": titles}
    return pa.table({**columns, "body": pa.array(bodies, pa.string())})


def graph_of(place: Path, count: int) -> og.Graph:
    graph = og.init(place, SCHEMA)
    graph.load(documents(count), type="Doc", runner="inline")
    return graph


@pytest.fixture(scope="module", params=[200, 6_000], ids=["small", "large"])
def graph(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[og.Graph]:
    with graph_of(tmp_path_factory.mktemp("words") / "g.omni", request.param) as made:
        yield made


def executed(graph: og.Graph, text: str, params: dict[str, Any]) -> og.Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query_module, "direct_answer", lambda *given: None)
        return graph.query(text, params=params)


def params_of(read: str, words: str) -> dict[str, Any]:
    given: dict[str, Any] = {} if read == "fixed words" else {"t": words}
    return {**given, "k": 6} if read == "limit of a parameter" else given


def warm(graph: og.Graph, read: str) -> None:
    for at in range(40):
        graph.query(READS[read], params=params_of(read, WORDS[at % len(WORDS)]))


def same(graph: og.Graph, read: str) -> None:
    for words in QUERIES:
        params = params_of(read, words)
        expected, found = executed(graph, READS[read], params), graph.query(READS[read], params=params)
        assert found.to_arrow().equals(expected.to_arrow()), (read, words)
        assert (found.columns, found.rows(), len(found)) == (expected.columns, expected.rows(), len(expected))
        steps = [[(step.op, step.rows) for step in each.explanation.profile.steps] for each in (found, expected)]
        assert steps[0] == steps[1], (read, words)


@pytest.mark.parametrize("read", READS)
def test_a_direct_search_answers_what_the_executor_answers(graph: og.Graph, read: str, answered: list[bool]) -> None:
    warm(graph, read)
    answered.clear()
    same(graph, read)
    assert any(answered) == (read in DIRECT)


def test_ids_that_ascend_with_rows_need_not_be_read_for_ties(tmp_path: Path, answered: list[bool]) -> None:
    with og.init(tmp_path / "g.omni", SCHEMA) as graph:
        graph.load(documents(5_000).sort_by("code"), type="Doc", runner="inline")
        warm(graph, "codes")
        same(graph, "codes")
        assert any(answered)


def test_what_was_committed_since_is_seen_at_once(tmp_path: Path, answered: list[bool]) -> None:
    with graph_of(tmp_path / "g.omni", 300) as graph:
        ask = graph.prepare(READS["codes"])
        for number in range(3):
            for _ in range(8):
                ask({"t": "oak"})
            assert answered[-1]
            insert = "query q($c: String) { insert Doc { code: $c, n: 1, body: 'oak oak oak oak' } }".replace("'", '"')
            graph.mutate(insert, params={"c": f"a{number}"})
            assert f"a{number}" in [row["d.code"] for row in ask({"t": "oak"}).rows()]
            gone = ask({"t": "oak"}).rows()[-1]["d.code"]
            graph.mutate("query q($c: String) { delete Doc where code = $c }", params={"c": gone})
            assert gone not in [row["d.code"] for row in ask({"t": "oak"}).rows()]
            same(graph, "scores")


def test_numbers_that_are_not_a_limit_are_refused_as_before(graph: og.Graph, answered: list[bool]) -> None:
    read = "limit of a parameter"
    warm(graph, read)
    assert answered[-1]
    with pytest.raises(ParameterError, match="must not be negative"):
        graph.query(READS[read], params={"t": "oak", "k": -1})
    assert graph.query(READS[read], params={"t": "oak", "k": 0}).rows() == []
    with pytest.raises(ResourceLimitExceeded):
        graph.query(READS["codes"], params={"t": "oak"}, limits=og.Limits(result_rows=1))


def test_many_entries_and_many_bytes_are_left_to_the_executor(
    graph: og.Graph, answered: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    warm(graph, "codes")
    assert answered[-1]
    monkeypatch.setattr(direct_search, "_MOST_ENTRIES", 10)
    graph.query(READS["codes"], params={"t": "oak"})
    assert not answered[-1]
    monkeypatch.setattr(direct_search, "MOST_BYTES", 40)  # four codes of six bytes, not ten
    text = READS["codes"].replace("query q", "query few")
    for _ in range(8):
        assert len(graph.query(text, params={"t": "oak"})) == 10
    assert not answered[-1]


def test_a_masked_property_stays_masked(tmp_path: Path, answered: list[bool]) -> None:
    with graph_of(tmp_path / "g.omni", 60) as graph:
        warm(graph, "values")
        assert answered[-1]
        shown = graph.with_visibility(Visibility(None, frozenset({("Doc", frozenset({"title"}))})))
        for _ in range(5):
            found = shown.query(READS["values"], params={"t": "oak"}).tuples()
            assert [title for title, _ in found] == [None] * len(found)
