"""DuckDB: the graph as tables, hops as joins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.peers.engine import Engine, Rows

_TABLES = (
    "CREATE TABLE people AS SELECT * FROM '{data}/people.parquet'",
    "CREATE TABLE companies AS SELECT * FROM '{data}/companies.parquet'",
    "CREATE TABLE works AS SELECT a, b FROM '{data}/works.parquet' ORDER BY a",
    "CREATE TABLE knows AS SELECT a, b FROM '{data}/knows.parquet' ORDER BY a",
    "CREATE UNIQUE INDEX people_by_handle ON people(handle)",
    "CREATE INDEX knows_by_a ON knows(a)",
)
_ONE = "people p JOIN knows k1 ON k1.a = p.number"
_TWO = f"{_ONE} JOIN knows k2 ON k2.a = k1.b"
_THREE = f"{_TWO} JOIN knows k3 ON k3.a = k2.b"
_REACH = """
WITH RECURSIVE steps(node, depth) AS (
  SELECT number, 0 FROM people WHERE handle = $h
  UNION
  SELECT k.b, s.depth + 1 FROM steps s JOIN knows k ON k.a = s.node WHERE s.depth < 3
)
SELECT count(DISTINCT node) FROM steps WHERE depth > 0 AND node <> (SELECT number FROM people WHERE handle = $h)
"""


class DuckDb(Engine):
    """Integer ids, edges in order of their source, indexes on the key and on the source."""

    name = "duckdb"
    remarks = "SQL over integer ids, edges sorted by source and indexed; no graph storage"

    def build(self, data: Path) -> None:
        import duckdb

        self.store.parent.mkdir(parents=True, exist_ok=True)
        with duckdb.connect(str(self.store)) as connection:
            for statement in _TABLES:
                connection.execute(statement.format(data=data))

    def open(self) -> None:
        import duckdb

        self._connection = duckdb.connect(str(self.store), read_only=True)

    def point(self, seed: str) -> Rows:
        return self._rows("SELECT name, age, city FROM people WHERE handle = $h", h=seed)

    def one_hop(self, seed: str) -> Rows:
        return self._rows(f"SELECT f.name FROM {_ONE} JOIN people f ON f.number = k1.b WHERE p.handle = $h", h=seed)

    def two_hop(self, seed: str) -> int:
        return self._number(f"SELECT count(DISTINCT k2.b) FROM {_TWO} WHERE p.handle = $h", h=seed)

    def two_hop_many(self, seeds: Sequence[str]) -> int:
        listed = "p.handle IN (SELECT unnest($h))"
        return self._number(f"SELECT count(DISTINCT k2.b) FROM {_TWO} WHERE {listed}", h=list(seeds))

    def three_hop(self, seed: str) -> int:
        return self._number(f"SELECT count(DISTINCT k3.b) FROM {_THREE} WHERE p.handle = $h", h=seed)

    def aggregate(self, seed: str) -> Rows:
        return self._rows(
            f"SELECT c.name, count(DISTINCT g.number) AS n FROM {_TWO} JOIN people g ON g.number = k2.b "
            "JOIN works w ON w.a = g.number JOIN companies c ON c.number = w.b "
            "WHERE p.handle = $h AND g.age > 40 GROUP BY c.name ORDER BY n DESC, c.name LIMIT 10",
            h=seed,
        )

    def reach(self, seed: str) -> int:
        return self._number(_REACH, h=seed)

    def _number(self, text: str, **params: Any) -> int:
        return int(self._rows(text, **params)[0][0])

    def _rows(self, text: str, **params: Any) -> Rows:
        return list(self._connection.execute(text, params).fetchall())
