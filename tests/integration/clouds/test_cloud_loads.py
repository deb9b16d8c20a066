"""Large loads on Azure and Google: input, scratch files, refused rows, indexes, exports and the graph are all there."""

from __future__ import annotations

import gzip
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph as og
from omnigraph.cli.main import main
from omnigraph.engine.api.access import access
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.engine.intake.inputs.files import names_in, open_input, open_output
from omnigraph.engine.maintenance import topology_builds
from omnigraph.engine.read.columns import key_index_store
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.key_index_store import kept_keys, key_artifact
from omnigraph.engine.read.search import corpus_store
from omnigraph.engine.read.search.corpus_store import TextColumn, kept_corpus
from omnigraph.engine.read.topology import files, store
from omnigraph.errors import NotFound
from omnigraph.pipeline.formats.infer import infer
from omnigraph.pipeline.runs.declared import parse_pipelines
from omnigraph.pipeline.runs.records import inputs_of
from omnigraph.pipeline.tasks import indexing
from omnigraph.pipeline.tasks.compare import spread_delta
from omnigraph.pipeline.tasks.export import export_files
from omnigraph.pipeline.tasks.jobs import LocalTasks, SparkTasks
from omnigraph.pipeline.tasks.load import load
from omnigraph.pipeline.tasks.stage_driver import Tuning
from omnigraph.settings import Settings
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.layout import Root
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.crash.processes import children
from omnigraph.testing.graphs.loads import export_text
from omnigraph.testing.services.clouds import CloudServer

SCHEMA = """
node Person { name: String @key  age: I32?  bio: String? @index }
edge Knows: Person -> Person
"""
MANY = 300_000  # more than one task's share of key rows, so that keys are exchanged through files
TINY = Tuning(split_bytes=300, bucket_rows=7, keyed_rows=0)
QUICK = Settings(lease_ttl_ms=600_000, lease_skew_ms=0, writer_wait_ms=60_000)
# As for a table of twenty million rows: its indexes are built in pieces, by tasks.
SPREAD = Settings(distribute_rows=100)
MAPPING = {
    "nodes": {"Person": {"from": "people"}},
    "edges": {"Knows": {"from": "knows", "src": "from", "dst": "to"}},
}
WHO = 'query q() { match { $p: Person { name: "p7" }  $p knows $q } return { $q.name } order { $q.name } }'
COUNT = "query q() { match { $p: Person  $p knows $q  $q.age < 21 } return { count($p) as n } }"

WORDS = 'query q() { match { $p: Person  search($p.bio, "stone3") } return { count($p) as n } }'


def put(path: str, data: bytes) -> str:
    with open_output(path) as file:
        file.write(data)
    return path


def put_table(path: str, columns: dict[str, Any], **options: Any) -> str:
    with open_output(path) as file:
        pq.write_table(pa.table(columns), file, **options)
    return path


def records(low: int, high: int, *, edges: bool = True) -> bytes:
    nodes = [
        {"type": "Person", "data": {"name": f"p{n}", "age": n % 80, "bio": f"likes stone{n % 7}"}}
        for n in range(low, high)
    ]
    links = [{"edge": "Knows", "from": f"p{n}", "to": f"p{low}"} for n in range(low, high)] if edges else []
    return "".join(json.dumps(each) + "\n" for each in (*nodes, *links)).encode()


def large_sources(place: str) -> dict[str, Any]:
    """Nodes in a directory of two Parquet files, edges in a compressed CSV file."""
    half, names = MANY // 2, [f"p{n}" for n in range(MANY)]
    ages = np.arange(MANY, dtype=np.int32) % 80
    for part, rows in enumerate((slice(0, half), slice(half, MANY))):
        put_table(f"{place}/in/people/{part}.parquet", {"name": names[rows], "age": ages[rows]}, row_group_size=60_000)
    lines = "".join(f"p{n},p{n * 7 % MANY}\n" for n in range(MANY))
    put(f"{place}/in/knows #1.csv.gz", gzip.compress(b"from,to\n" + lines.encode(), 1))
    return {
        "people": {"path": f"{place}/in/people", "format": "parquet"},
        "knows": {"path": f"{place}/in/knows #1.csv.gz"},
    }


def no_scratch(graph: og.Graph) -> None:
    assert graph._core.store.objects.list_tree("__loads") == []


@pytest.mark.slow
@pytest.mark.parametrize("runner", ["inline", "spark"])
def test_a_load_of_many_rows_merges_rejects_and_leaves_nothing_behind(root: Root, spark: Any, runner: Any) -> None:
    place = root.uri
    where = {"runner": runner, **({"spark": spark} if runner == "spark" else {})}
    mapping = {"sources": large_sources(place), **MAPPING}
    with og.init(f"{place}/graph", SCHEMA) as graph:
        done = graph.load(mapping=mapping, mode="append", **where)
        assert (done.runner, dict(done.nodes), dict(done.edges)) == (runner, {"Person": MANY}, {"Knows": MANY})
        no_scratch(graph)
        changed = [*(f"p{n}" for n in range(MANY - 10, MANY + 19)), None]
        put_table(f"{place}/in/more.parquet", {"name": changed, "age": pa.array([99] * 30, pa.int32())})
        put(f"{place}/in/wrong.csv", b"from,to\np1,p2\np1,nobody\n")
        more = {"people": {"path": f"{place}/in/mor*.parquet"}, "knows": {"path": f"{place}/in/wrong.csv"}}
        merged = graph.load(
            mapping={"sources": more, **MAPPING}, mode="merge", on_error="skip", rejects=f"{place}/out", **where
        )
        assert (merged.total_entities, sum(merged.rejected.values())) == (30, 2)
        with open_input(f"{place}/out/rejects.jsonl") as file:
            entries = [json.loads(line) for line in bytes(file.read()).splitlines()]
        assert [entry["file"].rpartition("/")[2] for entry in entries] == ["more.parquet", "wrong.csv"]
        assert graph.get("Person", f"p{MANY - 1}")["age"] == 99
        assert graph.get("Person", f"p{MANY + 19}") is None
        no_scratch(graph)
        assert violations(graph._core.store) == []


@pytest.mark.slow
def test_a_refused_load_of_many_rows_says_why(root: Root, spark: Any) -> None:
    sources = large_sources(root.uri)
    put_table(f"{root.uri}/in/people/2.parquet", {"name": ["p5"], "age": pa.array([1], pa.int32())})
    with og.init(f"{root.uri}/graph", SCHEMA) as graph:
        for where in ({"runner": "inline"}, {"runner": "spark", "spark": spark}):
            with pytest.raises(og.errors.OmnigraphError, match="p5") as refused:
                graph.load(mapping={"sources": sources, **MAPPING}, mode="append", **where)
            assert "\n" not in str(refused.value).partition("= help")[0].strip()
            no_scratch(graph)


def inputs(place: str) -> dict[str, Any]:
    return {
        "a file": f"{place}/in/a.jsonl",
        "a packed file": f"{place}/in/b.jsonl.gz",
        "a directory": f"{place}/in",
        "a glob": f"{place}/i*/*.jsonl*",
        "a list": [f"{place}/in/a.jsonl", f"{place}/in/b.jsonl.gz"],
    }


@pytest.fixture
def small(root: Root) -> str:
    """A place with two files of records in it."""
    put(f"{root.uri}/in/a.jsonl", records(0, 20))
    put(f"{root.uri}/in/b.jsonl.gz", gzip.compress(records(20, 40)))
    put(f"{root.uri}/in/notes.txt", b"no records")
    return root.uri


@pytest.mark.parametrize("tasks", [None, pytest.param("spark", marks=pytest.mark.slow)])
def test_every_way_to_name_input_loads_in_pieces(small: str, tasks: str | None, request: Any) -> None:
    runs = LocalTasks() if tasks is None else SparkTasks(request.getfixturevalue("spark"))
    for number, (how, data) in enumerate(inputs(small).items()):
        with og.init(f"{small}/graph{number}", SCHEMA) as graph:
            done = load(access(graph), LoadRequest(data=data, mode="append"), runs, TINY)
            expected = 20 if how in ("a file", "a packed file") else 40
            assert (dict(done.nodes), dict(done.edges)) == ({"Person": expected}, {"Knows": expected}), how
            load(access(graph), LoadRequest(data=data, mode="merge"), runs, TINY)
            assert graph.query(COUNT).rows()[0]["n"] == (expected if expected == 40 else 20)
            no_scratch(graph)


def test_everything_at_once_and_by_a_mapping_that_lies_there(small: str) -> None:
    put(f"{small}/people.csv", b"name,age\np100,5\n")
    put(f"{small}/maps/map.yaml", b"sources: {people: {path: ../people.csv}}\nnodes: {Person: {from: people}}\n")
    with og.init(f"{small}/graph", SCHEMA) as graph:
        graph.load(f"{small}/in", "append", runner="inline")
        graph.load(mapping=f"{small}/maps/map.yaml", mode="append", runner="inline")
        assert graph.get("Person", "p100")["age"] == 5
        with pytest.raises(NotFound, match=f"there is no file '{small}/maps/other.yaml'"):
            graph.load(mapping=f"{small}/maps/other.yaml", mode="append")


def test_a_draft_of_schema_and_mapping_is_made_of_files_there(small: str) -> None:
    for number in range(2):
        put_table(
            f"{small}/tables/people/{number}.parquet", {"name": [f"p{number}{n}" for n in range(9)], "age": [3] * 9}
        )
    put(f"{small}/tables/knows.csv", b"person_name,since\np01,2020\np12,2021\n")
    found = infer(f"{small}/tables/people", f"{small}/tables/knows.csv")
    assert found.mapping["sources"]["people"] == {"path": f"{small}/tables/people", "format": "parquet"}
    with og.init(f"{small}/graph", found.schema) as graph:
        assert graph.load(mapping=found.mapping, mode="append", runner="inline").total_entities >= 20
    with pytest.raises(NotFound, match="there is no file"):
        infer(f"{small}/tables/absent.csv")


def test_commands_take_places_there(small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = tmp_path / "schema.pg"
    schema.write_text(SCHEMA)
    put(f"{small}/bad.jsonl", records(0, 3) + b'{"type": "Person", "data": {"name": 5}}\n')

    def run(*words: str) -> str:
        assert main([*words, "--yes"] if words[0] == "load" else list(words)) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    run("init", "--schema", str(schema), f"{small}/graph")
    run("load", f"{small}/graph", "--data", f"{small}/in", "--mode", "append")
    bad = ("--data", f"{small}/bad.jsonl", "--on-error", "skip", "--rejects", f"{small}/refused.jsonl")
    assert f"{small}/refused.jsonl" in run("load", f"{small}/graph", *bad, "--mode", "merge")
    with open_input(f"{small}/refused.jsonl") as file:
        assert json.loads(bytes(file.read()))["line"] == 7
    run("export", f"{small}/graph", "--out", f"{small}/out.jsonl")
    run("init", "--schema", str(schema), f"{small}/again")
    run("load", f"{small}/again", "--data", f"{small}/out.jsonl", "--mode", "append")
    with og.open(f"{small}/graph") as one, og.open(f"{small}/again") as other:
        assert export_text(one._core) == export_text(other._core)


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet", "graphml", "neo4j-csv"])
def test_every_format_is_exported_there_and_comes_back(small: str, format: str, tmp_path: Path) -> None:
    with og.init(f"{small}/graph", SCHEMA) as graph:
        graph.load(f"{small}/in", "append", runner="inline")
        there, here = (f"{place}/out.{format}" for place in (small, tmp_path))
        written = graph.export(there, format=format)
        assert written == graph.export(here, format=format)
        text = export_text(graph._core)
    if format in ("jsonl", "graphml"):
        with open_input(there) as file:
            assert bytes(file.read()) == Path(here).read_bytes()
    if format in ("csv", "parquet"):
        with og.init(f"{small}/again", SCHEMA) as again:
            again.load(mapping=f"{there}/mapping.yaml", mode="append", runner="inline")
            assert export_text(again._core) == text
    if format in ("csv", "parquet", "neo4j-csv"):
        assert sorted(names_in(there) or []) == sorted(file.name for file in Path(here).iterdir() if file.is_file())
        with og.open(f"{small}/graph") as graph, pytest.raises(og.errors.BadRequest, match="exists already"):
            graph.export(there, format=format)


@pytest.mark.parametrize("tasks", [None, pytest.param("spark", marks=pytest.mark.slow)])
def test_exports_and_comparisons_by_tasks_exchange_files_there(small: str, tasks: str | None, request: Any) -> None:
    runs: Any = LocalTasks() if tasks is None else SparkTasks(request.getfixturevalue("spark"))
    with og.init(f"{small}/graph", SCHEMA) as graph:
        graph.load(f"{small}/in", "append", runner="inline")
        view = graph.view()
        export_files(view, f"{small}/out.jsonl", (), runs, range_rows=7)
        with open_input(f"{small}/out.jsonl") as file:
            assert bytes(file.read()).decode() == export_text(graph._core)
        assert names_in(f"{small}/out.jsonl.parts") is None
        before = view.table(view.catalog.nodes["Person"])
        graph.load([{"type": "Person", "data": {"name": "p3", "age": 90}}], "merge", runner="inline")
        after = graph.view().table(view.catalog.nodes["Person"])
        found = spread_delta(before, after, runs, range_rows=9, sent_bytes=0)
        assert found.after["age"].to_pylist() == [90]


def run_child(place: str, spec: str, environment: dict[str, str]) -> None:
    os.environ.update(environment)
    graph = og.open(f"{place}/graph", settings=QUICK)
    with failpoints.armed(spec):
        load(access(graph), LoadRequest(data=f"{place}/in", mode="append"), LocalTasks(), TINY)


def test_an_interrupted_load_goes_on_where_it_was(small: str, cloud: CloudServer) -> None:
    og.init(f"{small}/graph", SCHEMA, settings=QUICK).close()
    child = children().Process(target=run_child, args=(small, "load.post_stage=kill", cloud.environment))
    child.start()
    child.join(120)
    assert child.exitcode == -signal.SIGKILL
    with og.open(f"{small}/graph", settings=QUICK) as graph:
        asked = LoadRequest(data=f"{small}/in", mode="append", resume=True)
        done = load(access(graph), asked, LocalTasks(), TINY)
        assert (dict(done.nodes), dict(done.edges)) == ({"Person": 40}, {"Knows": 40})
        assert "stage" not in {stage.name for stage in asked.clock.profile(80).stages if stage.tasks}
        no_scratch(graph)


@pytest.mark.slow
def test_indexes_are_built_in_pieces_by_spark_and_queries_and_algorithms_run_on_it(
    small: str, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_index_store, "_WORTH_KEEPING", 10)  # as for tables that are worth it
    for module in (corpus_store, files, store, topology_builds):
        monkeypatch.setattr(module, "WORTH_KEEPING", 10)
    stages: list[str] = []
    plain = indexing.task_runner
    monkeypatch.setattr(indexing, "task_runner", lambda stage, place: stages.append(stage) or plain(stage, place))
    with og.init(f"{small}/graph", SCHEMA, settings=SPREAD) as graph:
        for low in range(0, 400, 100):
            graph.load(records(low, low + 100), "append", runner="inline", no_build=True)
    with og.open(f"{small}/graph", settings=SPREAD) as graph:
        graph.ensure_indices(runner="spark")
        assert {"texts", "key index", "topology"} <= set(stages)
        assert {each.coverage for each in graph.indexes()} == {1.0}
        people = Entities(graph.view(), graph.view().catalog.nodes["Person"])
        assert kept_keys(key_artifact(people).place) is not None
        assert kept_corpus(TextColumn(people, "bio", keep=True)) is not None
        no_scratch(graph)
    with og.open(f"{small}/graph") as graph:
        expected = [[("p0",)], [(200,)]]
        assert [graph.query(text).tuples() for text in (WHO, COUNT)] == expected
        assert graph.query(WORDS).rows()[0]["n"] == sum(n % 7 == 3 for n in range(400))
        assert [graph.query(text, runner="spark").tuples() for text in (WHO, COUNT)] == expected
        here = list(graph.analytics.components("Knows", runner="inline"))
        assert sorted(graph.analytics.components("Knows", runner="spark"), key=str) == sorted(here, key=str)


@pytest.mark.slow
def test_frames_of_spark_are_loaded_and_sources_that_spark_reads_come_from_there(small: str, spark: Any) -> None:
    frame = spark.createDataFrame([(f"p{n}", n) for n in range(30)], "name string, age int").repartition(3)
    with og.init(f"{small}/graph", SCHEMA) as graph:
        graph.load(frame, "append", type="Person", spark=spark)
        put(f"{small}/extra.csv", b"name,age\np3,70\np99,71\n")
        mapping = {
            "sources": {
                "extra": {"path": f"{small}/extra.csv"},
                "old": {"sql": "select name, cast(age as int) age from extra where age > 70"},
            },
            "nodes": {"Person": {"from": "old"}},
        }
        graph.load(mapping=mapping, mode="merge", runner="spark", spark=spark)
        assert graph.get("Person", "p99")["age"] == 71
        assert graph.query("query q() { match { $p: Person } return { count($p) as n } }").rows()[0]["n"] == 31
        no_scratch(graph)


def test_inputs_of_pipelines_are_known_by_their_times(small: str, tmp_path: Path) -> None:
    put(f"{small}/people.csv", b"name,age\np1,5\n")
    (tmp_path / "map.yaml").write_text(
        f"sources: {{p: {{path: '{small}/people.csv'}}}}\nnodes: {{Person: {{from: p}}}}\n"
    )
    [pipeline] = parse_pipelines({"daily": {"graph": "g", "mapping": "map.yaml"}}, tmp_path).values()
    first = inputs_of(pipeline)
    assert (first[0].name, first[0].bytes) == (f"{small}/people.csv", 14)
    assert inputs_of(pipeline) == first
    put(f"{small}/people.csv", b"name,age\np1,55\n")
    assert inputs_of(pipeline)[0].digest != first[0].digest


WRONG: dict[str, Callable[[og.Graph, str], Any]] = {
    "data": lambda graph, place: graph.load(f"{place}/x.jsonl", "append", runner="inline"),
    "data by tasks": lambda graph, place: graph.load(f"{place}/x.jsonl", "append", runner="inline", on_error="skip"),
    "mapping": lambda graph, place: graph.load(mapping=f"{place}/x.yaml", mode="append"),
    "infer": lambda graph, place: infer(f"{place}/x.csv"),
    "export": lambda graph, place: graph.export(f"{place}/x.jsonl"),
    "tables": lambda graph, place: graph.export(f"{place}/x", format="csv"),
}


@pytest.mark.parametrize("how", WRONG)
def test_a_container_that_does_not_exist_is_named_by_every_verb(small: str, root: Root, how: str) -> None:
    if root.scheme == "gs" and how in ("export", "tables"):
        pytest.skip("the emulator makes a bucket of the first object")
    with og.init(f"{small}/graph", SCHEMA) as graph:
        graph.load(f"{small}/in", "append", runner="inline")
        with pytest.raises(
            NotFound, match=rf"'{root.scheme}://no-such-one/.*there is no (bucket|container) 'no-such-one'"
        ):
            WRONG[how](graph, f"{root.scheme}://no-such-one/a")
