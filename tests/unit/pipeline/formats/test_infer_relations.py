"""`infer` on relational data: keys that others refer to, references by content, links, composite keys, databases."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sqlalchemy

import omnigraph as og
from omnigraph.errors import BadRequest
from omnigraph.pipeline.formats.infer import Inference


def loaded(found: Inference, place: Path) -> tuple[dict[str, int], dict[str, int]]:
    with og.init(place / "g.omni", found.schema) as graph:
        done = graph.load(mapping=found.mapping, runner="inline")
        return dict(done.nodes), dict(done.edges)


def written(place: Path, **texts: str) -> list[Path]:
    for name, text in texts.items():
        (place / f"{name}.csv").write_text(text)
    return [place / f"{name}.csv" for name in texts]


def test_the_share_of_keys_is_stated_and_the_others_are_skipped(tmp_path: Path) -> None:
    airports = "faa,name\n" + "".join(f"A{at:02},Port {at}\n" for at in range(10))
    trips = "no,dest\n" + "".join(f"{at},{'ZZZ' if at % 20 == 0 else f'A{at % 10:02}'}\n" for at in range(100))
    found = og.infer(*written(tmp_path, airports=airports, trips=trips))
    assert (
        "  dest → edge Dest to Airport: 95.0 % of dest are keys of Airport; 1 value, 5 rows would be skipped: ZZZ"
        in (found.report)
    )
    assert found.mapping["edges"]["Dest"]["missing"] == "skip"
    assert "dest: String" in found.schema  # what some rows would lose stays a property
    with og.init(tmp_path / "g.omni", found.schema) as graph:
        done = graph.load(mapping=found.mapping)
    assert (dict(done.edges), dict(done.skipped)) == ({"Dest": 95}, {"Dest": 5})


def test_the_key_is_what_others_refer_to(tmp_path: Path) -> None:
    cities = "id,name,tag\n1,Oslo,osl\n2,Bergen,bgo\n3,Tromsø,tos\n"
    visits = "who,town\n" + "".join(f"w{at},{('osl', 'bgo', 'tos')[at % 3]}\n" for at in range(9))
    found = og.infer(*written(tmp_path, cities=cities, visits=visits))
    assert "tag: String @key" in found.schema
    assert "edge Town: Visit -> City" in found.schema


def test_numbers_that_only_happen_to_be_keys_are_not_references(tmp_path: Path) -> None:
    people = "id,name,children\n" + "".join(f"{at},P{at},{1 + at % 3}\n" for at in range(1, 30))
    found = og.infer(*written(tmp_path, people=people))
    assert "edges" not in found.mapping
    assert "children: I64" in found.schema


def test_words_that_are_references_are_no_enum(tmp_path: Path) -> None:
    colours = "colour\nred\ngreen\n"
    paints = "code,shade,size\n" + "".join(
        f"p{at},{('red', 'green')[at % 2]},{('s', 'l')[at % 2]}\n" for at in range(40)
    )
    found = og.infer(*written(tmp_path, colours=colours, paints=paints))
    assert "edge Shade: Paint -> Colour" in found.schema
    assert "enum(green, red)" not in found.schema
    assert "size: enum(l, s)" in found.schema


def test_rows_of_many_references_get_a_key_of_several_columns(tmp_path: Path) -> None:
    days = [f"2024,{day},c{crew},t{crew},OSL,5\n" for day in range(1, 9) for crew in (1, 2)]
    found = og.infer(
        *written(
            tmp_path,
            crews="code,name\nc1,A\nc2,B\n",
            planes="tail,seats\nt1,4\nt2,6\n",
            ports="faa,name\nOSL,Oslo\nBGO,Bergen\n",
            flights="year,day,crew_code,plane,port,late\n" + "".join(days),
        )
    )
    assert "@key(year, day, crew_code)" in found.schema
    assert found.mapping["edges"]["FlightPort"]["src"] == ["year", "day", "crew_code"]
    assert "  it is a node type: it has 3 references, and an edge has two ends" in found.report
    assert loaded(found, tmp_path)[1] == {"FlightCrew": 16, "FlightPlane": 16, "FlightPort": 16}


def test_rows_that_nothing_names_are_called_by_their_lines(tmp_path: Path) -> None:
    found = og.infer(*written(tmp_path, ports="faa\nOSL\nBGO\n", bags="port,kilos\nOSL,5\nOSL,5\nBGO,1\n"))
    assert found.mapping["nodes"]["Bag"]["id"] == "@line"
    with og.init(tmp_path / "g.omni", found.schema) as graph:
        graph.load(mapping=found.mapping)
        rows = graph.query(
            "query q() { match { $b: Bag  $b bagPort $p } return { $b.id, $p.faa } order { $b.id } }"
        ).rows()
    assert [tuple(row.values()) for row in rows] == [
        ("bags.csv:2", "OSL"),
        ("bags.csv:3", "OSL"),
        ("bags.csv:4", "BGO"),
    ]


def test_large_inputs_are_sampled_and_the_report_says_so(tmp_path: Path) -> None:
    rows = "".join(f"{at},{'' if at > 90 else 'x'}\n" for at in range(100))
    paths = written(tmp_path, things=f"id,word\n{rows}")
    found = og.infer(*paths, sample=50)
    assert found.report[0].startswith("things.csv (the first 50 rows were looked at)")
    assert "word: String?" in found.schema
    assert loaded(found, tmp_path) == ({"Thing": 100}, {})
    with pytest.raises(BadRequest, match="sample is a number of rows"):
        og.infer(*paths, sample=0)


# --- stores ---------------------------------------------------------------------------------------------


SHOP = """
create table makers (code text primary key, name text);
create table parts (no integer primary key, title text, made_by text references makers(code));
create table uses (part integer references parts(no), needs integer references parts(no), pieces integer);
insert into makers values ('m1', 'Acme'), ('m2', 'Globex');
insert into parts values (1, 'wheel', 'm1'), (2, 'bike', 'm2'), (3, 'bell', null);
insert into uses values (2, 1, 2), (2, 3, 1);
"""


def test_a_sqlite_file_is_read_with_its_foreign_keys(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as db:
        db.executescript(SHOP)
    db.close()
    found = og.infer(tmp_path / "shop.db")
    assert loaded(found, tmp_path) == ({"Maker": 2, "Part": 3}, {"MadeBy": 2, "Use": 2})
    assert any("declared as a foreign key" in line for line in found.evidence)


def test_a_database_is_read_by_its_url(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'shop.sqlite'}"
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        for statement in SHOP.strip().split(";\n"):
            connection.exec_driver_sql(statement.rstrip(";"))
    engine.dispose()
    found = og.infer(url)
    assert found.mapping["sources"]["makers"] == {"url": url, "table": "makers"}
    assert loaded(found, tmp_path)[0] == {"Maker": 2, "Part": 3}
    with pytest.raises(BadRequest, match="cannot be used"):
        og.infer("postgresql+nothing://user:secret@nowhere/x")


def test_a_duckdb_file_and_a_workbook_are_read(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as db:
        for statement in SHOP.strip().split(";\n"):
            db.execute(statement)
    found = og.infer(tmp_path / "shop.duckdb")
    assert loaded(found, tmp_path)[0] == {"Maker": 2, "Part": 3}
    book = openpyxl.Workbook()
    book.active.title = "makers"
    for row in [("code", "name"), ("m1", "Acme"), ("m2", "Globex")]:
        book.active.append(row)
    sheet = book.create_sheet("parts")
    for values in [("no", "Made By", "weight"), (1, "m1", 2.5), (2, "m2", None), (3, None, 1)]:
        sheet.append(values)
    book.save(tmp_path / "shop.xlsx")
    (tmp_path / "excel").mkdir()
    found = og.infer(tmp_path / "shop.xlsx")
    assert "edge MadeBy: Part -> Maker" in found.schema
    assert loaded(found, tmp_path / "excel") == ({"Maker": 2, "Part": 3}, {"MadeBy": 2})


@pytest.mark.parametrize("made", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("runner", ["inline", "tasks"])
def test_frames_are_given_by_name(tmp_path: Path, made: Any, runner: str) -> None:
    people = made({"login": ["ada", "bob"], "boss": [None, "ada"], "age": [36.0, None]})
    found = og.infer({"people": people, "teams": made({"slug": ["t"], "lead": ["bob"]})})
    assert "age: I64?" in found.schema
    with og.init(tmp_path / "g.omni", found.schema) as graph:
        done = graph.load(mapping=found.mapping, max_errors=None if runner == "inline" else 3)
    assert (dict(done.nodes), dict(done.edges)) == ({"Person": 2, "Team": 1}, {"Boss": 1, "Lead": 1})
    with pytest.raises(BadRequest, match="cannot be written to a file"):
        found.write(tmp_path / "out")
    with pytest.raises(BadRequest, match="give frames by name"):
        og.infer(people)


def test_json_of_several_kinds_becomes_text_with_a_note(tmp_path: Path) -> None:
    lines = [f'{{"code": "c{at}", "wind": {at}.5}}' for at in range(30)] + ['{"code": "x", "wind": "calm"}']
    (tmp_path / "air.jsonl").write_text("\n".join(lines) + "\n")
    found = og.infer(tmp_path / "air.jsonl")
    assert found.notes == ("air.wind is text because of 1 row such as 'calm'; the rest are numbers",)
    assert found.mapping["sources"]["air"]["text"] == ["wind"]
    assert loaded(found, tmp_path) == ({"Air": 31}, {})


def test_the_proposal_can_be_drawn_and_shown(tmp_path: Path) -> None:
    found = og.infer(*written(tmp_path, people="login,boss\nada,\nbob,ada\n"))
    assert found.draw().startswith("<svg")
    assert repr(found).startswith("people.csv (2 rows) → node type Person, key login")


def test_many_rows_refer_to_few_by_a_key_of_two_columns(tmp_path: Path) -> None:
    rooms = "building,room,seats\n" + "".join(f"{a},{b},{9 if a == 'A' else 5}\n" for a in "ABC" for b in range(1, 6))
    bookings = "booking,building,room,day\n" + "".join(
        f"{at},{'ABC'[at % 3]},{at % 5 + 1},2024-01-0{at % 9 + 1}\n" for at in range(50)
    )
    found = og.infer(*written(tmp_path, rooms=rooms, bookings=bookings))
    assert "  building and room → edge BookingRoom to Room: all of building and room are keys of Room" in found.report
    assert loaded(found, tmp_path) == ({"Booking": 50, "Room": 15}, {"BookingRoom": 50})


def test_readings_of_the_same_times_are_not_about_each_other(tmp_path: Path) -> None:
    wind = "station,year,month,speed\n" + "".join(f"S{a},2024,{b},{a}{b}.5\n" for a in range(3) for b in range(1, 5))
    rain = "no,station,year,month,mm\n" + "".join(f"{at},S{at % 3},2024,{at % 4 + 1},{at}.5\n" for at in range(40))
    assert "edge" not in og.infer(*written(tmp_path, wind=wind, rain=rain)).schema


def test_a_column_called_like_its_file_comes_before_a_mere_name(tmp_path: Path) -> None:
    [users] = written(tmp_path, users="user,name\nu1,Ada\nu2,Bob\n")
    assert og.infer(users).report[0] == "users.csv (2 rows) → node type User, key user"


def test_a_sheet_without_a_name_of_its_own_is_called_like_its_file(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    assert book.active is not None
    for row in (("code", "city"), ("ZRH", "Zurich"), ("GVA", "Geneva")):
        book.active.append(row)
    book.active.title = "Sheet1"
    book.save(tmp_path / "airports.xlsx")
    assert "node Airport {" in og.infer(tmp_path / "airports.xlsx").schema


def test_a_key_that_is_called_after_another_input_refers_to_it(tmp_path: Path) -> None:
    persons = "person_id,name\n" + "".join(f"{at},P{at}\n" for at in range(1, 31))
    passports = "person_id,country\n" + "".join(f"{at},IT\n" for at in range(2, 31, 2))
    found = og.infer(*written(tmp_path, persons=persons, passports=passports))
    assert "  person_id → edge PassportPerson to Person: all of person_id are keys of Person" in found.report
    assert loaded(found, tmp_path) == ({"Person": 30, "Passport": 15}, {"PassportPerson": 15})
    assert "  country: String, 1 value (IT)" in found.evidence
