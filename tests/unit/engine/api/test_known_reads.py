"""Reads answered from memory: the same answer as `query`, and none as soon as anything has to be looked up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.compiler.source import Source
from omnigraph.engine.api.known_reads import answer_known
from omnigraph.engine.read.frames.budget import Limits
from omnigraph.errors import BadRequest, ParameterError
from omnigraph.policy.visibility import Visibility

SCHEMA = """
node Person { handle: String @key  age: I32? }
edge Knows: Person -> Person
"""
HOP = "query hop($h: String) { match { $p: Person { handle: $h } $p knows $f } return { $f.handle } }"
PUT = "query put($h: String) { insert Person { handle: $h } insert Knows { from: 'p1', to: $h } }".replace("'", '"')


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[og.Graph]:
    names = [f"p{number}" for number in range(50)]
    with og.init(tmp_path / "g.omni", SCHEMA) as made:
        made.load(pa.table({"handle": names}), type="Person", runner="inline")
        made.load(pa.table({"from": names, "to": names[1:] + names[:1]}), edge="Knows", runner="inline")
        yield made


def known(graph: og.Graph, h: Any = "p1", text: str = HOP, **more: Any) -> og.Result | None:
    return answer_known(graph, Source(text), None, {"h": h}, **more)


def warm(graph: og.Graph, **more: Any) -> None:
    for _ in range(6):
        graph.query(HOP, params={"h": "p2"}, **more)


def test_a_read_that_was_never_run_is_not_known(graph: og.Graph) -> None:
    assert known(graph) is None
    graph.query(HOP, params={"h": "p1"})
    assert known(graph) is None, "one that was asked once is not kept"


def test_a_known_read_gives_what_a_query_gives(graph: og.Graph) -> None:
    warm(graph)
    for handle in ("p1", "p49", "nobody"):
        found, expected = known(graph, handle), graph.query(HOP, params={"h": handle})
        assert found is not None
        assert (found.rows(), found.columns, found.query_name) == (expected.rows(), expected.columns, "hop")
        assert (found.commit_id, found.branch) == (expected.commit_id, expected.branch)


def test_what_was_published_since_is_not_known(graph: og.Graph) -> None:
    """By this handle, or by another one of the same graph."""
    warm(graph)
    with og.open(graph.uri) as other:
        for writer in (graph, other):
            assert known(graph) is not None
            writer.mutate(PUT, params={"h": f"new {id(writer)}"})
            assert known(graph) is None
            assert len(graph.query(HOP, params={"h": "p1"})) > 1
            warm(graph)
            found = known(graph)
            assert found is None or found.rows() == graph.query(HOP, params={"h": "p1"}).rows()
            graph.optimize()
            warm(graph)


def test_branches_are_known_by_themselves(graph: og.Graph) -> None:
    graph.branches.create("draft")
    warm(graph)
    assert known(graph, branch="draft") is None
    warm(graph, branch="draft")
    found = known(graph, branch="draft")
    assert found is not None
    assert found.branch == "draft"
    assert known(graph, branch="main") is not None
    graph.branches.delete("draft")
    assert known(graph, branch="draft") is None


def test_a_reader_of_parts_has_no_known_reads(graph: og.Graph) -> None:
    warm(graph)
    partly = graph.with_visibility(Visibility(types=frozenset({"Person", "Knows"}), masked=frozenset()))
    warm(partly)
    assert known(partly) is None


def test_limits_and_parameters_hold(graph: og.Graph) -> None:
    warm(graph)
    assert known(graph, limits=Limits(seconds=0)) is None, "the executor says that there is no time"
    assert known(graph, limits=Limits(result_rows=0)) is None, "and that there are too many rows"
    with pytest.raises(ParameterError):
        known(graph, 7)


def test_mutations_are_never_known(graph: og.Graph) -> None:
    graph.mutate(PUT, params={"h": "p90"})
    before = graph.view().head
    assert known(graph, "p91", PUT) is None
    assert graph.view().head == before


def test_a_closed_graph_knows_nothing(graph: og.Graph) -> None:
    warm(graph)
    graph.close()
    with pytest.raises(BadRequest, match="closed"):
        known(graph)
