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
    assert ">Person</td>" in found._repr_html_()
    assert {"kind": "node", "type": "Person", "entities": 3}.items() <= found.document()["types"][0].items()  # type: ignore[index]


def test_describe_tells_properties_sizes_and_how_far_branches_are_apart(graph: og.Graph) -> None:
    before = graph.commits.head()
    graph.branches.create("draft")
    draft = graph.branch("draft")
    for name in ("Dee", "Eve"):
        draft.mutate("query q($n: String) { insert Person { name: $n } }", params={"n": name})
    graph.mutate('query q() { insert Person { name: "Fay" } }')
    apart = {each.branch: (each.ahead, each.behind) for each in graph.describe().divergence}
    assert apart == {"main": (0, 0), "draft": (2, 1)}
    graph.branches.merge("draft")
    found = graph.describe()
    assert {each.branch: (each.ahead, each.behind) for each in found.divergence}["draft"] == (0, 2)
    assert {each.branch: each.commit for each in found.divergence}["draft"] == draft.commits.head()
    person = found.types[0]
    assert [(each.name, each.type, each.key) for each in person.declared] == [
        ("age", "I64?", False),
        ("name", "String", True),
    ]
    assert (found.types[1].from_type, found.types[1].to_type) == ("Person", "Person")
    assert person.bytes
    assert graph.describe(at=before).counts["Person"] == 3
    assert graph.describe(branch="draft").counts["Person"] == 5


def test_drawings_are_svg_that_notebooks_show_and_files_take(graph: og.Graph, tmp_path: Path) -> None:
    drawn = graph.schema.draw()
    assert drawn.startswith("<svg")
    assert drawn._repr_svg_() == drawn == graph.schema._repr_svg_()
    assert repr(graph.schema) == "<Schema: 1 node type, 1 edge type>"
    around = graph.draw("Person", "Ada")
    assert repr(around) == "<Drawing of Person Ada: 2 nodes, 1 edge>"
    around.save(tmp_path / "ada.png")
    assert (tmp_path / "ada.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(BadRequest, match="the ending is one of"):
        around.save(tmp_path / "ada.pdf")
    with pytest.raises(NotFound, match="Person 'Zoe' not found"):
        graph.draw("Person", "Zoe")


def test_neighbours_are_counted_by_edge_type_and_direction_and_paged(graph: og.Graph) -> None:
    graph.load([{"edge": "Knows", "from": "Ada", "to": "Cy", "data": {"since": "2020-01-02"}}])
    graph.load([{"edge": "Knows", "from": "Cy", "to": "Ada"}])
    found = graph.neighbours("Person", "Ada")
    assert found.node == {"id": "Ada", "age": None, "name": "Ada"}
    assert [(each.edge, each.direction, each.type_name, each.count) for each in found.groups] == [
        ("Knows", "out", "Person", 2),
        ("Knows", "in", "Person", 1),
    ]
    out = found.groups[0]
    assert sorted(str((each.node or {})["id"]) for each in out.neighbours) == ["Bob", "Cy"]
    assert {each.edge["since"] for each in out.neighbours} == {None, "2020-01-02"}
    first = graph.neighbours("Person", "Ada", edge="knows", direction="out", limit=1).groups[0]
    assert (first.count, first.after) == (2, first.neighbours[0].edge["id"])
    rest = graph.neighbours("Person", "Ada", edge="Knows", direction="out", limit=1, after=first.after).groups[0]
    assert (*first.neighbours, *rest.neighbours) == out.neighbours
    assert (rest.count, rest.after) == (2, None)
    with pytest.raises(NotFound, match="Person 'Zoe' not found"):
        graph.neighbours("Person", "Zoe")
    with pytest.raises(NotFound, match="no edge type 'Knos'; did you mean"):
        graph.neighbours("Person", "Ada", edge="Knos")
    with pytest.raises(BadRequest, match="name its edge and direction"):
        graph.neighbours("Person", "Ada", after="x")
    with pytest.raises(BadRequest, match="'out' or 'in'"):
        graph.neighbours("Person", "Ada", direction="up")
    with pytest.raises(BadRequest, match="is an edge type"):
        graph.neighbours("Knows", "x")
