"""Ten queries over one graph: this engine in process, the same text on Spark, and SQL of DuckDB, answers compared.

`OMNIGRAPH_BENCH_SPARK_QUERIES=1000000,10000000` sets the numbers of nodes and edges. Every query runs twice in each
engine and the second run counts: topologies, plans and caches are there, and so is Spark's session. DuckDB has two
threads and the tables in its own format, with the ids of nodes as integers, which is what it is fastest with. The table
goes into `docs/benchmarks.md`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

import omnigraph as og
from bench.measure import Measurement
from bench.processes import Spent, timed
from bench.report import circumstances, markdown_table, write_section
from bench.spark_data import SCHEMA, write_parquet
from omnigraph.pipeline.spark.session import spark_session

_SIZES = "OMNIGRAPH_BENCH_SPARK_QUERIES"

# name → (query, SQL); both give the same rows in the same order.
QUERIES: dict[str, tuple[str, str]] = {
    "count": (
        "match { $a: Person } return { count($a) as n }",
        "select count(*) from person",
    ),
    "point": (
        'match { $a: Person { handle: "p77" } } return { $a.name, $a.age }',
        "select name, age from person where handle = 'p77'",
    ),
    "filter": (
        "match { $a: Person  $a.age > 97  $a.score > 0.999 } return { $a.handle } order { $a.handle }",
        "select handle from person where age > 97 and score > 0.999 order by handle",
    ),
    "group": (
        "match { $a: Person } return { $a.role, count($a) as n, max($a.age) as oldest } order { $a.role }",
        "select role, count(*), max(age) from person group by role order by role",
    ),
    "one hop": (
        'match { $a: Person { handle: "p77" }  $a knows $b } return { $b.handle } order { $b.handle }',
        "select distinct b.handle from person a join knows on knows.a = a.n join person b on b.n = knows.b"
        " where a.handle = 'p77' order by 1",
    ),
    "two hops": (
        'match { $a: Person { handle: "p77" }  $a knows $b  $b knows $c } return { count(distinct $c) as n }',
        "select count(distinct y.b) from person p join knows x on x.a = p.n join knows y on y.a = x.b"
        " where p.handle = 'p77'",
    ),
    "three hops": (
        'match { $a: Person { handle: "p77" }  $a knows{1,3} $b } return { count(distinct $b) as n }',
        "with recursive r(n, d) as (select n, 0 from person where handle = 'p77' union"
        " select k.b, d + 1 from r join knows k on k.a = r.n where d < 3)"
        " select count(distinct n) from r where d > 0",
    ),
    "edges": (
        "match { $e: Knows  $e.weight > 0.999 } return { count($e) as n }",
        "select count(*) from knows where weight > 0.999",
    ),
    "filter and hop": (
        "match { $a: Person  $a.age = 42  $a.score > 0.99  $a knows $b } return { $b.role, count(*) as n }"
        " order { $b.role }",
        "select b.role, count(*) from (select distinct knows.a, knows.b from person a join knows on knows.a = a.n"
        " where a.age = 42 and a.score > 0.99) e join person b on b.n = e.b group by b.role order by b.role",
    ),
    "most known": (
        "match { $a: Person  $a knows $b } return { $b.handle, count(*) as n } order { count(*) desc, $b.handle }"
        " limit 5",
        "select handle, c from (select b, count(*) c from (select distinct a, b from knows) group by b)"
        " join person on n = b order by c desc, handle limit 5",
    ),
}  # fmt: skip


def run() -> Iterator[Measurement]:
    """Each query in the three engines."""
    nodes, edges = (int(part) for part in os.environ.get(_SIZES, "100000,1000000").split(","))
    before, rows = circumstances(), []
    place = Path(tempfile.mkdtemp(prefix="omnigraph-bench-gq-"))
    try:
        mapping = write_parquet(place, nodes, edges)
        spark_session("local[2,4]")
        graph = og.init(place / "g.omni", SCHEMA)
        graph.load(mapping=mapping, runner="spark")
        database = _database(place)
        for name, texts in QUERIES.items():
            here, theirs, there = _compared(graph, database, name, texts)
            rows.append([name, *map(_shown, (here, theirs, there)), _times(there, here), _times(there, theirs)])
            for engine, spent in (("embedded", here), ("on Spark", there)):
                ratio = spent.seconds / theirs.seconds
                case = f"{engine}: {name}, {edges:,} edges"
                yield Measurement("spark_queries", case, spent.seconds * 1_000, "duckdb", ratio)
        graph.close()
        database.close()
    finally:
        shutil.rmtree(place, ignore_errors=True)
    head = [f"{nodes:,} nodes, {edges:,} edges", "embedded", "DuckDB", "on Spark", "Spark ÷ embedded", "Spark ÷ DuckDB"]
    told = (
        f"{before}. Milliseconds of the second run, in brackets of processor time of all processes; all answers equal."
    )
    write_section("spark_queries", f"{told}\n\n{markdown_table(head, rows)}")


def _compared(graph: Any, database: Any, name: str, texts: tuple[str, str]) -> tuple[Spent, Spent, Spent]:
    """One query embedded, in DuckDB and on Spark; the answers have to be equal."""
    query, sql = f"query q() {{ {texts[0]} }}", texts[1]
    here, found = _second(lambda: graph.query(query, runner="inline").rows())
    theirs, expected = _second(lambda: database.execute(sql).fetchall())
    assert [tuple(row.values()) for row in found] == expected, (name, found[:3], expected[:3])
    there, again = _second(lambda: graph.query(query, runner="spark").rows())
    assert again == found, (name, again[:3], found[:3])
    return here, theirs, there


def _second(action: Any) -> tuple[Spent, Any]:
    action()
    return timed(action)


def _shown(spent: Spent) -> str:
    return f"{spent.seconds * 1e3:,.3g} ({spent.cpu * 1e3:,.0f})"


def _times(spent: Spent, other: Spent) -> str:
    return f"{spent.seconds / other.seconds:,.2g}×"


def _database(place: Path) -> Any:
    connection = duckdb.connect(str(place / "peer.duckdb"), config={"threads": 2})
    people, knows = place / "people.parquet", place / "knows.parquet"
    connection.execute(f"create table person as select substr(handle, 2)::int as n, * from '{people}'")
    connection.execute(
        f"create table knows as select substr(a, 2)::int as a, substr(b, 2)::int as b, weight from '{knows}'"
    )
    return connection
