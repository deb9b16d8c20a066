"""Loads whose input, scratch files and tables are all on S3."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.engine.intake.inputs.files import list_files, open_output
from omnigraph.errors import NotFound, StorageError, ValueViolation
from omnigraph.pipeline.tasks.export import export_files
from omnigraph.pipeline.tasks.jobs import LocalTasks
from omnigraph.pipeline.tasks.load import load
from omnigraph.pipeline.tasks.stage_driver import Tuning
from omnigraph.testing.graphs.loads import export_text

SCHEMA = "node Person { name: String @key  age: I32?  photo: Blob? }  edge Knows: Person -> Person"
TINY = Tuning(split_bytes=300, bucket_rows=7)


def put(path: str, data: bytes) -> None:
    with open_output(path) as file:
        file.write(data)


def people(*numbers: int) -> bytes:
    nodes = ({"type": "Person", "data": {"name": f"p{n}", "age": n, "photo": "base64:SGVsbG8="}} for n in numbers)
    edges = ({"edge": "Knows", "from": f"p{n}", "to": f"p{numbers[0]}"} for n in numbers)
    return "".join(json.dumps(each) + "\n" for each in (*nodes, *edges)).encode()


def test_files_on_s3_load_into_a_graph_on_s3_in_every_mode(place: str) -> None:
    put(f"{place}/in/a.jsonl", people(*range(10)))
    put(f"{place}/in/b.jsonl", people(*range(10, 20)))
    put(f"{place}/in/notes.txt", b"no records")
    graph = og.init(f"{place}/graph", SCHEMA)
    done = load(access(graph), LoadRequest(data=f"{place}/in/*.jsonl", mode="append"), LocalTasks(), TINY)
    assert (dict(done.nodes), dict(done.edges)) == ({"Person": 20}, {"Knows": 20})
    load(access(graph), LoadRequest(data=f"{place}/in/a.jsonl", mode="merge"), LocalTasks(), TINY)
    assert graph.get("Person", "p7") == {"id": "p7", "age": 7, "name": "p7", "photo": "base64:SGVsbG8="}
    load(
        access(graph), LoadRequest(data=f"{place}/in", mode="overwrite", branch="side", base="main"), LocalTasks(), TINY
    )
    assert len(export_text(graph._core, "side").splitlines()) == 40
    assert len(export_text(graph._core).splitlines()) == 50
    assert graph._core.store.objects.list_tree("__loads") == []


def test_what_is_wrong_on_s3_is_named_with_its_place(place: str) -> None:
    put(f"{place}/in/a.jsonl", people(*range(9)) + b"{nonsense}\n")
    graph = og.init(f"{place}/graph", SCHEMA)
    with pytest.raises(ValueViolation) as refused:
        load(access(graph), LoadRequest(data=f"{place}/in", mode="append"), LocalTasks(), TINY)
    assert (refused.value.file, refused.value.line) == (f"{place}/in/a.jsonl", 19)
    with pytest.raises(NotFound, match="contains no record files"):
        list_files(f"{place}/nothing/*.jsonl")
    with pytest.raises(NotFound, match=r"there is no file 's3://.*/nothing\.jsonl'"):
        list_files(f"{place}/nothing.jsonl")
    for use in (og.open, lambda uri: og.init(uri, SCHEMA)):
        with pytest.raises(
            StorageError, match=r"s3://no-such-bucket/.*: the bucket does not exist, or these"
        ) as missing:
            use("s3://no-such-bucket/graph")
        assert "404" not in str(missing.value)


def test_parquet_comes_from_s3_and_exports_go_there(place: str, tmp_path: Path) -> None:
    with open_output(f"{place}/in/people.parquet") as file:
        pq.write_table(pa.table({"name": [f"p{n}" for n in range(30)]}), file, row_group_size=7)
    graph = og.init(f"{place}/graph", SCHEMA)
    graph.load(f"{place}/in/people.parquet", type="Person", runner="inline")
    graph.export(tmp_path / "plain.jsonl")
    export_files(graph.view(), f"{place}/out.jsonl", (), LocalTasks(), range_rows=4)
    again = og.init(f"{place}/again", SCHEMA)
    again.load(f"{place}/out.jsonl", runner="inline")
    assert export_text(again._core) == (tmp_path / "plain.jsonl").read_text()
