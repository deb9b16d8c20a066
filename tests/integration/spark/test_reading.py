"""Types of a graph as Spark frames, and the export that tasks write together."""

from __future__ import annotations

import datetime
import decimal
import json
import re
from pathlib import Path
from typing import Any

import pytest
from load_cases import LIMITS, MANY, PEOPLE, SCHEMA, TYPES, lines, person
from pyspark.errors import PySparkException
from pyspark.sql.datasource import EqualTo, Filter, GreaterThan, In, IsNull, Not, StringStartsWith

import omnigraph as og
from omnigraph.errors import BadRequest, NotFound
from omnigraph.pipeline.spark.datasource import OmnigraphSource, plan_table
from omnigraph.pipeline.spark.filters import lance_predicate
from omnigraph.pipeline.spark.pushing import understood
from omnigraph.pipeline.tasks.export import export_files
from omnigraph.pipeline.tasks.jobs import LocalTasks, SparkTasks


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "graph", SCHEMA)
    made.load(PEOPLE, runner="inline")
    made.load(MANY, runner="inline")
    return made


def test_a_type_is_a_frame_with_its_columns(graph: og.Graph, spark: Any) -> None:
    people = graph.spark.read("Person")
    assert people.columns == ["id", "age", "code", "email", "name", "role", "score"]
    assert people.count() == 72
    assert [row.asDict() for row in people.where("id = 'p3'").collect()] == [graph.get("Person", "p3")]
    knows = graph.spark.read("Knows", ["src", "dst"])
    assert knows.columns == ["src", "dst"]
    assert knows.groupBy("src").count().where("src = 'p0'").collect()[0]["count"] == 1


CONDITIONS = {
    "age > 8": {"p9", "p10", "p11"},
    "age >= 10 AND id <> 'p10'": {"p11"},
    "id IN ('p1', 'm001', 'it''s')": {"p1", "m001"},
    "age IS NOT NULL AND id LIKE 'p1%'": {"p1", "p10", "p11"},
    "email = 'p2@x' OR age = 0": {"p0", "p2"},
}


def test_filters_of_spark_and_predicates_of_lance_mean_the_same(graph: og.Graph, spark: Any) -> None:
    people = graph.spark.read("Person", ["id", "age", "email"])
    for condition, expected in CONDITIONS.items():
        assert {row.id for row in people.where(condition).collect()} == expected, condition
        assert {row.id for row in graph.spark.read("Person", ["id"], where=condition).collect()} == expected, condition
    assert people.count() == 72, "a frame may be used again"


def scanned(frame: Any) -> str:
    """What the plan says about the scan of a frame."""
    plan = frame._jdf.queryExecution().executedPlan().toString()
    return next(line for line in plan.splitlines() if "BatchScan" in line)


def test_a_frame_reads_only_the_columns_and_rows_that_are_asked_for(graph: og.Graph, spark: Any) -> None:
    people = graph.spark.read("Person")
    assert re.search(r"BatchScan omnigraph\[id#\d+\]", scanned(people.select("id")))
    old = people.where("age > 8 and id is not null").select("id")
    assert re.search(r"where \(`age` > 8\) and \(`id` IS NOT NULL\)\[id#\d+, age#\d+\]", scanned(old))
    assert {row.id for row in old.collect()} == {"p9", "p10", "p11"}
    assert {row.id for row in people.where("age > 10").collect()} == {"p11"}
    assert (people.count(), old.count(), people.select("id").where("id = 'p3'").count()) == (72, 3, 1)
    assert people.limit(5).count() == len(people.select("id").limit(5).collect()) == 5
    assert people.where("age > 8").limit(2).where("age > 9").count() <= 2
    assert people.where("code = true").count() == 0, "a comparison that Spark has to convert is left to Spark"
    assert "where (age > 8 OR age IS NULL)" in scanned(graph.spark.read("Person", where="age > 8 OR age IS NULL"))
    assert people.join(old, "id").count() == 3


@pytest.mark.parametrize(
    "text", ["age > 8 or age < 3", "lower(name) = 'a'", "name = 'a\\'", "age > 8 and", "", "name = 'it''s'"]
)
def test_conditions_that_are_not_understood_are_left_to_spark(text: str) -> None:
    assert understood(text) is None


def test_a_table_of_sql_reads_the_columns_that_it_names(graph: og.Graph, spark: Any) -> None:
    graph.spark.session.sql(
        f"CREATE TABLE g_people USING omnigraph OPTIONS(graph '{graph.uri}', type 'Person')"
    ).collect()
    try:
        assert spark.sql("SELECT count(*) AS n FROM g_people WHERE age > 8").collect()[0].n == 3
        assert spark.table("g_people").columns == ["id", "age", "code", "email", "name", "role", "score"]
        with pytest.raises(PySparkException, match=r"Spark does not keep it for INSERT .* use frame.write"):
            spark.sql("INSERT INTO g_people (name) VALUES ('new')")
        assert spark.table("g_people").count() == 72
    finally:
        spark.sql("DROP TABLE g_people")
    source = spark.read.format("omnigraph").option("graph", graph.uri).option("type", "Person")
    few = source.schema("age int, id string").load()
    assert [row.asDict() for row in few.where("id = 'p3'").collect()] == [{"age": 3, "id": "p3"}]


@pytest.mark.parametrize(
    ("found", "predicate"),
    [
        (EqualTo(("email",), "it's"), "`email` = 'it''s'"),
        (GreaterThan(("age",), 8), "`age` > 8"),
        (In(("id",), ("a", "b")), "`id` IN ('a', 'b')"),
        (IsNull(("age",)), "`age` IS NULL"),
        (StringStartsWith(("id",), "p"), "starts_with(`id`, 'p')"),
        (EqualTo(("score",), float("nan")), None),
        (Not(EqualTo(("id",), "a")), None),
        (EqualTo(("nested", "field"), 1), None),
    ],
)
def test_only_filters_with_one_meaning_become_predicates(graph: og.Graph, found: Filter, predicate: str | None) -> None:
    plan = plan_table({"graph": graph.uri, "type": "Person"})
    assert lance_predicate(found, dict(plan.columns), plan.arrow_schema) == predicate


NUMBERS = "node N { name: String @key  small: I32?  large: I64?  single: F32?  double: F64? }"
# A number of a type that compares otherwise than the column, and one that Lance cannot read as the column's type.
COMPARED = (
    "small > 3.5", "small = 3.0", "small < 3000000000", "small >= -3000000000", "small <= 2147483647",
    "large > 4611686018427387905.5", "large < 99999999999999999999", "large = 4611686018427387906",
    "single > 0.1", "single <= 0.1", "single < 16777217", "single = 0.5", "single >= 0", "single = 16777216",
    "double > 0.1", "double >= 0", "double < 9007199254740993", "double = 9007199254740993", "double < 1.5",
)  # fmt: skip


def test_numbers_are_compared_as_spark_compares_them(tmp_path: Path, spark: Any) -> None:
    rows = [
        {"name": "a", "small": 3, "large": 2**62 + 2, "single": 0.1, "double": 0.1},
        {"name": "b", "small": 2**31 - 1, "large": 2**63 - 1, "single": 2.0**24, "double": 2.0**53},
        {"name": "c", "small": -(2**31), "large": -(2**63), "single": -0.0, "double": -0.0},
        {"name": "d", "small": 4, "large": 7, "single": 0.5, "double": 0.5},
        {"name": "e"},
    ]
    with og.init(tmp_path / "g", NUMBERS) as made:
        made.load([{"type": "N", "data": row} for row in rows])
        numbers = made.spark.read("N")
        unpushed = numbers.toDF(*numbers.columns).persist()
        for condition in COMPARED:
            expected = {row.name for row in unpushed.where(condition).collect()}
            assert {row.name for row in numbers.where(condition).collect()} == expected, condition
        unpushed.unpersist()
        for condition in ("small > 3", "large <= 7", "single = 0.5", "double > 0.1"):
            assert "where" in scanned(numbers.where(condition)), condition


def test_frames_of_one_reader_see_one_snapshot(graph: og.Graph, spark: Any) -> None:
    then = graph.spark
    graph.load(lines(person("later")), runner="inline")
    assert then.read("Person").count() == 72
    assert graph.spark.read("Person").count() == 73
    commit = graph.commits.list()[1].graph_commit_id
    assert graph.at(commit).spark.read("Person").count() == 72


def test_every_stored_type_has_a_spark_type(tmp_path: Path, spark: Any) -> None:
    made = og.init(tmp_path / "types", TYPES)
    made.load(LIMITS, runner="inline")
    rows = {int(row.k): row for row in made.spark.read("T").collect()}
    assert (rows[0].u, rows[0].l, rows[0].b) == (2**32 - 1, 2**63 - 1, True)
    assert rows[2**64 - 1].k == decimal.Decimal(2**64 - 1)
    assert rows[3].day == datetime.date(9999, 12, 31)
    assert rows[2].v == [0.0, -1.5]
    assert bytes(rows[5].blob) == b"Hello"
    stamp = made.spark.read("T", ["k", "at"]).selectExpr("k", "unix_millis(at) as ms").where("k = 3").collect()
    assert stamp[0].ms == 1709251199999


def test_all_types_are_views_for_sql(graph: og.Graph, spark: Any) -> None:
    reader = graph.spark
    assert "Person" in reader.create_views("g_") or "g_Person" in reader.create_views("g_")
    found = reader.session.sql(
        "SELECT count(*) AS n FROM g_Knows k JOIN g_Person p ON k.dst = p.id WHERE p.id LIKE 'm%'"
    ).collect()
    assert found[0].n == 60


def test_the_plain_data_source_works_by_options(graph: og.Graph, spark: Any) -> None:
    spark.dataSource.register(OmnigraphSource)
    graph.branches.create("side")
    graph.load(lines(person("only-here")), branch="side", runner="inline")
    source = spark.read.format("omnigraph").option("graph", graph.uri).option("type", "Person")
    assert source.option("branch", "side").load().count() == 73


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"type": "Person"}, "needs the option 'graph'"),
        ({"colour": "red"}, "unknown option 'colour'"),
        ({"type": "Person", "columns": "nick"}, "has no column 'nick'"),
        ({"where": "nick > 1"}, r"^'Person' has no column 'nick' \(it has id, .*name.*\)$"),
        ({"where": "age >"}, r"^where=\"age >\" cannot be evaluated on 'Person': .*found: EOF\)$"),
        ({"where": "name > 1"}, r"^where=\"name > 1\" cannot be evaluated on 'Person': Received literal[^/]*$"),
        (
            {"where": "age"},
            r"^where=\"age\" cannot be evaluated on 'Person': The filter age does not return a boolean$",
        ),
    ],
)
def test_options_that_make_no_sense_are_told(graph: og.Graph, options: dict[str, str], message: str) -> None:
    given = options if "needs" in message else {"graph": graph.uri, "type": "Person", **options}
    with pytest.raises(BadRequest, match=message):
        plan_table(given)
    if "where" in options:
        with pytest.raises(BadRequest, match=message):
            graph.spark.read("Person", ["id"], where=options["where"])
    with pytest.raises(NotFound, match="no type 'Nobody'"):
        plan_table({"graph": graph.uri, "type": "Nobody"})


# --- export ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("range_rows", [5, 1_000])
def test_an_export_by_tasks_is_the_plain_export_byte_for_byte(graph: og.Graph, tmp_path: Path, range_rows: int) -> None:
    graph.export(tmp_path / "plain.jsonl")
    size = export_files(graph.view(), str(tmp_path / "tasks.jsonl"), (), LocalTasks(), range_rows=range_rows)
    assert (tmp_path / "tasks.jsonl").read_bytes() == (tmp_path / "plain.jsonl").read_bytes()
    assert size == (tmp_path / "plain.jsonl").stat().st_size
    assert not (tmp_path / "tasks.jsonl.parts").exists()


def test_an_export_to_a_directory_is_in_parts_whose_order_is_their_names(
    graph: og.Graph, tmp_path: Path, spark: Any
) -> None:
    graph.export(tmp_path / "plain.jsonl", ["Person", "Knows"])
    export_files(graph.view(), str(tmp_path / "parts"), ["Person", "Knows"], SparkTasks(spark), range_rows=25)
    parts = sorted((tmp_path / "parts").glob("*.jsonl"))
    assert len(parts) > 4
    assert b"".join(part.read_bytes() for part in parts) == (tmp_path / "plain.jsonl").read_bytes()


def test_a_spark_export_loads_again_as_the_same_graph(tmp_path: Path, spark: Any) -> None:
    made = og.init(tmp_path / "types", TYPES)
    made.load(LIMITS, runner="inline")
    made.spark.export(str(tmp_path / "out.jsonl"))
    again = og.init(tmp_path / "again", TYPES)
    again.load(tmp_path / "out.jsonl", runner="inline")
    assert [again.get("T", str(k)) for k in range(6)] == [made.get("T", str(k)) for k in range(6)]
    assert len([json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]) == 7
    with pytest.raises(BadRequest, match="unknown export type"):
        made.spark.export(str(tmp_path / "no.jsonl"), ["Nobody"])
