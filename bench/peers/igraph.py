"""igraph: the graph in memory behind a library, without storage or queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from bench.peers.engine import Engine, Rows


class IGraph(Engine):
    """Neighbour lists in C; everything around them, properties included, in Python. A text is the name of a method."""

    name = "igraph"
    remarks = "in memory, no storage, no query language: hops are library calls, the rest is Python; traversals only"
    texts: ClassVar[Mapping[str, str]] = {
        "point look-up by key": "_point",
        "one hop, keys and names": "_one_hop",
        "two hops distinct, 1 seed": "_two_hops",
        "two hops distinct, 1,000 seeds": "_two_hops_of_many",
        "three hops distinct, 1 seed": "_three_hops",
        "friends of friends, top companies": "_companies",
        "reach 1..3": "_reach",
        "shortest path between two": "_shortest",
        "count edges": "_edges",
    }

    def build(self, data: Path) -> None:
        import igraph
        import pyarrow.parquet as pq

        self.store.mkdir(parents=True)
        knows = pq.read_table(data / "knows.parquet", columns=["a", "b"])
        people = pq.read_table(data / "people.parquet")
        graph = igraph.Graph(people.num_rows, list(zip(*(knows[end].to_pylist() for end in "ab"), strict=True)), True)
        graph.write_pickle(str(self.store / "graph.pickle"))
        for name in ("people", "companies", "works"):
            (self.store / f"{name}.parquet").symlink_to(data / f"{name}.parquet")

    def open(self) -> None:
        import igraph
        import pyarrow.parquet as pq

        self._graph = igraph.Graph.Read_Pickle(str(self.store / "graph.pickle"))
        people = pq.read_table(self.store / "people.parquet").to_pydict()
        self._place = {handle: number for number, handle in enumerate(people["handle"])}
        self._people = people
        self._employer = pq.read_table(self.store / "works.parquet")["b"].to_pylist()
        self._company = pq.read_table(self.store / "companies.parquet")["name"].to_pylist()

    def rows(self, text: str, params: Mapping[str, Any]) -> Rows:
        found: Rows = getattr(self, text)(**params)
        return found

    def insert(self, number: int) -> None:
        self._graph.add_vertices(1)

    def _point(self, h: str) -> Rows:
        at = self._place[h]
        return [(self._people["name"][at], self._people["age"][at], self._people["city"][at])]

    def _one_hop(self, h: str) -> Rows:
        handles, names = self._people["handle"], self._people["name"]
        return [(handles[friend], names[friend]) for friend in self._graph.successors(self._place[h])]

    def _two_hops(self, h: str) -> Rows:
        return [(len(self._hops([self._place[h]], 2)),)]

    def _two_hops_of_many(self, h: list[str]) -> Rows:
        return [(len(self._hops((self._place[seed] for seed in h), 2)),)]

    def _three_hops(self, h: str) -> Rows:
        return [(len(self._hops([self._place[h]], 3)),)]

    def _companies(self, h: str) -> Rows:
        ages = self._people["age"]
        old = (person for person in self._hops([self._place[h]], 2) if ages[person] > 40)
        counts = Counter(self._company[self._employer[person]] for person in old)
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:10]

    def _reach(self, h: str) -> Rows:
        return [(len(self._graph.neighborhood(self._place[h], order=3, mode="out", mindist=1)),)]

    def _shortest(self, a: str, b: str) -> Rows:
        path = self._graph.get_shortest_path(self._place[a], self._place[b], mode="out", output="epath")
        return [(len(path),)] if path else []

    def _edges(self) -> Rows:
        return [(self._graph.ecount(),)]

    def _hops(self, start: Iterable[int], hops: int) -> set[int]:
        here = set(start)
        for _ in range(hops):
            here = set().union(*(self._graph.successors(node) for node in here))
        return here
