"""The first few of all edges by one of their numbers: the rows are those that ordering all of them gives."""

from __future__ import annotations

import random
from collections.abc import Iterator
from unittest.mock import patch

import pytest

import omnigraph as og
from omnigraph.engine.read.match import leading

SCHEMA = """
node A { k: String @key }
node B { k: String @key }
edge E: A -> A { w: I32?  x: F64? }
edge F: A -> B { w: I32? }
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[og.Graph]:
    draw = random.Random(5)
    made = og.init(tmp_path_factory.mktemp("leading") / "graph.omni", schema=SCHEMA)
    nodes = [{"type": kind, "data": {"k": f"{number:02}"}} for kind in "AB" for number in range(30)]
    edges = [
        {
            "edge": name,
            "from": f"{draw.randrange(30):02}",
            "to": f"{draw.randrange(30):02}",
            "data": {"w": draw.choice([None, *range(40)])}
            | ({"x": draw.choice([None, -0.0, 0.0, 1.5])} if name == "E" else {}),
        }
        for name in ("E", "F")
        for _ in range(200)
    ]
    made.load([*nodes, *edges])
    yield made
    made.close()


@pytest.mark.parametrize("direction", ["", " desc"])
@pytest.mark.parametrize(
    ("pattern", "order"),
    [
        ("$p $k:e $f", "$k.w%s"),
        ("$p $k:e $f", "$k.w%s, $f.k desc"),
        ("$p $k:e $f", "$k.x%s, $k.w"),
        ("$p $k:f $f", "$k.w%s"),
        ("$p: A $p $k:e $f $f.k > '05'", "$k.w%s"),
        ("$p $k:e $p", "$k.w%s"),
        ("$p $k:e $f $f knows $g", "$k.w%s"),
    ],
)
@pytest.mark.parametrize("limit", ["limit 1", "limit 7", "limit 5 offset 20", "limit 0", "limit 1000"])
def test_the_rows_are_those_of_ordering_all(
    graph: og.Graph, pattern: str, order: str, direction: str, limit: str
) -> None:
    pattern = pattern.replace("'", '"').replace("knows", "e")
    text = f"query q() {{ match {{ {pattern} }} return {{ $p.k as a, $k.w as w }} order {{ {order % direction} }} {limit} }}"
    expected = graph.query(text).rows()
    with patch.object(leading, "_MANY_EDGES", 1):
        assert graph.query(text).rows() == expected
        with patch.object(leading, "_FEW_EDGES", 6):  # more are tied
            assert graph.query(text).rows() == expected


def test_rows_begin_with_the_nodes_of_the_leading_edges(graph: og.Graph) -> None:
    text = "query q() { match { $p $k:e $f } return { $p.k as a, $f.k as b, $k.w as w } order { w desc } limit 3 }"
    with patch.object(leading, "_MANY_EDGES", 1):
        found = graph.query(text)
    assert found.explanation is not None
    assert found.explanation.profile is not None
    scan = found.explanation.profile.steps[0]
    assert 0 < scan.rows < 15
    assert "only those with one of the first" in str(found.explanation)
