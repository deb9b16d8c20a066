"""The facade: opening, closing, binding, loading from anything, exporting, and clear refusals."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.errors import AlreadyInitialized, BadRequest, NotFound, OmnigraphError, ValueViolation
from omnigraph.testing.naive.observe import image_of

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person { since: Date? }\n"
PEOPLE = '{"type":"Person","data":{"name":"a","age":1}}\n{"type":"Person","data":{"name":"b"}}\n'


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "g.omni", SCHEMA)


def ages(graph: og.Graph) -> dict[str, Any]:
    return {name: row["age"] for name, row in image_of(graph.view())["node:Person"].items()}


# --- the package -------------------------------------------------------------------------------------


def test_every_public_name_exists_and_nothing_else_is_promised() -> None:
    assert og.__all__ == sorted(og.__all__)
    assert all(getattr(og, name) is not None for name in og.__all__)
    assert dir(og) == og.__all__
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = og.nonsense


def test_importing_the_package_imports_neither_arrow_nor_lance() -> None:
    script = (
        "import sys, omnigraph\n"
        "heavy = {'pyarrow', 'lance', 'numpy', 'obstore', 'pyspark', 'hypothesis'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert issubclass(omnigraph.errors.BadRequest, omnigraph.OmnigraphError)\n"
        "assert not {'pyarrow', 'lance'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=300)


def test_a_process_that_only_reads_imports_nothing_that_only_others_need(tmp_path: Path) -> None:
    og.init(tmp_path / "g", SCHEMA).close()
    script = (
        "import sys, omnigraph\n"
        "graph = omnigraph.open(sys.argv[1])\n"
        "graph.query('query q() { match { $p: Person } return { count($p) as n } }').scalar()\n"
        "others = ('omnigraph.engine.write', 'omnigraph.engine.merge.merge', 'omnigraph.engine.changes', 'pyspark',\n"
        "          'omnigraph.engine.read.search.ranking', 'omnigraph.engine.maintenance.optimize',\n"
        "          'omnigraph.policy.cedar', 'omnigraph.server', 'omnigraph.client', 'omnigraph.storage.protocol.commit',\n"
        "          'yaml', 'cedarpy', 'pydantic', 'starlette', 'fastapi', 'httpx', 'jwt', 'torch', 'lance.torch',\n"
        "          'polars', 'duckdb', 'snowballstemmer', 're2', 'obstore', 'pyarrow.parquet', 'pyarrow.flight')\n"
        "found = [name for name in others if name in sys.modules]\n"
        "runners = {'omnigraph.pipeline', 'omnigraph.pipeline.runners'}\n"
        "found += [name for name in sys.modules if name.startswith('omnigraph.pipeline') and name not in runners]\n"
        "sys.exit(' '.join(found) or None)\n"
    )
    subprocess.run([sys.executable, "-c", script, tmp_path / "g"], check=True, timeout=300)


# --- opening -----------------------------------------------------------------------------------------


def test_a_schema_may_be_text_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "schema.pg").write_text(SCHEMA)
    for place, schema in (("one", SCHEMA), ("two", tmp_path / "schema.pg"), ("three", str(tmp_path / "schema.pg"))):
        assert og.init(tmp_path / place, schema).schema.source == SCHEMA
    with pytest.raises(NotFound, match="is not a file"):
        og.init(tmp_path / "four", "missing.pg")


def test_an_existing_graph_is_opened_and_never_initialized_again(graph: og.Graph) -> None:
    with pytest.raises(AlreadyInitialized):
        og.init(graph.uri, SCHEMA)
    assert og.open(f"file://{graph.uri}").commits.list() == graph.commits.list()


def test_a_read_only_handle_reads_and_refuses_to_write(graph: og.Graph) -> None:
    graph.load(PEOPLE)
    reader = og.open(graph.uri, read_only=True)
    assert ages(reader) == {"a": 1, "b": None}
    for write in (
        lambda: reader.mutate('query q() { delete Person where name = "a" }'),
        lambda: reader.load(PEOPLE),
        lambda: reader.branches.create("x"),
        lambda: reader.branches.delete("x"),
    ):
        with pytest.raises(BadRequest, match="read-only"):
            write()
    assert reader.refresh() == graph.commits.head()


def test_a_closed_graph_refuses_everything(graph: og.Graph) -> None:
    with graph as same:
        other = same.branch("main")
    for use in (graph.view, graph.commits.list, other.branches.list, lambda: other.load(PEOPLE)):
        with pytest.raises(BadRequest, match="closed"):
            use()


def test_opening_on_a_branch_binds_to_it(graph: og.Graph) -> None:
    graph.branches.create("review")
    bound = og.open(graph.uri, branch="review", actor="act-r")
    bound.load(PEOPLE)
    assert (bound.branch_name, bound.actor) == ("review", "act-r")
    assert bound.commits.list()[0].actor_id == "act-r"
    assert ages(graph) == {}
    with pytest.raises(NotFound):
        og.open(graph.uri, branch="nowhere")


def test_one_handle_serves_many_threads(graph: og.Graph) -> None:
    def write(number: int) -> None:
        graph.load(f'{{"type":"Person","data":{{"name":"p{number}"}}}}')
        assert f"p{number}" in ages(graph)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(8)))
    assert len(ages(graph)) == 8


# --- loading -----------------------------------------------------------------------------------------


def test_records_load_from_files_globs_directories_bytes_and_lines(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "one.jsonl").write_text(PEOPLE.splitlines()[0] + "\n")
    (data / "two.jsonl.gz").write_bytes(gzip.compress(PEOPLE.splitlines()[1].encode()))
    (data / "notes.txt").write_text("not records")
    sources: dict[str, Any] = {
        "directory": data,
        "glob": str(data / "*.jsonl*"),
        "list": [data / "one.jsonl", str(data / "two.jsonl.gz")],
        "text": PEOPLE,
        "bytes": PEOPLE.encode(),
        "lines": iter(PEOPLE.splitlines()),
        "dicts": [json.loads(line) for line in PEOPLE.splitlines()],
        "pieces": [line.encode() for line in PEOPLE.splitlines(keepends=True)],
    }
    for name, source in sources.items():
        graph = og.init(tmp_path / name, SCHEMA)
        done = graph.load(source)
        assert (done.total_entities, dict(done.nodes), dict(done.edges)) == (2, {"Person": 2}, {}), name
        assert (done.runner, done.mode, done.branch) == ("inline", "append", "main")
        assert done.commit_id == graph.commits.head()
        assert ages(graph) == {"a": 1, "b": None}


def test_frames_load_as_nodes_and_edges_with_their_columns_renamed(graph: og.Graph) -> None:
    people = pa.table({"login": ["a", "b"], "age": pa.array([1, None], pa.int64()), "junk": [0, 0]})
    assert graph.load(people, type="Person", columns={"name": "login"}).total_entities == 2
    follows = pa.table({"x": ["a"], "y": ["b"]})
    graph.load(follows, edge="knows", columns={"from": "x", "to": "y"})
    (edge,) = image_of(graph.view())["edge:Knows"].values()
    assert (edge["src"], edge["dst"]) == ("a", "b")


def test_what_cannot_be_loaded_is_named(graph: og.Graph, tmp_path: Path) -> None:
    refusals: list[tuple[Any, dict[str, Any], str]] = [
        (42, {}, "cannot load an object of type int"),
        ([1, 2], {}, "cannot load a sequence of int"),
        (tmp_path / "missing.jsonl", {}, "no file"),
        (str(tmp_path / "*.jsonl"), {}, "no record files"),
        (pa.table({"name": ["a"]}), {}, "type= "),
        (PEOPLE, {"columns": {"name": "x"}}, "columns="),
        (PEOPLE, {"mode": "replace"}, "unknown load mode 'replace'"),
        (PEOPLE, {"runner": "abacus"}, "unknown runner 'abacus'"),
    ]
    for data, options, message in refusals:
        with pytest.raises(OmnigraphError, match=message):
            graph.load(data, **options)
    assert len(graph.commits.list()) == 1


def test_a_bad_record_names_its_file_and_line(graph: og.Graph, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(PEOPLE + '{"type":"Person","data":{"name":"c","age":"old"}}\n')
    with pytest.raises(ValueViolation) as refusal:
        graph.load(file)
    assert (refusal.value.code, refusal.value.line, refusal.value.file) == ("W002", 3, str(file))
    assert ages(graph) == {}


def test_a_load_may_create_its_branch(graph: og.Graph) -> None:
    first = graph.load(PEOPLE, branch="import", from_="main")
    again = graph.load(PEOPLE, "merge", branch="import", from_="main")
    assert (first.branch_created, again.branch_created, first.base_branch) == (True, False, "main")
    assert ages(graph) == {}
    assert ages(graph.branch("import")) == {"a": 1, "b": None}


def test_an_empty_load_is_a_commit_that_touches_nothing(graph: og.Graph) -> None:
    before = graph.snapshot().pins()
    done = graph.load([])
    assert done.total_entities == 0
    assert done.commit is not None
    assert graph.snapshot().pins() == before


# --- exporting ---------------------------------------------------------------------------------------


def test_an_export_goes_to_a_file_or_a_stream_and_loads_back(graph: og.Graph, tmp_path: Path) -> None:
    graph.load(PEOPLE)
    graph.load('{"edge":"Knows","from":"a","to":"b","data":{"since":"2020-01-01"}}')
    target = tmp_path / "out.jsonl"
    size = graph.export(target)
    stream = io.BytesIO()
    assert graph.export(stream) == size == target.stat().st_size
    assert stream.getvalue() == target.read_bytes()
    copy = og.init(tmp_path / "copy.omni", SCHEMA)
    copy.load(target, "overwrite")
    assert image_of(copy.view()) == image_of(graph.view())


def test_an_export_is_limited_to_types_and_to_a_moment(graph: og.Graph, tmp_path: Path) -> None:
    graph.load(PEOPLE)
    moment = graph.at(graph.commits.head())
    graph.load('{"type":"Person","data":{"name":"later"}}')
    moment.export(tmp_path / "out.jsonl", types=["Person"])
    found = [json.loads(line)["data"]["id"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert found == ["a", "b"]
    with pytest.raises(BadRequest, match="unknown export type"):
        graph.export(tmp_path / "none.jsonl", types=["Nobody"])
    assert not (tmp_path / "none.jsonl").exists()


# --- mutating ----------------------------------------------------------------------------------------


def test_a_mutation_may_come_from_a_file_with_several_queries(graph: og.Graph, tmp_path: Path) -> None:
    file = tmp_path / "people.gq"
    file.write_text(
        "query add($n: String) { insert Person { name: $n } }\n"
        "query drop($n: String) { delete Person where name = $n }\n"
        "query all() { match { $p: Person } return { $p.name } }\n"
    )
    assert graph.mutate(file, "add", {"n": "a"}).query_name == "add"
    assert graph.mutate(str(file), name="drop", params={"n": "a"}).affected_nodes == 1
    for name, code in ((None, "R001"), ("gone", "R001"), ("all", "R002")):
        with pytest.raises(OmnigraphError) as refusal:
            graph.mutate(file, name)
        assert refusal.value.code == code
    with pytest.raises(NotFound):
        graph.mutate("missing.gq")
