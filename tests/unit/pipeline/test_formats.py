"""What is exported in other formats comes back through the importers, and through a load."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import BadRequest, NotFound
from omnigraph.pipeline.formats import importers

SCHEMA = """
node Person {
  name: String @key
  age: I32?
  big: U64?
  score: F64?
  ok: Bool?
  born: Date?
  seen: DateTime?
  tags: [String]?
  marks: [I64]?
  vec: Vector(2)?
  photo: Blob?
  role: enum(admin, user)?
  note: String?
}
node Team { title: String }
edge Knows: Person -> Person { since: Date?  weight: F32? }
edge In: Person -> Team
"""
PEOPLE: list[dict[str, Any]] = [
    {
        "name": "ada <&\"'> \u00e9",
        "age": -3,
        "big": 2**64 - 1,
        "score": 0.1,
        "ok": True,
        "born": "1815-12-10",
        "seen": "2020-01-02T03:04:05.678Z",
        "tags": ["a", 'b "quoted", x', ""],
        "marks": [1, -2],
        "vec": [0.5, -1.5],
        "photo": "base64:AAEC",
        "role": "admin",
        "note": "two\nlines, and a comma",
    },
    {"name": "bob", "note": "", "tags": []},
]
RECORDS = [
    *({"type": "Person", "data": person} for person in PEOPLE),
    {"type": "Team", "data": {"id": "t1", "title": "T"}},
    {
        "edge": "Knows",
        "from": PEOPLE[0]["name"],
        "to": "bob",
        "data": {"id": "k1", "since": "2001-01-01", "weight": 0.5},
    },
    {"edge": "Knows", "from": "bob", "to": "bob", "data": {"id": "k2"}},
    {"edge": "In", "from": "bob", "to": "t1", "data": {"id": "i1"}},
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[og.Graph]:
    with og.init(tmp_path_factory.mktemp("exports") / "g.omni", SCHEMA) as opened:
        opened.load(RECORDS)
        yield opened


def lines(graph: og.Graph) -> bytes:
    found = io.BytesIO()
    graph.export(found)
    return found.getvalue()


def entities(graph: og.Graph) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(graph).splitlines()]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_directory_of_tables_loads_back_byte_for_byte(graph: og.Graph, tmp_path: Path, form: str) -> None:
    written = graph.export(tmp_path / "out", format=form)
    assert written == sum(path.stat().st_size for path in (tmp_path / "out").rglob("*") if path.is_file())
    with og.init(tmp_path / "copy.omni", tmp_path / "out" / "schema.pg") as copy:
        copy.load(mapping=tmp_path / "out" / "mapping.yaml", runner="inline")
        assert lines(copy) == lines(graph)


def test_neo4j_files_come_back(graph: og.Graph, tmp_path: Path) -> None:
    graph.export(tmp_path / "out", format="neo4j-csv")
    head = (tmp_path / "out" / "nodes-Person.csv").read_text().partition("\n")[0]
    assert head.startswith('":ID(Person)","age:long","big:string","born:date","marks:long[]"')
    bundle = importers.entry.read_from("neo4j-csv", tmp_path / "out")
    assert "edge Knows: Person -> Person" in bundle.schema
    done = bundle.load(tmp_path / "copy.omni")
    assert (dict(done.load.nodes), dict(done.load.edges)) == ({"Person": 2, "Team": 1}, {"In": 1, "Knows": 2})
    with og.open(tmp_path / "copy.omni") as copy:
        ada = copy.get("Person", PEOPLE[0]["name"])
        assert ada is not None
        for name in ("age", "score", "ok", "born", "seen", "marks", "role", "note"):
            assert ada[name] == graph.get("Person", PEOPLE[0]["name"])[name], name  # type: ignore[index]
        assert copy.get("Person", "bob")["note"] == ""  # type: ignore[index]


def test_graphml_comes_back(graph: og.Graph, tmp_path: Path) -> None:
    graph.export(tmp_path / "g.graphml", format="graphml")
    stream = io.BytesIO()
    assert graph.export(stream, format="graphml") == (tmp_path / "g.graphml").stat().st_size
    assert stream.getvalue() == (tmp_path / "g.graphml").read_bytes()
    done = importers.from_graphml(tmp_path / "g.graphml", into=tmp_path / "copy.omni")
    assert (dict(done.load.nodes), dict(done.load.edges)) == ({"Person": 2, "Team": 1}, {"In": 1, "Knows": 2})
    with og.open(tmp_path / "copy.omni") as copy:
        ada, edge = copy.get("Person", PEOPLE[0]["name"]), copy.get("Knows", "k1")
        assert ada is not None
        assert (ada["age"], ada["score"], ada["note"]) == (-3, 0.1, PEOPLE[0]["note"])
        assert json.loads(ada["tags"]) == PEOPLE[0]["tags"]
        assert edge == {"id": "k1", "src": PEOPLE[0]["name"], "dst": "bob", "since": "2001-01-01", "weight": 0.5}


def test_some_types_of_a_past_state_can_be_exported(graph: og.Graph, tmp_path: Path) -> None:
    past = graph.at(graph.commits.list()[0])
    past.export(tmp_path / "out", ["Team"], format="csv")
    assert [path.name for path in (tmp_path / "out").rglob("*.csv")] == ["Team.csv"]
    assert (tmp_path / "out" / "nodes" / "Team.csv").read_text() == '"id","title"\n"t1","T"\n'


def test_an_export_that_cannot_be_is_told(graph: og.Graph, tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="unknown export format 'xlsx'"):
        graph.export(tmp_path / "x", format="xlsx")
    with pytest.raises(BadRequest, match="name an empty or a new directory"):
        graph.export(tmp_path.parent, format="csv")
    with pytest.raises(BadRequest, match="a csv export is a directory"):
        graph.export(io.BytesIO(), format="csv")
    with pytest.raises(BadRequest, match="unknown export type"):
        graph.export(tmp_path / "x", ["Nope"], format="parquet")
    with og.init(tmp_path / "odd.omni", "node A { t: String  l: [String]? }") as odd:
        odd.load([{"type": "A", "data": {"t": "\u0001", "l": ["a;b"]}}])
        with pytest.raises(BadRequest, match=r"A\.t' holds a control character"):
            odd.export(tmp_path / "x.graphml", format="graphml")
        assert not (tmp_path / "x.graphml").exists()
        with pytest.raises(BadRequest, match=r"A\.l' holds a text with ';'"):
            odd.export(tmp_path / "neo", format="neo4j-csv")


# --- importers that nothing of ours writes -----------------------------------------------------------


def imported(format: str, source: Path, place: Path) -> tuple[importers.Imported, list[dict[str, Any]]]:
    done = importers.import_from(format, source, into=place / "new.omni")
    with og.open(place / "new.omni") as graph:
        return done, entities(graph)


def test_neo4j_headers_name_types_spaces_and_labels(tmp_path: Path) -> None:
    place = tmp_path / "neo"
    place.mkdir()
    (place / "people-header.csv").write_text("personId:ID(P),name,age:int,tags:string[],:LABEL\n")
    (place / "people-1.csv").write_text("1,Ada,36,a;b,Person;Admin\n")
    (place / "people-2.csv").write_text("2,Bob,,,Person\n3,Rex,4,,Dog\n")
    (place / "links.csv").write_text(
        ":START_ID(P),:END_ID(P),since:long,:TYPE\n1,2,1999,KNOWS\n1,3,,OWNS\n2,3,,KNOWS\n"
    )
    done, found = imported("neo4j-csv", place, tmp_path)
    assert len(og.open(done.uri).commits.list()) == 2, "the graph's first commit and one load"
    assert dict(done.load.nodes) == {"Dog": 1, "Person": 2}
    assert dict(done.load.edges) == {"Owns": 1, "PersonKnowsDog": 1, "PersonKnowsPerson": 1}
    assert {"id": "1", "personId": "1", "name": "Ada", "age": 36, "tags": ["a", "b"]} in [
        each["data"] for each in found
    ]
    assert "personId: String @key" in done.schema


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"a.csv": "name\nx\n"}, "neither an :ID nor a :START_ID"),
        ({"a.csv": "x:ID,n:int\n1,many\n"}, "column 'n:int' holds a value that does not fit"),
        ({"a.csv": "x:ID\n1\n", "b.csv": ":START_ID,:TYPE\n1,A\n"}, "no :END_ID"),
        ({"a.csv": "x:ID\n1\n", "b.csv": ":START_ID,:END_ID,:TYPE\n1,9,A\n"}, "is not there: '9'"),
        ({"a.csv": "x:ID(A)\n1\n", "b.csv": ":START_ID(B),:END_ID(A),:TYPE\n1,1,A\n"}, "id space 'B'"),
        ({"b.csv": ":START_ID,:END_ID,:TYPE\n1,9,A\n"}, "there are no nodes"),
    ],
)
def test_wrong_neo4j_files_are_told(tmp_path: Path, files: dict[str, str], told: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(BadRequest, match=told):
        importers.entry.read_from("neo4j-csv", tmp_path)


APOC = [
    {"type": "node", "id": "0", "labels": ["User"], "properties": {"name": "Adam", "age": 42, "kids": ["Sam"]}},
    {"type": "node", "id": "1", "labels": ["User"], "properties": {"name": "Jim"}},
    {"type": "node", "id": "2", "properties": {"id": 12}},
    {"type": "relationship", "id": "0", "label": "KNOWS", "properties": {"since": 1993}, "start": {"id": "0"}, "end": {"id": "1"}},
    {"type": "relationship", "id": "1", "label": "SEES", "start": {"id": "0"}, "end": {"id": "2"}},
]  # fmt: skip


@pytest.mark.parametrize("mixed", [False, True], ids=["one type a member", "several types a member"])
def test_apoc_json_is_imported(tmp_path: Path, mixed: bool) -> None:
    records = [*APOC, {"type": "node", "id": "3", "labels": ["User"], "properties": {"name": 7}}] if mixed else APOC
    (tmp_path / "all.json").write_text("\n".join(map(json.dumps, records)) + "\n")
    done, found = imported("neo4j-json", tmp_path / "all.json", tmp_path)
    assert dict(done.load.edges) == {"Knows": 1, "Sees": 1}
    people = {each["data"]["id"]: each["data"] for each in found if each.get("type") == "User"}
    assert people["0"] == {"id": "0", "name": "Adam", "age": 42, "kids": ["Sam"]}
    assert people.get("3", {"name": "7"})["name"] == "7"
    assert [each["data"]["id_"] for each in found if each.get("type") == "Node"] == [12]


def test_triples_become_types_properties_and_edges(tmp_path: Path) -> None:
    foaf, kind = "http://xmlns.com/foaf/0.1/", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    whole = "http://www.w3.org/2001/XMLSchema#integer"
    (tmp_path / "x.nt").write_text(
        f"# people\n<http://x/a> <{kind}> <{foaf}Person> .\n<http://x/b> <{kind}> <{foaf}Person> . # the other\n\n"
        f'<http://x/a> <{foaf}name> "Ada \\"L\\" \\u00e9"@en .\n<http://x/a> <{foaf}age> "36"^^<{whole}> .\n'
        f'<http://x/a> <{foaf}nick> "one" .\n<http://x/a> <{foaf}nick> "two" .\n'
        f"<http://x/a> <{foaf}knows> <http://x/b> .\n<http://x/a> <{foaf}near> _:p .\n"
    )
    done, found = imported("ntriples", tmp_path / "x.nt", tmp_path)
    assert dict(done.load.edges) == {"Knows": 1, "Near": 1}
    ada = next(each["data"] for each in found if each["data"]["id"] == "http://x/a")
    assert ada == {"id": "http://x/a", "name": 'Ada "L" é', "age": 36, "nick": ["one", "two"]}
    assert {"type": "Resource", "data": {"id": "_:p"}} in found
    (tmp_path / "bad.nt").write_text("<a> <b>\n")
    with pytest.raises(BadRequest, match="not a triple: <a> <b>"):
        importers.entry.read_from("ntriples", tmp_path / "bad.nt")


def test_graphml_of_others_is_imported(tmp_path: Path) -> None:
    head = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="a" attr.name="age" attr.type="int">'
    (tmp_path / "x.graphml").write_text(
        f'{head}<default>7</default></key><key id="l" attr.name="labelV"/><graph>'
        '<node id="n0"><data key="l">person</data><data key="a">3</data></node><node id="n1"><data key="l">person</data></node>'
        '<edge source="n0" target="n1"/></graph></graphml>'
    )
    done, found = imported("graphml", tmp_path / "x.graphml", tmp_path)
    assert dict(done.load.nodes) == {"Person": 2}
    assert [each["data"]["age"] for each in found if "type" in each] == [3, 7]
    for text, told in (
        ("<graphml", "is not XML"),
        ("<graphml><graph><edge source='x' target='y'/></graph></graphml>", "'x' as its source, which is not a node"),
        ("<graphml><graph/></graphml>", "contain no nodes"),
    ):
        (tmp_path / "bad.graphml").write_text(text)
        with pytest.raises(BadRequest, match=told):
            importers.entry.read_from("graphml", tmp_path / "bad.graphml")


class Network:
    """What a NetworkX graph offers to an importer; the real one is compared with in the bench environment."""

    def __init__(self, nodes: list[tuple[Any, dict[str, Any]]], edges: list[tuple[Any, Any, dict[str, Any]]]) -> None:
        self._nodes, self._edges = nodes, edges

    def nodes(self, *, data: bool) -> list[tuple[Any, dict[str, Any]]]:
        assert data
        return self._nodes

    def edges(self, *, data: bool) -> list[tuple[Any, Any, dict[str, Any]]]:
        assert data
        return self._edges

    def is_directed(self) -> bool:
        return False


def test_objects_with_attributes_are_imported(tmp_path: Path) -> None:
    nodes = [
        (1, {"type": "Person", "name": "x", "odd": 1}),
        ("c", {"type": "Company"}),
        (2, {"type": "Person", "odd": "a"}),
    ]
    network = Network(nodes, [(1, "c", {"type": "WORKS_AT", "since": 3}), (1, 2, {})])
    done = importers.from_networkx(network, tmp_path / "n.omni")
    assert (dict(done.load.nodes), dict(done.load.edges)) == ({"Company": 1, "Person": 2}, {"Edge": 1, "WorksAt": 1})
    assert "undirected" in done.notes[0]
    with og.open(tmp_path / "n.omni") as graph:
        assert graph.get("Person", "1") == {"id": "1", "name": "x", "odd": "1"}
        again = importers.from_networkx(network, graph, mode="merge")
        assert again.load.commit is not None
    with pytest.raises(BadRequest, match="cannot import an object of type dict"):
        importers.from_networkx({}, tmp_path / "x.omni")
    with pytest.raises(BadRequest, match="the same text"):
        importers.from_networkx(Network([(1, {}), ("1", {})], []), tmp_path / "x.omni")


def test_a_query_of_duckdb_is_a_source_as_it_is(tmp_path: Path) -> None:
    import duckdb

    rows = duckdb.sql("select 'o' || range as order_id, range * 1.10 as total from range(3)")
    with og.init(tmp_path / "g.omni", "node Order { number: String @key  total: F64? }") as graph:
        done = graph.load(rows.to_arrow_table(), type="Order", columns={"number": "order_id"})
        assert (done.nodes, graph.get("Order", "o2")) == ({"Order": 3}, {"id": "o2", "number": "o2", "total": 2.2})


def test_a_missing_kuzu_names_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "kuzu", None)
    with pytest.raises(BadRequest, match="pip install kuzu"):
        importers.from_kuzu(tmp_path / "k", tmp_path / "g.omni")


def test_an_unknown_format_and_a_missing_file_are_told(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="unknown import format 'gexf'"):
        importers.import_from("gexf", tmp_path, into=tmp_path / "g.omni")
    with pytest.raises(NotFound, match="no file"):
        importers.import_from("ntriples", tmp_path / "no.nt", into=tmp_path / "g.omni")
    assert not (tmp_path / "g.omni").exists()
