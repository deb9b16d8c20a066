"""Files as different people keep them, from `infer` to an answer, without an edit in between."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.pipeline.formats.infer import Inference, infer


def taken(place: Path, *inputs: Path | Mapping[str, Any]) -> tuple[Inference, og.Graph]:
    """What was inferred, and a graph with everything loaded."""
    found = infer(*inputs)
    graph = og.init(place / "g.omni", found.schema)
    graph.load(mapping=found.mapping, mode="append", runner="inline")
    return found, graph


def files(place: Path, texts: Mapping[str, str]) -> list[Path]:
    for name, text in texts.items():
        (place / name).write_text(text, encoding="utf-8")
    return [place / name for name in texts]


def rows(graph: og.Graph, body: str) -> list[dict[str, Any]]:
    return graph.query(body).rows()


def test_movies_with_link_tables_and_references_to_themselves(tmp_path: Path) -> None:
    inputs = files(
        tmp_path,
        {
            "people.csv": "person_id,name,mentor_id\np1,Ida,\np2,Ben,p1\np3,Cem,p1\n",
            "movies.csv": "movie_id,title,director,sequel_of\nm1,Dawn,p1,\nm2,Dusk,p2,m1\n",
            "roles.csv": "person_id,movie_id,part\np2,m1,lead\np3,m1,cameo\np3,m2,lead\np2,m2,cameo\n",
        },
    )
    found, graph = taken(tmp_path, *inputs)
    assert "node Movie {" in found.schema
    assert any(
        line.endswith(
            "edge type Role from Person (person_id) to Movie (movie_id): its rows link two things and have no name of "
            "their own"
        )
        for line in found.report
    )
    asked = "match { $p: Person $p role $m $m sequelOf $first $p mentor $who } return { $p.name, $who.name as mentor } order { $p.name asc }"
    assert rows(graph, asked) == [{"p.name": "Ben", "mentor": "Ida"}, {"p.name": "Cem", "mentor": "Ida"}]


def test_a_shop_with_lines_that_returns_refer_to_by_two_columns(tmp_path: Path) -> None:
    inputs = files(
        tmp_path,
        {
            "orders.csv": "Order Id,Ordered At\n1,2024-05-01 10:00:00\n2,2024-05-02 11:30:00\n",
            "products.csv": 'SKU,Price\nA-1,"1,200.50"\nA-2,"2,000.00"\n',
            "order_lines.csv": "Order Id,Line,SKU,Quantity\n1,1,A-1,2\n1,2,A-2,1\n2,1,A-1,5\n",
            "returns.csv": "Order Id,Line,Reason\n1,1,wrong\n1,2,late\n2,1,broken\n",
        },
    )
    found, graph = taken(tmp_path, *inputs)
    assert "  @key(order_id, line)\n" in found.schema
    assert (
        "  Order Id and Line → edge ReturnOrderLine to OrderLine: all of Order Id and Line are keys of OrderLine"
        in found.report
    )
    asked = "match { $r: Return $r returnOrderLine $l $l orderLineProduct $p } return { $r.reason, $p.price } order { $r.reason asc }"
    assert rows(graph, asked) == [
        {"r.reason": "broken", "p.price": 1200.5},
        {"r.reason": "late", "p.price": 2000.0},
        {"r.reason": "wrong", "p.price": 1200.5},
    ]


def test_a_database_with_keys_of_several_columns(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "books.sqlite") as base:
        base.executescript(
            """
            create table shelf(room text, no integer, label text, primary key(room, no));
            create table book(id integer primary key, title text not null, room text, shelf_no integer,
                              foreign key(room, shelf_no) references shelf(room, no));
            create table cites(citing integer references book(id), cited integer references book(id),
                               primary key(citing, cited));
            insert into shelf values ('A', 1, 'art'), ('A', 2, 'law'), ('B', 1, 'maps');
            insert into book values (1, 'One', 'A', 2), (2, 'Two', 'B', 1), (3, 'Lost', null, null);
            insert into cites values (1, 2), (2, 3);
            """
        )
    base.close()
    found, graph = taken(tmp_path, tmp_path / "books.sqlite")
    assert "shelf of books.sqlite (3 rows) → node type Shelf, key room, no (as declared)" in found.report
    assert rows(graph, "match { $b: Book $b bookShelf $s } return { $b.title, $s.label } order { $b.title asc }") == [
        {"b.title": "One", "s.label": "law"},
        {"b.title": "Two", "s.label": "maps"},
    ]
    assert rows(graph, "match { $b: Book $b cite $c $c cite $d } return { $d.title }") == [{"d.title": "Lost"}]


def test_a_workbook_whose_people_have_numbers_and_bosses(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")
    with pandas.ExcelWriter(tmp_path / "staff.xlsx") as book:
        pandas.DataFrame({"Dept Code": ["HR", "IT"], "Budget": [1.5, None]}).to_excel(
            book, sheet_name="Departments", index=False
        )
        pandas.DataFrame(
            {"Emp #": [1, 2, 3], "Name": ["Ann", "Çelik", "Eve"], "Dept": ["HR", "IT", "IT"], "Boss": [None, 1, 1]}
        ).to_excel(book, sheet_name="Staff", index=False)
    found, graph = taken(tmp_path, tmp_path / "staff.xlsx")
    assert "Staff of staff.xlsx (3 rows) → node type Staff, key Emp #" in found.report
    asked = "match { $s: Staff $s boss $b $s dept $d } return { $s.name, $b.name as boss, $d.dept_code } order { $s.name asc }"
    assert rows(graph, asked) == [
        {"s.name": "Eve", "boss": "Ann", "d.dept_code": "IT"},
        {"s.name": "Çelik", "boss": "Ann", "d.dept_code": "IT"},
    ]


def test_an_array_of_mixed_objects_beside_compressed_lines(tmp_path: Path) -> None:
    devices = [
        {"id": at, "value": at if at % 2 else f"{at} units", "place": {"lat": 1.5}, "parent": at - 1 if at else None}
        for at in range(4)
    ]
    (tmp_path / "devices.json").write_bytes(b"\xef\xbb\xbf\n" + json.dumps(devices).encode())
    lines = "".join(json.dumps({"reading_id": at, "device_id": at % 4, "celsius": 20.5}) + "\n" for at in range(8))
    (tmp_path / "readings.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    with pa.CompressedOutputStream(str(tmp_path / "events.tsv.zst"), "zstd") as out:
        out.write(b"event\tdevice_id\nstart\t0\nstop\t3\nwake\t3\n")
    found, graph = taken(
        tmp_path, tmp_path / "devices.json", tmp_path / "readings.jsonl.gz", tmp_path / "events.tsv.zst"
    )
    assert found.notes == (
        "devices.value holds values of several kinds, so it is text",
        "devices.place is left out: its values are objects (lat), and a property is one value",
    )
    assert rows(
        graph, "match { $e: Event $e eventDevice $d } return { $e.event, $d.value } order { $e.event asc }"
    ) == [
        {"e.event": "start", "d.value": "0 units"},
        {"e.event": "stop", "d.value": "3"},
        {"e.event": "wake", "d.value": "3"},
    ]
    assert rows(graph, "match { $d: Device $d parent $p } return { count(*) as n }") == [{"n": 3}]


def test_files_of_another_country(tmp_path: Path) -> None:
    (tmp_path / "kunden.csv").write_bytes(
        "Kunden-Nr;Größe;Umsatz;Geburtstag;Aktiv;Bemerkung\n"
        '1;1,75;1.234,50;31.12.1980;ja;"zwei\nZeilen; ""so"""\n'
        "2;1,80;12.000,00;01.02.1975;nein;Straße\n".encode("latin-1")
    )
    (tmp_path / "auftraege.csv").write_text("nummer;kunde;betrag\r\n10;1;9,50\r\n11;1;3,25\r\n", encoding="utf-8-sig")
    found, graph = taken(tmp_path, tmp_path / "kunden.csv", tmp_path / "auftraege.csv")
    assert "  grosse: F64\n" in found.schema
    assert "  assumed: ja and nein are true and false (in Aktiv)" in found.report
    asked = (
        "match { $a: Auftraege $a kunde $k } return { $k.geburtstag, $k.aktiv, $k.bemerkung, sum($a.betrag) as summe }"
    )
    assert [{**row, "k.geburtstag": str(row["k.geburtstag"])} for row in rows(graph, asked)] == [
        {"k.geburtstag": "1980-12-31", "k.aktiv": True, "k.bemerkung": 'zwei\nZeilen; "so"', "summe": 12.75}
    ]


def test_frames_by_name(tmp_path: Path) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    found, graph = taken(
        tmp_path,
        {
            "cities": pandas.DataFrame({"City Code": ["OSL", "BGO"], "Pop.": [700.0, None]}),
            "trips": polars.DataFrame({"from": ["OSL", "OSL"], "to": ["BGO", "OSL"], "km": [460, 1]}),
        },
    )
    assert "edge Trip: City -> City" in found.schema
    assert rows(graph, "match { $a: City $a $t:trip $b $b.pop is null } return { $a.city_code, $t.km }") == [
        {"a.city_code": "OSL", "t.km": 460}
    ]
