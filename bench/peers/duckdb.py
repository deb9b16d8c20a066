"""DuckDB: the graph as tables, hops as joins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from bench.peers.engine import LONGEST, Engine, Question, Rows

_TABLES = (
    "CREATE TABLE people AS SELECT * FROM '{data}/people.parquet'",
    "CREATE TABLE companies AS SELECT * FROM '{data}/companies.parquet'",
    "CREATE TABLE works AS SELECT a, b FROM '{data}/works.parquet' ORDER BY a",
    "CREATE TABLE knows AS SELECT a, b, since, weight FROM '{data}/knows.parquet' ORDER BY a",
    "CREATE UNIQUE INDEX people_by_handle ON people(handle)",
    "CREATE INDEX knows_by_a ON knows(a)",
)
_ONE = "people p JOIN knows k1 ON k1.a = p.number"
_TWO = f"{_ONE} JOIN knows k2 ON k2.a = k1.b"
_THREE = f"{_TWO} JOIN knows k3 ON k3.a = k2.b"
_LISTED = "p.handle IN (SELECT unnest($h))"
_REACH = """
WITH RECURSIVE steps(node, depth) AS (
  SELECT number, 0 FROM people WHERE handle = $h
  UNION
  SELECT k.b, s.depth + 1 FROM steps s JOIN knows k ON k.a = s.node WHERE s.depth < 3
)
SELECT count(DISTINCT node) FROM steps WHERE depth > 0 AND node <> (SELECT number FROM people WHERE handle = $h)
"""
# With a key, a row of the recursion is found once, at its first depth.
_SHORTEST = f"""
WITH RECURSIVE steps(node, depth) USING KEY (node) AS (
  SELECT number, 0 FROM people WHERE handle = $a
  UNION
  SELECT k.b, min(s.depth) + 1 FROM steps s JOIN knows k ON k.a = s.node
  LEFT JOIN recurring.steps r ON r.node = k.b
  WHERE r.node IS NULL AND s.depth < {LONGEST}
    AND NOT EXISTS (FROM recurring.steps e WHERE e.node = (SELECT number FROM people WHERE handle = $b))
  GROUP BY k.b
)
SELECT depth FROM steps WHERE node = (SELECT number FROM people WHERE handle = $b) AND depth > 0
"""


class DuckDb(Engine):
    """Integer ids, edges in order of their source, indexes on the key and on the source."""

    name = "duckdb"
    remarks = "SQL over integer ids, edges sorted by source and indexed, a cursor for each thread; no graph storage"
    texts: ClassVar[Mapping[str, str]] = {
        "point look-up by key": "SELECT name, age, city FROM people WHERE handle = $h",
        "one hop, keys and names": (
            f"SELECT f.handle, f.name FROM {_ONE} JOIN people f ON f.number = k1.b WHERE p.handle = $h"
        ),
        "two hops distinct, 1 seed": f"SELECT count(DISTINCT k2.b) FROM {_TWO} WHERE p.handle = $h",
        "two hops distinct, 1,000 seeds": f"SELECT count(DISTINCT k2.b) FROM {_TWO} WHERE {_LISTED}",
        "two hops, 1,000 seeds, distinct pairs": (
            f"SELECT count(*) FROM (SELECT DISTINCT k1.a, k2.b FROM {_TWO} WHERE {_LISTED})"
        ),
        "three hops distinct, 1 seed": f"SELECT count(DISTINCT k3.b) FROM {_THREE} WHERE p.handle = $h",
        "friends of friends, top companies": (
            f"SELECT c.name, count(DISTINCT g.number) AS n FROM {_TWO} JOIN people g ON g.number = k2.b "
            "JOIN works w ON w.a = g.number JOIN companies c ON c.number = w.b "
            "WHERE p.handle = $h AND g.age > 40 GROUP BY c.name ORDER BY n DESC, c.name LIMIT 10"
        ),
        "reach 1..3": _REACH,
        "shortest path between two": _SHORTEST,
        "average age per city": "SELECT city, avg(age) FROM people GROUP BY city ORDER BY city",
        "min, max, avg age per city": (
            "SELECT city, min(age), max(age), avg(age) FROM people GROUP BY city ORDER BY city"
        ),
        "count edges": "SELECT count(*) FROM knows",
        "average of an edge property": "SELECT avg(since) FROM knows",
        "top 10 edges by a property": (
            "SELECT p.handle, f.handle, k.weight FROM knows k JOIN people p ON p.number = k.a "
            "JOIN people f ON f.number = k.b ORDER BY k.weight DESC LIMIT 10"
        ),
        "all values of an edge property": "SELECT since FROM knows",
        "count all two-hop rows": "SELECT count(*) FROM knows x JOIN knows y ON y.a = x.b",
        "two-hop rows per city, no order": (
            "SELECT g.city, count(*) FROM knows x JOIN knows y ON y.a = x.b JOIN people g ON g.number = y.b GROUP BY 1"
        ),
        "star join, count": ("SELECT count(*) FROM knows x JOIN knows y ON y.a = x.a JOIN works w ON w.a = x.a"),
        "triangles": ("SELECT count(*) FROM knows x JOIN knows y ON y.a = x.b JOIN knows z ON z.a = x.a AND z.b = y.b"),
        "two hops without a direct edge, count": (
            "SELECT count(*) FROM knows x JOIN knows y ON y.a = x.b "
            "WHERE NOT EXISTS (FROM knows z WHERE z.a = x.a AND z.b = y.b)"
        ),
        "value join, count": "SELECT count(*) FROM people a JOIN people b ON a.city = b.city WHERE a.age = 30",
        "join on a computed key, count": (
            "SELECT count(*) FROM people a JOIN people b ON lower(a.name) = lower(b.name)"
        ),
        "inequality join, count": "SELECT count(*) FROM companies a JOIN companies b ON a.code < b.code",
        "or-join, count": "SELECT count(*) FROM companies a JOIN companies b ON a.code = b.code OR a.name = b.name",
    }

    def build(self, data: Path) -> None:
        import duckdb

        self.store.parent.mkdir(parents=True, exist_ok=True)
        with duckdb.connect(str(self.store)) as connection:
            for statement in _TABLES:
                connection.execute(statement.format(data=data))

    def open(self) -> None:
        import duckdb

        self._connection: Any = duckdb.connect(str(self.store))

    def close(self) -> None:
        self._connection.close()

    def rows(self, text: str, params: Mapping[str, Any]) -> Rows:
        return list(self._connection.execute(text, params).fetchall())

    def columns(self, text: str, params: Mapping[str, Any]) -> Any:
        return self._connection.sql(text, params=params or None).to_arrow_table()

    def insert(self, number: int) -> None:
        self._connection.execute(
            "INSERT INTO people VALUES ($n, $h, $name, 30, 'City 1')",
            {"n": -1 - number, "h": f"new{number}", "name": f"New {number}"},
        )

    def asker(self) -> Callable[[Question, Mapping[str, Any]], Any]:
        own = type(self)(self.store)
        own._connection = self._connection.cursor()
        return own.ask
