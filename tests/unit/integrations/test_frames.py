"""Types of a graph as tables and frames, and in DuckDB."""

from __future__ import annotations

import duckdb as engine
import polars
import pytest

import omnigraph as og
from omnigraph.errors import BadRequest, NotFound
from omnigraph.integrations.duckdb import register_result, register_types
from omnigraph.integrations.frames import read_pandas, scan_polars
from omnigraph.integrations.tables import read_type


def test_a_type_is_a_table_with_ids_ends_and_properties(roads: og.Graph) -> None:
    cities = read_type(roads, "City")
    assert set(cities.column_names) == {"id", "code", "name", "lat", "lon", "hub", "place"}
    assert cities.num_rows == 3
    found = read_type(roads, "Road", ["from", "to", "miles"]).to_pylist()
    assert sorted((row["from"], row["to"], row["miles"]) for row in found) == [
        ("A", "B", 7),
        ("A", "B", 9),
        ("B", "C", 20),
    ]
    assert read_type(roads.at("HEAD~1"), "City").num_rows == 0


def test_a_misspelt_type_or_column_is_answered_with_the_nearest(roads: og.Graph) -> None:
    with pytest.raises(NotFound, match=r"no type 'Citi'; did you mean 'City'\?"):
        read_type(roads, "Citi")
    with pytest.raises(BadRequest, match=r"no column 'mile'; did you mean 'miles'\?"):
        read_type(roads, "Road", ["mile"])
    with pytest.raises(BadRequest, match="at least one column"):
        read_type(roads, "Road", [])


def test_a_lazy_frame_reads_only_what_it_needs(roads: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    plain = og.Graph.query
    monkeypatch.setattr(og.Graph, "query", lambda self, text: (asked.append(text), plain(self, text))[1])
    lazy = scan_polars(roads, "City")
    asked.clear()
    assert lazy.select("name").head(2).collect().height == 2
    assert asked == ["match { $x: City } return { $x.name } limit 2"]
    far = lazy.filter(polars.col("lat") > 2).select("code").sort("code").collect()
    assert far["code"].to_list() == ["B", "C"]
    roads_of = scan_polars(roads, "Road").group_by("from").agg(polars.col("miles").sum()).sort("from").collect()
    assert roads_of.rows() == [("A", 16), ("B", 20)]


def test_a_pandas_frame_has_the_ids_as_its_index(roads: og.Graph) -> None:
    found = read_pandas(roads, "City", ["lat", "lon"])
    assert found.loc["C"].to_dict() == {"lat": 4.0, "lon": 0.5}
    assert list(found.columns) == ["lat", "lon"]
    assert set(read_pandas(roads, "Line").index) == {"red", "blue"}


def test_duckdb_joins_types_and_results(roads: og.Graph) -> None:
    connection = engine.connect()
    assert set(register_types(connection, roads)) == {"City", "Line", "Road", "Serves"}
    text = """
    select start.name, sum(miles) from Road join City start on start.id = Road."from" group by all order by all
    """
    assert connection.sql(text).fetchall() == [("Aarau", 16), ("Bern", 20)]
    register_result(connection, "hubs", roads.query("match { $c: City $c.hub = true } return { $c.name }"))
    assert connection.sql('select "c.name" from hubs').fetchall() == [("Aarau",)]
    other = engine.connect()
    assert register_types(other, roads, ["Line"]) == ["Line"]
    with pytest.raises(NotFound, match="no type 'Lin'"):
        register_types(other, roads, ["Lin"])
