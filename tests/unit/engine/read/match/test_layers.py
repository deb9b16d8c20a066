"""Costs of cheapest paths from many nodes to few are those of the same paths, each looked for from its beginning."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine.read.match import layers
from omnigraph.errors import BadRequest

SCHEMA = """
node Stop { code: String @key  n: I32?  open: Bool? }
edge Road: Stop -> Stop { minutes: I32?  toll: F64? }
edge Rail: Stop -> Stop { minutes: I32? }
"""
STOPS = [f"s{at:02d}" for at in range(24)]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    rng = random.Random(5)
    graph = og.init(Path(tmp_path_factory.mktemp("layers")) / "g.omni", schema=SCHEMA)
    roads = [(rng.choice(STOPS), rng.choice(STOPS)) for _ in range(110)] + [("s03", "s03")]
    rails = [(rng.choice(STOPS), rng.choice(STOPS)) for _ in range(30)]
    minutes = [None, 0, 1, 2, 3, 5, 8]
    graph.load(
        [
            *({"type": "Stop", "data": {"code": code, "n": rng.choice(minutes), "open": rng.random() < 0.9}}
              for code in STOPS),
            *({"edge": "Road", "from": a, "to": b,
               "data": {"minutes": rng.choice(minutes), "toll": rng.choice([None, 0.1, 0.2, 0.7, 1.0])}}
              for a, b in roads),
            *({"edge": "Rail", "from": a, "to": b, "data": {"minutes": rng.choice(minutes)}} for a, b in rails),
        ]
    )  # fmt: skip
    graph.mutate('query d() { delete Stop where code = "s17" }')
    return graph


@pytest.fixture
def directions(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each search, whether it went backward from the heads."""
    seen: list[bool] = []

    class Noted(layers._LayeredSearch):
        def __init__(self, *given: Any, backward: bool) -> None:
            seen.append(backward)
            super().__init__(*given, backward=backward)

    monkeypatch.setattr(layers, "_LayeredSearch", Noted)
    return seen


def rows(graph: og.Graph, body: str) -> list[tuple[Any, ...]]:
    return graph.query(f"query q() {{ {body} }}").tuples()


WHOLE = {
    "minutes of an edge": "road $b along $e by $e.minutes",
    "either way": "<road> $b along $e by $e.minutes + 1",
    "at most two": "road{1,2} $b along $e by $e.minutes",
    "none or some": "road{0,3} $b along $e by $e.minutes",
    "a condition": "road $b along $e to $n by $e.minutes * 2 { $n.open }",
    "by where it comes from": "road $b along from $m to $n by abs($m.n - $n.n)",
    "several edge types": "road|rail $b along from $m to $n by greatest($m.n, $n.n)",
    "a pattern": "road $b along from $m to $n by count($x match { $m road $x $n road $x }) + 1",
    "a least value": "<road> $b along from $m to $n by min($x.n + 1 match { $m road $x $n <road> $x })",
}
FRACTIONS = {
    "tolls": "road $b along $e by $e.toll",
    "a share": "road $b along $e by 1 / (1 + $e.minutes)",
    "several, and a condition": "<road> $b along $e to $n by $e.toll * 3 { $n.open }",
}


@pytest.mark.parametrize("name", [*WHOLE, *FRACTIONS])
def test_costs_from_many_to_one_are_those_of_the_paths(graph: og.Graph, name: str, directions: list[bool]) -> None:
    step = f"cheapest $p: $a {(WHOLE | FRACTIONS)[name]}"
    reached, searches = 0, []
    for code in ("s00", "s03", "s11"):
        match = f'match {{ $a: Stop $b: Stop {{ code: "{code}" }} {step} }}'
        order = "order { $a.code }"
        directions.clear()
        costs = rows(graph, f"{match} return {{ $a.code, $p.cost }} {order}")
        searches.append(list(directions))
        directions.clear()
        paths = rows(graph, f"{match} return {{ $a.code, $p.cost, $p.nodes }} {order}")
        assert costs == [row[:2] for row in paths]
        assert not any(directions), "nodes are compared from the beginning of paths on"
        reached += len(costs)
    assert ([True] if name in WHOLE else [True, False]) in searches
    assert reached > 10


def test_few_tails_are_where_a_search_begins(graph: og.Graph, directions: list[bool]) -> None:
    match = 'match { $b: Stop { code: "s00" } $a: Stop cheapest $p: $b road $a along $e by $e.minutes }'
    costs = rows(graph, f"{match} return {{ $a.code, $p.cost }} order {{ $a.code }}")
    assert directions == [False]
    paths = rows(graph, f"{match} return {{ $a.code, $p.cost, $p.nodes }} order {{ $a.code }}")
    assert costs == [row[:2] for row in paths]
    assert len(costs) > 3


def test_pairs_without_a_way_have_no_row_or_null(graph: og.Graph) -> None:
    step = "cheapest $p: $a road{1,1} $b along $e by $e.minutes"
    ends = '$a: Stop $b: Stop { code: "s03" }'
    inner = rows(graph, f"match {{ {ends} {step} }} return {{ $a.code, $p.cost }}")
    outer = rows(graph, f"match {{ {ends} optional {{ {step} }} }} return {{ $a.code, $p.cost }}")
    assert 0 < len(inner) < len(outer) == len(STOPS) - 1
    assert sorted(row for row in outer if row[1] is not None) == sorted(inner)


def test_a_cost_that_is_refused_matters_where_tails_lead_to_it(tmp_path: Path, directions: list[bool]) -> None:
    stops = ["a", "b", "c", "d", "e", "end", "aside"]
    with og.init(tmp_path / "g.omni", schema=SCHEMA) as graph:
        roads = [(stop, "end", 1) for stop in "abcde"] + [("aside", "end", -1)]
        graph.load(
            [
                *({"type": "Stop", "data": {"code": code}} for code in stops),
                *({"edge": "Road", "from": a, "to": b, "data": {"minutes": cost}} for a, b, cost in roads),
            ]
        )
        ends = '$a: Stop $b: Stop { code: "end" }'
        step = "cheapest $p: $a road $b along $e by $e.minutes"
        tails = '$a.code in ["a", "b", "c", "d", "e"]'
        found = rows(graph, f"match {{ {ends} {tails} {step} }} return {{ $a.code, $p.cost }} order {{ $a.code }}")
        assert found == [(code, 1.0) for code in "abcde"]
        assert directions == [True, False]
        with pytest.raises(BadRequest, match="must not be negative"):
            rows(graph, f"match {{ {ends} {step} }} return {{ $a.code, $p.cost }}")
