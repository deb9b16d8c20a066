"""A load with one bad record in a hundred, every kind of mistake among them: what finding and skipping them costs.

`OMNIGRAPH_BENCH_BAD=1000000` sets the number of lines. Each run checks that every refusal is the expected one, that a
load which stops writes nothing, and that one which skips loads all the rest.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import omnigraph as og
from bench.measure import Measurement
from omnigraph.errors import OmnigraphError
from omnigraph.pipeline.spark.session import spark_session
from omnigraph.testing.strategies.corrupt import SCHEMA, corrupt_lines

_SIZE = "OMNIGRAPH_BENCH_BAD"


def run(lines: int = 100_000) -> Iterator[Measurement]:
    """The same data good, refused, and skipped."""
    lines = int(os.environ.get(_SIZE) or lines)
    place = Path(tempfile.mkdtemp(prefix="omnigraph-bench-bad-"))
    try:
        spark = spark_session("local[2,4]")
        expected, good = _write(place, lines)
        case = f"{lines:,} lines"
        clean = _clean(place, spark)
        yield Measurement("spark_bad_data", f"the good lines alone, {case}", clean)
        taken, told = _stopped(place, spark)
        assert told == {each for each in expected if each[2]}, "a load that stops did not tell every bad record"
        yield Measurement("spark_bad_data", f"refused, {case}", taken, "good lines", taken / clean, f"{len(told)} told")
        taken, done = _skipped(place, spark)
        assert dict(done.rejected) == dict(Counter(code for _, code, _ in expected)), done.rejected
        assert done.total_entities == good, (done.total_entities, good)
        yield Measurement("spark_bad_data", f"skipped, {case}", taken, "good lines", taken / clean)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _write(place: Path, lines: int) -> tuple[set[tuple[int, str, bool]], int]:
    """Both files; what must be refused as (line, code, whether alone), and how many lines are good."""
    expected: set[tuple[int, str, bool]] = set()
    good = 0
    with (place / "bad.jsonl").open("wb") as bad, (place / "good.jsonl").open("wb") as clean:
        for number, line in enumerate(corrupt_lines(lines), 1):
            bad.write(line.text + b"\n")
            if line.code is None:
                clean.write(line.text + b"\n")
                good += 1
            elif line.code:
                expected.add((number, line.code, line.alone))
    return expected, good


def _clean(place: Path, spark: Any) -> float:
    graph = og.init(place / "clean.omni", SCHEMA)
    graph.load('{"type":"Person","data":{"name":"warm"}}', runner="spark", spark=spark)
    taken, _ = _timed(lambda: graph.load(place / "good.jsonl", runner="spark", spark=spark))
    return taken


def _stopped(place: Path, spark: Any) -> tuple[float, set[tuple[int, str, bool]]]:
    graph = og.init(place / "stopped.omni", SCHEMA)
    rejects = place / "rejects"

    def refused() -> None:
        try:
            graph.load(place / "bad.jsonl", runner="spark", spark=spark, rejects=str(rejects))
        except OmnigraphError:
            return
        raise AssertionError("a load with bad records went through")

    taken, _ = _timed(refused)
    assert len(graph.commits.list()) == 1, "a refused load wrote something"
    found = [json.loads(line) for path in rejects.glob("*.jsonl") for line in path.read_text().splitlines()]
    return taken, {(reject["line"], reject["code"], True) for reject in found}


def _skipped(place: Path, spark: Any) -> tuple[float, Any]:
    graph = og.init(place / "skipped.omni", SCHEMA)
    return _timed(lambda: graph.load(place / "bad.jsonl", runner="spark", spark=spark, on_error="skip"))


def _timed(action: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    value = action()
    return (time.perf_counter() - begin) * 1_000, value
