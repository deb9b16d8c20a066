"""One mapping, many sources: every format on both runners, and what only Spark reads."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

import omnigraph as og
from omnigraph.errors import BadRequest, NotFound, ValueViolation

SCHEMA = """
node Person { login: String @key  name: String?  age: I32?  joined: DateTime?  tags: [String]? }
edge Knows: Person -> Person { since: Date? }
edge Manages: Person -> Person
"""
ROWS = [
    {"login": "a", "full_name": "Ada", "age": 36, "joined": "2020-01-01T10:00:00Z", "boss": None},
    {"login": "b", "full_name": None, "age": None, "joined": None, "boss": "a"},
]


def table() -> pa.Table:
    return pa.Table.from_pylist(ROWS)


def csv_text(separator: str = ",", *, header: bool = True) -> str:
    lines = [separator.join(ROWS[0])] if header else []
    lines += [separator.join("" if value is None else str(value) for value in row.values()) for row in ROWS]
    return "\n".join(lines) + "\n"


WRITERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "parquet": lambda place: pq.write_table(table(), place / "p.parquet") or {"path": "p.parquet"},
    "parquet by name": lambda place: (
        pq.write_table(table(), place / "part-0") or {"path": "part-*", "format": "parquet"}
    ),
    "orc": lambda place: pyarrow.orc.write_table(table(), place / "p.orc") or {"path": "p.orc"},
    "lance": lambda place: lance.write_dataset(table(), str(place / "p.lance")) and {"path": "p.lance"},
    "csv": lambda place: (place / "p.csv").write_text(csv_text()) and {"path": "p.csv", "header": True},
    "csv.gz": lambda place: (place / "p.csv.gz").write_bytes(gzip.compress(csv_text().encode())) and {"path": "*.gz"},
    "tsv": lambda place: (place / "p.tsv").write_text(csv_text("\t")) and {"path": "p.tsv"},
    "csv without header": lambda place: (
        (place / "p.csv").write_text(csv_text(";", header=False))
        and {"path": "p.csv", "header": False, "names": list(ROWS[0]), "delimiter": ";"}
    ),
    "json lines": lambda place: (
        (place / "p.jsonl").write_text("\n".join(map(json.dumps, ROWS))) and {"path": "p.jsonl", "format": "json"}
    ),
    "json array": lambda place: (place / "p.json").write_text(json.dumps(ROWS)) and {"path": "p.json"},
}
NODES = {"Person": {"from": "people", "columns": {"name": "full_name"}}}
EDGES = {"Manages": {"from": "people", "src": "boss", "dst": "login", "optional": True}}


def people(graph: og.Graph) -> list[dict[str, Any]]:
    asked = "query q() { match { $p: Person } return { $p.login as l, $p.name as n, $p.age as a, $p.joined as j } }"
    return sorted(graph.query(asked).rows(), key=lambda row: row["l"])


EXPECTED = [
    {"l": "a", "n": "Ada", "a": 36, "j": "2020-01-01T10:00:00.000Z"},
    {"l": "b", "n": None, "a": None, "j": None},
]


# The workers read files with the code of the inline runner, so three formats stand for all on Spark.
ON_SPARK = ("lance", "csv without header", "json lines")


@pytest.mark.parametrize(
    ("form", "runner"), [*((form, "inline") for form in WRITERS), *((form, "spark") for form in ON_SPARK)]
)
def test_every_format_loads_alike(tmp_path: Path, spark: Any, form: str, runner: str) -> None:
    source = WRITERS[form](tmp_path)
    (tmp_path / "map.yaml").write_text(json.dumps({"sources": {"people": source}, "nodes": NODES, "edges": EDGES}))
    with og.init(tmp_path / "g.omni", SCHEMA) as graph:
        done = graph.load(mapping=tmp_path / "map.yaml", runner=runner, spark=spark if runner == "spark" else None)
        assert (done.runner, dict(done.nodes), dict(done.edges)) == (runner, {"Person": 2}, {"Manages": 1})
        assert people(graph) == EXPECTED


def test_sql_stands_between_sources_and_types(tmp_path: Path, spark: Any) -> None:
    WRITERS["csv"](tmp_path)
    WRITERS["lance"](tmp_path)
    sources = {
        "raw": {"path": str(tmp_path / "p.csv")},
        "more": {"path": str(tmp_path / "p.lance")},
        "named": {"sql": "select login, upper(full_name) as full_name, age, joined, boss from raw"},
        "people": {"sql": "select n.* from named n join more m on n.login = m.login where n.full_name is not null"},
    }
    with og.init(tmp_path / "g.omni", SCHEMA) as graph:
        done = graph.load(mapping={"sources": sources, "nodes": NODES}, spark=spark)
        assert (done.runner, dict(done.nodes)) == ("spark", {"Person": 1})
        assert people(graph)[0]["n"] == "ADA"


def test_spark_tables_and_formats_with_options_are_sources(tmp_path: Path, spark: Any) -> None:
    (tmp_path / "p.txt").write_text(csv_text("|"))
    spark.createDataFrame([("c", "Cleo")], "login string, full_name string").createOrReplaceTempView("known_people")
    sources = {
        "table": {"table": "known_people"},
        "people": {
            "format": "csv",
            "path": str(tmp_path / "p.txt"),
            "options": {"sep": "|", "header": "true", "inferSchema": "true"},
        },
    }
    both = {"Person": [NODES["Person"], {"from": "table", "columns": {"name": "full_name"}}]}
    with og.init(tmp_path / "g.omni", SCHEMA) as graph:
        done = graph.load(mapping={"sources": sources, "nodes": both, "edges": EDGES}, runner="auto", spark=spark)
        assert dict(done.nodes) == {"Person": 3}
        assert people(graph)[2]["n"] == "Cleo"
        wrong = {"t": {"table": "no_such_table"}}
        with pytest.raises(BadRequest, match="source 't' cannot be read by Spark"):
            graph.load(mapping={"sources": wrong, "nodes": {"Person": {"from": "t"}}}, spark=spark)
        jdbc = {"t": {"format": "jdbc", "options": {"url": "jdbc:nothing:x", "dbtable": "p"}}}
        with pytest.raises(BadRequest, match="source 't' cannot be read by Spark"):
            graph.load(mapping={"sources": jdbc, "nodes": {"Person": {"from": "t"}}}, spark=spark)


def delta(place: Path) -> DeltaTable:
    """A table of two versions: the second adds a person and renames one."""
    rows = table().select(["login", "full_name", "age"])
    write_deltalake(place, rows)
    later = pa.table({"login": ["a", "c"], "full_name": ["Ada L.", "Cleo"], "age": pa.array([37, 20], pa.int64())})
    matched = DeltaTable(place).merge(later, "s.login = t.login", source_alias="s", target_alias="t")
    matched.when_matched_update_all().when_not_matched_insert_all().execute()
    return DeltaTable(place)


def test_a_delta_table_is_a_source_without_spark(tmp_path: Path) -> None:
    newest = delta(tmp_path / "people")
    with og.init(tmp_path / "g.omni", SCHEMA) as graph:
        old = DeltaTable(tmp_path / "people", version=0).to_pyarrow_table()
        graph.load(old, type="Person", columns={"name": "full_name"})
        assert [row["n"] for row in people(graph)] == ["Ada", None]
        mapping = {"sources": {"people": {"frame": newest.to_pyarrow_table()}}, "nodes": NODES}
        assert dict(graph.load(mapping=mapping, mode="merge").nodes) == {"Person": 3}
        assert [(row["n"], row["a"]) for row in people(graph)] == [("Ada L.", 37), (None, None), ("Cleo", 20)]


def test_any_frame_of_spark_is_a_source(tmp_path: Path, spark: Any) -> None:
    frame = spark.createDataFrame(delta(tmp_path / "people").to_pyarrow_table())
    with og.init(tmp_path / "g.omni", SCHEMA) as graph:
        done = graph.load(frame.where("age > 30"), type="Person", columns={"name": "full_name"})
        assert (dict(done.nodes), done.runner) == ({"Person": 1}, "spark")
        assert people(graph)[0]["n"] == "Ada L."


def test_a_bad_row_from_sql_names_its_source(tmp_path: Path, spark: Any) -> None:
    sources = {"people": {"sql": "select 'a' as login, 'old' as age"}}
    with og.init(tmp_path / "g.omni", SCHEMA) as graph, pytest.raises(ValueViolation) as caught:
        graph.load(mapping={"sources": sources, "nodes": {"Person": {"from": "people"}}}, spark=spark)
    assert "source people" in str(caught.value)


@pytest.mark.parametrize(
    ("sources", "told"),
    [
        ({"p": {"path": "x.parquet", "hedaer": True}}, "unknown member 'hedaer'"),
        ({"p": {"path": "x.avro", "format": "avro"}}, "unknown format 'avro'"),
        ({"p": {"path": "x.csv", "header": False}}, "needs the names of its columns"),
        ({"p": {"path": "x.parquet", "delimiter": ";"}}, "names and delimiter are for csv"),
        ({"p": {"path": "x.csv", "delimiter": "||"}}, "one character"),
        ({"p": {"format": "csv"}}, "has a path"),
        ({"p": "x.csv"}, "is a table with a path"),
        ({"p": {"sql": "select 1"}}, "is read by Spark"),
    ],
)
def test_a_wrong_source_is_told(tmp_path: Path, sources: dict[str, Any], told: str) -> None:
    with og.init(tmp_path / "g.omni", SCHEMA) as graph, pytest.raises(BadRequest, match=told):
        graph.load(mapping={"sources": sources, "nodes": {"Person": {"from": "p"}}}, runner="inline")


def test_a_missing_lance_dataset_is_told(tmp_path: Path) -> None:
    sources = {"p": {"path": str(tmp_path / "no.lance")}}
    with og.init(tmp_path / "g.omni", SCHEMA) as graph, pytest.raises(NotFound, match="no Lance dataset"):
        graph.load(mapping={"sources": sources, "nodes": {"Person": {"from": "p"}}}, runner="inline")
