"""Whole-graph algorithms give what igraph gives, in this process and on Spark: parallel edges, loops, lone nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import igraph
import numpy as np
import pytest

import omnigraph as og

SCHEMA = "node Person { name: String @key } edge Knows: Person -> Person { weight: F64? }"
NODES, LINKED, EDGES = 60, 52, 160
_DRAW = np.random.default_rng(23)
_DRAWN = _DRAW.integers(0, LINKED, (EDGES, 2))
ENDS = [*map(tuple, _DRAWN.tolist()), *map(tuple, _DRAWN[:25].tolist()), *((at, at) for at in range(0, 30, 3))]
WEIGHTS = [float(weight) for weight in _DRAW.integers(1, 9, len(ENDS)) / 4]
TRUTH = igraph.Graph(n=NODES, edges=ENDS, directed=True, edge_attrs={"weight": WEIGHTS})


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[og.Graph]:
    with og.init(tmp_path_factory.mktemp("igraph") / "g.omni", SCHEMA) as opened:
        people = [{"type": "Person", "data": {"name": f"p{at}"}} for at in range(NODES)]
        knows = [
            {"edge": "Knows", "from": f"p{one}", "to": f"p{two}", "data": {"weight": weight}}
            for (one, two), weight in zip(ENDS, WEIGHTS, strict=True)
        ]
        opened.load([*people, *knows], runner="inline")
        yield opened


def turned(direction: str) -> igraph.Graph:
    """The graph that a walk in a direction sees."""
    if direction == "both":
        both = [*ENDS, *((two, one) for one, two in ENDS)]
        return igraph.Graph(n=NODES, edges=both, directed=True, edge_attrs={"weight": WEIGHTS * 2})
    ends = ENDS if direction == "out" else [(two, one) for one, two in ENDS]
    return igraph.Graph(n=NODES, edges=ends, directed=True, edge_attrs={"weight": WEIGHTS})


def ranks(direction: str, weight: str | None) -> list[float]:
    return list(turned(direction).pagerank(damping=0.85, weights=weight))


def hops(direction: str, depth: float) -> list[int | None]:
    mode = {"both": "all"}.get(direction, direction)
    nearest = np.array(TRUTH.distances(source=[0, 7], mode=mode)).min(axis=0)
    return [int(far) if np.isfinite(far) and far <= depth else None for far in nearest]


def corners() -> list[int]:
    found = Counter(node for each in TRUTH.as_undirected().simplify().list_triangles() for node in each)
    return [found[at] for at in range(NODES)]


Run = Callable[[Any, dict[str, Any]], Any]
CASES: dict[str, tuple[Run, Any]] = {
    **{
        f"pagerank {direction}{' by weight' if weight else ''}": (
            lambda mine, how, direction=direction, weight=weight: mine.pagerank(
                "Knows", direction=direction, weight=weight, tolerance=1e-13, iterations=300, **how
            ),
            pytest.approx(ranks(direction, weight), abs=1e-8),
        )
        for direction in ("out", "in", "both")
        for weight in (None, "weight")
    },
    "components": (
        lambda mine, how: mine.components("Knows", **how),
        TRUTH.connected_components(mode="weak").membership,
    ),
    "triangles": (lambda mine, how: mine.triangles("Knows", **how), corners()),
    **{
        f"degree {direction}": (
            lambda mine, how, direction=direction: mine.degree("Knows", direction=direction, **how),
            TRUTH.degree(mode={"both": "all"}.get(direction, direction), loops=True),
        )
        for direction in ("out", "in", "both")
    },
    **{
        f"distances {direction}, {depth or 'any depth'}": (
            lambda mine, how, direction=direction, depth=depth: mine.distances(
                ["p0", "p7"], "Knows", direction=direction, depth=depth, **how
            ),
            hops(direction, np.inf if depth is None else depth),
        )
        for direction in ("out", "in", "both")
        for depth in (None, 2)
    },
}


def by_number(found: Any) -> list[Any]:
    values = {int(row["id"][1:]): row[found.column] for row in found}
    return [values[at] for at in range(NODES)]


def test_the_graph_has_what_it_is_about() -> None:
    assert any(TRUTH.is_multiple())
    assert any(TRUTH.is_loop())
    assert min(TRUTH.degree()) == 0
    assert len(TRUTH.connected_components(mode="weak")) > 3
    assert max(corners()) > 1
    assert None in hops("out", 2)


@pytest.mark.parametrize("name", CASES)
def test_in_this_process(graph: og.Graph, name: str) -> None:
    run, expected = CASES[name]
    assert by_number(run(graph.analytics, {"runner": "inline"})) == expected


@pytest.mark.parametrize("name", CASES)
def test_on_spark(graph: og.Graph, spark: Any, name: str) -> None:
    run, expected = CASES[name]
    found = run(graph.analytics, {"runner": "spark", "spark": spark})
    assert found.runner == "spark"
    assert by_number(found) == expected
