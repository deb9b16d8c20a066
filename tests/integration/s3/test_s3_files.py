"""Files on a store that throttles, loses answers or goes away while they are read and written."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

import omnigraph as og
from omnigraph.engine.intake.inputs.files import list_files, open_input, open_output, open_stream, written_at
from omnigraph.engine.intake.inputs.forms import BY_NAME
from omnigraph.engine.intake.inputs.table_files import table_pieces
from omnigraph.errors import StorageError
from omnigraph.testing.services.s3server import S3Server
from omnigraph.testing.services.store_proxy import Fault, StoreProxy, running_proxy

ROWS = pa.table({"name": [f"n{at}" for at in range(200_000)], "age": range(200_000)})
LARGE = random.Random(5).randbytes((16 << 20) * 2 + 1_000)
READS: dict[str, Callable[[str], Any]] = {
    "parquet": lambda place: sum(piece.num_rows for piece in table_pieces(f"{place}/x.parquet", BY_NAME)),
    "orc": lambda place: sum(piece.num_rows for piece in table_pieces(f"{place}/x.orc", BY_NAME)),
    "csv": lambda place: sum(piece.num_rows for piece in table_pieces(f"{place}/x.csv", BY_NAME)),
    "packed csv": lambda place: sum(piece.num_rows for piece in table_pieces(f"{place}/x.csv.gz", BY_NAME)),
    "json": lambda place: sum(piece.num_rows for piece in table_pieces(f"{place}/x.jsonl", BY_NAME)),
    "arrow": lambda place: pa.ipc.open_file(open_input(f"{place}/x.arrow")).read_all().num_rows,
}


@pytest.fixture(scope="module")
def proxy(s3_server: S3Server) -> Iterator[StoreProxy]:
    with running_proxy(s3_server.endpoint) as running:
        yield running


@pytest.fixture
def there(proxy: StoreProxy, place: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A place that is reached through the proxy."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", proxy.endpoint)
    monkeypatch.setenv("OMNIGRAPH_STORE_RETRY_SECONDS", "5")
    proxy.inject()
    yield place
    proxy.inject()


@pytest.fixture
def files(there: str) -> str:
    """The same rows in every format."""
    from pyarrow import csv

    with open_output(f"{there}/x.parquet") as file:
        pq.write_table(ROWS, file, row_group_size=20_000)
    with open_output(f"{there}/x.orc") as file:
        orc.write_table(ROWS, file)
    with open_output(f"{there}/x.csv") as file:
        csv.write_csv(ROWS, file)
    with open_output(f"{there}/x.csv.gz") as file, pa.CompressedOutputStream(file, "gzip") as packed:
        csv.write_csv(ROWS, packed)
    with open_output(f"{there}/x.jsonl") as file:
        file.write("".join(f'{{"name":"n{at}","age":{at}}}\n' for at in range(200_000)).encode())
    with open_output(f"{there}/x.arrow") as file, pa.ipc.new_file(file, ROWS.schema) as writer:
        writer.write_table(ROWS, max_chunksize=20_000)
    return there


@pytest.mark.parametrize("how", READS)
def test_reads_wait_until_a_store_that_throttles_answers(files: str, proxy: StoreProxy, how: str) -> None:
    proxy.take_seen()
    proxy.inject(*(Fault("status", (method,), times=2, status=503) for method in ("GET", "HEAD")))
    assert READS[how](files) == 200_000
    assert sum(seen.status == 503 for seen in proxy.take_seen()) >= 2


@pytest.mark.parametrize("how", READS)
def test_a_store_that_goes_away_while_a_file_is_read_is_named(
    files: str, proxy: StoreProxy, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_STORE_RETRY_SECONDS", "1")
    proxy.take_seen()
    READS[how](files)
    requests = len(proxy.take_seen())
    for after in {0, requests - 1}:
        proxy.inject(Fault("drop", after=after))
        with pytest.raises(
            StorageError, match=r"^'s3://.*/x\.[a-z.]+' cannot be read: .* failed after .*; check"
        ) as gone:
            READS[how](files)
        assert gone.value.kind == "Transient"
        assert "\n" not in str(gone.value)


@pytest.mark.parametrize("size", [10, len(LARGE)])
@pytest.mark.parametrize("effect", ["status", "lose_answer", "drop"])
def test_a_file_is_written_although_answers_are_lost(there: str, proxy: StoreProxy, size: int, effect: Any) -> None:
    for number, target in enumerate(("uploads", "partNumber=2", "uploadId=[^&]*$", "")):
        proxy.inject(Fault(effect, ("PUT", "POST"), target, times=1))
        with open_output(f"{there}/x{number}") as file:
            file.write(LARGE[:size])
        proxy.inject()
        with open_input(f"{there}/x{number}") as file:
            assert bytes(file.read()) == LARGE[:size]


@pytest.mark.parametrize("size", [10, len(LARGE)])
def test_a_store_that_goes_away_while_a_file_is_written_leaves_what_was_there(
    there: str, proxy: StoreProxy, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_STORE_RETRY_SECONDS", "1")
    for after in (0, 1, 2) if size > 10 else (0,):
        with open_output(f"{there}/x") as file:
            file.write(b"before")
        proxy.inject(Fault("drop", ("PUT", "POST"), after=after))
        with pytest.raises(StorageError, match=r"^'s3://.*/x' cannot be written: .* failed after .*; check"):
            _written(f"{there}/x", LARGE[:size])
        proxy.inject()
        with open_input(f"{there}/x") as file:
            assert bytes(file.read()) == b"before"


def _written(path: str, data: bytes) -> None:
    with open_output(path) as file:
        file.write(data)


def test_how_many_requests_files_cost(files: str, proxy: StoreProxy) -> None:
    def requests(work: Callable[[], Any]) -> list[str]:
        proxy.take_seen()
        work()
        return sorted(seen.method for seen in proxy.take_seen())

    assert requests(lambda: list_files(f"{files}/x.jsonl")) == ["HEAD"]
    assert requests(lambda: written_at(f"{files}/x.jsonl")) == ["HEAD"]
    assert requests(lambda: open_input(f"{files}/x.jsonl").read_at(100, 1_000_000)) == ["GET"]
    assert requests(lambda: open_stream(f"{files}/x.jsonl").read(100)) == ["GET"]
    assert requests(lambda: open_stream(f"{files}/x.jsonl").read(20 << 20)) == ["GET"]
    # The size, what stands at the end, and all columns of each of the ten groups of rows at once.
    assert requests(lambda: READS["parquet"](files)) == ["GET"] * 11 + ["HEAD"]
    assert requests(lambda: _written(f"{files}/y", b"x" * 1_000_000)) == ["PUT"]
    assert requests(lambda: _written(f"{files}/y", LARGE)) == ["POST", "POST", "PUT", "PUT", "PUT"]


def test_a_load_goes_on_when_the_store_is_away_for_a_moment(files: str, proxy: StoreProxy, tmp_path: Path) -> None:
    with og.init(tmp_path / "g.omni", "node Person { name: String @key  age: I64? }") as graph:
        proxy.inject(Fault("status", ("GET",), "x.parquet", times=3, after=4, status=500))
        done = graph.load(f"{files}/x.parquet", "append", type="Person", runner="inline")
        assert done.total_entities == 200_000
