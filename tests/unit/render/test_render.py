"""Pictures hold what the graph holds, in every format, and never overlap."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

import omnigraph as og
from omnigraph.errors import BadRequest, NotFound
from omnigraph.render.answer import draw_answer
from omnigraph.render.layout import place
from omnigraph.render.neighbourhood import draw_neighbourhood
from omnigraph.render.picture import Arrow, Box, Picture
from omnigraph.render.render import render
from omnigraph.render.text import to_mermaid, to_tree
from omnigraph.render.types import draw_schema

SCHEMA = """
node Person { name: String @key  age: I32? }
node Company { slug: String @key }
edge Knows: Person -> Person
edge WorksAt: Person -> Company
"""
RECORDS = b"""
{"type":"Person","data":{"name":"ada","age":36}}
{"type":"Person","data":{"name":"bob"}}
{"type":"Person","data":{"name":"<c & d>"}}
{"type":"Company","data":{"slug":"acme"}}
{"edge":"Knows","from":"ada","to":"bob"}
{"edge":"Knows","from":"bob","to":"<c & d>"}
{"edge":"WorksAt","from":"ada","to":"acme"}
{"edge":"WorksAt","from":"bob","to":"acme"}
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    made = og.init(tmp_path_factory.mktemp("drawing") / "graph.omni", SCHEMA)
    made.load(RECORDS)
    return made


def around(graph: og.Graph, depth: int, limit: int = 60) -> Picture:
    return draw_neighbourhood(graph, graph.schema.catalog, "Person", "ada", depth=depth, limit=limit)


def test_a_hop_reaches_both_directions_and_no_further(graph: og.Graph) -> None:
    picture = draw_neighbourhood(graph, graph.schema.catalog, "Company", "acme", depth=1, limit=60)
    assert {box.key for box in picture.boxes} == {"Company/acme", "Person/ada", "Person/bob"}
    assert set(picture.arrows) == {
        Arrow("Person/ada", "Company/acme", "WorksAt"),
        Arrow("Person/bob", "Company/acme", "WorksAt"),
    }


def test_more_hops_reach_more(graph: og.Graph) -> None:
    assert {box.title for box in around(graph, 1).boxes} == {"ada", "bob", "acme"}
    assert {box.title for box in around(graph, 2).boxes} == {"ada", "bob", "acme", "<c & d>"}


def test_a_limit_leaves_out_and_says_so(graph: og.Graph) -> None:
    picture = around(graph, 2, limit=2)
    assert len(picture.boxes) == 2
    assert picture.cut
    drawn = {box.key for box in picture.boxes}
    assert all({arrow.source, arrow.target} <= drawn for arrow in picture.arrows)
    assert "raise --limit" in to_tree(picture)


def test_what_does_not_exist_cannot_be_drawn(graph: og.Graph) -> None:
    with pytest.raises(NotFound, match="Person 'zoe' not found"):
        draw_neighbourhood(graph, graph.schema.catalog, "Person", "zoe", depth=1, limit=5)
    with pytest.raises(NotFound, match="the schema has no node type 'Planet'"):
        draw_neighbourhood(graph, graph.schema.catalog, "Planet", "x", depth=1, limit=5)


def test_an_answer_is_drawn_with_the_edges_between_its_nodes(graph: og.Graph) -> None:
    source = "query q() { match { $p: Person $p worksAt $c } return { $p } }"
    picture = draw_answer(graph, graph.schema.catalog, source, None, {}, limit=10)
    assert {box.key for box in picture.boxes} == {"Person/ada", "Person/bob"}
    assert picture.arrows == (Arrow("Person/ada", "Person/bob", "Knows"),)


def test_an_answer_without_nodes_is_refused(graph: og.Graph) -> None:
    with pytest.raises(BadRequest, match="returns no whole node"):
        draw_answer(
            graph, graph.schema.catalog, "query q() { match { $p: Person } return { $p.name } }", None, {}, limit=9
        )


def test_a_schema_shows_types_keys_and_edges(graph: og.Graph) -> None:
    picture = draw_schema(graph.schema.catalog)
    assert picture.boxes[1] == Box("Person", "Person", "Person", ("name: String @key", "age: I32?"))
    assert to_tree(picture) == "Company\n└←WorksAt─ Person\n   └─Knows→ Person ↩\n"


def test_svg_is_well_formed_whatever_the_names_hold(graph: og.Graph) -> None:
    text = render(around(graph, 2), "out.svg").decode()
    names = [element.text for element in ElementTree.fromstring(text).iter() if element.text]
    assert "<c & d>" in names
    assert names.count("WorksAt") == 2


def test_every_ending_gives_its_format(graph: og.Graph) -> None:
    picture = around(graph, 2)
    assert render(picture, "a.html").startswith(b"<!doctype html>")
    assert render(picture, "a.PNG").startswith(b"\x89PNG")
    assert b'"Person/ada" -> "Person/bob" [label="Knows"];' in render(picture, "a.dot")
    assert '"Person &lt;c &amp; d&gt;"' in to_mermaid(picture)
    with pytest.raises(BadRequest, match=r"the ending is one of \.dot, \.html"):
        render(picture, "a.gif")


def test_boxes_do_not_overlap() -> None:
    boxes = tuple(Box(str(n), f"box {n}", "Kind", ("a line that is rather long",) * (n % 4)) for n in range(30))
    arrows = tuple(Arrow("0", str(n), "to") for n in range(1, 30))
    placed, width, height = place(Picture("star", boxes, arrows))
    for index, one in enumerate(placed):
        assert one.width / 2 <= one.x <= width
        assert one.height / 2 <= one.y <= height
        for other in placed[index + 1 :]:
            beside = abs(one.x - other.x) >= (one.width + other.width) / 2
            assert beside or abs(one.y - other.y) >= (one.height + other.height) / 2, (one.box.key, other.box.key)


def test_one_box_and_no_box_can_be_placed(tmp_path: Path) -> None:
    assert len(place(Picture("one", (Box("a", "a", "A"),), (Arrow("a", "a", "self"),)))[0]) == 1
    assert to_tree(Picture("none", (), ())) == "none: nothing\n"
