"""Any legal property name survives every path, and what cannot work is refused by the schema compiler (issue 13, 3)."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph as og
from hostile_names import (
    EDGE_NAMES,
    NODE_NAMES,
    READ_EDGE,
    READ_NODE,
    READ_OBJECT,
    SCHEMA,
    WRITE_NODE,
    columns,
    edge,
    edge_values,
    hostile_graph,
    node,
    node_values,
    records,
    write_params,
)
from omnigraph.cli.main import main
from omnigraph.compiler.catalog import compile_schema
from omnigraph.errors import MergeConflicts
from omnigraph.pipeline.formats.importers import import_from


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return hostile_graph(tmp_path / "graph", "a", "b")


# --- refusals ------------------------------------------------------------------------------------

REFUSED = [
    ("node", "id", "S002"),
    *(("edge", name, "S002") for name in ("id", "src", "dst", "from", "to")),
    *(
        (kind, name, "S002")
        for kind in ("node", "edge", "interface")
        for name in ("_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version", "_row_last_updated_at_version")
    ),
    ("node", "_distance", "S002"),
    ("edge", "_tombstone", "S002"),
    ("node", "größe", "S000"),
    ("node", "имя", "S000"),
    ("node", "名前", "S000"),
    ("node", "n\u0303", "S000"),
    ("node", "`quoted name`", "S000"),
    ("node", "Upper", "S000"),
    ("node", "2x", "S000"),
    ("node", "a-b", "S000"),
]


@pytest.mark.parametrize(("kind", "name", "code"), REFUSED)
def test_a_name_that_cannot_work_is_refused_by_the_compiler(kind: str, name: str, code: str) -> None:
    head = {"node": "node A", "edge": "node A {} edge B: A -> A", "interface": "interface A"}[kind]
    with pytest.raises(og.errors.OmnigraphError) as refused:
        compile_schema(f"{head} {{ {name}: I64? }}")
    assert f"{code}: " in str(refused.value)


@pytest.mark.parametrize("name", ["größe", "имя", "n\u0303", "a-b"])
def test_a_letter_outside_ascii_is_refused_with_what_names_may_hold(name: str) -> None:
    with pytest.raises(og.errors.OmnigraphError, match="ASCII letters, digits and '_'"):
        compile_schema(f"node A {{ {name}: I64 }}")


# --- into the graph ------------------------------------------------------------------------------


def test_records_keep_every_name(graph: og.Graph) -> None:
    assert graph.get("P", "1") == node("b")
    assert graph.get("E", "e1") == edge("b")


def test_records_by_the_block_keep_every_name(tmp_path: Path) -> None:
    many = [{"type": "P", "data": {"k": f"n{at}", **node_values("m")}} for at in range(64)]
    linked = [{"edge": "E", "from": "n0", "to": f"n{at}", "data": edge_values("m")} for at in range(64)]
    with og.init(tmp_path / "graph", SCHEMA) as found:
        found.load([*many, *linked])
        assert found.get("P", "n63") == {"id": "n63", "k": "n63", **node_values("m")}
        rows = found.query(READ_EDGE).rows()
    assert [columns(row, EDGE_NAMES) for row in rows] == [edge_values("m")] * 64


@pytest.mark.parametrize("make", [pa.Table.from_pylist, pd.DataFrame, pl.DataFrame])
def test_frames_keep_every_name(tmp_path: Path, make: Callable[[list[dict[str, str]]], Any]) -> None:
    with og.init(tmp_path / "graph", SCHEMA) as found:
        found.load(make([{"k": "1", **node_values("f")}, {"k": "2", **node_values("g")}]), type="P")
        found.load(make([{"id": "e1", "from": "1", "to": "2", **edge_values("f")}]), edge="E")
        found.load(make([{"id": "e2", "src": "1", "dst": "2", **edge_values("f")}]), edge="E")
        assert found.get("P", "1") == node("f")
        assert found.get("E", "e1") == edge("f")
        assert found.get("E", "e2") == {**edge("f"), "id": "e2"}


def test_the_index_of_a_pandas_frame_is_no_column(tmp_path: Path) -> None:
    frame = pd.DataFrame([{"k": "1"}, {"k": "2"}], index=[7, 9])
    with og.init(tmp_path / "graph", SCHEMA) as found:
        found.load(frame, type="P")
        assert found.get("P", "1")["__index_level_0__"] is None


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("prefix", ["", "column of "])
def test_files_and_mappings_keep_every_name(tmp_path: Path, suffix: str, prefix: str) -> None:
    path = tmp_path / f"rows.{suffix}"
    row = {"k": "1", **node_values("c")}
    cells = {f"{prefix}{name}": value for name, value in row.items()}
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist([cells]), path)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(cells))
            writer.writeheader()
            writer.writerow(cells)
    mapping = {
        "sources": {"rows": {"path": str(path)}},
        "nodes": {"P": {"from": "rows", "columns": {name: f"{prefix}{name}" for name in row}}},
    }
    with og.init(tmp_path / "graph", SCHEMA) as found:
        found.load(mapping=mapping)
        assert found.get("P", "1") == node("c")
    if not prefix:
        with og.init(tmp_path / "plain", SCHEMA) as found:
            found.load(path, type="P")
            assert found.get("P", "1") == node("c")


def test_mutations_keep_every_name(graph: og.Graph) -> None:
    graph.mutate(WRITE_NODE, params=write_params("w"))
    assert graph.get("P", "1") == node("w")
    assigned = ", ".join(f'{name}: "i {name}"' for name in NODE_NAMES)
    graph.mutate(f'query i() {{ insert P {{ k: "3", {assigned} }} }}')
    assert graph.get("P", "3") == {"id": "3", "k": "3", **node_values("i")}
    for name in NODE_NAMES:
        done = graph.mutate(f'query u() {{ update P set {{ {name}: null }} where {name} = "i {name}" }}')
        assert done.affected_nodes == 1, name
    assert set(graph.get("P", "3").values()) == {"3", None}


# --- out of it -----------------------------------------------------------------------------------


def test_queries_keep_every_name(graph: og.Graph) -> None:
    assert columns(graph.query(READ_NODE).rows()[0], NODE_NAMES) == node_values("b")
    assert columns(graph.query(READ_EDGE).rows()[0], EDGE_NAMES) == edge_values("b")
    assert graph.query(READ_OBJECT).rows() == [{"p": node("b")}]
    for name in NODE_NAMES:
        text = (
            f'query q() {{ match {{ $p: P {{ {name}: "b {name}" }} }} return {{ $p.{name} }} order {{ $p.{name} }} }}'
        )
        assert graph.query(text).rows() == [{f"p.{name}": f"b {name}"}], name


def test_interfaces_and_unions_keep_every_name(tmp_path: Path) -> None:
    declared = "\n".join(f"{name}: String?" for name in NODE_NAMES)
    schema = f"interface I {{ {declared} }} node A implements I {{ k: String @key }} node B implements I {{ k: String @key }}"
    with og.init(tmp_path / "graph", schema) as found:
        found.load([{"type": each, "data": {"k": each, **node_values(each)}} for each in ("A", "B")])
        rows = found.query("query q() { match { $p: I } return { $p } order { $p.name } }").rows()
    assert [{name: row["p"][name] for name in NODE_NAMES} for row in rows] == [node_values("A"), node_values("B")]
    assert [row["p"]["@type"] for row in rows] == ["A", "B"]


def test_indexes_keep_every_name(tmp_path: Path) -> None:
    schema = "node P { k: String @key\n" + "\n".join(f"{name}: String? @index" for name in NODE_NAMES) + "}"
    with og.init(tmp_path / "graph", schema) as found:
        found.load([{"type": "P", "data": {"k": f"{at}", **node_values(f"w{at}")}} for at in range(40)])
        found.optimize()
        for name in NODE_NAMES:
            equal = f'query q() {{ match {{ $p: P {{ {name}: "w7 {name}" }} }} return {{ $p.k as k }} }}'
            words = f'query q() {{ match {{ $p: P search($p.{name}, "w7") }} return {{ $p.k as k }} }}'
            assert (found.query(equal).rows(), found.query(words).rows()) == ([{"k": "7"}], [{"k": "7"}]), name


def test_changes_keep_every_name(graph: og.Graph) -> None:
    page = graph.commits.changes(graph.commits.head() or "")
    found = {change["kind"]: change for change in page.changes if change["op"] == "update"}
    for side, tag in (("before", "a"), ("after", "b")):
        assert found["node"][side] == {"properties": {"k": "1", **node_values(tag)}}
        assert found["edge"][side] == {"properties": edge_values(tag), "endpoints": {"from": "1", "to": "2"}}
    polled = graph.changes.poll(start="beginning")
    assert polled.blocks[-1].changes == page.changes


def test_a_baseline_keeps_every_name(graph: og.Graph, tmp_path: Path) -> None:
    graph.changes.baseline(tmp_path / "baseline.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "baseline.jsonl").read_text().splitlines()]
    assert {"type": "P", "data": node("b")} in lines
    assert {"edge": "E", "from": "1", "to": "2", "data": {"id": "e1", **edge_values("b")}} in lines


def test_a_diff_keeps_every_name(graph: og.Graph) -> None:
    newest, before = graph.commits.list()[:2]
    found = graph.diff(before.graph_commit_id, newest.graph_commit_id)
    values = {each.change.kind: each for each in found.with_values()}
    assert (values["node"].before, values["node"].after) == tuple({"k": "1", **node_values(tag)} for tag in "ab")
    assert sorted(values["node"].properties) == sorted(NODE_NAMES)
    assert values["edge"].after == {"src": "1", "dst": "2", **edge_values("b")}
    assert {change.kind: change.endpoints for change in found} == {"node": None, "edge": {"src": "1", "dst": "2"}}
    ends = {row["kind"]: (row["src"], row["dst"]) for row in found.to_arrow().to_pylist()}
    assert ends == {"node": (None, None), "edge": ("1", "2")}


def test_blame_keeps_every_name(graph: og.Graph) -> None:
    head = graph.commits.head()
    origins = {
        item.name: (item.value, item.commit.graph_commit_id) for item in graph.commits.blame("P", "1").properties
    }
    assert {name: origins[name] for name in NODE_NAMES} == {
        name: (value, head) for name, value in node_values("b").items()
    }
    assert {item.name: item.value for item in graph.commits.blame("E", "e1").properties} == {
        "src": "1",
        "dst": "2",
        **edge_values("b"),
    }


def test_revert_and_cherry_pick_keep_every_name(graph: og.Graph) -> None:
    picked = graph.commits.head() or ""
    graph.commits.revert(picked)
    assert (graph.get("P", "1"), graph.get("E", "e1")) == (node("a"), edge("a"))
    graph.commits.cherry_pick(picked)
    assert (graph.get("P", "1"), graph.get("E", "e1")) == (node("b"), edge("b"))


# --- merges --------------------------------------------------------------------------------------


def _diverged(graph: og.Graph) -> None:
    graph.branches.create("other")
    graph.branch("other").load(records("theirs"), "merge")
    graph.load(records("ours"), "merge")


def test_conflicts_and_resolutions_keep_every_name(graph: og.Graph) -> None:
    _diverged(graph)
    with pytest.raises(MergeConflicts) as refused:
        graph.branches.merge("other")
    found = {conflict.table_key: conflict for conflict in refused.value.conflicts}
    for key, names, values in (("node:P", NODE_NAMES, node_values), ("edge:E", EDGE_NAMES, edge_values)):
        assert sorted(found[key].properties) == sorted(names)
        sides = [dict(found[key].base or {}), dict(found[key].ours or {}), dict(found[key].theirs or {})]
        assert sides == [values("b"), values("ours"), values("theirs")]
    graph.branches.merge("other", resolve={"P/1": node_values("mine"), "E/e1": edge_values("mine")})
    assert (graph.get("P", "1"), graph.get("E", "e1")) == (node("mine"), edge("mine"))


@pytest.mark.slow
def test_disjoint_updates_merge_property_by_property(graph: og.Graph) -> None:
    graph.branches.create("other")
    for at, name in enumerate(NODE_NAMES):
        side = graph if at % 2 else graph.branch("other")
        side.mutate(f'query u() {{ update P set {{ {name}: "new {name}" }} where k = "1" }}')
    graph.branches.merge("other", properties="disjoint")
    assert graph.get("P", "1") == node("new")


# --- exports and imports -------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_exports_load_again_with_every_name(graph: og.Graph, tmp_path: Path, format: str) -> None:
    with og.init(tmp_path / "again", SCHEMA) as again:
        if format == "jsonl":
            graph.export(tmp_path / "out.jsonl")
            again.load(tmp_path / "out.jsonl")
        else:
            graph.export(tmp_path / "out", format=format)
            again.load(mapping=tmp_path / "out" / "mapping.yaml")
        for each in (graph, again):
            each.export(tmp_path / f"{each.uri.rpartition('/')[2]}.jsonl")
    assert (tmp_path / "graph.jsonl").read_bytes() == (tmp_path / "again.jsonl").read_bytes()


@pytest.mark.parametrize("format", ["graphml", "neo4j-csv"])
def test_foreign_formats_bring_every_name_back(graph: og.Graph, tmp_path: Path, format: str) -> None:
    out = tmp_path / ("out.graphml" if format == "graphml" else "out")
    graph.export(out, format=format)
    import_from(format, out, into=tmp_path / "again")
    with og.open(tmp_path / "again") as again:
        assert again.get("P", "1") == node("b")
        assert columns(again.query(READ_EDGE).rows()[0], EDGE_NAMES) == edge_values("b")


def test_a_dump_of_neo4j_brings_every_name(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"type": "node", "id": "1", "labels": ["P"], "properties": {"k": "1", **node_values("n")}},
        {"type": "node", "id": "2", "labels": ["P"], "properties": {"k": "2"}},
        {
            "type": "relationship",
            "id": "0",
            "label": "E",
            "start": {"id": "1", "labels": ["P"]},
            "end": {"id": "2", "labels": ["P"]},
            "properties": edge_values("n"),
        },
    ]
    path = tmp_path / "dump.json"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    import_from("neo4j-json", path, into=tmp_path / "graph")
    with og.open(tmp_path / "graph") as found:
        assert found.get("P", "1") == node("n")
        assert columns(found.query(READ_EDGE).rows()[0], EDGE_NAMES) == edge_values("n")


def test_triples_bring_every_name(tmp_path: Path) -> None:
    kind = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    lines = [f"<urn:n1> {kind} <http://x/P> ."]
    lines += [f'<urn:n1> <http://x/{name}> "{value}" .' for name, value in node_values("t").items()]
    (tmp_path / "in.nt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    import_from("ntriples", tmp_path / "in.nt", into=tmp_path / "graph")
    with og.open(tmp_path / "graph") as found:
        assert found.get("P", "urn:n1") == {"id": "urn:n1", **node_values("t")}


def test_a_drafted_schema_keeps_every_name(tmp_path: Path) -> None:
    rows = [{"k": f"key{at}", **node_values(f"v{at}")} for at in range(3)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "things.parquet")
    drafted = og.infer(tmp_path / "things.parquet")
    with og.init(tmp_path / "graph", drafted.schema) as found:
        (name,) = compile_schema(drafted.schema).nodes
        found.load(mapping=drafted.mapping)
        got = found.query(f"query q() {{ match {{ $p: {name} }} return {{ $p }} order {{ $p.name }} }}").rows()[0]["p"]
    # A column that is called like an id, in whatever case, is taken for the id.
    assert got["id"] == "v0 iD"
    assert {each: got[each] for each in NODE_NAMES if each != "iD"} == {
        name: value for name, value in node_values("v0").items() if name != "iD"
    }


# --- the schema itself ---------------------------------------------------------------------------


@pytest.mark.slow
def test_properties_are_added_renamed_and_dropped_under_every_name(tmp_path: Path) -> None:
    with og.init(tmp_path / "graph", "node P { k: String @key  old: String? }") as found:
        found.load([{"type": "P", "data": {"k": "1", "old": "kept"}}])
        for name in NODE_NAMES:
            found.schema.apply(f'node P {{ k: String @key  {name}: String? @rename_from("old") }}')
            assert found.get("P", "1") == {"id": "1", "k": "1", name: "kept"}, name
            found.schema.apply(f'node P {{ k: String @key  old: String? @rename_from("{name}") }}')
        found.schema.apply(f"{SCHEMA} node Q {{ old: String? }}".replace("node P {", "node P { old: String?"))
        assert found.get("P", "1") == {"id": "1", "k": "1", "old": "kept", **dict.fromkeys(NODE_NAMES)}


# --- the command line ----------------------------------------------------------------------------


def test_the_command_line_shows_every_name(graph: og.Graph, capsys: pytest.CaptureFixture[str]) -> None:
    def shown(*words: str) -> str:
        assert main([*words, "--store", graph.uri]) == 0
        return capsys.readouterr().out

    found = json.loads(shown("query", "-e", READ_NODE, "--format", "json"))
    assert columns(found["rows"][0], NODE_NAMES) == node_values("b")
    newest, before = (each.graph_commit_id for each in graph.commits.list()[:2])
    for text in (shown("diff", before, newest), shown("blame", "P", "1")):
        for value in node_values("b").values():
            assert value in text
