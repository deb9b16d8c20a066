"""igraph: the graph in memory behind a library, without storage or queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.peers.engine import Engine, Rows


class IGraph(Engine):
    """Neighbour lists in C; everything around them, properties included, in Python."""

    name = "igraph"
    remarks = "in memory, no storage, no query language: hops are library calls, the rest is Python"

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

    def point(self, seed: str) -> Rows:
        at = self._place[seed]
        return [(self._people["name"][at], self._people["age"][at], self._people["city"][at])]

    def one_hop(self, seed: str) -> Rows:
        names = self._people["name"]
        return [(names[friend],) for friend in self._graph.successors(self._place[seed])]

    def two_hop(self, seed: str) -> int:
        return len(self._hops([self._place[seed]], 2))

    def two_hop_many(self, seeds: Sequence[str]) -> int:
        return len(self._hops((self._place[seed] for seed in seeds), 2))

    def three_hop(self, seed: str) -> int:
        return len(self._hops([self._place[seed]], 3))

    def aggregate(self, seed: str) -> Rows:
        ages = self._people["age"]
        old = (person for person in self._hops([self._place[seed]], 2) if ages[person] > 40)
        counts = Counter(self._company[self._employer[person]] for person in old)
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:10]

    def reach(self, seed: str) -> int:
        return len(self._graph.neighborhood(self._place[seed], order=3, mode="out", mindist=1))

    def _hops(self, start: Iterable[int], hops: int) -> set[int]:
        here = set(start)
        for _ in range(hops):
            here = set().union(*(self._graph.successors(node) for node in here))
        return here
