"""Whatever a write accepts can be exported and loaded again: long texts and lists, NUL in keys (issue 13, 10)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.engine.changes import export as exporting
from omnigraph.errors import BadRequest

SCHEMA = """
node T { k: String @key  t: String? @index  xs: [I64]?  v: Vector(140000)? }
node U { t: String? }
edge E: T -> T
"""
LONG = 'ä,"\n' + "x" * (34 << 20)
"""More than the 32 MiB that a line of records could once have."""


@pytest.fixture(scope="module")
def long_graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    graph = og.init(tmp_path_factory.mktemp("long") / "graph", SCHEMA)
    graph.mutate('query m($t: String) { insert T { k: "text", t: $t } insert T { k: "a" } }', params={"t": LONG})
    graph.mutate('query m($x: [I64]) { insert T { k: "list", xs: $x } }', params={"x": list(range(200_000))})
    graph.mutate('query m($v: Vector(140000)) { insert T { k: "vector", v: $v } }', params={"v": [0.5] * 140_000})
    graph.load([{"type": "T", "data": {"k": f"short{at}", "t": "y"}} for at in range(40)])
    return graph


@pytest.mark.parametrize("form", ["jsonl", "bytes", "csv", "parquet", "json rows"])
@pytest.mark.slow
def test_what_a_mutation_accepts_comes_back(long_graph: og.Graph, tmp_path: Path, form: str) -> None:
    long_graph.export(tmp_path / "out.jsonl")
    with og.init(tmp_path / "again", SCHEMA) as again:
        if form in ("csv", "parquet"):
            long_graph.export(tmp_path / "out", format=form)
            again.load(mapping=tmp_path / "out" / "mapping.yaml", runner="inline")
        elif form == "json rows":
            text = "query q() { match { $t: T } return { $t.k as k, $t.t as t, $t.xs as xs, $t.v as v } order { k } }"
            rows = "\n".join(map(json.dumps, long_graph.query(text).rows()))
            (tmp_path / "rows.json").write_text(rows, encoding="utf-8")
            source = {"path": str(tmp_path / "rows.json"), "format": "json"}
            again.load(mapping={"sources": {"rows": source}, "nodes": {"T": {"from": "rows"}}}, runner="inline")
        else:
            path = tmp_path / "out.jsonl"
            again.load(path if form == "jsonl" else path.read_bytes(), runner="inline")
        again.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "out.jsonl").read_bytes()


TIMES = "node T { k: String @key  d: Date?  t: DateTime?  ts: [DateTime]? }"


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "rows"])
def test_years_beyond_four_digits_come_back(tmp_path: Path, form: str) -> None:
    far, early = 253_402_300_800_000, -719_530
    with og.init(tmp_path / "graph", TIMES) as graph, og.init(tmp_path / "again", TIMES) as again:
        graph.load(
            [
                {"type": "T", "data": {"k": "far", "t": far, "ts": [far, 0]}},
                {"type": "T", "data": {"k": "old", "d": early}},
            ]
        )
        found = graph.query(
            "query q() { match { $t: T } return { $t.k as k, $t.d as d, $t.t as t, $t.ts as ts } order { k } }"
        )
        assert found[0]["t"] == "+10000-01-01T00:00:00.000Z"
        assert found[1]["d"] == "-0001-12-30"
        if form == "rows":
            again.load([{"type": "T", "data": row} for row in found])
        elif form == "jsonl":
            graph.export(tmp_path / "out.jsonl")
            again.load(tmp_path / "out.jsonl")
        else:
            graph.export(tmp_path / "out", format=form)
            again.load(mapping=tmp_path / "out" / "mapping.yaml", runner="inline")
        assert (
            again.query("query q() { match { $t: T } return { $t } order { $t.k } }")
            .to_arrow()
            .equals(graph.query("query q() { match { $t: T } return { $t } order { $t.k } }").to_arrow())
        )
        with pytest.raises(BadRequest, match="its dates end with the year 9999"):
            found.to_pandas()


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_export_of_an_empty_graph_loads(tmp_path: Path, form: str) -> None:
    with og.init(tmp_path / "graph", TIMES) as graph, og.init(tmp_path / "again", TIMES) as again:
        graph.export(tmp_path / "out", format=form)
        assert again.load(mapping=tmp_path / "out" / "mapping.yaml").total_entities == 0


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_a_row_longer_than_a_block_comes_once_and_keeps_the_lines_of_the_others(tmp_path: Path, suffix: str) -> None:
    """The rows before it fill a block of their own, which has been handed out by then."""
    values = [(f"k{at}", "y" * 1_000) for at in range(20_000)] + [("long", "x" * (17 << 20)), ("last", "z")]
    if suffix == "csv":
        text = "k,n,t\n" + "".join(f"{key},1,{value}\n\n" for key, value in values)
    else:
        text = "".join(json.dumps({"k": key, "n": 1, "t": value}) + "\n" for key, value in values)
    path = tmp_path / f"rows.{suffix}"
    path.write_text(text, encoding="utf-8")
    mapping = {"sources": {"rows": {"path": str(path), "format": suffix}}, "nodes": {"R": {"from": "rows"}}}
    with og.init(tmp_path / "graph", "node R { k: String @key  n: I32  t: String }") as graph:
        assert graph.load(mapping=mapping, runner="inline").total_entities == len(values)
        assert len(graph.get("R", "long")["t"]) == 17 << 20
        if suffix == "csv":
            path.write_text(text + "bad,seven,z\n", encoding="utf-8")
            with pytest.raises(og.errors.ValueViolation) as refused:
                graph.load(mapping=mapping, runner="inline")
            assert f"(line {2 * len(values) + 2})" in str(refused.value)  # the header, and each row with a blank line


def test_a_record_that_json_cannot_hold_on_one_line_is_named(
    long_graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spelled = exporting._lines

    def limited(info: Any, rows: pa.RecordBatch) -> bytes:
        if rows.num_rows > 1 or rows.column("id")[0].as_py() == "text":
            raise pa.ArrowCapacityError("array cannot contain more than 2147483646 bytes")
        return spelled(info, rows)

    monkeypatch.setattr(exporting, "_lines", limited)
    with pytest.raises(
        og.errors.BadRequest, match="T 'text' is longer than 2 GiB as a line of JSON; export as parquet"
    ):
        long_graph.export(tmp_path / "out.jsonl", types=["T"])


# --- NUL -----------------------------------------------------------------------------------------

KEY = "a\0b"
FIND = "query q($k: String) { match { $t: T { k: $k } } return { $t.k as k, $t.t as t } }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "graph", SCHEMA)
    made.load(
        [
            {"type": "T", "data": {"k": KEY, "t": "x\0y"}},
            {"type": "T", "data": {"k": "a"}},
            {"type": "U", "data": {"id": "u\0v"}},
            {"edge": "E", "from": KEY, "to": "a"},
        ]
    )
    return made


def test_nul_in_keys_is_accepted_by_every_write(graph: og.Graph) -> None:
    graph.load([{"type": "T", "data": {"k": f"{KEY}{at}"}} for at in range(40)])
    graph.mutate("query m($k: String) { insert T { k: $k, t: $k } }", params={"k": "m\0n"})
    graph.load(pa.table({"k": ["f\0g"]}), type="T")
    graph.load(pd.DataFrame({"k": ["p\0g"]}), type="T")
    graph.load([{"type": "T", "data": {"k": KEY, "t": "new"}}], "merge")
    assert [graph.get("T", key)["k"] for key in (f"{KEY}39", "m\0n", "f\0g", "p\0g")] == [
        f"{KEY}39",
        "m\0n",
        "f\0g",
        "p\0g",
    ]
    assert graph.get("T", KEY) == {"id": KEY, "k": KEY, "t": "new", "v": None, "xs": None}


def test_nul_in_keys_is_found_by_every_read(graph: og.Graph) -> None:
    for _ in range(2):
        assert graph.query(FIND, params={"k": KEY}).rows() == [{"k": KEY, "t": "x\0y"}]
        assert graph.query(FIND, params={"k": "a"}).rows() == [{"k": "a", "t": None}]
        linked = graph.query("query q() { match { $t: T $t e $u } return { $t.k as k, $u.k as u } }").rows()
        assert linked == [{"k": KEY, "u": "a"}]
        assert graph.get("U", "u\0v") == {"id": "u\0v", "t": None}
        graph.optimize()
    assert graph.commits.blame("T", KEY)["t"].value == "x\0y"


def test_nul_in_keys_goes_through_history_and_merges(graph: og.Graph) -> None:
    graph.branches.create("other")
    other = graph.branch("other")
    other.mutate('query m($k: String) { update T set { t: "other" } where k = $k }', params={"k": KEY})
    (change,) = other.commits.changes(other.commits.head() or "").changes
    assert (change["id"], change["before"]["properties"]["t"]) == (KEY, "x\0y")
    assert [each.id for each in graph.diff("main", "other")] == [KEY]
    graph.mutate('query m($k: String) { update T set { t: "mine" } where k = $k }', params={"k": KEY})
    graph.branches.merge("other", resolve={f"T/{KEY}": {"t": "both\0"}})
    assert graph.get("T", KEY)["t"] == "both\0"
    assert graph.mutate("query m($k: String) { delete T where k = $k }", params={"k": KEY}).affected_nodes == 1
    assert graph.get("T", "a") is not None


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_nul_in_keys_is_exported_and_loaded(graph: og.Graph, tmp_path: Path, form: str) -> None:
    with og.init(tmp_path / "again", SCHEMA) as again:
        graph.export(tmp_path / "out.jsonl")
        if form == "jsonl":
            again.load(tmp_path / "out.jsonl")
        else:
            graph.export(tmp_path / "out", format=form)
            again.load(mapping=tmp_path / "out" / "mapping.yaml")
        again.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "out.jsonl").read_bytes()


def test_xml_cannot_hold_nul_and_says_so(graph: og.Graph, tmp_path: Path) -> None:
    with pytest.raises(og.errors.BadRequest, match="control character"):
        graph.export(tmp_path / "out.graphml", format="graphml")


def test_names_cannot_hold_nul(graph: og.Graph) -> None:
    with pytest.raises(og.errors.BadRequest, match="NUL"):
        graph.branches.create("a\0b")
    with pytest.raises(og.errors.BadRequest, match="NUL"):
        graph.get("T\0", "a")
    with pytest.raises(og.errors.BadRequest, match="UTF-8"):
        graph.get("T", "half \ud800")
