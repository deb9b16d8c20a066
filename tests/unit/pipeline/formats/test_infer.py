"""`infer`: what it proposes compiles and loads."""

from __future__ import annotations

import json
from pathlib import Path

import lance
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph as og
from omnigraph.errors import BadRequest, ValueViolation
from omnigraph.pipeline.formats.infer import Inference

PEOPLE = """id,full name,age,joined,zip,company_id,manager_id,active
1,Ada,36,2020-01-01T10:00:00Z,00123,c1,,true
2,Bob,,2020-01-02T10:00:00Z,01123,c2,1,false
3,Cy,12,,00999,,1,true
"""
COMPANIES = "code,name,founded,worth\nc1,Acme,1999-01-01,1.5\nc2,Globex,2001-05-05,2\n"
FOLLOWS = "from_id,to_id,since\n1,2,2021-01-01\n2,3,2021-01-01\n"


def loaded(found: Inference, place: Path) -> tuple[dict[str, int], dict[str, int]]:
    with og.init(place / "g.omni", found.schema) as graph:
        done = graph.load(mapping=found.mapping, runner="inline")
        return dict(done.nodes), dict(done.edges)


def test_keys_references_and_types_are_found(tmp_path: Path) -> None:
    for name, text in (("people", PEOPLE), ("companies", COMPANIES), ("follows", FOLLOWS)):
        (tmp_path / f"{name}.csv").write_text(text)
    found = og.infer(*(tmp_path / f"{name}.csv" for name in ("people", "companies", "follows")))
    assert found.schema == (
        "node Person {\n  full_name: String\n  age: I64?\n  joined: DateTime?\n  zip: String\n  active: Bool\n}\n\n"
        "node Company {\n  code: String @key\n  name: String\n  founded: Date\n  worth: F64\n}\n\n"
        "edge Follow: Person -> Person {\n  since: Date\n  @unique(src, dst)\n}\n\n"
        "edge PersonCompany: Person -> Company {\n  @unique(src, dst)\n}\n\n"
        "edge Manager: Person -> Person {\n  @unique(src, dst)\n}\n"
    )
    assert found.mapping["nodes"]["Person"] == {"from": "people", "id": "id", "columns": {"full_name": "full name"}}
    assert found.mapping["edges"]["Manager"] == {"from": "people", "src": "id", "dst": "manager_id", "optional": True}
    assert loaded(found, tmp_path) == (
        {"Company": 2, "Person": 3},
        {"Follow": 2, "Manager": 2, "PersonCompany": 2},
    )


def test_every_format_and_column_type_is_understood(tmp_path: Path) -> None:
    table = pa.table(
        {
            "sku": ["a", "b"],
            "n": pa.array([1, None], pa.int16()),
            "big": pa.array([2**64 - 1, 0], pa.uint64()),
            "when": pa.array([0, 1], pa.timestamp("us")),
            "tags": [["x"], None],
            "vec": pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2)),
            "raw": [b"\x00", b"\x01"],
            "empty": pa.nulls(2),
            "odd": [{"a": 1}, {"a": 2}],
        }
    )
    pq.write_table(table, tmp_path / "items.parquet")
    lance.write_dataset(table.select(["sku", "n"]), str(tmp_path / "boxes.lance"))
    (tmp_path / "shops").mkdir()
    for number in (1, 2):
        (tmp_path / "shops" / f"{number}.jsonl").write_text(json.dumps({"code": f"s{number}", "item_sku": "a"}) + "\n")
    found = og.infer(tmp_path / "items.parquet", tmp_path / "boxes.lance", tmp_path / "shops")
    assert "n: I64?" in found.schema
    assert "big: U64" in found.schema
    assert "vec: Vector(2)" in found.schema
    assert "raw: Blob" in found.schema
    assert "empty: String?" in found.schema
    assert found.notes == ("items.odd is left out: its values are objects (a), and a property is one value",)
    assert "Shop -> Item" in found.schema
    nodes, edges = loaded(found, tmp_path)
    assert nodes == {"Box": 2, "Item": 2, "Shop": 2}
    assert sum(edges.values()) == 2


def test_blobs_are_found_in_every_form_that_loads(tmp_path: Path) -> None:
    held, empty, outside = {"data": "base64:aGk="}, {"uri": None, "data": "base64:"}, tmp_path / "scan.pdf"
    outside.write_bytes(b"%PDF")
    papers = [
        {"title": "a", "scan": held, "cover": "base64:aGk=", "odd": {"data": "hi"}, "both": {"data": 1}},
        {"title": "b", "scan": None, "cover": "base64:", "odd": None, "both": {"data": 2, "uri": "s3://a/b"}},
        {"title": "c", "scan": empty, "cover": None},
        {"title": "d", "scan": {"uri": outside.as_uri()}},
    ]
    (tmp_path / "papers.jsonl").write_text("".join(json.dumps(paper) + "\n" for paper in papers))
    found = og.infer(tmp_path / "papers.jsonl")
    assert "scan: Blob?" in found.schema
    assert "cover: Blob?" in found.schema
    assert [note.partition(":")[0] for note in found.notes] == [
        "papers.scan refers to objects outside; the graph must be opened with external_blobs",
        "papers.odd is left out",
        "papers.both is left out",
    ]
    with pytest.raises(ValueViolation, match="is not allowed"):
        loaded(found, tmp_path)
    with og.init(tmp_path / "h.omni", found.schema, external_blobs=[tmp_path.as_uri()]) as graph:
        graph.load(mapping=found.mapping, runner="inline")
        scans = [graph.blob("Paper", title, "scan") for title in ("a", "c", "d")]
        assert [scan.read() for scan in scans[:2]] == [b"hi", b""]
        assert scans[2].uri == outside.as_uri()
        assert graph.blob("Paper", "a", "cover").read() == b"hi"
        with pytest.raises(ValueViolation, match="expects Blob"):
            graph.load(pa.table({"title": ["e"], "scan": [{"data": "base64:", "uri": outside.as_uri()}]}), type="Paper")


def test_words_that_repeat_become_an_enum(tmp_path: Path) -> None:
    rows = "".join(f"p{at},{'red' if at % 2 else 'green'},{at % 3}\n" for at in range(40))
    (tmp_path / "paints.csv").write_text(f"code,colour,coats\n{rows}")
    assert "colour: enum(green, red)\n" in og.infer(tmp_path / "paints.csv").schema
    assert "colour: String\n" in og.infer(tmp_path / "paints.csv", enums=False).schema


def test_a_table_of_references_is_an_edge_even_with_ids_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "users.csv").write_text("login,name\na,A\nb,B\n")
    (tmp_path / "teams.csv").write_text("slug\nt\n")
    (tmp_path / "memberships.csv").write_text("id,user_login,team_slug,role\nm1,a,t,x\nm2,b,t,y\n")
    found = og.infer(*(tmp_path / f"{name}.csv" for name in ("users", "teams", "memberships")))
    assert "edge Membership: User -> Team {\n  role: String\n  @unique(src, dst)\n}" in found.schema
    assert found.mapping["edges"]["Membership"]["id"] == "id"
    assert loaded(found, tmp_path) == ({"Team": 1, "User": 2}, {"Membership": 2})


@pytest.mark.parametrize(
    "follows",
    [
        pytest.param("follower,followed,since\nada,bob,2024-01-01\nbob,cyd,2024-02-01\n", id="distinct"),
        pytest.param("follower,followed,since\nada,bob,2024-01-01\nada,cyd,2024-02-01\n", id="repeated"),
        pytest.param("since,whom,who\n2024-01-01,ada,bob\n2024-01-01,bob,cyd\n", id="other-words"),
    ],
)
def test_a_table_of_other_tables_keys_is_an_edge_whatever_its_columns_are_called(tmp_path: Path, follows: str) -> None:
    (tmp_path / "people.csv").write_text(
        "login,full_name,age,city,joined\nada,Ada L,36,London,2024-01-01\nbob,Bob B,25,Berlin,2024-01-02\n"
        "cyd,Cyd C,52,Paris,2024-01-03\n"
    )
    (tmp_path / "follows.csv").write_text(follows)
    found = og.infer(tmp_path / "people.csv", tmp_path / "follows.csv")
    assert "edge Follow: Person -> Person {\n  since: Date\n  @unique(src, dst)\n}" in found.schema
    assert loaded(found, tmp_path) == ({"Person": 3}, {"Follow": 2})


def test_pairs_that_repeat_are_not_called_unique(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("login,age\nada,36\nbob,25\n")
    (tmp_path / "calls.csv").write_text("caller,called,minutes\nada,bob,1\nada,bob,2\n")
    found = og.infer(tmp_path / "people.csv", tmp_path / "calls.csv")
    assert "edge Call: Person -> Person {\n  minutes: I64\n}" in found.schema
    assert loaded(found, tmp_path) == ({"Person": 2}, {"Call": 2})


def test_a_column_of_keys_is_an_edge_whatever_it_is_called(tmp_path: Path) -> None:  # issue 17: no longer only a note
    (tmp_path / "people.csv").write_text("login,age,boss\nada,36,\nbob,25,ada\n")
    found = og.infer(tmp_path / "people.csv")
    assert found.mapping["edges"]["Boss"] == {"from": "people", "src": "login", "dst": "boss", "optional": True}
    assert "  boss → edge Boss to Person: all of boss are keys of Person" in found.report
    assert loaded(found, tmp_path) == ({"Person": 2}, {"Boss": 1})


def test_rows_that_tell_more_about_known_things_are_nodes(tmp_path: Path) -> None:
    texts = {
        "people": "login,age\nada,36\nbob,25\ncyd,52\n",
        "profiles": "login,idol,bio\nada,bob,short\nbob,cyd,long\n",
        "papers": "title,writer,reader\nOn x,ada,bob\nOn y,bob,ada\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.csv").write_text(text)
    found = og.infer(*(tmp_path / f"{name}.csv" for name in texts))
    assert set(found.mapping["nodes"]) == {"Person", "Profile", "Paper"}


def test_names_that_the_language_has_no_room_for_are_changed(tmp_path: Path) -> None:
    (tmp_path / "2024 odd-file.csv").write_text("Key,2nd,Ünicode,name,Name\nk,1,2,3,4\n")
    found = og.infer(tmp_path / "2024 odd-file.csv")
    assert "node T2024OddFile {" in found.schema
    assert loaded(found, tmp_path) == ({"T2024OddFile": 1}, {})


def test_rows_without_a_name_get_generated_ids(tmp_path: Path) -> None:
    (tmp_path / "readings.csv").write_text("value,at\n1,2020-01-01\n1,2020-01-01\n")
    found = og.infer(tmp_path / "readings.csv")
    assert "generated ids" in found.notes[0]
    assert loaded(found, tmp_path) == ({"Reading": 2}, {})


def test_what_cannot_be_inferred_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="at least one file"):
        og.infer()
    (tmp_path / "empty.csv").write_text("a,b\n")
    with pytest.raises(BadRequest, match="contains no rows to learn from"):
        og.infer(tmp_path / "empty.csv")
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed" / "a.csv").write_text("a\n1\n")
    (tmp_path / "mixed" / "b.jsonl").write_text("{}\n")
    with pytest.raises(BadRequest, match="several formats"):
        og.infer(tmp_path / "mixed")
