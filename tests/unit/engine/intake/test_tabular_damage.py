"""A table that is cut off, is not what its name says, or names a column twice is refused by name, whoever reads it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.errors import BadRequest
from omnigraph.pipeline.formats.infer import infer
from omnigraph.pipeline.tasks.jobs import LocalTasks
from omnigraph.pipeline.tasks.load import load
from omnigraph.pipeline.tasks.stage_driver import Tuning

SCHEMA = "node P { k: String @key  n: String? }"
ROWS = "k,n\n" + "".join(f"{at},{at * 7919 % 10007}\n" for at in range(3_000))
RECORDS = "".join(f'{{"type":"P","data":{{"k":"{at}","n":"{at * 7919 % 10007}"}}}}\n' for at in range(3_000))
CODECS = {"gz": "gzip", "zst": "zstd", "bz2": "bz2", "lz4": "lz4"}
TABLE = pa.table({"k": [str(at) for at in range(3_000)]})


def refused(place: Path, request: LoadRequest, tuning: Tuning | None = None) -> str:
    """What a load says; the same from this process and from tasks."""
    with pytest.raises(BadRequest) as plain:
        og.init(place / "plain", SCHEMA).load(
            request.data, mode="append", runner="inline", type=request.type, mapping=request.mapping
        )
    run = load if tuning is None else partial(load, tuning=tuning)
    with pytest.raises(BadRequest) as tasks:
        run(access(og.init(place / "tasks", SCHEMA)), request, tasks=LocalTasks())
    assert str(tasks.value) == str(plain.value)
    return str(plain.value)


def packed(data: bytes, codec: str) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(data)
    return bytes(sink.getvalue().to_pybytes())


@pytest.mark.parametrize("size", [1 << 30, 100], ids=["one task", "unpacked"])
@pytest.mark.parametrize("text", [ROWS, RECORDS], ids=["csv", "jsonl"])
@pytest.mark.parametrize("ending", CODECS)
def test_compressed_data_that_is_cut_off_is_told_with_the_file(
    tmp_path: Path, ending: str, text: str, size: int
) -> None:
    path = tmp_path / f"in.{'csv' if text is ROWS else 'jsonl'}.{ending}"
    whole = packed(text.encode(), CODECS[ending])
    path.write_bytes(whole[: len(whole) // 2])
    request = LoadRequest(data=str(path), mode="append", type="P" if text is ROWS else None)
    told = refused(tmp_path, request, Tuning(split_bytes=size))
    assert told == f"'{path}' cannot be read: its compressed data is cut off; copy or download it again"


@pytest.mark.parametrize("ending", CODECS)
def test_data_that_is_not_compressed_as_the_name_says_is_told_with_the_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"in.csv.{ending}"
    path.write_text(ROWS)
    told = refused(tmp_path, LoadRequest(data=str(path), mode="append", type="P"))
    assert told.startswith(f"'{path}' cannot be read: it is not what {CODECS[ending]} writes, or it is damaged (")


def test_json_lines_of_a_table_that_are_cut_off(tmp_path: Path) -> None:
    whole = packed(b'{"k":"a"}\n' * 2_000, "gzip")
    (tmp_path / "in.json.gz").write_bytes(whole[:-10])
    mapping = {"sources": {"p": {"path": str(tmp_path / "in.json.gz")}}, "nodes": {"P": {"from": "p"}}}
    told = refused(tmp_path, LoadRequest(data=None, mapping=mapping, mode="append"))
    assert (
        told == f"'{tmp_path / 'in.json.gz'}' cannot be read: its compressed data is cut off; copy or download it again"
    )


@pytest.mark.parametrize(
    ("ending", "damage"),
    [("parquet", "half"), ("parquet", "hole"), ("parquet", "footer"), ("orc", "half"), ("orc", "footer")],
)
def test_columnar_files_that_are_damaged(tmp_path: Path, ending: str, damage: str) -> None:
    path = tmp_path / f"in.{ending}"
    pq.write_table(TABLE, path) if ending == "parquet" else orc.write_table(TABLE, path)
    data = path.read_bytes()
    path.write_bytes(
        {
            "half": data[: len(data) // 2],
            "hole": data[:300] + bytes(900) + data[1200:],
            "footer": data[:-60] + bytes(45) + data[-15:],
        }[damage]
    )
    told = refused(tmp_path, LoadRequest(data=str(path), mode="append", type="P"))
    assert told.startswith((f"'{path}' cannot be read: ", f"'{path}' is not a Parquet file, or only a part of one: "))


@pytest.mark.parametrize("ending", ["csv", "parquet", "orc"])
def test_a_column_that_a_type_needs_is_there_once(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"in.{ending}"
    _twice(path)
    told = refused(tmp_path, LoadRequest(data=str(path), mode="append", type="P"))
    assert told == (
        f"'{path}' has 2 columns called 'n' (columns 2 and 4), and nothing says which one is meant: rename all but one"
        " of them"
    )


@pytest.mark.parametrize("ending", ["csv", "parquet", "orc"])
def test_a_column_that_no_type_needs_may_be_there_twice(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"in.{ending}"
    _twice(path, "other")
    nodes = {"P": {"from": "p", "columns": {"k": "k", "n": "note"}}}
    mapping = {"sources": {"p": {"path": str(path)}}, "nodes": nodes}
    graph = og.init(tmp_path / "g", SCHEMA)
    graph.load(mapping=mapping, mode="append", runner="inline")
    assert graph.get("P", "1") == {"id": "1", "k": "1", "n": "3"}


def test_a_schema_is_not_guessed_from_columns_of_one_name(tmp_path: Path) -> None:
    _twice(tmp_path / "in.csv")
    with pytest.raises(BadRequest, match=r"in\.csv' has 2 columns called 'n' \(columns 2 and 4\)"):
        infer(tmp_path / "in.csv")


def _twice(path: Path, name: str = "n") -> None:
    table = pa.Table.from_arrays([pa.array([text]) for text in "1234"], names=["k", name, "note", name])
    if path.suffix == ".csv":
        path.write_text(f"k,{name},note,{name}\n1,2,3,4\n")
    else:
        pq.write_table(table, path) if path.suffix == ".parquet" else orc.write_table(table, path)
