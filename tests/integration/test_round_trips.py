"""Every property type keeps its values and its type through Arrow, pandas, Polars, JSON, CSV and Parquet (issue 13, 2)."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import omnigraph as og
from typed_values import EDGES, EVERY, FILLED, INSTANT, KINDS, OBJECTS, SCHEMA, exported, records, typed_graph

NAMES = [kind.name for kind in KINDS]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    return typed_graph(tmp_path_factory.mktemp("typed") / "graph", blobs=False)


def _again(place: Path, original: og.Graph, load: Callable[[og.Graph], object]) -> None:
    """Loading the nodes some other way gives the same graph."""
    with og.init(place / "again", SCHEMA) as again:
        load(again)
        assert exported(again, place / "again.jsonl", "T") == exported(original, place / "original.jsonl", "T")


# --- results -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_results_have_the_arrow_type_of_the_property(graph: og.Graph, kind: Any) -> None:
    for text in (EVERY, EDGES):
        assert graph.query(text).to_arrow().schema.field(kind.name).type == kind.arrow
    nothing = f'query q() {{ match {{ $t: T {{ k: "absent" }} }} return {{ $t.{kind.name} as {kind.name} }} }}'
    assert graph.query(nothing).to_arrow().schema.field(kind.name).type == kind.arrow
    node = graph.query(OBJECTS).to_arrow().schema.field("t").type
    assert node.field(kind.name).type == kind.arrow


def test_instants_are_instants_to_the_millisecond(graph: og.Graph) -> None:
    found = graph.query(EVERY).to_arrow()
    moment = datetime(2024, 2, 29, 23, 59, 59, 999_000, tzinfo=UTC)
    assert found["moment"].to_pylist()[1] == moment
    assert found["moments"].to_pylist()[1][0] == moment
    assert graph.query(OBJECTS).to_arrow()["t"].to_pylist()[1]["moment"] == moment
    assert graph.query(FILLED).to_pandas()["moment"].iloc[0] == moment
    assert graph.query(FILLED).to_polars()["moment"][0] == moment


def test_what_is_computed_of_instants_is_an_instant(graph: og.Graph) -> None:
    text = (
        "query q() { match { $t: T } return { min($t.moment) as first, max($t.moment) as last,"
        " collect($t.moment) as every, count(distinct $t.moment) as n } }"
    )
    found = graph.query(text)
    kinds = [found.to_arrow().schema.field(name).type for name in ("first", "last", "every", "n")]
    assert kinds == [INSTANT, INSTANT, pa.list_(INSTANT), pa.int64()]
    assert found.rows()[0]["last"] == "9999-12-31T23:59:59.999Z"
    grouped = graph.query("query q() { match { $t: T } return { $t.moment as m, count($t) as n } order { m } }")
    assert grouped.to_arrow().schema.field("m").type == INSTANT
    assert [row["m"] for row in grouped.rows()][:2] == [None, "0001-01-01T00:00:00.001Z"]
    now = graph.query("query q() { match { $t: T } return { now() as n } limit 1 }").to_arrow()
    assert now.schema.field("n").type == INSTANT


# --- there and back ------------------------------------------------------------------------------


def test_arrow_brings_every_value_back(graph: og.Graph, tmp_path: Path) -> None:
    _again(tmp_path, graph, lambda again: again.load(graph.query(EVERY).to_arrow(), type="T"))


def test_an_arrow_stream_brings_every_value_back(graph: og.Graph, tmp_path: Path) -> None:
    table = graph.query(EVERY).to_arrow()
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    _again(tmp_path, graph, lambda again: again.load(pa.ipc.open_stream(stream.getvalue()).read_all(), type="T"))


def test_pandas_brings_every_value_back(graph: og.Graph, tmp_path: Path) -> None:
    _again(tmp_path, graph, lambda again: again.load(graph.query(EVERY).to_pandas(), type="T"))


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_pandas_columns_keep_their_type(graph: og.Graph, kind: Any) -> None:
    assert str(graph.query(FILLED).to_pandas()[kind.name].dtype) == kind.pandas
    assert str(graph.query(EVERY).to_pandas()[kind.name].dtype) == kind.with_nulls


def test_polars_brings_every_value_back(graph: og.Graph, tmp_path: Path) -> None:
    _again(tmp_path, graph, lambda again: again.load(graph.query(EVERY).to_polars(), type="T"))


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_polars_columns_keep_their_type(graph: og.Graph, kind: Any) -> None:
    assert graph.query(EVERY).to_polars().schema[kind.name] == kind.polars


def test_json_rows_bring_every_value_back(graph: og.Graph, tmp_path: Path) -> None:
    for rows in (graph.query(EVERY).rows(), json.loads(graph.query(EVERY).to_json())):
        made = [{"type": "T", "data": row} for row in rows]
        _again(tmp_path / str(len(list(tmp_path.iterdir()))), graph, lambda again, made=made: again.load(made))


def test_json_rows_are_what_was_loaded(graph: og.Graph) -> None:
    given = {record["data"]["k"]: record["data"] for record in records(blobs=False) if "type" in record}
    for row in graph.query(FILLED).rows():
        assert row == given[row["k"]]
    assert [row["t"] for row in graph.query(OBJECTS).rows()][1:] == [
        {"id": key, **given[key]} for key in sorted(given) if key != "empty"
    ]


def test_integers_that_javascript_cannot_hold_are_text_where_asked(graph: og.Graph) -> None:
    row = graph.query(FILLED).rows(js_safe=True)[1]
    assert (row["i64"], row["u64"], row["i64s"]) == ("9007199254740993", "9007199254740993", [0])
    assert graph.query(FILLED).rows(js_safe=True)[3]["u64"] == "18446744073709551615"


def test_images_of_the_feed_bring_every_value_back(graph: og.Graph, tmp_path: Path) -> None:
    blocks = graph.changes.poll(start="beginning").blocks
    made = [
        {"type": "T", "data": change["after"]["properties"]}
        for block in blocks
        for change in block.changes
        if change["kind"] == "node"
    ]
    _again(tmp_path, graph, lambda again: again.load(made))


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_exports_bring_every_value_back_blobs_included(tmp_path: Path, format: str) -> None:
    with typed_graph(tmp_path / "graph") as graph, og.init(tmp_path / "again", SCHEMA) as again:
        if format == "jsonl":
            graph.export(tmp_path / "out.jsonl")
            again.load(tmp_path / "out.jsonl")
        else:
            graph.export(tmp_path / "out", format=format)
            again.load(mapping=tmp_path / "out" / "mapping.yaml")
        assert exported(again, tmp_path / "a.jsonl") == exported(graph, tmp_path / "g.jsonl")


def test_parquet_files_have_the_types_of_results(graph: og.Graph, tmp_path: Path) -> None:
    graph.export(tmp_path / "out", format="parquet")
    for path in ("nodes/T.parquet", "edges/E.parquet"):
        found = pq.read_schema(tmp_path / "out" / path)
        shown = {name: found.field(name).type for name in NAMES if name != "vector"}
        assert shown == {
            kind.name: pa.list_(pa.field("element", kind.arrow.value_type))
            if pa.types.is_list(kind.arrow)
            else kind.arrow
            for kind in KINDS
            if kind.name != "vector"
        }


def test_lists_of_a_csv_file_keep_their_members(graph: og.Graph, tmp_path: Path) -> None:
    graph.export(tmp_path / "out", format="csv")
    _again(tmp_path, graph, lambda again: again.load(tmp_path / "out" / "nodes" / "T.csv", type="T"))


def test_instants_go_out_as_parameters_and_come_back(graph: og.Graph) -> None:
    moments = graph.query(FILLED).to_arrow()["moment"]
    text = "query q($m: DateTime) { match { $t: T { moment: $m } } return { $t.moment as m } }"
    for moment in moments:
        for given in (moment, moment.as_py()):
            assert graph.query(text, params={"m": given}).to_arrow()["m"].to_pylist() == [moment.as_py()]
    assert pc.count_distinct(moments).as_py() == len(moments)
