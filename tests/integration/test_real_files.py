"""Files as people have them: what a mapping says about cells is what a load does, in this process and as tasks."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.engine.intake.columns.cells import Cells
from omnigraph.engine.intake.columns.date_formats import instants
from omnigraph.errors import BadRequest, OmnigraphError

SCHEMA = """
node City {
  code: String @key
  people: I64?
  area: F64?
  founded: Date?
  seen: DateTime?
  capital: Bool?
  motto: String?
}
edge Near: City -> City { km: I64? }
"""


def graph_of(place: Path, schema: str = SCHEMA) -> og.Graph:
    return og.init(place / "g.omni", schema)


def load(graph: og.Graph, mapping: dict[str, Any], *, tasks: bool = False, **more: Any) -> Any:
    return graph.load(mapping=mapping, runner="inline", **({"max_errors": 9} if tasks else {}), **more)


def rows(graph: og.Graph, text: str) -> list[dict[str, Any]]:
    return graph.query(f"query q() {{ {text} }}").rows()


CITIES = (
    "code;people;area;founded;seen;capital;motto\n"
    "o;709.037;454,12;01/05/1048;3/4/2024 5:06 PM;yes;NA\n"
    'b;285.601;465;11/02/1070;NA;no;"two\nlines"\n'
)


@pytest.mark.parametrize("tasks", [False, True])
def test_nulls_signs_dates_and_words_are_read_as_the_mapping_says(tmp_path: Path, tasks: bool) -> None:
    (tmp_path / "c.csv").write_bytes(CITIES.encode("cp1252"))
    source = {
        "path": str(tmp_path / "c.csv"),
        "delimiter": ";",
        "nulls": ["NA"],
        "thousands": ".",
        "decimal": ",",
        "dates": {"founded": "%d/%m/%Y", "seen": "%d/%m/%Y %I:%M %p"},
        "true_words": ["yes"],
        "false_words": ["no"],
    }
    with graph_of(tmp_path) as graph:
        load(graph, {"sources": {"c": source}, "nodes": {"City": {"from": "c"}}}, tasks=tasks)
        found = rows(graph, "match { $c: City } return { $c } order { $c.code desc }")
    assert found[0]["c"] == {
        "id": "o", "code": "o", "people": 709037, "area": 454.12, "founded": "1048-05-01",
        "seen": "2024-04-03T17:06:00.000Z", "capital": True, "motto": None,
    }  # fmt: skip
    assert (found[1]["c"]["motto"], found[1]["c"]["seen"], found[1]["c"]["capital"]) == ("two\nlines", None, False)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_encodings_are_found_and_stated(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "places.csv").write_bytes("code,name\nt,Tromsø\nå,Ålesund\n".encode(encoding))
    found = og.infer(tmp_path / "places.csv")
    assert found.mapping["sources"]["places"].get("encoding") == {"utf-8-sig": None}.get(encoding, encoding)
    with og.init(tmp_path / "g.omni", found.schema) as graph:
        graph.load(mapping=found.mapping)
        names = rows(graph, "match { $p: Place } return { $p.name } order { $p.name }")
    assert [next(iter(row.values())) for row in names] == ["Tromsø", "Ålesund"]


def test_whole_numbers_with_gaps_are_whole(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "planes.csv.gz", "wt") as file:
        file.write("tail,year\na,2004.0\nb,\nc,1999.0\n")
    found = og.infer(tmp_path / "planes.csv.gz")
    assert "year: I64?" in found.schema
    assert found.mapping["sources"]["planes"]["whole"] == ["year"]
    with og.init(tmp_path / "g.omni", found.schema) as graph:
        assert graph.load(mapping=found.mapping).total_entities == 3


def test_a_code_that_looks_like_a_null_stays(tmp_path: Path) -> None:
    (tmp_path / "states.csv").write_text("name,iso,size\nNorway,NO,5\nNamibia,NA,NA\nNepal,NP,7\n")
    found = og.infer(tmp_path / "states.csv")
    assert found.mapping["sources"]["states"]["nulls"] == {"size": ["NA"]}
    assert "size: I64?" in found.schema
    assert any("taken for a code" in note for note in found.notes)
    with og.init(tmp_path / "g.omni", found.schema) as graph:
        graph.load(mapping=found.mapping)
        assert rows(graph, 'match { $s: State { iso: "NA" } } return { $s.name }')


def test_a_date_that_could_be_two_is_told(tmp_path: Path) -> None:
    (tmp_path / "days.csv").write_text("code,when\na,01/02/2024\nb,03/04/2024\n")
    (note,) = og.infer(tmp_path / "days.csv").notes
    assert note == "days.when is read as %d/%m/%Y, but every value could also be %m/%d/%Y"


def test_cells_that_break_the_rules_are_named_by_line(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("code,people\no,1.000\nb,12.5\n")
    source = {"path": str(tmp_path / "c.csv"), "thousands": ".", "decimal": ","}
    with graph_of(tmp_path) as graph, pytest.raises(OmnigraphError, match=r"line 3"):
        load(graph, {"sources": {"c": source}, "nodes": {"City": {"from": "c"}}})


@pytest.mark.parametrize("tasks", [False, True])
def test_a_date_that_is_not_in_the_format_of_the_mapping_is_told_that_format(tmp_path: Path, tasks: bool) -> None:
    (tmp_path / "c.csv").write_text("code,day,seen\no,31/12/2020,1.2.2024 17:00\nb,31/02/2020,2024-02-01 noon\n")
    source = {"path": str(tmp_path / "c.csv"), "dates": {"day": "%d/%m/%Y", "seen": "%d.%m.%Y %H:%M"}}
    mapping = {"sources": {"c": source}, "nodes": {"City": {"from": "c", "columns": {"founded": "day"}}}}
    with graph_of(tmp_path) as graph, pytest.raises(OmnigraphError) as refused:
        load(graph, mapping, tasks=tasks)
    shown = "\n".join([str(refused.value), *getattr(refused.value, "__notes__", [])])
    assert "'31/02/2020' is not a date; the mapping reads it as %d/%m/%Y" in shown
    assert "YYYY" not in shown


def test_rules_that_cannot_be_are_refused() -> None:
    with pytest.raises(BadRequest, match="cannot separate both"):
        Cells(thousands=".")
    with pytest.raises(BadRequest, match="is one sign"):
        Cells(thousands="..")
    with pytest.raises(BadRequest, match="'%q' in the date format"):
        instants(pa.array(["x"]), "%q")
    with pytest.raises(BadRequest, match="needs a year"):
        instants(pa.array(["x"]), "%d/%m")


# --- fields that are not simply columns -----------------------------------------------------------------

TRIPS = """
node Station { city: String  line: I64  day: Date  name: String  @key(line, city, day) }
edge Trip: Station -> Station { km: I64  kind: String }
node Rider { name: String @key  age: I64? }
"""


@pytest.mark.parametrize("tasks", [False, True])
def test_keys_of_several_columns_are_written_in_declared_order(tmp_path: Path, tasks: bool) -> None:
    (tmp_path / "s.csv").write_text("city,line,day,name\nOslo,1,2024-01-02,A\nBergen,2,2024-01-02,B\n")
    (tmp_path / "t.csv").write_text("l1,c1,d1,l2,c2,d2,km\n1,Oslo,2024-01-02,2,Bergen,2024-01-02,463\n")
    mapping = {
        "sources": {"s": {"path": str(tmp_path / "s.csv")}, "t": {"path": str(tmp_path / "t.csv")}},
        "nodes": {"Station": {"from": "s"}},
        "edges": {
            "Trip": {
                "from": "t",
                "src": ["l1", "c1", "d1"],
                "dst": ["l2", "c2", "d2"],
                "columns": {"kind": {"value": "rail"}},
            }
        },
    }
    with graph_of(tmp_path, TRIPS) as graph:
        load(graph, mapping, tasks=tasks)
        found = rows(
            graph, "match { $a: Station  $a $t: trip $b } return { $a.name as a, $t.kind as kind, $b.name as b }"
        )
        assert found == [{"a": "A", "kind": "rail", "b": "B"}]
        mapping["edges"]["Trip"]["src"] = ["c1", "l1"]
        with pytest.raises(BadRequest, match="names 2 columns, but the key of 'Station' has 3: line, city, day"):
            load(graph, mapping, tasks=tasks)


@pytest.mark.parametrize("tasks", [False, True])
def test_expressions_conditions_and_constants_make_fields(tmp_path: Path, tasks: bool) -> None:
    (tmp_path / "r.csv").write_text("First Name,last,born\nAda,L,1815\nBob,B,x\nCy,C,1900\n")
    entry = {
        "from": "r",
        "where": '$row.last != "C"',
        "columns": {
            "name": {"expr": 'concat($row.first_name, " ", $row.last)'},
            "age": {"expr": "2024 - try_to_int($row.born)"},
        },
    }
    mapping = {"sources": {"r": {"path": str(tmp_path / "r.csv")}}, "nodes": {"Rider": entry}}
    with graph_of(tmp_path, TRIPS) as graph:
        load(graph, mapping, tasks=tasks)
        found = rows(graph, "match { $r: Rider } return { $r.name as name, $r.age as age } order { name }")
        assert found == [{"name": "Ada L", "age": 209}, {"name": "Bob B", "age": None}]
        entry["columns"]["age"] = {"expr": "$row.nothing"}
        with pytest.raises(BadRequest, match=r"columns: \$row.first_name, \$row.last, \$row.born"):
            load(graph, mapping, tasks=tasks)
        entry["columns"]["age"] = {"expr": "2024 - to_int($row.born)"}
        with pytest.raises(OmnigraphError, match=r"field 'age' cannot be computed.*line 3"):
            load(graph, mapping, tasks=tasks)


def test_a_source_of_several_types_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from omnigraph.engine.intake import tabular

    opened: list[str] = []
    real = tabular.table_pieces
    monkeypatch.setattr(tabular, "table_pieces", lambda path, *more: opened.append(path) or real(path, *more))
    (tmp_path / "c.csv").write_text("code,near,km\no,b,463\nb,o,463\n")
    mapping = {
        "sources": {"c": {"path": str(tmp_path / "c.csv")}},
        "nodes": {"City": {"from": "c"}},
        "edges": {"Near": {"from": "c", "src": "code", "dst": "near"}},
    }
    with graph_of(tmp_path) as graph:
        done = load(graph, mapping)
    assert (dict(done.nodes), dict(done.edges), len(opened)) == ({"City": 2}, {"Near": 2}, 1)


# --- before and after reading ---------------------------------------------------------------------------


@pytest.mark.parametrize("tasks", [False, True])
def test_a_mapping_is_checked_as_a_whole_before_any_row_is_read(tmp_path: Path, tasks: bool) -> None:
    (tmp_path / "c.csv").write_text("code,near,people\no,b,unreadable\n")
    mapping = {
        "sources": {"c": {"path": str(tmp_path / "c.csv")}, "gone": {"path": str(tmp_path / "gone.csv")}},
        "nodes": {"City": [{"from": "c", "columns": {"people": "inhabitants"}}, {"from": "gone"}]},
        "edges": {"Nearby": {"from": "c", "src": "code", "dst": "near"}},
    }
    with (
        graph_of(tmp_path) as graph,
        pytest.raises(BadRequest, match=r"no column 'inhabitants'.*it has code, near, people") as told,
    ):
        load(graph, mapping, tasks=tasks)
    notes = "\n".join(told.value.__notes__)
    assert "there is no file" in notes
    assert "unknown edge type 'Nearby'; did you mean 'Near'?" in notes


def test_a_key_that_no_column_fills_is_told(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("kode,people\no,1\n")
    mapping = {"sources": {"c": {"path": str(tmp_path / "c.csv")}}, "nodes": {"City": {"from": "c"}}}
    with graph_of(tmp_path) as graph, pytest.raises(BadRequest, match="no column for 'code', the key of 'City'"):
        load(graph, mapping)


def test_a_dry_run_counts_and_shows_the_first_of_each_kind_of_problem(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("code,near,people\no,b,3\n,o,1\no,zz,1\nx,o,many\n")
    mapping = {
        "sources": {"c": {"path": str(tmp_path / "c.csv")}},
        "nodes": {"City": {"from": "c"}},
        "edges": {"Near": {"from": "c", "src": "code", "dst": "near"}},
    }
    with graph_of(tmp_path) as graph:
        done = load(graph, mapping, dry_run=True, on_error="skip")
        assert (done.commit, dict(done.nodes)) == (None, {"City": 1})
        assert dict(done.rejected) == {"W001": 1, "W002": 1, "W012": 1, "W013": 3}
        assert {"W001", "W002", "W012", "W013"} <= set(done.examples)
        assert "line 5" in done.examples["W002"]
        assert rows(graph, "match { $c: City } return { $c.code }") == []


@pytest.mark.parametrize("tasks", [False, True])
def test_a_good_cell_is_not_blamed_for_the_row_below(tmp_path: Path, tasks: bool) -> None:
    (tmp_path / "c.csv").write_text("code;founded;capital\na;45.01.1990;yes\nb;01.02.1990;maybe\n")
    rules = {"delimiter": ";", "dates": {"founded": "%d.%m.%Y"}, "true_words": ["yes"], "false_words": ["no"]}
    mapping = {"sources": {"c": {"path": str(tmp_path / "c.csv"), **rules}}, "nodes": {"City": {"from": "c"}}}
    with pytest.raises(OmnigraphError, match="City 'a': strict property 'founded' expects Date") as refused:
        load(graph_of(tmp_path), mapping, tasks=tasks)
    told = "\n".join(refused.value.__notes__)
    assert "refused: 2 x W002" in told
    assert "City 'b': strict property 'capital' expects Bool" in told
