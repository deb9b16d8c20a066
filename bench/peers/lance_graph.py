"""lance-graph: Cypher planned by DataFusion over Arrow tables in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.peers.engine import Engine, Rows

_FILES = {"Person": "people", "Company": "companies", "Knows": "knows", "WorksAt": "works"}


class LanceGraph(Engine):
    """Release 0.4 neither binds parameters nor counts distinct values: text is put together, sets are counted here."""

    name = "lance-graph"
    remarks = "tables in memory, which is faster for it than Lance; no parameters and no count(DISTINCT), done outside"

    def build(self, data: Path) -> None:
        import pyarrow.parquet as pq
        from pyarrow import feather

        self.store.mkdir(parents=True)
        for label, file in _FILES.items():
            table = pq.read_table(data / f"{file}.parquet")
            if file in ("knows", "works"):
                table = table.select(["a", "b"])
            feather.write_feather(table, str(self.store / f"{label}.arrow"), compression="uncompressed")

    def open(self) -> None:
        from lance_graph import GraphConfig  # type: ignore[import-untyped]
        from pyarrow import feather

        self._tables = {label: feather.read_table(str(self.store / f"{label}.arrow")) for label in _FILES}
        builder = GraphConfig.builder().with_node_label("Person", "number").with_node_label("Company", "number")
        self._config = builder.with_relationship("Knows", "a", "b").with_relationship("WorksAt", "a", "b").build()

    def point(self, seed: str) -> Rows:
        return self._rows(f"MATCH (p:Person) WHERE p.handle = '{seed}' RETURN p.name, p.age, p.city")

    def one_hop(self, seed: str) -> Rows:
        return self._rows(f"MATCH (p:Person)-[:Knows]->(f:Person) WHERE p.handle = '{seed}' RETURN f.name")

    def two_hop(self, seed: str) -> int:
        return self._count(f"{_path(2)} WHERE p0.handle = '{seed}' RETURN DISTINCT p2.number")

    def two_hop_many(self, seeds: Sequence[str]) -> int:
        listed = ",".join(f"'{seed}'" for seed in seeds)
        return self._count(f"{_path(2)} WHERE p0.handle IN [{listed}] RETURN DISTINCT p2.number")

    def three_hop(self, seed: str) -> int:
        return self._count(f"{_path(3)} WHERE p0.handle = '{seed}' RETURN DISTINCT p3.number")

    def aggregate(self, seed: str) -> Rows:
        found = self._rows(
            f"{_path(2)}-[:WorksAt]->(c:Company) WHERE p0.handle = '{seed}' AND p2.age > 40 "
            "RETURN DISTINCT c.name AS company, p2.number AS person"
        )
        counts = Counter(company for company, _ in found)
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:10]

    def reach(self, seed: str) -> int:
        return self._count(
            f"MATCH (p:Person)-[:Knows*1..3]->(g:Person) WHERE p.handle = '{seed}' AND g.handle <> '{seed}' "
            "RETURN DISTINCT g.number"
        )

    def _count(self, text: str) -> int:
        return int(self._table(text).num_rows)

    def _rows(self, text: str) -> Rows:
        return list(zip(*(column.to_pylist() for column in self._table(text).columns), strict=True))

    def _table(self, text: str) -> Any:
        from lance_graph import CypherQuery

        return CypherQuery(text).with_config(self._config).execute(self._tables)


def _path(hops: int) -> str:
    return "MATCH (p0:Person)" + "".join(f"-[:Knows]->(p{hop}:Person)" for hop in range(1, hops + 1))
