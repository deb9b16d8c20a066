"""The nearest among some rows: the index looks at those alone, whichever part of the match chose them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import omnigraph as og
from omnigraph.engine.read.search import nearest as search_neighbours

COUNT, DIM = 2_400, 8
SCHEMA = f"""
    node Shelf {{ name: String @key }}
    node Book {{ code: String @key  part: I32?  v: Vector({DIM})? @index }}
    edge On: Book -> Shelf
"""
# Each of them keeps a few hundred books: by a filter, a hop, the lack of a hop, a filter behind a hop.
PATTERNS = {
    "a filter": "$b: Book $b.part < 3",
    "a filter that nulls do not satisfy": "$b: Book not $b.part = 4",
    "a hop": '$b on $s $s.name = "high"',
    "the lack of a hop": '$b: Book not { $b on $s $s.name = "low" }',
    "a filter and a hop": '$b on $s $s.name = "low" $b.part > 3',
    "nothing": "$b: Book",
}


def _line(type_name: str, **data: Any) -> str:
    return json.dumps({"type": type_name, "data": data})


def _book(number: int, vector: np.ndarray) -> str:
    part = None if number % 11 == 0 else number % 7
    return _line("Book", code=f"b{number:04}", part=part, v=None if number % 60 == 0 else vector.tolist())


def _on(number: int) -> str:
    shelf = "high" if number % 4 == 0 else "low"
    return json.dumps({"edge": "On", "from": f"b{number:04}", "to": shelf})


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    """Books whose index lags behind: some were deleted, some changed, some came later."""
    vectors = np.random.default_rng(4).standard_normal((COUNT, DIM)).astype(np.float32)
    graph = og.init(tmp_path_factory.mktemp("books") / "g.omni", schema=SCHEMA)
    shelves = [_line("Shelf", name="high"), _line("Shelf", name="low")]
    early = COUNT - 200
    graph.load([*shelves, *(_book(number, vectors[number]) for number in range(early))])
    graph.load([_on(number) for number in range(early)])
    graph.ensure_indices()
    graph.load([_book(number, -vectors[number]) for number in range(100, 300)], mode="merge")
    graph.mutate('query gone() { delete Book where code < "b0050" }')
    graph.load([_book(number, vectors[number]) for number in range(early, COUNT)])
    graph.load([_on(number) for number in range(early, COUNT)])
    return graph


@pytest.fixture
def through_the_index(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From this call on no number of candidates is too small for the index."""

    def few() -> None:
        monkeypatch.setattr(search_neighbours, "EXACT_COLD", 0)
        monkeypatch.setattr(search_neighbours, "EXACT_HOT", 0)

    return few


def _text(pattern: str, limit: int = 10) -> str:
    return f"""
        query q($v: Vector({DIM})) {{ match {{ {pattern} }}
        return {{ $b.code, nearest($b.v, $v) as far }} order {{ nearest($b.v, $v) }} limit {limit} }}
    """


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_the_index_finds_the_same_rows_as_an_exact_pass(
    books: og.Graph, through_the_index: Callable[[], None], pattern: str
) -> None:
    queries = np.random.default_rng(5).standard_normal((6, DIM)).tolist()
    exact = [books.query(_text(pattern), params={"v": query}).rows() for query in queries]
    through_the_index()
    for query, expected in zip(queries, exact, strict=True):
        found = books.query(_text(pattern), params={"v": query})
        assert "index v_vec" in str(found.explanation)
        assert found.rows() == expected


def test_the_index_returns_only_candidates(books: og.Graph, through_the_index: Callable[[], None]) -> None:
    through_the_index()
    found = books.query(_text(PATTERNS["a hop"]), params={"v": [0.0] * DIM})
    (step,) = [line for line in str(found.explanation).splitlines() if "v: index v_vec" in line]
    seen, among = (int(word) for word in step.split("v_vec, ")[1].removesuffix(" rows]").split(" of "))
    assert 10 < seen < 20  # it is asked for a few more than ten, not for those of every shelf
    assert among == len(range(52, COUNT, 4))  # books of the shelf that were not deleted


def test_a_limit_beyond_the_matches_gives_all_of_them(books: og.Graph, through_the_index: Callable[[], None]) -> None:
    pattern = "$b: Book $b.part = 5"
    expected = books.query(_text(pattern, COUNT), params={"v": [1.0] * DIM}).rows()
    through_the_index()
    found = books.query(_text(pattern, COUNT), params={"v": [1.0] * DIM}).rows()
    assert found == expected
    assert (
        len(found)
        == books.query(
            "query n() { match { $b: Book $b.part = 5  $b.v is not null } return { count($b) as n } }"
        ).rows()[0]["n"]
    )


def test_a_branch_is_searched_as_it_is(books: og.Graph, through_the_index: Callable[[], None]) -> None:
    books.branches.create("draft")
    target = [9.0] * DIM
    books.load([_line("Book", code="new", part=1, v=target)], branch="draft")
    books.mutate('query gone() { delete Book where code = "b0100" }', branch="draft")
    expected = {
        branch: books.query(_text(PATTERNS["a filter"]), params={"v": target}, branch=branch).rows()
        for branch in ("main", "draft")
    }
    through_the_index()
    for branch, rows in expected.items():
        assert books.query(_text(PATTERNS["a filter"]), params={"v": target}, branch=branch).rows() == rows
    assert expected["draft"][0]["b.code"] == "new"
    assert expected["main"][0]["b.code"] != "new"
