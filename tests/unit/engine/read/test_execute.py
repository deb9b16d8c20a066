"""Random small graphs and random queries: the executor, in both traversal modes, agrees with the naive evaluator."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.testing.naive.evaluator import REFUSED, rows_of
from omnigraph.testing.naive.evaluator_values import close
from omnigraph.testing.naive.image import Record
from omnigraph.testing.strategies.read_graphs import SCHEMA, graphs, image_of
from omnigraph.testing.strategies.read_programs import queries
from tests.thoroughness import examples


# Shrinking reruns whole graphs; a smaller example is not worth minutes.
@settings(
    max_examples=examples(40),
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(graphs(), st.lists(queries(), min_size=4, max_size=8))
def test_every_query_has_the_rows_that_its_definition_gives(records: list[Record], texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        graph = og.init(Path(place) / "graph.omni", schema=SCHEMA)
        graph.load([record.line() for record in records])
        catalog = graph.view().catalog
        image = image_of(catalog, records)
        for text in texts:
            note(text)
            expected = rows_of(text, catalog, image)
            for mode, small in (("csr", 4_096), ("indexed", 0)):
                if expected is None:
                    with pytest.raises(og.errors.BadRequest, match=REFUSED):
                        run(graph, text, mode, small)
                    continue
                found = run(graph, text, mode, small)
                assert close(found.rows(), expected), f"{mode}\n{found.explanation}\n{found.rows()}\n{expected}"


# Rows are counted instead of made, joined by value, order or alternatives, and cycles are closed.
_COUNTED = (
    "match { $a walks $b $b walks $c } return { count(*) as n }",
    "match { $a walks $b $b walks $c } return { $c.s as s, count(*) as n, sum($c.m) as t, avg($c.n) as m, min($c.n) as l }",
    "match { $a walks $b $a walks $c $a meets $d } return { count(*) as n, count(distinct $d) as d }",
    "match { $a walks $b $b walks $c $c walks $d } return { $a.n as n, count($d) as c, count($a.s) as s }",
    "match { $a walks $b $b walks $c $a walks $c } return { count(*) as n }",
    "match { $a walks $b $b walks $c $c walks $a } return { $b.k as k, count($a) as n }",
    "match { $a walks $b $b walks $c $a walks $c } return { $a.k as a, $b.k as b, $c.k as c }",
    "match { $a walks $b $b walks $c not { $a walks $c } } return { count(*) as n }",
    "match { $a walks $b $b walks $c not { $c walks $a } } return { count(*) as n }",
    "match { $a walks $b $a meets $c not { $c meets $b } } return { count(*) as n, sum(3) as t }",
    "match { $a walks $b $b walks $c not { $a walks $c } } return { $c.s as s, count(*) as n }",
    "match { $a walks $b $b.n > 0 optional { $b meets $c } } return { $b.k as k, count($c) as c, count(*) as n }",
    "match { $a $e:walks $b } return { count($e) as n }",
    "match { $a $e:walks $b } return { avg($e.w) as w, max($e.w) as x }",
    "match { $a $e:walks $b $e.w > 0 } return { $e.w as w, $e.s as s }",
    "match { $a $e:walks $b } return { $e.w as w } limit 3",
    "match { $a: Ant $b: Bee $a.n = $b.n } return { count(*) as n }",
    "match { $a: Ant $b: Ant lower($a.s) = lower($b.s) } return { count(*) as n }",
    "match { $a: Ant $b: Ant lower($a.s) = lower($b.s) $a.f = $b.f } return { $a.k as a, $b.k as b }",
    "match { $a: Ant $b: Ant $a.s < $b.s } return { count(*) as n }",
    "match { $a: Ant $b: Ant $a.at >= $b.at $a.n < $b.n } return { $a.k as a, $b.k as b }",
    "match { $a: Ant $b: Ant $a.d <= $b.d } return { $a.s as s, count(*) as n }",
    "match { $a: Ant $b: Ant $a.s = $b.s or $a.d = $b.d } return { count(*) as n }",
    "match { $a: Ant $b: Ant $a.s = $b.s or $a.b = $b.b } return { $a.k as a, $b.k as b }",
    "match { $a: Ant $b: Bee } return { count(*) as n, sum($a.m) as m }",
    "match { $a: Ant } return { $a.d as d, min($a.at) as l, max($a.at) as h, max($a.m) as m, min($a.d) as e }",
    "match { $a: Ant } return { $a.s as s, $a.b as b, count(*) as n }",
    "match { $a: Ant } return { $a.s as s, min($a.n) as l, max($a.n) as h, avg($a.n) as m, sum($a.m) as t, avg($a.m) as k }",
)


@settings(
    max_examples=examples(24),
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(graphs())
def test_rows_that_are_counted_or_joined_are_those_of_the_definition(records: list[Record]) -> None:
    with tempfile.TemporaryDirectory() as place:
        graph = og.init(Path(place) / "graph.omni", schema=SCHEMA)
        graph.load([record.line() for record in records])
        catalog = graph.view().catalog
        image = image_of(catalog, records)
        for body in _COUNTED:
            text = f"query q() {{ {body} }}"
            expected = rows_of(text, catalog, image)
            found = run(graph, text, "csr", 4_096).rows()
            assert expected is not None
            assert close(found, expected), f"{text}\n{found}\n{expected}"


def run(graph: og.Graph, text: str, mode: str, small: int) -> Any:
    """The result with a forced traversal mode; a `small` of 0 sends every predicate to storage first.

    What pays for many rows only is done for few as well in the other mode.
    """
    graph._core.store.memory.clear()
    read = "omnigraph.engine.read"
    few = 0 if mode == "csr" else 1 << 16
    with (
        patch.dict(os.environ, {"OMNIGRAPH_TRAVERSAL_MODE": mode}),
        patch(f"{read}.columns.entities.SMALL_TABLE", small),
        patch(f"{read}.frames.frame._FEW_ROWS", few),
        patch(f"{read}.shape.tally._FEWEST_ROWS", few),
        patch(f"{read}.shape.tally._MOST_COUNTERS", 1 << 16),
        patch(f"{read}.match.leading._MANY_EDGES", few),
        patch(f"{read}.topology.membership._MANY_TESTS", max(few, 1)),
        patch(f"{read}.topology.membership._ENTRIES", 3),
        patch(f"{read}.topology.membership._FEWEST_MARKED", max(few, 1)),
        patch(f"{read}.topology.membership.TESTS", 5),
    ):
        return graph.query(text)


def test_a_large_answer_without_an_order_comes_as_it_was_found(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph.omni", schema=SCHEMA)
    graph.load(
        [f'{{"type": "Ant", "data": {{"k": "{number * 7 % 90}"}}}}' for number in range(90)],
    )
    body, given = "query q() { match { $a: Ant } return { $a.k as k } %s }", range(90)
    in_order = graph.query(body % "").rows()
    with patch("omnigraph.engine.read.execute.IN_ORDER", 10):
        found = graph.query(body % "").rows()
        assert [row["k"] for row in found] == [str(number * 7 % 90) for number in given]  # as they were loaded
        assert graph.query(body % "limit 5").rows() == in_order[:5]
        assert graph.query(body % "order { k desc }").rows()[0]["k"] == "9"
