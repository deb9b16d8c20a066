"""This project."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.peers.engine import Engine, Rows

SCHEMA = """
node Person { handle: String @key  name: String  age: I32 @index  city: String }
node Company { code: String @key  name: String }
edge Knows: Person -> Person { since: I64 }
edge WorksAt: Person -> Company
"""
POINT = "query q($h: String) { match { $p: Person { handle: $h } } return { $p.name, $p.age, $p.city } }"
ONE_HOP = "query q($h: String) { match { $p: Person { handle: $h } $p knows $f } return { $f.name } }"
TWO_HOP = """
query q($h: String) { match { $p: Person { handle: $h } $p knows $f $f knows $g } return { count(distinct $g) as n } }
"""
TWO_HOP_MANY = """
query q($h: [String]) {
  match { $p: Person $p.handle in $h $p knows $f $f knows $g }
  return { count(distinct $g) as n }
}
"""
THREE_HOP = """
query q($h: String) {
  match { $p: Person { handle: $h } $p knows $f $f knows $g $g knows $i }
  return { count(distinct $i) as n }
}
"""
AGGREGATE = """
query q($h: String) {
  match { $p: Person { handle: $h } $p knows $f $f knows $g $g.age > 40 $g worksAt $c }
  return { $c.name as company, count(distinct $g) as n }
  order { n desc, company }
  limit 10
}
"""
REACH = (
    "query q($h: String) { match { $p: Person { handle: $h } $p knows{1,3} $g } return { count(distinct $g) as n } }"
)


class OmniGraph(Engine):
    """Lance tables, a topology mapped from disk, NumPy."""

    name = "omnigraph"
    remarks = "durable, versioned storage; typed queries through `graph.query`"

    def build(self, data: Path) -> None:
        import pyarrow.parquet as pq

        import omnigraph

        graph = omnigraph.init(str(self.store), SCHEMA)
        graph.load(pq.read_table(data / "people.parquet").drop_columns(["number"]), type="Person", runner="inline")
        graph.load(pq.read_table(data / "companies.parquet").drop_columns(["number"]), type="Company", runner="inline")
        works = pq.read_table(data / "works.parquet", columns=["from", "to"])
        graph.load(works, edge="WorksAt", runner="inline")
        knows = pq.read_table(data / "knows.parquet", columns=["from", "to", "since"])
        graph.load(knows, edge="Knows", runner="inline")
        graph.ensure_indices()
        self._prepare(data)

    def _prepare(self, data: Path) -> None:
        """Have the topologies made and kept, as the first larger traversal of any process does."""
        seeds = json.loads((data / "seeds.json").read_text(encoding="utf-8"))
        os.environ["OMNIGRAPH_TRAVERSAL_MODE"] = "csr"
        self.open()
        self.aggregate(seeds[0])

    def open(self) -> None:
        import omnigraph

        self._graph = omnigraph.open(str(self.store))

    def point(self, seed: str) -> Rows:
        return self._rows(POINT, h=seed)

    def one_hop(self, seed: str) -> Rows:
        return self._rows(ONE_HOP, h=seed)

    def two_hop(self, seed: str) -> int:
        return self._number(TWO_HOP, h=seed)

    def two_hop_many(self, seeds: Sequence[str]) -> int:
        return self._number(TWO_HOP_MANY, h=list(seeds))

    def three_hop(self, seed: str) -> int:
        return self._number(THREE_HOP, h=seed)

    def aggregate(self, seed: str) -> Rows:
        return self._rows(AGGREGATE, h=seed)

    def reach(self, seed: str) -> int:
        return self._number(REACH, h=seed)

    def _number(self, text: str, **params: Any) -> int:
        return int(self._graph.query(text, params=params).scalar())

    def _rows(self, text: str, **params: Any) -> Rows:
        table = self._graph.query(text, params=params).to_arrow()
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
