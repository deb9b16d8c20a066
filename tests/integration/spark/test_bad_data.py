"""One record in a hundred is bad, in every way there is: all are told with their line, and the rest can be loaded."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.errors import OmnigraphError
from omnigraph.pipeline.tasks.jobs import LocalTasks, SparkTasks
from omnigraph.pipeline.tasks.load import load
from omnigraph.pipeline.tasks.stage_driver import Tuning
from omnigraph.testing.strategies.corrupt import SCHEMA, Line, corrupt_lines

TOTAL = 20_000
TUNING = Tuning(split_bytes=300_000, bucket_rows=5_000)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Line]]:
    lines = list(corrupt_lines(TOTAL))
    path = tmp_path_factory.mktemp("corrupt") / "in.jsonl"
    path.write_bytes(b"".join(line.text + b"\n" for line in lines))
    return path, lines


def told(directory: Path) -> set[tuple[int, str]]:
    rejects = [json.loads(line) for line in (directory / "rejects.jsonl").read_text().splitlines()]
    assert [reject["line"] for reject in rejects] == sorted({reject["line"] for reject in rejects}), "one entry a row"
    return {(reject["line"], reject["code"]) for reject in rejects}


def test_every_bad_record_is_told_and_nothing_is_written(source: tuple[Path, list[Line]], tmp_path: Path) -> None:
    path, lines = source
    graph = og.init(tmp_path / "graph", SCHEMA)
    request = LoadRequest(data=str(path), mode="append", rejects=str(tmp_path / "rejects"))
    with pytest.raises(OmnigraphError) as failure:
        load(access(graph), request, LocalTasks(), TUNING)
    expected = {(at, line.code) for at, line in enumerate(lines, 1) if line.code}
    assert told(tmp_path / "rejects") == expected
    counts = ", ".join(f"{n} x {code}" for code, n in sorted(Counter(code for _, code in expected).items()))
    assert f"refused: {counts}" in failure.value.__notes__
    assert len(graph.commits.list()) == 1
    assert list((tmp_path / "graph").glob("__loads/*")) == []


def test_skipping_loads_the_rest_and_the_counts_add_up(
    source: tuple[Path, list[Line]], tmp_path: Path, spark: Any
) -> None:
    path, lines = source
    graph = og.init(tmp_path / "graph", SCHEMA)
    request = LoadRequest(data=str(path), mode="append", on_error="skip", rejects=str(tmp_path / "rejects"))
    done = load(access(graph), request, SparkTasks(spark), TUNING)
    refused = Counter(line.code for line in lines if line.code)
    good = [line for line in lines if line.code is None]
    assert dict(done.rejected) == dict(refused)
    assert done.total_entities == len(good) == len(lines) - refused.total()
    assert told(tmp_path / "rejects") == {(at, line.code) for at, line in enumerate(lines, 1) if line.code}
    found = graph.query("query q() { match { $p: Person } return { count($p) as n } }").rows()
    assert found == [{"n": sum(b'"type"' in line.text for line in good)}]
    assert len(graph.commits.list()) == 2
