"""This project."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from bench.peers.engine import LONGEST, TRAVERSALS, Engine, Rows, params_of

SCHEMA = """
node Person { handle: String @key  name: String  age: I32 @index  city: String }
node Company { code: String @key  name: String }
edge Knows: Person -> Person { since: I64  weight: F64 }
edge WorksAt: Person -> Company
"""
# More edges than this are loaded by Spark, from the files themselves.
_MOST_INLINE = 20_000_000
_SEED = "$p: Person { handle: $h }"
_MANY = "$p: Person $p.handle in $h"


def _one(match: str, shape: str) -> str:
    return f"query q($h: String) {{ match {{ {_SEED} {match} }} {shape} }}"


def _many(match: str, shape: str) -> str:
    return f"query q($h: [String]) {{ match {{ {_MANY} {match} }} {shape} }}"


def _all(match: str, shape: str) -> str:
    return f"query q() {{ match {{ {match} }} {shape} }}"


def _mapping(data: Path) -> dict[str, Any]:
    names = ("people", "companies", "works", "knows")
    return {
        "sources": {name: {"path": str(data / f"{name}.parquet")} for name in names},
        "nodes": {"Person": {"from": "people"}, "Company": {"from": "companies"}},
        "edges": {
            "WorksAt": {"from": "works", "src": "from", "dst": "to"},
            "Knows": {"from": "knows", "src": "from", "dst": "to"},
        },
    }


class OmniGraph(Engine):
    """Lance tables, a topology mapped from disk, NumPy."""

    name = "omnigraph"
    remarks = "durable, versioned storage; typed queries, prepared once (`graph.prepare`), one handle for all threads"
    has_branches = True
    texts: ClassVar[Mapping[str, str]] = {
        "point look-up by key": _one("", "return { $p.name, $p.age, $p.city }"),
        "one hop, keys and names": _one("$p knows $f", "return { $f.handle, $f.name }"),
        "two hops distinct, 1 seed": _one("$p knows $f $f knows $g", "return { count(distinct $g) as n }"),
        "two hops distinct, 1,000 seeds": _many("$p knows $f $f knows $g", "return { count(distinct $g) as n }"),
        "two hops, 1,000 seeds, distinct pairs": (
            f"query q($h: [String]) {{ match {{ {_MANY} $p knows $f $f knows $g }} with distinct {{ $p, $g }} "
            "return { count(*) as n } }"
        ),
        "three hops distinct, 1 seed": _one(
            "$p knows $f $f knows $g $g knows $i", "return { count(distinct $i) as n }"
        ),
        "friends of friends, top companies": _one(
            "$p knows $f $f knows $g $g.age > 40 $g worksAt $c",
            "return { $c.name as company, count(distinct $g) as n } order { n desc, company } limit 10",
        ),
        "reach 1..3": _one("$p knows{1,3} $g", "return { count(distinct $g) as n }"),
        "shortest path between two": (
            "query q($a: String, $b: String) { match { $p: Person { handle: $a } $g: Person { handle: $b } "
            f"shortest $w: $p knows{{1,{LONGEST}}} $g }} return {{ $w.length as n }} }}"
        ),
        "average age per city": _all("$p: Person", "return { $p.city as city, avg($p.age) as a } order { city }"),
        "min, max, avg age per city": _all(
            "$p: Person",
            "return { $p.city as city, min($p.age) as a, max($p.age) as b, avg($p.age) as c } order { city }",
        ),
        "count edges": _all("$p $k:knows $f", "return { count($k) as n }"),
        "average of an edge property": _all("$p $k:knows $f", "return { avg($k.since) as n }"),
        "top 10 edges by a property": _all(
            "$p $k:knows $f", "return { $p.handle as a, $f.handle as b, $k.weight as w } order { w desc } limit 10"
        ),
        "all values of an edge property": _all("$p $k:knows $f", "return { $k.since }"),
        "count all two-hop rows": _all("$a knows $b $b knows $c", "return { count(*) as n }"),
        "two-hop rows per city, no order": _all("$a knows $b $b knows $c", "return { $c.city as city, count(*) as n }"),
        "star join, count": _all("$p knows $b $p knows $c $p worksAt $d", "return { count(*) as n }"),
        "triangles": _all("$a knows $b $b knows $c $a knows $c", "return { count(*) as n }"),
        "two hops without a direct edge, count": _all(
            "$a knows $b $b knows $c not { $a knows $c }", "return { count(*) as n }"
        ),
        "value join, count": _all("$a: Person { age: 30 } $b: Person $a.city = $b.city", "return { count(*) as n }"),
        "join on a computed key, count": _all(
            "$a: Person $b: Person lower($a.name) = lower($b.name)", "return { count(*) as n }"
        ),
        "inequality join, count": _all("$a: Company $b: Company $a.code < $b.code", "return { count(*) as n }"),
        "or-join, count": _all(
            "$a: Company $b: Company $a.code = $b.code or $a.name = $b.name", "return { count(*) as n }"
        ),
    }

    def build(self, data: Path) -> None:
        import pyarrow.parquet as pq

        import omnigraph

        if pq.read_metadata(data / "knows.parquet").num_rows > _MOST_INLINE:
            self._build_on_spark(data)
            return
        graph = omnigraph.init(str(self.store), SCHEMA)
        # Which columns are keys is said; others are used where they are called like a property, and left out else.
        graph.load(data / "people.parquet", type="Person", columns={"handle": "handle"}, runner="inline")
        graph.load(data / "companies.parquet", type="Company", columns={"code": "code"}, runner="inline")
        for name, edge in (("works", "WorksAt"), ("knows", "Knows")):
            graph.load(data / f"{name}.parquet", edge=edge, columns={"from": "from", "to": "to"}, runner="inline")
        # Large loads leave their indexes and topologies built. `ensure_indices` would add Lance's full-text index of
        # keys, for other readers of the tables: no query here uses it.
        graph.close()
        self._prepare(data)

    def _build_on_spark(self, data: Path) -> None:
        """One commit of files that memory need not hold, then indexes and topologies by the same session."""
        import omnigraph
        from omnigraph.pipeline.spark.session import spark_session

        spark = spark_session("local[2,4]")
        with omnigraph.init(str(self.store), SCHEMA) as graph:
            graph.load(mapping=_mapping(data), runner="spark")
        spark.stop()
        self._prepare(data)

    def _prepare(self, data: Path) -> None:
        """Have the topologies made and kept, as the first larger traversal of any process does."""
        seeds = json.loads((data / "seeds.json").read_text(encoding="utf-8"))
        os.environ["OMNIGRAPH_TRAVERSAL_MODE"] = "csr"
        self.open()
        for question in TRAVERSALS:
            self.ask(question, params_of(question, seeds, 0))
        self.close()

    def open(self) -> None:
        import omnigraph

        self._graph = omnigraph.open(str(self.store))
        self._prepared: dict[str, Any] = {}

    def close(self) -> None:
        self._graph.close()

    def rows(self, text: str, params: Mapping[str, Any]) -> Rows:
        found: Rows = self._asked(text, params).tuples()
        return found

    def columns(self, text: str, params: Mapping[str, Any]) -> Any:
        return self._asked(text, params).to_arrow()

    def _asked(self, text: str, params: Mapping[str, Any]) -> Any:
        if text not in self._prepared:
            self._prepared[text] = self._graph.prepare(text)
        return self._prepared[text](params)

    def insert(self, number: int) -> None:
        self._graph.mutate(
            'query q($h: String, $n: String) { insert Person { handle: $h, name: $n, age: 30, city: "City 1" } }',
            params={"h": f"new{number}", "n": f"New {number}"},
        )

    def branch(self, number: int) -> None:
        self._graph.branches.create(f"work{number}")
