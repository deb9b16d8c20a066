"""Kuzu and its successor Ladybug: the same queries through the same interface."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from bench.peers.engine import Engine, Rows

_TABLES = (
    "CREATE NODE TABLE Person(handle STRING PRIMARY KEY, name STRING, age INT32, city STRING)",
    "CREATE NODE TABLE Company(code STRING PRIMARY KEY, name STRING)",
    "CREATE REL TABLE Knows(FROM Person TO Person, since INT64)",
    "CREATE REL TABLE WorksAt(FROM Person TO Company)",
)
_LOADS = {
    "people": ("Person", "handle, name, age, city"),
    "companies": ("Company", "code, name"),
    "works": ("WorksAt", "`from`, `to`"),
    "knows": ("Knows", "`from`, `to`, since"),
}
_SEED = "MATCH (p:Person {handle: $h})"


class CypherEngine(Engine):
    """An embedded column store with its own adjacency lists."""

    module: ClassVar[str]

    def build(self, data: Path) -> None:
        self.store.parent.mkdir(parents=True, exist_ok=True)
        self.open()
        for statement in _TABLES:
            self._connection.execute(statement)
        for file, (table, columns) in _LOADS.items():
            path = data / f"{file}.parquet"
            self._connection.execute(f"COPY {table} FROM (LOAD FROM '{path}' RETURN {columns})")
        self._connection.close()
        self._database.close()

    def open(self) -> None:
        engine = import_module(self.module)
        self._database = engine.Database(str(self.store))
        self._connection = engine.Connection(self._database)
        self._prepared: dict[str, Any] = {}

    def point(self, seed: str) -> Rows:
        return self._rows(f"{_SEED} RETURN p.name, p.age, p.city", h=seed)

    def one_hop(self, seed: str) -> Rows:
        return self._rows(f"{_SEED}-[:Knows]->(f:Person) RETURN f.name", h=seed)

    def two_hop(self, seed: str) -> int:
        return self._number(f"{_SEED}-[:Knows]->(:Person)-[:Knows]->(g:Person) RETURN count(DISTINCT id(g))", h=seed)

    def two_hop_many(self, seeds: Sequence[str]) -> int:
        # Of the ways to write it, the fastest here: no duplicates between the hops.
        first = "UNWIND $h AS s MATCH (p:Person {handle: s})-[:Knows]->(f:Person) WITH DISTINCT f"
        return self._number(f"{first} MATCH (f)-[:Knows]->(g:Person) RETURN count(DISTINCT id(g))", h=list(seeds))

    def three_hop(self, seed: str) -> int:
        hops = "-[:Knows]->(:Person)-[:Knows]->(:Person)-[:Knows]->(i:Person)"
        return self._number(f"{_SEED}{hops} RETURN count(DISTINCT id(i))", h=seed)

    def aggregate(self, seed: str) -> Rows:
        return self._rows(
            f"{_SEED}-[:Knows]->(:Person)-[:Knows]->(g:Person)-[:WorksAt]->(c:Company) WHERE g.age > 40 "
            "RETURN c.name AS company, count(DISTINCT id(g)) AS n ORDER BY n DESC, company LIMIT 10",
            h=seed,
        )

    def reach(self, seed: str) -> int:
        return self._number(f"{_SEED}-[:Knows* SHORTEST 1..3]->(g:Person) RETURN count(DISTINCT id(g))", h=seed)

    def _number(self, text: str, **params: Any) -> int:
        return int(self._rows(text, **params)[0][0])

    def _rows(self, text: str, **params: Any) -> Rows:
        if text not in self._prepared:
            self._prepared[text] = self._connection.prepare(text)
        return [tuple(row) for row in self._connection.execute(self._prepared[text], params).get_all()]


class Kuzu(CypherEngine):
    """Kuzu, the last release before its end."""

    name = "kuzu"
    module = "kuzu"
    remarks = "prepared statements; no versions, no branches"


class Ladybug(CypherEngine):
    """Ladybug, Kuzu's successor."""

    name = "ladybug"
    module = "real_ladybug"
    remarks = "prepared statements; no versions, no branches"
