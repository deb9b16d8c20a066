"""Expressions over a million rows, beside DuckDB in one run: a filter with three functions, an aggregate with `case`.

Times are of the processor, over all threads of each engine, so that other work on the machine does not count.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

import omnigraph as og
from bench.measure import Measurement

ROWS = 1_000_000
ROUNDS = 9
WARM = 8  # until the columns that are asked for again and again are in memory
SCHEMA = "node Flight { k: String @key  carrier: String?  delay: F64?  dep: DateTime?  dist: I32? }"
CASES = {
    "filter with three functions": (
        """query q() {
          match {
            $f: Flight
            upper(trim($f.carrier)) = "DL"  round($f.delay, 0) > 30  month($f.dep) in [6, 7, 8]
          }
          return { count(*) as n }
        }""",
        "SELECT count(*) FROM flight "
        "WHERE upper(trim(carrier)) = 'DL' AND round(delay, 0) > 30 AND month(dep) IN (6, 7, 8)",
    ),
    "aggregate with case": (
        """query q() {
          match { $f: Flight }
          return {
            case when $f.delay > 60 then "late" when $f.delay > 0 then "some" else "none" end as class,
            count(*) as n, avg($f.delay) as mean, sum($f.dist where $f.delay > 0) as far
          }
          order { class }
        }""",
        "SELECT CASE WHEN delay > 60 THEN 'late' WHEN delay > 0 THEN 'some' ELSE 'none' END AS class, "
        "count(*), avg(delay), sum(dist) FILTER (delay > 0) FROM flight GROUP BY 1 ORDER BY 1",
    ),
}


def run() -> Iterator[Measurement]:
    """Both engines on the same flights, in turns."""
    flights = _flights(ROWS)
    with tempfile.TemporaryDirectory() as place, duckdb.connect() as db:
        graph = og.init(Path(place) / "graph.omni", schema=SCHEMA)
        graph.load(flights, type="Flight", runner="inline")
        db.register("given", flights)
        db.execute("CREATE TABLE flight AS SELECT k, carrier, delay, dep::TIMESTAMP AS dep, dist FROM given")
        for case, (text, sql) in CASES.items():
            for _ in range(WARM):
                graph.query(text).rows()
            ours, theirs = [], []
            for _ in range(ROUNDS):
                ours.append(_spent(lambda text=text: graph.query(text).rows()))  # type: ignore[misc]
                theirs.append(_spent(lambda sql=sql: db.execute(sql).fetchall()))  # type: ignore[misc]
            mine, other = statistics.median(ours), statistics.median(theirs)
            yield Measurement("expressions", case, mine, "DuckDB", mine / other, "processor time")
        graph.close()


def _spent(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return (time.process_time() - begin) * 1000


def _flights(count: int) -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "k": pa.array([f"f{at}" for at in range(count)]),
            "carrier": pa.array(rng.choice(["UA", "AA", "dl", "b6", "WN "], count)),
            "delay": pa.array(rng.normal(10, 40, count), mask=rng.random(count) < 0.02),
            "dep": pa.array(
                (1.36e12 + rng.integers(0, 31_000_000_000, count)).astype(np.int64), pa.timestamp("ms", "UTC")
            ),
            "dist": pa.array(rng.integers(50, 4000, count).astype(np.int32)),
        }
    )
