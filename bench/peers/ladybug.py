"""Ladybug, which carries on Kuzu: an embedded column store with its own adjacency lists, asked in Cypher."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from bench.peers.engine import LONGEST, Engine, Question, Rows

_TABLES = (
    "CREATE NODE TABLE Person(handle STRING PRIMARY KEY, name STRING, age INT32, city STRING)",
    "CREATE NODE TABLE Company(code STRING PRIMARY KEY, name STRING)",
    "CREATE REL TABLE Knows(FROM Person TO Person, since INT64, weight DOUBLE)",
    "CREATE REL TABLE WorksAt(FROM Person TO Company)",
)
_LOADS = {
    "people": ("Person", "handle, name, age, city"),
    "companies": ("Company", "code, name"),
    "works": ("WorksAt", "`from`, `to`"),
    "knows": ("Knows", "`from`, `to`, since, weight"),
}
_SEED = "MATCH (p:Person {handle: $h})"
_MANY = "UNWIND $h AS s MATCH (p:Person {handle: s})-[:Knows]->(f:Person)"


class Ladybug(Engine):
    """Prepared statements on one connection; a connection for each thread, as the manual asks for."""

    name = "ladybug"
    remarks = "prepared statements, a connection for each thread; no versions, no branches"
    texts: ClassVar[Mapping[str, str]] = {
        "point look-up by key": f"{_SEED} RETURN p.name, p.age, p.city",
        "one hop, keys and names": f"{_SEED}-[:Knows]->(f:Person) RETURN f.handle, f.name",
        "two hops distinct, 1 seed": (f"{_SEED}-[:Knows]->(:Person)-[:Knows]->(g:Person) RETURN count(DISTINCT id(g))"),
        # Of the ways to write it, the fastest here: no duplicates between the hops.
        "two hops distinct, 1,000 seeds": (
            f"{_MANY} WITH DISTINCT f MATCH (f)-[:Knows]->(g:Person) RETURN count(DISTINCT id(g))"
        ),
        "two hops, 1,000 seeds, distinct pairs": (
            f"{_MANY}-[:Knows]->(g:Person) WITH DISTINCT id(p) AS a, id(g) AS b RETURN count(*)"
        ),
        "three hops distinct, 1 seed": (
            f"{_SEED}-[:Knows]->(:Person)-[:Knows]->(:Person)-[:Knows]->(i:Person) RETURN count(DISTINCT id(i))"
        ),
        "friends of friends, top companies": (
            f"{_SEED}-[:Knows]->(:Person)-[:Knows]->(g:Person)-[:WorksAt]->(c:Company) WHERE g.age > 40 "
            "RETURN c.name AS company, count(DISTINCT id(g)) AS n ORDER BY n DESC, company LIMIT 10"
        ),
        "reach 1..3": f"{_SEED}-[:Knows* SHORTEST 1..3]->(g:Person) RETURN count(DISTINCT id(g))",
        "shortest path between two": (
            f"MATCH (p:Person {{handle: $a}})-[k:Knows* SHORTEST 1..{LONGEST}]->(g:Person {{handle: $b}}) "
            "RETURN length(k)"
        ),
        "average age per city": "MATCH (p:Person) RETURN p.city AS city, avg(p.age) ORDER BY city",
        "min, max, avg age per city": (
            "MATCH (p:Person) RETURN p.city AS city, min(p.age), max(p.age), avg(p.age) ORDER BY city"
        ),
        "count edges": "MATCH (:Person)-[k:Knows]->(:Person) RETURN count(k)",
        "average of an edge property": "MATCH (:Person)-[k:Knows]->(:Person) RETURN avg(k.since)",
        "top 10 edges by a property": (
            "MATCH (p:Person)-[k:Knows]->(f:Person) RETURN p.handle, f.handle, k.weight AS w ORDER BY w DESC LIMIT 10"
        ),
        "all values of an edge property": "MATCH (:Person)-[k:Knows]->(:Person) RETURN k.since",
        "count all two-hop rows": "MATCH (:Person)-[:Knows]->(:Person)-[:Knows]->(:Person) RETURN count(*)",
        "two-hop rows per city, no order": (
            "MATCH (:Person)-[:Knows]->(:Person)-[:Knows]->(g:Person) RETURN g.city, count(*)"
        ),
        "star join, count": (
            "MATCH (p:Person)-[:Knows]->(:Person), (p)-[:Knows]->(:Person), (p)-[:WorksAt]->(:Company) RETURN count(*)"
        ),
        "triangles": ("MATCH (a:Person)-[:Knows]->(b:Person)-[:Knows]->(c:Person), (a)-[:Knows]->(c) RETURN count(*)"),
        "two hops without a direct edge, count": (
            "MATCH (a:Person)-[:Knows]->(b:Person)-[:Knows]->(c:Person) "
            "WHERE NOT EXISTS { MATCH (a)-[:Knows]->(c) } RETURN count(*)"
        ),
        "value join, count": "MATCH (a:Person), (b:Person) WHERE a.age = 30 AND a.city = b.city RETURN count(*)",
        "join on a computed key, count": (
            "MATCH (a:Person), (b:Person) WHERE lower(a.name) = lower(b.name) RETURN count(*)"
        ),
        "inequality join, count": "MATCH (a:Company), (b:Company) WHERE a.code < b.code RETURN count(*)",
        "or-join, count": ("MATCH (a:Company), (b:Company) WHERE a.code = b.code OR a.name = b.name RETURN count(*)"),
    }

    def build(self, data: Path) -> None:
        self.store.parent.mkdir(parents=True, exist_ok=True)
        self.open()
        for statement in _TABLES:
            self._connection.execute(statement)
        for file, (table, columns) in _LOADS.items():
            path = data / f"{file}.parquet"
            self._connection.execute(f"COPY {table} FROM (LOAD FROM '{path}' RETURN {columns})")
        self.close()

    def open(self) -> None:
        import ladybug

        self._database = ladybug.Database(str(self.store))
        self._connection = ladybug.Connection(self._database)
        self._prepared: dict[str, Any] = {}

    def close(self) -> None:
        self._connection.close()
        self._database.close()

    def rows(self, text: str, params: Mapping[str, Any]) -> Rows:
        return [tuple(row) for row in self._run(text, params).get_all()]

    def columns(self, text: str, params: Mapping[str, Any]) -> Any:
        return self._run(text, params).get_as_arrow()

    def insert(self, number: int) -> None:
        text = "CREATE (:Person {handle: $h, name: $n, age: 30, city: 'City 1'})"
        self._run(text, {"h": f"new{number}", "n": f"New {number}"}).close()

    def asker(self) -> Callable[[Question, Mapping[str, Any]], Any]:
        import ladybug

        own = type(self)(self.store)
        own._database, own._prepared = self._database, {}
        own._connection = ladybug.Connection(self._database, num_threads=1)
        return own.ask

    def _run(self, text: str, params: Mapping[str, Any]) -> Any:
        if text not in self._prepared:
            self._prepared[text] = self._connection.prepare(text)
        return self._connection.execute(self._prepared[text], dict(params))
