"""A query body without a head is a query wherever text is run, embedded as on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.errors import OmnigraphError


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "g.omni", "node Person { name: String @key  age: I64? }")
    made.load([{"type": "Person", "data": {"name": name, "age": age}} for name, age in (("Ada", 36), ("Bob", 25))])
    return made


def test_a_body_alone_is_run(graph: og.Graph) -> None:
    found = graph.query("// grown up\nmatch { $p: Person  $p.age > 30 } return { $p.name as name }")
    assert (found.query_name, found.rows()) == ("unnamed", [{"name": "Ada"}])
    assert graph.mutate('insert Person { name: "Cy" }').affected_nodes == 1
    assert graph.mutate('delete Person where name = "Cy"').affected_nodes == 1
    assert "Person" in str(graph.explain("match { $p: Person } return { $p.name as n }"))


def test_complaints_point_into_the_body_as_it_was_given(graph: og.Graph) -> None:
    with pytest.raises(OmnigraphError, match=r"1:13"):
        graph.query("match { $p: Persn } return { $p.name as n }")
    with pytest.raises(OmnigraphError, match="a body alone has no parameters"):
        graph.query("match { $p: Person { name: $n } } return { $p.age as a }")
    with pytest.raises(OmnigraphError):
        graph.query("match { $p: Person } return { $p.name as n } }")
