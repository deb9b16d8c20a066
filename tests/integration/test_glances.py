"""A graph at a glance: `describe`, drawings, and what a notebook shows of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.errors import BadRequest, NotFound


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    schema = "node Person { name: String @key  age: I64? }\nedge Knows: Person -> Person { since: Date? }\n"
    made = og.init(tmp_path / "g.omni", schema)
    made.load([{"type": "Person", "data": {"name": name}} for name in ("Ada", "Bob", "Cy")])
    made.load([{"edge": "Knows", "from": "Ada", "to": "Bob"}])
    return made


def test_describe_counts_types_and_names_branches(graph: og.Graph) -> None:
    graph.branches.create("draft")
    found = graph.describe()
    assert (dict(found.counts), found.branches) == ({"Person": 3, "Knows": 1}, ("main", "draft"))
    assert found.commit == graph.commits.head()
    lines = str(found).splitlines()
    assert lines[1].startswith("kind | type   | entities")
    assert any(line.startswith("edge | Knows  |        1 |") and "Person -> Person" in line for line in lines)
    assert "<td>Person</td>" in found._repr_html_()
    assert {"kind": "node", "type": "Person", "entities": 3}.items() <= found.document()["types"][0].items()  # type: ignore[index]


def test_drawings_are_svg_that_notebooks_show_and_files_take(graph: og.Graph, tmp_path: Path) -> None:
    drawn = graph.schema.draw()
    assert drawn.startswith("<svg")
    assert drawn._repr_svg_() == drawn == graph.schema._repr_svg_()
    assert repr(graph.schema) == "<Schema: 1 node types, 1 edge types>"
    around = graph.draw("Person", "Ada")
    assert repr(around) == "<Drawing of Person Ada: 2 nodes, 1 edges>"
    around.save(tmp_path / "ada.png")
    assert (tmp_path / "ada.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(BadRequest, match="the ending is one of"):
        around.save(tmp_path / "ada.pdf")
    with pytest.raises(NotFound, match="Person 'Zoe' not found"):
        graph.draw("Person", "Zoe")
