"""Pictures hold what the graph holds, in every format, and never overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

import omnigraph as og
from omnigraph.compiler.catalog import compile_schema
from omnigraph.errors import BadRequest, NotFound
from omnigraph.render import graphviz, springs
from omnigraph.render.answer import draw_answer
from omnigraph.render.labels import labels_of
from omnigraph.render.layout import Layout, Point, label_size, lay_out
from omnigraph.render.neighbourhood import draw_neighbourhood
from omnigraph.render.picture import Arrow, Box, Picture
from omnigraph.render.render import render
from omnigraph.render.style import fills
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
    return draw_neighbourhood(graph, labels_of(graph.schema.catalog), "Person", "ada", depth=depth, limit=limit)


def test_a_hop_reaches_both_directions_and_no_further(graph: og.Graph) -> None:
    picture = draw_neighbourhood(graph, labels_of(graph.schema.catalog), "Company", "acme", depth=1, limit=60)
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
        draw_neighbourhood(graph, labels_of(graph.schema.catalog), "Person", "zoe", depth=1, limit=5)
    with pytest.raises(NotFound, match="the schema has no node type 'Planet'"):
        draw_neighbourhood(graph, labels_of(graph.schema.catalog), "Planet", "x", depth=1, limit=5)


def test_an_answer_is_drawn_with_the_edges_between_its_nodes(graph: og.Graph) -> None:
    source = "query q() { match { $p: Person $p worksAt $c } return { $p } }"
    picture = draw_answer(graph, labels_of(graph.schema.catalog), source, None, {}, limit=10)
    assert {box.key for box in picture.boxes} == {"Person/ada", "Person/bob"}
    assert picture.arrows == (Arrow("Person/ada", "Person/bob", "Knows"),)


def test_an_answer_without_nodes_is_refused(graph: og.Graph) -> None:
    with pytest.raises(BadRequest, match="returns no whole node"):
        draw_answer(
            graph,
            labels_of(graph.schema.catalog),
            "query q() { match { $p: Person } return { $p.name } }",
            None,
            {},
            limit=9,
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


def star(rays: int) -> Picture:
    boxes = tuple(Box(str(n), f"box {n}", "Kind", ("a line that is rather long",) * (n % 4)) for n in range(rays))
    return Picture("star", boxes, tuple(Arrow("0", str(n), "to") for n in range(1, rays)))


def web() -> Picture:
    """Boxes that nearly all know each other, so that straight lines would cross some of them."""
    boxes = tuple(Box(str(n), f"box {n}", "Kind", ("some line",) * (n % 3)) for n in range(9))
    arrows = tuple(Arrow(str(a), str(b), f"to {b}") for a in range(9) for b in range(9) if (a * 7 + b) % 4 == 1)
    return Picture("web", boxes, arrows)


def shop() -> Picture:
    """A customer with five orders, one of them with its lines: long labels between wide boxes."""
    moment, product = (
        ("ordered_at: 2024-08-20T10:30:00.000Z", "shipped: true"),
        ("sku: SKU-002", "price: 4252.68", "stock: 219"),
    )
    orders = tuple(Box(f"o{n}", f"13{n}", "Order", moment) for n in range(5))
    lines = tuple(Box(f"l{n}", f"5, {n}", "OrderLine", ("quantity: 2",)) for n in range(3))
    products = tuple(Box(f"p{n}", f"Thing {n}", "Product", product) for n in range(3))
    buyer = Box("c", "Customer 33", "Customer", ("customer_no: 1033", "e_mail: c33@example.org", "newsletter: true"))
    arrows = [Arrow(f"o{n}", "c", "OrderCustomer") for n in range(5)]
    arrows += [Arrow(f"l{n}", "o0", "OrderLineOrder") for n in range(3)]
    arrows += [Arrow(f"l{n}", f"p{n}", "OrderLineProduct") for n in range(3)]
    return Picture("shop", (orders[0], buyer, *lines, *orders[1:], *products), tuple(arrows))


def hub() -> Picture:
    """An airport with sixty flights, whose titles are long."""
    flights = (Box(f"f{n}", f"{n}, 2024-01-27T07:00:00.000Z", "Flight", ("year: 2024",)) for n in range(60))
    boxes = (Box("hub", "Harbour City", "Airport", ("faa: HRB",)), *flights)
    return Picture("hub", boxes, tuple(Arrow(f"f{n}", "hub", "Dest") for n in range(60)))


@pytest.mark.parametrize("arrange", [graphviz.arrange, springs.arrange])
@pytest.mark.parametrize("picture", [star(30), web(), hub()], ids=lambda picture: picture.title)
def test_boxes_do_not_overlap(arrange: Callable[[Picture], Layout], picture: Picture) -> None:
    found = arrange(picture)
    for index, one in enumerate(found.boxes):
        assert one.width / 2 <= one.x <= found.width
        assert one.height / 2 <= one.y <= found.height
        for other in found.boxes[index + 1 :]:
            beside = abs(one.x - other.x) >= (one.width + other.width) / 2 - 0.1
            assert beside or abs(one.y - other.y) >= (one.height + other.height) / 2 - 0.1, (one.box, other.box)


@pytest.mark.parametrize("picture", [star(30), web(), hub()], ids=lambda picture: picture.title)
def test_no_line_runs_beneath_a_box_that_it_does_not_belong_to(picture: Picture) -> None:
    found = graphviz.arrange(picture)
    assert len(found.routes) == len(picture.arrows)
    for route in found.routes:
        strangers = [each for each in found.boxes if each.box.key not in (route.bundle.source, route.bundle.target)]
        for x, y in curve(route.points):
            for box in strangers:
                assert abs(x - box.x) > box.width / 2 - 2 or abs(y - box.y) > box.height / 2 - 2, (route, box)


@pytest.mark.parametrize("picture", [web(), shop()], ids=lambda picture: picture.title)
def test_labels_stand_clear_of_boxes(picture: Picture) -> None:
    found = graphviz.arrange(picture)
    for route in found.routes:
        width, height = label_size(route.bundle)
        for box in found.boxes:
            beside = abs(route.label[0] - box.x) >= (box.width + width) / 2 - 2
            assert beside or abs(route.label[1] - box.y) >= (box.height + height) / 2 - 2, (route, box)


def test_the_same_picture_is_laid_out_alike() -> None:
    assert lay_out(web()) == lay_out(web())
    assert lay_out(star(40)) == lay_out(star(40))
    assert lay_out(hub()) == lay_out(hub())


def test_a_hub_with_many_neighbours_is_not_one_long_row() -> None:
    found = lay_out(star(40))
    assert max(found.width, found.height) < 4 * min(found.width, found.height)


def test_a_large_hub_is_packed() -> None:
    found = lay_out(hub())
    assert max(found.width, found.height) < 3000  # springs alone take more than 4,000


def test_kinds_have_colours_of_their_own() -> None:
    kinds = ["Airline", "Airport", "Flight", "Pilot", "Plane", "Weather"]
    assert len(set(fills(kinds).values())) == len(kinds)
    assert fills([*kinds, *"abcdefgh"]).keys() >= set(kinds)


def test_without_graphviz_a_picture_is_still_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphviz, "installed", lambda: False)
    assert lay_out(web()) == springs.arrange(web())
    assert render(web(), "a.svg").startswith(b"<svg")
    assert render(web(), "a.png").startswith(b"\x89PNG")


@pytest.mark.parametrize("arrange", [graphviz.arrange, springs.arrange])
def test_one_box_and_no_box_can_be_placed(arrange: Callable[[Picture], Layout]) -> None:
    assert len(arrange(Picture("one", (Box("a", "a", "A"),), (Arrow("a", "a", "self"),))).boxes) == 1
    assert to_tree(Picture("none", (), ())) == "none: nothing\n"
    assert render(Picture("none", (), ()), "a.svg").startswith(b"<svg")


def test_edges_between_the_same_two_nodes_are_counted(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", "node A { k: String @key }\nedge To: A -> A { at: I32? }\nedge Up: A -> A")
    edges = "".join(f'{{"edge":"To","from":"x","to":"y","data":{{"at":{n}}}}}\n' for n in range(3))
    more = '{"edge":"Up","from":"x","to":"y"}\n{"edge":"To","from":"y","to":"x"}\n'
    graph.load(('{"type":"A","data":{"k":"x"}}\n{"type":"A","data":{"k":"y"}}\n' + edges + more).encode())
    drawn = graph.draw("A", "x", depth=2).picture
    assert drawn.arrows == (Arrow("A/x", "A/y", "To", 3), Arrow("A/y", "A/x", "To"), Arrow("A/x", "A/y", "Up"))
    assert drawn.edges == 5
    assert [each.lines for each in drawn.bundles()] == [(("To ×3", True), ("Up", True)), (("To", True),)]
    assert to_tree(drawn) == "A x\n├─To ×3→ A y\n├←To─ A y ↩\n└─Up→ A y ↩\n"
    assert "To ×3" in graph.draw("A", "x")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    schema = """
    node Book { zone: String  isbn: String @key  title: String?  authors: [String]? }
    node Shelf { row: I32  side: String  note: String?  @key(side, row) }
    edge On: Book -> Shelf @card(0..1) { since: Date  by: String? }
    """
    made = og.init(tmp_path_factory.mktemp("library") / "graph.omni", schema)
    made.load(
        b'{"type":"Book","data":{"zone":"c","isbn":"1","title":"Wide  Sky","authors":["x"]}}\n'
        b'{"type":"Book","data":{"zone":"d","isbn":"2"}}\n'
        b'{"type":"Shelf","data":{"row":4,"side":"left","note":"dusty"}}\n'
    )
    return made


def test_a_node_is_labelled_by_its_title_or_its_key_and_lists_its_key_first(library: og.Graph) -> None:
    assert library.draw("Book", "1").picture.boxes[0] == Box("Book/1", "Wide Sky", "Book", ("isbn: 1", "zone: c"), "1")
    assert library.draw("Book", "2").picture.boxes[0] == Box("Book/2", "2", "Book", ("zone: d",), "2")
    shelf = next(iter(library.query("query q() { match { $s: Shelf } return { $s.id as id } }")))["id"]
    drawn = library.draw("Shelf", shelf).picture.boxes[0]
    assert (drawn.title, drawn.lines) == ("left, 4", ("note: dusty",))
    assert to_tree(library.draw("Book", "1").picture) == "Book Wide Sky (1)\n"


def test_a_label_can_be_asked_for(library: og.Graph) -> None:
    assert library.draw("Book", "1", label="zone").picture.boxes[0].title == "c"
    assert library.draw("Book", "1", label=["Book.isbn", "Shelf.note"]).picture.boxes[0].title == "1"
    with pytest.raises(BadRequest, match=r"no such property; did you mean 'zone'\?"):
        library.draw("Book", "1", label="zona")
    with pytest.raises(BadRequest, match=r"no node type 'Bok'; did you mean 'Book'\?"):
        library.draw("Book", "1", label="Bok.zone")


def test_a_schema_is_drawn_in_the_order_of_its_text_with_the_properties_of_edges(library: og.Graph) -> None:
    drawn = library.schema.draw().picture
    assert drawn.boxes[0].lines == ("isbn: String @key", "zone: String", "title: String?", "authors: [String]?")
    assert drawn.boxes[1].lines == ("side: String @key", "row: I32 @key", "note: String?")
    assert drawn.arrows == (Arrow("Book", "Shelf", "On 0..1", lines=("since: Date", "by: String?")),)
    assert "since: Date" in library.schema.draw()


def test_a_result_draws_the_nodes_that_it_contains(graph: og.Graph) -> None:
    found = graph.query("match { $p: Person $p knows $q } return { $p, $q } order { $p.name }")
    drawn = found.draw()
    assert {box.title for box in drawn.picture.boxes} == {"ada", "bob", "<c & d>"}
    assert len(drawn.picture.arrows) == 2
    assert drawn.startswith("<svg")
    assert drawn == drawn._repr_svg_()
    few = found[:1].draw(limit=2).picture
    assert {box.title for box in few.boxes} == {"ada", "bob"}
    with pytest.raises(BadRequest, match="returns no whole node"):
        graph.query("match { $p: Person } return { $p.name }").draw()
    assert found.draw(limit=1).picture.cut


def test_the_past_is_drawn_as_it_was(graph: og.Graph) -> None:
    assert {box.title for box in graph.at("HEAD").draw("Company", "acme").picture.boxes} == {"acme", "ada", "bob"}


def curve(points: tuple[Point, ...]) -> Iterator[Point]:
    """Points of a line of cubic curves."""
    for at in range(0, len(points) - 3, 3):
        for step in range(21):
            t = step / 20
            weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
            pairs = list(zip(weights, points[at : at + 4], strict=True))
            yield sum(weight * x for weight, (x, _) in pairs), sum(weight * y for weight, (_, y) in pairs)


@pytest.mark.parametrize("name", ["name", "product_name", "productName", "mainTitle"])
def test_a_name_of_either_spelling_is_the_title_of_a_box(name: str) -> None:
    labels = labels_of(compile_schema(f"node Product {{ no: I64 @key  {name}: String }}"))
    assert labels.box("Product", "12", {"no": 12, name: "Prod 12"}).title == "Prod 12"
