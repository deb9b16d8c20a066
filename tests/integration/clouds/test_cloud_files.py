"""Files on every kind of object store: named, listed, read at any byte, written in parts, and what goes wrong with them."""

from __future__ import annotations

import bz2
import gzip
import os
import pickle
import random
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph as og
from omnigraph.engine.changes.output_file import output_file
from omnigraph.engine.intake.inputs.files import (
    discard_tree,
    list_files,
    names_in,
    open_input,
    open_output,
    open_stream,
    written_at,
)
from omnigraph.engine.intake.inputs.forms import BY_NAME
from omnigraph.engine.intake.inputs.partitioned import PartitionedFile, write_partitioned
from omnigraph.engine.intake.inputs.table_files import table_pieces
from omnigraph.errors import BadRequest, NotFound, OmnigraphError, StorageError
from omnigraph.pipeline.spark.stores import reaching_stores
from omnigraph.storage.base.clouds import receive_variables
from omnigraph.testing.services.clouds import CloudServer

NAMES = (
    "plain.jsonl", "with space.jsonl", " around .jsonl", "a#b.jsonl", "a?b.jsonl", "a%41b.jsonl", "a%2Fb.jsonl",
    "a+b.jsonl", "a&b=c;d,e'f.jsonl", "Zürich-東京-😀.jsonl", "a*b.jsonl", "a[b]c.jsonl", "a~b!c@d$e(f).jsonl",
)  # fmt: skip
SEVERAL_PARTS = (16 << 20) * 2 + 12_345
READS: dict[str, Callable[[str], Any]] = {
    "list": list_files,
    "glob": lambda path: list_files(path.replace("absent", "abs*")),
    "random access": lambda path: open_input(path).read(),
    "stream": lambda path: open_stream(path).read(5),
    "time": written_at,
    "parquet": lambda path: list(table_pieces(path.replace(".jsonl", ".parquet"), BY_NAME)),
    "csv": lambda path: list(table_pieces(path.replace(".jsonl", ".csv"), BY_NAME)),
}


def put(path: str, data: bytes) -> None:
    with open_output(path) as file:
        file.write(data)


def read(path: str) -> bytes:
    with open_input(path) as file:
        return bytes(file.read())


def stream(path: str, size: int) -> bytes:
    found = []
    with open_stream(path) as file:
        while piece := file.read(size):
            found.append(bytes(piece))
    return b"".join(found)


def data_of(size: int) -> bytes:
    return random.Random(size).randbytes(size)


# --- names -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_an_object_is_read_by_its_name_as_it_is(place: str, name: str) -> None:
    path, content = f"{place}/{name}", name.encode()
    put(path, content)
    assert read(path) == stream(path, 3) == content
    assert [(file.path, file.size) for file in list_files(path)] == [(path, len(content))]
    assert [file.path for file in list_files(place)] == [path]
    assert [file.path for file in list_files(f"{place}/*.jsonl")] == [path]
    assert names_in(place) == [name]


def test_a_directory_with_such_a_name_is_one(place: str) -> None:
    inside = [f"{place}/a#b? %41+ü/{name}" for name in sorted(NAMES)]
    for path in inside:
        put(path, path.encode())
    put(f"{place}/a#b? %41+ü-beside/x.jsonl", b"")
    assert [file.path for file in list_files(f"{place}/a#b? %41+ü")] == inside
    assert [file.path for file in list_files(f"{place}/a#b? %41+ü/")] == inside
    assert [read(file.path).decode() for file in list_files(f"{place}/a#*ü/*")] == inside


GLOBS = (
    "in/*.jsonl",
    "in/**/*.jsonl",
    "in/*/*.jsonl",
    "in/a[0-9].jsonl",
    "in/a?.jsonl",
    "**/b.jsonl",
    "in/.*",
    "in/**",
)


def test_globs_mean_what_they_mean_on_a_disk(place: str, tmp_path: Path) -> None:
    names = (
        "in/a1.jsonl",
        "in/a22.jsonl",
        "in/x/b.jsonl",
        "in/x/y/b.jsonl",
        "in/.hidden.jsonl",
        "in/.h/b.jsonl",
        "b.jsonl",
    )
    for where in (place, str(tmp_path)):
        for name in names:
            put(f"{where}/{name}", b"")
    for glob in GLOBS:
        there, here = (
            [file.path.removeprefix(f"{where}/") for file in list_files(f"{where}/{glob}")]
            for where in (place, tmp_path)
        )
        assert there == here, glob
        assert there, glob


def test_only_fitting_files_of_a_directory_are_taken(place: str) -> None:
    for name in ("b.jsonl", "a.ndjson.gz", "notes.txt", "deeper/c.jsonl"):
        put(f"{place}/in/{name}", b"1")
    put(f"{place}/in/empty.jsonl", b"")
    found = [(file.path.rpartition("/")[2], file.size) for file in list_files(f"{place}/in")]
    assert found == [("a.ndjson.gz", 1), ("b.jsonl", 1), ("empty.jsonl", 0)]
    with pytest.raises(NotFound, match="contains no record files"):
        list_files(f"{place}/in/deeper", [".parquet"])


def test_more_objects_than_one_answer_lists(place: str) -> None:
    for number in range(1_003):
        put(f"{place}/many/{number:04d}.jsonl", b"")
    names = [f"{place}/many/{number:04d}.jsonl" for number in range(1_003)]
    assert [file.path for file in list_files(f"{place}/many")] == names
    assert [file.path for file in list_files(f"{place}/many/*")] == names
    discard_tree(f"{place}/many")
    assert names_in(f"{place}/many") is None


# --- bytes -----------------------------------------------------------------------------------------------


def test_bytes_come_back_from_anywhere_in_an_object_of_several_parts(place: str) -> None:
    data, path = data_of(SEVERAL_PARTS), f"{place}/large.bin"
    with open_output(path) as file:
        for start in range(0, len(data), 999_999):
            file.write(data[start : start + 999_999])
        assert file.tell() == len(data)
    assert read(path) == data
    assert stream(path, 70_000) == data
    assert stream(path, 9 << 20) == data
    with open_input(path) as file:
        assert bytes(file.read_at(100, 20_000_000)) == data[20_000_000:20_000_100]
        assert file.size() == len(data)
        file.seek(-7, 2)
        assert bytes(file.read(100)) == data[-7:]
        assert bytes(file.read(100)) == b""
        file.seek(5)
        assert (bytes(file.read(10)), file.tell()) == (data[5:15], 15)


def test_a_buffer_that_was_written_may_be_used_again(place: str) -> None:
    buffer = bytearray(b"a" * 100)
    with open_output(f"{place}/x") as file:
        file.write(buffer)
        buffer[:] = b"b" * 100
        file.write(buffer)
        buffer[:] = b"c" * 100
    assert read(f"{place}/x") == b"a" * 100 + b"b" * 100


@pytest.mark.parametrize("size", [0, 1, 1_000, 128 << 10, (128 << 10) + 1, (4 << 20) + 3])
def test_small_and_empty_objects_are_read_whole_and_in_steps(place: str, size: int) -> None:
    data, path = data_of(size), f"{place}/small.bin"
    put(path, data)
    assert read(path) == data
    for step in (65_536, max(size // 3, 1), 10 << 20):
        assert stream(path, step) == data
        with open_input(path) as file:
            assert b"".join(iter(lambda step=step, file=file: bytes(file.read(step)), b"")) == data
    with open_input(path) as file:
        assert bytes(file.read_at(10, size)) == b""


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "zst": lambda data: bytes(pa.compress(data, "zstd", asbytes=True)),
    "lz4": lambda data: bytes(pa.compress(data, "lz4", asbytes=True)),
}


@pytest.mark.parametrize("ending", PACKED)
def test_streams_are_unpacked(place: str, ending: str) -> None:
    data, path = b"a line of text\n" * 700_000, f"{place}/x.jsonl.{ending}"
    put(path, PACKED[ending](data))
    assert stream(path, 1 << 20) == data
    assert read(path) != data


def test_members_of_one_gzip_file_follow_each_other(place: str) -> None:
    put(f"{place}/x.jsonl.gz", gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    assert stream(f"{place}/x.jsonl.gz", 100) == b"one\ntwo\n"


def test_arrow_files_are_written_and_read(place: str) -> None:
    rows = pa.table({"name": [f"n{at}" for at in range(50_000)], "age": range(50_000)})
    with open_output(f"{place}/x.parquet") as file:
        pq.write_table(rows, file, row_group_size=9_000)
    assert pa.concat_tables(table_pieces(f"{place}/x.parquet", BY_NAME)) == rows
    assert pa.concat_tables(table_pieces(f"{place}/x.parquet", BY_NAME, groups=range(1, 3))) == rows.slice(
        9_000, 18_000
    )
    with open_output(f"{place}/x.arrow") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=7_000)
    with open_input(f"{place}/x.arrow") as file:
        assert pa.ipc.open_file(file).read_all() == rows
    numbers = pa.array(range(50_000)).to_numpy() % 5
    write_partitioned(f"{place}/x.parts", rows, numbers, 5)
    third = PartitionedFile.open(f"{place}/x.parts").read(3, 4)[3]
    assert third["age"].to_pylist() == list(range(3, 50_000, 5))


def _write_and_fail(opened: Any, data: bytes) -> None:
    with opened as file:
        file.write(data)
        raise KeyError


@pytest.mark.parametrize("size", [10, SEVERAL_PARTS])
def test_what_was_not_finished_is_not_there_and_leaves_what_was(place: str, size: int) -> None:
    put(f"{place}/kept", b"before")
    for path in (f"{place}/kept", f"{place}/new"):
        for opened in (open_output, output_file):
            with pytest.raises(KeyError):
                _write_and_fail(opened(path), data_of(size))
    assert read(f"{place}/kept") == b"before"
    assert names_in(place) == ["kept"]
    with output_file(f"{place}/new") as plain:
        plain.write(b"whole")
    assert read(f"{place}/new") == b"whole"


def test_an_object_that_is_replaced_while_it_is_read_is_an_error_and_no_mixture(place: str) -> None:
    path = f"{place}/x.bin"
    put(path, b"a" * 1_000_000)
    with open_input(path) as file:
        assert bytes(file.read(10)) == b"a" * 10
        put(path, b"b" * 1_000_000)
        with pytest.raises(BadRequest, match=r"x\.bin' was replaced while it was read"):
            file.read(10)


def test_when_an_object_was_written_changes_when_it_is_written(place: str) -> None:
    import time

    put(f"{place}/x.jsonl", b"1")
    first = written_at(f"{place}/x.jsonl")
    assert written_at(f"{place}/x.jsonl") == first
    time.sleep(1.1)  # stores that say whole seconds
    put(f"{place}/x.jsonl", b"2")
    assert written_at(f"{place}/x.jsonl") != first
    assert written_at(place) == written_at(f"{place}/x.jsonl")


# --- what goes wrong -------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", READS)
def test_what_is_missing_is_named(place: str, store: CloudServer, how: str) -> None:
    put(f"{place}/other.txt", b"")
    with pytest.raises(NotFound, match=rf"{place}/ab.*") as absent:
        READS[how](f"{place}/absent.jsonl")
    assert_plain(absent.value)
    what = {"az": "container"}.get(store.scheme, "bucket")
    expected = (
        rf"^'{store.scheme}://no-such-one/.*' cannot be read: there is no {what} 'no-such-one', or these .*; check"
    )
    with pytest.raises(NotFound, match=expected) as missing:
        READS[how](f"{store.scheme}://no-such-one/absent.jsonl")
    assert_plain(missing.value)


def test_nothing_is_written_into_a_container_that_does_not_exist(place: str, store: CloudServer) -> None:
    if store.scheme != "az":
        pytest.skip("SeaweedFS makes a bucket of the first object")
    for write in (lambda uri: put(uri, b"x"), lambda uri: put(uri, data_of(SEVERAL_PARTS))):
        with pytest.raises(
            NotFound, match=r"^'az://no-such-one/x' cannot be written: there is no container"
        ) as missing:
            write("az://no-such-one/x")
        assert_plain(missing.value)


SECRETS = {"az": "AZURE_STORAGE_ACCOUNT_KEY", "s3": "AWS_SECRET_ACCESS_KEY"}


@pytest.mark.parametrize("how", [*READS, "write"])
def test_wrong_credentials_are_said_to_be_wrong(
    place: str, store: CloudServer, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if store.scheme not in SECRETS:
        pytest.skip("the emulator of Google checks no credentials")
    put(f"{place}/absent.jsonl", b"")
    monkeypatch.setenv(SECRETS[store.scheme], "d3Jvbmc=")
    expected = (
        rf"^'{store.scheme}://.*' cannot be .*: the store refuses these credentials.*; check .*{SECRETS[store.scheme]}"
    )
    with pytest.raises(StorageError, match=expected) as refused:
        READS.get(how, lambda path: put(path, b"x"))(f"{place}/absent.jsonl")
    assert refused.value.kind == "Configuration"
    assert_plain(refused.value)


def test_a_graph_that_is_opened_with_wrong_credentials_says_so(
    place: str, store: CloudServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    if store.scheme not in SECRETS:
        pytest.skip("the emulator of Google checks no credentials")
    og.init(f"{place}/graph", "node Person { name: String @key }").close()
    monkeypatch.setenv(SECRETS[store.scheme], "d3Jvbmc=")
    with pytest.raises(StorageError, match="the store refuses these credentials") as refused:
        og.open(f"{place}/graph")
    assert refused.value.kind == "Configuration"
    assert_plain(refused.value)


ENDPOINTS = {"az": "AZURE_STORAGE_ENDPOINT", "gs": "GOOGLE_BASE_URL", "s3": "AWS_ENDPOINT_URL_S3"}


@pytest.mark.parametrize("how", [*READS, "write"])
def test_a_server_that_does_not_answer_is_named(
    place: str, store: CloudServer, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{unused.getsockname()[1]}"
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value.replace(_server_of(store), nobody))
        monkeypatch.setenv("OMNIGRAPH_STORE_RETRY_SECONDS", "1")
        expected = rf"^'{store.scheme}://.*' cannot be .*: [A-Z]+ {nobody}\S+ failed after \d+ retries in .*; check the network and {ENDPOINTS[store.scheme]}"
        with pytest.raises(StorageError, match=expected) as silent:
            READS.get(how, lambda path: put(path, b"x"))(f"{place}/absent.jsonl")
    assert silent.value.kind == "Transient"
    assert_plain(silent.value)


def _server_of(store: CloudServer) -> str:
    return "/".join(store.environment[ENDPOINTS[store.scheme]].split("/")[:3])


def test_names_that_no_object_has_are_refused(place: str) -> None:
    for name in ("a/../b", "./a", "a\tb", "a\0b"):
        for use in (list_files, open_input, open_stream, open_output, written_at):
            with pytest.raises(BadRequest) as refused:
                use(f"{place}/{name}")
            assert_plain(refused.value)
    with pytest.raises(BadRequest, match="names no"):
        list_files(f"{place.partition('://')[0]}:///a.jsonl")


def assert_plain(error: OmnigraphError) -> None:
    """One line without what only the client of the store understands."""
    text = str(error)
    assert "\n" not in text
    assert not any(each in text for each in ("Debug", "RetryError", "/rustc/", "<?xml", "Generic"))
    assert not re.search(r"\b40[34]\b", text)  # but a port may have these digits


# --- processes -------------------------------------------------------------------------------------------


def test_a_forked_process_reads_and_writes(place: str, store: CloudServer) -> None:
    """As the Python workers of Spark are: forked from a process that has not touched a store."""
    program = """
import os, sys
from omnigraph.engine.intake.inputs.files import open_input, open_output
child = os.fork()
if child == 0:
    with open_output(sys.argv[1]) as file:
        file.write(b"from a child")
    with open_input(sys.argv[1]) as file:
        os._exit(0 if bytes(file.read()) == b"from a child" else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    subprocess.run([sys.executable, "-c", program, f"{place}/x"], check=True, timeout=120)
    assert read(f"{place}/x") == b"from a child"


def test_tasks_reach_what_their_sender_reaches(place: str, store: CloudServer, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark import cloudpickle

    put(f"{place}/x", b"here")
    path = f"{place}/x"
    sent = cloudpickle.dumps(reaching_stores(lambda: read(path)))
    for name in store.environment:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OMNIGRAPH_STORE_RETRY_SECONDS", "1")
    if SECRETS.get(store.scheme):
        monkeypatch.setenv(SECRETS[store.scheme], "d3Jvbmc=")
    try:
        assert pickle.loads(sent)() == b"here"
    finally:
        receive_variables({})
    with pytest.raises(OmnigraphError):
        read(path)


def test_files_of_this_machine_need_no_client_of_a_store(tmp_path: Path) -> None:
    program = """
import sys
from omnigraph.engine.intake.inputs.files import list_files, open_input, open_output, open_stream
with open_output(sys.argv[1] + "/a/x.jsonl") as file:
    file.write(b"1")
[found] = list_files(sys.argv[1] + "/a")
assert open_input(found.path).read() == open_stream(found.path).read() == b"1"
loaded = [name for name in sys.modules if name.partition(".")[0] in ("obstore", "boto3", "s3fs", "lance")]
sys.exit(f"loaded {loaded}" if loaded else 0)
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, env={**os.environ}, timeout=60)
